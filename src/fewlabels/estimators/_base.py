"""What the kernel machines share: rows in, problem solved, attributes out."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._threads import resolve_n_jobs
from ..gram import Expansion, RowMap, make_gram
from ..kernels import Precomputed, make_kernel
from ..solvers import Status
from ._validation import check_rows, check_weight, resolve_gamma
from .kernel_machine import KernelMachine as _Machine

# Up to here every kernel value is float64: it costs milliseconds.
_ALWAYS_FLOAT64 = 1024

# Decisions below this share of the terms they are summed from are rounding.
_ROUNDING = 1e-12
# Rounding errors of kernel values are independent; a sum of them rarely is larger by this.
_ROOM = 8.0

_ADVICE = {
    Status.MAX_ITER: "raise max_iter, or tol if this accuracy is enough",
    Status.MAX_TIME: "raise max_time, or tol if this accuracy is enough",
    Status.STALLED: "raise tol, or scale the columns: rounding prevents further progress",
    Status.STOPPED: "fit again without the callback that stopped it",
}


class KernelMachine(BaseEstimator):
    """Base of the kernel machines: everything but the problem that each solves."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # -- fitting -------------------------------------------------------------------

    def _prepare(self, X, sample_weight):
        """Validated rows that count, their weights, and the kernel over them."""
        X = check_rows(self, X, reset=True)
        weight, kept = check_weight(sample_weight, X)
        self.shape_fit_ = X.shape
        self._sparse = sp.issparse(X)
        if kept is not None:
            X = X[kept][:, kept] if self.kernel == "precomputed" else X[kept]
        self._kept = kept
        self.gamma_ = 0.0
        if self.kernel in ("rbf", "poly", "sigmoid"):
            by_norms = self.gamma == "distance" and self.kernel != "rbf"
            gamma = "scale" if by_norms else self.gamma
            self.gamma_ = resolve_gamma(gamma, X, weight)
        return X, weight

    @property
    def _kernel(self):
        return make_kernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def _gram(self, X):
        dtype = np.float64 if X.shape[0] <= _ALWAYS_FLOAT64 else None
        return make_gram(self._kernel, X, dtype=dtype, n_jobs=resolve_n_jobs(self.n_jobs))

    _solve, _settings = _Machine._solve, _Machine._settings
    _seed, _reporter = _Machine._seed, _Machine._reporter

    def _store(self, X, coef, result, gram):
        """Attributes that every machine has; ``coef`` are the coefficients of the rows X.

        ``gram`` prepared the rows that predictions are made like.
        """
        support = np.flatnonzero(coef)
        self.support_ = (support if self._kept is None else self._kept[support]).astype(np.int32)
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = X[support]
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.history_ = result.history
        self.n_iter_ = max(1, int(result.n_iter))
        self.fit_status_ = 0 if result.converged else 1
        self._center, self._float64 = _row_preparation(gram)
        largest = float(np.abs(gram.diagonal()).max(initial=0.0))
        self._decision_size = float(np.abs(coef).sum()) * largest
        return support

    def _report_status(self, result, tol, stacklevel=4):
        """Warn when the tolerance was not reached; pass Ctrl-C on, fitted as far as it got."""
        if result.status is Status.INTERRUPTED:
            warnings.warn(
                f"fit was interrupted at a KKT violation of {result.violation:.3g} (tolerance "
                f"{tol:.3g}); the estimator holds the feasible solution reached so far.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
            raise KeyboardInterrupt
        if not result.converged:
            warnings.warn(
                f"{type(self).__name__} stopped early ({result.status.value}) at a KKT violation "
                f"of {result.violation:.3g} after {result.n_iter} iterations; "
                f"{_ADVICE[result.status]}.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    # -- evaluating ------------------------------------------------------------------

    def _rows_to_score(self, X):
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        if self.kernel == "precomputed" and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"kernel='precomputed' needs kernel values against the {self.shape_fit_[0]} "
                f"training rows; the matrix given has {X.shape[1]} columns."
            )
        if sp.issparse(X) and not self._sparse:
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        return sp.csr_array(X) if self._sparse else X

    def _snapped(self, decision):
        """Zero where a decision differs from zero by rounding only.

        Support vectors between their bounds lie exactly on the boundary; without this
        the sign of a rounding error would decide on which side they are.
        """
        decision[np.abs(decision) <= self._rounding] = 0.0
        return decision

    @staticmethod
    def _noise(gram, coef):
        """What rounding of kernel values leaves in a decision, with room to spare."""
        largest = float(np.abs(gram.diagonal()).max(initial=0.0))
        return _ROOM * gram.value_error * largest * float(np.linalg.norm(coef))

    @property
    def _rounding(self):
        """What a decision in float64 may be off by."""
        return _ROUNDING * self._decision_size

    def _expansion(self, vectors, coef):
        """The function ``sum_j coef_j K(x_j, .)`` over support vectors."""
        kernel = self._kernel
        row_map = None
        if self._float64 is not None:
            dtype = np.float64 if self._float64 else np.float32
            row_map = RowMap.restored(kernel, self._center, dtype)
        columns = self.support_ if isinstance(kernel, Precomputed) else None
        return Expansion(
            kernel, vectors, coef,
            columns=columns, row_map=row_map, n_jobs=resolve_n_jobs(self.n_jobs),
        )  # fmt: skip


def _row_preparation(gram):
    """Centre and whether values are float64: what prediction must repeat."""
    row_map = getattr(gram, "row_map", None)
    if row_map is None:
        return None, None
    return row_map.center, row_map.dtype == np.float64
