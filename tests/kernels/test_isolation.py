"""The isolation kernel: its definition by brute force, nasty rows, and estimators with it."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels.inspection import explain
from fewlabels.kernels import Isolation, isolation
from fewlabels.kernels.operators import Expansion, make_gram
from fewlabels.kernels.operators.growing.matrices import make_growing
from fewlabels.onnx import to_onnx
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model

FEW = Isolation(n_points=8, n_draws=40)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(200, 4)) + 3.0


def centers_of(kernel):
    centers = kernel.centers.toarray() if sp.issparse(kernel.centers) else kernel.centers
    return centers if kernel.center is None else centers + kernel.center


def brute_force(kernel, X, Z):
    """The share of draws in which rows have the same nearest centre, one draw after the other."""
    total = np.zeros((len(X), len(Z)))
    for draw in kernel.draws:
        searched = NearestNeighbors(n_neighbors=1).fit(centers_of(kernel)[draw])
        x, z = (searched.kneighbors(rows, return_distance=False) for rows in (X, Z))
        total += x == z.T
    return total / len(kernel.draws)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_the_definition(rows, rng, storage, dtype):
    X = rows.astype(dtype)
    new = rng.normal(size=(50, 4)).astype(dtype) * 3.0
    kernel = FEW.with_rows(storage(X))
    expected = brute_force(kernel, new.astype(float), X.astype(float))
    values = kernel.values(storage(new), storage(X))
    np.testing.assert_allclose(values, expected, atol=1e-14)
    assert kernel.draws.shape == (40, 8)
    assert cdist(centers_of(kernel), X.astype(float)).min(axis=1).max() < 1e-6
    gram = make_gram(kernel, storage(X))
    whole = brute_force(kernel, X.astype(float), X.astype(float))
    np.testing.assert_allclose(gram.block(np.arange(200)), whole, atol=1e-14)
    assert gram.is_inner_product and np.linalg.eigvalsh(whole).min() > -1e-9
    coef = rng.normal(size=200)
    np.testing.assert_allclose(gram.product(np.arange(200), coef), whole @ coef, atol=1e-12)
    found = Expansion(kernel, storage(X), coef)(storage(new))
    np.testing.assert_allclose(found, expected @ coef, atol=1e-12)
    growing = make_growing(kernel, storage(X))
    growing.append(storage(X[:150]))
    growing.append(storage(X[150:]))
    growing.keep(np.arange(20, 200))
    out = np.zeros(180)
    growing.apply(np.arange(5), coef[:5], out)
    np.testing.assert_allclose(out, whole[20:, 20:25] @ coef[:5], atol=1e-12)
    np.testing.assert_allclose(growing.block([3], [9, 3]), whole[[23]][:, [29, 23]], atol=1e-14)


def test_ties_go_to_the_first_centre_in_any_batch(rng):
    """On a lattice most rows are equally far from several centres."""
    X = rng.integers(0, 4, size=(300, 3)).astype(float)
    kernel = Isolation(n_points=16, n_draws=50).with_rows(X + 1e3)
    found = kernel.find_nearest(X + 1e3)
    distance = cdist(X, centers_of(kernel) - 1e3, "sqeuclidean").round(6)
    expected = [distance[:, draw].argmin(axis=1) for draw in kernel.draws]
    np.testing.assert_array_equal(found, np.transpose(expected))
    np.testing.assert_array_equal(kernel.find_nearest(X[7:8] + 1e3), found[7:8])


@pytest.fixture
def n_norms(monkeypatch):
    """The numbers of rows whose norms are computed: of centres, of rows and of differences."""
    numbers, squared_norms = [], isolation.squared_norms

    def counted(rows):
        numbers.append(rows.shape[0])
        return squared_norms(rows)

    monkeypatch.setattr(isolation, "squared_norms", counted)
    return numbers


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_near_ties_are_computed_once_for_all_draws(n_norms, storage):
    X = storage(np.eye(60))  # all distances are equal
    kernel = Isolation(n_points=16, n_draws=50).with_rows(X)
    kernel.find_nearest(X)
    assert 60 + 60 < sum(n_norms) <= 60 + 60 + 60 * 60


def test_wide_rows_need_no_differences(rng, n_norms):
    """Products in float32 leave most nearest centres open, and products in float64 none."""
    X = rng.normal(size=(60, 5000))
    kernel = Isolation(n_points=16, n_draws=50).with_rows(X)
    found = kernel.find_nearest(X)
    assert sum(n_norms) == 60 + 60
    distance = cdist(X, centers_of(kernel))
    expected = [distance[:, draw].argmin(axis=1) for draw in kernel.draws]
    np.testing.assert_array_equal(found, np.transpose(expected))


def test_nasty_rows(rng):
    for n in (1, 2, 3):
        X = rng.normal(size=(n, 2))
        kernel = Isolation().with_rows(X)
        assert kernel.draws.shape == (200, (n + 1) // 2)
        assert kernel.values(X, X).shape == (n, n)
    same = np.ones((50, 2))
    np.testing.assert_array_equal(FEW.with_rows(same).values(same, same + 1.0), 1.0)
    X = np.c_[rng.normal(size=60), np.zeros(60)]
    far = np.array([[1e30, 0.0], [1e200, -1e200], [-1e308, 0.0]])
    values = FEW.with_rows(X).values(np.r_[X, far], X)
    assert np.all((values >= 0.0) & (values <= 1.0))
    assert np.all(np.isfinite(FEW.with_rows(np.r_[X, far]).values(X, X)))


def test_draws_follow_from_values(rows, rng):
    order, weight = rng.permutation(200), rng.integers(1, 4, 200)
    kernel = FEW.with_rows(rows)
    np.testing.assert_allclose(
        FEW.with_rows(rows[order]).values(rows, rows), kernel.values(rows, rows), atol=1e-14
    )
    weighted = FEW.with_rows(rows, weight).values(rows, rows)
    repeated = FEW.with_rows(np.repeat(rows, weight, axis=0)).values(rows, rows)
    np.testing.assert_allclose(weighted, repeated, atol=1e-14)
    other = FEW.with_rows(rows, random_state=1).values(rows, rows)
    assert np.abs(other - kernel.values(rows, rows)).max() > 0.1
    own = Isolation(8, 40, random_state=1).with_rows(rows, random_state=5).values(rows, rows)
    np.testing.assert_allclose(own, other, atol=1e-14)


def labels_of(machine, X):
    if isinstance(machine, SVDD | OneClassSVM):
        return ()
    y = (X[:, 0] > X[:, 0].mean()).astype(int)
    y[40:] = -1 if isinstance(machine, S3VM) else 0
    return (y,)


MACHINES = [
    OneClassSVM(nu=0.1, tol=1e-9), SVDD(slack="linear", nu=0.1, tol=1e-9),
    PUSVM(prior=0.4, lam=0.01, tol=1e-9), PUEnsemble(prior=0.4, n_bags=3), S3VM(),
]  # fmt: skip
NAMES = {"OneClassSVM": "one-class", "PUEnsemble": "pu-ensemble"}


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_estimators_take_it(rows, machine, tmp_path):
    machine = clone(machine).set_params(kernel=FEW)
    y = labels_of(machine, rows)
    machine.fit(rows, *y)
    decision = machine.decision_function(rows)
    plain = clone(machine).set_params(kernel="isolation").fit(rows, *y)
    assert len(plain.function_.kernels[0].draws) == 200
    back = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(back.decision_function(rows), decision)
    with pytest.raises(AttributeError):
        machine.coef_  # noqa: B018
    told = explain(machine, rows[:2], background=rows[:10], n_samples=20)
    np.testing.assert_allclose(
        told.contributions.sum(axis=1), told.decision - told.base, atol=1e-9
    )
    name = type(machine).__name__
    metadata = describe_model(NAMES.get(name, name.lower()), {}, Schema("dense", 4), {})
    pipeline = make_pipeline(StandardScaler(with_mean=False).fit([[-1.0] * 4, [1.0] * 4]), machine)
    save_model(tmp_path / "m", pipeline, metadata)
    loaded = load_model(tmp_path / "m")[0][-1]
    np.testing.assert_array_equal(loaded.decision_function(rows), decision)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(machine).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    answers = dict(
        zip(names, session.run(None, {session.get_inputs()[0].name: rows}), strict=True)
    )
    scores = [a for a in answers.values() if a.dtype == np.float64 and a.ravel().shape == (200,)]
    assert any(np.allclose(a.ravel(), decision, atol=1e-6) for a in scores), names


@pytest.mark.parametrize("machine", MACHINES[:3], ids=lambda machine: type(machine).__name__)
def test_updates_follow_the_problem_of_the_frozen_kernel(rows, machine):
    machine = clone(machine).set_params(kernel=FEW)
    (y,) = labels_of(machine, rows) or (None,)
    machine.fit(rows[:150], *(() if y is None else (y[:150],)))
    kernel = machine.function_.kernels[0]
    machine.partial_fit(rows[150:], *(() if y is None else (y[150:],))).forget([3, 44])
    kept = np.delete(np.arange(200), [3, 44])
    anew = clone(machine).set_params(kernel=kernel)
    anew.fit(rows[kept], *(() if y is None else (y[kept],)))
    np.testing.assert_allclose(
        machine.decision_function(rows), anew.decision_function(rows), atol=1e-5
    )


def test_error_rates_need_rows_that_are_held_out(rows):
    with pytest.raises(ValueError, match="kernel that depends on all rows"):
        SVDD(kernel=FEW, target_fpr=0.1, calibration="leave-one-out").fit(rows)
    machine = SVDD(kernel=FEW, target_fpr=0.1).fit(rows)
    assert 0 < len(machine.calibration_scores_) < 200


def test_parameters_that_are_refused(rows):
    with pytest.raises(ValueError, match="'n_points' parameter of Isolation"):
        SVDD(kernel=Isolation(n_points=0)).fit(rows)
    with pytest.raises(ValueError, match="at least one non-zero"):
        Isolation().with_rows(rows, np.zeros(200))
