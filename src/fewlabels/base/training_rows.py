"""The training rows of a model, and the stream that holds them between updates."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import Deadline
from ..rows.row_store import RowStore


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that a model holds. Not to be written to."""

    X: RowMatrix  # as they were given
    weight: FloatArray  # 0 for rows that have no part in the fit
    # +1, -1, 0 for none. Of one class: -1 for confirmed anomalies, None where there are none.
    label: AnyArray | None = None


class RowStream(Protocol):
    """The training rows that a model holds, and the solution that follows them.

    ``version`` goes up with everything that may change the solution. ``done`` says whether the
    solution is for the present rows. The other attributes are set before each operation.
    """

    version: int
    done: bool
    rows: RowStore
    cache_size: float
    n_jobs: int
    deadline: Deadline
    tol: float

    def __len__(self) -> int:
        """Return the number of rows."""

    def add(self, X: RowMatrix, **values: Any) -> IntArray:
        """Add rows with their numbers by name, and return their places."""

    def remove(self, indices: IntArray) -> IntArray:
        """Remove rows by what users call them, and return their places."""

    def run(self, max_steps: int | None = None) -> bool:
        """Let the solution follow the rows, and return whether it has."""

    def training_rows(self) -> TrainingRows:
        """Return the rows that are there."""

    def rounding_violation(self) -> float:
        """Return the violation that rounding leaves, 0 for none."""

    def snapshot(self) -> Self:
        """Return a copy that later changes don't reach."""
