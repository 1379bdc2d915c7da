"""Several threads, forked children, interrupted work."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels._util import threads as _threads
from fewlabels.kernels import RBF, Callable, Linear, Polynomial, Sigmoid
from fewlabels.kernels.operators import BorderedGram, CachedGram, LinearGram, make_gram

pytestmark = pytest.mark.filterwarnings("error")


def operators(rng, n=1500):
    X = rng.normal(size=(n, 30))
    X[np.abs(X) < 0.7] = 0.0
    for kernel in (RBF(0.05), Polynomial(0.1, 2, 1.0), Sigmoid(0.02, 0.1), Linear()):
        for storage in (np.asarray, sp.csr_array):
            yield lambda n_jobs, k=kernel, s=storage: make_gram(k, s(X), n_jobs=n_jobs)
    yield lambda n_jobs: CachedGram(make_gram(RBF(0.05), X, n_jobs=n_jobs), 1500 * 4 * 40)
    yield lambda n_jobs: CachedGram(
        make_gram(RBF(0.05), sp.csr_array(X), n_jobs=n_jobs), 1500 * 4 * 40
    )
    yield lambda n_jobs: BorderedGram.mean_of(
        make_gram(RBF(0.05), X, n_jobs=n_jobs), np.arange(50)
    )
    yield lambda n_jobs: make_gram(Callable(lambda A, B: A @ B.T), X, n_jobs=n_jobs)


def test_results_do_not_depend_on_the_number_of_threads(rng):
    indices, coef = rng.permutation(1500)[:300], rng.normal(size=300)
    for make in operators(rng):
        one, two = make(1), make(2)
        assert two.n_jobs == 2
        assert np.array_equal(one.product(indices, coef), two.product(indices, coef))
        assert np.array_equal(one.columns(indices), two.columns(indices))
        assert np.array_equal(one.block(indices), two.block(indices))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_operator_used_from_several_threads(n_jobs, rng):
    requests = [(rng.permutation(1500)[:60], rng.normal(size=60)) for _ in range(12)]
    for make in operators(rng):
        gram = make(n_jobs)
        if isinstance(gram, CachedGram):
            continue  # belongs to one solver
        products = [gram.product(*request) for request in requests]
        columns = [gram.columns(indices) for indices, _ in requests]
        with ThreadPoolExecutor(4) as pool:
            products_again = list(pool.map(lambda request, g=gram: g.product(*request), requests))
            columns_again = list(pool.map(lambda request, g=gram: g.columns(request[0]), requests))
        for first, second in zip(products, products_again, strict=True):
            assert np.array_equal(first, second)
        for first, second in zip(columns, columns_again, strict=True):
            assert np.array_equal(first, second)


def test_a_forked_child_can_compute(rng):
    gram = make_gram(RBF(0.1), rng.normal(size=(3000, 20)), n_jobs=2)
    indices, coef = np.arange(500), rng.normal(size=500)
    expected = gram.product(indices, coef)  # the pool of threads exists now
    assert 2 in _threads._pools
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = np.array_equal(gram.product(indices, coef), expected)
        finally:
            os._exit(0 if same else 1)
    deadline = time.monotonic() + 600
    status = None
    while status is None and time.monotonic() < deadline:
        done, code = os.waitpid(child, os.WNOHANG)
        status = code if done else None
        time.sleep(0.01)
    if status is None:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert status == 0
    assert np.array_equal(gram.product(indices, coef), expected)


# Python warns about forking while threads run; that this works is what is tested.
test_a_forked_child_can_compute = pytest.mark.filterwarnings("default::DeprecationWarning")(
    test_a_forked_child_can_compute
)


@pytest.mark.parametrize("n_items", [0, 1, 2, 7, 8, 9, 100])
@pytest.mark.parametrize("n_jobs", [1, 2, 3, 16])
def test_ranges_cover_everything_once(n_items, n_jobs):
    seen = np.zeros(n_items, dtype=int)

    def work(start, stop):
        seen[start:stop] += 1

    _threads.run_ranges(work, n_items, n_jobs)
    assert np.all(seen == 1)


def test_an_error_arrives_after_all_threads_have_stopped():
    running = []
    lock = threading.Lock()

    def work(start, stop):
        with lock:
            running.append(start)
        try:
            if start == 0:
                raise KeyboardInterrupt
            time.sleep(0.05)
        finally:
            with lock:
                running.remove(start)

    with pytest.raises(KeyboardInterrupt):
        _threads.run_ranges(work, 100, 2)
    assert running == []
    seen = []
    _threads.run_ranges(lambda start, stop: seen.append(stop - start), 100, 2)
    assert sum(seen) == 100  # the threads are still there


@pytest.mark.parametrize(
    ("n_jobs", "environment", "expected"),
    [
        (1, None, 1),
        (3, None, 3),
        (-1, None, "all"),
        (-1000, None, 1),
        (None, None, "all"),
        (None, "1", 1),
        (None, "999", "all"),
        (None, "0", "all"),
        (None, "2,1", "all"),
        (2, "1", 2),
    ],
)
def test_resolve_n_jobs(n_jobs, environment, expected, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if environment is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", environment)
    every = len(os.sched_getaffinity(0))
    assert _threads.resolve_n_jobs(n_jobs) == (every if expected == "all" else expected)


def test_zero_jobs_are_refused():
    with pytest.raises(ValueError, match="n_jobs == 0"):
        _threads.resolve_n_jobs(0)


def test_linear_products_never_form_kernel_values(rng):
    gram = LinearGram(rng.normal(size=(500, 4)))
    gram.product(np.arange(500), np.ones(500))
    assert gram.n_values == 0
    assert gram.value_cost == 0.0
