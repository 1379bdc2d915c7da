"""What estimators of the class prior share: input, subsampling, scaling, the result's range."""

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral
from textwrap import indent
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_consistent_length

from ..._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomStateLike,
    RowMatrix,
    VectorLike,
)
from ...data.labels.positive_unlabelled import split_labels
from ...kernels.rows import validated_rows
from ...rows.grouped_folds import count_once, group_rows
from ..conventions import pooled_from_unlabeled

State = TypeVar("State")
Documented = TypeVar("Documented")
# Rows of a bootstrap sample: of the positive, and of the unlabelled ones.
Draw: TypeAlias = tuple[IntArray, IntArray]
# What was computed once, numbers of positive and unlabelled rows, and the generator.
FittedState: TypeAlias = tuple[State, tuple[int, int], np.random.RandomState]
_PLACEHOLDER = re.compile(r"^( *)<(\w+)(?: (.+))?>$", re.MULTILINE)


def fill_placeholders(doc: str | None, texts: dict[str, str]) -> str | None:
    """Return a docstring with ``texts[name]`` for each line ``<name>``, or ``<name words>``."""
    if doc is None:  # python -OO
        return None

    def paragraph(match: re.Match[str]) -> str:
        spaces, name, words = match.groups()
        return indent(texts[name].format(words).strip("\n"), spaces)

    return _PLACEHOLDER.sub(paragraph, doc)


def with_shared_texts(texts: dict[str, str]) -> Callable[[Documented], Documented]:
    """Decorator that fills the docstring of a class or function."""

    def fill(thing: Documented) -> Documented:
        thing.__doc__ = fill_placeholders(thing.__doc__, texts)
        return thing

    return fill


_TEXTS = {
    "scorer": """
scorer : classifier or None, default=None
    What ranks rows, see ``BestBin``.
""",
    "cross_fitting": """
cv : int, default=5
    Folds of cross-fitting, >= 2.
<rows 3000>
<seed subsamples, folds and models>
n_jobs : int or None, default=None
    Threads of the trees; None uses every core.
""",
    "rows": """
max_rows : int or None, default={}
    Positive, and unlabelled, rows used at most; larger sets are subsampled.
""",
    "seed": """
pos_label : label or None, default=None
    The positive class, where it is not the greater value of y.
random_state : int, RandomState or None, default=0
    Seed of {}.
""",
    "found": """
Attributes
----------
prior_ : float
    Share of positives among the unlabelled rows, {}.
pooled_prior_ : float
    Share of positives among all rows.
n_positive_, n_unlabeled_ : int
    Numbers of rows given.
n_features_in_, feature_names_in_
    As in scikit-learn.
""",
    "clouds": """
Examples
--------
>>> import numpy as np
>>> from fewlabels import class_prior
>>> rng = np.random.default_rng(0)
>>> X = np.vstack([rng.normal(2, 1, (400, 2)), rng.normal(-2, 1, (700, 2))])
>>> y = np.repeat([1, 0], [100, 1000])
>>> bool({})
True
""",
}


class PriorEstimator(BaseEstimator, Generic[State]):
    """Base class: ``fit`` checks, subsamples, calls ``_prepare`` and ``_solve``, and clips.

    A subclass has the parameters ``max_rows``, ``pos_label`` and ``random_state`` and
    implements

    * ``_prepare(X, positive, rng)``: what is computed once (scores, kernel values);
    * ``_solve(state, p, u)``: the prior from the rows ``p`` of the positive and ``u`` of
      the unlabelled rows, indices that may repeat (the bootstrap repeats them).
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = fill_placeholders(fill_placeholders(cls.__doc__, _TEXTS), _TEXTS)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "scorer": [
            None,
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
        ],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "max_rows": [Interval(Integral, 2, None, closed="left"), None],
        "pos_label": "no_validation",
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    # Replicates of the bootstrap where no number is asked for.
    _n_bootstrap = 50
    max_rows: int | None
    pos_label: object
    random_state: RandomStateLike

    @abstractmethod
    def _prepare(self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState) -> State:
        """Compute once what every sample needs; positive rows come before unlabelled ones."""

    @abstractmethod
    def _solve(self, state: State, p: IntArray, u: IntArray) -> float:
        """Return the prior from the rows ``p`` of the positive and ``u`` of the unlabelled."""

    def _weigh_positives(self, state: State, factor: FloatArray) -> State:
        """Return the state where positive rows count by a weight."""
        raise ValueError(f"{type(self).__name__} has no weights of positive rows.")

    def fit(self, X: MatrixLike, y: VectorLike) -> Self:
        """Estimate the share of positives among the unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels: the greater of two values, or the only one next to missing values,
            marks positive rows; see ``split_labels``.

        Returns
        -------
        self
        """
        self._fit_state(X, y)
        return self

    def _fit_state(
        self,
        X: MatrixLike,
        y: VectorLike | None,
        factor: FloatArray | None = None,
        is_weighted: bool = False,
    ) -> FittedState[State]:
        """Fit, and return what ``_replicate`` needs; ``factor`` weighs the positive rows.

        Copies count once, as they would be scored by models that know them; not if rows repeat
        because they are weighted.
        """
        self._validate_params()
        X = validated_rows(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        positive, _ = split_labels(y, self.pos_label)
        check_consistent_length(X, positive)
        rng = check_random_state(self.random_state)
        self.n_positive_ = int(positive.sum())
        self.n_unlabeled_ = int(len(positive) - self.n_positive_)
        groups = None if is_weighted else group_rows(X, positive.astype(int) - 1)
        once = count_once(np.arange(len(positive)), positive, groups)
        if min(positive[once].sum(), (~positive[once]).sum()) < 2:
            once = np.arange(len(positive))  # a kind with one different row can't be held out
        p, u = (
            _choose_sample(once[rows[once]], self.max_rows, rng) for rows in (positive, ~positive)
        )
        kept = np.concatenate([p, u])
        state = self._prepare(X[kept], np.arange(len(kept)) < len(p), rng)
        if factor is not None:
            of_kept = factor[np.searchsorted(np.flatnonzero(positive), p)]
            state = self._weigh_positives(state, of_kept)
        sizes = len(p), len(u)
        prior = self._solve(state, np.arange(len(p)), np.arange(len(u)))
        self.prior_ = float(self._clip(prior))
        counts = self.n_positive_, self.n_unlabeled_
        self.pooled_prior_ = pooled_from_unlabeled(self.prior_, *counts)
        return state, sizes, rng

    def _clip(self, prior: float | FloatArray) -> FloatArray:
        """Return the prior, moved strictly inside (0, 1)."""
        edge = 0.5 / self.n_unlabeled_ if self.n_unlabeled_ > 1 else 0.25
        return np.clip(prior, edge, 1.0 - edge)

    def _replicate(
        self, state: State, sizes: tuple[int, int], rng: np.random.RandomState, n_bootstrap: int
    ) -> FloatArray:
        """Return priors of resampled positive and unlabelled rows, shape (n_bootstrap,)."""
        draws: list[Draw] = [
            (rng.randint(sizes[0], size=sizes[0]), rng.randint(sizes[1], size=sizes[1]))
            for _ in range(n_bootstrap)
        ]
        return self._clip(np.array(self._solve_many(state, draws, rng), dtype=float))

    def _solve_many(
        self, state: State, draws: list[Draw], rng: np.random.RandomState
    ) -> Sequence[float] | FloatArray:
        return [self._solve(state, p, u) for p, u in draws]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # y has two values
        return tags


def _choose_sample(rows: IntArray, most: int | None, rng: np.random.RandomState) -> IntArray:
    """Return at most ``most`` of ``rows``, in their order."""
    if most is None or len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, size=int(most), replace=False))


def scale_columns(X: RowMatrix) -> RowMatrix:
    """Scale dense columns to mean 0 and deviation 1, sparse ones by their largest value."""
    if sp.issparse(X):
        return MaxAbsScaler().fit_transform(X).astype(np.float64)
    return StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))


def median_distance(distances: FloatArray) -> float:
    """Return the square root of the median squared distance; 1 if all rows are equal."""
    median = float(np.median(distances))
    if median <= 0.0:
        median = float(np.mean(distances))
    return np.sqrt(median) if median > 0.0 else 1.0
