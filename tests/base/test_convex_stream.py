"""SVDD, OneClassSVM and PUSVM whose rows come and go, judged by data and coefficients alone."""

import copy
import pickle
import pickletools
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reference import kernel_matrix, kkt_residual, objective
from reference import pu as pu_reference
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import fewlabels
from fewlabels import PUSVM, SVDD, OneClassSVM
from fewlabels.base.stream import ConvexStream
from fewlabels.kernels import RBF
from fewlabels.one_class.problem import SquaredSlackBall
from fewlabels.rows.row_store import RowStore

KERNELS = {
    "rbf": (dict(gamma=0.3), ("rbf", 0.3)),
    "linear": (dict(kernel="linear"), ("linear",)),
    "poly": (dict(kernel="poly", gamma=0.3, degree=2, coef0=1.0), ("poly", 0.3, 2, 1.0)),
}
MACHINES = {
    "one-class": lambda **kw: OneClassSVM(nu=0.23, **kw),
    "squared": lambda **kw: SVDD(C=0.3, **kw),
    "linear-nu": lambda **kw: SVDD(slack="linear", nu=0.23, **kw),
    "linear-C": lambda **kw: SVDD(slack="linear", C=0.51, **kw),
    "pu": lambda **kw: PUSVM(prior=0.31, threshold="risk", **kw),
    "pu-lam": lambda **kw: PUSVM(prior=0.31, lam=0.02, threshold="prior", **kw),
}
ONE_CLASS = [name for name in MACHINES if not name.startswith("pu")]


def labels(rng, n):
    """1 for a third of the rows, two at least of either kind."""
    y = (rng.random(n) < 0.3).astype(float)
    y[:4] = [1, 0, 1, 0][: min(n, 4)]
    return y


def rows(rng, n=100, d=3):
    y = labels(rng, n)
    return rng.normal(size=(n, d)) + y[:, None], y


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


# -- judges ----------------------------------------------------------------------------------


def judge(model, X, y=None, weight=None, kernel=("rbf", 0.3), tol=1e-9):
    """Is the model the solution over these rows, and are its attributes right?"""
    n = X.shape[0]
    weight = np.ones(n) if weight is None else weight
    rows = dense(X).astype(float)
    K = kernel_matrix(kernel, rows)
    coef = np.zeros(n)
    dual = dense(model.dual_coef_)[0]
    coef[model.support_] = dual
    assert np.all(dual != 0) and model.shape_fit_ == X.shape and model.fit_status_ == 0
    assert model.n_features_in_ == X.shape[1] and model.n_support_.sum() == len(dual)
    assert np.array_equal(dense(model.support_vectors_), dense(X)[model.support_])
    assert np.all(coef[weight <= 0] == 0)
    size = np.abs(K).max() * max(1.0, np.abs(coef).sum())
    on = np.flatnonzero(weight > 0)
    part = K[np.ix_(on, on)], coef[on], weight[on], model.decision_function(X)[on]
    if isinstance(model, PUSVM):
        _judge_pu(model, *part, np.asarray(y)[on] == 1, tol, size)
    elif isinstance(model, SVDD):
        _judge_ball(model, *part, tol, size)
    else:
        _judge_one_class(model, *part, tol, size)


def _interval(Q, penalty, a):
    """Between which multipliers the conditions of optimality hold."""
    g = Q @ a
    low, kink, up, left, right = penalty
    to_right = np.where(a >= up, np.inf, np.where(a >= kink, right, left))
    to_left = np.where(a <= low, -np.inf, np.where(a <= kink, left, right))
    return (g + to_left).max(), (g + to_right).min()


def _on_its_ends(penalty, a):
    """Without the last bits that a change of units left beside an end."""
    low, _, up, *_ = penalty
    near = 1e-12 * np.where(np.isfinite(up), up - low, np.abs(a).max())
    a = np.where(a <= low + near, low, a)
    return np.where(a >= up - near, up, a)


def _certify(model, Q, penalty, a, total, multiplier, scale, tol, size):
    low, _, up, *_ = penalty
    assert np.all(a >= low - 1e-12 * size) and np.all(a <= up * (1 + 1e-12))
    assert a.sum() == pytest.approx(total, rel=1e-10)
    a = _on_its_ends(penalty, a)
    assert kkt_residual(Q, penalty, a) <= tol * size
    down, top = _interval(Q, penalty, a)
    assert down - tol * size <= multiplier <= top + tol * size
    value = objective(Q, penalty, a)
    assert model.objective_ == pytest.approx(value, rel=1e-9, abs=tol * size * scale)
    assert -tol * size * scale <= model.duality_gap_ <= tol * size * scale


def _judge_one_class(model, K, coef, weight, decision, tol, size):
    mass = model.nu * weight.sum()
    zero = np.zeros(len(coef))
    penalty = (zero, zero, weight, zero, zero)
    _certify(model, K, penalty, coef, mass, model.offset_[0], max(1.0, mass), tol, size)
    assert np.allclose(decision, K @ coef - model.offset_, atol=tol * size)
    assert model.intercept_ == -model.offset_


def _judge_ball(model, K, coef, weight, decision, tol, size):
    diagonal, zero = np.diag(K).copy(), np.zeros(len(coef))
    if model.slack == "squared":
        ridge, up = 1.0 / (2.0 * model.C * weight), np.full(len(coef), np.inf)
    else:
        C = model.C if model.nu is None else 1.0 / (model.nu * weight.sum())
        ridge, up = zero, C * weight
    Q = 2.0 * K + np.diag(ridge)
    penalty = (zero, zero, up, -diagonal, -diagonal)
    norm = coef @ K @ coef
    size = max(size, ridge.max())
    multiplier = norm - model.radius_**2
    if model.radius_ == 0.0:
        multiplier = np.mean(_interval(Q, penalty, _on_its_ends(penalty, coef)))
        assert multiplier >= norm - tol * size
    _certify(model, Q, penalty, coef, 1.0, multiplier, 1.0, tol, size)
    distance = diagonal - 2.0 * K @ coef + norm
    assert np.allclose(decision, model.radius_**2 - distance, atol=tol * size)
    on_ball = -(model.radius_**2) + (1.0 + norm if model.kernel == "rbf" else 0.0)
    assert model.offset_ == pytest.approx(on_ball, abs=tol * size)


def _judge_pu(model, K, coef, weight, decision, positive, tol, size):
    lam = 0.15 / weight[positive].sum() if model.lam == "auto" else model.lam
    assert model.lam_ == pytest.approx(lam, rel=1e-12)
    arguments = K, positive, model.prior, lam, weight
    risk = pu_reference.regularised_risk(
        K, positive, coef, model.risk_intercept_, model.prior, lam, weight
    )
    sigma = np.where(positive, 0.0, -coef)
    in_p, in_u = pu_reference.shares(positive, weight)
    assert np.allclose(coef[positive], (model.prior / (2 * lam) * in_p)[positive], rtol=1e-12)
    bound = pu_reference.dual_value(arguments[0], positive, sigma, *arguments[2:])
    scale, size = lam * np.abs(coef).sum() + 1.0, max(1.0, size)
    assert 0.0 <= risk - bound + 1e-12 * scale * size and risk - bound <= tol * size * scale
    assert model.objective_ == pytest.approx(risk, abs=tol * size * scale)
    f = K @ coef
    u = ~positive
    excess = pu_reference.kkt_excess((f + model.risk_intercept_)[u], sigma[u], in_u[u] / (2 * lam))
    assert excess <= tol * size
    assert np.allclose(decision, f + model.intercept_, atol=tol * size)
    clear = positive | (np.abs(decision) > tol * size)
    if len(model.transduction_) == len(coef):
        found = model.transduction_ == model.classes_[1]
        assert np.array_equal(found[clear], (positive | (decision > 0))[clear])


class Follower:
    """A machine and, beside it, the rows that it should have."""

    def __init__(self, machine, kernel, rng):
        parameters, self.kernel = KERNELS[kernel] if isinstance(kernel, str) else kernel
        self.model, self.rng = MACHINES[machine](**parameters), rng
        self.needs_labels = machine.startswith("pu")
        self.X, self.y, self.weight = None, np.zeros(0), np.zeros(0)
        self.updated = False

    def add(self, X, y, weight=None):
        self.updated = self.X is not None
        self.model.partial_fit(X, y if self.needs_labels else None, sample_weight=weight)
        stack = sp.vstack if sp.issparse(X) else np.concatenate
        self.X = X if self.X is None else stack([self.X, X])
        self.y = np.append(self.y, y)
        self.weight = np.append(self.weight, np.ones(len(y)) if weight is None else weight)

    def forget(self, indices):
        self.updated = True
        self.model.forget(indices)
        kept = np.delete(np.arange(len(self.y)), indices)
        self.X, self.y, self.weight = self.X[kept], self.y[kept], self.weight[kept]

    def can_lose(self, indices):
        left = np.delete(np.maximum(self.weight, 0.0), indices)
        y = np.delete(self.y, indices)
        if self.needs_labels:
            return left[y == 1].any() and left[y == 0].any()
        return left.sum() > 2.0

    def judge(self, tol=1e-9):
        judge(self.model, self.X, self.y, self.weight, self.kernel, tol)


# -- operations ------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_operation_ends_at_the_solution(rng, machine, kernel):
    X, y = rows(rng)
    follower = Follower(machine, kernel, rng)
    for part in (slice(0, 60), slice(60, 61), slice(61, 62), slice(62, 100)):
        follower.add(X[part], y[part])
        follower.judge()
    for gone in ([5], [-1], [0, 7, 40, 41, 90]):
        follower.forget(gone)
        follower.judge()
    follower.add(X[:3], y[:3])
    follower.judge()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_an_update_is_a_fit(rng, machine, kernel):
    X, y = rows(rng, 80)
    model = MACHINES[machine](**KERNELS[kernel][0])
    model.fit(X[:70], y[:70])
    model.partial_fit(X[70:], y[70:] if machine.startswith("pu") else None)
    fitted = clone(model).set_params(tol=1e-11).fit(X, y)
    assert np.allclose(model.decision_function(X), fitted.decision_function(X), atol=1e-9)
    assert vars(model).keys() >= {v for v in vars(fitted) if v.endswith("_")}
    assert model.fit_status_ == 0 and model.shape_fit_ == fitted.shape_fit_
    if kernel == "rbf":  # with others several sums of rows are the same function
        assert np.array_equal(model.support_, fitted.support_)
        assert np.array_equal(model.n_support_, fitted.n_support_)
        assert np.allclose(dense(model.dual_coef_), dense(fitted.dual_coef_), atol=1e-9)
    for name in ("intercept_", "objective_", "offset_", "radius_", "lam_"):
        if hasattr(fitted, name):
            assert np.allclose(getattr(model, name), getattr(fitted, name), atol=1e-9), name


DATA = ("normal", "duplicates", "binary", "grid", "constant", "line")


def nasty(rng, kind, n):
    if kind == "duplicates":
        return rng.normal(size=(6, 2))[rng.integers(0, 6, n)]
    if kind == "binary":
        return rng.integers(0, 2, size=(n, 4)).astype(float)
    if kind == "grid":
        return rng.integers(-2, 3, size=(n, 2)).astype(float)
    if kind == "constant":
        return np.full((n, 2), 0.7) + (rng.random((n, 1)) < 0.2)
    if kind == "line":
        return rng.uniform(-3, 3, size=(n, 1))
    return rng.normal(size=(n, 3))


def program(machine, seed, operations=12, size=40):
    """Random operations on random data; every state is judged."""
    rng = np.random.default_rng([404, seed])
    kind = str(rng.choice(DATA))
    kernel = str(rng.choice(list(KERNELS)))
    scale = float(rng.choice([1.0, 1.0, 1.0, 1e-3, 1e3]))
    if kernel == "rbf":
        gamma = float(rng.choice([0.05, 0.3, 3.0])) / scale**2
        spec = dict(gamma=gamma), ("rbf", gamma)
    elif kernel == "linear":
        spec = KERNELS["linear"]
    else:
        spec = KERNELS["poly"] if scale <= 1.0 else KERNELS["linear"]
    weighted, sparse = rng.random() < 0.4, rng.random() < 0.2
    pool = scale * nasty(rng, kind, 300)
    follower = Follower(machine, spec, rng)
    C = float(10.0 ** rng.uniform(-4, 3))
    if machine == "squared":
        follower.model.C = C
    if machine in ("one-class", "linear-nu"):
        follower.model.nu = float(rng.choice([0.1, 0.25, 0.5, 1.0, rng.uniform(0.02, 1.0)]))
    if machine == "linear-C":
        follower.model.C = float(rng.choice([0.51, 1.0, 30.0]))
    if machine == "pu-lam":
        follower.model.lam = float(10.0 ** rng.uniform(-3, 1))
    follower.model.tol = float(10.0 ** rng.uniform(-9, -1))

    def add(b, fresh=False):
        X = pool[rng.integers(0, len(pool), b)]
        y = labels(rng, b) if fresh else (rng.random(b) < 0.3).astype(float)
        weight = None
        if weighted:
            weight = rng.choice([1.0, 2.0, 0.5, rng.uniform(0.1, 3.0)], b)
            if b > 5:
                weight[4] = rng.choice([0.0, -1.0])
        follower.add(sp.csr_array(X) if sparse else X, y, weight)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a ball that is a point
        add(int(rng.integers(5, 20)), fresh=True)
        for _ in range(operations):
            n = len(follower.y)
            what = rng.random()
            if what < 0.5 and n < size:
                add(int(rng.choice([1, 1, 1, 2, 6])))
            elif what < 0.85:
                gone = rng.choice(n, min(n - 1, int(rng.choice([1, 1, 2, 5]))), replace=False)
                if follower.can_lose(gone):
                    follower.forget(gone)
            elif what < 0.93:
                follower.model = pickle.loads(pickle.dumps(follower.model))
                continue
            else:
                follower.model.set_params(max_steps=1)
                add(2)
                while follower.model.fit_status_:
                    follower.model.decision_function(follower.X)
                    follower.model.resume(3)
                follower.model.set_params(max_steps=None)
            if follower.updated:  # a fit is exact to its tolerance only
                follower.judge(tol=1e-8)


@pytest.mark.parametrize("machine", MACHINES)
def test_random_programs(machine, seed):
    for k in range(8):
        program(machine, 100 * seed + k)


@pytest.mark.parametrize("k", [110, 121])
def test_rounding_along_a_path_is_repaired(k):
    program("linear-nu", k)  # kernel values that are nothing but rounding, and huge slopes


# -- leaving rows out ------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["normal", "duplicates", "grid"])
@pytest.mark.parametrize("machine", MACHINES)
def test_leave_one_out_is_a_fit_without_the_row(rng, machine, data):
    X, y = nasty(rng, data, 30), labels(rng, 30)
    weight = rng.choice([1.0, 2.0], 30) if data == "normal" else None
    pu = machine.startswith("pu")
    model = MACHINES[machine](gamma=0.3, tol=1e-11)
    if pu:
        model.set_params(threshold="risk")
    model.fit(X, y, sample_weight=weight)
    given = model.decision_function(X)
    values = model.leave_one_out_decisions()
    for i in range(30):
        part = np.arange(30) != i
        left = None if weight is None else weight[part]
        fitted = clone(model).fit(X[part], y[part], sample_weight=left)
        assert values[i] == pytest.approx(fitted.decision_function(X[[i]])[0], abs=1e-8), i
    some = rng.permutation(30)[:5]
    assert np.allclose(model.leave_one_out_decisions(some), values[some], atol=1e-11)
    assert np.allclose(model.decision_function(X), given, atol=1e-9)
    judge(model, X, y, weight)


def test_leave_one_out_of_a_ball_that_is_a_point(rng):
    X = rng.normal(size=(12, 2))
    with pytest.warns(ConvergenceWarning, match="the radius is 0"):
        model = SVDD(C=1e-3, gamma=0.3, tol=1e-11).fit(X)
    values = model.leave_one_out_decisions()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(12):
            fitted = clone(model).fit(np.delete(X, i, 0))
            assert values[i] == pytest.approx(fitted.decision_function(X[[i]])[0], abs=1e-9)


def test_leaving_out_needs_others(rng):
    X = rng.normal(size=(20, 3))
    with pytest.raises(ValueError, match="no training row would be left"):
        SVDD().fit(X[:1]).leave_one_out_decisions()
    with pytest.raises(ValueError, match=r"C=0\.05 with slack='linear' has no solution"):
        SVDD(slack="linear", C=0.05).fit(X).leave_one_out_decisions()
    model = PUSVM(prior=0.3).fit(X, np.arange(20) == 3)
    assert len(model.leave_one_out_decisions([0, 1])) == 2
    with pytest.raises(ValueError, match="no positive training row would be left"):
        model.leave_one_out_decisions()


# -- rows in all forms ------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["sparse", "float32", "frame", "read-only", "list"])
@pytest.mark.parametrize("machine", MACHINES)
def test_storage_does_not_matter(rng, machine, storage):
    X, y = rows(rng, 60)
    X = np.round(X, 1).astype(np.float32).astype(float)

    def read_only(X):
        X = X.copy()
        X.setflags(write=False)
        return X

    convert = {
        "sparse": sp.csr_array,
        "float32": lambda X: X.astype(np.float32),
        "frame": lambda X: pd.DataFrame(X, columns=list("abc")),
        "read-only": read_only,
        "list": lambda X: X.tolist(),
    }[storage]

    def run(convert):
        model = MACHINES[machine](gamma=0.3).fit(convert(X[:50]), y[:50])
        y_new = y[50:] if machine.startswith("pu") else None
        return model.partial_fit(convert(X[50:]), y_new).forget([3, 55])

    model, expected = run(convert), run(lambda X: X)
    f = expected.decision_function(X)
    assert np.allclose(model.decision_function(convert(X)), f, atol=1e-6)
    assert sp.issparse(model.support_vectors_) == (storage == "sparse")
    if storage == "float32":
        assert model.support_vectors_.dtype == np.float32


@pytest.mark.parametrize("machine", ONE_CLASS)
def test_one_row_and_all_at_bound(rng, machine):
    X, _ = rows(rng, 12)
    model = MACHINES[machine](gamma=0.3)
    if machine in ("one-class", "linear-nu"):
        model.nu = 1.0
    elif machine == "linear-C":
        model.C = 1.0
    model.partial_fit(X[:1])
    n = 1
    for part in (X[1:2], X[2:12]):
        model.partial_fit(part)
        n += len(part)
        judge(model, X[:n])
    with pytest.raises(ValueError, match="no training row would be left; keep at least one"):
        model.forget(np.arange(12))
    judge(model, X)
    model.forget(np.arange(1, 12))
    judge(model, X[:1])


@pytest.mark.parametrize("machine", MACHINES)
def test_rows_of_no_weight_are_counted_and_have_no_part(rng, machine):
    X, y = rows(rng, 40)
    weight = np.where(np.arange(40) % 5 == 4, 0.0, 1.0 + np.arange(40) % 3)
    weight[9] = -1.0
    follower = Follower(machine, "rbf", rng)
    follower.add(X[:30], y[:30], weight[:30])
    follower.add(X[30:], y[30:], weight[30:])
    follower.judge()
    follower.forget([4, 5, 39])
    follower.judge()
    again = pickle.loads(pickle.dumps(follower.model)).forget([0])
    judge(again, follower.X[1:], follower.y[1:], follower.weight[1:])
    model = follower.model
    out = np.flatnonzero(follower.weight <= 0)
    if machine == "pu":
        assert len(model.transduction_) == len(follower.y)
        positive = follower.y[out] == 1
        expected = positive | (model.decision_function(follower.X[out]) > 0)
        assert np.array_equal(model.transduction_[out], expected)
    values = model.leave_one_out_decisions(out)
    if machine != "pu-lam":  # its own bias is another
        assert np.allclose(values, model.decision_function(follower.X[out]), atol=1e-10)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_scale_and_the_centre_of_the_first_rows_stay(rng, machine):
    X, y = rows(rng, 60)
    y_of = (lambda part: y[part]) if machine.startswith("pu") else (lambda part: None)
    model = MACHINES[machine](gamma="scale").fit(X[:40], y[:40])
    gamma = model.gamma_
    model.partial_fit(100 * X[40:], y_of(slice(40, 60)))
    assert model.gamma_ == gamma
    fitted = clone(model).set_params(gamma=gamma, tol=1e-11)
    fitted.fit(np.concatenate([X[:40], 100 * X[40:]]), y)
    assert np.allclose(model.decision_function(X), fitted.decision_function(X), atol=1e-9)


def test_a_callable_kernel(rng):
    X, y = rows(rng, 50)

    def kernel(X, Z):
        return (X @ Z.T + 1.0) ** 2

    for machine in MACHINES:
        model = MACHINES[machine](kernel=kernel).fit(X[:40], y[:40])
        model.partial_fit(X[40:], y[40:] if machine.startswith("pu") else None).forget([1, 45])
        judge(model, np.delete(X, [1, 45], 0), np.delete(y, [1, 45]), kernel=("poly", 1.0, 2, 1.0))


def test_positive_rows_outweigh_all_others_and_go(rng):
    X, y = rows(rng, 40)
    model = PUSVM(prior=0.3, gamma=0.3, threshold="risk").fit(X[:30], y[:30])
    model.partial_fit(X[30:31], [1], sample_weight=[1e9]).forget([30])
    assert model.lam_ == pytest.approx(0.15 / y[:30].sum(), rel=1e-12)
    judge(model, X[:30], y[:30])


@pytest.mark.parametrize("threshold", ["leave-one-out", "prior", "risk"])
def test_thresholds_are_those_of_a_fit(rng, threshold):
    X, y = rows(rng, 120)
    model = PUSVM(prior=0.3, gamma=0.5, threshold=threshold).fit(X[:100], y[:100])
    model.partial_fit(X[100:], y[100:]).forget([50, 51])
    X, y = np.delete(X, [50, 51], 0), np.delete(y, [50, 51])
    fitted = clone(model).set_params(tol=1e-11).fit(X, y)
    assert model.intercept_ == pytest.approx(fitted.intercept_, abs=1e-8)
    assert np.array_equal(model.transduction_, fitted.transduction_)


def test_an_estimated_prior_stays(rng):
    X, y = rows(rng, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an uncertain prior
        model = PUSVM(random_state=0).fit(X[:200], y[:200])
    prior, interval = model.prior_, model.prior_interval_
    model.partial_fit(X[200:], y[200:])
    assert (model.prior_, model.prior_interval_) == (prior, interval)
    fitted = PUSVM(prior=prior, gamma=model.gamma_, tol=1e-11).fit(X, y)
    assert np.allclose(model.decision_function(X), fitted.decision_function(X), atol=1e-8)


def test_marks_of_the_rows(rng):
    X, y = rows(rng, 40)
    words = np.where(y == 1, "spam", "?")
    model = PUSVM(prior=0.3, gamma=0.3, pos_label="spam", threshold="risk")
    model.partial_fit(X[:30], words[:30], classes=["spam", "?"])
    model.partial_fit(X[30:35], words[30:35]).partial_fit(X[35:])  # the rest is unlabelled
    missing = pd.array([None, "spam"], dtype="string")
    model.partial_fit(X[:2], missing)
    judge(model, np.concatenate([X, X[:2]]), np.r_[y[:35], np.zeros(5), 0, 1])
    assert set(model.predict(X)) <= {"spam", "?"}
    for wrong, message in ((["ham"] * 2, "neither the positive class spam"), (["?"], "1 labels")):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X[:2], wrong)
    with pytest.raises(ValueError, match="differ from the classes of the first rows"):
        model.partial_fit(X[:2], classes=[0, 1])
    model.forget(np.arange(len(model.transduction_)) >= 40)
    judge(model, X, np.r_[y[:35], np.zeros(5)])


# -- on the way ------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_a_limit_on_steps(rng, machine):
    X, y = rows(rng, 120)
    pu = machine.startswith("pu")
    model = MACHINES[machine](gamma=0.3, max_steps=1).fit(X[:60], y[:60])
    model.resume()  # the first operation after a fit is not cut short
    with pytest.warns(ConvergenceWarning, match=r"partial_fit stopped after max_steps=1") as seen:
        model.partial_fit(X[60:], y[60:] if pu else None)
    assert seen[0].filename == __file__
    assert model.fit_status_ == 1 and np.isnan(model.objective_)
    with pytest.warns(ConvergenceWarning, match=r"forget stopped after max_steps=1"):
        model.forget([2, 3, 70, 71])
    assert np.all(np.isfinite(model.decision_function(X))) and model.shape_fit_ == (116, 3)
    assert model.support_.min() >= -1 and model.support_.max() < 116
    saved = pickle.loads(pickle.dumps(model)).resume()
    assert model.resume() is model
    for machine in (model, saved):
        judge(machine, np.delete(X, [2, 3, 70, 71], 0), np.delete(y, [2, 3, 70, 71]))


@pytest.mark.parametrize("machine", MACHINES)
def test_an_interrupted_operation_can_be_resumed(rng, machine, monkeypatch):
    from fewlabels.solvers.path.events import Events

    X, y = rows(rng, 120)
    pu = machine.startswith("pu")
    model = MACHINES[machine](gamma=0.3).fit(X[:60], y[:60])
    model.partial_fit(X[60:70], y[60:70] if pu else None)
    steps = []
    step = Events.step

    def interrupted(events):
        step(events)
        steps.append(1)
        if len(steps) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Events, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[70:], y[70:] if pu else None).forget(np.arange(30, 50))
    assert np.all(np.isfinite(model.decision_function(X))) and model.fit_status_ == 1
    model.resume()
    n = model.shape_fit_[0]
    kept = np.arange(120) if n == 120 else np.delete(np.arange(120), np.arange(30, 50))
    judge(model, X[kept], y[kept])


@pytest.mark.parametrize("began", [False, True], ids=["first", "later"])
def test_ctrl_c_between_any_two_calls_of_an_update(rng, began):
    """Whichever Python function of the package it comes in, all new rows are there or none."""
    X, _ = rows(rng, 40)
    fitted = SVDD(slack="linear", nu=0.3, gamma=0.3).fit(X[:20])
    if began:
        fitted.partial_fit(X[20:22])
    source, n = str(Path(fewlabels.__file__).parent), len(fitted.training_rows_.X)

    def update(model, last=0):
        """How many calls there are; Ctrl-C comes in the last one."""
        calls = 0

        def count(frame, event, arg):
            nonlocal calls
            if event == "call" and frame.f_code.co_filename.startswith(source):
                calls += 1
                if calls == last:
                    sys.setprofile(None)
                    raise KeyboardInterrupt

        sys.setprofile(count)
        try:
            model.partial_fit(X[22:])
        finally:
            sys.setprofile(None)
        return calls

    calls = update(copy.deepcopy(fitted))
    # Every call up to the first steps of the path, and some of the others.
    for last in [*range(1, 150), *range(150, calls, calls // 25)]:
        model = copy.deepcopy(fitted)
        with pytest.raises(KeyboardInterrupt):
            update(model, last)
        assert np.isfinite(model.decision_function(X)).all()
        model.resume()
        there = model.shape_fit_[0]
        assert model.is_caught_up_ and there == len(model.training_rows_.X)
        assert there in (n, n + 18)
        judge(model, np.append(X[:n], X[22:], axis=0)[:there])


def test_attributes_are_found_as_after_a_fit(rng):
    X, y = rows(rng, 60)
    for model in (OneClassSVM(gamma=0.3), SVDD(gamma=0.3), PUSVM(prior=0.3, gamma=0.3)):
        model.fit(X[:50], y[:50])
        before = model.n_iter_, len(model.history_)
        model.partial_fit(X[50:])
        assert model.n_iter_ >= before[0] and len(model.history_) > before[1]
        assert not hasattr(model, "no_such_thing_")
        copied = copy.deepcopy(model)
        assert np.array_equal(copied.decision_function(X), model.decision_function(X))
        fresh = clone(model)
        assert not hasattr(fresh, "support_")
        model.fit(X[:50], y[:50])
        assert model.shape_fit_ == (50, 3) and len(model.history_) == before[1]


def test_memory_of_what_has_gone_is_freed(rng):
    X = rng.normal(size=(500, 2))
    model = SVDD(gamma=0.3).fit(X[:100])
    for i in range(100, 500, 4):
        model.partial_fit(X[i : i + 4]).forget([0, 1, 2, 3])
    judge(model, X[400:])
    rows, start = RowStore(X[:100], weight=np.ones(100)), (np.full(100, 0.01), 0.0)
    stream = ConvexStream(SquaredSlackBall(1.0), RBF(0.3), rows, start)
    for i in range(100, 500, 4):
        stream.add(X[i : i + 4], weight=np.ones(4))
        stream.remove([0, 1, 2, 3])
        assert stream.run()
    assert len(stream) == 100 and stream.rows.n_places < 250


def test_a_saved_machine_holds_plain_values(rng):
    X, y = rows(rng, 50)
    for model in (OneClassSVM(gamma=0.3), SVDD(gamma=0.3), PUSVM(prior=0.3, gamma=0.3)):
        model.fit(X[:40], y[:40]).partial_fit(X[40:])
        saved = pickle.dumps(model)
        # Texts before the opcode that imports a class: neither path nor operator is among them.
        names = {value for _, value, _ in pickletools.genops(saved) if isinstance(value, str)}
        ours = {name for name in names if name.startswith("fewlabels.")}
        working = ("fewlabels.solvers", "fewlabels.kernels.operators", "fewlabels.rows.memory")
        working += tuple(
            f"fewlabels.{name}"
            for name in (
                "calibration.left_out_scores",
                "calibration.leave_one_out",
                "one_class.bags",
            )
        )
        working += tuple(
            f"fewlabels.positive_unlabelled.{name}"
            for name in ("bags", "ensemble", "leave_one_out", "losses", "rows", "scores")
        )
        assert ours and not any(name.startswith(working) for name in ours)
        assert "PUData" not in names
        assert len(saved) < 3 * X.nbytes + 30_000
        again = pickle.loads(saved)
        assert np.array_equal(again.decision_function(X), model.decision_function(X))
        again.forget([41])
        model.forget([41])
        assert np.allclose(again.decision_function(X), model.decision_function(X), atol=1e-11)


def test_rows_can_be_released(rng):
    X, y = rows(rng, 120)
    for machine in MACHINES:
        model = MACHINES[machine](gamma=0.3).fit(X[:50], y[:50])
        model.partial_fit(X[50:60], y[50:60] if machine.startswith("pu") else None)
        f = pickle.loads(pickle.dumps(model)).decision_function(X)
        assert model.release_rows() is model and not model.holds_rows_
        assert np.array_equal(model.decision_function(X), f)
        assert model.objective_ is not None
        with pytest.raises(ValueError, match="doesn't store its training rows"):
            model.partial_fit(X)
        model.fit(X[:60], y[:60]).resume()
        with pytest.warns(ConvergenceWarning, match="max_steps=1"):
            y_new = y[60:] if machine.startswith("pu") else None
            model.set_params(max_steps=1).partial_fit(X[60:], y_new)
        with pytest.raises(ValueError, match=r"call resume\(\) before release_rows"):
            model.release_rows()


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_what_cannot_be_done_is_said(rng, machine):
    X, y = rows(rng, 30)
    model = MACHINES[machine](gamma=0.3)
    for operation in (model.resume, model.leave_one_out_decisions, lambda: model.forget([0])):
        with pytest.raises(NotFittedError):
            operation()
    model.fit(X, y)
    f = model.decision_function(X)
    y_new = y[:2] if machine.startswith("pu") else None
    for indices, message in (
        ([30], "row 30 is not among the 30"),
        ([1, 1], "named twice"),
        ([0.5], "whole numbers"),
        (np.ones(29, bool), "29 values for 30"),
        (np.arange(30), "would be left"),
    ):
        with pytest.raises(ValueError, match=message):
            model.forget(indices)
    with pytest.raises(ValueError, match="2 features, but"):
        model.partial_fit(X[:2, :2], y_new)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((2, 3), np.nan), y_new)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.partial_fit(X[:0], y_new)
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        model.partial_fit(X[:2], y_new, sample_weight=[0.0, -1.0])
    with pytest.raises(ValueError, match="sparse"):
        model.partial_fit(sp.csr_array(X[:2]), y_new)
    assert np.array_equal(model.decision_function(X), f)
    model.set_params(gamma=0.4)
    with pytest.raises(ValueError, match=r"gamma was 0.3 when .* and is 0.4 now"):
        model.partial_fit(X[:2], y_new)
    model.set_params(gamma=0.3).partial_fit(X[:2], y_new)
    judge(model, np.concatenate([X, X[:2]]), np.concatenate([y, y[:2]]))
    model.release_rows()
    with pytest.raises(ValueError, match="doesn't store its training rows"):
        model.forget([0])
    K = X @ X.T
    other = clone(model).set_params(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="kernel='precomputed' can't be updated"):
        other.partial_fit(K[:2], y_new)


def test_kinds_of_rows_that_must_stay(rng):
    X, y = rows(rng, 30)
    model = PUSVM(prior=0.3).fit(X, y)
    with pytest.raises(ValueError, match="no positive training row would be left"):
        model.forget(y == 1)
    with pytest.raises(ValueError, match="no unlabelled training row would be left"):
        model.forget(y == 0)
    ball = SVDD(slack="linear", C=0.1).fit(X)
    with pytest.raises(ValueError, match=r"C=0\.1 with slack='linear' has no solution"):
        ball.forget(np.arange(21))
    judge(
        ball.set_params(gamma="scale").forget(np.arange(20)), X[20:], kernel=("rbf", ball.gamma_)
    )
    ramp = PUSVM(prior=0.3, loss="ramp").fit(X, y)
    with pytest.raises(ValueError, match="loss='ramp' has many local minima"):
        ramp.forget([0])
    assert not hasattr(ramp, "partial_fit")
    with pytest.raises(ValueError, match="y to be passed"):
        PUSVM().partial_fit(X)


def test_a_solution_that_was_not_reached_is_no_obstacle(rng):
    X, y = rows(rng, 80)
    for machine in MACHINES:
        model = MACHINES[machine](gamma=0.3, max_iter=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[:70], y[:70])
        model.partial_fit(X[70:], y[70:] if machine.startswith("pu") else None)
        judge(model, X, y)


@pytest.mark.parametrize("solver", ["lagrangian", "projected", "interior-point", "qp"])
def test_updates_start_from_every_solver(rng, solver):
    X, _ = rows(rng, 40)
    model = SVDD(gamma=0.3, C=0.3, solver=solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # projected steps stop too early
        model.fit(X[:35])
    judge(model.partial_fit(X[35:]), X)
