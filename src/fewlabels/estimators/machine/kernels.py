"""The kernel that an estimator's parameters stand for, and what it is made of."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ...kernels import kind_of, make_kernel
from ...kernels.width import rule_for


class KernelParameters(BaseEstimator):
    """What ``kernel``, ``gamma``, ``degree`` and ``coef0`` stand for.

    A fit sets ``gamma_``, and ``_deformed`` to the kernel that is made of its rows or labels.
    """

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    n_jobs: Any
    # The kernel, where it is made of the rows of the fit.
    _deformed: Any = None

    def _set_gamma(self, rows):
        """Set gamma and the kernel from the rows of a fit, a ``RowSource``."""
        self.shape_fit_ = rows.shape
        self.gamma_ = 0.0
        kind = kind_of(self._kernel_used)
        if "gamma" in kind.takes:
            self.gamma_ = rows.gamma(rule_for(kind, self.gamma))
        if kind.learns == "labels":
            return  # it is grown when labels have been read
        if self._learns_kernel:
            self._set_kernel(rows.X, rows.weight)
        else:
            self._deformed = None
        rows.check(self._make_kernel().plain, width=not isinstance(self.gamma, str))

    def _set_kernel(self, X, weight=None):
        """The kernel; one that is made of the rows of the fit is made of these."""
        self._deformed = self._kernel_over(X, weight) if self._learns_kernel else None
        return self._make_kernel()

    _kernel_used = property(lambda self: self.kernel)  # what ``kernel`` stands for
    _learns_kernel = property(lambda self: kind_of(self._kernel_used).learns == "rows")

    def _make_kernel(self):
        if self._deformed is not None:
            return self._deformed
        return make_kernel(self._kernel_used, self.gamma_, self.degree, self.coef0)

    def _kernel_over(self, X, weight=None):
        """The kernel that is made of these rows."""
        numbers, seed = (self.gamma_, self.degree, self.coef0), self._seed()
        return make_kernel(self._kernel_used, *numbers, X, weight, seed)

    def _seed(self):
        state = getattr(self, "random_state", None)
        if isinstance(state, np.random.RandomState):
            return int(state.randint(2**31 - 1))
        return 0 if state is None else int(state)
