"""Probabilities of a PUSVM, from what its training rows score when they are left out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._threads import resolve_n_jobs
from ..gram import row_products
from ..problem import pu_double_hinge
from ..training.curves import curve_with_prior
from ._convex_path import ConvexPath
from ._leave_out import _MOST_FREE, _ON, _RIDGE
from ._probability import ProbabilityMachine
from ._pu_data import PUData, row_keys
from ._pu_solve import leave_one_out


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
            weight[counts], self._kernel, self._gram, resolve_n_jobs(self.n_jobs),
        )  # fmt: skip
        data.rows = rows
        problem = pu_double_hinge(
            data.gram, data.affinity, self.prior_, self.lam_, data.weight_unlabeled
        )
        found = SimpleNamespace(
            coef=coef[counts],
            f=self._decision(rows[data.unlabeled]) - self._bias,
            penalty=problem.penalty,
        )
        return self._scores_left_out(data, found, leave_one_out(found, data))

    def __getstate__(self):
        """With the curve that was asked for in place of the scores that it is fitted to."""
        if isinstance(self.__dict__.get("_stream"), ConvexPath):
            self.support_  # noqa: B018
        if self.__dict__.get("_curve") and self.probability is not None:
            self._curve_now()
        return super().__getstate__()


def positives_left_out(found, data):
    """By how much the decisions about positive rows change when each is left out.

    Without one unit of weight of row i, the mean m of the positive rows moves away from it by
    ``(m - phi(x_i)) / (W - 1)``, W the weight of them all. The rows between breakpoints keep
    their decisions as their variables take over, with an unchanged sum: the span rule of
    Chapelle and Vapnik (2000), to first order. Where there are none, or the kernel is no
    inner product, nothing takes over.

    Parameters
    ----------
    found : PUSolution
        Coefficients of the rows, and the penalty of the unlabelled ones.
    data : PUData
        Rows.

    Returns
    -------
    ndarray of shape (n_positive,)
        At most 0.
    """
    mass = data.weight_positive.sum()
    _, group = np.unique(row_keys(data.X)[data.positive], return_inverse=True)
    total = np.bincount(group, weights=found.coef[data.positive])
    per_unit = (total / np.bincount(group, weights=data.weight_positive))[group]
    step = per_unit * mass / max(mass - 1.0, 0.5 * mass)
    norm, own = data.positive_norm, data.gram_positive.diagonal()
    distance = own - 2.0 * data.affinity_positive + norm
    members = _between_breakpoints(found, data)
    change = -distance
    if len(members):
        both = np.concatenate([data.unlabeled[members], data.positive])
        size = len(members)
        values = np.asarray(data._gram_of(both).columns(np.arange(size)), dtype=float)
        moved = np.concatenate([data.affinity[members], data.affinity_positive]) - 0.5 * norm
        values = values - moved - moved[:size, None]
        first, values = values[0], values[1:] - values[0]
        change = first[size:] - distance
        if size > 1:
            block = values[:, 1:size] - values[:, :1]
            block[np.diag_indices(size - 1)] += _RIDGE * float(np.mean(np.diag(block)))
            toward = values[:, size:]
            try:
                solved = cho_solve(cho_factor(block), toward)
            except LinAlgError:  # no inner product
                return -step * distance
            change += np.einsum("ij,ij->j", toward - values[:, :1], solved)
    return np.minimum(step * change, 0.0)


def _between_breakpoints(found, data):
    """Which unlabelled rows are, one of every group of equal ones, and at most so many."""
    groups = data.groups
    sigma = -np.bincount(groups, weights=found.coef[data.unlabeled])
    penalty = found.penalty
    ends = [np.bincount(groups, weights=v) for v in (penalty.lower, penalty.kink, penalty.upper)]
    near = _ON * (ends[2] - ends[0])
    free = np.all([np.abs(sigma - end) > near for end in ends], axis=0)
    members = np.unique(groups, return_index=True)[1][free]
    return members[:: max(1, -(-len(members) // _MOST_FREE))]
