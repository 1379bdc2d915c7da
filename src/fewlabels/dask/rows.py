"""The engine's rows on a cluster, and what is needed to rebuild those that are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._typing import FloatArray, IntArray
from ..kernels.operators import Columns
from ..problem import Penalty
from ..rows.problem import ProblemSpec
from ..solvers.engine.messages import Accuracy, BlockUpdate, LowestRows, RunState, WorkingSet
from ..solvers.engine.partition import Partition, is_config_message, is_read_only
from ..solvers.engine.rows import Rows
from .worker_shard import Message, MessageBatch, method_name, used_variables

if TYPE_CHECKING:
    from .source import ClusterSource

T = TypeVar("T")

# Columns that are gathered at a time to rebuild a gradient.
_AT_A_TIME = 1024


class PartVariables:
    """The client's copy of the variables of a part: those that are not zero, or were once.

    While it knows them all, ``journal`` has what has been sent since then; before that
    (``ids`` is None), everything that has been sent.
    """

    def __init__(self) -> None:
        self.ids: IntArray | None = None
        self.a: FloatArray | None = None
        self.journal: list[Message] = []
        self.settings: list[Message] = []
        self.is_current = False

    def record(self, message: Message, is_current: bool) -> None:
        """Record a message that was acted upon."""
        name, self.is_current = method_name(message), is_current
        if is_config_message(name):
            self.settings.append(message)
        if not is_read_only(name):
            self.journal.append(message)

    def set_all(self, ids: IntArray, a: FloatArray) -> None:
        """Set all variables that are not zero."""
        self.ids, self.a, self.journal = ids, a, []

    def set(self, ids: IntArray, a: FloatArray) -> None:
        """Set some variables, when nothing else has changed."""
        assert self.ids is not None and self.a is not None
        at = np.searchsorted(self.ids, ids)
        known = np.zeros(len(ids), dtype=bool)
        inside = at < len(self.ids)
        known[inside] = self.ids[at[inside]] == ids[inside]
        self.a[at[known]] = a[known]
        new = ~known & (a != 0.0)
        self.ids = np.insert(self.ids, at[new], ids[new])
        self.a = np.insert(self.a, at[new], a[new])
        self.journal.clear()

    def used(self) -> tuple[IntArray, FloatArray]:
        """Return numbers and values of the variables that are not zero."""
        assert self.ids is not None and self.a is not None
        return self.ids[self.a != 0.0], self.a[self.a != 0.0]

    @property
    def can_rebuild_gradient(self) -> bool:
        """Return whether the gradient, once it is lost, is the product of all variables."""
        return self.is_current and self.ids is not None

    def messages_to_replay(self) -> list[Message]:
        """Return the messages that lead from the rows alone to where the part was."""
        if self.ids is None:
            return [*self.journal]
        later = [
            message for message in self.journal if not is_config_message(method_name(message))
        ]
        return [*self.settings, methodcaller("assign", *self.used()), *later]


class ClusterRows(Rows):
    """Rows of a problem on workers, or a sample of them (of a higher ``level``).

    A round takes two trips: an update, whose answer has what the next round begins with, and the
    working set that is fetched.
    """

    def __init__(
        self, source: ClusterSource, spec: ProblemSpec, before: ClusterRows | None = None
    ) -> None:
        self.source, self.spec = source, spec
        self.level: int = 0 if before is None else before.level + 1
        self.sample: ClusterRows | None = None
        self.parts = [PartVariables() for _ in source.slots]
        self._count: int | None = None
        self._cached: dict[str, Any] = {}
        # From here on a part that is lost is brought back with this problem, or sample.
        # One row here, for kernel values between others.
        if before is None:
            source.problem = self
            row = spec.gram(source.take(np.zeros(1, dtype=np.intp)))
            fixed = Penalty.linear(0.0, 0.0, 0.0, 1)
            self.local = Partition(row, fixed, np.zeros(1), spec.formulation.scale)
            total = spec.total()
        else:
            before.sample = self
            self.local, total = copy(before.local), before.total
        super().__init__([], total, spec.formulation.scale)

    # -- messages --------------------------------------------------------------------------------

    def call_all(self, message: Callable[[Partition], T]) -> list[T]:
        if method_name(message) == "mark_gradient_current":
            self._finish_update(message)
            return []
        return self.call_each([message] * len(self.parts))

    def call_each(self, messages: Iterable[Callable[[Partition], T] | None]) -> list[T]:
        by_part = {k: message for k, message in enumerate(messages) if message is not None}
        self._cached = {}
        answers = self.source.call_until_answered(self.level, by_part)
        for (k, message), (is_current, _) in zip(by_part.items(), answers, strict=True):
            self.parts[k].record(message, is_current)
        return [answer for _, answer in answers]

    def sampled(self, share: float, firsts: list[int]) -> ClusterRows:
        self.call_each([methodcaller("sample", share, first) for first in firsts])
        return ClusterRows(self.source, self.spec, self)

    # -- what is known already -------------------------------------------------------------------

    def state(self) -> RunState:
        if "state" not in self._cached:
            self._cached["state"] = super().state()
        return self._cached["state"]

    def n_values(self) -> int:
        return super().n_values() + self.local.n_values

    def has_current_gradient(self) -> bool:
        return all(part.is_current for part in self.parts)

    def propose(self, count: int, n_between: int = 0) -> tuple[IntArray, IntArray, IntArray]:
        if n_between or count != self._count or "propose" not in self._cached:
            self._count = count
            return super().propose(count, n_between)
        return self._cached["propose"]

    # -- rounds ----------------------------------------------------------------------------------

    def kernel_values(self, columns: Columns) -> FloatArray:
        return self.local.block(columns)

    def update(self, update: BlockUpdate) -> None:
        self._finish_update(methodcaller("update", update))
        edges = np.searchsorted(update.ids, np.cumsum([0, *self.sizes]))
        for part, own in zip(self.parts, map(slice, edges[:-1], edges[1:]), strict=True):
            part.set(update.ids[own], update.a[own])

    def _finish_update(self, message: Message) -> None:
        """Tell all what makes gradient and variables one, and ask what is wanted next."""
        questions: list[Message] = [methodcaller("state")]
        if self._count is not None:
            questions.append(methodcaller("propose", self._count))
        if unknown := any(part.ids is None or part.journal for part in self.parts):
            questions.append(used_variables)
        answers = list(
            zip(
                *self.call_each([MessageBatch(message, *questions)] * len(self.parts)),
                strict=True,
            )
        )
        self._cached = {"state": RunState.combined(answers[1])}
        if self._count is not None:
            ups, downs, none = zip(*answers[2], strict=True)
            up = LowestRows.combined(ups, self._count)
            down = LowestRows.combined(downs, self._count)
            self._cached["propose"] = up.ids, down.ids, none[0]
        if unknown:
            self.sample = None
            for part, variables in zip(self.parts, answers[-1], strict=True):
                part.set_all(*variables)

    def refine(self) -> Accuracy | None:
        self.local.refine()
        return super().refine()

    # -- what was lost ---------------------------------------------------------------------------

    def restore(self, places: Sequence[int]) -> None:
        """Bring parts that were loaded again to where the others were before the last message."""
        for k in places:
            self.replay(k)
        rows: ClusterRows | None = self
        while rows is not None:
            parts = [k for k in places if rows.parts[k].can_rebuild_gradient]
            if parts:
                rows._rebuild(parts)
            rows = rows.sample

    def replay(self, k: int) -> None:
        """Variables of a part and of its samples; gradients where a product will not do."""
        messages = self.parts[k].messages_to_replay()
        names = [method_name(message) for message in messages]
        at = names.index("sample") if "sample" in names else len(names)
        for some in (messages[:at], messages[at : at + 1], messages[at + 1 :]):
            if some:
                self.source.call_once(
                    self.level, {k: MessageBatch(*some) if len(some) > 1 else some[0]}
                )
            if some and method_name(some[0]) == "sample" and self.sample is not None:
                self.sample.replay(k)

    def _rebuild(self, due: Sequence[int]) -> None:
        """The gradient of some parts from the variables of all: one product."""
        send = partial(self.source.call_once, self.level)
        send(dict.fromkeys(due, methodcaller("count_pending_updates", True)))
        used = [part.used() for part in self.parts]
        ids, a = (np.concatenate(each) for each in zip(*used, strict=True))
        order = np.argsort(ids)
        for start in range(0, len(ids), _AT_A_TIME):
            some = order[start : start + _AT_A_TIME]
            fetch = methodcaller("fetch", ids[some])
            answers = send(dict.fromkeys(range(len(self.parts)), fetch))
            working = WorkingSet.joined([answer for _, answer in answers])
            send(dict.fromkeys(due, methodcaller("add", working.columns, a[some])))
        send(dict.fromkeys(due, methodcaller("mark_gradient_current")))
