"""Rows of an update change as a block, or one after the other as in the papers."""

import io
import warnings

import numpy as np
import pytest
from reference.s3vm_streams import clouds, judge
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from skops.io import dumps, get_untrusted_types, loads

from fewlabels import S3VM
from fewlabels.kernels import RBF
from fewlabels.semi_supervised.problem import SemiSupervised
from fewlabels.solvers.path import PathFollower

BALANCES = {"IL-S3VM": (False, "keep"), "keep": (True, "keep"), "IL-BCS3VM": (True, "paper")}
# Rows before, in the batch.
N_BEFORE, N_ADDED = 60, 14


def problem(seed):
    """Rows, and labels of a batch in which labelled and unlabelled rows alternate at random."""
    rng = np.random.default_rng(seed)
    X, y, truth = clouds(rng, n=N_BEFORE + N_ADDED, apart=rng.uniform(0.3, 1.0))
    batch = np.where(rng.random(N_ADDED) < 0.5, truth[N_BEFORE:], np.nan)
    return X, np.concatenate([y[:N_BEFORE], batch]), truth


def fitted(X, y, balance, update, **parameters):
    model = S3VM(gamma=0.3, balance=balance, balance_update=update, **parameters)
    return model.fit(X[:N_BEFORE], y[:N_BEFORE]).resume()


class ByHand:
    """The papers' procedure as calls of a ``PathFollower``: one batch is one operation."""

    def __init__(self, model, X, y, balance, update):
        self.machine, self.label = SemiSupervised(10.0, 5.0, balance), self.read(y[:N_BEFORE])
        start = model._stream.paths[0].current_start()
        self.path = PathFollower(RBF(0.3), balance=update if balance else None)
        free = self.label == 0
        signs = np.where(free, start.sign, 0).astype(int)
        self.path.load(
            X[:N_BEFORE], self.penalties(self.label), start.a, start.multiplier,
            signs=signs, virtual=start.virtual, target=self.target(),
        )  # fmt: skip

    @staticmethod
    def read(y):
        return np.where(np.isnan(y), 0.0, 2.0 * np.nan_to_num(y) - 1.0)

    def penalties(self, label):
        return self.machine.penalties(label, np.ones(len(label)))

    def target(self):
        known = self.label[self.label != 0]
        return self.machine.target(known, np.ones(len(known)))

    def add(self, X, y):
        new = self.read(y)
        self.label = np.append(self.label, new)
        self.path.add(X, self.penalties(new), block=False, target=self.target())

    def forget(self, rows):
        self.label = np.delete(self.label, rows)
        self.path.remove(rows, block=False, target=self.target())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", BALANCES)
def test_a_batch_is_the_papers_procedure(seed, name):
    X, y, _ = problem(seed)
    model = fitted(X, y, *BALANCES[name], path_order="one-by-one")
    by_hand, before = ByHand(model, X, y, *BALANCES[name]), model.n_steps_
    at_start = by_hand.path.n_steps
    model.partial_fit(X[N_BEFORE:], y[N_BEFORE:])
    by_hand.add(X[N_BEFORE:], y[N_BEFORE:])
    gone = [3 * k + 20 for k in range(5)]
    model.forget(gone)
    by_hand.forget(gone)
    assert model.n_steps_ - before == by_hand.path.n_steps - at_start
    label = by_hand.label
    f = np.where(label == 0, by_hand.path.signs * np.abs(by_hand.path.h), by_hand.path.h)
    np.testing.assert_allclose(model.decision_function(np.delete(X, gone, 0)), f, atol=1e-8)
    assert [h["rows"] for h in model.history_[-2:]] == [N_ADDED, len(gone)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", BALANCES)
@pytest.mark.parametrize("order", ["block", "one-by-one"])
def test_all_updates_end_at_a_local_minimum(seed, name, order):
    X, y, truth = problem(seed)
    balance, update = BALANCES[name]
    model = fitted(X, y, balance, update, path_order=order)
    model.partial_fit(X[N_BEFORE:], y[N_BEFORE:])
    judge(model, X, y, balance=balance, tol=1e-6)
    model.relabel([30, 9, 31], [truth[30], truth[9], np.nan])
    y[30], y[9], y[31] = truth[30], truth[9], np.nan
    judge(model, X, y, balance=balance, tol=1e-6)
    gone = [12, N_BEFORE, 40, N_BEFORE + 3, 33]
    model.forget(gone)
    judge(model, np.delete(X, gone, 0), np.delete(y, gone), balance=balance, tol=1e-6)


def test_the_constraint_leaves_and_returns_once_in_a_batch():
    """Row by row it leaves and returns for each, which takes many times the steps."""
    ratios, blocks = [], []
    for seed in range(2):
        X, y, _ = problem(seed)
        steps = {}
        for way in ("one-by-one", "block", "a call each"):
            order = "block" if way == "a call each" else way
            model = fitted(X, y, True, "paper", path_order=order)
            before, size = model.n_steps_, 1 if way == "a call each" else N_ADDED
            for first in range(N_BEFORE, N_BEFORE + N_ADDED, size):
                model.partial_fit(X[first : first + size], y[first : first + size])
            steps[way] = model.n_steps_ - before
        ratios.append(steps["a call each"] / steps["one-by-one"])
        blocks.append(steps["a call each"] / steps["block"])
    assert min(ratios) > 2 and min(blocks) > 2


@pytest.mark.parametrize("name", BALANCES)
def test_an_update_may_pause_and_continue(name):
    X, y, _ = problem(1)
    whole, parts = (fitted(X, y, *BALANCES[name], path_order="one-by-one") for _ in range(2))
    parts.set_params(max_steps=2)

    def paused(update, *arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            update(*arguments)
        pauses = 0
        while not parts._stream.done:
            pauses += 1
            f = parts.decision_function(X)
            assert np.isfinite(f).all() and len(parts.transduction_) == len(parts._stream)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                parts.resume(2)
        return pauses

    gone = np.arange(20, 30)
    pauses = paused(parts.partial_fit, X[N_BEFORE:], y[N_BEFORE:]) + paused(parts.forget, gone)
    assert pauses > 2
    whole.partial_fit(X[N_BEFORE:], y[N_BEFORE:]).forget(gone)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-8)
    assert parts.n_steps_ == whole.n_steps_


@pytest.mark.parametrize("name", BALANCES)
def test_several_classes_have_a_path_each(name):
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    truth = np.arange(75) % 3
    X, given = centers[truth] + rng.normal(size=(75, 2)), np.full(75, -1)
    given[:9], given[60::2] = truth[:9], truth[60::2]
    balance, update = BALANCES[name]
    common = dict(gamma=0.3, balance=balance, balance_update=update, path_order="one-by-one")
    model = S3VM(**common).fit(X[:60], given[:60])
    model.partial_fit(X[60:], given[60:]).forget([20, 62, 33])
    kept = np.delete(np.arange(75), [20, 62, 33])
    f = model.decision_function(X)
    for k in range(3):
        label = np.where(given < 0, np.nan, given == k)
        twin = S3VM(**common, C_star=10.0 / 3.0).fit(X[:60], label[:60])
        twin.partial_fit(X[60:], label[60:]).forget([20, 62, 33])
        np.testing.assert_allclose(f[:, k], twin.decision_function(X), atol=1e-9)
        judge(twin, X[kept], label[kept], balance=balance, tol=1e-6, prices=(10.0, 10.0 / 3.0))


def test_the_order_can_change_between_updates():
    X, y, _ = problem(2)
    one = fitted(X, y, True, "paper", path_order="one-by-one")
    other = fitted(X, y, True, "paper").set_params(path_order="one-by-one")
    assert clone(one).path_order == "one-by-one"
    for model in (one, other):
        model.partial_fit(X[N_BEFORE:], y[N_BEFORE:])
    assert one.n_steps_ == other.n_steps_
    with pytest.raises(ValueError, match="'path_order' parameter of S3VM must be"):
        other.set_params(path_order="rows").fit(X, y)


def test_a_loaded_model_keeps_the_order():
    X, y, _ = problem(3)
    model = fitted(X, y, True, "paper", path_order="one-by-one")
    file = io.BytesIO(dumps(model))
    loaded = loads(file.getvalue(), trusted=get_untrusted_types(data=file.getvalue()))
    assert loaded.path_order == loaded._stream.options.path_order == "one-by-one"
    for one in (model, loaded):
        one.partial_fit(X[N_BEFORE:], y[N_BEFORE:])
    f = model.decision_function(X)
    np.testing.assert_allclose(loaded.decision_function(X), f, atol=1e-8)
