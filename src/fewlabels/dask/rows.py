"""The engine's rows on a cluster, and what is needed to rebuild those that are lost."""

from copy import copy
from functools import partial
from operator import methodcaller

import numpy as np

from ..solvers.engine.messages import Ranked, RunState, WorkingSet
from ..solvers.engine.partition import Partition, is_question, is_setting
from ..solvers.engine.rows import Rows
from .holder import Together, name_of, used_variables

# Columns that are gathered at a time to rebuild a gradient.
_AT_A_TIME = 1024


class Memory:
    """What the client knows of the variables of a part: those that are not zero, or were once.

    While it knows them all, ``journal`` has what has been sent since then; before that
    (``ids`` is None), everything that has been sent.
    """

    def __init__(self):
        self.ids = self.a = None
        self.journal: list = []
        self.settings: list = []
        self.sound = False

    def note(self, message, sound):
        """A message was acted upon."""
        name, self.sound = name_of(message), sound
        if is_setting(name):
            self.settings.append(message)
        if not is_question(name):
            self.journal.append(message)

    def know(self, ids, a):
        """These are all variables that are not zero."""
        self.ids, self.a, self.journal = ids, a, []

    def set(self, ids, a):
        """Some variables have changed, and nothing else."""
        at = np.searchsorted(self.ids, ids)
        known = np.zeros(len(ids), dtype=bool)
        inside = at < len(self.ids)
        known[inside] = self.ids[at[inside]] == ids[inside]
        self.a[at[known]] = a[known]
        new = ~known & (a != 0.0)
        self.ids, self.a = (
            np.insert(old, at[new], added[new]) for old, added in ((self.ids, ids), (self.a, a))
        )
        self.journal.clear()

    def used(self):
        """Numbers and values of the variables that are not zero."""
        return self.ids[self.a != 0.0], self.a[self.a != 0.0]

    @property
    def owes_gradient(self):
        """Whether the gradient, once it is lost, is the product of all variables."""
        return self.sound and self.ids is not None

    def replayed(self):
        """The messages that lead from the rows alone to where the part was."""
        if self.ids is None:
            return [*self.journal]
        later = [message for message in self.journal if not is_setting(name_of(message))]
        return [*self.settings, methodcaller("assign", *self.used()), *later]


class ClusterRows(Rows):
    """Rows of a problem on workers, or a sample of them (of a higher ``level``).

    A round takes two trips: an update, whose answer has what the next round begins with, and the
    working set that is fetched.
    """

    def __init__(self, source, spec, before=None):
        self.source, self.spec = source, spec
        self.level, self.sample = 0 if before is None else before.level + 1, None
        self.memories = [Memory() for _ in source.slots]
        self._count, self._known = None, {}
        # From here on a part that is lost is brought back with this problem, or sample.
        # One row here, for kernel values between others.
        if before is None:
            source.problem = self
            row = spec.gram(source.take(np.zeros(1, dtype=np.intp)))
            self.local = Partition(row, None, np.zeros(1), spec.formulation.scale)
            total = spec.total()
        else:
            before.sample = self
            self.local, total = copy(before.local), before.total
        super().__init__(source.slots, total, spec.formulation.scale)

    # -- messages --------------------------------------------------------------------------------

    def ask(self, message):
        if name_of(message) == "settled":
            self._complete(message)
            return None
        return self.tell([message] * len(self.memories))

    def tell(self, messages):
        messages = {k: message for k, message in enumerate(messages) if message is not None}
        self._known = {}
        answers = self.source.deliver(self.level, messages)
        for (k, message), (sound, _) in zip(messages.items(), answers, strict=True):
            self.memories[k].note(message, sound)
        return [answer for _, answer in answers]

    def _complete(self, message):
        """Tell all what makes gradient and variables one, and ask what is wanted next."""
        questions = [methodcaller("state")]
        if self._count is not None:
            questions.append(methodcaller("propose", self._count))
        if unknown := any(memory.ids is None or memory.journal for memory in self.memories):
            questions.append(used_variables)
        answers = list(
            zip(*self.tell([Together(message, *questions)] * len(self.memories)), strict=True)
        )
        self._known = {"state": RunState.combined(answers[1])}
        if self._count is not None:
            ups, downs, none = zip(*answers[2], strict=True)
            up, down = Ranked.combined(ups, self._count), Ranked.combined(downs, self._count)
            self._known["propose"] = up.ids, down.ids, none[0]
        if unknown:
            self.sample = None
            for memory, variables in zip(self.memories, answers[-1], strict=True):
                memory.know(*variables)

    def update(self, update):
        self._complete(methodcaller("update", update))
        edges = np.searchsorted(update.ids, np.cumsum([0, *self.sizes]))
        for memory, own in zip(self.memories, map(slice, edges[:-1], edges[1:]), strict=True):
            memory.set(update.ids[own], update.a[own])

    # -- what is known already -------------------------------------------------------------------

    def state(self):
        if "state" not in self._known:
            self._known["state"] = super().state()
        return self._known["state"]

    def n_values(self):
        return super().n_values() + self.local.n_values

    def is_sound(self):
        return all(memory.sound for memory in self.memories)

    def propose(self, count, n_between=0):
        if n_between or count != self._count or "propose" not in self._known:
            self._count = count
            return super().propose(count, n_between)
        return self._known["propose"]

    # -- here ------------------------------------------------------------------------------------

    def kernel_values(self, columns):
        return self.local.block(columns)

    def refine(self):
        self.local.refine()
        return super().refine()

    def sampled(self, share, firsts):
        self.tell([methodcaller("sample", share, first) for first in firsts])
        return ClusterRows(self.source, self.spec, self)

    # -- what was lost ---------------------------------------------------------------------------

    def restore(self, places):
        """Bring parts that were loaded again to where the others were before the last message."""
        for k in places:
            self.replay(k)
        rows = self
        while rows is not None:
            parts = [k for k in places if rows.memories[k].owes_gradient]
            if parts:
                rows._rebuild(parts)
            rows = rows.sample

    def replay(self, k):
        """Variables of a part and of its samples; gradients where a product will not do."""
        messages = self.memories[k].replayed()
        names = [name_of(message) for message in messages]
        at = names.index("sample") if "sample" in names else len(names)
        for some in (messages[:at], messages[at : at + 1], messages[at + 1 :]):
            if some:
                self.source.send(self.level, {k: Together(*some) if len(some) > 1 else some[0]})
            if some and name_of(some[0]) == "sample" and self.sample is not None:
                self.sample.replay(k)

    def _rebuild(self, due):
        """The gradient of some parts from the variables of all: one product."""
        send = partial(self.source.send, self.level)
        send(dict.fromkeys(due, methodcaller("owe", True)))
        used = [memory.used() for memory in self.memories]
        ids, a = (np.concatenate(each) for each in zip(*used, strict=True))
        order = np.argsort(ids)
        for start in range(0, len(ids), _AT_A_TIME):
            some = order[start : start + _AT_A_TIME]
            fetch = methodcaller("fetch", ids[some])
            answers = send(dict.fromkeys(range(len(self.memories)), fetch))
            working = WorkingSet.joined([answer for _, answer in answers])
            send(dict.fromkeys(due, methodcaller("add", working.columns, a[some])))
        send(dict.fromkeys(due, methodcaller("settled")))
