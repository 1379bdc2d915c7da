"""What lives on a worker: a part of the rows, and the state of the engine over them."""

import pickle

import numpy as np

from ..rows.shards import MemoryShard
from .reading import Piece, read_piece


class Together:
    """Several messages in one: what changes a partition, then questions about it."""

    def __init__(self, *messages):
        self.messages = messages

    def __call__(self, partition):
        return tuple(message(partition) for message in self.messages)


def name_of(message):
    """The method that a message calls, the first of several."""
    if isinstance(message, Together):
        return name_of(message.messages[0])
    return message.__reduce__()[1][0]  # how a methodcaller travels


def used_variables(partition):
    """Numbers and values of the variables that are not zero."""
    rows = np.flatnonzero(partition.a)
    return rows + partition.first, partition.a[rows]


def packed(value):
    """Bytes that ``unpacked`` makes the value of again."""
    return pickle.dumps(value, protocol=5)


def unpacked(data):
    """See ``packed``."""
    return pickle.loads(data)


class Holder:
    """An actor: it answers numbered messages, each of which it acts upon once.

    Of partitions there is one for all rows of the part, and one for each sample within a sample:
    ``level`` says which of them a message is for, None that it is for the holder.
    """

    def __init__(self, X, y, weight):
        self.piece: Piece | Exception
        try:
            self.piece = read_piece(X, y, weight)
        except Exception as error:  # told to whoever asks
            self.piece = error
        self.part = None
        self.partitions: list = []
        self._number, self._reply = -1, b""

    def answer(self, number, level, message):
        """The packed reply to a packed message: whether it failed, and what is answered."""
        if number != self._number:
            try:
                reply = packed((False, self._act(level, unpacked(message))))
            except Exception as error:
                reply = _packed_error(error)
            self._number, self._reply = number, reply
        return self._reply

    def _act(self, level, message):
        if level is None:
            return message(self)
        partition = self.partitions[level]
        answer = message(partition)
        if name_of(message) == "sample":
            self.partitions[level + 1 :] = [answer]
            answer = None
        return partition.is_sound, answer

    # -- what is asked of the part ---------------------------------------------------------------

    def describe(self):
        """``Facts`` of the rows; what could not be read is raised."""
        if isinstance(self.piece, Exception):
            raise self.piece
        return self.piece.facts

    def settle(self, first, dtype, marks):
        """Become a part of all rows, of a common ``dtype``; ``marks(y)`` are its marks."""
        piece = self.piece
        X = piece.X.astype(dtype, copy=False)
        self.part = MemoryShard(X, first, piece.weight, **marks(piece.y) if marks else {})

    def leave_out(self, mask):
        """Give rows the weight 0."""
        part = self.part
        part.weight = np.where(mask, 0.0, 1.0 if part.weight is None else part.weight)

    def state(self, spec):
        """Begin a problem."""
        self.partitions = [spec.partition(self.part)]

    def ask(self, question):
        """The answer of the part."""
        return question(self.part)


def _packed_error(error):
    try:
        data = packed((True, error))
        unpacked(data)
    except Exception:  # one that cannot travel
        return packed((True, RuntimeError(f"{type(error).__name__}: {error}")))
    return data
