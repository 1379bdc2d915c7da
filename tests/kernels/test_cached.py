"""Stored columns: never another result than without them, never more memory."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels.kernels import RBF
from fewlabels.kernels.operators import (
    BorderedGram,
    CachedGram,
    GramOperator,
    column_cache,
    make_gram,
)

pytestmark = pytest.mark.filterwarnings("error")

N = 12


class Counting(GramOperator):
    """A random matrix that notes which columns it was asked for."""

    dtype = np.dtype(np.float64)

    def __init__(self, n=N, fail_at=None):
        super().__init__(n)
        root = np.random.default_rng(5).normal(size=(n, 3))
        self.K = root @ root.T
        self.value_cost = 100.0
        self.asked = []
        self.fail_at = fail_at

    def diagonal(self):
        return np.diag(self.K).copy()

    def values_of(self, columns):
        indices = columns.ids
        self.asked += list(indices)
        self.n_values += len(indices) * self.n
        if self.fail_at is not None and len(self.asked) >= self.fail_at:
            self.fail_at = None
            raise KeyboardInterrupt
        return self.K[indices]

    def block_of(self, columns):
        return self.K[np.ix_(columns.ids, columns.ids)]

    def add_columns(self, columns, coef, out):
        indices = columns.ids
        self.asked += list(indices)
        self.n_values += len(indices) * self.n
        out += self.K[:, indices] @ coef

    def take(self, indices):
        raise NotImplementedError


def bytes_for(columns, n=N):
    return columns * n * 8


requests = st.lists(st.lists(st.integers(0, N - 1), max_size=N + 4), max_size=12)


@settings(max_examples=150)
@given(requests=requests, capacity=st.integers(0, N + 2), seed=st.integers(0, 99))
def test_any_sequence_of_requests(requests, capacity, seed):
    """Repeated indices and requests larger than the store included."""
    rng = np.random.default_rng(seed)
    inner = Counting()
    cached = CachedGram(inner, bytes_for(capacity))
    assert len(cached.cache.storage) == min(capacity, N)
    for indices in requests:
        indices = np.array(indices, dtype=np.intp)
        coef = rng.normal(size=len(indices))
        out = rng.normal(size=N)
        expected = out + inner.K[:, indices] @ coef
        cached.apply(indices, coef, out)
        assert np.allclose(out, expected, rtol=1e-12, atol=1e-11)
        assert cached.cache.storage.nbytes <= bytes_for(capacity)
        assert np.array_equal(cached.columns(indices), inner.K[indices])


def test_least_recently_used_columns_go_first():
    inner = Counting()
    cached = CachedGram(inner, bytes_for(3))
    one = np.ones(1)
    for j in (0, 1, 2, 0, 3):  # 3 takes the place of 1
        cached.apply(np.array([j]), one, np.zeros(N))
    assert inner.asked == [0, 1, 2, 3]
    cached.apply(np.array([0, 2, 3]), np.ones(3), np.zeros(N))
    assert inner.asked == [0, 1, 2, 3]
    cached.apply(np.array([1]), one, np.zeros(N))
    assert inner.asked == [0, 1, 2, 3, 1]
    cached.apply(np.array([2]), one, np.zeros(N))
    cached.apply(np.array([3]), one, np.zeros(N))
    assert inner.asked == [0, 1, 2, 3, 1]  # 0 had to go


def test_a_column_is_evaluated_once():
    inner = Counting()
    cached = CachedGram(inner, bytes_for(N))
    for _ in range(5):
        cached.apply(np.arange(N), np.ones(N), np.zeros(N))
    assert sorted(inner.asked) == list(range(N))
    assert cached.n_values == inner.n_values == N * N


def test_no_room_at_all():
    inner = Counting()
    cached = CachedGram(inner, 8 * N - 1)
    assert len(cached.cache.storage) == 0
    out = np.zeros(N)
    cached.apply(np.arange(4), np.ones(4), out)
    assert np.allclose(out, inner.K[:, :4].sum(axis=1))


def test_unlimited_memory():
    assert len(CachedGram(Counting(), np.inf).cache.storage) == N


def test_interrupted_evaluation_leaves_a_sound_store():
    for fail_at in range(1, 14):
        inner = Counting(fail_at=fail_at)
        cached = CachedGram(inner, bytes_for(4))
        rng = np.random.default_rng(fail_at)
        for _ in range(12):
            indices = rng.integers(0, N, size=3)
            coef = rng.normal(size=3)
            out = np.zeros(N)
            try:
                cached.apply(indices, coef, out)
            except KeyboardInterrupt:
                continue
            assert np.allclose(out, inner.K[:, indices] @ coef, rtol=1e-12, atol=1e-11)


def test_interrupt_between_any_two_lines(monkeypatch):
    """A signal may strike at every line of Python code while columns are stored."""
    import sys

    from fewlabels.kernels.operators import column_cache

    rng = np.random.default_rng(0)
    interrupted = 0
    for strike in range(1, 200):
        inner = Counting()
        cached = CachedGram(inner, bytes_for(4))
        cached.apply(np.array([0, 1, 2]), np.ones(3), np.zeros(N))
        countdown = [strike]

        def trace(frame, event, arg, countdown=countdown):
            if frame.f_code.co_filename != column_cache.__file__:
                return None
            if event == "line":
                countdown[0] -= 1
                if countdown[0] == 0:
                    raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            cached.apply(np.array([5, 1, 6, 7]), np.ones(4), np.zeros(N))
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.settrace(None)
        for _ in range(8):
            indices = rng.integers(0, N, size=4)
            coef = rng.normal(size=4)
            out = np.zeros(N)
            cached.apply(indices, coef, out)
            assert np.allclose(out, inner.K[:, indices] @ coef, rtol=1e-12, atol=1e-11), strike
    assert interrupted > 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_of_the_store_is_that_of_the_values(dtype, rng):
    """float64 columns kept in float32 would be lost precision that nobody sees."""
    X = rng.normal(size=(300, 60)) / 8
    inner = make_gram(RBF(1.0), X, dtype=dtype)
    cached = CachedGram(inner, 1e9)
    assert cached.dtype == dtype
    assert cached.cache.storage.dtype == dtype
    indices, coef = rng.permutation(300)[:200], rng.normal(size=200)
    difference = cached.product(indices, coef) - inner.product(indices, coef)
    assert np.abs(difference).max() <= 200 * np.finfo(dtype).eps


def test_everything_else_is_the_inner_operator(rng):
    X = rng.normal(size=(30, 3))
    inner = make_gram(RBF(1.0), X)
    cached = CachedGram(inner, 1e6)
    indices = np.array([3, 1, 29])
    assert np.array_equal(cached.diagonal(), inner.diagonal())
    assert np.array_equal(cached.block(indices), inner.block(indices))
    assert np.array_equal(cached.take(indices).columns(np.arange(3)),
                          inner.take(indices).columns(np.arange(3)))  # fmt: skip
    assert cached.refined().dtype == np.float64
    assert cached.value_cost == inner.value_cost


def test_columns_of_a_bordered_matrix(rng):
    X = rng.normal(size=(40, 3))
    bordered = BorderedGram.mean_of(make_gram(RBF(1.0), X, dtype=np.float64), np.arange(10))
    cached = CachedGram(bordered, 1e6)
    indices = np.array([40, 0, 7])
    for _ in range(2):
        assert np.allclose(
            cached.product(indices, np.array([1.0, -2.0, 0.5])),
            bordered.product(indices, np.array([1.0, -2.0, 0.5])),
            rtol=0, atol=1e-13,
        )  # fmt: skip


def test_results_do_not_depend_on_threads(rng):
    X = rng.normal(size=(9000, 3))
    one, two = (CachedGram(make_gram(RBF(1.0), X, n_jobs=k), 1e7) for k in (1, 2))
    indices, coef = np.arange(20), rng.normal(size=20)
    assert np.array_equal(one.product(indices, coef), two.product(indices, coef))


def test_columns_of_rows_elsewhere_take_no_room_for_all_rows():
    X = np.random.default_rng(0).normal(size=(60, 3))
    whole = make_gram(RBF(0.5), X, dtype=np.float64)
    here = whole.part(0, 40)
    cached = CachedGram(here, 1e5)
    for asked in ([3, 50], [59, 3, 41], [50, 59]):  # of the last twenty, numbered from 10^12 on
        coef = np.arange(1.0, len(asked) + 1)
        columns = whole.gather(np.array(asked))
        far = np.where(columns.ids < 40, columns.ids, columns.ids + 10**12)
        out = np.zeros(40)
        before = cached.n_values
        cached.add_columns(replace(columns, ids=far), coef, out)
        assert np.allclose(out, (whole.columns(np.array(asked)).T @ coef)[:40], atol=1e-12)
    assert cached.n_values == before  # the last were all there


def test_a_cache_that_memory_cannot_hold_is_refused_with_advice(monkeypatch):
    def empty(shape, *given):
        if np.prod(shape) > 1e6:
            raise MemoryError(f"Unable to allocate an array with shape {shape}")
        return real(shape, *given)

    real = np.empty
    monkeypatch.setattr(column_cache.np, "empty", empty)
    words = r"no memory for 800 MB of kernel values; pass a smaller cache_size than 900\."
    with pytest.raises(MemoryError, match=words):
        column_cache.ColumnCache(10_000, 900e6)
