"""Rows of which many are equal, in a store of the distinct ones."""

import numpy as np

from .rows import grown


class RepeatedStore:
    """Dense rows of features, each of which the inner ``store`` holds once."""

    def __init__(self, store):
        self.store, self.n = store, 0
        self._of = np.zeros(0, np.int64)  # the distinct row that each is
        self._diagonal = np.zeros(0)  # of the distinct rows
        self._place = {}  # these by their bytes

    @property
    def of(self):
        """Which distinct row each row is."""
        return self._of[: self.n]

    def append(self, X):
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        before, new, of = self.store.n, [], np.empty(len(X), np.int64)
        for k, row in enumerate(X + 0.0):  # one zero
            place = of[k] = self._place.setdefault(row.tobytes(), before + len(new))
            if place == before + len(new):
                new.append(k)
        if new:
            self._diagonal = np.append(self._diagonal, self.store.append(X[new]))
        first, self.n = self.n, self.n + len(X)
        self._of = grown(self._of, self.n)
        self._of[first : self.n] = of
        return self._diagonal[of]

    def keep(self, indices):
        used, of = np.unique(self.of[indices], return_inverse=True)
        number = dict(zip(used.tolist(), range(len(used)), strict=True))
        self._place = {k: number[place] for k, place in self._place.items() if place in number}
        self.store.keep(used)
        self._of, self._diagonal, self.n = of, self._diagonal[used], len(of)

    def columns_of(self, indices, n_jobs):
        distinct, which = np.unique(self.of[indices], return_inverse=True)
        return self.store.columns_of(distinct, n_jobs)[which].take(self.of, axis=1)

    def cross(self, rows, columns, n_jobs):
        """K[rows][:, columns]."""
        left, of_rows = np.unique(self.of[rows], return_inverse=True)
        right, of_columns = np.unique(self.of[columns], return_inverse=True)
        return self.store.cross(left, right, n_jobs)[np.ix_(of_rows, of_columns)]

    def add_product(self, indices, coef, out, n_jobs):
        distinct, which = np.unique(self.of[indices], return_inverse=True)
        part = np.zeros(self.store.n)
        self.store.add_product(distinct, np.bincount(which, coef), part, n_jobs)
        out += part[self.of]
