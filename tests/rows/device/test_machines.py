"""Rows of the array API give the machine of NumPy's, where they are."""

import pickle
import re
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble
from fewlabels.kernels import RBF, Map

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
PU = {
    "kinks": PUSVM(prior=0.4, tol=1e-7),
    "risk": PUSVM(prior=0.4, threshold="risk", tol=1e-7),
    "linear": PUSVM(prior=0.4, kernel="linear", tol=1e-7),
}


@pytest.fixture
def rows(rng):
    # Enough for a start on a sample.
    return rng.normal(3.0, [1.0, 2.0, 0.5], size=(3200, 3))


@pytest.fixture
def labelled(rng):
    X = np.concatenate([rng.normal(1, 1, (2000, 4)), rng.normal(-1, 1, (2000, 4))])
    return X, np.r_[np.ones(300), np.zeros(3700)]


def assert_equal(here, there, X, library, at=1e-9):
    local = there.to_local()
    scale = abs(here.objective_)
    assert abs(local.objective_ - here.objective_) <= at * scale
    assert -1e-12 * scale <= local.duality_gap_ <= 1e-6 * scale  # to rounding
    assert np.array_equal(library.back(there.support_), here.support_)
    coef = library.back(there.dual_coef_)
    assert np.allclose(coef, here.dual_coef_, atol=1e-4 * abs(here.dual_coef_).max())
    found = library.back(there.decision_function(library.there(X)))
    wanted = here.decision_function(X)
    # Of more than a thousand rows kernel values are float32.
    noise = 5e-7 * max(1.0, np.abs(coef).sum(), np.abs(wanted).max())
    assert np.abs(found - wanted).max() <= 10.0 * noise
    assert np.abs(found - local.decision_function(X)).max() <= noise


@pytest.mark.parametrize("name", MACHINES)
def test_one_class(name, rows, library):
    here = clone(MACHINES[name]).fit(rows)
    there = clone(MACHINES[name]).fit(library.there(rows))
    assert_equal(here, there, rows, library)
    predicted = library.back(there.predict(library.there(rows)))
    assert np.mean(predicted != here.predict(rows)) < 0.01 and set(predicted) == {-1, 1}
    assert not there.holds_rows_
    entry = there.history_[-1]
    assert entry["passes"] > 0 and entry["bytes_moved"] > 0


@pytest.mark.parametrize(
    ("name", "is_weighted"), [("kinks", False), ("kinks", True), ("risk", True), ("linear", True)]
)
def test_positive_unlabelled(name, is_weighted, labelled, rng, library):
    X, y = labelled
    weight = rng.uniform(0.5, 2.0, len(X)) * (np.arange(len(X)) % 7 > 0) if is_weighted else None
    here = clone(PU[name]).fit(X, y, weight)
    moved = None if weight is None else library.there(weight)
    there = clone(PU[name]).fit(library.there(X), library.there(y), moved)
    assert_equal(here, there, X, library)
    assert np.array_equal(library.back(there.predict(library.there(X))), here.predict(X))


@pytest.mark.filterwarnings("ignore:the class prior is uncertain")
def test_a_prior_that_is_estimated(labelled, library):
    X, y = (values[::6] for values in labelled)
    here = PUSVM(tol=1e-7).fit(X, y)
    there = PUSVM(tol=1e-7).fit(library.there(X), library.there(y))
    assert there.prior_ == here.prior_
    assert_equal(here, there, X, library)


def test_classes_with_names_are_predicted_in_numpy(labelled, library):
    X, y = labelled
    names = np.where(y > 0, "yes", "no")
    machine = PUSVM(prior=0.4, pos_label="yes").fit(library.there(X), names)
    assert set(machine.predict(library.there(X))) == {"yes", "no"}


@pytest.mark.parametrize("machine", [SVDD(tol=1e-7), SVDD(slack="linear", nu=0.05, tol=1e-7)])
def test_weights_and_a_rate(machine, rows, rng, library):
    weight = rng.uniform(0.5, 2.0, len(rows)) * (np.arange(len(rows)) % 7 > 0)
    here = clone(machine).fit(rows, sample_weight=weight)
    there = clone(machine).fit(library.there(rows), sample_weight=library.there(weight))
    assert_equal(here, there, rows, library)
    machine = clone(machine).set_params(target_fpr=0.05, calibration="split")
    here, there = clone(machine).fit(rows), clone(machine).fit(library.there(rows))
    assert_equal(here, there, rows, library)
    found = library.back(there.p_values(library.there(rows)))
    assert np.abs(found - here.p_values(rows)).max() <= 1.5 / len(here.calibration_scores_)


def test_float32_rows_stay_so(rows, library):
    X = rows.astype(np.float32)
    here, there = SVDD().fit(X), SVDD().fit(library.there(X))
    assert_equal(here, there, X, library, at=1e-5)
    assert library.back(there.support_vectors_).dtype == np.float32
    assert library.back(there.decision_function(library.there(X))).dtype == np.float64


def test_rows_far_away_keep_their_order(rows, library):
    machine = SVDD(gamma=0.5).fit(rows)
    far = np.array([[0.0, 0.0, 0.0], [50.0, 0.0, 0.0], [500.0, 0, 0], [1e9, 0, 0], [1e30, 0, 0]])
    found = library.back(machine.score_samples(library.there(far)))
    assert np.allclose(found, machine.score_samples(far), rtol=1e-9)
    assert np.all(np.diff(found) < 0)


def test_outliers_in_training(rows, library):
    X = rows.copy()
    X[:2] = [[1e6, 0.0, 0.0], [0.0, -1e8, 0.0]]
    here = SVDD(gamma=0.5, tol=1e-6).fit(X)
    there = SVDD(gamma=0.5, tol=1e-6).fit(library.there(X))

    def objective(machine):
        # Far rows leave few digits to kernel values, in memory too: by the definition.
        a, vectors = machine.dual_coef_.ravel(), X[machine.support_]
        kernel = np.exp(-0.5 * cdist(vectors, vectors, "sqeuclidean"))
        return float(a @ kernel @ a + a @ a / (4.0 * machine.C)) - 1.0

    local = there.to_local()
    assert np.array_equal(local.support_, here.support_)
    assert objective(local) == pytest.approx(objective(here), rel=1e-9)
    assert local.objective_ == pytest.approx(objective(local), rel=1e-7)


def test_equal_rows_and_few_rows(library):
    for X in (np.repeat([[0.0, 1.0], [2.0, 3.0], [1.0, 1.0]], 40, axis=0), np.eye(3)):
        here, there = SVDD(tol=1e-8).fit(X), SVDD(tol=1e-8).fit(library.there(X))
        local = there.to_local()
        assert local.objective_ == pytest.approx(here.objective_, rel=1e-9)
        assert np.allclose(local.score_samples(X), here.score_samples(X), atol=1e-7)


def test_attributes_are_where_the_rows_are(rows, library):
    machine = OneClassSVM(nu=0.05, kernel="linear").fit(library.there(rows))
    names = ("support_", "support_vectors_", "dual_coef_", "coef_", "intercept_", "offset_")
    shown = {name: library.back(getattr(machine, name)) for name in names}
    local = machine.to_local()
    assert all(np.array_equal(value, getattr(local, name)) for name, value in shown.items())
    # What is kept of a machine needs no other library.
    assert isinstance(pickle.loads(pickle.dumps(machine)).support_, np.ndarray)
    with sklearn.config_context(array_api_dispatch=False):
        stored = skops.io.dumps(machine)
        loaded = skops.io.loads(stored, trusted=skops.io.get_untrusted_types(data=stored))
        assert np.array_equal(loaded.predict(rows), local.predict(rows))
    # A fit to rows of NumPy gives attributes of NumPy again.
    assert isinstance(machine.fit(rows).support_, np.ndarray)


@pytest.mark.filterwarnings("ignore:invalid value encountered in divide")
def test_a_pipeline_and_rows_of_other_kinds(rows, library):
    X = library.there(rows)
    objective = SVDD().fit(X).objective_
    pipeline = make_pipeline(StandardScaler(), OneClassSVM(nu=0.05)).fit(X)
    assert set(library.back(pipeline.predict(X))) == {-1, 1}
    # Rows with names are NumPy's, and the machine scores either.
    frame = SVDD().fit(pd.DataFrame(rows, columns=list("abc")))
    assert isinstance(frame.support_, np.ndarray) and len(library.back(frame.predict(X)))
    assert not hasattr(frame.fit(X), "feature_names_in_")
    if library.name == "torch":  # gradients have no part in it
        machine = SVDD().fit(X.requires_grad_())
        assert machine.objective_ == objective and not machine.score_samples(X).requires_grad
    whole = SVDD().fit(library.there(np.round(10 * rows).astype(int)))
    assert library.back(whole.support_vectors_).dtype == np.float64


def test_what_is_not_installed_is_named(rows, library, monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'fewlabels[array-api]'")):
        SVDD().fit(library.there(rows))


def test_without_dispatch_arrays_are_converted_as_ever(rows):
    torch = pytest.importorskip("torch")
    machine = SVDD().fit(torch.from_numpy(rows))
    assert isinstance(machine.support_, np.ndarray) and machine.holds_rows_
    assert isinstance(machine.predict(torch.from_numpy(rows)), np.ndarray)


def test_what_cannot_be_done_is_refused_in_a_sentence(rows, labelled, library):
    X, (L, y) = library.there(rows), labelled
    L = library.there(L)
    for machine, arguments, message in [
        (SVDD(kernel="sigmoid"), (X,), "rows of the array API take kernel='rbf', 'poly' or"),
        (SVDD(solver="qp"), (X,), "solver='qp' needs NumPy rows; solver='auto' does not"),
        (
            SVDD(target_fpr=0.05, calibration="leave-one-out"),
            (X,),
            "calibration='leave-one-out' needs NumPy rows; calibration='split' does not",
        ),
        (PUSVM(loss="ramp"), (L, y), "loss='ramp' needs NumPy rows"),
        (PUSVM(probability="sigmoid"), (L, y), "probability='sigmoid' needs NumPy rows"),
        (S3VM(), (L, y), "S3VM takes NumPy rows, not rows of"),
        (SVDDEnsemble(), (X,), "SVDDEnsemble takes NumPy rows here, not rows of"),
        (PUEnsemble(), (L, y), "PUEnsemble takes NumPy rows here, not rows of"),
        (SVDD(), (library.there(np.ones(3)),), "X has 1 axes"),
        (SVDD(), (library.there(np.array([[1.0, np.nan]])),), "row 0 (counted from 0) holds nan"),
        (SVDD(), (library.there(np.array([[1.0 + 2j]])),), "Complex data not supported"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            machine.fit(*arguments)
    machine = SVDD().fit(X)
    with pytest.raises(ValueError, match="doesn't store its training rows"):
        machine.partial_fit(X)
    with pytest.raises(ValueError, match="is expecting 3 features"):
        machine.predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN or infinity"):
        machine.predict(library.there(np.full((1, 3), np.nan)))
    local = machine.to_local().fit(rows[:500])
    with pytest.raises(ValueError, match="SVDD takes NumPy rows here"):
        local.partial_fit(X)


class OtherMap(RBF):
    """A kernel whose map array libraries do not compute, once it is fitted."""

    name = "other"


def test_a_kernel_with_an_unknown_map_is_refused(rows, strict, monkeypatch):
    machine = SVDD(kernel=OtherMap(0.2)).fit(rows[:200])
    X = strict.asarray(rows[:5])
    found, f = machine.decision_function(X), machine.decision_function(rows[:5])
    assert np.allclose(np.asarray(found), f, atol=1e-6)
    monkeypatch.setattr(OtherMap, "map", 1 + max(Map))
    with pytest.raises(ValueError, match="this SVDD scores NumPy rows only; array API rows need"):
        machine.decision_function(X)


def test_a_device_without_float64_is_refused(strict, rows):
    try:
        X = strict.asarray(rows.astype(np.float32), device=strict.Device("no_float64"))
    except ValueError:
        pytest.skip("this array-api-strict has no such device")
    with pytest.raises(ValueError, match="has no float64, which the solver needs"):
        SVDD().fit(X)
    with pytest.raises(ValueError, match="has no float64"):
        SVDD().fit(rows).predict(X)


def test_a_device_that_rounds_more_than_it_says(strict, rows, monkeypatch):
    from fewlabels.rows.device import values

    def coarse(home, kernel, z):
        if z.dtype == home.float32:  # ten bits are left of a product, as with TF32
            z = strict.round(z * 128.0) / 128.0
        return values_mapped(home, kernel, z)

    values_mapped = values.mapped
    monkeypatch.setattr(values, "mapped", coarse)
    here = SVDD(tol=1e-7).fit(rows)
    there = SVDD(tol=1e-7).fit(strict.asarray(rows)).to_local()
    assert abs(here.objective_ - there.objective_) <= 1e-9 * abs(here.objective_)
    assert np.array_equal(here.support_, there.support_)
