"""Probabilities of a PUSVM, from what its training rows score when they are left out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from .._threads import resolve_n_jobs
from ..gram import row_products
from ..problem import pu_double_hinge
from ..training.curves import curve_with_prior
from ..training.positive_unlabelled.data import PUData
from ..training.positive_unlabelled.leave_one_out import positives_left_out, unlabeled_left_out
from ._convex_path import ConvexPath
from ._probability import ProbabilityMachine


class PUProbability(ProbabilityMachine):
    """What ``predict_proba`` of a PUSVM needs."""

    # In models that were saved before it existed.
    probability = None

    def _scores_left_out(self, data, found, left_out):
        """What the curve is fitted to; ``left_out`` are the unlabelled rows' scores."""
        of_positives = self._decisions_of_positives(data, found)
        return {
            "positive": of_positives + positives_left_out(found, data),
            "positive_weight": data.weight_positive,
            "unlabeled": left_out + self._bias,
            "unlabeled_weight": data.weight_unlabeled,
        }

    def _decisions_of_positives(self, data, found):
        if self.kernel == "precomputed":
            return row_products(data.X[data.positive], found.coef) + self._bias
        return self._decision(data.rows[data.positive])

    def _fitted_curve(self):
        held = self._curve if "positive" in self._curve else self._scores_of_held_rows()
        return curve_with_prior(
            (held["positive"], held["positive_weight"]),
            (held["unlabeled"], held["unlabeled_weight"]),
            self.prior_,
            self.probability,
        )

    def _scores_of_held_rows(self):
        """The same of a machine whose threshold did not need them."""
        stream = self.__dict__.get("_stream")
        if stream is None:
            raise ValueError(
                f"this {type(self).__name__} holds neither its training rows nor a curve from "
                "decisions to probabilities; call predict_proba once before the machine is saved "
                "or its rows are released, or fit again."
            )
        if isinstance(stream, ConvexPath):
            stream = stream.state(self._then)
        X, positive, weight = stream["X"], stream["positive"], stream["weight"]
        weight = np.ones(len(positive)) if weight is None else weight
        counts = np.flatnonzero(weight > 0)
        coef, there = np.zeros(len(positive)), self.support_ >= 0
        coef[self.support_[there]] = self.dual_coef_[0][there]
        rows = X[counts]
        data = PUData(
            rows if self._shift is None else rows - self._shift, positive[counts],
            weight[counts], self._kernel, resolve_n_jobs(self.n_jobs),
        )  # fmt: skip
        data.rows = rows
        problem = pu_double_hinge(
            data.gram, data.similarity, self.prior_, self.lam_, data.weight_unlabeled
        )
        found = SimpleNamespace(
            coef=coef[counts],
            f=self._decision(rows[data.unlabeled]) - self._bias,
            penalty=problem.penalty,
        )
        return self._scores_left_out(data, found, unlabeled_left_out(found, data))

    def __getstate__(self):
        """With the curve that was asked for in place of the scores that it is fitted to."""
        if isinstance(self.__dict__.get("_stream"), ConvexPath):
            self.support_  # noqa: B018
        if self.__dict__.get("_curve") and self.probability is not None:
            self._curve_now()
        return super().__getstate__()
