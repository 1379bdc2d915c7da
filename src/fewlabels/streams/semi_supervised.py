"""Training rows of an S3VM that come, go and change their labels, and the path over them.

Rows change at once; the path may lag behind when its steps are limited. So rows have *places*
that stay until the path is done with them, and operations wait in a queue.
"""

import json
from dataclasses import replace
from operator import attrgetter

import numpy as np

from .._deadline import ENDLESS
from ..fitted import TrainingRows
from ..problem.semi_supervised import SemiSupervised
from ..training.semi_supervised import beginning as begin
from ..training.semi_supervised.data import S3VMData
from .rows import HeldRows, PlainState, caught_up, labelled_rows
from .state import NONE, Operation, State, arrivals, both_classes, check_weight

_HISTORY_KEPT = 1000


class S3VMStream(PlainState):
    """Rows, labels and weights of an S3VM, and the path that follows them.

    ``shift``, of shape (d,) or None, is taken from all rows before the kernel sees them;
    ``cache_size`` is in bytes, and operations stop at the ``deadline``. ``X`` may be ``HeldRows``
    that others hold too: then they say when places are numbered anew.
    """

    deadline = ENDLESS

    def __init__(
        self, kernel, machine, balance_update, X, label=None, weight=None, shift=None,
        cache_size=200e6, n_jobs=1,
    ):  # fmt: skip
        self.kernel, self.balance_update = kernel, balance_update
        self.cache_size, self.n_jobs = cache_size, n_jobs
        self.is_part = isinstance(X, HeldRows)
        held = X if self.is_part else labelled_rows(X, label, weight)
        self._now = State(0, machine, held, shift, n_rebuilt=len(held))

    def _set(self, **changes):
        now = self._now
        self._now = now._replace(version=now.version + 1, **changes)

    # -- what others read -----------------------------------------------------------------------

    def __len__(self):
        return len(self._now.held)

    version = property(attrgetter("_now.version"))  # goes up with every change
    machine = property(attrgetter("_now.machine"))  # what is minimised
    done = property(attrgetter("_now.done"))  # whether the path has caught up
    shift = property(attrgetter("_now.shift"))
    places = property(attrgetter("_now.held.places"))  # of the training rows, in their order
    leaving = property(attrgetter("_now.leaving"))  # places of rows on their way out

    held = property(attrgetter("_now.held"))  # the rows; not to be changed

    @property
    def has_path(self):
        return self._now.path is not None

    @property
    def has_start(self):
        """Whether it is known where the next path begins."""
        return self._now.start is not None

    def label(self, places):
        return self._now.held["label"][places]

    def weight(self, places):
        return self._now.held["weight"][places]

    def rows(self, places):
        """Rows at some places, as the user gave them."""
        return self._now.held.rows(places)

    def kernel_rows(self, places):
        """Rows at some places, as the kernel sees them."""
        return self._now.kernel_rows(places)

    def training_rows(self):
        """``TrainingRows``."""
        held = self._now.held.state()
        return TrainingRows(held["X"], held["weight"], held["label"].astype(np.int8))

    def check(self):
        """Refuse weights that the path cannot hold."""
        places = self.places
        check_weight(self.machine, self.label(places), self.weight(places))

    def check_new(self, label, weight=None):
        """Refuse weights of rows to be added."""
        held = self._now.held
        weight = np.ones(len(label)) if weight is None else weight
        unlabelled = held.alive & (held["label"] == 0)
        one = np.argmax(unlabelled) if unlabelled.any() else NONE  # all of them weigh the same
        check_weight(
            self.machine, np.append(held["label"][one], label),
            np.append(held["weight"][one], weight),
        )  # fmt: skip

    @property
    def parts(self):
        """The streams of two classes that this is made of."""
        return (self,)

    @property
    def ready(self):
        """Whether both classes have a label."""
        return both_classes(self.label(self.places))

    # Whether enough has changed since the last rebuild for another; or, by itself, for the first.
    due = property(lambda self: self._now.is_due(self._value))
    due_by_itself = property(lambda self: self._now.is_due(self._value, by_itself=True))

    def _value(self):
        """Value of (1) for a unit of price; NaN on the way."""
        value, _ = self.certificate(self.standing())
        places = self.places
        return value / self.machine.cost(self.label(places), self.weight(places)).sum()

    # Of this path and those before; iterations and history of batch trainings too.

    @property
    def n_steps(self):
        return self._now.steps + (self._now.path.n_steps if self.has_path else 0)

    @property
    def n_flips(self):
        return self._now.flips + (self._now.path.n_flips if self.has_path else 0)

    @property
    def n_iter(self):
        return self._now.iterations + self.n_steps

    @property
    def history(self):
        path = self._now.path.history if self.has_path else []
        return [*self._now.history, *path][-_HISTORY_KEPT:]

    def lost_to_rounding(self, tol):
        """The violation at the end of the path where rounding keeps it above ``tol``, else 0."""
        path = self._now.path
        if path is None or not self.done or path.resolution <= tol:
            return 0.0
        violation = path.violation()
        return violation if violation > tol else 0.0

    # -- the function ---------------------------------------------------------------------------

    def standing(self):
        """The function at every place."""
        return self._now.standing(self.kernel, self.n_jobs)

    def certificate(self, standing):
        """Value of (1) and the largest violation of its optimality conditions."""
        places, machine = self.places, self.machine
        label, weight = self.label(places), self.weight(places)
        known = np.concatenate([places, self.leaving])
        norm = float(standing.coef[known] @ (standing.f[known] + standing.multiplier))
        f, free = standing.f[places], np.flatnonzero(label == 0)
        worst = machine.violation(label, weight, standing.a[places], f)
        target = self._now.target() if len(free) and both_classes(label) else None
        if target is not None:
            share = weight[free] / weight[free].sum()
            worst = max(worst, abs(float(share @ f[free]) - target))
        return machine.objective(label, weight, norm, f), worst

    # -- operations -----------------------------------------------------------------------------

    def add(self, X, label, weight=None):
        """Add rows, labelled ones first."""
        weight = np.ones(len(label)) if weight is None else weight
        self.check_new(label, weight)
        held = self._now.held.copy()
        places = held.append(X, label=label, weight=weight)
        self._register(held, len(label), *arrivals(places, self._now.moved(X), label))

    def remove(self, indices):
        """Remove rows; both classes must keep a label once both have one."""
        held = self._now.held.copy()
        places = held.places[indices]
        held.drop(places)
        self._check_labels(held["label"][held.alive], "forget these rows")
        self._register(held, len(places), Operation("remove", places))

    def relabel(self, indices, label):
        """Give rows other labels, 0 for none."""
        held, kept = self._now.held.copy(), self.places
        places, before = kept[indices], held["label"]
        new = before.copy()
        new[places] = label
        self._check_labels(new[kept], "take back or change these labels")
        check_weight(self.machine, new[kept], held["weight"][kept])
        held["label"] = new
        changed = places[new[places] != before[places]]
        self._register(held, len(changed), Operation("change", changed))

    def reprice(self, C, C_star):
        """Let costs move steadily to other values."""
        machine = replace(self.machine, C=float(C), C_star=float(C_star))
        queue = (*self._now.queue, Operation("move")) if self.has_path else ()
        self._set(machine=machine, queue=queue)

    def _register(self, held, n_changed, *operations):
        """Rows have changed; the path will follow."""
        queue = self._now.queue
        if self.has_path:
            queue += tuple(operation for operation in operations if len(operation.places))
        self._set(held=held, queue=queue, n_changed=self._now.n_changed + n_changed)

    def registered(self, held, n_changed, *operations):
        """A stream of rows that have changed, in the place of this one."""
        other = self._again(held)
        other._now = self._now
        other._register(held, n_changed, *operations)
        return other

    def renumbered(self, held, place):
        """The same with rows at other places, which ``place`` tells, in the place of this one."""
        other, now = self._again(held), self._now
        start = now.start and now.start_at(np.flatnonzero(place >= 0))
        other._now = now._replace(held=held, start=start, on_path=place[now.on_path])
        return other

    def _again(self, held):
        return S3VMStream(
            self.kernel, self.machine, self.balance_update, held, shift=self.shift,
            cache_size=self.cache_size, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _check_labels(self, label, what):
        if not len(label):
            raise ValueError("no training row would be left; keep at least one.")
        if not both_classes(label) and self.ready:
            raise ValueError(
                f"cannot {what}: labels of one class only would be left; label a row of the "
                "other class first."
            )

    def run(self, max_steps=None):
        """Let the path catch up. Returns whether it has, within ``max_steps``.

        After an exception there is no path but a start for another one.
        """
        self._set()  # what was known of the function is no longer so
        try:
            if not self.has_path:
                if not self.ready:
                    return True
                self.begin()
            done = caught_up(self._now.path, self._next, max_steps, self.deadline)
            self._notice()
            self._set(done=done)
            if done and np.isnan(self._now.value_rebuilt):
                self._set(value_rebuilt=self._value())
        except BaseException:
            self._set(**self._without_path())
            raise
        return self.done

    def _next(self, max_steps):
        """Start the next operation that waits; None if there is none."""
        self._notice()
        if not self._now.queue:
            return self._forget_places()
        (what, places, rows), *queue = self._now.queue
        path, on_path, queue = self._now.path, self._now.on_path, tuple(queue)
        budget = {"target": self._now.target(), "max_steps": max_steps}
        if what == "add":
            self._set(queue=queue, joining=places)
            return path.add(rows, self._penalties(places), **budget)
        self._set(queue=queue, leaving=places if what == "remove" else NONE)
        if what == "move":
            # Rows whose label has changed since wait for their own turn.
            same = np.flatnonzero((path.signs != 0) == (self.label(on_path) == 0))
            return path.move(same, self._penalties(on_path[same]), **budget)
        where = np.full(self._now.held.n_places, -1)
        where[on_path] = np.arange(len(on_path))
        if what == "remove":
            return path.remove(where[places], **budget)
        return path.change(where[places], self._penalties(places), **budget)

    def _penalties(self, places):
        return self.machine.penalties(self.label(places), self.weight(places))

    def _notice(self):
        """See whether rows that join or leave have done so: balance_update="paper" delays it."""
        now = self._now
        if len(now.path) == len(now.on_path):
            return
        if len(now.joining):
            joined = len(now.path) - len(now.on_path)
            on_path = np.append(now.on_path, now.joining[:joined])
            self._set(on_path=on_path, joining=now.joining[joined:], leaving=NONE)
        else:
            on_path = now.on_path[~np.isin(now.on_path, now.leaving)]
            self._set(on_path=on_path, leaving=NONE)

    def _forget_places(self):
        """Free the places of rows that are gone, once there are many."""
        if self.is_part:
            return
        held = self._now.held.copy()
        place = held.compact()
        if place is not None:
            self._set(held=held, on_path=place[self._now.on_path])

    # -- where a path begins ----------------------------------------------------------------------

    def begin(self, build=None):
        """Begin the path where it is known to start, or build one, row by row if not told how."""
        self.check()
        places = self.places
        rows = begin.PathRows(
            self.kernel, self.kernel_rows(places), self.label(places), self.weight(places),
            self.machine, self._options(),
        )  # fmt: skip
        if self.has_start:
            path, order = begin.at_solution(rows, self._now.start_at(places))
        else:
            self.mark_rebuilt()
            path, order = (build or begin.row_by_row)(rows)
        # Rows that a deadline has kept out join later.
        here, later = order[: len(path)], order[len(path) :]
        self._set(
            path=path, on_path=places[here], joining=places[later], start=None, done=path.finished
        )

    def _options(self):
        balance = None if self.machine.balance is False else self.balance_update
        limits = {"cache_size": self.cache_size, "n_jobs": self.n_jobs}
        return {"balance": balance, "deadline": self.deadline, **limits}

    def start_from(self, found, done=True):
        """Let the path begin at the outcome of a batch training of the training rows."""
        self._set(
            start=self._start(found.result, found.sign),
            iterations=self._now.iterations + found.result.n_iter,
            history=(*self._now.history, *found.result.history),
            done=done,
        )

    def _start(self, result, sign):
        n, places, n_places = len(self), self.places, self._now.held.n_places
        a, signs = np.zeros(n_places), np.ones(n_places)
        a[places], signs[places] = result.a[:n], sign
        virtual = float(result.a[n]) if len(result.a) > n else 0.0
        return begin.Start(a, signs, virtual, float(result.multiplier))

    def restart_at(self, solution):
        """Begin another path of the same rows at a SignSolution."""
        other = self.fresh()
        other._set(start=other._start(solution, solution.sign))
        other.begin()
        now = self._now
        other._set(
            n_rebuilt=now.n_rebuilt, n_changed=now.n_changed, value_rebuilt=now.value_rebuilt
        )
        self.take_over(other)

    def last_signs(self):
        """Signs of the training rows where the path was given up; None without a start."""
        return self._now.start_at(self.places).sign if self.has_start else None

    def _without_path(self):
        """What changes when the path is given up: where it stands is where the next one starts."""
        if not self.has_path:
            return {"done": False}
        self._notice()
        return {
            "start": self._now.start_from_path(),
            "path": None, "done": False, "queue": (),
            "on_path": NONE, "joining": NONE, "leaving": NONE,
            "steps": self.n_steps, "flips": self.n_flips, "history": tuple(self.history),
        }  # fmt: skip

    def widen(self, n_columns):
        """Give all rows more columns, of zeros: the function stays the same."""
        held = self._now.held.copy()
        held.widen(n_columns)
        self._now = self.widened(held, n_columns)._now

    def widened(self, held, n_columns):
        """The same with the wider rows ``held``, in the place of this one."""
        other, shift = self._again(held), self._now.shift
        if shift is not None:
            shift = np.pad(shift, (0, n_columns - len(shift)))
        other._now = self._now
        other._set(**self._without_path(), held=held, shift=shift)
        return other

    def fresh(self):
        """A stream of the same rows without a path."""
        now, held = self._now, self._now.held
        other = self._again(held if self.is_part else labelled_rows(**held.state()))
        other.is_part = self.is_part
        other.deadline = self.deadline
        other._set(
            steps=self.n_steps, flips=self.n_flips, iterations=now.iterations,
            history=tuple(self.history),
        )  # fmt: skip
        return other

    def beginning(self, held, machine):
        """A stream such as this one, over other rows, that has not begun."""
        other = self._again(held)
        other._set(machine=machine)
        return other

    def against(self, held, machine):
        """The machine of the other class, over ``held``, where nothing is on its way."""
        now, other, places = self._now, self._again(held), self.places
        start = now.plain_start(self.standing)
        if start is not None:
            a, sign = np.zeros((2, held.n_places))
            a[places], sign[places] = -start["a"], -start["sign"]
            start = begin.Start(a, sign, -start["virtual"], -start["multiplier"])
        other._set(
            machine=machine, start=start, n_rebuilt=now.n_rebuilt, n_changed=now.n_changed,
            value_rebuilt=now.value_rebuilt,
        )  # fmt: skip
        return other

    def annealed(self):
        """A stream of the same rows where C* went down along the path from here, and back.

        Only one of the two may go on.
        """
        if not self.has_path:
            raise ArithmeticError("no path has begun")
        other, path = self.fresh(), self._now.path.copy()
        other._now = self._now._replace(path=path)
        path.deadline = self.deadline
        weight = self.weight(self._now.on_path[path.signs != 0])
        other._set(done=begin.down_and_back(path, self.machine, weight))
        return other

    def take_over(self, other):
        """Stand where another stream of these rows does."""
        self._now = other._now._replace(version=self._now.version + 1)

    def mark_rebuilt(self, consolidated=False):
        """Count changes from now on."""
        self._set(
            n_rebuilt=len(self), n_changed=0, value_rebuilt=np.nan, consolidated=consolidated
        )

    def training_data(self, make_gram):
        """The training rows for batch training; ``make_gram`` makes an operator over rows."""
        places = self.places
        return S3VMData.over(
            make_gram(self.kernel_rows(places)), self.machine, self.label(places),
            self.weight(places),
        )  # fmt: skip

    # -- saving ---------------------------------------------------------------------------------

    def __getstate__(self):
        """Rows, counts and where the next path starts, as plain values; without the path."""
        now, held = self._now, self._now.held.state()
        unit = np.all(held["weight"] == 1.0)
        machine = {name: getattr(now.machine, name) for name in ("C", "C_star", "balance")}
        options = {name: getattr(self, name) for name in ("cache_size", "n_jobs")}
        rows = {
            "X": held["X"], "label": held["label"].astype(np.int8),
            "weight": None if unit else held["weight"], "shift": now.shift,
        }  # fmt: skip
        return {
            "kernel": self.kernel,
            "parameters": {**machine, "balance_update": self.balance_update, **options},
            **({} if self.is_part else rows),
            "start": now.plain_start(self.standing), "done": self.done, "version": self.version,
            "steps": self.n_steps, "flips": self.n_flips, "iterations": int(now.iterations),
            "rows_at_training": int(now.n_rebuilt), "changed_since": int(now.n_changed),
            "value_at_training": float(now.value_rebuilt), "consolidated": now.consolidated,
            "history": json.dumps(self.history, default=float),
        }  # fmt: skip

    def __setstate__(self, state):
        options = dict(state["parameters"])
        machine = SemiSupervised(*(options.pop(name) for name in ("C", "C_star", "balance")))
        self.__init__(
            state["kernel"], machine, X=state["X"], label=state.get("label"),
            weight=state.get("weight"), shift=state["shift"], **options,
        )  # fmt: skip
        start = state["start"]
        self._now = self._now._replace(
            start=None if start is None else begin.Start(**{**start, "sign": start["sign"] * 1.0}),
            done=state["done"], version=state["version"], steps=state["steps"],
            flips=state["flips"], iterations=state["iterations"],
            n_rebuilt=state["rows_at_training"], n_changed=state["changed_since"],
            value_rebuilt=state.get("value_at_training", np.nan),
            consolidated=state.get("consolidated", False),
            history=tuple(json.loads(state["history"])),
        )  # fmt: skip
