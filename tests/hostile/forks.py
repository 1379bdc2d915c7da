"""Cases of processes that fork while other threads change models.

A thread makes the same changes to a model again and again, from the first to the last. The child
of a fork has to find the model as it was after one of them, and to make the next one.
"""

import contextlib
import copy
import os
import pickle
import select
import signal
import threading
import traceback
import warnings
from functools import partial

import numpy as np

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble
from fewlabels.baselines import OneClassBaseline, SemiSupervisedBaseline
from fewlabels.monitoring import Monitor

from .rows import plain_rows
from .verdict import Wrong, require

MODELS = {
    "SVDD": lambda: SVDD(C=0.3, n_jobs=1),
    "SVDD linear": lambda: SVDD(slack="linear", nu=0.3, n_jobs=2),
    "SVDD fpr": lambda: SVDD(target_fpr=0.1, n_jobs=1),
    "SVDD split": lambda: SVDD(target_fpr=0.2, calibration="split", n_jobs=1),
    "OneClassSVM": lambda: OneClassSVM(nu=0.3, n_jobs=1),
    "OneClassSVM fpr": lambda: OneClassSVM(nu=0.3, target_fpr=0.1, n_jobs=2),
    "PUSVM": lambda: PUSVM(0.4, n_jobs=1),
    "S3VM": lambda: S3VM(n_jobs=1),
    "S3VM path": lambda: S3VM(solver="path", n_jobs=1),
    "S3VM linear": lambda: S3VM(kernel="linear", balance=False, n_jobs=2),
    "SVDDEnsemble": lambda: SVDDEnsemble(n_bags=10, n_jobs=1, random_state=0),
    "PUEnsemble": lambda: PUEnsemble(0.4, n_bags=3, n_jobs=1, random_state=0),
    "OneClassBaseline": lambda: OneClassBaseline("neighbours"),
    "SemiSupervisedBaseline": lambda: SemiSupervisedBaseline("spreading"),
    "Monitor": lambda: None,
}
_OF_ROWS = ("partial_fit", "forget", "slowly", "fit")
CHANGES = {
    SVDD: (*_OF_ROWS, "relabel"),
    OneClassSVM: (*_OF_ROWS, "relabel"),
    PUSVM: _OF_ROWS,
    S3VM: (*_OF_ROWS, "relabel", "reprice", "consolidate"),
}
FORKS = ("fork", "fork in a thread", "fork in a fit")
_N, _HANG = 40, 60


class Case:
    """A model, the changes that a thread makes to it, and forks at any time."""

    def __init__(self, seed, name=None, program=None, how=None):
        rng = np.random.default_rng([13, 7, seed])
        drawn = str(rng.choice(list(MODELS)))
        self.name = name or drawn
        self.kind = type(MODELS[self.name]())
        self.two = self.kind in (PUSVM, PUEnsemble, S3VM, SemiSupervisedBaseline)
        self.X, self.y = self._rows(rng, _N, first=True)
        self.new = plain_rows(rng, 20, 3)[0]
        usable = changes_of(self.name)
        drawn = [str(rng.choice(usable)) for _ in range(int(rng.integers(2, 7)))]
        self.program = program or drawn
        self.data = [self._data(rng, change) for change in self.program]
        self.how = how or [str(rng.choice(FORKS)) for _ in range(int(rng.integers(3, 7)))]
        self.delays = rng.random(len(self.how)) * 0.02
        self.copies = str(rng.choice(["deepcopy", "pickle"]))
        self.again = bool(rng.random() < 0.3)  # the child makes all changes to a new model
        self.bystander = bool(rng.random() < 0.3)  # another thread changes another model

    def describe(self):
        more = ", another model changes" if self.bystander else ""
        return (
            f"{self.name}, {self.copies}; {'; '.join(self.program)}; {', '.join(self.how)}{more}"
        )

    def _rows(self, rng, n, first=False):
        X, side = plain_rows(rng, n, 3)
        if not self.two:
            return X, None
        known = rng.random(n) < 0.4
        if self.kind in (S3VM, SemiSupervisedBaseline):
            y = np.where(known, side, -1)
            y[:4] = [0, 1, 0, 1] if first else y[:4]
            return X, y
        y = (known & (side == 1)).astype(int)
        if first:
            y[:4], y[4:8] = 1, 0
        return X, y

    def _data(self, rng, change):
        """What a change needs, drawn before."""
        n = {"fit": _N, "update": 20}.get(change, int(rng.integers(1, 6)))
        X, y = self._rows(rng, n, first=change == "fit")
        gone = 8 + rng.choice(_N - 20, int(rng.integers(1, 4)), replace=False)
        return X, y, gone, int(rng.integers(-1, 2)), 10.0 ** rng.uniform(-1, 1, 2)

    # -- the model ----------------------------------------------------------------------------

    def _first(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.name == "Monitor":
                return Monitor(SVDD(n_jobs=1).fit(self.X), calibration=self.new)
            return MODELS[self.name]().fit(self.X, *(() if self.y is None else (self.y,)))

    def _copied(self, model):
        if self.copies == "pickle":
            return pickle.loads(pickle.dumps(model))
        return copy.deepcopy(model)

    def _steps(self):
        """The calls that the changes consist of; each may be refused."""
        for change, data in zip(self.program, self.data, strict=True):
            if change == "slowly":
                yield from (partial(self._call, name, data) for name in ("begin", "go on", "end"))
            else:
                yield partial(self._call, change, data)

    def _call(self, change, data, model):
        X, y, gone, label, costs = data
        labels = () if y is None else (y,)
        calls = {
            "fit": lambda: model.fit(X, *labels),
            "update": lambda: model.update(X),
            "partial_fit": lambda: model.partial_fit(X, *labels),
            "forget": lambda: model.forget(gone),
            "relabel": lambda: model.relabel(gone[:1], [label] if self.kind is S3VM else True),
            "reprice": lambda: model.reprice(*costs),
            "consolidate": lambda: model.consolidate(),
            "begin": lambda: model.set_params(max_steps=2).partial_fit(X, *labels),
            "go on": lambda: model.resume(2),
            "end": lambda: model.set_params(max_steps=None).resume(),
        }
        with contextlib.suppress(ValueError):
            calls[change]()

    def _seen(self, model):
        """What can be seen of a model: numbers, and its rows if it holds any."""
        if self.name == "Monitor":
            return [np.array([model.n_rows_, model.log_evidence_]), model.held_scores]
        seen = [model.decision_function(self.new)]
        if hasattr(model, "p_values") and model.target_fpr is not None:
            seen.append(model.p_values(self.new))
        rows = getattr(model, "training_rows_", None)
        if rows is not None:
            require(len(rows.X) == model.shape_fit_[0], "rows of two moments")
            seen += [rows.X, rows.weight]
        return seen

    # -- forks --------------------------------------------------------------------------------

    def __call__(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of steps that end, and of forks beside threads
            self._run()

    def _run(self):
        first, self.states = self._first(), []
        steps = list(self._steps())
        for k in range(len(steps) + 1):  # from the start: what is read before may matter
            model = self._copied(first)
            self._make(steps[:k], model)
            self.states.append(self._seen(model))
        self.model, self.stop, self.trouble = self._copied(first), threading.Event(), []
        threads = [threading.Thread(target=self._change_throughout, args=(first,))]
        if self.bystander:
            threads.append(threading.Thread(target=self._bystander))
        for thread in threads:
            thread.start()
        try:
            for how, delay in zip(self.how, self.delays, strict=True):
                self.stop.wait(delay)
                self._fork(how)
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()
        for error in self.trouble:
            raise Wrong(f"the thread that changes the model: {error!r}") from error

    def _make(self, steps, model):
        for step in steps:
            step(model)

    def _change_throughout(self, first):
        try:
            while not self.stop.is_set():
                self.model = self._copied(first)
                self._make(self._steps(), self.model)
        except BaseException as error:
            self.trouble.append(error)

    def _bystander(self):
        model = SVDD(n_jobs=1).fit(self.X)
        while not self.stop.is_set():
            model.partial_fit(self.new[:2])
            model.forget([0, 1])
            SVDD(n_jobs=1).fit(self.new)  # a model of its own every time

    def _fork(self, how):
        if how == "fork in a fit":  # of another model, whose lock the thread has
            answers = []

            def ask(_):
                if not answers:
                    answers.append(self._forked())

            SVDD(n_jobs=1).fit(self.X, callback=ask)
            (found,) = answers
        elif how == "fork":
            found = self._forked()
        else:
            answers = []
            thread = threading.Thread(target=lambda: answers.append(self._forked()))
            thread.start()
            thread.join()
            (found,) = answers
        require(not found, f"the child of a {how}: {found}")

    def _forked(self):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, self._in_child().encode() + b".")
            os._exit(0)
        os.close(write)
        ready, _, _ = select.select([read], [], [], _HANG)
        found = os.read(read, 4000).decode() if ready else f"hangs for {_HANG} s."
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return found[:-1] if found else "ended at once"

    def _in_child(self):
        """What is wrong with the model in this process, in words; nothing is ''."""
        try:
            seen = self._seen(self.model)
            if not any(_equal(seen, state) for state in self.states):
                return f"a state that is none of {len(self.states)}"
            self._copied(self.model)
            if self.again:  # locks, pools and threads of libraries work
                model = self._first()
                self._make(self._steps(), model)
                if not _equal(self._seen(model), self.states[-1]):
                    return "another result of the same changes"
            self._make(self._steps(), self.model)
            self._seen(self.model)
        except BaseException:
            return " ".join(traceback.format_exc(limit=-3).split())[-600:]
        return ""


def changes_of(name):
    """Changes that a model of MODELS takes."""
    return ["update"] if name == "Monitor" else CHANGES.get(type(MODELS[name]()), ["fit"])


def _equal(seen, state):
    return len(seen) == len(state) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-7, atol=1e-9)
        for a, b in zip(seen, state, strict=True)
    )


def make(seed):
    """A case of this area."""
    case = Case(seed)
    return case.describe(), case
