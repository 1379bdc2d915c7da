"""Rows in a file give the machine of rows in memory."""

import pathlib

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM
from fewlabels.base import kernel_estimator
from fewlabels.calibration.left_out_scores import draw_held_out
from fewlabels.kernels import RBF
from fewlabels.kernels.operators import make_gram
from fewlabels.positive_unlabelled import rows as pu_rows
from fewlabels.positive_unlabelled.scores import quantile_cut
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers.decomposition import make_memory_rows

MACHINES = {
    "ball": SVDD(tol=1e-7),
    "ball of C": SVDD(C=0.3, gamma=0.4, tol=1e-7),
    "linear slack": SVDD(slack="linear", nu=0.05, tol=1e-7),
    "linear slack of C": SVDD(slack="linear", C=0.02, tol=1e-7),
    "one class": OneClassSVM(nu=0.05, tol=1e-7),
    "polynomial": OneClassSVM(nu=0.1, kernel="poly", degree=2, coef0=1.0, tol=1e-7),
    "linear": OneClassSVM(nu=0.1, kernel="linear", tol=1e-7),
    "linear ball": SVDD(kernel="linear", tol=1e-7),
}


@pytest.fixture
def stored(tmp_path):
    """A function that puts an array into a file and maps it."""
    count = iter(range(100))

    def store(X, mode="r"):
        path = tmp_path / f"{next(count)}.npy"
        np.save(path, X)
        return np.load(path, mmap_mode=mode)

    return store


@pytest.fixture
def rows(rng):
    return rng.normal(3.0, [1.0, 2.0, 0.5], size=(3000, 3))


def in_parts(monkeypatch, n_parts):
    """Let files have so many parts, read in small pieces; what was made is returned."""
    made = []

    class Parts(kernel_estimator.FileSource):
        def __init__(self, file, weight=None, **options):
            super().__init__(file, weight, **{**options, "n_shards": n_parts})
            self.rows_of_a_piece = 256
            made.append(self)

    monkeypatch.setattr(kernel_estimator, "FileSource", Parts)
    return made


def both(machine, X, mapped, **fit):
    """The machine of rows in memory, and that of rows in a file."""
    other = clone(machine).set_params(cache_size=50.0)
    here = other.fit(X, **fit)
    # The working set's block needs room, whatever the size of the file.
    there = clone(machine).set_params(cache_size=50.0)
    return here, there.fit(mapped, **fit)


def assert_equal(here, there, X, at=1e-9):
    assert not there.holds_rows_
    scale = abs(here.objective_)
    assert abs(there.objective_ - here.objective_) <= at * scale
    assert there.duality_gap_ <= 1e-6 * scale
    assert np.array_equal(here.support_, there.support_)
    difference = abs(here.dual_coef_ - there.dual_coef_).max()
    assert difference <= 1e-4 * abs(here.dual_coef_).max()
    assert np.allclose(here.decision_function(X), there.decision_function(X), atol=1e-5)
    assert here.shape_fit_ == there.shape_fit_ and here.gamma_ == pytest.approx(there.gamma_)


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch):
    """Files of these tests are few bytes: any is more than a machine may hold."""
    monkeypatch.setattr(
        kernel_estimator.KernelEstimator, "_fits_in_cache", lambda model, file: False
    )


@pytest.mark.parametrize("n_parts", [1, 3, 7])
@pytest.mark.parametrize("name", MACHINES)
def test_the_same_machine(name, n_parts, rows, stored, monkeypatch):
    made = in_parts(monkeypatch, n_parts)
    here, there = both(
        MACHINES[name], rows + (name == "linear"), stored(rows + (name == "linear"))
    )
    assert len(made[0].shards) == n_parts
    assert_equal(here, there, rows)


@pytest.mark.parametrize("n_parts", [1, 3, 7])
@pytest.mark.parametrize(
    "machine",
    [
        PUSVM(prior=0.3, tol=1e-7),
        PUSVM(prior=0.3, lam=0.01, threshold="prior", tol=1e-7),
        PUSVM(prior=0.2, kernel="linear", threshold="risk", tol=1e-7),
    ],
    ids=["default", "at the prior", "linear"],
)
def test_positive_and_unlabelled(machine, n_parts, rows, rng, stored, monkeypatch):
    in_parts(monkeypatch, n_parts)
    y = ((rows[:, 0] > 3.5) & (rng.random(len(rows)) < 0.2)).astype(int)
    weight = rng.uniform(0.5, 2.0, len(rows))
    weight[::50] = 0.0
    for fit in ({}, {"sample_weight": weight}):
        here, there = both(machine, rows, stored(rows), y=y, **fit)
        assert_equal(here, there, rows)
        assert np.allclose(here.intercept_, there.intercept_, atol=1e-6)
        assert np.array_equal(here.n_support_, there.n_support_)
        assert there.risk_intercept_ == pytest.approx(here.risk_intercept_, abs=1e-6)
    with pytest.raises(AttributeError, match="predict"):
        _ = there.transduction_


@pytest.mark.parametrize("name", ["ball", "linear slack", "one class"])
def test_weights_and_float32(name, rows, rng, stored, monkeypatch):
    in_parts(monkeypatch, 3)
    weight = rng.uniform(0.5, 2.0, len(rows))
    weight[::50] = 0.0
    X = rows.astype(np.float32)
    # Of float32 rows in memory, gamma="scale" has the digits of float32.
    machine = clone(MACHINES[name]).set_params(gamma=0.2)
    here, there = both(machine, X, stored(X), sample_weight=weight)
    assert_equal(here, there, X)


def test_whole_numbers_are_rows(rng, stored, monkeypatch):
    in_parts(monkeypatch, 2)
    X = rng.integers(-100, 100, (2000, 3)).astype(np.int16)
    here, there = both(SVDD(tol=1e-7), X, stored(X))
    assert_equal(here, there, X)


@pytest.mark.parametrize("offset", [0.0, 2.0**17])
def test_sparse_rows(rng, tmp_path, monkeypatch, offset):
    in_parts(monkeypatch, 3)
    X = sp.random_array((2500, 30), density=0.2, rng=rng, format="csr")
    if offset:  # two columns that are nowhere zero
        far = np.round(rng.normal(offset, 1.0, (2500, 2)) * 2.0**20) / 2.0**20
        X = sp.csr_array(sp.hstack([X, far], format="csr"))
    mapped = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    there = sp.csr_array(tuple(mapped), shape=X.shape)
    linear = SVDD(kernel="linear", tol=1e-7)
    if not offset:
        linear = OneClassSVM(nu=0.1, kernel="linear", tol=1e-7)
    for machine in (SVDD(tol=1e-7), linear):
        made, other = both(machine, X, there)
        assert_equal(made, other, X)
        if offset:
            dense = clone(machine).fit(X.toarray())
            assert other.objective_ == pytest.approx(dense.objective_, rel=1e-9)


def test_rows_held_out_calibrate(rows, stored, monkeypatch):
    in_parts(monkeypatch, 3)
    machine = SVDD(target_fpr=0.1, calibration="split", tol=1e-7)
    here, there = both(machine, rows, stored(rows))
    assert np.allclose(here.calibration_scores_, there.calibration_scores_, atol=1e-6)
    assert np.allclose(here.p_values(rows), there.p_values(rows), atol=2e-3)


@pytest.mark.parametrize("slack", ["squared", "linear"])
@pytest.mark.parametrize("n_parts", [1, 4])
def test_rows_held_out_are_no_rows(rows, stored, monkeypatch, slack, n_parts):
    made = in_parts(monkeypatch, n_parts)
    options = {"slack": slack, "tol": 1e-9, **({"nu": 0.2} if slack == "linear" else {"C": 0.01})}
    machine = SVDD(target_fpr=0.1, calibration="split", random_state=3, **options)
    machine.fit(stored(rows))
    held_out = draw_held_out(len(rows), 0.1, 3)
    kept = np.flatnonzero(~held_out)
    # Numbers are those of all rows, and nothing has a weight.
    assert machine.shape_fit_ == rows.shape and made[0].n == len(kept)
    assert all(shard.weight is None for shard in made[0].shards)
    assert np.array_equal(made[0].numbers(np.arange(len(kept))), kept)
    assert np.array_equal(machine.support_vectors_, rows[machine.support_])
    alone = SVDD(**options).fit(rows[kept])
    assert machine.objective_ == pytest.approx(alone.objective_, rel=1e-7)
    assert np.array_equal(machine.support_, kept[alone.support_])
    # All of them, in pieces and one by one.
    part = made[0].shards[-1]
    whole = np.concatenate([piece for _, piece in part.pieces()])
    numbers = kept[part.first : part.first + part.n]
    assert np.array_equal(whole, rows[numbers])
    assert np.array_equal(part.take([3, 0, part.n - 1, 0]), rows[numbers[[3, 0, -1, 0]]])


@pytest.mark.parametrize("wrong", ["held out", "kept"])
def test_the_row_that_is_no_number_beside_rows_held_out(rows, stored, wrong):
    held_out = draw_held_out(len(rows), 0.1, 3)
    number = int(np.flatnonzero(held_out == (wrong == "held out"))[50])
    rows[number, 1] = np.nan
    machine = SVDD(target_fpr=0.1, calibration="split", random_state=3, cache_size=0.01)
    with pytest.raises(ValueError, match=f"row {number} "):
        machine.fit(stored(rows))


def test_predictions_of_rows_in_a_file(rows, stored, monkeypatch):
    machine, mapped = SVDD().fit(rows), stored(rows)
    in_parts(monkeypatch, 3)
    assert np.array_equal(machine.predict(mapped), machine.predict(rows))
    assert np.allclose(machine.p_values(mapped[:100]), machine.p_values(rows[:100]))


def test_a_part_of_a_file(rows, stored, monkeypatch):
    made = in_parts(monkeypatch, 2)
    mapped = stored(rows)
    here, there = both(SVDD(tol=1e-7), rows[100:2100], mapped[100:2100])
    assert len(made) == 1
    assert_equal(here, there, rows)
    # Columns of a file do not follow each other: they are read whole.
    SVDD().fit(mapped[:, :2])
    assert len(made) == 1


@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
def test_what_needs_rows_in_memory_reads_them(rows, stored, monkeypatch):
    made = in_parts(monkeypatch, 2)
    mapped = stored(rows[:300])
    for machine in (
        OneClassSVM(kernel="sigmoid", gamma=0.1),
        SVDD(kernel=lambda X, Z: X @ Z.T),
        SVDD(target_fpr=0.1, calibration="leave-one-out"),
    ):
        assert machine.fit(mapped).holds_rows_
    assert not made


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e200])
def test_the_row_of_what_is_no_number_is_named(bad, rows, stored, monkeypatch):
    in_parts(monkeypatch, 3)
    rows[1234, 2] = bad
    with pytest.raises(ValueError, match=r"^row 1234 \(counted from 0\) holds "):
        SVDD().fit(stored(rows))


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda path: path.unlink(), "is gone"),
        (lambda path: path.write_bytes(path.read_bytes()[:500]), "has changed"),
    ],
    ids=["gone", "shorter"],
)
def test_a_file_that_changes_under_way(harm, what, rows, stored, monkeypatch):
    made = in_parts(monkeypatch, 3)
    mapped = stored(rows)
    path = pathlib.Path(mapped.filename)
    machine = SVDD(tol=1e-9)

    def callback(entry):
        harm(path)

    with pytest.raises(OSError, match=rf"{path.name} {what} while its rows were used"):
        machine.fit(mapped, callback=callback)
    assert made[0].rows_read > 0 and not hasattr(machine, "support_")


def test_history_says_what_was_read(rows, stored, monkeypatch):
    in_parts(monkeypatch, 3)
    machine = SVDD().fit(stored(rows))
    read = [entry["rows_read"] for entry in machine.history_]
    assert read == sorted(read) and read[0] >= 3 * len(rows)


def test_no_updates(rows, stored):
    machine = SVDD().fit(stored(rows))
    with pytest.raises(ValueError, match="doesn't store its training rows"):
        machine.partial_fit(rows[:2])


@pytest.mark.parametrize("share", [0.001, 0.2, 0.5, 0.9])
def test_cuts_by_narrowing(share, rng, monkeypatch):
    monkeypatch.setattr(pu_rows, "_MAX_ROWS_GATHERED", 50)
    n = 5000
    for g in (rng.normal(size=n), np.round(rng.normal(size=n), 1), np.zeros(n)):
        width = rng.uniform(1.0, 2.0, n)
        penalty = Penalty.linear(0.0, width, 0.0, n)
        gram = make_gram(RBF(1.0), rng.normal(size=(n, 2)))
        rows = make_memory_rows(DualProblem(gram, penalty, 1.0), np.zeros(n), g, parts=3)
        ids, known = np.array([3, 4000]), np.array([0.5, -0.5])
        expected = g.copy()
        expected[ids] = known
        cut = pu_rows.cut_of_rows(rows, ids, known, share, 1e-9)
        assert cut == pytest.approx(quantile_cut(-expected, width, share, 1e-9), abs=1e-12)


@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_semi_supervised(balance, n_classes, rng, stored, monkeypatch):
    in_parts(monkeypatch, 3)
    centers = rng.normal(size=(n_classes, 4)) * 3.0
    side = rng.integers(0, n_classes, 1500)
    X = rng.normal(size=(1500, 4)) + centers[side]
    y = np.where(rng.random(1500) < 0.03, side, -1)
    machine = S3VM(kernel="linear", balance=balance, tol=1e-6)
    here, there = both(machine, X, stored(X), y=y)
    assert np.allclose(here.objective_, there.objective_, rtol=1e-9)
    assert np.allclose(here.coef_, there.coef_, atol=1e-5)
    assert np.allclose(here.intercept_, there.intercept_, atol=1e-5)
    assert np.array_equal(here.predict(X), there.predict(X))
    assert np.array_equal(here.transduction_, there.transduction_)
    assert (there.support_[-1] == -1) == balance and len(there.support_) <= 1501


def test_a_mapped_file_that_is_gone_is_still_mapped(stored, rows, tmp_path):
    mapped = stored(rows[:300])
    for path in tmp_path.iterdir():
        path.unlink()
    machine = OneClassSVM(nu=0.1).fit(mapped)
    assert machine.holds_rows_
    assert machine.objective_ == OneClassSVM(nu=0.1).fit(rows[:300]).objective_
