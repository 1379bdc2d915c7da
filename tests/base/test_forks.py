"""Processes that fork while other threads change models: all or nothing of a change arrives."""

import copy
import os
import signal
import threading
import time

import numpy as np
import pytest
from hostile import forks

from fewlabels import S3VM, SVDD
from fewlabels._util import threads as _threads
from fewlabels.base import locking
from fewlabels.base.locking import lock_of

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    # Python warns about forks beside threads; that these work is what is tested.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def in_child(work):
    """What a function returns in a forked process, as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os.write(write, str(work()).encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        found = answer.read()
    os.waitpid(child, 0)
    return found


class Within:
    """A thread within the fit of a model, at a callback, until a fork waits or it may go on."""

    def __init__(self, model, X, then=None, until=lambda: bool(locking._Forks.held)):
        self.entered, self.until, self.then = threading.Event(), until, then
        self.thread = threading.Thread(target=model.fit, args=(X,), kwargs={"callback": self})
        self.thread.start()
        assert self.entered.wait(60)

    def __call__(self, _):
        if not self.entered.is_set():
            self.entered.set()
            end = time.monotonic() + 60
            while not self.until() and time.monotonic() < end:
                time.sleep(0.001)
            if self.then is not None:
                self.then()


@pytest.mark.parametrize("name", forks.MODELS)
def test_a_child_sees_the_model_before_or_after_a_change(name, seed):
    forks.Case(seed, name, forks.changes_of(name), ["fork"] * 3)()


def test_a_fork_waits_for_the_end_of_a_fit(rng):
    model, X = SVDD(n_jobs=1).fit(rng.normal(size=(50, 2))), rng.normal(size=(80, 3))
    expected = SVDD(n_jobs=1).fit(X).decision_function(X[:1])[0]
    within = Within(model, X)
    found = in_child(lambda: repr(float(model.decision_function(X[:1])[0])))
    within.thread.join()
    assert float(found) == expected


def test_a_thread_within_a_model_goes_on_to_others_while_a_fork_waits(rng):
    X = rng.normal(size=(50, 2))
    model, other, created = SVDD(n_jobs=1), SVDD(n_jobs=1).fit(X), []

    def use_others():
        other.partial_fit(X[:1])
        created.append(SVDD(n_jobs=1).fit(copy.deepcopy(other).training_rows_.X))

    within = Within(model, X, use_others)
    since = time.monotonic()
    assert in_child(lambda: (other.shape_fit_, len(created), model.shape_fit_)) == str(
        ((51, 2), 1, (50, 2))
    )
    assert time.monotonic() - since < locking._MAX_FORK_WAIT_SECONDS / 2
    within.thread.join()


def test_a_fork_doesnt_wait_for_ever_for_threads_that_always_fit_new_models(rng):
    X, stop = rng.normal(size=(60, 2)), threading.Event()

    def fit():
        while not stop.is_set():
            SVDD(n_jobs=1).fit(X)

    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
    since = time.monotonic()
    try:
        assert [in_child(lambda: SVDD().fit(X).shape_fit_) for _ in range(3)] == ["(60, 2)"] * 3
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert time.monotonic() - since < locking._MAX_FORK_WAIT_SECONDS / 2


def test_two_threads_fork_at_once(rng):
    X = rng.normal(size=(40, 2))
    model, found = SVDD(n_jobs=1).fit(X), []

    def fork(_=None):
        for _ in range(3):
            found.append(in_child(lambda: model.partial_fit(X[:1]).shape_fit_))

    threads = [threading.Thread(target=fork) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["(41, 2)"] * 9
    assert not locking._Forks.held and lock_of(model).acquire(blocking=False)
    lock_of(model).release()


def test_a_callback_may_fork(rng):
    X, found = rng.normal(size=(40, 2)), []
    model = SVDD(n_jobs=1)
    model.fit(X, callback=lambda _: found or found.append(in_child(lambda: SVDD().fit(X).radius_)))
    assert float(found[0]) == pytest.approx(SVDD().fit(X).radius_)
    assert in_child(lambda: model.partial_fit(X[:1]).shape_fit_) == "(41, 2)"


def test_a_model_whose_change_doesnt_end_is_refused_in_the_child_alone(rng, monkeypatch):
    monkeypatch.setattr(locking, "_MAX_FORK_WAIT_SECONDS", 0.2)
    X, done = rng.normal(size=(40, 2)), threading.Event()
    model, other = SVDD(n_jobs=1).fit(X), SVDD(n_jobs=1).fit(X)
    within = Within(model, X[:20], until=done.is_set)
    try:
        for use in (
            lambda: model.decision_function(X),
            lambda: model.support_,
            lambda: copy.deepcopy(model),
            lambda: model.fit(X),
        ):
            found = in_child(use)
            assert found.startswith("RuntimeError: Another thread was changing this SVDD")
        nested = in_child(lambda: in_child(lambda: other.partial_fit(X[:1]).shape_fit_))
        assert nested == "(41, 2)"
    finally:
        done.set()
        within.thread.join()
    assert model.partial_fit(X[:1]).shape_fit_ == (21, 2)


def test_a_session_of_labelling_and_a_monitor_are_whole(rng):
    from fewlabels.labelling.session import Session
    from fewlabels.monitoring import Monitor

    for kind in (Session, Monitor):
        owner = kind.__new__(kind)
        assert lock_of(owner) in [lock for _, lock in locking._known_locks()]
    model = S3VM(n_jobs=1).fit(rng.normal(size=(20, 2)), np.r_[[0, 1] * 5, [-1] * 10])
    assert in_child(lambda: model.predict([[0.0, 0.0]]).shape) == "(1,)"


def test_a_child_computes_on_all_cores_though_its_parent_was_not(monkeypatch):
    asked, limits = threading.Event(), []

    class Limiter:
        def __enter__(self):
            limits.append("one")
            return self

        def __exit__(self, *_):
            limits.append("all")

    class Blas:
        def limit(self, limits):
            return Limiter()

    monkeypatch.setattr(_threads, "_find_blas", Blas)
    # Interruptions of other tests may leave users behind.
    for name, value in (("users", 0), ("limiter", None), ("own", threading.local())):
        monkeypatch.setattr(_threads._Limit, name, value)
    done = threading.Event()

    def compute():
        with _threads.one_blas_thread():
            asked.set()
            done.wait(60)

    thread = threading.Thread(target=compute)
    thread.start()
    asked.wait(60)
    try:
        assert in_child(lambda: (limits, _threads._Limit.users)) == "(['one', 'all'], 0)"
        with _threads.one_blas_thread():
            assert in_child(lambda: (limits, _threads._Limit.users)) == "(['one'], 1)"
    finally:
        done.set()
        thread.join()
    assert limits == ["one", "all"]
