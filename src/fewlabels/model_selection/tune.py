"""One entry point that chooses the settings of any model."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length

from .._typing import FloatArray, MatrixLike, RandomStateLike, RowMatrix, VectorLike
from ..base.kernel_estimator import KernelEstimator
from ..kernels.rows import canonical, checked_rows
from ..one_class.task import ONE_CLASS
from ..rows.validation import check_parameters, check_weight
from ..tasks import TASKS, name_estimators
from .one_class.tuning import tune_one_class
from .positive_unlabelled.tuning import tune_positive_unlabelled
from .semi_supervised.graph import tune_with_graph
from .semi_supervised.tables import is_for_tables, tune_table
from .semi_supervised.tuning import tune_semi_supervised
from .tuning.result import Decision, TuningResult
from .tuning.search import Search


def tune(
    estimator: KernelEstimator | Pipeline,
    X: MatrixLike,
    y: VectorLike | None = None,
    *,
    time_budget: float = 60,
    contaminated: bool = True,
    sample_weight: VectorLike | None = None,
    random_state: RandomStateLike = None,
    progress: bool = False,
    graph: bool = True,
    groups: VectorLike | None = None,
) -> KernelEstimator | Pipeline:
    """Choose settings from the data and return a fitted clone.

    Use it before you trust a model: settings matter more than the choice of a solver. It needs
    the training rows and labels that you have, and no test labels. The result's ``tuning_``
    says what was tried, what was chosen and why.

    * ``SVDD``, ``OneClassSVM``: a rule. The 40 % of the rows with the largest distances to their
      neighbours get weight 0, unless ``contaminated=False``. ``gamma`` follows from the distances
      of the others (:func:`fewlabels.model_selection.neighbor_gamma`); ``C=0.1`` or ``nu=0.1``;
      ``target_fpr=0.05`` unless given. The kernel must be "rbf".
    * ``SVDDEnsemble``: a rule. ``trim="auto"``, or 0 with ``contaminated=False``.
    * ``PUSVM`` (``lam`` and ``gamma``), ``PUEnsemble`` (``gamma``): the held-out ROC AUC of
      positive against unlabelled rows minus the non-negative risk.
      With ``PUEnsemble(kernel="auto")`` the candidates are the mixture, trees and Gaussian
      kernels of three widths. Another kernel than "auto" takes must be better by more than a
      standard error, over at least three folds.
    * ``S3VM`` (``kernel``, ``gamma``, ``C``, ``C_star``, ``balance``, ``class_ratio``): accuracy
      on held-out labels. On a table of features (4 to 128 columns in units of their own), unless
      you set any of the first four, a kernel of trees learned from the labelled rows alone comes
      first, and another candidate must be better by 1.5 standard errors. See
      docs/guides/tuning.md. For other rows a candidate must be better than your
      settings by as much; one is the SVM of the labelled rows (``C_star=0``). First it is tested
      whether the neighbour graph helps (:class:`fewlabels.kernels.Manifold`, from 100 rows on); if
      so, only the graph is chosen. With fewer than 8 labels of a class there is too little to
      compare: the graph is used if two neighbours of a row are often neighbours themselves;
      otherwise your settings are kept, with a UserWarning.

    Parameters
    ----------
    estimator : estimator of fewlabels, or Pipeline ending in one
        What to tune; it isn't changed. Its settings are the first candidate. Earlier steps of a
        pipeline are fitted once, to all rows.
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows; for ``kernel="precomputed"`` (not for one-class estimators) the kernel matrix.
    y : array-like of shape (n_samples,), default=None
        Labels as the estimator takes them; one-class estimators ignore them.
    time_budget : float, default=60
        Seconds after which no further candidate is tried, > 0. The final fit always completes.
    contaminated : bool, default=True
        Whether rows for a one-class estimator may contain anomalies. Pass False if you know
        that they don't.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; rows of weight <= 0 are left out. The one-class rule ignores the other weights.
    random_state : int, RandomState or None, default=None
        Seed of folds and samples; None means 0.
    progress : bool, default=False
        Show a progress bar on stderr.
    graph : bool, default=True
        Whether ``S3VM`` may get a kernel based on the neighbour graph, as above.
    groups : array-like of shape (n_samples,), default=None
        Rows with the same value are held out together and count once, such as the visits of a
        patient; None means copies, if rows repeat more often than chance allows.

    Returns
    -------
    estimator
        Fitted clone. Its attribute ``tuning_`` (:class:`TuningResult`) has the candidates as a
        table, the choice, the reason, the cost, and a method ``plot``.

    Notes
    -----
    Ctrl-C ends the search, not the call: the best candidate so far is fitted. Pressed again,
    it ends that fit too.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD, tune
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = tune(SVDD(), rows)
    >>> model.score_samples([[0.0, 0.0]]) > model.score_samples([[4.0, 4.0]])
    array([ True])
    >>> sorted(model.tuning_.chosen)[:2]
    ['C', 'gamma']
    """
    return tune_within(
        Search(time_budget, progress, random_state, groups=groups),
        estimator,
        canonical(X),
        y,
        contaminated=contaminated,
        sample_weight=sample_weight,
        graph=graph,
    )


def tune_within(
    search: Search,
    estimator: KernelEstimator | Pipeline,
    X: MatrixLike,
    y: VectorLike | None,
    *,
    contaminated: bool = True,
    sample_weight: VectorLike | None = None,
    graph: bool = True,
) -> KernelEstimator | Pipeline:
    """Tune as :func:`tune` does, within the time of a search."""
    if isinstance(estimator, Pipeline):
        _check_estimator(estimator[-1], "the last step of the pipeline")
        pipeline = clone(estimator)
        if len(pipeline) > 1:
            X = pipeline[:-1].fit_transform(X, y)
        last = tune_within(
            search,
            pipeline[-1],
            X,
            y,
            contaminated=contaminated,
            sample_weight=sample_weight,
            graph=graph,
        )
        pipeline.steps[-1] = (pipeline.steps[-1][0], last)
        pipeline.tuning_ = last.tuning_
        return pipeline
    _check_estimator(estimator, "it")
    check_parameters(estimator)
    rows = checked_rows(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", estimator=estimator
    )
    weight, kept = check_weight(sample_weight, rows)
    if kept is not None:
        weight = np.bincount(kept, weight, rows.shape[0]).astype(float)
    name = type(estimator).__name__
    if not estimator.task.takes_labels:
        decision = tune_one_class(estimator, rows, weight, search, contaminated)
    elif y is None:
        raise ValueError(f"{name} needs labels; pass y (see help(fewlabels.{name})).")
    elif not contaminated:
        raise ValueError(
            f"contaminated=False is for {name_estimators(ONE_CLASS)}, not for {name}."
        )
    else:
        check_consistent_length(rows, y)
        decide = _choose_tuner(estimator, rows, graph)
        decision = decide(estimator, rows, y, weight, search)
    model = clone(estimator).set_params(**decision.settings)
    fit_weight = sample_weight if decision.weight is None else decision.weight
    started = time.perf_counter()
    if decision.fit is not None:
        assert y is not None
        decision.fit(model, X, y, fit_weight)
    else:
        model.fit(X, y, **({} if fit_weight is None else {"sample_weight": fit_weight}))
    fit_seconds = time.perf_counter() - started
    fit_values = search.count(model)
    model.tuning_ = TuningResult(
        decision.candidates.reset_index(drop=True),
        decision.settings,
        decision.reason + search.early_end_note,
        search.stopped,
        search.seconds,
        fit_seconds,
        search.fits,
        search.kernel_values,
        fit_values,
        decision.curve,
        decision.unlabeled,
    )
    return model


def _choose_tuner(
    estimator: KernelEstimator, X: RowMatrix, graph: bool
) -> Callable[[Any, RowMatrix, VectorLike, FloatArray | None, Search], Decision]:
    """Return the function that chooses settings by labels."""
    if estimator.task.has_prior:
        return tune_positive_unlabelled
    if is_for_tables(estimator, X):
        return tune_table
    return tune_with_graph if graph else tune_semi_supervised


def _check_estimator(estimator: BaseEstimator, what: str) -> None:
    if not isinstance(estimator, KernelEstimator):
        raise ValueError(
            f"tune accepts {name_estimators(*TASKS)}, and pipelines that end in one of them; "
            f"{what} is {type(estimator).__name__}. For others, use sklearn.model_selection with "
            "PUKFold or LabeledKFold."
        )
