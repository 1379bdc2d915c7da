"""Rows beyond a kernel's reach: scores keep ranking, and everything agrees about them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from fewlabels import SVDD, OneClassSVM
from fewlabels.base.solution import TAIL
from fewlabels.inspection import explain
from fewlabels.kernels.operators.expansion import extend_tail

MACHINES = [
    SVDD(gamma=4.0),
    SVDD(gamma=4.0, slack="linear", nu=0.1),
    OneClassSVM(gamma=4.0),
    SVDD(gamma=4.0, target_fpr=0.1),
    OneClassSVM(gamma=4.0, target_fpr=0.1, calibration="split"),
]
FAR = np.outer([2.0, 3, 5, 8, 20, 1000, 1e6, 1e100], np.ones(4))


def fitted(machine, n=300, dtype=float):
    X = np.random.default_rng(0).normal(size=(n, 4)).astype(dtype)
    return machine.fit(X), X


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize(("n", "dtype"), [(300, float), (2200, float), (2200, np.float32)])
@pytest.mark.filterwarnings("error", "ignore:(SVDD|OneClassSVM) flags")
def test_scores_fall_however_far_a_row_is(machine, n, dtype):
    machine, _ = fitted(machine.set_params(tol=0.1), n, dtype)
    rows = FAR if dtype is float else FAR[:-1].astype(dtype)
    for scores in (machine.decision_function(rows), machine.score_samples(rows)):
        assert np.all(np.diff(scores) < 0) and np.all(np.isfinite(scores))
    assert np.all(machine.predict(rows) == -1)


def test_only_far_scores_are_moved():
    machine, X = fitted(SVDD(gamma=1.0))
    function = machine.function_
    assert function.tail == TAIL * function.boundary
    rows = np.concatenate([X, np.outer(np.linspace(0, 12, 500), np.ones(4))])
    before, after = replace(function, tail=0.0)(rows), function(rows)
    near = before >= function.tail
    assert near.any() and (~near).any()
    np.testing.assert_array_equal(after[near], before[near])
    vectors, coef = function.vectors, function.coef[0]
    squares = np.square(rows[~near][:, None, :] - vectors[None]).sum(axis=2)
    logs = logsumexp(np.log(coef) - squares, axis=1)
    expected = function.tail * (1.0 + logs - np.log(function.tail))
    np.testing.assert_allclose(after[~near], expected, rtol=1e-9)


def test_the_log_scale_goes_on_with_the_slope_of_the_sums():
    tail = 1e-10
    s = tail * np.array([1.0 - 1e-6, 1.0, 1.0 + 1e-6])
    np.testing.assert_allclose(np.diff(extend_tail(s, tail)), np.diff(s), rtol=1e-5)
    assert extend_tail([0.0, -1e-20, 1.0], tail).tolist() == [-np.inf, -np.inf, 1.0]
    assert extend_tail([0.0], 0.0) == 0.0


def test_sparse_rows_are_as_dense_ones():
    machine, X = fitted(SVDD(gamma=4.0))
    sparse = SVDD(gamma=4.0).fit(sp.csr_array(X))
    rows = FAR[:-1]
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(rows)), machine.decision_function(rows), rtol=1e-9
    )


@pytest.mark.parametrize("calibration", ["leave-one-out", "split"])
def test_p_values_follow_the_ranks(calibration):
    # Rows in the tail calibrate too: a farther row is never called more normal.
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(200, 3)), rng.normal(size=(40, 3)) * 30.0])
    machine = SVDD(gamma=3.0, target_fpr=0.1, calibration=calibration).fit(X)
    rows = np.outer(np.geomspace(0.1, 1e4, 200), np.ones(3))
    p, decision = machine.p_values(rows), machine.decision_function(rows)
    order = np.argsort(decision)
    assert np.all(np.diff(p[order]) >= 0)
    assert np.array_equal(p <= 0.1, decision < 0)
    assert len(np.unique(p)) > 20


def test_a_graph_ranks_as_the_machine_does():
    onnxruntime = pytest.importorskip("onnxruntime")
    from fewlabels.onnx import to_onnx

    for machine in MACHINES:
        machine, _ = fitted(machine)
        for dtype in ("float64", "float32"):
            rows = FAR[:-1].astype(dtype)
            session = onnxruntime.InferenceSession(
                to_onnx(machine, dtype=dtype).SerializeToString()
            )
            names = [output.name for output in session.get_outputs()]
            found = dict(
                zip(names, session.run(None, {session.get_inputs()[0].name: rows}), strict=True)
            )
            scores = np.ravel(found["score_samples"])
            rtol = 1e-10 if dtype == "float64" else 1e-5
            np.testing.assert_allclose(scores, machine.score_samples(rows), rtol=rtol)
            assert np.all(np.diff(scores) < 0)
            if dtype == "float64":
                assert np.all(np.diff(np.ravel(found["score"])) < 0)


def test_explanations_add_up_to_the_score():
    machine, _ = fitted(SVDD(gamma=4.0))
    rows = FAR.copy()
    rows[:, 0] = 0.0
    told = explain(machine, rows)
    np.testing.assert_allclose(
        told.contributions.sum(axis=1), told.decision - told.base, rtol=1e-9
    )
    assert np.all(np.abs(told.contributions[:, 0]) < np.abs(told.contributions[:, 1]))


def test_updates_and_files_keep_the_ranks():
    machine, X = fitted(SVDD(gamma=4.0))
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(FAR), machine.decision_function(FAR))
    machine.partial_fit(X[:5] + 0.1).forget([0, 1])
    assert np.all(np.diff(machine.decision_function(FAR)) < 0)


@pytest.mark.parametrize("kernel", ["poly", "linear"])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_left_of_a_far_row_that_is_forgotten(kernel, seed):
    """Its slope, minus K(x, x), is no size that rounding of other rows is compared with."""
    rng = np.random.default_rng(seed)
    X, far = rng.normal(size=(25, 3)), 1e5 * rng.normal(size=(1, 3))
    model = SVDD(C=0.3, kernel=kernel, degree=2, gamma=0.3, n_jobs=1).fit(X)
    model.partial_fit(far)
    model.forget([25])
    K, a = X @ X.T, np.zeros(25)
    K = (0.3 * K + 1.0) ** 2 if kernel == "poly" else K
    a[model.support_] = np.ravel(model.dual_coef_)
    value = a @ K @ a + a @ a / 1.2 - a @ np.diag(K)
    assert model.objective_ == pytest.approx(value, rel=1e-13)
    assert abs(model.duality_gap_) < 1e-10
    assert a.sum() == pytest.approx(1.0, abs=1e-14)
