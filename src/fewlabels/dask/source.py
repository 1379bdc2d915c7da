"""Rows on a cluster: actors that hold them, and what happens when a worker dies."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, TypeVar

import numpy as np
from distributed import ActorFuture, Client, Future, default_client, wait

from .._typing import AnyArray, BoolArray
from ..rows.problem import ProblemSpec
from ..rows.shards import Shard
from ..rows.source import ShardedSource
from ..rows.validation import check_weight
from .reading import MakeMarks, PieceFacts, Source, list_sources, merge_labels
from .rows import ClusterRows
from .worker_shard import Message, WorkerShard, pack, unpack

T = TypeVar("T")

# Times that parts are loaded again without an answer in between.
_MAX_LOADS = 20
# Times that one message is sent again to a worker that seems to live,
_MAX_REPEATS = 3
# and seconds before that.
_PAUSE_SECONDS = 0.2
# Seconds between looks at whether the worker of an answer that is waited for still lives.
_CHECK_SECONDS = 1.0


def find_client(name: str, client: object) -> Client:
    """Return the client that an estimator called ``name`` was given, or the default one."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise ValueError(
                f"{name} needs a Dask cluster, and there is no client; start one with "
                "distributed.Client(), or pass client=..."
            ) from None
    if not isinstance(client, Client):
        raise TypeError(
            f"client={client!r} is not a Client of distributed; pass client=Client("
            f"{repr(client) if isinstance(client, str) else '...'}), or None for the default one."
        )
    if client.asynchronous:
        raise ValueError(f"{name}.fit needs a synchronous Client; this one is asynchronous.")
    return client


class WorkerLostError(Exception):
    """Workers have died: parts by their places."""

    def __init__(self, places: list[int]) -> None:
        super().__init__()
        self.places = places


@dataclass(eq=False)
class Slot:
    """A part of the rows: what gives it, and the actor that holds it."""

    number: int  # among the partitions of the collection
    source: Source
    future: Future | None = None  # of the actor, which lives as long as this does
    actor: Any = None
    address: str = ""
    first: int = 0
    n: int = 0
    left_out: BoolArray | None = None

    @property
    def is_alive(self) -> bool:
        return self.future is not None and self.future.status == "finished"


class ClusterSource(ShardedSource):
    """Rows of collections, an actor for every partition.

    The client keeps the graphs of the collections, and what it has told the actors. Where a worker
    dies, the scheduler loads its partitions again elsewhere, and they are brought to where they
    were.
    """

    def __init__(self, name: str, client: Client, **collections: Any) -> None:
        self.client, self.name = client, name
        self.marks: MakeMarks | None = None
        self.problem: ClusterRows | None = (
            None  # the ClusterRows of the problem that is being solved
        )
        self._bytes, self._trips, self._waited, self._loaded = 0, 0, 0.0, 0
        self._message = 0
        self._has_offsets = False  # whether the rows have numbers
        self.slots = [
            Slot(k, source) for k, source in enumerate(list_sources(name, **collections))
        ]
        self._load(range(len(self.slots)))
        facts = self._call_holders([methodcaller("describe")] * len(self.slots))
        self._assign_offsets(facts)

    # -- as a source of rows ---------------------------------------------------------------------

    def release(self) -> None:
        """Let the actors go."""
        for slot in self.slots:
            slot.actor = slot.future = None

    def call_each(self, questions: Iterable[Callable[[Shard], T]]) -> list[T]:
        return self._call_holders([methodcaller("call", question) for question in questions])

    def rows(self, spec: ProblemSpec) -> ClusterRows:
        self.problem = None
        self._call_holders([methodcaller("begin_problem", spec)] * len(self.slots))
        return ClusterRows(self, spec)

    def leave_out(self, mask: BoolArray) -> None:
        for slot in self.slots:
            slot.left_out = mask[slot.first : slot.first + slot.n]
        self._call_holders([methodcaller("leave_out", slot.left_out) for slot in self.slots])

    def spent(self) -> dict[str, float]:
        """Return the cost of messages since the last call: of a round, if called in each."""
        found = {
            "bytes": self._bytes,
            "round_trips": self._trips,
            "milliseconds": 1e3 * self._waited,
            "loaded_again": self._loaded,
        }
        self._bytes, self._trips, self._waited, self._loaded = 0, 0, 0.0, 0
        return found

    @property
    def n(self) -> int:
        return sum(slot.n for slot in self.slots)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        return [(slot.first, slot.first + slot.n) for slot in self.slots]

    def call_all(self, question: Callable[[Shard], T]) -> list[T]:  # packed once for all
        return self._call_holders([methodcaller("call", question)] * len(self.slots))

    # -- labels and numbers of rows --------------------------------------------------------------

    def labels(self) -> AnyArray:
        """Return one label of every kind that occurs in any shard, as ``fit`` takes them."""
        return merge_labels([labels for labels in self._labels if labels is not None])

    def mark(self, marks: MakeMarks) -> None:
        """Have each shard take what ``marks`` makes of its labels: arrays by name."""
        self.marks = marks
        self._call_holders([self._offset_message(slot) for slot in self.slots])

    def _assign_offsets(self, facts: list[PieceFacts]) -> None:
        """Number the rows through, once it is known how many there are."""
        kept = [k for k, fact in enumerate(facts) if fact.shape[0]]
        if not kept:
            raise ValueError(f"X has no rows; {self.name} needs at least one.")
        self.slots = [self.slots[k] for k in kept]
        facts = [facts[k] for k in kept]
        for slot, fact in zip(self.slots, facts, strict=True):
            for what in ("names", "is_sparse"):
                if getattr(fact, what) != getattr(facts[0], what) or (
                    fact.shape[1] != facts[0].shape[1]
                ):
                    raise ValueError(
                        f"partition {slot.number} of X has other columns than partition "
                        f"{self.slots[0].number} ({fact.shape[1]}, {facts[0].shape[1]}, or other "
                        "names, or one of them is sparse); make them the same."
                    )
        self.n_jobs_of_shard = self._threads()
        self.names, self.is_sparse = facts[0].names, facts[0].is_sparse
        self.dtype, self._has_offsets = np.result_type(*(fact.dtype for fact in facts)), True
        self._labels = [fact.labels for fact in facts]
        extremes = [fact.weights for fact in facts if fact.weights is not None]
        if any(source[-1] is not None for source in (slot.source for slot in self.slots)):
            ends = np.array(extremes).ravel() if extremes else np.zeros(1)
            check_weight(ends, np.empty((len(ends), 1)))
        first = 0
        for slot, fact in zip(self.slots, facts, strict=True):
            slot.first, slot.n = first, fact.shape[0]
            first += slot.n
        self.shape = first, facts[0].shape[1]
        self._call_holders([self._offset_message(slot) for slot in self.slots])

    def _offset_message(self, slot: Slot) -> Message:
        return methodcaller("assign_offset", slot.first, self.dtype, self.marks)

    def _threads(self) -> int:
        """Return threads of a worker: actors of one worker take turns."""
        return max(1, min(self.client.nthreads().values()))

    # -- messages --------------------------------------------------------------------------------

    def call_until_answered(self, level: int | None, messages: Mapping[int, Message]) -> list[Any]:
        """Return answers to messages by the places of their parts; each is acted upon once."""
        answers: dict[int, Any] = {}
        attempts = 0
        while True:
            before = len(answers)
            left = {k: message for k, message in messages.items() if k not in answers}
            try:
                self._send(level, left, answers)
            except WorkerLostError as lost:
                attempts = attempts + 1 if len(answers) == before else 1
                # Of a worker that died some parts may have answered first; they are where the
                # others were before the message now, too.
                for k in self._recover(lost.places, attempts):
                    answers.pop(k, None)
            else:
                return [answers[k] for k in messages]

    def call_once(self, level: int | None, messages: Mapping[int, Message]) -> list[Any]:
        """Call all workers once; ``LostError`` where a worker has died."""
        answers: dict[int, Any] = {}
        self._send(level, messages, answers)
        return [answers[k] for k in messages]

    def _call_holders(self, messages: Sequence[Message]) -> list[Any]:
        return self.call_until_answered(None, dict(enumerate(messages)))

    def _send(
        self, level: int | None, messages: Mapping[int, Message], answers: dict[int, Any]
    ) -> None:
        """Put down the answers of those that live, before ``LostError`` says who does not."""
        started = time.perf_counter()
        self._message += 1
        # Most messages are for all, and packed once.
        data = {id(message): pack(message) for message in messages.values()}
        blobs = {k: data[id(message)] for k, message in messages.items()}
        calls = {k: self._call(k, level, blob) for k, blob in blobs.items()}
        lost, failed = [], []
        for k, blob in blobs.items():
            reply = self._reply(k, level, blob, calls[k])
            if reply is None:
                lost.append(k)
                continue
            self._bytes += len(blob) + len(reply)
            has_failed, answer = unpack(reply)
            if has_failed:
                failed.append((k, answer))
            else:
                answers[k] = answer
        self._trips += 1
        self._waited += time.perf_counter() - started
        if failed:
            raise self._with_partition_number(*failed[0])
        if lost:
            raise WorkerLostError(lost)

    def _call(self, k: int, level: int | None, blob: bytes) -> ActorFuture | None:
        slot = self.slots[k]
        try:
            return slot.actor.handle(self._message, level, blob) if slot.is_alive else None
        except (RuntimeError, OSError):  # of an actor that was lost
            return None

    def _reply(
        self, k: int, level: int | None, blob: bytes, call: ActorFuture | None
    ) -> bytes | None:
        """Return the answer, asking again where only a message was lost; None if none comes."""
        slot = self.slots[k]
        for _ in range(_MAX_REPEATS):
            while call is not None:
                try:
                    return call.result(timeout=_CHECK_SECONDS)
                except TimeoutError:
                    if not slot.is_alive:
                        return None
                except (OSError, RuntimeError, CancelledError):
                    break
            time.sleep(_PAUSE_SECONDS)  # until the scheduler has noticed
            if not slot.is_alive:
                return None
            call = self._call(k, level, blob)
        return None

    def _with_partition_number(self, k: int, error: Exception) -> Exception:
        """Return an error of a partition, which says of which one."""
        number = self.slots[k].number
        text = f"partition {number} (counted from 0) of X: {error}"
        try:
            return type(error)(text)
        except Exception:  # one that takes other arguments
            return RuntimeError(text)

    # -- workers that die ------------------------------------------------------------------------

    def _recover(self, places: Sequence[int], attempts: int) -> Sequence[int]:
        """Load parts again, and bring them to where they were before the message; which ones."""
        while places:
            if attempts > _MAX_LOADS:
                numbers = ", ".join(str(self.slots[k].number) for k in places)
                raise RuntimeError(
                    f"the workers that hold partition {numbers} of X died {_MAX_LOADS} times in a "
                    "row; check their logs, for example for too little memory, and fit again."
                )
            attempts += 1
            try:
                self._load(places)
                self._loaded += len(places)
                slots = {k: self.slots[k] for k in places}
                self.call_once(None, {k: methodcaller("describe") for k in slots})
                if self._has_offsets:
                    self.call_once(
                        None, {k: self._offset_message(slot) for k, slot in slots.items()}
                    )
                self.call_once(
                    None,
                    {
                        k: methodcaller("leave_out", slot.left_out)
                        for k, slot in slots.items()
                        if slot.left_out is not None
                    },
                )
                if self.problem is not None:
                    spec = self.problem.spec
                    self.call_once(None, {k: methodcaller("begin_problem", spec) for k in slots})
                if self.problem is not None:
                    self.problem.restore(places)
                return places
            except WorkerLostError as lost:
                places = sorted({*places, *lost.places})
        return places

    def _load(self, places: Sequence[int]) -> None:
        """Have the scheduler load parts, and make actors of them, where they are if need be."""
        try:
            self._load_with_client(places)
        except Exception:
            if self.client.status not in ("closing", "closed"):
                raise
            raise RuntimeError(
                f"the Dask client was closed, and {self.name}.fit needs it until it is done; "
                "start another Client, and fit again."
            ) from None

    def _load_with_client(self, places: Sequence[int]) -> None:
        slots = [self.slots[k] for k in places]
        for slot in slots:
            slot.future = slot.actor = None
        flat = self.client.compute([part for slot in slots for part in slot.source])
        parts = [flat[3 * k : 3 * k + 3] for k in range(len(slots))]
        futures = [part for part in flat if part is not None]
        for _ in range(_MAX_LOADS):
            wait(futures)
            for slot, own in zip(slots, parts, strict=True):
                self._check_read(slot, own)
            where = self._choose_workers([own[0] for own in parts])
            for slot, own, address in zip(slots, parts, where, strict=True):
                if not slot.is_alive:
                    slot.address = address
                    slot.future = self.client.submit(
                        WorkerShard,
                        *own,
                        actor=True,
                        pure=False,
                        workers=[address],
                        allow_other_workers=True,
                    )
            wait([slot.future for slot in slots])
            if all(slot.is_alive for slot in slots):
                break
        else:
            self._check_read(slots[0], [slot.future for slot in slots])
        for slot in slots:
            assert slot.future is not None
            slot.actor = slot.future.result()

    def _check_read(self, slot: Slot, futures: Sequence[Future | None]) -> None:
        for what, future in zip(("X", "y", "sample_weight"), futures, strict=False):
            if future is not None and future.status != "finished":
                error = future.exception() if future.status == "error" else None
                said = "its data are lost" if error is None else f"{type(error).__name__}: {error}"
                raise RuntimeError(
                    f"partition {slot.number} (counted from 0) of {what} can't be read ({said}); "
                    "compute it separately to see why."
                ) from error

    def _choose_workers(self, futures: Sequence[Future]) -> list[str]:
        """Return addresses for parts.

        Parts stay where they are, as long as workers get no more than their share.
        """
        workers = self.client.nthreads()
        held = Counter({address: 0 for address in workers})
        held.update(slot.address for slot in self.slots if slot.is_alive)
        most = -(-len(self.slots) // max(1, len(workers)))
        has = self.client.who_has(futures)
        found = []
        for future in futures:
            near = [address for address in has.get(future.key, ()) if held[address] < most]
            address = min(near or held, key=held.__getitem__)
            held[address] += 1
            found.append(address)
        return found
