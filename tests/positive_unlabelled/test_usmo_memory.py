"""PUSVM by USMO holds as many kernel rows as cache_size allows, and finds the same solution."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fewlabels import PUSVM
from fewlabels.solvers.papers import usmo

CACHES = [1e-9, 0.05, 0.3, 200]  # MB; kernel rows of 400 unlabelled rows take 1.28 MB


def rows(n, seed=0):
    """30 labelled positives and n unlabelled rows, a third of them positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 30, 4))
    X[: 30 + n // 3] += 0.8
    return X, np.r_[np.ones(30), np.zeros(n)]


def model(cache, **parameters):
    settings = {"lam": 0.01, "gamma": 0.3, "threshold": "risk", **parameters}
    return PUSVM(0.33, solver="usmo", cache_size=cache, n_jobs=1, **settings)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_the_solution_does_not_depend_on_the_cache(seed, kernel):
    X, y = rows(400, seed)
    models = [model(cache, kernel=kernel, degree=2).fit(X, y) for cache in CACHES]
    last = models[-1]
    for one in models[:-1]:
        if kernel == "linear":  # products are rounded by how many are computed together
            assert abs(one.objective_ - last.objective_) <= one.duality_gap_ + last.duality_gap_
            continue
        assert one.n_iter_ == last.n_iter_
        np.testing.assert_array_equal(one.dual_coef_, last.dual_coef_)
        assert one.intercept_ == last.intercept_
    values = [one.history_[-1]["kernel_values"] for one in models]
    assert kernel == "linear" or values == sorted(values, reverse=True)
    assert values[-1] == 400**2  # every row once, if all are held
    # Without a cache, each scan of all rows evaluates all that aren't between breakpoints.
    n_scans = sum(entry["scan"] == "whole" for entry in models[0].history_)
    assert values[0] > 0.5 * n_scans * 400**2


@pytest.mark.parametrize("cache", CACHES)
def test_as_many_rows_are_held_as_fit_the_cache(monkeypatch, cache):
    n, held = 400, []

    class Rows(usmo._Rows):
        def load(self, samples):
            super().load(samples)
            held.append((len(self.cache.used()), self.stored.rows.nbytes))

    monkeypatch.setattr(usmo, "_Rows", Rows)
    X, y = rows(n)
    model(cache).fit(X, y)
    allowed = min(n, max(4, int(1e6 * cache / (8 * n))))
    most, most_bytes = np.max(held, axis=0)
    assert most <= allowed
    assert most_bytes <= 8 * n * allowed


def test_memory_grows_with_the_rows_and_not_with_their_square():
    peaks = {}
    for n in (500, 1000):
        X, y = rows(n)
        tracemalloc.start()
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model(1e-9, max_iter=200).fit(X, y)
        peaks[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks[1000] < 8 * 1000**2 / 4
    assert peaks[1000] < 2.5 * peaks[500]
