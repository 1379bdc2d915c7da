"""PUSVM.path: the machines of separate fits, for less."""

import pickle

import numpy as np
import pandas as pd
import pytest
from reference import kernel_matrix
from reference.pu import clouds, regularised_risk

from fewlabels import PUSVM
from fewlabels.positive_unlabelled.stream import PUStream


def assert_same_machine(machine, separate, X, atol):
    np.testing.assert_allclose(
        machine.decision_function(X), separate.decision_function(X), atol=atol
    )
    assert machine.objective_ == pytest.approx(separate.objective_, abs=atol)
    assert machine.get_params() == separate.get_params()
    assert set(vars(machine)) == set(vars(separate))
    np.testing.assert_array_equal(machine.classes_, separate.classes_)


@pytest.mark.parametrize("solver", ["decomposition", "usmo", "qp"])
@pytest.mark.parametrize("loss", ["double-hinge", "ramp"])
@pytest.mark.parametrize("lam", [[1.0, 0.1, 0.01], [1e-3, 0.02, 5.0], [0.1, 0.1, 1e-3, 0.1]])
def test_lambdas_in_any_order(solver, loss, lam, rng):
    if (solver, loss) == ("usmo", "ramp"):
        return
    X, y = clouds(rng, 80, 25, 2, distance=1.0)
    machine = PUSVM(0.37, loss=loss, solver=solver, threshold="risk", tol=1e-6)
    path = machine.path(X, y, lam=lam)
    assert [m.lam for m in path] == lam
    for found in path:
        separate = PUSVM(**found.get_params()).fit(X, y)
        assert_same_machine(found, separate, X, 1e-4 if solver == "qp" else 1e-5)


@pytest.mark.parametrize("prior", [[0.1, 0.2, 0.5], [0.6, 0.05], [0.3, 0.3]])
def test_priors_in_any_order(prior, rng):
    X, y = clouds(rng, 80, 6, 2, distance=1.0)
    for found in PUSVM(0.9, threshold="risk", tol=1e-6).path(X, y, prior=prior):
        assert_same_machine(found, PUSVM(**found.get_params()).fit(X, y), X, 1e-5)


def test_both_with_weights_names_and_rows_left_out(rng):
    X, y = clouds(rng, 80, 25, 2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    weight = rng.integers(0, 3, len(y))
    path = PUSVM(tol=1e-7).path(frame, y, lam=[0.1, 0.01], prior=[0.3, 0.45], sample_weight=weight)
    for found in path:
        separate = PUSVM(**found.get_params()).fit(frame, y, sample_weight=weight)
        assert_same_machine(found, separate, frame, 1e-6)
        np.testing.assert_array_equal(found.transduction_, separate.transduction_)
        np.testing.assert_array_equal(found.feature_names_in_, ["a", "b"])


@pytest.mark.filterwarnings("ignore:the class prior is uncertain")
def test_prior_is_estimated_once(rng, monkeypatch):
    from fewlabels.class_prior import prior

    calls = []
    original = prior.estimate_within
    counted = lambda *given, **options: calls.append(1) or original(*given, **options)  # noqa: E731
    monkeypatch.setattr(prior, "estimate_within", counted)
    X, y = clouds(rng, 120, 60)
    path = PUSVM(random_state=3).path(X, y, lam=[0.1, 0.01, 0.001])
    assert len(calls) == 1
    assert len({m.prior_ for m in path}) == len({m.prior_interval_ for m in path}) == 1
    assert path[0].prior_ == PUSVM(random_state=3).fit(X, y).prior_


def counted_kernel(X):
    """RBF values by a callable that counts them."""
    count = [0]

    def kernel(A, B):
        count[0] += len(A) * len(B)
        return kernel_matrix(("rbf", 0.5), A, B)

    return kernel, count


def test_a_warm_path_costs_fewer_kernel_values(rng):
    X, y = clouds(rng, 1500, 100, 2, distance=1.0)
    lam = np.geomspace(0.1, 0.01, 8)
    for settings in ({"lam": lam}, {"prior": np.linspace(0.3, 0.4, 8)}):
        kernel, count = counted_kernel(X)
        machine = PUSVM(0.37, 0.05, kernel=kernel)
        path = machine.path(X, y, **settings)
        together, count[0] = count[0], 0
        for found in path:
            PUSVM(**found.get_params()).fit(X, y)
        assert together < 0.5 * count[0]


def test_the_same_lambda_again_costs_no_step(rng):
    X, y = clouds(rng, 1500, 100, 2, distance=1.0)
    first, *others = PUSVM(0.37).path(X, y, lam=[0.03, 0.03, 0.03 * (1 + 1e-12), 0.03])
    assert first.n_iter_ > 100
    assert [m.n_iter_ for m in others] == [1, 1, 1]


def test_rounding_of_scaled_bounds_costs_no_steps(rng):
    # With no row between breakpoints the solution for one lambda, scaled, is that for the
    # next: only rounding can make it look different.
    X, y = clouds(rng, 1200, 60, 2, distance=1.0)
    path = PUSVM(0.4, gamma=0.3).path(X, y, lam=np.geomspace(50.0, 2.0, 12))
    assert max(m.n_iter_ for m in path[1:]) < 200


def test_long_path_stays_accurate_in_single_precision(rng):
    X, y = clouds(rng, 1500, 100, 3, distance=1.0)
    K = kernel_matrix(("rbf", 0.3), X)
    for found in PUSVM(0.4, gamma=0.3, tol=1e-4).path(X, y, lam=np.geomspace(1.0, 1e-4, 25))[::6]:
        coef = np.zeros(len(y))
        coef[found.support_] = found.dual_coef_[0]
        value = regularised_risk(K, y == 1, coef, found.risk_intercept_, 0.4, found.lam_)
        assert found.objective_ == pytest.approx(value, abs=1e-5)
        assert found.duality_gap_ <= 1e-4


@pytest.mark.parametrize(
    "settings, message",
    [
        ({}, "lam, prior or both"),
        ({"lam": []}, "lam, prior or both"),
        ({"lam": 0.1}, "sequence"),
        ({"prior": 0.1}, "sequence"),
        ({"lam": [0.1, 0.2], "prior": [0.3]}, "equal length"),
        ({"lam": [0.1, -1.0]}, "lam"),
        ({"lam": [0.1, float("nan")]}, "lam"),
        ({"prior": [0.1, 1.0]}, "between 0 and 1"),
        ({"lam": ["large"]}, "large|float|number"),
    ],
)
def test_wrong_settings_before_any_work(settings, message, rng):
    def kernel(A, B):
        raise AssertionError("no kernel value is needed to see this")

    X, y = clouds(rng, 30, 8)
    with pytest.raises(ValueError, match=message):
        PUSVM(0.4, kernel=kernel).path(X, y, **settings)


def test_path_leaves_the_machine_alone(rng):
    X, y = clouds(rng, 40, 10)
    machine = PUSVM(0.4)
    before = machine.get_params()
    machine.path(X, y, lam=[0.1, 0.2])
    assert machine.get_params() == before and not hasattr(machine, "support_")


@pytest.mark.parametrize("operation", ["partial_fit", "forget"])
@pytest.mark.parametrize("method", ["_set_sums", "_add_to_sums"])
def test_ctrl_c_between_rows_and_their_sums(operation, method, monkeypatch, rng):
    X, y = rng.normal(size=(40, 2)), np.tile([1, 0, 0, 0], 10)
    machine = PUSVM(prior=0.4, gamma=0.5).fit(X[:32], y[:32])
    machine.partial_fit(X[32:36], y[32:36])

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PUStream, method, stop)
        with pytest.raises(KeyboardInterrupt):
            if operation == "partial_fit":
                machine.partial_fit(X[36:], y[36:])
            else:
                machine.forget([0, 1])
    copied = pickle.loads(pickle.dumps(machine))
    kept = slice(2, 36) if operation == "forget" else slice(0, 40)
    twin = PUSVM(prior=0.4, gamma=0.5, tol=1e-9).fit(X[kept], y[kept])
    for one in (machine, copied):
        one.resume()
        assert one.lam_ == pytest.approx(twin.lam_)
        f, g = one.decision_function(X), twin.decision_function(X)
        np.testing.assert_allclose(f, g, atol=1e-5 * np.ptp(g))
