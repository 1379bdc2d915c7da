"""The seam: rows in any number of places, which hand out nothing of their number."""

import itertools
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from engine.machines import KERNELS, MACHINES, assert_solved, make_case, random_case
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.problems import KINDS

from fewlabels.kernels import RBF, Callable, Linear, Polynomial
from fewlabels.kernels.operators import CachedGram, PrecomputedGram, SumGram, make_gram
from fewlabels.one_class.problem import one_class, svdd_linear, svdd_squared
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import Settings, Status
from fewlabels.solvers.decomposition import collect_variables, make_memory_rows
from fewlabels.solvers.engine.engine import Engine
from fewlabels.solvers.engine.partition import Partition, draw_sample_mask, message_names
from fewlabels.solvers.run import Record, make_result

pytestmark = pytest.mark.filterwarnings("error")

PARTS = (1, 3, 7)
GUARD = 600.0


def solve(problem, parts, a=None, **options):
    rows = make_memory_rows(problem, a, parts=parts)
    chosen = Settings(max_time=GUARD, **options)
    engine = Engine(rows, chosen, Record(chosen))
    status = engine.run(cold=a is None)
    rows.round_to_breakpoints()
    return make_result(
        rows.totals(), rows.duality_gap, *collect_variables(rows),
        status, engine.record.n_iter, engine.record.history,
    )  # fmt: skip


def assert_same(results, size, *, support=True):
    one = results[0]
    for other in results[1:]:
        assert other.status is one.status
        assert abs(other.objective - one.objective) <= 1e-12 * size
        if support:
            np.testing.assert_array_equal(np.flatnonzero(other.a), np.flatnonzero(one.a))


# -- any number of places ------------------------------------------------------------------------


@pytest.mark.parametrize("block_size", [16, None])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_number_of_places_does_not_matter(machine, block_size, rng):
    for n in (1, 2, 30, 300):
        case = make_case(machine, rng.normal(size=(n, 3)), KERNELS["rbf"], rng)
        results = [solve(case.problem, k, tol=1e-8, block_size=block_size) for k in PARTS]
        for result in results:
            assert_solved(case, result, 1e-8)
        assert_same(results, case.size(results[0].a))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_kernels_and_storages_in_places(kernel, storage, rng):
    for machine in ("svdd squared", "s3vm balanced"):
        case = make_case(machine, rng.normal(size=(90, 4)), KERNELS[kernel], rng, storage=storage)
        results = [solve(case.problem, k, tol=1e-7, block_size=16) for k in PARTS]
        for result in results:
            assert_solved(case, result, 1e-7)
        # A kernel of low rank leaves the choice between equal solutions to rounding.
        unique = kernel in ("rbf", "narrow rbf")
        size = case.size(results[0].a)
        assert_same(results, size if unique else 1e4 * size, support=unique)


@settings(max_examples=60)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=40),
    block_size=st.sampled_from([2, 4, 16, None]),
    parts=st.integers(2, 9),
    dtype=st.sampled_from([None, np.float64]),
    seed=st.integers(0, 10**6),
)
def test_any_penalty_in_places(kinds, block_size, parts, dtype, seed):
    case = random_case(kinds, np.random.default_rng(seed), dtype=dtype)
    results = [solve(case.problem, k, tol=1e-8, block_size=block_size) for k in (1, parts)]
    for result in results:
        assert_solved(case, result, 1e-8)


def test_duplicates_in_places(rng):
    X = rng.normal(size=(12, 2))[rng.integers(0, 12, 200)]
    for machine in ("svdd squared", "svdd linear", "s3vm"):
        case = make_case(machine, X, KERNELS["rbf"], rng)
        results = [solve(case.problem, k, tol=1e-8, block_size=32) for k in PARTS]
        for result in results:
            assert_solved(case, result, 1e-8)
        assert_same(results, case.size(results[0].a), support=False)


@pytest.mark.parametrize("machine", ["one-class", "svdd linear", "svdd squared", "balanced"])
def test_coarse_start_in_places(machine, rng):
    n = 7_000
    X = rng.normal(size=(n, 2))
    X[: n // 2, 0] += 2.0
    gram = make_gram(RBF(0.7), X, n_jobs=2)
    if machine == "svdd squared":
        problem = svdd_squared(gram, 50.0)
    elif machine == "svdd linear":
        problem = svdd_linear(gram, 1.0 / (0.05 * n))
    elif machine == "one-class":
        problem = one_class(gram, 0.05, rng.exponential(size=n) + 0.1)
    else:
        case = make_case("s3vm balanced", X[:3500], ("rbf", 0.7), rng)
        problem = case.problem
    results = [solve(problem, k, tol=1e-5 * problem.scale) for k in PARTS]
    assert results[0].status is Status.CONVERGED
    # Rounding may decide otherwise between two steps, after which runs end elsewhere within the
    # tolerance: as near to the optimum as each says it is.
    one = results[0]
    for other in results[1:]:
        assert other.status is one.status
        gap = max(one.duality_gap, other.duality_gap)
        assert gap < 1e-3 * abs(one.objective)
        assert abs(other.objective - one.objective) <= gap + 1e-12 * abs(one.objective)


def test_a_start_in_places(rng):
    case = make_case("s3vm balanced", rng.normal(size=(150, 3)), KERNELS["rbf"], rng)
    start = case.problem.feasible_start()
    results = [solve(case.problem, k, start, tol=1e-8, block_size=16) for k in PARTS]
    for result in results:
        assert_solved(case, result, 1e-8)
    assert_same(results, case.size(results[0].a))


# -- nothing of their number ---------------------------------------------------------------------

LARGEST = 2048


def check_sizes(value):
    """No array that is longer than a working set, wherever it hides."""
    if isinstance(value, np.ndarray) or sp.issparse(value):
        assert value.shape == () or value.shape[0] <= LARGEST, value.shape
    elif isinstance(value, Penalty):
        check_sizes(value.arrays())
    elif is_dataclass(value):
        check_sizes([getattr(value, field.name) for field in fields(value)])
    elif isinstance(value, list | tuple):
        assert len(value) <= LARGEST
        for part in value:
            check_sizes(part)


class Refusing:
    """A partition that lets nothing pass that is larger than a working set."""

    def __init__(self, partition):
        self._partition = partition

    @property
    def has_current_gradient(self):
        return self._partition.has_current_gradient


def _guarded(name):
    def message(self, *args):
        check_sizes(args)
        answer = getattr(self._partition, name)(*args)
        if isinstance(answer, Partition):
            return Refusing(answer)
        check_sizes(answer)
        return answer

    return message


for _name in message_names():
    setattr(Refusing, _name, _guarded(_name))


def arrays_of(thing, seen):
    """Arrays that an object holds, through all that it is made of, but not through its rows."""
    if id(thing) in seen or isinstance(thing, Refusing | type | str):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, dict):
        for part in thing.values():
            yield from arrays_of(part, seen)
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from arrays_of(part, seen)
    elif type(thing).__module__.startswith("fewlabels"):
        names = [*getattr(thing, "__dict__", ()), *getattr(thing, "__slots__", ())]
        for name in names:
            yield from arrays_of(getattr(thing, name, None), seen)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("machine", ["one-class", "svdd squared", "float64", "kinks", "dear"])
def test_rows_hand_out_nothing_of_their_number(machine, parts, rng):
    n = 9_000
    X = rng.normal(size=(n, 2))
    dtype = np.float64 if machine == "float64" else None
    gram = make_gram(RBF(0.7), X, dtype=dtype, n_jobs=2)
    if machine == "svdd squared":
        problem = svdd_squared(gram, 50.0)
    elif machine == "kinks":
        slope = -rng.uniform(0.0, 0.01, n)
        penalty = Penalty.kinked(0.0, 5e-4, 1e-3, slope - 0.02, slope + 0.02, n)
        problem = DualProblem(gram, penalty, 1.0)
    elif machine == "dear":
        gram = make_gram(Polynomial(0.1, 2, 1.0), rng.normal(size=(n, 60)) / 8, n_jobs=2)
        problem = one_class(gram, 0.01)
    else:
        problem = one_class(gram, 0.02)
    rows = make_memory_rows(problem, parts=parts)
    inside = rows.partitions
    rows.partitions = [Refusing(partition) for partition in inside]
    held = []

    def look(entry):
        held.extend(a.shape for a in arrays_of(engine, set()) if max(a.shape, default=0) >= n)

    chosen = Settings(tol=1e-5 * problem.scale, callback=look, max_time=GUARD)
    engine = Engine(rows, chosen, Record(chosen))
    assert engine.run(cold=True) is Status.CONVERGED
    look(None)
    assert not held
    rows.round_to_breakpoints()
    totals = rows.totals()
    assert 0.0 <= rows.duality_gap(totals.multiplier) <= 5e-3 * abs(totals.objective)
    # What it says of the rows is true.
    a = np.concatenate([partition.a for partition in inside])
    assert problem.is_feasible(a)
    gradient = problem.gradient(a)
    assert totals.objective == pytest.approx(problem.survey(a, gradient).objective, rel=1e-6)
    assert problem.survey(a, gradient).violation <= 2e-5 * problem.scale


def test_the_guard_guards(rng):
    problem = one_class(make_gram(RBF(1.0), rng.normal(size=(3000, 2))), 0.5)
    rows = make_memory_rows(problem, np.full(3000, 1.0 / 3000))  # all between breakpoints
    partition = Refusing(rows.partitions[0])
    with pytest.raises(AssertionError):
        partition.fetch(np.arange(3000))
    with pytest.raises(AssertionError):
        partition.propose(3000)
    with pytest.raises(AssertionError):
        partition.propose(2, 3000)


# -- what travels -----------------------------------------------------------------------------


def grams(rng, n=40):
    X = rng.normal(size=(n, 3))
    S = sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    K = X @ X.T + np.eye(n)
    rbf = make_gram(RBF(0.5), X, dtype=np.float64)
    return {
        "dense": rbf,
        "float32": make_gram(RBF(0.5), X),
        "sparse": make_gram(RBF(0.5), S, dtype=np.float64),
        "polynomial": make_gram(Polynomial(0.5, 3, 1.0), X, dtype=np.float64),
        "linear": make_gram(Linear(), X),
        "sparse linear": make_gram(Linear(), S),
        "precomputed": PrecomputedGram(K),
        "sparse precomputed": PrecomputedGram(sp.csr_array(K)),
        "function": make_gram(Callable(lambda A, B: np.exp(A @ B.T / 9)), X),
        "sum": SumGram([rbf, make_gram(RBF(2.0), X, dtype=np.float64)], [0.3, 0.7]),
        "cached": CachedGram(rbf, 9 * n * 8),
    }


@pytest.mark.parametrize("bordered", [False, True])
@pytest.mark.parametrize("name", sorted(grams(np.random.default_rng(0))))
def test_columns_are_understood_by_every_part(name, bordered, rng):
    from fewlabels.kernels.operators import BorderedGram, Columns

    gram = grams(rng)[name]
    if bordered:
        gram = BorderedGram.mean_of(gram, np.arange(7))
    K = np.array(gram.columns(np.arange(gram.n)), dtype=float)
    tol = 1e-5 if gram.dtype == np.float32 else 1e-12
    ids = np.sort(rng.choice(gram.n, 17, replace=False))
    coef = rng.normal(size=17)
    for edges in ([0, gram.n], [0, 5, 30, gram.n], [0, gram.n - 1, gram.n]):
        parts = [gram.part(first, last) for first, last in itertools.pairwise(edges)]
        gathered = []
        for part, first in zip(parts, edges, strict=False):
            own = ids[(ids >= first) & (ids < first + part.n)]
            gathered.append(Columns(own, part.gather(own - first).values))
        columns = Columns.joined(gathered)
        assert np.array_equal(columns.ids, ids) and len(columns) == 17
        for part, first in zip(parts, edges, strict=False):
            rows = np.arange(first, first + part.n)
            assert np.allclose(part.diagonal(), np.diag(K)[rows], rtol=0, atol=tol)
            assert np.allclose(part.values_of(columns), K[np.ix_(ids, rows)], rtol=0, atol=tol)
            assert np.allclose(part.block_of(columns), K[np.ix_(ids, ids)], rtol=0, atol=tol)
            out = np.ones(part.n)
            some = rng.random(17) < 0.6
            part.add_columns(columns.take(some), coef[some], out)
            expected = 1.0 + K[np.ix_(rows, ids[some])] @ coef[some]
            assert np.allclose(out, expected, rtol=0, atol=30 * tol)


def test_a_sample_is_drawn_by_every_place_alike():
    for n, size in ((1, 0), (7, 1), (4096, 682), (10_001, 1666), (30_000, 5000)):
        whole = draw_sample_mask(0, n, n, size, 3)
        assert whole.sum() == size
        edges = [0, n // 3, n // 2, n]
        parts = [draw_sample_mask(a, b, n, size, 3) for a, b in itertools.pairwise(edges)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert not np.array_equal(
        draw_sample_mask(0, 9000, 9000, 1500, 0), draw_sample_mask(0, 9000, 9000, 1500, 1)
    )
    # Every row is drawn as often as any other.
    times = sum(draw_sample_mask(0, 60, 60, 10, seed).astype(int) for seed in range(2000))
    assert times.min() > 250 and times.max() < 420
