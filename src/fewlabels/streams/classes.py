"""Training rows of several classes, and the machines of each class against the rest."""

from operator import attrgetter
from typing import NamedTuple

import numpy as np

from ..fitted import TrainingRows
from ..kernels import centered
from ..labels.semi_supervised import sides
from .rows import HeldRows, PlainState, labelled_rows
from .semi_supervised import S3VMStream
from .state import Operation, arrivals, check_weight


class _Now(NamedTuple):
    """All that changes, replaced at once."""

    version: int
    held: HeldRows  # their labels are 1, 2, ..., 0 for none
    parts: tuple  # the S3VMStream of every class, over views of the same rows


class ClassStreams(PlainState):
    """Rows of several classes, held once, and an ``S3VMStream`` of every class against the rest.

    ``names`` are what messages call the classes; ``machines`` are the ``SemiSupervised`` of each;
    all else is as of an ``S3VMStream``. Changes are stated here and followed by ``parts``.
    """

    def __init__(
        self, names, kernel, machines, balance_update, X, label, weight, shift=None,
        cache_size=200e6, n_jobs=1,
    ):  # fmt: skip
        self.names = list(names)
        held = labelled_rows(X, label, weight)
        parts = tuple(
            S3VMStream(
                kernel, machine, balance_update, view, shift=shift,
                cache_size=cache_size / len(machines), n_jobs=n_jobs,
            )
            for machine, view in zip(machines, _views(held, len(machines)), strict=True)
        )  # fmt: skip
        self._now = _Now(0, held, parts)

    @classmethod
    def of(cls, stream, names, before, machine):
        """The stream of ``before`` classes, at rest, with those that are new among ``names``.

        ``before`` are the places of the classes so far among the names; the machines of new ones
        minimise ``machine``.
        """
        place = np.asarray(before)
        held, number = stream.held, np.zeros(stream.held.n_places)
        old = held["label"]
        if len(place) == 2:
            number[old < 0], number[old > 0] = place + 1
        else:
            number[old > 0] = (place + 1)[old[old > 0].astype(np.intp) - 1]
        held = held.viewed(label=number, weight=held["weight"])
        views = _views(held, len(names))
        known = dict(zip(place.tolist(), stream.parts, strict=False))
        if len(place) == 2:
            (part,) = stream.parts
            known = {place[0]: part.against(views[place[0]], machine), place[1]: part}
        like = stream.parts[0]
        parts = tuple(
            known[k].registered(view, 0) if k in known else like.beginning(view, machine)
            for k, view in enumerate(views)
        )
        other = cls.__new__(cls)
        other.names, other._now = list(names), _Now(1 + stream.version, held, parts)
        return other

    # -- what others read -----------------------------------------------------------------------

    def __len__(self):
        return len(self._now.held)

    held = property(attrgetter("_now.held"))
    parts = property(attrgetter("_now.parts"))
    places = property(attrgetter("_now.held.places"))
    kernel = property(lambda self: self.parts[0].kernel)
    shift = property(lambda self: self.parts[0].shift)

    @property
    def cache_size(self):
        """Bytes for kernel columns of all parts together, from their next paths on."""
        return sum(part.cache_size for part in self.parts)

    @cache_size.setter
    def cache_size(self, cache_size):
        for part in self.parts:
            part.cache_size = cache_size / len(self.parts)

    @property
    def n_jobs(self):
        """Threads."""
        return self.parts[0].n_jobs

    @n_jobs.setter
    def n_jobs(self, n_jobs):
        for part in self.parts:
            part.n_jobs = n_jobs

    @property
    def deadline(self):
        """When operations of all parts stop."""
        return self.parts[0].deadline

    @deadline.setter
    def deadline(self, deadline):
        for part in self.parts:
            part.deadline = deadline

    @property
    def version(self):
        return self._now.version + sum(part.version for part in self.parts)

    # Of all parts together.
    done = property(lambda self: all(part.done for part in self.parts))
    has_path = property(lambda self: all(part.has_path for part in self.parts))
    ready = property(lambda self: all(part.ready for part in self.parts))
    due = property(lambda self: any(part.ready and part.due for part in self.parts))
    due_by_itself = property(lambda self: any(p.ready and p.due_by_itself for p in self.parts))
    n_steps = property(lambda self: sum(part.n_steps for part in self.parts))
    n_flips = property(lambda self: sum(part.n_flips for part in self.parts))
    n_iter = property(lambda self: sum(part.n_iter for part in self.parts))

    @property
    def leaving(self):
        return np.unique(np.concatenate([part.leaving for part in self.parts]))

    @property
    def history(self):
        return histories(part.history for part in self.parts)

    def lost_to_rounding(self, tol):
        return max(part.lost_to_rounding(tol) for part in self.parts)

    def label(self, places):
        return self.held["label"][places]

    def weight(self, places):
        return self.held["weight"][places]

    def rows(self, places):
        return self.held.rows(places)

    def kernel_rows(self, places):
        return self.parts[0].kernel_rows(places)

    def training_rows(self):
        held = self.held.state()
        return TrainingRows(held["X"], held["weight"], held["label"].astype(np.int64))

    def check(self):
        self.parts[0].check()

    def check_new(self, label, weight=None):
        self.parts[0].check_new(label, weight)

    # -- operations -----------------------------------------------------------------------------

    def add(self, X, label, weight=None):
        """Add rows, labelled ones first."""
        weight = np.ones(len(label)) if weight is None else weight
        self.check_new(label, weight)
        held = self.held.copy()
        places = held.append(X, label=label, weight=weight)
        rows = centered(X, self.shift)
        operations = arrivals(places, rows, label)
        self._register(held, len(label), lambda part, view: operations)

    def remove(self, indices):
        """Remove rows; every class must keep a label once it has one."""
        held = self.held.copy()
        places = held.places[indices]
        held.drop(places)
        self._check_labels(held["label"][held.alive], "forget these rows")
        self._register(held, len(places), lambda part, view: [Operation("remove", places)])

    def relabel(self, indices, label):
        """Give rows other labels, 0 for none."""
        held, kept = self.held.copy(), self.places
        places, new = kept[indices], held["label"].copy()
        new[places] = label
        self._check_labels(new[kept], "take back or change these labels")
        check_weight(self.parts[0].machine, new[kept], held["weight"][kept])
        n_changed = int(np.sum(new[places] != held["label"][places]))
        held["label"] = new

        def change(part, view):
            return [Operation("change", places[view["label"][places] != part.label(places)])]

        self._register(held, n_changed, change)

    def _register(self, held, n_changed, operations):
        """Rows have changed; the parts will follow, each by ``operations(part, view)``."""
        views = _views(held, len(self.parts))
        parts = tuple(
            part.registered(view, n_changed, *operations(part, view))
            for part, view in zip(self.parts, views, strict=True)
        )
        self._now = _Now(self._now.version, held, parts)

    def _check_labels(self, label, what):
        if not len(label):
            raise ValueError("no training row would be left; keep at least one.")
        before = self.label(self.places)
        for number, name in enumerate(self.names, start=1):
            if np.any(before == number) and not np.any(label == number):
                raise ValueError(
                    f"cannot {what}: no label of the class {name} would be left; label another "
                    "row of it first, or fit without this class."
                )

    def reprice(self, C, C_star):
        """Let costs move steadily to other values."""
        for part in self.parts:
            part.reprice(C, C_star)

    def settle(self):
        """Free the places of rows that are gone, once there are many and nothing is on its way."""
        held = self.held.copy()
        place = held.compact() if self.done else None
        if place is not None:
            views = zip(self.parts, _views(held, len(self.parts)), strict=True)
            parts = tuple(part.renumbered(view, place) for part, view in views)
            self._now = _Now(self._now.version, held, parts)

    def widen(self, n_columns):
        """Give all rows more columns, of zeros: the functions stay the same."""
        held = self.held.copy()
        held.widen(n_columns)
        views = _views(held, len(self.parts))
        parts = tuple(
            part.widened(view, n_columns) for part, view in zip(self.parts, views, strict=True)
        )
        self._now = _Now(self._now.version, held, parts)

    def mark_rebuilt(self, consolidated=False):
        """Count changes from now on."""
        for part in self.parts:
            part.mark_rebuilt(consolidated)

    # -- saving ---------------------------------------------------------------------------------

    def __getstate__(self):
        held = self.held.state()
        return {
            "names": self.names, "X": held["X"], "label": held["label"].astype(np.int64),
            "weight": held["weight"], "shift": self.shift, "version": self._now.version,
            "parts": [part.__getstate__() for part in self.parts],
        }  # fmt: skip

    def __setstate__(self, state):
        self.names = list(state["names"])
        held = labelled_rows(state["X"], state["label"], state["weight"])
        parts = []
        for saved, view in zip(state["parts"], _views(held, len(state["parts"])), strict=True):
            part = S3VMStream.__new__(S3VMStream)
            part.__setstate__({**saved, "X": view, "shift": state["shift"]})
            parts.append(part)
        self._now = _Now(state["version"], held, tuple(parts))


def histories(several):
    """The histories of the machines of several classes as one, each entry with its machine."""
    return [{**entry, "machine": place} for place, one in enumerate(several) for entry in one]


def _views(held, n_classes):
    """The same rows for each class against the rest."""
    _ = held.X  # sparse rows become one array, which all views hold
    labels = sides(held["label"], n_classes)
    return [held.viewed(label=label, weight=held["weight"]) for label in labels]
