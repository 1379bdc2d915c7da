"""Better minima for the paths of a stream, and the graph of its kernel formed again."""

from collections.abc import Sequence

import numpy as np

from .._typing import FloatArray
from ..kernels.base import Kernel
from ..kernels.manifold import Deformed
from ..rows.row_store import BREAKDOWNS
from .class_path import BuildPath, ClassPath
from .data import S3VMSolution
from .path_starts import build_by_C_star, build_row_by_row
from .stream import S3VMStream
from .trainer import Trainer

# Ways to another minimum. Which of them consolidate takes depends on the solver; row by row costs
# too much with more rows than this.
_FEW_ROWS = 2000
STRATEGIES = ("anneal", "batch", "one-sided", "C_star", "row-by-row")
_OF_SOLVER = {"auto": STRATEGIES, "path": ("anneal", "C_star", "row-by-row")}
# By itself a stream takes a way to another minimum that costs little, and ones from scratch that
# do not search.
_BY_ITSELF = {"path": ("anneal", "C_star"), "branch-and-bound": ("anneal",)}
# Strategies that build a path, instead of training at once.
_BUILDS: dict[str, BuildPath] = {"C_star": build_by_C_star, "row-by-row": build_row_by_row}
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


def improve_paths(
    stream: S3VMStream, trainer: Trainer, values: list[float], strategies: Sequence[str]
) -> bool:
    """Move every path to the best minimum that strategies find; return whether one is better.

    ``values`` are the values of (1) for each path now.
    """
    better = [
        _improve_path(path, place, trainer, value, strategies)
        for place, (path, value) in enumerate(zip(stream.paths, values, strict=True))
    ]
    stream.mark_rebuilt(consolidated=True)
    return any(better)


def _improve_path(
    path: ClassPath, place: int, trainer: Trainer, value: float, strategies: Sequence[str]
) -> bool:
    cut = trainer.deadline.cut
    best, lowest = None, value - _LOWER * abs(value)
    for name in strategies:
        if trainer.deadline.is_over():
            cut.append(f"{name!r} (not tried as a search for a better minimum)")
            continue
        try:
            new_path, objectives = _try_strategy(path, place, trainer, name)
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
        trainer.record = trainer.record.with_objectives(place, best[1])
    return best is not None


def _try_strategy(
    path: ClassPath, place: int, trainer: Trainer, name: str
) -> tuple[ClassPath, list[float]]:
    """Return another path by one strategy, and the objectives of its training."""
    before = trainer.record
    if name == "anneal":
        return path.annealed(), before.objectives[place]
    new_path = path.new_path()
    found = begin_new_path(new_path, trainer, name)
    if found is None:
        return new_path, []
    after = before.with_training(place, found).bounded_by(before.bound)
    trainer.record = after.with_objectives(place, before.objectives[place])
    return new_path, found.objectives


def begin_new_path(new_path: ClassPath, trainer: Trainer, strategy: str) -> S3VMSolution | None:
    """Begin a path by one strategy; return the ``S3VMSolution`` of its training, if any."""
    if strategy not in ("batch", "one-sided"):
        new_path.begin(_BUILDS[strategy])
        return None
    signs = None if strategy == "batch" else choose_one_side(*new_path.training_labels)
    found = trainer.train_path(new_path, signs)
    new_path.begin()
    return found


def choose_one_side(label: FloatArray, weight: FloatArray) -> FloatArray:
    """Return signs of rows, those without a label on the side of most labels.

    0 for labelled ones.
    """
    return np.where(label == 0, 1.0 if label @ weight > 0 else -1.0, 0.0)


def renew_graph(stream: S3VMStream, trainer: Trainer, kernel: Kernel, strategy: str) -> bool:
    """Train all paths under a ``kernel`` if it has another graph; return whether that was done."""
    if not isinstance(kernel, Deformed) or kernel.is_equal(stream.kernel):
        return False
    record, trained = trainer.record.without_bound(), []  # a bound of another problem
    try:
        for place, path in enumerate(stream.paths):
            new_path = path.new_path(kernel)
            found = begin_new_path(new_path, trainer, strategy)
            if not new_path.done:
                trainer.deadline.cut.append("the graph was not rebuilt")
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
    trainer.record = record
    return True
