"""A kernel of trees: rows are alike that fall into the same leaves of a forest."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from .._typing import FloatArray, RowMatrix, VectorLike
from .base import FormedKernel
from .forest import Forest, add_leaf_sums, compute_leaf_similarity, sum_leaf_weights
from .growing import grow_forest
from .rbf import RBF

_COUNT = [Interval(Integral, 1, None, closed="left")]
_POSITIVE_SHARE = [Interval(Real, 0.0, 1.0, closed="right")]
_CONSTRAINTS = {
    "n_trees": _COUNT,
    "min_samples_leaf": _COUNT,
    "max_samples": _POSITIVE_SHARE,
    "share": _POSITIVE_SHARE,
    "splits": [StrOptions({"best", "random"})],
}


@dataclass(frozen=True, eq=False)
class SharedLeaves(FormedKernel):
    """``(1 - share) K(x, z) + share`` times the share of trees in which x and z share a leaf.

    K is the ``base``, and the ``forest`` is frozen, as :class:`Trees` grew it.
    """

    base: RBF
    forest: Forest
    share: float

    name: ClassVar = "trees"
    is_inner_product = True
    has_leaves: ClassVar = True

    @property
    def weights_of_sum(self) -> tuple[float, float]:  # type: ignore[override]  # computed, where the base has a constant
        """Weights of the base kernel and of the leaves."""
        return 1.0 - self.share, self.share

    onnx_form: ClassVar = "leaves"

    def diagonal(self, X: RowMatrix) -> FloatArray:
        return np.ones(X.shape[0])

    def values(self, X: RowMatrix, Z: RowMatrix) -> FloatArray:
        a, b = (self.forest.codes(self.forest.leaves(rows)) for rows in (X, Z))
        common = compute_leaf_similarity(a, b)
        return (1.0 - self.share) * self.base.values(X, Z) + self.share * common

    def __deepcopy__(self, memo: dict[int, object]) -> SharedLeaves:
        return self

    def features(self, X: RowMatrix, n_jobs: int = 1) -> sp.csr_array:
        """Return the leaves of every row, as a sparse row of norm 1."""
        leaves = self.forest.leaves(X)
        n, n_trees = leaves.shape
        entries = np.full(leaves.size, n_trees**-0.5), leaves.ravel()
        ends = np.arange(0, leaves.size + 1, n_trees)
        return sp.csr_array((*entries, ends), shape=(n, len(self.forest.value)))

    def weights(self, X: RowMatrix, coef: FloatArray) -> FloatArray:
        """Return what each leaf adds to the sum of ``coef`` times the kernel's values at rows X.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        coef : ndarray of shape (n_samples,) or (k, n_samples)
            Their coefficients.

        Returns
        -------
        ndarray of shape (n_leaves,) or (k, n_leaves)
        """
        found = sum_leaf_weights(self.forest.leaves(X), coef, len(self.forest.value))
        return self.share * found

    def sums(self, X: RowMatrix, weights: FloatArray) -> FloatArray:
        """Return the part of such sums that leaves add, at rows X.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        weights : ndarray of shape (n_leaves,) or (k, n_leaves)
            As :meth:`weights` gives them.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, k)
        """
        found = np.zeros((X.shape[0], *weights.shape[:-1]))
        add_leaf_sums(self.forest.leaves(X), weights, found)
        return found


@dataclass(repr=False)
class Trees(BaseEstimator):
    """A kernel of trees next to the Gaussian one.

    The similarity of two rows is the share of trees in which they fall into the same leaf. That
    depends on the columns that matter for the labels, and not on their scale. By default it is
    half of the kernel's value, and the Gaussian kernel is the other half. :class:`PUSVM` and
    :class:`PUEnsemble` grow the forest on labelled against unlabelled rows. :class:`S3VM` grows it
    on the labelled rows alone, to tell their classes apart. The forest is then frozen: rows and
    labels that come or go don't change it.
    Sample weights act as repetitions; weights that aren't whole numbers are rounded.

    The defaults suit ``PUSVM`` and ``PUEnsemble``. For ``S3VM``, ``kernel="trees"`` means
    ``Trees(n_trees=300, min_samples_leaf=1, max_samples=1.0, splits="random")``: extremely
    randomized trees (Geurts, Ernst and Wehenkel 2006).

    Parameters
    ----------
    n_trees : int, default=200
        Trees.
    min_samples_leaf : int, default=3
        Rows in a leaf at least.
    max_samples : float, default=0.3
        Share of the rows that each tree is grown on, drawn with replacement, in (0, 1]. The
        smaller, the fewer trees have seen the label of a row that others are compared with. With
        ``splits="random"``, 1.0 means every row once.
    share : float, default=0.5
        Share of the leaves in the kernel's value, in (0, 1]; the rest is the Gaussian kernel's
        with the model's ``gamma``.
    splits : {"best", "random"}, default="best"
        "best" grows a random forest, "random" extremely randomized trees: of one random threshold
        per column they take the best.

    References
    ----------
    Geurts, P., Ernst, D., Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import PUEnsemble
    >>> from fewlabels.kernels import Trees
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 1, (80, 2)), rng.normal(-2, 1, (120, 2))])
    >>> y = np.r_[np.ones(40), np.zeros(160)]
    >>> PUEnsemble(prior=0.25, kernel=Trees(n_trees=50)).fit(X, y).predict([[2.0, 2.0]])
    array([1.])
    """

    n_trees: int = 200
    min_samples_leaf: int = 3
    max_samples: float = 0.3
    share: float = 0.5
    splits: str = "best"

    name: ClassVar = "trees"
    takes: ClassVar = ("gamma",)
    is_similarity: ClassVar = True  # the Gaussian kernel is, whose width follows from distances
    learns: ClassVar = "labels"

    def with_rows(
        self, X: RowMatrix, positive: VectorLike, *, gamma: float = 1.0, random_state: int = 0
    ) -> SharedLeaves:
        """Return the kernel of a forest grown on rows, as a model's ``fit`` does.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        positive : array-like of shape (n_samples,)
            Which rows are labelled, or the class of each row, of any number of classes. Classes
            have equal weight.
        gamma : float, default=1.0
            Coefficient of the Gaussian kernel.
        random_state : int, default=0
            Seed of the forest.
        """
        validate_parameter_constraints(
            _CONSTRAINTS, self.get_params(deep=False), caller_name=type(self).__name__
        )
        place = np.unique(np.asarray(positive), return_inverse=True)[1]
        # A random forest draws rows; extremely randomized trees see all, unless they are to draw.
        draws = self.splits == "best" or self.max_samples < 1
        grown = grow_forest(
            X,
            place,
            self.n_trees,
            splits=self.splits,
            min_samples_leaf=self.min_samples_leaf,
            drawn=max(1, round(len(place) * self.max_samples)) if draws else 0,
            seed=random_state,
        ).forest
        return SharedLeaves(RBF(float(gamma)), grown, float(self.share))


# The name of Gaussian kernels and a kernel of trees side by side, in a PUEnsemble.
MIXTURE = "mixture"
# What ``kernel="trees"`` stands for where a few rows of all classes are labelled.
TREES_FOR_CLASSES = Trees(n_trees=300, min_samples_leaf=1, max_samples=1.0, splits="random")
