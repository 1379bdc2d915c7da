"""The actor on a worker: a part of the rows, and the state of the engine over them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..rows.problem import ProblemSpec
from ..rows.shards import MemoryShard, Shard
from ..solvers.engine.partition import Partition
from .reading import MakeMarks, Marks, Piece, PieceFacts, read_piece

# A call of a method of a partition or of a holder, or a function of a partition: pickled.
Message: TypeAlias = Callable[[Any], Any]
T = TypeVar("T")


class MessageBatch:
    """Several messages in one: what changes a partition, then questions about it."""

    def __init__(self, *messages: Message) -> None:
        self.messages = messages

    def __call__(self, partition: Partition) -> tuple[Any, ...]:
        return tuple(message(partition) for message in self.messages)


def method_name(message: Message) -> str:
    """Return the method that a message calls, the first of several."""
    if isinstance(message, MessageBatch):
        return method_name(message.messages[0])
    reduced: Any = message.__reduce__()  # how a methodcaller travels
    return reduced[1][0]


def used_variables(partition: Partition) -> tuple[IntArray, FloatArray]:
    """Return numbers and values of the variables that are not zero."""
    rows = np.flatnonzero(partition.a)
    return rows + partition.first, partition.a[rows]


def pack(value: object) -> bytes:
    """Return bytes that ``unpacked`` makes the value of again."""
    return pickle.dumps(value, protocol=5)


def unpack(data: bytes) -> Any:
    """See ``packed``."""
    return pickle.loads(data)


class WorkerShard:
    """An actor: it answers numbered messages, each of which it acts upon once.

    Of partitions there is one for all rows of the part, and one for each sample within a sample:
    ``level`` says which of them a message is for, None that it is for the holder.
    """

    def __init__(self, X: object, y: object, weight: object) -> None:
        self.piece: Piece | Exception
        try:
            self.piece = read_piece(X, y, weight)
        except Exception as error:  # reported to the client
            self.piece = error
        self._part: MemoryShard | None = None
        self.partitions: list[Partition] = []
        self._number, self._reply = -1, b""

    def handle(self, number: int, level: int | None, message: bytes) -> bytes:
        """Return the packed reply to a packed message: whether it failed, and what is answered."""
        if number != self._number:
            try:
                reply = pack((False, self._dispatch(level, unpack(message))))
            except Exception as error:
                reply = _pack_error(error)
            self._number, self._reply = number, reply
        return self._reply

    def _dispatch(self, level: int | None, message: Message) -> object:
        if level is None:
            return message(self)
        partition = self.partitions[level]
        answer = message(partition)
        if method_name(message) == "sample":
            self.partitions[level + 1 :] = [answer]
            answer = None
        return partition.has_current_gradient, answer

    @property
    def part(self) -> MemoryShard:
        """The rows, once they have been numbered."""
        assert self._part is not None
        return self._part

    # -- messages to the part --------------------------------------------------------------------

    def describe(self) -> PieceFacts:
        """``Facts`` of the rows; what could not be read is raised."""
        if isinstance(self.piece, Exception):
            raise self.piece
        return self.piece.facts

    def assign_offset(self, first: int, dtype: np.dtype[Any], marks: MakeMarks | None) -> None:
        """Become a part of all rows, of a common ``dtype``; ``marks(y)`` are its marks."""
        piece = self.piece
        assert isinstance(piece, Piece)
        X = piece.X.astype(dtype, copy=False)
        own: Marks = {}
        if marks is not None:
            assert piece.y is not None
            own = marks(piece.y)
        self._part = MemoryShard(X, first, piece.weight, **own)

    def leave_out(self, mask: BoolArray) -> None:
        """Give rows the weight 0."""
        part = self.part
        part.weight = np.where(mask, 0.0, 1.0 if part.weight is None else part.weight)

    def begin_problem(self, spec: ProblemSpec) -> None:
        """Begin a problem."""
        self.partitions = [spec.partition(self.part)]

    def call(self, question: Callable[[Shard], T]) -> T:
        """Return the answer of the part."""
        return question(self.part)


def _pack_error(error: Exception) -> bytes:
    try:
        data = pack((True, error))
        unpack(data)
    except Exception:  # one that cannot travel
        return pack((True, RuntimeError(f"{type(error).__name__}: {error}")))
    return data
