"""Compare an estimator with simpler methods."""

from collections.abc import Sequence
from types import ModuleType

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from .._typing import MatrixLike, RandomStateLike, RowMatrix, VectorLike
from ..base.task import Task
from ..baselines.candidates import Candidates, check_candidates, read_candidates
from ..kernels.rows import canonical, checked_rows
from ..one_class.task import ONE_CLASS
from ..rows.grouped_folds import group_rows
from ..tasks import TASKS, name_estimators
from .comparison.folds import ComparedRows
from .comparison.result import BaselineComparison
from .tuning.search import Search


def compare_with_baselines(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: VectorLike | None = None,
    *,
    known_other: MatrixLike | None = None,
    groups: VectorLike | None = None,
    class_names: Sequence[str] | None = None,
    candidates: Candidates | None = None,
    time_budget: float = 60,
    random_state: RandomStateLike = None,
    progress: bool = False,
) -> BaselineComparison:
    """Compare an estimator, with its settings, with simpler methods.

    Clones of the estimator and baselines of scikit-learn are fitted to the same rows of the same
    folds, and scored by what can be known without full labels:

    * Few labels: accuracy on held-out labelled rows, the unlabelled ones kept in training. Against
      classifiers of the labels alone, self-training, label spreading, and the majority class.
    * Positive and unlabelled rows: ROC AUC of held-out positive against held-out unlabelled rows.
      It grows with the ROC AUC against negatives, so that no prior is needed to say which method
      is better. Against classifiers that take unlabelled rows for negatives, a ``PUSVM`` that
      expects labels with bounded bias and, if the estimator is a ``PUSVM``, a ``PUEnsemble``.
    * One class: the area of held-out rows against ``known_other``. Against an isolation forest,
      the distance to the 10th neighbour, the Mahalanobis distance and scikit-learn's OneClassSVM.
      Without known anomalies nothing can rank detectors: false alarms on held-out rows are
      reported, and where methods disagree.

    Differences are taken on the same folds; their errors are corrected for training sets that
    overlap (Nadeau & Bengio 2003), and are at least those between rows. A method is called better
    or worse only if the interval of its difference excludes zero; the 95 % confidence holds for
    all baselines at once (Bonferroni).

    Parameters
    ----------
    estimator : estimator of fewlabels, or Pipeline ending in one
        Or a model of ``fewlabels.baselines``, which is compared with the other methods and with
        the model of this library that has the same labels. Fitted or not; it is left as it is.
        Steps of a pipeline before the last are fitted again to the training rows of each fold, and
        baselines get the same steps. After ``tune``, a model without labels leaves out rows
        in training as ``tune`` did.
    X : {array-like, sparse} of shape (n_samples, n_features) or DataFrame
        Rows, in comparable units unless the pipeline scales them.
    y : array-like of shape (n_samples,), default=None
        Labels as the estimator takes them.
    known_other : {array-like, sparse} of shape (n_other, n_features), default=None
        Rows known not to be normal, for models without labels. Not trained on.
    groups : array-like of shape (n_samples,), default=None
        Rows with the same value are held out together and count once, such as the visits of a
        patient; None means copies, if rows repeat more often than chance allows.
    class_names : sequence of str, default=None
        What to call the classes of an S3VM in words, in their order; None means by their
        labels.
    candidates : dict of str to estimator, default=None
        Classifiers of scikit-learn's form to compare with as well, by name, trained on the
        labelled rows, or on positive against unlabelled rows; outlier detectors for models
        without labels.
    time_budget : float, default=60
        Seconds after which nothing more is begun, > 0.
    random_state : int, RandomState or None, default=None
        Seed of folds, samples and baselines; None means 0.
    progress : bool, default=False
        Show a progress bar on stderr.

    Returns
    -------
    BaselineComparison

    Notes
    -----
    The comparison ends early when further folds are unlikely to change which baselines
    are clearly better or worse (Lan, Simon & Halperin 1982). For rows of one class without known
    anomalies it ends when 1500 rows or all of them were held out.

    Ctrl-C ends the comparison and keeps the folds that are done. Beyond 4000 rows all methods
    see a sample of the rows. Settings that were chosen on the same labels favour the estimator
    a little; baselines have scikit-learn's defaults.

    References
    ----------
    Nadeau, C., Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52.

    Lan, K. K. G., Simon, R., Halperin, M. (1982). Stochastically curtailed tests in long-term
    clinical trials. Communications in Statistics C 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> from fewlabels.model_selection import compare_with_baselines
    >>> rng = np.random.default_rng(0)
    >>> rows, odd = rng.normal(size=(100, 2)), rng.normal(3.0, 1.0, size=(20, 2))
    >>> found = compare_with_baselines(SVDD(gamma=0.5, C=0.1), rows, known_other=odd)
    >>> sorted(found.table.columns)
    ['high', 'low', 'name', 'note', 'ours', 'score', 'seconds']
    >>> found.outcome in ("better", "worse", "undecided")
    True
    """
    search = Search(time_budget, progress, random_state)
    rng = check_random_state(search.seed)
    is_pipeline = isinstance(estimator, Pipeline)
    model = estimator[-1] if is_pipeline else estimator
    steps = estimator[:-1] if is_pipeline and len(estimator) > 1 else None
    _check(model, X, y, known_other)
    candidates = read_candidates(candidates or {})
    check_candidates(candidates, model.task)
    X = _read_rows(X, steps, "X")
    rows = ComparedRows(X, y, steps, None if groups is None else group_rows(X, groups=groups))
    if known_other is not None:
        known_other = _read_rows(known_other, steps, "known_other")
    compare = _import_comparison(model.task).compare
    details = compare(
        model,
        rows,
        search,
        rng,
        known_other=known_other,
        class_names=class_names,
        candidates=candidates,
    )
    return details.result(search)


def _check(
    model: BaseEstimator, X: MatrixLike, y: VectorLike | None, known_other: MatrixLike | None
) -> None:
    name = type(model).__name__
    task = getattr(model, "task", None)
    if not isinstance(task, Task):
        raise ValueError(
            f"compare_with_baselines accepts {name_estimators(*TASKS)}, the estimators in "
            f"fewlabels.baselines, and pipelines that end in one of them; got {name}."
        )
    if getattr(model, "kernel", None) == "precomputed":
        raise ValueError(
            "baselines need rows, and kernel='precomputed' has only kernel values; pass rows and "
            "a kernel or a callable."
        )
    if not task.takes_labels:
        return
    if y is None:
        raise ValueError(f"{name} needs labels; pass y (see help(fewlabels.{name})).")
    if known_other is not None:
        raise ValueError(
            f"known_other is for {name_estimators(ONE_CLASS)}; pass the labels for {name} in y."
        )
    check_consistent_length(X, y)


def _read_rows(X: MatrixLike, steps: Pipeline | None, what: str) -> RowMatrix | pd.DataFrame:
    """Return rows as numbers; a pipeline's input is left to the pipeline."""
    if steps is not None:
        return canonical(X) if hasattr(X, "shape") else np.asarray(X)
    return checked_rows(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name=what)


def _import_comparison(task: Task) -> ModuleType:
    """Return the module that compares models of a task, imported when it is first needed."""
    match task.name:
        case "one_class":
            from .one_class import comparison as of_one_class

            return of_one_class
        case "positive_unlabelled":
            from .positive_unlabelled import comparison as of_positive_unlabelled

            return of_positive_unlabelled
        case _:
            from .semi_supervised import comparison as of_semi_supervised

            return of_semi_supervised
