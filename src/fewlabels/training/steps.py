"""Several convex problems solved by the engine as one fit."""

import time
from dataclasses import replace

from ..solvers import Status, solve_decomposition
from ..solvers.run import WHOLE
from ..solvers.whole import is_whole


class Steps:
    """The engine over the steps of one fit: one time limit, callback, count, Ctrl-C and stop."""

    def __init__(self, settings):
        self.settings = settings
        self.started = time.perf_counter()
        self.stop_asked = False
        self._values_seen = self._values_between = 0
        self._gram = None

    def solve(self, problem, start, tol=None):
        """A Result; not converged when the whole fit has to stop."""
        # What the engine does not count: making the operator, and a start out of another solution.
        self._values_between = problem.gram.n_values - self._values_seen
        spent = time.perf_counter() - self.started
        settings = replace(
            self.settings,
            tol=self.settings.tol if tol is None else tol,
            max_time=max(0.0, self.settings.max_time - spent),
            callback=self._called,
        )
        if self._gram is problem.gram and problem.n <= WHOLE and is_whole(problem, settings):
            problem.gram.hold()
        self._gram = problem.gram
        result = solve_decomposition(problem, start, settings)
        before = 0 if start is None else len(start.history)
        fresh = [self._counted(entry) for entry in result.history[before:]]
        if fresh:
            result = replace(result, history=result.history[:before] + fresh)
            self._values_seen = problem.gram.n_values
        if result.converged and self.stop_asked:
            return replace(result, status=Status.STOPPED)
        return result

    def _called(self, entry):
        callback = self.settings.callback
        if callback is not None:
            counted = self._counted(entry)
            self.stop_asked = bool(callback(counted)) or self.stop_asked
            # What it notes stays, in place of what is counted once.
            entry.update({**counted, "kernel_values": entry["kernel_values"]})
        return self.stop_asked

    def _counted(self, entry):
        return {**entry, "kernel_values": entry["kernel_values"] + self._values_between}
