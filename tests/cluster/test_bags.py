"""Bags that the workers of a cluster train."""

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels import PUEnsemble, SVDDEnsemble
from fewlabels._util.threads import run_in_order

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


def test_balls_of_one_class_are_the_same_to_the_last_bit(client):
    sparse = sp.csr_array(np.where(X > 0.0, X, 0.0))
    matrix = rbf_kernel(X)
    for rows, kernel in ((X, "rbf"), (sparse, "linear"), (matrix, "precomputed")):
        heard = []
        machine = SVDDEnsemble(n_bags=6, bag_size=64, kernel=kernel)
        here = machine.fit(rows)
        with joblib.parallel_config("dask"):
            there = clone(machine).fit(rows, callback=heard.append)
        assert np.array_equal(there.score_samples(rows), here.score_samples(rows))
        assert np.array_equal(there.calibration_scores_, here.calibration_scores_)
        assert [entry["round"] for entry in heard] == [1, 2, 3, 4, 5, 6]
        assert there.n_iter_ == here.n_iter_ and there.offset_ == here.offset_


def test_bags_end_early(client):
    with joblib.parallel_config("dask"):
        with pytest.warns(match="the time limit was reached.* after 1 of 3 bags") as told:
            machine = SVDDEnsemble(n_bags=3, max_time=1e-9).fit(X)
        assert len(machine.bags_) == 1
        with pytest.warns(match="after 2 of 5 bags") as more:
            SVDDEnsemble(n_bags=5).fit(X, callback=lambda entry: entry["round"] == 2)
        assert len(told) == len(more) == 1
        # Another fit has no more to do with what was given up.
        assert len(SVDDEnsemble(n_bags=5).fit(X).bags_) == 5
