"""PUSVM on a path: unlabelled rows with variables in units of their bound."""

from __future__ import annotations

import copy

import numpy as np

from ..problem import Penalty
from ..problem.positive_unlabelled import DoubleHinge
from ..solvers.path import RowPenalties
from ..training.positive_unlabelled.data import PUData, exact_sum
from ..training.positive_unlabelled.settings import weight_of_norm
from ._convex_path import ConvexPath, settled_shift

# Sums over positive rows are computed afresh once this share of them is left.
_LEFT = 0.5


class PUPath(ConvexPath):
    """``ConvexPath`` of a PUSVM with the double hinge loss.

    With W the sum of the weights of the unlabelled rows, ``b = 2 lam W sigma`` solves

    ``min b'Kb/2 - sum_u W [prior m_u b_u + 2 lam min(b_u, w_u - b_u)]``, ``sum b = prior W``,
    ``0 <= b_u <= w_u``,

    m_u the mean kernel value with the positive rows. These are not on the path: when they come
    or go, m moves, and lambda with ``lam="auto"``; when unlabelled rows do, W moves.
    """

    moves_slopes = True

    def read(self, machine):
        self.prior, self.given_lam = float(machine.prior_), machine.lam
        rows = self.rows
        rows["similarity"] = np.zeros(rows.n_places)
        self._sum_afresh()
        unlabelled = rows.alive & self.takes()
        # Taken from all m_u: sums of kernel values that are large and nearly the same.
        self.middle = float(np.mean(rows["similarity"][unlabelled]) / self.positive_weight)

    def takes(self):
        return super().takes() & ~self.rows["positive"]

    @property
    def lam(self):
        return weight_of_norm(self.given_lam, self.positive_weight)

    # -- rows -----------------------------------------------------------------------------------

    def positives(self):
        """Places of the positive rows with a weight."""
        rows = self.rows
        return np.flatnonzero(rows.alive & rows["positive"] & (rows["weight"] > 0))

    def _sum(self, places, coef, at):
        """``sum_i coef_i K(x_i, x)`` over rows at ``places``, for the rows ``at``."""
        function = exact_sum(self.kernel, self.kernel_rows(places), coef, self.n_jobs)
        return function(self.kernel_rows(at))

    def _span(self, places, at):
        """The same with the rows' weights."""
        return self._sum(places, self.rows["weight"][places], at)

    def _sum_afresh(self):
        everywhere, positives = np.arange(self.rows.n_places), self.positives()
        self.rows["similarity"] = self._span(positives, everywhere)
        self.positive_weight = float(self.rows["weight"][positives].sum())
        self._largest_weight = self.positive_weight

    def _change_sum(self, places, sign):
        """Rows at ``places`` join the positive ones, or leave them."""
        self.stale = True
        self.positive_weight += sign * float(self.rows["weight"][places].sum())
        self._largest_weight = max(self._largest_weight, self.positive_weight)
        if self.positive_weight < _LEFT * self._largest_weight:
            self._sum_afresh()
        else:
            everywhere = np.arange(self.rows.n_places)
            self.rows["similarity"] = self.rows["similarity"] + sign * self._span(
                places, everywhere
            )

    def add(self, X, weight, positive):
        none = np.zeros(X.shape[0])
        before = self.positives()
        places = super().add(X, weight, positive=positive, similarity=none)
        similarity = self.rows["similarity"].copy()
        similarity[places] = self._span(before, places)
        self.rows["similarity"] = similarity
        joining = places[positive & (weight > 0)]
        if len(joining):
            self._change_sum(joining, 1.0)
        return places

    def check_left(self, left):
        counts = left & (self.rows["weight"] > 0)
        for name, kind in zip(("positive", "unlabelled"), self.kinds(), strict=True):
            if not np.any(counts & kind):
                raise ValueError(f"no {name} training row would be left; keep at least one.")

    def kinds(self):
        return [self.rows["positive"], ~self.rows["positive"]]

    def remove(self, places):
        leaving = np.intersect1d(places, self.positives())
        super().remove(places)
        if len(leaving):
            self._change_sum(leaving, -1.0)

    # -- the problem ----------------------------------------------------------------------------

    @property
    def formulation(self):
        return DoubleHinge(self.prior, self.lam, self.middle)

    def unit(self, mass):
        return self.formulation.unit(mass)

    def total(self, mass):
        return self.prior * mass

    def similarity(self, places):
        """m of some rows."""
        return self.rows["similarity"][places] / self.positive_weight

    def penalties(self, places, mass):
        return RowPenalties.convex(self.formulation.penalty(self.numbers_of(places), mass))

    def numbers_of(self, places):
        """What the formulation needs of some rows."""
        return {"weight": self.rows["weight"][places], "similarity": self.similarity(places)}

    def path_multiplier(self, multiplier, mass):
        return self.formulation.path_multiplier(multiplier, mass)

    def problem(self, places, gram):
        return self.formulation.problem(gram, self.numbers_of(places))

    def decision(self, k, a, h, multiplier, mass):
        similarity = float(self.similarity(self.on_path[k])) - self.middle
        return (self.prior * mass * similarity - h[k]) / self.unit(mass)

    def without_positive(self, place):
        """This machine's problem without one positive row; the path stays as it is."""
        everywhere, one = np.arange(self.rows.n_places), np.array([place])
        other = copy.copy(self)
        other.rows = self.rows.replaced(
            similarity=self.rows["similarity"] - self._span(one, everywhere)
        )
        other.positive_weight = self.positive_weight - float(self.rows["weight"][place])
        return other

    def decision_at(self, place, path):
        """The decision of a path over the present rows about a row that is not on it."""
        a, h, penalty = path.a, path.h, Penalty(*path.penalty_arrays())
        support = np.flatnonzero(a)
        inner = self._sum(self.on_path[support], a[support], np.array([place]))
        similarity = float(self.similarity(place)) - self.middle
        value = float(inner[0]) - path.multiplier - settled_shift(a, h, penalty)
        return (self.prior * self.mass * similarity - value) / self.unit(self.mass)

    # -- what the estimator shows ---------------------------------------------------------------

    def state(self, parameters):
        return {**super().state(parameters), "positive": self.rows.state()["positive"]}

    def data(self):
        """The rows that the present function is made of, as PUData; their places."""
        positives = self.positives()
        places = np.union1d(self.on_path, positives)
        data = PUData(
            self.kernel_rows(places), self.rows["positive"][places],
            self.rows["weight"][places], self.kernel, self.n_jobs, float64=True,
        )  # fmt: skip
        data.rows = self.rows.rows(places)
        data.similarity = self.similarity(self.on_path)
        data.similarity_positive = self.similarity(positives)
        left_out = np.setdiff1d(self.rows.places, places, assume_unique=True)
        data.left_out = self.numbers(left_out)
        data.left_out_rows = self.rows.rows(left_out)
        data.left_out_positive = self.rows["positive"][left_out]
        return data, places
