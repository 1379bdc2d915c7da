"""Several convex problems solved by the engine as one fit."""

from __future__ import annotations

import time
from dataclasses import replace

from ..solvers import Status


class Steps:
    """The engine over the steps of one fit: one time limit, one callback, one count, one Ctrl-C.

    Parameters
    ----------
    machine : KernelMachine
        Whose settings count.
    callback : callable or None
        The user's; once it asks to stop, every later step is asked to.
    """

    def __init__(self, machine, callback):
        self.machine = machine
        self.callback = callback
        self.started = time.perf_counter()
        self.stop_asked = False
        self._values_seen = self._values_between = 0

    def solve(self, problem, start, tol=None):
        """A Result; not converged when the whole fit has to stop."""
        machine = self.machine
        # What the engine does not count: making the operator, and a start out of another solution.
        self._values_between = problem.gram.n_values - self._values_seen
        left = None
        if machine.max_time is not None:
            left = max(0.0, machine.max_time - (time.perf_counter() - self.started))
        result = machine._solve(
            problem, machine.tol if tol is None else tol, 0.0, self._called, start, left
        )
        before = 0 if start is None else len(start.history)
        fresh = [self._counted(entry) for entry in result.history[before:]]
        if fresh:
            result = replace(result, history=result.history[:before] + fresh)
            self._values_seen = problem.gram.n_values
        if result.converged and self.stop_asked:
            return replace(result, status=Status.STOPPED)
        return result

    def _called(self, entry):
        if self.callback is not None and self.callback(self._counted(entry)):
            self.stop_asked = True
        return self.stop_asked

    def _counted(self, entry):
        return {**entry, "kernel_values": entry["kernel_values"] + self._values_between}
