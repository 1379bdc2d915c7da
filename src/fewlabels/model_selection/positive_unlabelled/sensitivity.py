"""How predictions depend on the class prior."""

from numbers import Real

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from ..._typing import MatrixLike, VectorLike
from ...data.labels.positive_unlabelled import split_labels
from ...kernels.rows import canonical
from ...metrics import pu_risk
from ...metrics._sample import is_label


def prior_sensitivity(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: VectorLike,
    priors: VectorLike,
    X_eval: MatrixLike | None = None,
) -> pd.DataFrame:
    """Refit along a sequence of priors and compare the predictions.

    An estimator with a method ``path`` (``PUSVM``) starts each fit from the one before.

    Parameters
    ----------
    estimator : estimator with a parameter ``prior``, or Pipeline that ends in one
        What to fit; it is left as it is. Its own ``prior``, given or estimated, is the
        base that the other priors are compared with.
    X : {array-like, sparse} of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Labels of positive and unlabelled rows, see ``split_labels``.
    priors : array-like of float
        Shares of positives among the unlabelled rows, in (0, 1).
    X_eval : {array-like, sparse} of shape (n_eval, n_features), default=None
        Rows whose predictions are compared; None takes the unlabelled training rows
        (for ``kernel="precomputed"`` pass their kernel values against all training rows).

    Returns
    -------
    pandas.DataFrame
        One row per prior, the base among them, in increasing order, with the columns
        ``prior``; ``base``, whether it is the base; ``share_positive``, the share of rows
        predicted positive; ``n_changed``, how many rows have another class than under the
        base; ``objective``, the model's ``objective_`` (NaN where it has none);
        ``risk``, the unbiased zero-one risk of the training rows under this prior.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import PUSVM
    >>> from fewlabels.model_selection import prior_sensitivity
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 1, (80, 2)), rng.normal(-2, 1, (120, 2))])
    >>> y = np.r_[np.ones(40), np.zeros(160)]  # 40 of the 80 positives are labelled
    >>> table = prior_sensitivity(PUSVM(prior=0.25, threshold="prior"), X, y, [0.2, 0.3])
    >>> table[["prior", "base", "n_changed"]]
       prior   base  n_changed
    0   0.20  False          8
    1   0.25   True          0
    2   0.30  False          8
    """
    priors = np.unique(np.asarray(priors, dtype=float))
    if priors.size == 0 or not np.all((priors > 0) & (priors < 1)):
        raise ValueError(
            f"priors={priors.tolist()} is not allowed; pass one or more shares of positives among "
            "the unlabelled rows, numbers strictly between 0 and 1."
        )
    is_pipeline = isinstance(estimator, Pipeline)
    model = clone(estimator[-1] if is_pipeline else estimator)
    if "prior" not in model.get_params():
        raise ValueError(
            f"{type(model).__name__} has no parameter prior; pass an estimator with a prior, "
            "or a Pipeline that ends in one."
        )
    rows, X_eval = canonical(X), canonical(X_eval)
    if is_pipeline and len(estimator) > 1:
        steps = clone(estimator[:-1])
        rows = steps.fit_transform(rows, y)
        X_eval = None if X_eval is None else steps.transform(X_eval)

    positive, classes = split_labels(y, getattr(model, "pos_label", None))
    base = clone(model).fit(rows, y)
    base_prior = model.prior if isinstance(model.prior, float | Real) else base.prior_
    priors = [prior for prior in priors.tolist() if prior != base_prior]
    if priors and hasattr(model, "path"):
        others = model.path(rows, y, prior=priors)
    else:
        others = [clone(model).set_params(prior=prior).fit(rows, y) for prior in priors]
    fitted, priors = [base, *others], [float(base_prior), *priors]

    answers = [is_label(m.predict(rows), classes[1]) for m in fitted]
    compared = [answer[~positive] for answer in answers]
    if X_eval is not None:
        compared = [is_label(m.predict(X_eval), classes[1]) for m in fitted]
    table = pd.DataFrame(
        {
            "prior": priors,
            "base": [m is base for m in fitted],
            "share_positive": [answer.mean() for answer in compared],
            "n_changed": [int(np.sum(answer != compared[0])) for answer in compared],
            "objective": [getattr(m, "objective_", np.nan) for m in fitted],
            "risk": [
                pu_risk(positive, answer - 0.5, prior)
                for answer, prior in zip(answers, priors, strict=True)
            ],
        }
    )
    return table.sort_values("prior", ignore_index=True)
