"""Several convex problems solved by the engine as one fit."""

from __future__ import annotations

import time
from dataclasses import replace

from ..solvers import Status


class Steps:
    """The engine over the steps of one fit: one time limit, one callback, one Ctrl-C.

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

    def solve(self, problem, start, tol=None):
        """A Result; not converged when the whole fit has to stop."""
        machine = self.machine
        left = None
        if machine.max_time is not None:
            left = max(0.0, machine.max_time - (time.perf_counter() - self.started))
        result = machine._solve(
            problem, machine.tol if tol is None else tol, 0.0, self._called, start, left
        )
        if result.converged and self.stop_asked:
            return replace(result, status=Status.STOPPED)
        return result

    def _called(self, entry):
        if self.callback is not None and self.callback(entry):
            self.stop_asked = True
        return self.stop_asked
