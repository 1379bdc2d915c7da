"""Messages about a training: warnings at its end, and a line per round."""

from math import isnan

from sklearn.exceptions import ConvergenceWarning

from .._util.deadline import Deadline
from .._util.warn import warn
from ..solvers import Result, Status
from ..solvers.run import Callback, HistoryEntry

_ADVICE = {
    Status.MAX_ITER: "raise max_iter, or tol if this accuracy is enough",
    Status.MAX_TIME: "raise max_time, or tol if this accuracy is enough",
    Status.STALLED: "raise tol, or scale the columns: rounding prevents further progress",
    Status.STOPPED: "fit again without the callback that stopped it",
    Status.INEXACT: "pass solver='decomposition', which is exact; or, for a paper's solver, a "
    "smaller epsilon or a larger rho in solver_options",
}

# The warning for a model where nothing supports a duality gap.
_STATIONARY = (
    "the solution is a stationary point but may not be the optimum: the kernel matrix is not "
    "positive semi-definite, so there is no duality gap. Use another kernel to get a certificate."
)


def report_status(name: str, result: Result, tol: float, gap: float, deadline: Deadline) -> None:
    """Warn when the tolerance was not reached, or ``gap`` is NaN; pass Ctrl-C on.

    Parameters
    ----------
    name : str
        Name of the estimator's class.
    result : Result
        What a solver came to.
    tol : float
        The tolerance that was requested.
    gap : float
        The duality gap; NaN where the kernel makes the problem not convex.
    deadline : Deadline
        The deadline of the call, with what it has cut short.
    """
    for message in _warnings_about(name, result, tol, gap, deadline.cut):
        warn(message, ConvergenceWarning)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if result.status is not Status.CONVERGED:
        deadline.cut.clear()


def _warnings_about(
    name: str, result: Result, tol: float, gap: float, cut: list[str]
) -> list[str]:
    status = result.status
    if status is Status.INTERRUPTED:
        return [
            f"fit was interrupted at a KKT violation of {result.violation:.3g} (tolerance "
            f"{tol:.3g}); the estimator has the feasible solution reached so far."
        ]
    messages = []
    if status is Status.INEXACT:
        messages.append(
            f"{name} has a duality gap of {gap:.3g} after {result.n_iter} iterations, where tol "
            f"allows {tol:.3g}: {status.value}. To get closer, {_ADVICE[status]}."
        )
    elif status is not Status.CONVERGED:
        messages.append(
            f"{name} stopped early ({status.value}) at a KKT violation "
            f"of {result.violation:.3g} after {result.n_iter} iterations; {_ADVICE[status]}."
            + "".join(f" Besides, {part}." for part in cut)
        )
    if isnan(gap):
        messages.append(f"{name} {_STATIONARY}")
    return messages


def warn_of_rounding(operation: str, violation: float) -> None:
    """Warn that rounding keeps the solution after an operation at a ``violation``."""
    warn(
        f"{operation} ended at a KKT violation of {violation:.3g}: kernel values are so large "
        "that rounding hides the minimum. Scale the columns, and check for outliers.",
        ConvergenceWarning,
    )


def reporter(name: str, callback: Callback | None, verbose: bool) -> Callback | None:
    """Return a callback that also prints a line per round, if so ``verbose``."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {callback!r}; pass a function of an entry, or None.")
    if not verbose:
        return callback

    def report(entry: HistoryEntry) -> object:
        n = entry.get("kernel_values")
        values = "" if n is None else f", {n:.3g} kernel values"
        print(
            f"[{name}] round {entry['round']}: violation "
            f"{entry['violation']:.3g}{values}, {entry['seconds']:.1f} s"
        )
        return callback is not None and callback(entry)

    return report
