"""From collections to parts: which partitions there are, and what each of them holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard

import dask.array as da
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from dask.base import is_dask_collection
from dask.delayed import Delayed
from distributed import Future

from .._typing import AnyArray, FloatArray, RowMatrix
from .._util.messages import plural
from ..data.checks import check_numbers
from ..data.labels.arrays import distinct_values, find_distinct, split_missing
from ..one_class.svdd import SVDD
from ..rows.files import MappedFiles, copy_mapped
from ..rows.shards import Shard
from ..rows.validation import check_rows

_FLOAT64 = np.dtype(np.float64)


class PartitionedFrame(Protocol):
    """A Dask data frame or series."""

    @property
    def npartitions(self) -> int:
        """How many partitions it has."""

    def to_delayed(self) -> Sequence[Delayed]:
        """Return the partitions."""

    def map_partitions(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return the results of a function of every partition, as another collection."""


# What computes a partition, and what users pass: partitions of rows, labels or weights.
Task: TypeAlias = Delayed | Future
Collection: TypeAlias = da.Array | PartitionedFrame | Task | Sequence[Task]
# The rows, labels and weights of a partition.
Source: TypeAlias = tuple[Task | None, ...]
# Arrays with an entry for each row of a part, by name, and what makes them of labels.
Marks: TypeAlias = dict[str, AnyArray]
MakeMarks: TypeAlias = Callable[[AnyArray], Marks]
# Values of y that occur, and what stands for no label.
OccurringLabels: TypeAlias = tuple[AnyArray, list[Any]]


class PieceFacts(NamedTuple):
    """Shape, columns, labels and weights of the rows of a part."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    is_sparse: bool
    names: tuple[str, ...] | None
    labels: OccurringLabels | None
    weights: tuple[float, float] | None  # least and greatest positive weight


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of a partition, checked, with labels and weights; None where there are none."""

    X: RowMatrix
    y: AnyArray | None
    weight: FloatArray | None
    facts: PieceFacts


def is_collection(X: object) -> TypeGuard[Collection]:
    """Return whether rows are somewhere else."""
    if isinstance(X, list | tuple):
        return _are_tasks(X)
    return is_dask_collection(X) or isinstance(X, Future)


def _are_tasks(X: object) -> TypeGuard[Sequence[Task]]:
    if not isinstance(X, list | tuple):
        return False
    return len(X) > 0 and all(isinstance(part, Delayed | Future) for part in X)


def _is_frame(X: object) -> TypeGuard[PartitionedFrame]:
    return hasattr(X, "to_delayed") and hasattr(X, "npartitions")


def list_sources(name: str, X: Collection, **others: Collection | None) -> list[Source]:
    """Return triples of what gives rows, labels and weights of a partition (None without them).

    ``name`` is the name of the estimator's class.
    """
    rows = _partitions(name, X, "X")
    found: list[Sequence[Task | None]] = [rows]
    for what, values in others.items():
        if values is None:
            found.append([None] * len(rows))
            continue
        if isinstance(X, da.Array) and isinstance(values, da.Array):
            values = _align_chunks(values, X, what)
        parts = _partitions(name, values, what)
        if len(parts) != len(rows):
            raise ValueError(
                f"{what} has {len(parts)} partitions and X has {len(rows)}; {name} needs the "
                "same partitions in both; repartition one of them."
            )
        found.append(parts)
    return list(zip(*found, strict=True))


def _align_chunks(values: da.Array, X: da.Array, what: str) -> da.Array:
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.chunks[0] == X.chunks[0] or np.isnan([values.shape[0], X.shape[0]]).any():
        return values
    if values.shape[0] != X.shape[0]:
        raise ValueError(
            f"{what} has {values.shape[0]} values for {plural(X.shape[0], 'row')} of X."
        )
    return values.rechunk({0: X.chunks[0]})


def _partitions(name: str, values: Collection, what: str) -> list[Task]:
    if isinstance(values, da.Array):
        is_split = values.ndim == 2 and len(values.chunks[1]) > 1
        array: Any = values.rechunk({1: -1}) if is_split else values
        return list(array.to_delayed().ravel())
    if isinstance(values, Delayed | Future):
        return [values]
    if _are_tasks(values):
        return list(values)
    if _is_frame(values):
        return list(values.to_delayed())
    local = name.removeprefix("Dask")
    raise TypeError(
        f"{what} is a {type(values).__name__}; pass a Dask array, a Dask data frame or a list of "
        f"delayed partitions, or pass rows in memory to {local}."
    )


def read_piece(X: Any, y: Any, weight: Any) -> Piece:
    """Return a ``Piece`` of what the tasks of a partition give."""
    if not hasattr(X, "shape") or len(X.shape) != 2:
        raise TypeError(
            f"holds a {type(X).__name__}, not rows and columns; every partition of X has to be a "
            "two-dimensional array, a CSR array or a data frame."
        )
    files = MappedFiles(X)
    with files.checked():
        X = copy_mapped(X)  # as others may write into its file later
    reader, n = SVDD(), X.shape[0]
    if n:
        X = check_rows(reader, X, reset=True)
        X = sp.csr_array(X) if sp.issparse(X) else X
    labels = None
    if y is not None:
        _column(y, n, "y")
        labels = _find_labels(y)
    extremes = None
    if weight is not None:
        weight = check_numbers(
            _column(weight, n, "sample_weight"),
            dtype=np.float64,
            ensure_2d=False,
            ensure_min_samples=0,
            input_name="sample_weight",
        )
        positive = weight[weight > 0]
        weight = np.maximum(weight, 0.0)
        if len(positive):
            extremes = float(positive.min()), float(positive.max())
    names = getattr(reader, "feature_names_in_", None)
    dtype = X.dtype if n and X.dtype == np.float32 else _FLOAT64
    facts = PieceFacts(
        X.shape, dtype, sp.issparse(X), None if names is None else tuple(names), labels, extremes
    )
    return Piece(X, y, weight, facts)


def _column(values: npt.ArrayLike, n: int, what: str) -> AnyArray:
    values = np.asarray(values)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != (n,):
        raise ValueError(f"{what} has shape {values.shape}; it needs one value per row, ({n},).")
    return values


def _find_labels(y: AnyArray) -> OccurringLabels:
    """Distinct labels, and what stands for no label."""
    y, missing = split_missing(y)
    known = distinct_values(y[~missing])[0]
    return known, find_distinct(y[missing]).tolist()


def merge_labels(parts: Sequence[OccurringLabels]) -> AnyArray:
    """Return one label of every kind that occurs in any part, as ``fit`` takes them."""
    known = [values for values, _ in parts if len(values)]
    values = np.concatenate(known or [np.empty(0)])
    blanks: list[Any] = [blank for _, some in parts for blank in some]
    if not blanks:
        return values
    if values.dtype.kind in "fiu":
        return np.append(values, np.nan)
    are_texts = all(isinstance(blank, str) for blank in blanks)
    blank: Any = blanks[0] if are_texts else None
    return np.append(values.astype(object), blank)


def get_labels(shard: Shard) -> FloatArray:
    """Return the question for the labels of the rows of a shard, where these are its mark."""
    return shard.marks["label"]


def mark_positive(y: AnyArray, label: object) -> Marks:
    """Return marks of the rows of a part."""
    y, missing = split_missing(y)
    positive = np.zeros(len(y), dtype=bool)
    positive[~missing] = y[~missing] == label
    return {"positive": positive}


def code_labels(y: AnyArray, known: AnyArray, codes: FloatArray) -> Marks:
    """Return labels of the rows of a part: the code of each known one, 0 for a missing one."""
    y, missing = split_missing(y)
    label = np.zeros(len(y))
    label[~missing] = codes[np.searchsorted(known, y[~missing])]
    return {"label": label}
