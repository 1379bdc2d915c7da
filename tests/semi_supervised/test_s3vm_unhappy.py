"""Streams of an S3VM that are interrupted anywhere, or whose path breaks down."""

import contextlib
import pickle
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from reference.s3vm_streams import clouds, judge
from sklearn.exceptions import ConvergenceWarning

import fewlabels
from fewlabels import S3VM
from fewlabels._util import threads as _threads
from fewlabels.solvers.path.events import Events

_SOURCE = str(Path(fewlabels.__file__).parent)
_LOCKS = "locking.py"


class Interruption:
    """Raises at the k-th line executed in the package's own code, as Ctrl-C would.

    Not where locks are taken: Python handles no signal between a lock and its release there, but
    would leave the lock of the process closed for other threads if a line raised.
    """

    def __init__(self, k, error=KeyboardInterrupt):
        self.left, self.error, self.where = k, error, None

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.call)

    def __exit__(self, *_):
        sys.settrace(self.before)

    def call(self, frame, event, _):
        name = frame.f_code.co_filename
        return self.line if name.startswith(_SOURCE) and not name.endswith(_LOCKS) else None

    def line(self, frame, event, _):
        if event == "line" and self.where is None:
            self.left -= 1
            if self.left <= 0:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise self.error(self.where)
        return self.line


def programs(X, y, truth):
    """Operations and what they leave."""
    new = np.r_[70:80]
    given = np.where(np.arange(10) % 3 == 0, truth[new], np.nan)
    gone = np.r_[2, 8, 20:50]
    labels = y[:70].copy()
    labels[[9, 3]] = truth[9], np.nan
    return {
        "partial_fit": (
            lambda m: m.partial_fit(X[new], given), np.r_[0:80], np.append(y[:70], given)
        ),
        "forget": (
            lambda m: m.forget(gone), np.delete(np.arange(70), gone), np.delete(y[:70], gone)
        ),
        "relabel": (lambda m: m.relabel([9, 3], [truth[9], np.nan]), np.r_[0:70], labels),
    }  # fmt: skip


@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("operation", ["partial_fit", "forget", "relabel"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_an_interrupted_operation_is_done_or_not(rng, operation, balance, storage):
    X, y, truth = clouds(rng, n=90, apart=0.5)
    given = sp.csr_array(X) if storage == "sparse" else X
    operate, rows, labels = programs(given, y, truth)[operation]
    start = S3VM(gamma=0.3, balance=balance, n_jobs=1).fit(given[:70], y[:70]).resume()
    start.partial_fit(given[80:]).forget(range(70, 80))
    assert start.kkt_violation_ < 1e-8
    start = pickle.dumps(start)
    done, undone, k = 0, 0, 1
    while True:
        model = pickle.loads(start).resume()  # which begins the path
        interruption = Interruption(k)
        try:
            with interruption:
                operate(model)
        except KeyboardInterrupt:
            pass
        if interruption.where is None:
            break
        # Whatever is asked for is there and fits together.
        n = len(model.transduction_)
        assert n in (70, len(rows)) and model.shape_fit_ == (n, 3), interruption.where
        assert np.all(np.isfinite(model.decision_function(given))), interruption.where
        assert np.isfinite(model.objective_) and np.isfinite(model.kkt_violation_)
        support = model.support_
        if support.min() >= 0:
            vectors = sp.csr_array(model.support_vectors_).toarray()
            assert np.array_equal(vectors, X[:70][support] if n == 70 else X[rows][support])
        model.resume()
        registered = np.array_equal(model.training_rows_.label, _coded(labels))
        if registered:
            judge(model, X[rows], labels, balance=balance)
        else:
            judge(model, X[:70], y[:70], balance=balance)
        done, undone = done + registered, undone + (not registered)
        model.partial_fit(given[:1])
        assert model.kkt_violation_ < 1e-7, interruption.where
        k = int(k * 1.15) + 1
    assert done > 5 and undone > 3


def threads_of_blas():
    with _threads.one_blas_thread():
        blas = _threads._find_blas().info()
    return {library["num_threads"] for library in blas if library["user_api"] == "blas"}


def test_the_limit_of_blas_threads_can_be_interrupted(monkeypatch):
    k = 0
    while True:
        k += 1
        # What an interruption in the last lines leaves, where Ctrl-C itself cannot come.
        monkeypatch.setattr(_threads._Limit, "users", 0)
        monkeypatch.setattr(_threads._Limit, "own", threading.local())
        interruption = Interruption(k)
        with contextlib.suppress(KeyboardInterrupt), interruption, _threads.one_blas_thread():
            pass
        with ThreadPoolExecutor(1) as another:  # does not wait for ever, nor does this one
            assert another.submit(threads_of_blas).result() == {1}
        assert threads_of_blas() == {1}
        if interruption.where is None:
            break
    assert k > 10


def _coded(labels):
    return np.where(np.isnan(labels), 0.0, 2 * labels - 1)


def test_an_interrupted_consolidation_leaves_the_model_alone(rng):
    X, y, truth = clouds(rng, n=60, apart=0.4)
    start = S3VM(gamma=0.3, solver="path").partial_fit(X[:4], 1 - truth[:4])
    start.partial_fit(X[4:], y[4:]).relabel(range(4), truth[:4])
    f, start, k, stopped = start.decision_function(X), pickle.dumps(start), 1, 0
    while True:
        model = pickle.loads(start)
        interruption = Interruption(k)
        try:
            with interruption:
                assert model.consolidate()
        except KeyboardInterrupt:
            stopped += 1
            same = np.array_equal(model.decision_function(X), f)
            assert same or interruption.where is not None
        if interruption.where is None:
            break
        judge(model.resume(), X, y)
        k = 2 * k + 1
    assert stopped > 8 and np.abs(model.decision_function(X) - f).max() > 1e-3


def test_a_first_fit_can_be_interrupted(rng):
    X, y, _ = clouds(rng, n=60)
    settings = {"gamma": 0.3, "solver": "path", "balance": True}
    expected = S3VM(**settings).partial_fit(X, y).decision_function(X)
    for k in 3000 * np.arange(1, 8):
        model, interruption = S3VM(**settings), Interruption(k)
        with pytest.raises(KeyboardInterrupt), interruption:
            model.partial_fit(X, y)
        assert np.all(np.isfinite(model.decision_function(X)))
        model.resume()
        assert np.allclose(model.decision_function(X), expected, atol=1e-9)


def breaking(monkeypatch, which, name="step", error=ArithmeticError):
    """Let the calls of a method of the path fail whose number is in ``which``."""
    method, calls = getattr(Events, name), []

    def fails(events, *arguments):
        calls.append(None)
        if len(calls) in which:
            raise error("for a test")
        return method(events, *arguments)

    monkeypatch.setattr(Events, name, fails)
    return calls


@pytest.mark.parametrize("balance", [True, 0.1, False])
@pytest.mark.parametrize("error", [ArithmeticError, np.linalg.LinAlgError, ZeroDivisionError])
def test_a_path_that_breaks_down_is_begun_again(rng, monkeypatch, balance, error):
    X, y, truth = clouds(rng, apart=0.5)
    model = S3VM(gamma=0.3, balance=balance).fit(X[:80], y[:80]).resume()
    steps = model.n_steps_
    breaking(monkeypatch, {2}, error=error)
    with pytest.warns(
        ConvergenceWarning, match="during partial_fit .for a test.*batch training continued"
    ):
        model.partial_fit(X[80:], y[80:])
    assert model.fit_status_ == 0 and model.n_steps_ > steps
    judge(model, X, y, balance=balance)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.relabel([30], truth[[30]]).forget([99])
    y[30] = truth[30]
    judge(model, X[:99], y[:99], balance=balance)


def test_no_direction_is_a_breakdown(rng, monkeypatch):
    X, y, _ = clouds(rng, apart=0.5)
    model = S3VM(gamma=0.3).fit(X[:80], y[:80]).resume()
    step, lost = Events.step, []

    def without_direction(events, *arguments):
        if not lost:
            lost.append(events)
            events.factor.L[:] = np.nan
        return step(events, *arguments)

    monkeypatch.setattr(Events, "step", without_direction)
    with pytest.warns(ConvergenceWarning, match="failed"):
        model.partial_fit(X[80:], y[80:])
    judge(model, X, y)


@pytest.mark.filterwarnings("ignore:exact path following failed")
def test_without_any_path_batch_training_goes_on(rng, monkeypatch):
    X, y, truth = clouds(rng, apart=0.5)
    model = S3VM(gamma=0.3).fit(X[:80], y[:80]).resume()
    with monkeypatch.context() as patched:
        breaking(patched, range(1, 10**6))
        for operate in (
            lambda: model.partial_fit(X[80:], y[80:]),
            lambda: model.relabel([30], truth[[30]]),
            lambda: model.forget([99]),
            lambda: S3VM(gamma=0.3, solver="path").fit(X, y),
        ):
            with pytest.warns(ConvergenceWarning, match="failed"):
                last = operate()
            assert last.fit_status_ == 0 and last.kkt_violation_ < 2e-3
        assert "round" in model.history_[-1] and not model.consolidate()  # there is no path
    y[30] = truth[30]
    again = S3VM(gamma=0.3).fit(X[:99], y[:99])
    assert model.shape_fit_ == (99, 3) and last.shape_fit_ == (100, 3)
    assert model.objective_ < 1.2 * again.objective_
    assert model.support_.max() < 99
    f = model.decision_function(X[:99])
    assert np.array_equal(model.transduction_ == 1, np.where(np.isnan(y[:99]), f > 0, y[:99] == 1))
    judge(model.resume(), X[:99], y[:99])


def test_consolidating_survives_a_breakdown(rng, monkeypatch):
    X, y, _ = clouds(rng)
    model = S3VM(gamma=0.3).fit(X, y).resume()
    f = model.decision_function(X)
    breaking(monkeypatch, range(1, 10**6))
    assert model.consolidate() is False
    assert np.array_equal(model.decision_function(X), f)
