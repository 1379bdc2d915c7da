"""The base class of models of two classes: decisions and probabilities."""

from operator import methodcaller
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions

from .._typing import AnyArray, FloatArray, IntArray, MatrixLike
from .._util.available import available_if
from .._util.deadline import ENDLESS, Deadline
from ..calibration.curve import ClassCurves, Curve, TwoSidedCurve, class_of
from ..rows.device import backend_of
from ..rows.device.backend import ArrayBackend
from .kernel_estimator import KernelEstimator
from .locking import consistent, lock_of
from .solution import ClassFunctions

ProbabilityCurve: TypeAlias = Curve | TwoSidedCurve | ClassCurves

# What ``probability`` may be.
PROBABILITY = [StrOptions({"sigmoid", "isotonic"}), None]


class TwoClassEstimator(ClassifierMixin, KernelEstimator):
    """A model with ``classes_``; a subclass fits the curve that ``probability`` asks for."""

    # Groups of training rows, while a curve is fitted that leaves them out together.
    _groups = None

    # -- predictions -----------------------------------------------------------------------------

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """f(x); positive for the class ``classes_[1]``, or one for each of several classes.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two
        """
        return self._evaluation(X)()

    def predict(self, X: MatrixLike) -> np.ndarray:
        """``classes_[1]`` where f(x) > 0, else ``classes_[0]``; of several the one of largest f.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        with lock_of(self):
            values = self._evaluation(X)
            classes = self.classes_
        decision = values()
        backend = backend_of(decision)
        if backend is not None:
            return self._classes_at(backend, decision, classes)
        return classes[class_of(decision)]

    @available_if(methodcaller("_has_probabilities"))
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return probabilities of the classes, for rows drawn as the unlabelled ones were.

        An increasing function of the decision, see ``probability``; of several classes, of the
        differences between their decisions. The first call after rows have changed fits it, and a
        saved model keeps it. The class that ``predict`` gives has the largest probability: where
        the fitted curve has another class ahead, the two are made equally probable but for a
        thousandth. The exception are models of positive and unlabelled rows with an estimated
        prior. Their probabilities are averages over the prior's distribution, while the threshold
        uses the estimate. (Model files from before this rule keep the curves that they hold.)

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.

        Raises
        ------
        ValueError
            When the curve has to be fitted and the model does not hold what that takes, as
            one that was saved without its rows before the first call.
        """
        backend = backend_of(X)
        with lock_of(self):
            if not self.has_curve_ and backend is None:
                self._rows_to_score(X)  # complains before anything is trained
            curve, values = self.curve_, self._evaluation(X)
        return (
            curve(values()) if backend is None else backend.array(curve(backend.numpy(values())))
        )

    @available_if(methodcaller("_has_probabilities"))
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Logarithms of ``predict_proba``.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @consistent
    def curve_within(
        self, seconds: float, groups: IntArray | None = None
    ) -> tuple[ProbabilityCurve, list[str]]:
        """``curve_`` fitted in about ``seconds``, and messages about what was cut short.

        The curve may then use fewer labels, but at least those that one model was trained without.
        If models are trained without labels, these leave out whole ``groups`` of rows.
        """
        if self._deadline is not ENDLESS:  # part of a longer call
            return self.curve_, []
        self._deadline, self._groups = Deadline(seconds), groups
        try:
            return self.curve_, self._deadline.cut
        finally:
            del self._deadline, self._groups

    # -- what a fit has found --------------------------------------------------------------------

    coef_ = property(KernelEstimator._weights)

    @property
    def intercept_(self) -> Any:
        """The constant of f for rows as they are given, shape (1,); (n_classes,) of several."""
        function = self.function_
        if isinstance(function, ClassFunctions):
            return function.intercept
        moved = 0.0 if function.shift is None else float(function.weights @ function.shift)
        return self._to_native(np.array([function.bias - moved]))

    @property
    def curve_(self) -> ProbabilityCurve:
        """The ``Curve`` from decisions to probabilities, fitted when first requested.

        It is fitted again when the rows or the kind of curve change.
        """
        self._check_is_fitted()
        self._has_probabilities()
        return self._get_value(self._curve_name, self._fit_curve)

    @property
    @consistent
    def has_curve_(self) -> bool:
        """bool: Whether probabilities are requested, and known without training again."""
        self._check_is_fitted()
        is_known = self._fitted_values.peek(self._curve_name, self._version) is not None
        return self.probability is not None and is_known

    # -- how it is done --------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @staticmethod
    def _classes_at(backend: ArrayBackend, decision: Any, classes: AnyArray) -> Any:
        """Classes where decisions are; names, which no device knows, in NumPy."""
        chosen = backend.xp.astype(decision > 0, backend.xp.int64)
        if classes.dtype.kind not in "biuf":
            return classes[backend.numpy(chosen)]
        return backend.xp.take(backend.array(classes), chosen)

    def _decision_in_memory(self, X: MatrixLike) -> FloatArray:
        """``decision_function`` as a NumPy array."""
        decision = self.decision_function(X)
        backend = backend_of(decision)
        return np.asarray(decision) if backend is None else backend.numpy(decision)

    def _has_probabilities(self) -> bool:
        """Return True where probabilities are requested; else raise an error that says how."""
        if self.probability is None:
            raise AttributeError(
                f"this {type(self).__name__} has no probabilities; pass probability='isotonic' or "
                "'sigmoid' (with set_params if the fitted model stores its rows)."
            )
        return True

    @property
    def _curve_name(self) -> str:
        """The name of the curve that is requested among the model's late values."""
        return f"{self.probability} curve"
