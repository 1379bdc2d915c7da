"""Rows in a file give the machine of rows in memory."""

import numpy as np
import pytest
from sklearn.base import clone

from fewlabels import SVDD, OneClassSVM
from fewlabels.estimators.elsewhere import places as elsewhere

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

    class Parts(elsewhere.FilePlace):
        def __init__(self, file, weight=None, marks=None, **options):
            super().__init__(file, weight, marks, **{**options, "n_parts": n_parts})
            self.rows_of_a_piece = 256
            made.append(self)

    monkeypatch.setattr(elsewhere, "FilePlace", Parts)
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
    assert np.allclose(here.dual_coef_, there.dual_coef_, rtol=1e-4, atol=1e-7)
    assert np.allclose(here.decision_function(X), there.decision_function(X), atol=1e-5)
    assert here.shape_fit_ == there.shape_fit_ and here.gamma_ == pytest.approx(there.gamma_)


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch):
    """Files of these tests are few bytes: any is more than a machine may hold."""
    monkeypatch.setattr(elsewhere, "may_hold", lambda machine, file: False)


@pytest.mark.parametrize("n_parts", [1, 3, 7])
@pytest.mark.parametrize("name", MACHINES)
def test_the_same_machine(name, n_parts, rows, stored, monkeypatch):
    places = in_parts(monkeypatch, n_parts)
    here, there = both(
        MACHINES[name], rows + (name == "linear"), stored(rows + (name == "linear"))
    )
    assert len(places[0].parts) == n_parts
    assert_equal(here, there, rows)
