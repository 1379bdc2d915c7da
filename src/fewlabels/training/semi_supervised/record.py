"""What batch training of the functions of an S3VM has left, besides the functions."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """Objectives of every function, a lower bound, and the convex problems solved for it.

    ``objectives`` come from the last batch training of each function. Nothing is below
    ``bound`` while rows and labels stay: a number, or one for each of several functions (NaN
    where unknown), or None. ``n_nodes`` is None before there was a search over all signs.
    """

    objectives: tuple
    bound: float | np.ndarray | None = None
    n_nodes: int | None = None

    @classmethod
    def of(cls, found):
        """Of the ``S3VMSolution`` of every function."""
        record = cls(tuple(one.objectives for one in found))
        bounds, n_nodes = [one.lower_bound for one in found], sum(one.n_nodes for one in found)
        if len(found) > 1:
            known = np.array(bounds, dtype=float)
            bounds = [None if np.isnan(known).all() else known]
        if bounds[0] is None:
            return record
        return replace(record, bound=bounds[0], n_nodes=n_nodes)

    def with_training(self, place, found):
        """With another batch training of one function."""
        record = self.with_objectives(place, found.objectives)
        if len(self.objectives) == 1:
            if found.lower_bound is None:
                return replace(record, bound=None)
            return replace(record, bound=found.lower_bound, n_nodes=found.n_nodes)
        known = np.full(len(self.objectives), np.nan) if self.bound is None else self.bound.copy()
        known[place] = np.nan if found.lower_bound is None else found.lower_bound
        if np.isnan(known).all():
            return replace(record, bound=None)
        return replace(record, bound=known, n_nodes=found.n_nodes + (self.n_nodes or 0))

    def with_objectives(self, place, objectives):
        """With other objectives of one function."""
        before, after = self.objectives[:place], self.objectives[place + 1 :]
        return replace(self, objectives=(*before, objectives, *after))

    def with_search(self, n_nodes):
        """With so many more problems."""
        return replace(self, n_nodes=(self.n_nodes or 0) + n_nodes)

    def bounded_by(self, bound):
        """With the better one of two bounds of one problem; None for none."""
        known = [one for one in (bound, self.bound) if one is not None]
        best = None if not known else np.fmax.reduce(np.array(known, dtype=float))
        return replace(self, bound=best)

    def without_bound(self):
        """Where rows, labels or costs have changed."""
        return self if self.bound is None else replace(self, bound=None)

    def with_functions(self, n, places):
        """Of ``n`` functions, those so far at ``places``."""
        objectives = [[] for _ in range(n)]
        for place, own in zip(places, self.objectives, strict=True):
            objectives[place] = own
        return replace(self, objectives=tuple(objectives))
