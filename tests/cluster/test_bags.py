"""Bags that the workers of a cluster train."""

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import PUEnsemble
from fewlabels._threads import run_in_order

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = (X[:, 0] > 0.3) & (RNG.random(400) < 0.4)


def where():
    from distributed import get_worker

    return get_worker().address


def test_workers_are_asked_where_a_backend_is_chosen(client):
    with joblib.parallel_config("dask"):
        assert set(run_in_order([where] * 4)) <= set(client.nthreads())


def test_an_ensemble_is_the_same_to_the_last_bit(client):
    for rows, kernel in ((X, "rbf"), (sp.csr_array(np.where(X > 0.0, X, 0.0)), "linear")):
        machine = PUEnsemble(prior=0.3, n_bags=4, kernel=kernel)
        here = machine.fit(rows, Y).decision_function(rows)
        with joblib.parallel_config("dask"):
            there = PUEnsemble(prior=0.3, n_bags=4, kernel=kernel).fit(rows, Y)
        assert np.array_equal(there.decision_function(rows), here)
        assert there.n_iter_ == machine.n_iter_


def test_time_that_is_left_travels(client):
    with joblib.parallel_config("dask"), pytest.warns(match="1 of n_bags=3 bags were trained"):
        PUEnsemble(prior=0.3, n_bags=3, max_time=1e-9).fit(X, Y)
