"""Probabilities of an S3VM, and where its classes are equally probable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._typing import AnyArray, FloatArray, IntArray
from .._util.deadline import Deadline
from ..base.class_functions import ClassFunctions
from ..base.function import Function
from ..calibration.cross_fitting import Sample
from ..calibration.curve import ClassCurves, Curve
from ..data.labels.semi_supervised import shares_by_code
from ..kernels.base import Kernel
from .left_out import LeftOutCurves
from .problem import SemiSupervised
from .reading import settings_for_part


@dataclass(frozen=True)
class Calibrator:
    """Fits curves for an S3VM, to decisions by models that were trained without the rows.

    These models have the parameters of the ``estimator``, and its ``graph``, a kernel or None.
    ``problems`` are what its functions minimise, and ``columns`` the columns of a kernel matrix
    that count, with the number of all.
    """

    estimator: BaseEstimator
    problems: Sequence[SemiSupervised]
    graph: Kernel | None
    columns: tuple[IntArray, int] | None
    deadline: Deadline

    @property
    def moves_intercept(self) -> bool:
        """Whether the class ratio moves the intercept, instead of the mean of f."""
        return self.estimator.class_ratio_ is not None and self.estimator.balance is False

    def decisions(self, sample: Sample) -> FloatArray:
        """Decisions about the labelled rows of a ``Sample``, a column for every function."""
        return self._curves().decisions(sample)

    def curve(
        self, scores: FloatArray, sample: Sample, kind: str, function: Function | ClassFunctions
    ) -> Curve | ClassCurves:
        """The ``Curve`` from these decisions to probabilities; ``function`` is the model's."""
        balances = [problem.balance for problem in self.problems]
        shares = self._shares()
        if shares is None and not isinstance(balances[0], bool) and -1.0 < balances[0] < 1.0:
            # The shares of classes that these means stand for.
            shares = 0.5 * (1.0 + np.array(balances))
        curve = self._curves().curve(scores, sample, kind, function, shares)
        return replace(curve, agrees=True)

    def offset(
        self, function: Function | ClassFunctions, sample: Sample
    ) -> float | FloatArray | None:
        """Return what the class ratio adds to f to make the classes equally probable at 0.

        Without a constraint f follows the labels' class ratio, and probabilities the ratio of
        the unlabelled rows, their mean. With this intercept, both agree on the classes. None
        where nothing moves it.
        """
        if not self.moves_intercept or not np.any(sample.y == 0):
            return None
        curves = self._curves()
        decisions = curves.decisions(sample)
        curve = curves.curve(decisions, sample, "sigmoid", function, self._shares())
        return curve.intercept / curve.slope

    def _shares(self) -> FloatArray | None:
        """The class ratio, a share for each of the functions; None without."""
        ratio = self.estimator.class_ratio_
        return None if ratio is None else ratio[-len(self.problems) :]

    def _curves(self) -> LeftOutCurves:
        model = self.estimator
        return LeftOutCurves(
            self._make_estimator,
            len(model.classes_),
            self.deadline,
            self.columns,
            model.n_jobs,
            labels_alone=model.C_star == 0 and model.balance is False,
        )

    def _make_estimator(self, numbers: AnyArray) -> BaseEstimator:
        """An S3VM to fit to some rows, whose classes are ``numbers``."""
        model = self.estimator
        settings: dict[str, object] = {"solver": "auto", "unlabeled": None, "verbose": False}
        if model.gamma_:
            settings["gamma"] = model.gamma_
        if isinstance(model.balance, Mapping):
            settings["balance"] = shares_by_code(model.balance, model.classes_, numbers)
        settings |= settings_for_part(model)
        if self.graph is not None:
            settings["kernel"] = self.graph
        return clone(model).set_params(**settings)
