"""What the two-class machines share: f(x) = sum_j coef_j K(x_j, x) + b and its sign."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..gram import row_products
from ._base import KernelMachine


class MarginMachine(ClassifierMixin, KernelMachine):
    """Base of the kernel machines that tell two classes apart."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _centred(self, X):
        """Rows for the kernel: under the linear kernel, dense rows around their mean.

        The coefficients sum to zero, so that moving all rows changes nothing but rounding.
        """
        self._shift = None
        if self.kernel == "linear" and not self._sparse:
            self._shift = X.mean(axis=0, dtype=np.float64)
            return X - self._shift
        return X

    def _store_function(self, X, coef, result, gram):
        """The function and the attributes that describe it; gives the support vectors' rows."""
        support = self._store(X, coef, result, gram)
        self.dual_coef_ = coef[support][None, :]
        if self.kernel == "linear":
            vectors = self.support_vectors_.astype(np.float64)
            if self._shift is not None:
                vectors = vectors - self._shift
            self._weights = np.asarray(vectors.T @ self.dual_coef_[0]).ravel()
        return support

    def _store_bias(self, bias):
        """``bias`` of the function of the rows that the kernel saw."""
        self._bias = float(bias)
        moved = 0.0 if self._shift is None else float(self._weights @ self._shift)
        self.intercept_ = np.array([self._bias - moved])

    @property
    def coef_(self):
        """Weights of the linear kernel, shape (1, n_features)."""
        check_is_fitted(self)
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return self._weights[None, :]

    def _decision(self, X):
        """f at validated rows."""
        if self.kernel == "linear":
            margin = row_products(X if self._shift is None else X - self._shift, self._weights)
        else:
            margin = self._expansion(self.support_vectors_, self.dual_coef_[0])(X)
        return self._snapped(margin + self._bias)

    def decision_function(self, X) -> np.ndarray:
        """f(x); positive for the class ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decision(self._rows_to_score(X))

    def predict(self, X) -> np.ndarray:
        """``classes_[1]`` where f(x) > 0, else ``classes_[0]``.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        is_positive = self.decision_function(X) > 0
        return self.classes_[is_positive.astype(np.intp)]
