"""Confirmed anomalies: one problem, judged by data, coefficients and an independent solver."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reference import kernel_matrix, kkt_residual, objective
from reference.qp import solve_qp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fewlabels import SVDD, OneClassSVM, SVDDEnsemble
from fewlabels._util.deadline import ENDLESS
from fewlabels.base.retrain import solve_near_start
from fewlabels.kernels import Sigmoid
from fewlabels.kernels.operators import make_gram
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import Status

KERNELS = {
    "rbf": (dict(gamma=0.3), ("rbf", 0.3)),
    "linear": (dict(kernel="linear"), ("linear",)),
    "poly": (dict(kernel="poly", gamma=0.3, degree=2, coef0=1.0), ("poly", 0.3, 2, 1.0)),
}
MODELS = {
    "one-class": lambda **kw: OneClassSVM(nu=0.23, C_anomaly=2.0, **kw),
    "squared": lambda **kw: SVDD(C=0.3, C_anomaly=1.1, **kw),
    "linear-nu": lambda **kw: SVDD(slack="linear", nu=0.23, C_anomaly=2.0, **kw),
    "linear-C": lambda **kw: SVDD(slack="linear", C=0.51, C_anomaly=0.4, **kw),
}


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def rows(rng, n=90, d=3, share=0.15):
    """Normal rows, and anomalies of which some lie among them."""
    anomaly = rng.random(n) < share
    anomaly[:2] = [False, True]
    return rng.normal(size=(n, d)) + anomaly[:, None] * rng.normal(size=(n, 1)), anomaly


def stated(model, K, weight, anomaly):
    """Problem (P) over the rows that count: Q, penalty and total, written out."""
    diagonal, zero = np.diag(K).copy(), np.zeros(len(K))
    mass = weight[~anomaly].sum()
    if isinstance(model, OneClassSVM):
        low = np.where(anomaly, -model.C_anomaly * weight, 0.0)
        up = np.where(anomaly, 0.0, weight)
        return K, (low, low, up, zero, zero), model.nu * mass
    C, slope = model.C if model.nu is None else 1.0 / (model.nu * mass), -diagonal
    unit = 1.0 if model.nu is None else C
    cost = 10.0 * C if model.C_anomaly is None else model.C_anomaly * unit
    if model.slack == "squared":
        low, up = np.where(anomaly, -np.inf, 0.0), np.where(anomaly, 0.0, np.inf)
        ridge = 1.0 / (2.0 * np.where(anomaly, cost, C) * weight)
        return 2.0 * K + np.diag(ridge), (low, low, up, slope, slope), 1.0
    low, up = np.where(anomaly, -cost * weight, 0.0), np.where(anomaly, 0.0, C * weight)
    return 2.0 * K, (low, low, up, slope, slope), 1.0


def judge(model, X, anomaly, weight=None, kernel=("rbf", 0.3), tol=1e-9):
    """Is the model the solution over these rows, and are its attributes right?"""
    weight = np.ones(X.shape[0]) if weight is None else weight
    on = np.flatnonzero(weight > 0)
    coef = np.zeros(X.shape[0])
    coef[model.support_] = dense(model.dual_coef_)[0]
    assert np.all(coef[weight <= 0] == 0) and model.fit_status_ == 0
    assert np.array_equal(dense(model.support_vectors_), dense(X)[model.support_])
    K, a, anomaly = kernel_matrix(kernel, dense(X).astype(float)[on]), coef[on], anomaly[on]
    Q, penalty, total = stated(model, K, weight[on], anomaly)
    low, _, up, *_ = penalty
    size = max(np.abs(Q).max(), 1.0) * max(1.0, np.abs(a).sum())
    assert np.all(a >= low * (1 + 1e-12)) and np.all(a <= up * (1 + 1e-12))
    assert a.sum() == pytest.approx(total, rel=1e-9)
    for end in (low, up):  # without the last bits of a change of units
        near = np.isfinite(end) & (np.abs(a - end) <= 1e-11 * np.maximum(np.abs(end), 1e-300))
        a = np.where(near, end, a)
    assert kkt_residual(Q, penalty, a) <= tol * size
    value = objective(Q, penalty, a)
    assert model.objective_ == pytest.approx(value, rel=1e-9, abs=tol * size)
    worth = size * max(1.0, np.abs(a).sum())
    assert -tol * worth <= model.duality_gap_ <= tol * worth
    decision, inner = model.decision_function(X)[on], K @ a
    if isinstance(model, OneClassSVM):
        assert np.allclose(decision, inner - model.offset_, atol=tol * size)
    else:
        norm = a @ inner
        distance = np.diag(K) - 2.0 * inner + norm
        assert np.allclose(decision, model.radius_**2 - distance, atol=tol * size)
    return Q, penalty, total, value


# -- the problem -----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 400, 1100])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MODELS)
def test_the_objective_is_an_independent_solvers(rng, name, kernel, n):
    pytest.importorskip("clarabel")
    X, anomaly = rows(rng, n)
    weight = rng.choice([0.5, 1.0, 2.0], n)
    parameters, spec = KERNELS[kernel]
    model = MODELS[name](tol=1e-9 if n < 1000 else 1e-6, **parameters)
    model.fit(X, sample_weight=weight, anomalies=anomaly)
    Q, penalty, total, value = judge(model, X, anomaly, weight, spec, tol=1e-8)
    best = solve_qp(Q, penalty, total)[1]
    assert value == pytest.approx(best, rel=1e-8, abs=1e-8)
    assert np.any(dense(model.dual_coef_) < 0)


def test_clarabel_as_a_solver_gives_the_same_ball(rng):
    pytest.importorskip("clarabel")
    X, anomaly = rows(rng)
    for slack, C in (("squared", 0.3), ("linear", 0.1)):
        ours, other = SVDD(C=C, slack=slack, tol=1e-9), SVDD(C=C, slack=slack, solver="qp")
        ours.fit(X, anomalies=anomaly)
        other.fit(X, anomalies=anomaly)
        assert ours.objective_ == pytest.approx(other.objective_, abs=1e-8)
        assert ours.radius_ == pytest.approx(other.radius_, abs=1e-5)
    for solver in ("lagrangian", "projected", "interior-point"):
        with pytest.raises(ValueError, match="doesn't take confirmed anomalies"):
            SVDD(solver=solver).fit(X, anomalies=anomaly)


@pytest.mark.parametrize("slack", ["linear", "squared"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_the_dual_is_the_ball_problem_for_every_kernel(rng, kernel, slack):
    # In the centre c and rho = R^2 - |c|^2 all constraints are linear and the objective convex,
    # whatever K(x, x) is: no ball nearby is cheaper, and the two objectives are equal.
    X, anomaly = rows(rng, 60, 2)
    parameters, spec = KERNELS[kernel]
    C, cost = 0.2, 0.7
    model = SVDD(C=C, C_anomaly=cost, slack=slack, tol=1e-10, **parameters)
    model.fit(X, anomalies=anomaly)
    K = kernel_matrix(spec, X)
    values, vectors = np.linalg.eigh(K)
    phi = vectors * np.sqrt(np.maximum(values, 0.0))  # rows in feature space
    a = np.zeros(len(X))
    a[model.support_] = model.dual_coef_[0]

    def price(center, squared_radius):
        off = np.sum((phi - center) ** 2, axis=1) - squared_radius
        slacks = np.maximum(0.0, np.where(anomaly, -off, off))
        slacks = slacks if slack == "linear" else slacks**2
        return squared_radius + np.where(anomaly, cost, C) @ slacks

    center, squared_radius = a @ phi, model.radius_**2
    assert squared_radius > 0
    own = price(center, squared_radius)
    assert own == pytest.approx(-model.objective_, rel=1e-6)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(50):
            step = size * rng.normal(size=len(center)) / np.sqrt(len(center))
            other = max(0.0, squared_radius + size * rng.normal())
            assert price(center + step, other) >= own - 1e-6 * abs(own)


def test_anomalies_end_outside_when_they_cost_enough(rng):
    X = np.vstack([[[0.5, 0.5]], rng.normal(size=(199, 2))])
    anomaly = np.arange(200) == 0
    ball = SVDD(nu=0.1, slack="linear", C_anomaly=1e3, gamma=0.3)
    for model in (ball, OneClassSVM(nu=0.1, C_anomaly=1e3, gamma=0.3)):
        assert clone(model).fit(X).decision_function(X[:1]) > 0
        assert clone(model).fit(X, anomalies=anomaly).decision_function(X[:1]) < 1e-3


@pytest.mark.parametrize("name", MODELS)
def test_no_anomalies_change_nothing(rng, name):
    X, _ = rows(rng)
    plain = MODELS[name]().fit(X)
    for none in (np.zeros(len(X), bool), [0] * len(X), False, pd.Series([False] * len(X))):
        other = MODELS[name]().fit(X, anomalies=none)
        assert np.array_equal(other.dual_coef_, plain.dual_coef_)
        assert other.objective_ == plain.objective_
        assert other.__getstate__()["_stream"].__getstate__()["rows"].keys() == {"X", "weight"}


def test_anomalies_outside_change_nothing_but_rounding(rng):
    X, _ = rows(rng)
    far = np.vstack([X, X[:5] + 50.0])
    for model in (SVDD(gamma=0.3), OneClassSVM(nu=0.1, gamma=0.3)):
        plain = clone(model).fit(X)
        other = clone(model).fit(far, anomalies=np.arange(len(far)) >= len(X))
        assert np.all(dense(other.dual_coef_) > 0)
        assert np.allclose(plain.decision_function(X), other.decision_function(X), atol=1e-6)


def test_the_default_price_is_ten_times_a_normal_rows(rng):
    X, anomaly = rows(rng)
    for parameters, explicit in (
        (dict(C=0.3), 3.0), (dict(C=0.1, slack="linear"), 1.0), (dict(nu=0.2, slack="linear"), 10)
    ):  # fmt: skip
        default = SVDD(**parameters).fit(X, anomalies=anomaly)
        same = SVDD(C_anomaly=explicit, **parameters).fit(X, anomalies=anomaly)
        assert default.objective_ == pytest.approx(same.objective_, rel=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_repetitions(rng, name):
    X, anomaly = rows(rng, 60)
    weight = rng.integers(1, 4, 60)
    one = MODELS[name](tol=1e-10).fit(X, sample_weight=weight, anomalies=anomaly)
    again = MODELS[name](tol=1e-10).fit(
        np.repeat(X, weight, axis=0), anomalies=np.repeat(anomaly, weight)
    )
    assert one.gamma_ == pytest.approx(again.gamma_, rel=1e-12)
    assert one.objective_ == pytest.approx(again.objective_, rel=1e-9)
    assert np.allclose(one.decision_function(X), again.decision_function(X), atol=1e-7)


def test_gamma_follows_normal_rows_alone(rng):
    X, anomaly = rows(rng)
    X[anomaly] *= 100.0
    model = SVDD().fit(X, anomalies=anomaly)
    assert model.gamma_ == pytest.approx(SVDD().fit(X[~anomaly]).gamma_, rel=1e-12)


# -- rows that come, go and turn out to be something else ------------------------------------


class Follower:
    """A model and, beside it, the rows that it should have."""

    def __init__(self, model, kernel):
        self.model, self.kernel = model, kernel
        self.X, self.weight, self.anomaly = None, np.zeros(0), np.zeros(0, bool)
        self.updated = False

    def add(self, X, anomaly, weight=None):
        self.updated = self.X is not None
        self.model.partial_fit(X, sample_weight=weight, anomalies=anomaly)
        stack = sp.vstack if sp.issparse(X) else np.concatenate
        self.X = X if self.X is None else stack([self.X, X])
        n = X.shape[0]
        self.anomaly = np.append(self.anomaly, np.zeros(n, bool) if anomaly is None else anomaly)
        self.weight = np.append(self.weight, np.ones(n) if weight is None else weight)

    def forget(self, indices):
        self.updated = True
        self.model.forget(indices)
        kept = np.delete(np.arange(len(self.weight)), indices)
        self.X, self.weight, self.anomaly = self.X[kept], self.weight[kept], self.anomaly[kept]

    def relabel(self, indices, anomaly):
        self.updated = True
        self.model.relabel(indices, anomaly)
        self.anomaly = self.anomaly.copy()
        self.anomaly[indices] = anomaly

    def can_have(self, anomaly, gone=()):
        weight = np.where(anomaly, 0.0, np.maximum(self.weight, 0.0))
        return np.delete(weight, gone).sum() > 2.0

    def judge(self, tol=1e-9):
        judge(self.model, self.X, self.anomaly, self.weight, self.kernel, tol)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MODELS)
def test_every_operation_ends_at_the_solution(rng, name, kernel):
    X, anomaly = rows(rng, 100)
    parameters, spec = KERNELS[kernel]
    follower = Follower(MODELS[name](**parameters), spec)
    follower.add(X[:60], None)  # all are normal until somebody looks
    follower.relabel([4, 9], True)
    follower.judge()
    follower.add(X[60:90], anomaly[60:90])
    follower.judge()
    follower.add(X[90:], None)
    follower.judge()
    follower.relabel([4, 70, 71], [False, True, True])
    follower.judge()
    follower.relabel(np.arange(100) == 9, False)
    follower.judge()
    follower.relabel(9, True)
    follower.relabel(-1, anomaly=True)
    follower.judge()
    follower.forget([9, 10, 70])
    follower.judge()
    follower.add(X[:3], [True, False, True])
    follower.judge()
    marks = follower.model.training_rows_.label
    assert np.array_equal(marks == -1, follower.anomaly)


@pytest.mark.parametrize("name", MODELS)
def test_a_relabelled_model_is_a_fit(rng, name):
    X, anomaly = rows(rng, 80)
    model = MODELS[name](gamma=0.3).fit(X).relabel(np.flatnonzero(anomaly))
    fitted = MODELS[name](gamma=0.3, tol=1e-11).fit(X, anomalies=anomaly)
    assert np.array_equal(model.support_, fitted.support_)
    assert np.allclose(dense(model.dual_coef_), dense(fitted.dual_coef_), atol=1e-9)
    for attribute in ("intercept_", "objective_", "offset_", "radius_"):
        if hasattr(fitted, attribute):
            assert np.allclose(getattr(model, attribute), getattr(fitted, attribute), atol=1e-9)
    back = model.relabel(np.flatnonzero(anomaly), anomaly=False)
    plain = MODELS[name](gamma=0.3, tol=1e-11).fit(X)
    assert np.allclose(back.decision_function(X), plain.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_all_rows_may_change_sides_at_once(rng, name):
    X, _ = rows(rng, 30)
    anomaly = np.arange(30) < 10
    follower = Follower(MODELS[name](gamma=0.3), ("rbf", 0.3))
    follower.add(X, anomaly)
    follower.relabel(np.arange(30), ~anomaly)
    follower.judge()


@pytest.mark.parametrize("name", MODELS)
def test_equal_rows_of_both_kinds(rng, name):
    X = rng.normal(size=(8, 2))[rng.integers(0, 8, 80)]
    anomaly = rng.random(80) < 0.3
    follower = Follower(MODELS[name](gamma=0.3, tol=1e-9), ("rbf", 0.3))
    follower.add(X, anomaly)
    follower.judge(1e-8)
    for _ in range(6):
        chosen = rng.choice(80, int(rng.integers(1, 10)), replace=False)
        marks = rng.random(len(chosen)) < 0.4
        follower.relabel(chosen, marks)
        follower.judge()
    out = follower.model.leave_one_out_decisions()
    for i in (0, 1, 2, 40, 79):
        kept = np.arange(80) != i
        other = clone(follower.model).set_params(tol=1e-11)
        other.fit(X[kept], anomalies=follower.anomaly[kept])
        assert out[i] == pytest.approx(other.decision_function(X[[i]])[0], abs=1e-7)


DATA = ("normal", "duplicates", "binary", "constant", "line")


def nasty(rng, kind, n):
    if kind == "duplicates":
        return rng.normal(size=(6, 2))[rng.integers(0, 6, n)]
    if kind == "binary":
        return rng.integers(0, 2, size=(n, 4)).astype(float)
    if kind == "constant":
        return np.full((n, 2), 0.7) + (rng.random((n, 1)) < 0.2)
    if kind == "line":
        return rng.uniform(-3, 3, size=(n, 1))
    return rng.normal(size=(n, 3))


def program(name, seed, operations=10, size=40):
    """Random operations on random data; every state is judged."""
    rng = np.random.default_rng([505, seed])
    kernel, scale = str(rng.choice(list(KERNELS))), float(rng.choice([1.0, 1.0, 1e-3, 1e3]))
    gamma = float(rng.choice([0.05, 0.3, 3.0])) / scale**2
    spec = (dict(gamma=gamma), ("rbf", gamma)) if kernel == "rbf" else KERNELS["linear"]
    spec = KERNELS["poly"] if kernel == "poly" and scale == 1.0 else spec
    weighted, sparse = rng.random() < 0.4, rng.random() < 0.2
    pool = scale * nasty(rng, str(rng.choice(DATA)), 300)
    follower = Follower(MODELS[name](**spec[0]), spec[1])
    model = follower.model
    model.set_params(C_anomaly=float(10.0 ** rng.uniform(-2, 3)))
    if name == "squared":
        model.C = float(10.0 ** rng.uniform(-3, 3))
    if name in ("one-class", "linear-nu"):
        model.nu = float(rng.choice([0.1, 0.25, 0.5, 1.0, rng.uniform(0.02, 1.0)]))
    if name == "linear-C":
        model.C = float(rng.choice([0.51, 1.0, 30.0]))
    model.tol = float(10.0 ** rng.uniform(-9, -1))

    def add(b, share=0.25):
        X, anomaly, weight = pool[rng.integers(0, len(pool), b)], rng.random(b) < share, None
        if b > 4:
            anomaly[:3] = False
        if weighted:
            weight = rng.choice([1.0, 2.0, 0.5, rng.uniform(0.1, 3.0)], b)
            if b > 5:
                weight[4:] = rng.choice([0.0, 1.0], b - 4)
        follower.add(sp.csr_array(X) if sparse else X, anomaly, weight)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a ball that is a point
        add(int(rng.integers(8, 20)))
        for _ in range(operations):
            n, what = len(follower.weight), rng.random()
            chosen = rng.choice(n, min(n - 1, int(rng.choice([1, 1, 2, 5]))), replace=False)
            if what < 0.35 and n < size:
                add(int(rng.choice([1, 1, 2, 6])))
            elif what < 0.7:
                marks, after = rng.random(len(chosen)) < 0.6, follower.anomaly.copy()
                after[chosen] = marks
                if follower.can_have(after):
                    follower.relabel(chosen, marks)
            elif what < 0.85:
                if follower.can_have(follower.anomaly, chosen):
                    follower.forget(chosen)
            elif what < 0.93:
                follower.model = pickle.loads(pickle.dumps(follower.model))
                continue
            else:
                marks, after = ~follower.anomaly[chosen], follower.anomaly.copy()
                after[chosen] = marks
                if not follower.can_have(after):
                    continue
                follower.model.set_params(max_steps=1)
                follower.relabel(chosen, marks)
                while follower.model.fit_status_:
                    assert np.all(np.isfinite(follower.model.decision_function(follower.X)))
                    follower.model = pickle.loads(pickle.dumps(follower.model))
                    follower.model.resume(3)
                follower.model.set_params(max_steps=None)
            if follower.updated:  # a fit is exact to its tolerance only
                follower.judge(tol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_random_programs(name, seed):
    for k in range(12):
        program(name, 100 * seed + k)


# -- leaving rows out, calibration -----------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("name", MODELS)
def test_leaving_a_row_out_is_a_fit_without_it(rng, name, kernel):
    X, anomaly = rows(rng, 50)
    weight = rng.choice([1.0, 2.0], 50)
    parameters, _ = KERNELS[kernel]
    model = MODELS[name](**parameters).fit(X, sample_weight=weight, anomalies=anomaly)
    out = model.leave_one_out_decisions()
    for i in range(50):
        kept = np.arange(50) != i
        other = MODELS[name](tol=1e-11, **parameters)
        other.fit(X[kept], sample_weight=weight[kept], anomalies=anomaly[kept])
        assert out[i] == pytest.approx(other.decision_function(X[[i]])[0], abs=1e-7)
    before = model.decision_function(X)
    assert np.array_equal(before, model.decision_function(X))


@pytest.mark.parametrize("calibration", ["leave-one-out", "split"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_only_normal_rows_calibrate(rng, kernel, calibration):
    X, anomaly = rows(rng, 150)
    for model in (SVDD(**KERNELS[kernel][0]), OneClassSVM(nu=0.1, **KERNELS[kernel][0])):
        model.set_params(target_fpr=0.1, calibration=calibration)
        model.fit(X, anomalies=anomaly)
        n = (~anomaly).sum()
        assert len(model.calibration_scores_) == (n if calibration == "leave-one-out" else n // 2)
        p = model.p_values(X)
        assert np.array_equal(p <= 0.1, model.predict(X) == -1)
        model.relabel([2, 3, 4], [True, True, True])
        after = anomaly.copy()
        after[2:5] = True
        left = (~after).sum()
        size = len(model.calibration_scores_)
        assert size == left if calibration == "leave-one-out" else abs(size - left / 2) <= 1
        if calibration == "split":
            marks = model.__getstate__()["_stream"].rows
            assert not np.any(marks["calibrates"] & marks["anomaly"])
        model.partial_fit(X[:20] + 0.1, anomalies=np.arange(20) < 5)
        model.forget(np.arange(10))
        assert np.all(np.isfinite(model.p_values(X)))


def test_leave_one_out_scores_are_those_of_fits_with_the_anomalies(rng):
    X, anomaly = rows(rng, 40)
    model = SVDD(gamma=0.3, target_fpr=0.2).fit(X, anomalies=anomaly)
    expected = []
    for i in np.flatnonzero(~anomaly):
        kept = np.arange(40) != i
        other = SVDD(gamma=0.3, tol=1e-11).fit(X[kept], anomalies=anomaly[kept])
        expected.append(other.score_samples(X[[i]])[0])
    assert np.allclose(model.calibration_scores_, np.sort(expected), atol=1e-8)


def test_new_normal_rows_are_rejected_at_the_rate(rng):
    rejected = []
    for _ in range(60):
        X = rng.normal(size=(120, 2))
        anomaly = np.arange(120) >= 100
        X[anomaly] += 1.5
        model = SVDD(target_fpr=0.1, calibration="split").fit(X, anomalies=anomaly)
        rejected.append(np.mean(model.predict(rng.normal(size=(200, 2))) == -1))
    assert 0.05 <= np.mean(rejected) <= 0.11  # at most 10 %, and rank 5 of 51 is 9.8 %


# -- inputs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [SVDD(gamma=0.3), OneClassSVM(gamma=0.3)], ids=["svdd", "svm"])
def test_layouts_and_types(rng, model):
    X, anomaly = rows(rng, 60)
    expected = clone(model).fit(X, anomalies=anomaly).decision_function(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    mask = anomaly.copy()
    mask.flags.writeable = False
    inputs = {
        "read-only": (frozen, mask),
        "fortran": (np.asfortranarray(X), anomaly.tolist()),
        "list": (X.tolist(), anomaly.astype(int).tolist()),
        "frame": (pd.DataFrame(X, columns=list("abc")), pd.Series(anomaly)),
        "csr": (sp.csr_array(X), anomaly.astype(float)),
        "nullable": (X, pd.array(anomaly, dtype="boolean")),
        "column": (X, anomaly[:, None]),
        "objects": (X, anomaly.astype(object)),
    }
    for name, (given, marks) in inputs.items():
        found = clone(model).fit(given, anomalies=marks)
        assert np.allclose(found.decision_function(given), expected, atol=1e-6), name
    single = X.astype(np.float32)
    found = clone(model).fit(single, anomalies=anomaly)
    assert np.allclose(found.decision_function(single), expected, atol=1e-3)
    K = kernel_matrix(("rbf", 0.3), X)
    found = clone(model).set_params(kernel="precomputed").fit(K, anomalies=anomaly)
    assert np.allclose(found.decision_function(K), expected, atol=1e-6)
    wanted = clone(model).fit_predict(X, anomalies=anomaly)
    assert np.array_equal(wanted, np.where(expected >= 0, 1, -1))


@pytest.mark.parametrize("model", [SVDD(), OneClassSVM()], ids=["svdd", "svm"])
def test_bad_masks_get_one_sentence(rng, model):
    X, anomaly = rows(rng, 20)
    cases = [
        (np.ones(20, bool), "every weighted row"),
        (True, "every weighted row"),
        (anomaly[:-1], r"shape \(19,\)"),
        ([1, 3, 5], r"shape \(3,\)"),
        (np.arange(20), "anomalies holds 2"),
        (["yes"] * 20, "anomalies holds"),
        (np.full(20, -1), "anomalies holds -1"),
        (np.full(20, np.nan), "missing value at row 0"),
        (pd.array([True, None] * 10, dtype="boolean"), "missing value at row 1"),
        ([[True], [False, True]] * 10, "anomalies"),
    ]
    for given, message in cases:
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, anomalies=given)
    with pytest.raises(ValueError, match="every weighted row"):
        clone(model).fit(X, sample_weight=anomaly.astype(float), anomalies=anomaly)
    model = clone(model).fit(X, anomalies=anomaly)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="would be confirmed anomalies"):
        model.relabel(np.arange(20))
    with pytest.raises(ValueError, match="would be confirmed anomalies"):
        model.forget(np.flatnonzero(~anomaly))
    with pytest.raises(ValueError, match="not among the 20 training rows"):
        model.relabel(20)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        model.relabel([1, 2], [True, False, True])
    with pytest.raises(ValueError, match="named twice"):
        model.relabel([1, 1])
    assert np.allclose(model.decision_function(X), before)
    with pytest.raises(ValueError, match="C_anomaly"):
        clone(model).set_params(C_anomaly=0.0).fit(X, anomalies=anomaly)
    model.set_params(C_anomaly=17.0)
    with pytest.raises(ValueError, match="C_anomaly was"):
        model.relabel(3)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("name", MODELS)
def test_rows_relabelled_without_a_path_are_solved_afresh(rng, name, kernel):
    # So many rows that those near the boundary are solved alone first.
    X, anomaly = rows(rng, 700, share=0.02)
    parameters, spec = KERNELS[kernel]
    model = MODELS[name](**parameters).fit(X, anomalies=anomaly)
    order = np.argsort(model.score_samples(X))
    steps = [order[-1], order[0], rng.integers(700), order[350:353], order[-1]]
    for chosen in steps:
        marks = ~anomaly[np.atleast_1d(chosen)]
        model.relabel(np.atleast_1d(chosen), marks)
        anomaly[chosen] = marks
        assert model.history_[-1]["operation"] == "solve" and model.is_caught_up_
        judge(model, X, anomaly, kernel=spec)
    again = pickle.loads(pickle.dumps(model))
    new = rng.normal(size=(1, 3))
    for one in (model, again):  # a path begins where the solver ended
        one.partial_fit(new)
        assert one.history_[-1]["operation"] in ("load", "refresh")
        judge(one, np.vstack([X, new]), np.append(anomaly, False), kernel=spec)
    support = np.flatnonzero(~anomaly & np.isin(np.arange(700), model.support_))[:1]
    model.relabel(support)
    anomaly[support] = True
    assert model.history_[-1]["operation"] != "solve"  # a short path
    judge(model, np.vstack([X, new]), np.append(anomaly, False), kernel=spec)


def test_deep_rows_leave_a_path_that_would_be_long(rng):
    X, anomaly = rows(rng, 600, share=0.0)[0], np.zeros(600, bool)
    model = SVDD(C=0.3, C_anomaly=1.1, gamma=0.3).fit(X[:-1]).partial_fit(X[-1:])
    deep = np.argmax(model.score_samples(X))
    model.relabel(deep)
    anomaly[deep] = True
    assert model.history_[-1]["operation"] == "solve"
    judge(model, X, anomaly)
    model.forget(deep)
    judge(model, np.delete(X, deep, 0), np.delete(anomaly, deep))


def test_a_limit_on_steps_is_for_the_path(rng):
    X = rng.normal(size=(300, 3))
    model = SVDD(C=0.3, C_anomaly=1.1, gamma=0.3, max_steps=10_000).fit(X)
    deep = np.argmax(model.score_samples(X))
    model.relabel(deep)
    assert model.history_[-1]["operation"] != "solve"
    judge(model, X, np.arange(300) == deep)


def test_ctrl_c_in_a_solution_afresh_leaves_a_model(rng, monkeypatch):
    from fewlabels.base import retrain

    X = rng.normal(size=(700, 3))
    model = SVDD(C=0.3, C_anomaly=1.1, gamma=0.3).fit(X)
    deep, real = int(np.argmax(model.score_samples(X))), retrain.solve_decomposition

    def interrupted(*args, **kwargs):
        return replace(real(*args, **kwargs), status=Status.INTERRUPTED)

    monkeypatch.setattr(retrain, "solve_decomposition", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.relabel(deep)
    assert not model.is_caught_up_ and np.isfinite(model.decision_function(X)).all()
    monkeypatch.undo()
    model.resume()
    judge(model, X, np.arange(700) == deep)


def test_only_inner_products_are_solved_afresh(rng):
    gram = make_gram(Sigmoid(gamma=0.3, coef0=0.5), rng.normal(size=(60, 3)), dtype=np.float64)
    penalty = Penalty.kinked(0.0, 0.5, 1.0, 0.0, 0.0, 60)
    problem = DualProblem(gram, penalty, total=5.0)
    assert solve_near_start(problem, np.zeros(60), None, None, ENDLESS, 1e6) is None


def test_a_relabelling_that_leaves_no_ball_is_refused(rng):
    X = rng.normal(size=(4, 2))
    model = SVDD(C=0.3, slack="linear").fit(X)
    with pytest.raises(ValueError, match="has no solution for rows"):
        model.relabel([0, 1])
    model.relabel([])
    assert model.training_rows_.label is None or np.all(model.training_rows_.label == 1)


def test_a_precomputed_kernel_cannot_be_relabelled(rng):
    X, anomaly = rows(rng, 30)
    K = kernel_matrix(("rbf", 0.3), X)
    model = SVDD(kernel="precomputed").fit(K, anomalies=anomaly)
    with pytest.raises(ValueError, match="can't be updated"):
        model.relabel(0)


@pytest.mark.parametrize("name", MODELS)
def test_one_normal_row_is_enough(name):
    X, anomaly = np.array([[0.0, 1.0], [0.3, 1.0], [0.3, 1.0]]), np.array([False, True, True])
    model = MODELS[name](gamma=1.0)
    model.set_params(**({"C": 1.5} if name == "linear-C" else {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for given, marks in ((X, anomaly), (X[:1], None), (X[:2], anomaly[:2])):
            model.fit(given, anomalies=marks)
            scores = model.score_samples(X)
            assert np.all(np.isfinite(scores)) and scores[0] >= scores[1]


@pytest.mark.parametrize("scale", [1e-120, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("name", MODELS)
def test_extreme_scales(rng, name, scale):
    X, anomaly = rows(rng, 50)
    X = np.column_stack([X, np.full(50, 7.0)])  # and a constant column
    one = MODELS[name](gamma="scale").fit(X, anomalies=anomaly)
    other = MODELS[name](gamma="scale").fit(scale * X, anomalies=anomaly)
    assert np.allclose(one.decision_function(X), other.decision_function(scale * X), atol=1e-5)


def test_huge_and_tiny_prices(rng):
    X, anomaly = rows(rng, 60)
    for price in (1e-12, 1e-3, 1e6, 1e12):
        for model in (SVDD(C_anomaly=price), OneClassSVM(nu=0.2, C_anomaly=price)):
            model.fit(X, anomalies=anomaly)
            assert model.fit_status_ == 0 and np.all(np.isfinite(model.decision_function(X)))


def test_constant_rows(rng):
    X, anomaly = np.full((12, 3), 2.5), np.arange(12) < 4
    for name in MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = MODELS[name](gamma=1.0).fit(X, anomalies=anomaly)
            model.relabel([0, 5], [False, True])
        assert np.allclose(model.score_samples(X), model.score_samples(X)[0])


# -- saving, exporting, elsewhere ------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_pickles_and_copies_go_on(rng, name):
    X, anomaly = rows(rng, 60)
    model = MODELS[name](gamma=0.3, target_fpr=0.1).fit(X, anomalies=anomaly)
    other = pickle.loads(pickle.dumps(model))
    assert np.array_equal(other.p_values(X), model.p_values(X))
    for one in (model, other):
        one.relabel(np.flatnonzero(anomaly)[0], False)
        one.forget([3])
    assert np.allclose(other.decision_function(X), model.decision_function(X), atol=1e-9)
    frozen = model.snapshot()
    model.relabel(5)
    assert not np.allclose(frozen.decision_function(X), model.decision_function(X), atol=1e-9)
    model.release_rows()
    with pytest.raises(ValueError, match="doesn't store its training rows"):
        model.relabel(5)


def test_onnx_and_explanations(rng):
    ort = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from fewlabels.inspection import explain
    from fewlabels.onnx import to_onnx

    X, anomaly = rows(rng, 80)
    for model in (
        SVDD(gamma=0.3, target_fpr=0.1), OneClassSVM(nu=0.1, gamma=0.3), SVDD(kernel="linear")
    ):  # fmt: skip
        model.fit(X, anomalies=anomaly)
        graph = to_onnx(model)
        session = ort.InferenceSession(graph.SerializeToString())
        new = rng.normal(size=(40, 3)) * 3
        found = session.run(None, {session.get_inputs()[0].name: new})
        clear = np.abs(model.decision_function(new)) > 1e-4
        assert np.array_equal(np.ravel(found[0])[clear], model.predict(new)[clear])
        explanation = explain(model, new[:3])
        assert np.all(np.isfinite(explanation.values))


def test_mapped_rows_beyond_memory_refuse_anomalies(rng, tmp_path):
    np.save(tmp_path / "rows.npy", rng.normal(size=(40_000, 10)))
    X = np.load(tmp_path / "rows.npy", mmap_mode="r")
    mask = np.arange(40_000) < 3
    with pytest.raises(ValueError, match="don't take confirmed anomalies"):
        SVDD(cache_size=1).fit(X, anomalies=mask)


def test_bags_refuse_anomalies(rng):
    X, anomaly = rows(rng, 40)
    fitted = SVDDEnsemble().fit(X)
    for call in (SVDDEnsemble().fit, SVDDEnsemble().partial_fit, fitted.partial_fit):
        with pytest.raises(ValueError, match="drop these rows from X"):
            call(X, anomalies=anomaly)
    assert not hasattr(fitted, "relabel")


def test_arrays_of_other_libraries_refuse_anomalies(rng):
    torch = pytest.importorskip("torch")
    from sklearn import config_context

    X = torch.asarray(rng.normal(size=(50, 3)))
    with config_context(array_api_dispatch=True):
        with pytest.raises(ValueError, match="don't take confirmed anomalies"):
            OneClassSVM().fit(X, anomalies=np.arange(50) < 3)
