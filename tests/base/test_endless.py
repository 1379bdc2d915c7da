"""Nothing goes on for ever: what is beyond sense is refused, rounds without progress end."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels.solvers.engine.engine import RoundProgress

MACHINES = {
    "svdd": (SVDD(), None),
    "svdd, linear": (SVDD(slack="linear", nu=0.1), None),
    "one-class": (OneClassSVM(nu=0.1), None),
    "pu": (PUSVM(prior=0.3), (np.arange(60) < 20).astype(int)),
    "pu-ensemble": (PUEnsemble(prior=0.3, n_bags=2), (np.arange(60) < 20).astype(int)),
    "s3vm": (S3VM(), np.where(np.arange(60) < 6, np.arange(60) % 2, -1)),
    "s3vm, path": (S3VM(solver="path"), np.where(np.arange(60) < 6, np.arange(60) % 2, -1)),
}


@pytest.mark.parametrize("name", MACHINES)
def test_weights_beyond_sense_are_refused(name, rng):
    machine, y = MACHINES[name]
    X, weight = rng.normal(size=(60, 3)), np.ones(60)
    weight[3] = 1e300
    with pytest.raises(ValueError, match="sample_weight goes from 1 to 1e"):
        machine.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("solver", ["cccp", "path", "branch-and-bound"])
@pytest.mark.parametrize("costs", [{"C": 1e100}, {"C": 1e300}, {"C_star": 1e300}])
def test_costs_beyond_sense_are_refused(solver, costs, rng):
    X, y = rng.normal(size=(60, 3)), MACHINES["s3vm"][1]
    with pytest.raises(ValueError, match="costs times weights reach"):
        S3VM(solver=solver, **costs).fit(X, y)
    with pytest.raises(ValueError, match="costs times weights reach"):
        S3VM().fit(X, y).reprice(**costs)
    with pytest.raises(ValueError, match="costs times weights reach"):
        PUSVM(prior=0.3, lam=1e-100).fit(X, MACHINES["pu"][1])


@pytest.mark.parametrize("size", [1e12, 1e20, 1e29])
def test_large_ones_are_answered(size, rng):
    X, weight = rng.normal(size=(60, 3)), np.ones(60)
    weight[3] = size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # or else a warning
        for name in ("svdd", "one-class", "pu", "s3vm"):
            machine, y = MACHINES[name]
            machine = machine.fit(X, y, sample_weight=weight)
            assert np.all(np.isfinite(machine.decision_function(X)))
        for costs in ({"C": size}, {"C_star": size}):
            machine = S3VM(**costs).fit(X, MACHINES["s3vm"][1])
            assert np.all(np.isfinite(machine.decision_function(X)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", [1100, 2100])
def test_a_flat_problem_with_rounded_entries_ends(n, rng):
    """Of low rank, and not quite positive semi-definite: pair steps went on without end."""
    X = rng.normal(size=(n, 3))
    K = (X @ X.T).astype(np.float32)
    machine = OneClassSVM(kernel="precomputed", nu=0.2, tol=1e-6, max_time=300.0).fit(K)
    assert machine.history_[-1]["seconds"] < 250.0
    assert machine.objective_ < 1e-3  # the best value is about zero


def test_rounds_of_many_steps_in_vain_are_few(rng):
    class At:
        reach, objective = 1.0, 1.0

    progress, rounds = RoundProgress(), 0
    while not progress.is_idle(At, 1e-3, 0.0, 50_000):
        At.objective -= 1e-7  # always a little
        rounds += 1
    assert rounds < 20
    # Where the violation falls, or the objective by as much as it promises, they are not in vain.
    for fall, factor in ((1e-7, 0.85), (1e-4, 1.0)):
        progress, violation = RoundProgress(), 1.0 if factor < 1.0 else 1e-3
        for _ in range(60):
            At.objective -= fall
            violation *= factor
            assert not progress.is_idle(At, violation, 0.0, 50_000)


def test_slow_progress_without_rounding_is_no_end(rng):
    class At:
        reach, objective = 1000.0, 1.0

    # An S3VM of 20 000 rows took 151 rounds of few steps for a tenth of its violation of 5e-3.
    for noise, most in ((1e-12, 600), (1e-7, 200)):
        progress, rounds = RoundProgress(), 0
        while not progress.is_idle(At, 5e-3, noise, 50):
            At.objective -= 1e-5
            rounds += 1
        assert most / 2 < rounds <= most


def test_a_fall_long_ago_is_no_progress_now(rng):
    class At:
        reach, objective = 40.0, 1e14

    progress, rounds = RoundProgress(), 0
    assert not progress.is_idle(At, 1e11, 0.0, 50_000)
    At.objective = 0.0  # far below, where the violation is larger: values of a polynomial kernel
    while not progress.is_idle(At, 3e11, 0.0, 50_000):
        At.objective -= 600.0
        rounds += 1
        assert rounds < 60
