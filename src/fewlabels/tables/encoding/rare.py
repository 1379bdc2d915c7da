"""0/1 columns weighed by how rare their ones are, and categories that were never seen."""

from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._typing import BoolArray, FloatArray, MatrixLike, ObjectArray, RealArray, RowMatrix
from ...kernels.rows import validated_rows

# One over the share of ones below which a column counts less.
_RARE = 10.0
# So many rare categories are a tail, whose single ones say little.
_TAIL = 3
# Share of the rows that may stand out because something in them occurs in no other row.
_STAND_OUT = 0.01
_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def rare_weight(share: FloatArray) -> FloatArray:
    """Return sqrt(10 p), at most 1, of shares p of ones."""
    return np.minimum(1.0, np.sqrt(_RARE * share))


def unseen_weight(share: float) -> float:
    """Return what something new counts, if a share of the rows has what at most one other has.

    That share is also the chance that a new row has what at most one row of training has. Up to
    one row in a hundred may stand out for it; where there are more, each counts less.
    """
    return float(np.sqrt(_STAND_OUT / max(share, _STAND_OUT)))


class RareColumns(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply 0/1 columns by sqrt(10 p), at most 1, with p the share of ones.

    A rare category would otherwise look as unusual as an extreme
    number and fill every list of anomalies. A category of at least a tenth of the rows
    keeps its weight. With ``either`` p is the share of zeros where these are rarer.
    """

    def __init__(self, either: bool = False) -> None:
        self.either = either

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        X = validated_rows(self, X, **_ROWS)
        share = np.asarray(X.mean(axis=0), dtype=float).ravel()
        share = np.minimum(share, 1.0 - share) if self.either else share
        self.weight_ = rare_weight(share)
        return self

    def transform(self, X: MatrixLike) -> RowMatrix:
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False, **_ROWS)
        return X.multiply(self.weight_).tocsr() if hasattr(X, "multiply") else X * self.weight_


class RareCategories(TransformerMixin, BaseEstimator):
    """Weigh the 0/1 columns of categories by how rare they are, and encode unseen categories.

    A row of a rare category lacks the one of a frequent category, which no weight makes up for.
    Where at least three categories of a column are rare, such a row has the weight
    w = sqrt(10 p) in its own 0/1 column and 1 - w in the most frequent category's column. Every
    row of the fit has exactly one category of each column.

    Categories that occur once have no 0/1 column of their own: one per column of the table is for
    all of these and for categories that were never seen. A row that calibrates is thus encoded as
    if its category had been unknown when the row was left out. The weight there is 1 if at most
    one row in a hundred has a category that occurs once or twice, and less if more have
    (:func:`unseen_weight`); it is never less than the weight of the rarest category.

    Where no category occurs once, an unseen one is encoded as the rarest category and has a weight
    in that further column besides. That makes it farther from all rows by one and the same amount,
    so it is at least as unusual as the rarest category by every score that falls with distances or
    asks which rows are nearest.

    ``spare`` further columns are for categories that :meth:`learn` gets later; ``columns`` are
    the names of the table's columns.
    """

    def __init__(self, spare: int = 0, columns: tuple[str, ...] = ()) -> None:
        self.spare = spare
        self.columns = columns

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        X = validated_rows(self, X, **_ROWS)
        n, ones = X.shape[0], np.asarray(X.sum(axis=0), dtype=float).ravel()
        self.column_ = np.ceil(np.cumsum(ones) / n).astype(int) - 1
        weight, n_columns = rare_weight(ones / n), int(self.column_[-1]) + 1
        is_single = ones == 1.0
        few = np.asarray(X[:, np.flatnonzero(ones <= 2.0)].sum(axis=1)).ravel()
        least = unseen_weight(float(np.mean(few > 0)))
        self.n_own_ = int(np.count_nonzero(~is_single))
        self.place_ = np.cumsum(~is_single) - 1
        self.place_[is_single] = self.n_own_ + self.column_[is_single]
        self.frequent_, self.weight_ = np.full(n_columns, -1), weight
        self.mix_ = np.zeros(len(ones))
        self.unseen_ = np.zeros((n_columns, 2))  # weight, and share in the most frequent category
        self.rarest_ = np.full(n_columns, -1)  # what unseen categories are encoded as, if any
        for k in range(n_columns):
            names = np.flatnonzero(self.column_ == k)
            first, last = names[np.argmax(ones[names])], names[np.argmin(ones[names])]
            has_tail = np.count_nonzero(weight[names] < 1.0) >= _TAIL
            if not is_single[first]:
                self.frequent_[k] = self.place_[first]
                if has_tail:
                    self.mix_[names] = 1.0 - weight[names]
            own, mix = max(least, weight[last]), self.mix_[last]
            if not has_tail:
                # Without a tail nothing else keeps the row from lying between all others.
                own = least if is_single[last] else 1.0
                mix = np.sqrt(1.0 - own**2) if self.frequent_[k] >= 0 else 0.0
            self.unseen_[k] = own, mix
            if not is_single[last]:
                self.rarest_[k] = last - names[0]
        of = self.column_[is_single]
        self.weight_[is_single], self.mix_[is_single] = self.unseen_[of].T
        self.n_learned_ = 0
        self.once_: list[list[str]] = [[] for _ in range(n_columns)]
        return self

    @property
    def n_columns_out_(self) -> int:
        """How many columns encoded rows have."""
        return self.n_own_ + len(self.unseen_) + self.spare

    def mixing_matrix(self) -> sp.csr_array:
        """Return the matrix that 0/1 columns of known categories are multiplied by."""
        own = np.arange(len(self.place_))
        shape = len(own), self.n_columns_out_
        known = sp.csr_array((self.weight_, (own, self.place_)), shape=shape)
        moved = np.flatnonzero(self.mix_)
        at = moved, self.frequent_[self.column_[moved]]
        return known + sp.csr_array((self.mix_[moved], at), shape=shape)

    def unseen_rows(self) -> sp.csr_array:
        """Return a row for each column of the table: the encoding of an unknown category."""
        k = np.arange(len(self.unseen_))
        shape = len(k), self.n_columns_out_
        own, mix = self.unseen_.T.copy()
        like = np.flatnonzero(self.rarest_ >= 0)
        rarest = np.searchsorted(self.column_, like) + self.rarest_[like]
        own[like] = np.hypot(own[like], self.weight_[rarest])
        mix[like] = 0.0  # the rarest category's row has its own
        found = sp.csr_array((own, (k, self.n_own_ + k)), shape=shape)
        some = np.flatnonzero(mix)
        found += sp.csr_array((mix[some], (some, self.frequent_[some])), shape=shape)
        which = sp.csr_array(
            (np.ones(len(like)), (like, rarest)), shape=(len(k), len(self.place_))
        )
        return found + which @ self.mixing_matrix()

    def membership_matrix(self) -> sp.csr_array:
        """Return the 0/1 matrix that says which column of the table each known category is of."""
        own = np.arange(len(self.column_))
        shape = len(own), len(self.unseen_)
        return sp.csr_array((np.ones(len(own)), (own, self.column_)), shape=shape)

    def transform(self, X: MatrixLike) -> RowMatrix:
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False, **_ROWS)
        if not sp.issparse(X):
            return X @ self.mixing_matrix() + self.find_unseen(X) @ self.unseen_rows()
        X = sp.csr_array(X)
        return sp.csr_array(
            X @ self.mixing_matrix() + sp.csr_array(self.find_unseen(X)) @ self.unseen_rows()
        )

    def find_unseen(self, X: RowMatrix) -> RealArray:
        """Return 1 for every row and column of the table whose category isn't known, else 0."""
        known = X @ self.membership_matrix()
        return 1.0 - (known.toarray() if sp.issparse(known) else known)

    def has_own(self, column: int) -> BoolArray:
        """Return which categories of a column of the table have a 0/1 column of their own."""
        place = self.place_[self.column_ == column]
        return (place < self.n_own_) | (place >= self.n_own_ + len(self.unseen_))

    def learn(self, column: int, number: int) -> bool:
        """Give a category of a column of the table a 0/1 column of its own, if one is left.

        ``number`` counts the categories of the column from 0; the number after the last one adds
        a category. Rows that were encoded before stay as they are.
        """
        if self.n_learned_ == self.spare:
            return False
        at = int(np.searchsorted(self.column_, column)) + number
        if number == np.count_nonzero(self.column_ == column):
            weight, mix = self.unseen_[column]
            self.column_ = np.insert(self.column_, at, column)
            self.place_ = np.insert(self.place_, at, 0)
            self.weight_ = np.insert(self.weight_, at, weight)
            self.mix_ = np.insert(self.mix_, at, mix)
            self.n_features_in_ += 1
        self.place_[at] = self.n_own_ + len(self.unseen_) + self.n_learned_
        self.n_learned_ += 1
        return True

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> ObjectArray:
        given = np.asarray(input_features, dtype=object)
        columns = self.columns or [f"x{k}" for k in range(len(self.unseen_))]
        once = [f"{name}_once_or_never" for name in columns]
        spare = [f"spare_{k}" for k in range(self.spare)]
        names = np.array([*[""] * self.n_own_, *once, *spare], dtype=object)
        is_own = (self.place_ < self.n_own_) | (self.place_ >= self.n_own_ + len(once))
        names[self.place_[is_own]] = given[is_own]
        return names
