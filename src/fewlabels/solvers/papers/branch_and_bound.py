"""Branch and bound: the global minimum of a problem that is convex once it is decided.

What is decided, and how convex problems are solved, is the business of a *relaxation*; here is
the search, depth first, the more promising child first (Chapelle, Sindhwani & Keerthi 2007,
section 3).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from ..run import Callback, HistoryEntry, Status

# A solution of a relaxation.
S = TypeVar("S", covariant=True)


class Node(Protocol):
    """A problem whose decisions are partly made; no solution of it is below ``bound``."""

    @property
    def bound(self) -> float:
        """The bound."""


N = TypeVar("N", bound=Node)

# Entries of the history come after so many nodes, doubled from entry to entry.
_FIRST_ENTRY = 16


class Relaxation(Protocol[N, S]):
    """A family of problems: nodes, each with a ``bound`` below all that it contains."""

    def root(self) -> N:
        """Return the node where nothing is decided."""

    def is_leaf(self, node: N) -> bool:
        """Return whether everything is decided."""

    def complete(self, node: N, cutoff: float) -> tuple[float, S] | None:
        """Return a solution near the node, as ``(value, solution)``.

        None if none is below ``cutoff``.
        """

    def split(self, node: N, cutoff: float) -> tuple[Sequence[N], int]:
        """Return nodes that together contain all of ``node`` below ``cutoff``, best first.

        Returns them and the number of convex problems solved for it.
        """


@dataclass
class SignSearch(Generic[S]):
    """Outcome of a branch and bound.

    ``solution`` is the best one found, None if nothing was better than the value that the search
    began with; ``value`` is its objective and ``lower_bound`` what no solution is below: equal
    when the search was finished, up to the relative accuracy it was requested. ``status`` is
    CONVERGED, MAX_ITER (nodes), MAX_TIME, STOPPED or INTERRUPTED, ``n_nodes`` counts convex
    problems solved.
    """

    solution: S | None
    value: float
    lower_bound: float
    status: Status
    n_nodes: int
    history: list[HistoryEntry] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """How far the value may be from the global minimum; 0 when that is proven."""
        return max(0.0, self.value - self.lower_bound)


def branch_and_bound(
    relaxation: Relaxation[N, S],
    value: float = np.inf,
    *,
    rtol: float = 1e-9,
    max_nodes: float = np.inf,
    max_waiting: float = np.inf,
    max_time: float = np.inf,
    callback: Callback | None = None,
) -> SignSearch[S]:
    """Search for solutions that are better than ``value`` by a share ``rtol`` of it: the best.

    Limits are on convex problems (overrun by one split's problems at most), on nodes kept to be
    split later and on seconds. ``callback(entry of the history)`` returning True stops the search.
    """
    run = _Run(relaxation, value, rtol, callback)
    search = run.search
    try:
        run.waiting.append(relaxation.root())
        search.n_nodes, run.current_bound = 1, np.inf
        while run.waiting and search.status is Status.CONVERGED:
            if search.n_nodes >= max_nodes or len(run.waiting) > max_waiting:
                search.status = Status.MAX_ITER
            elif run.seconds() >= max_time:
                search.status = Status.MAX_TIME
            elif search.n_nodes >= run.next_entry and run.record():
                search.status = Status.STOPPED
            else:
                run.step()
    except KeyboardInterrupt:
        search.status = Status.INTERRUPTED
    run.record()
    return search


class _Run(Generic[N, S]):
    def __init__(
        self, relaxation: Relaxation[N, S], value: float, rtol: float, callback: Callback | None
    ) -> None:
        self.relaxation, self.rtol, self.callback = relaxation, rtol, callback
        self.search: SignSearch[S] = SignSearch(None, float(value), -np.inf, Status.CONVERGED, 0)
        self.started = time.perf_counter()
        self.waiting: list[N] = []
        self.current_bound = -np.inf  # bound of the node that is being looked at
        self.leaf_bound = np.inf  # smallest bound of leaves that are solved as well as possible
        self.next_entry = _FIRST_ENTRY

    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def cutoff(self) -> float:
        value = self.search.value
        return value - self.rtol * abs(value) if np.isfinite(value) else value

    def step(self) -> None:
        """Look at the newest node: close it, or put its children in its place."""
        node = self.waiting.pop()
        self.current_bound = node.bound
        if node.bound < self.cutoff():
            found = self.relaxation.complete(node, self.cutoff())
            if found is not None:
                self.search.value, self.search.solution = found
        if node.bound < self.cutoff():
            if self.relaxation.is_leaf(node):
                self.leaf_bound = min(self.leaf_bound, node.bound)
            else:
                children, n_solved = self.relaxation.split(node, self.cutoff())
                self.search.n_nodes += n_solved
                self.waiting += [c for c in reversed(children) if c.bound < self.cutoff()]
        self.current_bound = np.inf

    def record(self) -> bool:
        """Add an entry to the history. Returns whether the callback asks to stop."""
        search = self.search
        self.next_entry = 2 * search.n_nodes
        bounds = [node.bound for node in self.waiting]
        search.lower_bound = min(search.value, self.current_bound, self.leaf_bound, *bounds)
        entry = {"nodes": search.n_nodes, "lower_bound": search.lower_bound}
        entry |= {"objective": search.value, "seconds": self.seconds()}
        search.history.append(entry)
        return self.callback is not None and bool(self.callback(entry))
