"""Model files that hold their rows: what is loaded goes on where what was saved stood."""

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model


def _rows(seed=0, n=130, sparse=False):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, 3)) + 1.1 * (2 * truth[:, None] - 1)
    y = np.where(np.arange(n) % 9 == 0, truth, -1)
    y[:6] = truth[:6]
    return (sp.csr_array(np.maximum(X, 0)) if sparse else X), y


def _round_trip(tmp_path, machine, held=True, name="s3vm"):
    schema = Schema("dense", 3)
    metadata = describe_model(name, {}, schema, {"rows_held": held})
    save_model(tmp_path / "m", Pipeline([("model", machine)]), metadata)
    pipeline, _, metadata = load_model(tmp_path / "m")
    assert metadata["format_version"] == 1
    return pipeline[-1]


CASES = [
    {},
    {"balance": False},
    {"balance": 0.1},
    {"balance_update": "paper"},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "gamma": 0.2},
    {"sparse": True},
    {"sparse": True, "kernel": "linear"},
    {"solver": "path"},
    {"dtype": np.float32},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_saved_and_loaded_again_and_again(tmp_path, case):
    case = dict(case)
    X, y = _rows(sparse=case.pop("sparse", False))
    X = X.astype(case.pop("dtype", float))
    through = S3VM(**case).fit(X[:90], y[:90])
    loaded = _round_trip(tmp_path, through)
    np.testing.assert_array_equal(loaded.decision_function(X), through.decision_function(X))
    np.testing.assert_array_equal(loaded.transduction_, through.transduction_)
    assert loaded.history_ == through.history_
    for name in ("n_steps_", "n_flips_", "consolidation_due_", "objective_"):
        assert getattr(loaded, name) == getattr(through, name)

    def step(apply):
        nonlocal loaded
        for machine in (through, loaded):
            apply(machine)
        np.testing.assert_allclose(
            loaded.decision_function(X), through.decision_function(X), atol=1e-10
        )
        assert loaded.objective_ == pytest.approx(through.objective_, rel=1e-11)
        assert loaded.kkt_violation_ < 1e-10
        np.testing.assert_array_equal(loaded.transduction_, through.transduction_)
        assert loaded.consolidation_due_ == through.consolidation_due_
        before = loaded
        loaded = _round_trip(tmp_path, loaded)
        np.testing.assert_array_equal(loaded.decision_function(X), before.decision_function(X))
        differ = loaded.support_vectors_ != before.support_vectors_
        assert not (differ.nnz if sp.issparse(differ) else differ.any())

    step(lambda machine: machine.partial_fit(X[90:91]))
    step(lambda machine: machine.partial_fit(X[91:110], y[91:110]))
    step(lambda machine: machine.relabel([50, 51], [0, 1]))
    step(lambda machine: machine.forget([0, 5, 60]))
    step(lambda machine: machine.partial_fit(X[110:], y[110:]))
    assert loaded.n_steps_ > 0


def test_without_rows(tmp_path):
    X, y = _rows()
    machine = S3VM().fit(X, y).partial_fit(X[:5])
    loaded = _round_trip(tmp_path, machine, held=False)
    np.testing.assert_array_equal(loaded.decision_function(X), machine.decision_function(X))
    assert not loaded.holds_rows_ and loaded.training_rows_ is None
    with pytest.raises(ValueError, match="doesn't store its training rows"):
        loaded.partial_fit(X[:1])
    assert machine.partial_fit(X[:1]).n_steps_ > 0  # the one that was saved is as it was


def test_waiting_for_labels(tmp_path):
    X, y = _rows()
    machine = S3VM(gamma=0.3).partial_fit(X[:40], classes=[0, 1])
    loaded = _round_trip(tmp_path, machine)
    for one in (machine, loaded):
        one.relabel(np.arange(6), y[:6])
    np.testing.assert_allclose(loaded.decision_function(X), machine.decision_function(X))


def test_on_its_way(tmp_path):
    X, y = _rows()
    machine = S3VM(max_steps=1).fit(X, y)
    with pytest.warns(UserWarning, match="stopped after max_steps"):
        machine.relabel(np.arange(60, 90), np.arange(60, 90) % 2 == 0)
    with pytest.raises(ValueError, match=r"call resume\(\) first"):
        _round_trip(tmp_path, machine)


def test_no_row_is_stored_twice_and_nothing_is_pickled(tmp_path):
    X, y = _rows(n=2000)
    X = np.random.default_rng(0).normal(size=(2000, 10)) + X[:, :1]
    machine = S3VM().fit(X, y)
    assert len(machine.support_) > 1500  # most rows, because of the balancing constraint
    _round_trip(tmp_path, machine)
    assert (tmp_path / "m").stat().st_size < 1.3 * X.nbytes
    with zipfile.ZipFile(tmp_path / "m") as archive:
        arrays = [n for n in archive.namelist() if n.endswith(".npy")]
        sizes = sorted(np.load(io.BytesIO(archive.read(n))).nbytes for n in arrays)
        assert not [n for n in archive.namelist() if n.endswith((".pkl", ".pickle", ".joblib"))]
    assert sizes[-1] == X.nbytes > 4 * sizes[-2]


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("svdd", SVDD(nu=0.2, slack="linear")),
        ("one-class", OneClassSVM(nu=0.2)),
        ("pusvm", PUSVM(prior=0.5)),
    ],
)
def test_other_machines_that_can_be_updated(tmp_path, name, machine):
    X, y = _rows()
    labels = [(y[:90] == 1).astype(int)] if name == "pusvm" else []
    machine.fit(X[:90], *labels)
    loaded = _round_trip(tmp_path, machine, name=name)
    new = [np.zeros(40)] if name == "pusvm" else []
    for one in (machine, loaded):
        one.partial_fit(X[90:], *new)
    loaded = _round_trip(tmp_path, loaded, name=name)
    np.testing.assert_allclose(
        loaded.decision_function(X), machine.decision_function(X), atol=1e-9
    )


def test_rows_are_left_out_unless_asked_for(tmp_path):
    X, _ = _rows()
    machine = SVDD().fit(X)
    metadata = describe_model("svdd", {}, Schema("dense", 3), {"rows": len(X)})
    save_model(tmp_path / "m", Pipeline([("model", machine)]), metadata)
    assert machine.holds_rows_ and not load_model(tmp_path / "m")[0][-1].holds_rows_


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_pu_ensemble(tmp_path, kernel):
    X, y = _rows()
    machine = PUEnsemble(prior=0.5, n_bags=3, kernel=kernel).fit(X, y == 1)
    metadata = describe_model("pu-ensemble", {}, Schema("dense", 3), {})
    save_model(tmp_path / "m", Pipeline([("model", machine)]), metadata)
    loaded = load_model(tmp_path / "m")[0][-1]
    np.testing.assert_array_equal(loaded.decision_function(X), machine.decision_function(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), machine.predict_proba(X))
