"""Other minima of an S3VM that a stream may go to, and the graph of its kernel formed anew."""

import numpy as np

from ...kernels.manifold import Deformed
from ...training.semi_supervised.beginning import by_C_star, row_by_row
from ..calls import one_at_a_time
from .changes import BREAKDOWNS, gram_once, keep_objectives, objectives_of, train_batch
from .solution import one_sided

# Ways to another minimum. Which of them consolidate takes depends on the solver; row by row costs
# too much with more rows than this.
_FEW_ROWS = 2000
STRATEGIES = ("anneal", "batch", "one-sided", "C_star", "row-by-row")
_OF_SOLVER = {"auto": STRATEGIES, "path": ("anneal", "C_star", "row-by-row")}
_BUILDS = {"C_star": by_C_star, "row-by-row": row_by_row}
# Relative: a lower objective.
_LOWER = 1e-9


@one_at_a_time
def consolidate(self, strategies=None) -> bool:
    """Look for a better minimum of (1) in several ways, and keep the best.

    Where the kernel has a graph ("manifold") and rows have come or gone since it was formed, the
    graph becomes that of the rows that there are now, and the machine is trained on all of them
    under that kernel first; ``gamma_`` stays. Values of (1) under two kernels are not compared.

    Parameters
    ----------
    strategies : sequence of str or None, default=None
        "anneal" lets C* go down to an eighth of its value and back, along the exact path from
        where the machine stands: what costs least. The others train on all rows from scratch:
        "batch" as ``fit`` does. "one-sided" begins where all unlabelled rows are on the side of
        the more frequent label, at full C*. "C_star" lets C* grow from ``C_star / 512`` to its
        value along the exact path: some steps per row. "row-by-row" is the procedure of
        ``solver="path"``: an operation per row, and thus the slowest with many rows.
        None for all of them (``solver="auto"``; the last up to 2000 rows), all but "batch"
        ("path") or "batch".

    Returns
    -------
    bool
        Whether a better minimum than the present one was found, and has replaced it, or the
        graph was formed anew.
    """
    stream = self._ready_stream()
    if strategies is None:
        strategies = _OF_SOLVER.get(self.solver, ("batch",))
        if self.solver == "auto" and len(stream) > _FEW_ROWS:
            strategies = strategies[:-1]
    elif isinstance(strategies, str) or not set(strategies) <= set(STRATEGIES):
        raise ValueError(
            f"strategies={strategies!r} are not known; pass some of {list(STRATEGIES)}."
        )
    self._follow("resume", stream)
    if not stream.ready:
        return False
    renewed = self._learns_kernel and renew_graph(self, stream)
    values, make = np.atleast_1d(self.objective_), gram_once(self)
    better = [
        better_minimum(self, place, value, strategies, make)
        for place, value in enumerate(values.tolist())
    ]
    stream.mark_rebuilt(consolidated=True)
    return renewed or any(better)


def renew_graph(self, stream):
    """Train under the kernel with the graph of the rows of now; whether that is another one."""
    before, bound = self._deformed, self._lower_bound
    self._lower_bound = None  # of another problem
    try:
        trained = trained_on_new_graph(self, stream)
    except BREAKDOWNS:
        trained = []
    finally:  # as it was, until all machines have come to their end
        kernel, self._deformed = self._deformed, before
    if not trained:
        self._lower_bound = bound
        return False
    self._deformed = kernel
    for place, (part, (fresh, objectives)) in enumerate(zip(stream.parts, trained, strict=True)):
        part.kernel = kernel
        part.take_over(fresh)
        keep_objectives(self, place, objectives)
    return True


def trained_on_new_graph(self, stream):
    """Streams under the new kernel and their objectives; none if the kernel is the same."""
    before, kernel = self._deformed, self._set_kernel(stream.rows(stream.places))
    if not isinstance(kernel, Deformed) or kernel.is_equal(before):
        return []
    strategy, make = "row-by-row" if self.solver == "path" else "batch", gram_once(self)
    trained = []
    for place, part in enumerate(stream.parts):
        fresh = part.fresh()
        fresh.kernel = kernel
        trained.append((fresh, train_afresh(self, fresh, place, strategy, make)))
        if not fresh.done:
            self._deadline.cut.append("the graph was not formed anew")
            return []
    return trained


def better_minimum(self, place, value, strategies, make_gram):
    """Let one machine go to the best minimum that strategies find; whether that is better."""
    part, kept = self._stream.parts[place], objectives_of(self, place)
    best, lowest = None, value - _LOWER * abs(value)
    for name in strategies:
        if self._deadline.is_over():
            self._deadline.cut.append(f"{name!r} was not tried for a better minimum")
            continue
        try:
            if name == "anneal":
                fresh, objectives = part.annealed(), kept
            else:
                fresh, bound = part.fresh(), self._lower_bound
                objectives = train_afresh(self, fresh, place, name, make_gram)
                self._lower_bound = highest(bound, self._lower_bound)
        except BREAKDOWNS:
            continue
        if not fresh.done:
            self._deadline.cut.append(f"{name!r} for a better minimum did not come to its end")
            continue
        value = fresh.certificate(fresh.standing())[0]
        if value < lowest:
            best, lowest = (fresh, objectives), value
    if best is not None:
        part.take_over(best[0])
        keep_objectives(self, place, best[1])
    return best is not None


def train_afresh(self, fresh, place, strategy, make_gram):
    """Begin a stream without a path; the objectives of its batch training."""
    if strategy in ("batch", "one-sided"):
        signs = None if strategy == "batch" else one_sided(fresh)
        objectives = train_batch(self, fresh, place, make_gram, signs)
        fresh.begin()
        return objectives
    fresh.begin(_BUILDS[strategy])
    return []


def highest(*bounds):
    """The best of lower bounds of one problem, None for none; NaN where a machine has none."""
    known = [bound for bound in bounds if bound is not None]
    return None if not known else np.fmax.reduce(np.array(known, dtype=float))
