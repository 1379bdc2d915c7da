"""Two threads that fit one estimator: the second waits."""

import threading

import numpy as np
import pytest
from sklearn.base import clone

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble

MACHINES = [SVDD(target_fpr=0.1), OneClassSVM(), PUSVM(0.3), S3VM(), PUEnsemble(0.3, n_bags=2)]


def problem(machine, n, rng):
    X = rng.normal(size=(n, 3))
    X[: n // 3] += 3.0
    if isinstance(machine, S3VM):
        return X, np.r_[[1] * 4, [-1] * (n - 8), [0] * 4]
    return X, (np.arange(n) < n // 6).astype(int)


def run_both(*work):
    errors = []

    def run(one):
        try:
            one()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_the_machine_is_that_of_one_fit(machine, rng):
    both = [problem(machine, n, rng) for n in (60, 300)]
    rows = both[0][0]
    answers = [clone(machine).fit(*data).decision_function(rows) for data in both]
    for _ in range(8):
        run_both(*(lambda data=data: machine.fit(*data) for data in both))
        found = machine.decision_function(rows)
        assert any(np.allclose(found, answer, atol=1e-9) for answer in answers)


def test_every_row_of_two_threads_arrives(rng):
    X = rng.normal(size=(100, 3))
    machine = SVDD().fit(X[:20])
    run_both(
        lambda: [machine.partial_fit(X[i : i + 1]) for i in range(20, 60)],
        lambda: [machine.partial_fit(X[i : i + 1]) for i in range(60, 100)],
    )
    assert machine.shape_fit_ == (100, 3)
    expected = SVDD(gamma=machine.gamma_, tol=1e-6).fit(X).decision_function(X)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-5)
