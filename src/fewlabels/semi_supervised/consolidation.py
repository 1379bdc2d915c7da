"""Other minima of an S3VM that its paths may go to, and the graph of its kernel formed again."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..kernels.base import Kernel
from ..kernels.manifold import Deformed
from ..rows.row_store import BREAKDOWNS
from .class_path import ClassPath
from .updater import Updater

# Ways to another minimum. Which of them consolidate takes depends on the solver; row by row costs
# too much with more rows than this.
_FEW_ROWS = 2000
STRATEGIES = ("anneal", "batch", "one-sided", "C_star", "row-by-row")
_OF_SOLVER = {"auto": STRATEGIES, "path": ("anneal", "C_star", "row-by-row")}
# By itself a stream takes a way to another minimum that costs little, and ones from scratch that
# do not search.
_BY_ITSELF = {"path": ("anneal", "C_star"), "branch-and-bound": ("anneal",)}
# Relative: a lower objective.
_LOWER = 1e-9


def read_strategies(strategies: Sequence[str] | None, solver: str, n_rows: int) -> Sequence[str]:
    """Return the strategies that ``consolidate`` was given, or a solver's strategies."""
    if strategies is None:
        strategies = _OF_SOLVER.get(solver, ("batch",))
        return strategies[:-1] if solver == "auto" and n_rows > _FEW_ROWS else strategies
    if isinstance(strategies, str) or not set(strategies) <= set(STRATEGIES):
        raise ValueError(
            f"strategies={strategies!r} are not valid; choose from {list(STRATEGIES)}."
        )
    return strategies


def cheap_strategies(solver: str) -> Sequence[str]:
    """Return the strategies that ``auto_consolidate`` uses."""
    return _BY_ITSELF.get(solver, ("anneal", "batch", "one-sided"))


@dataclass
class Consolidation:
    """Looks for better minima of all paths of a stream, as its ``updater`` trains."""

    updater: Updater

    def improve(self, values: list[float], strategies: Sequence[str]) -> bool:
        """Move every path to the best minimum that strategies find; return whether one is better.

        ``values`` are the values of (1) for each path now.
        """
        better = [
            self._improve(place, path, value, strategies)
            for place, (path, value) in enumerate(
                zip(self.updater.stream.paths, values, strict=True)
            )
        ]
        self.updater.stream.mark_rebuilt(consolidated=True)
        return any(better)

    def _improve(
        self, place: int, path: ClassPath, value: float, strategies: Sequence[str]
    ) -> bool:
        updater, cut = self.updater, self.updater.deadline.cut
        best, lowest = None, value - _LOWER * abs(value)
        for name in strategies:
            if updater.deadline.is_over():
                cut.append(f"{name!r} (not tried as a search for a better minimum)")
                continue
            try:
                new_path, objectives = self._try_strategy(place, path, name)
            except BREAKDOWNS:
                continue
            if not new_path.done:
                cut.append(f"{name!r} (a search for a better minimum that did not finish)")
                continue
            value = new_path.certificate(new_path.current_solution())[0]
            if value < lowest:
                best, lowest = (new_path, objectives), value
        if best is not None:
            path.replace_with(best[0])
            updater.record = updater.record.with_objectives(place, best[1])
        return best is not None

    def _try_strategy(
        self, place: int, path: ClassPath, name: str
    ) -> tuple[ClassPath, list[float]]:
        """Return another path by one strategy, and the objectives of its training."""
        updater, before = self.updater, self.updater.record
        if name == "anneal":
            return path.annealed(), before.objectives[place]
        new_path = path.new_path()
        found = updater.retrain(new_path, name)
        if found is None:
            return new_path, []
        after = before.with_training(place, found).bounded_by(before.bound)
        updater.record = after.with_objectives(place, before.objectives[place])
        return new_path, found.objectives

    def renew(self, kernel: Kernel, strategy: str) -> bool:
        """Train all paths under ``kernel`` if it differs; return whether that was done."""
        updater, stream = self.updater, self.updater.stream
        if not isinstance(kernel, Deformed) or kernel.is_equal(stream.kernel):
            return False
        record, trained = updater.record.without_bound(), []  # a bound of another problem
        try:
            for place, path in enumerate(stream.paths):
                new_path = path.new_path(kernel)
                found = updater.retrain(new_path, strategy)
                if not new_path.done:
                    updater.deadline.cut.append("the graph was not rebuilt")
                    return False
                record = (
                    record.with_objectives(place, [])
                    if found is None
                    else record.with_training(place, found)
                )
                trained.append(new_path)
        except BREAKDOWNS:
            return False
        for path, new_path in zip(stream.paths, trained, strict=True):
            path.replace_with(new_path)
        updater.record = record
        return True
