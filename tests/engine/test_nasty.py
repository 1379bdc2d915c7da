"""Inputs that break solvers: scales, outliers, duplicates, kernels that are none."""

import numpy as np
import pytest
import scipy.sparse as sp
from engine.machines import (
    KERNELS,
    MACHINES,
    Case,
    assert_consistent,
    assert_feasible,
    assert_solved,
    make_case,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kernel_matrix, kkt_residual, objective

from fewlabels import OneClassSVM
from fewlabels._core.functions import Outcome
from fewlabels.kernels import RBF, Callable, Linear, Polynomial, Sigmoid
from fewlabels.kernels.operators import BorderedGram, PrecomputedGram, make_gram
from fewlabels.one_class.problem import one_class, svdd_squared
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import Status, decomposition, solve_decomposition

pytestmark = pytest.mark.filterwarnings("error")

GUARD = 600.0


def solve(problem, **options):
    result = solve_decomposition(problem, max_time=GUARD, **options)
    assert result.status is not Status.MAX_TIME
    return result


def gradient_size(case):
    """The natural unit of a tolerance."""
    return np.abs(case.Q).max() * case.unit + np.abs(case.problem.penalty.slopes[-1]).max()


@pytest.mark.parametrize("block_size", [8, None])
@pytest.mark.parametrize("what", ["duplicates", "constant", "two points", "one outlier"])
@pytest.mark.parametrize("machine", MACHINES)
def test_degenerate_rows(machine, what, block_size, rng):
    X = rng.normal(size=(60, 3))
    if what == "duplicates":
        X = X[rng.integers(0, 15, 60)]
    elif what == "constant":
        X[:] = X[0]
    elif what == "two points":
        X[:] = X[rng.integers(0, 2, 60)]
    else:
        X[5] *= 1e3
    for kernel in ("rbf", "linear", "quadratic"):
        if what == "one outlier" and kernel == "quadratic":
            continue  # objectives around 1e17: see test_unequal_diagonals
        case = make_case(machine, X, KERNELS[kernel], rng)
        tol = 1e-8 * max(1.0, gradient_size(case))
        assert_solved(case, solve(case.problem, tol=tol, block_size=block_size), tol)


@pytest.mark.parametrize("block_size", [8, None])
@pytest.mark.parametrize("outlier", [1e2, 1e3, 1e6, 1e9])
@pytest.mark.parametrize(
    ("kernel", "reference"),
    [(Linear(), ("linear",)), (Polynomial(1.0, 2, 1.0), ("poly", 1.0, 2, 1.0))],
    ids=str,
)
def test_unequal_diagonals(kernel, reference, outlier, block_size, rng):
    """One row with an enormous K_ii must not make the curvature of all others look flat.

    Measured against the ordinary rows: a solver that is blind to them passes no such test.
    """
    X = rng.normal(size=(60, 70)) / np.sqrt(70)
    X[0] *= outlier
    slope = -rng.normal(size=60)
    penalty = Penalty.linear(0.0, 10.0, slope, 60)
    problem = DualProblem(make_gram(kernel, X), penalty, 6.0)
    result = solve(problem, tol=1e-6, block_size=block_size)
    K = kernel_matrix(reference, X)
    assert_feasible(Case(problem, K, penalty.arrays()), result.a)
    rounding = 1e-14 * (np.abs(K) @ np.abs(result.a)).max()
    residual = kkt_residual(K, penalty.arrays(), result.a)
    assert residual <= 1e-6 + rounding, f"{result.status} at {residual:g}"


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("machine", MACHINES)
def test_scale_of_the_rows(machine, kernel, scale, rng):
    X = rng.normal(size=(50, 3)) * scale
    reference = ("rbf", 0.5 / scale**2) if kernel == "rbf" else ("linear",)
    case = make_case(machine, X, reference, rng)
    tol = 1e-9 * gradient_size(case)
    for block_size in (8, None):
        assert_solved(case, solve(case.problem, tol=tol, block_size=block_size), tol)


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6])
@pytest.mark.parametrize("machine", [m for m in MACHINES if m.startswith(("pu", "s3vm"))])
def test_scale_of_the_variables(machine, unit, rng):
    """C from 1e-12 to 1e6. With the small ones every variable moves by a whole segment."""
    case = make_case(machine, rng.normal(size=(50, 3)), KERNELS["rbf"], rng, unit=unit)
    tol = 1e-9 * gradient_size(case)
    for block_size in (8, None):
        result = solve(case.problem, tol=tol, block_size=block_size)
        assert_solved(case, result, tol)
        assert_feasible(case, result.a)


@pytest.mark.parametrize("where", ["upper", "lower", "fixed"])
@pytest.mark.parametrize(
    "machine", [m for m in MACHINES if m not in ("svdd squared", "s3vm balanced")]
)
def test_nothing_to_choose(machine, where, rng):
    """The total leaves one feasible point only."""
    case = make_case(machine, rng.normal(size=(40, 3)), KERNELS["rbf"], rng)
    p = case.problem.penalty
    if where == "fixed":
        middle = np.clip(rng.normal(size=40), p.lower, p.upper)
        p = Penalty.from_arrays((middle, middle, middle, p.slopes[0], p.slopes[-1]))
    point = p.lower if where == "lower" else p.upper
    problem = DualProblem(case.problem.gram, p, float(point.sum()), case.problem.scale)
    for block_size in (8, None):
        result = solve(problem, tol=1e-9, block_size=block_size)
        assert result.status is Status.CONVERGED
        assert np.allclose(result.a, point, rtol=0, atol=1e-14)
        assert result.n_iter == 0
        assert result.violation == 0.0
        assert abs(result.duality_gap) <= 1e-9 * (1 + abs(result.objective))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storages_and_precisions_agree(storage, dtype, rng):
    X = rng.normal(size=(90, 6))
    X[np.abs(X) < 0.4] = 0.0
    X = X.astype(dtype)
    case = make_case("s3vm", X, KERNELS["rbf"], rng, storage=storage)
    if storage is np.asarray:
        X.flags.writeable = False
    for tol in (1e-4, 1e-8):
        assert_solved(case, solve(case.problem, tol=tol, block_size=16), tol)


def test_read_only_everywhere(rng):
    X = rng.normal(size=(60, 3))
    n = 60
    arrays = [np.zeros(n), np.full(n, 0.5), np.ones(n), -np.ones(n), np.ones(n)]
    ridge = np.full(n, 0.1)
    for array in (X, ridge, *arrays):
        array.flags.writeable = False
    problem = DualProblem(make_gram(RBF(1.0), X), Penalty.from_arrays(arrays), 20.0, 1.0, ridge)
    K = kernel_matrix(("rbf", 1.0), X) + 0.1 * np.eye(n)
    case = Case(problem, K, tuple(arrays))
    for block_size in (8, None):
        assert_solved(case, solve(problem, tol=1e-7, block_size=block_size), 1e-7)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), block_size=st.sampled_from([4, 16, None]), n=st.integers(2, 60))
def test_sigmoid_that_is_not_positive_semidefinite(seed, block_size, n):
    """No convex problem, but an end, a feasible point and no worse than the start."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    gram = make_gram(Sigmoid(1.0, float(rng.choice([-1.0, 0.0]))), X)
    label = rng.choice([-1.0, 1.0], n)
    penalty = Penalty.linear(np.minimum(label, 0) * 5, np.maximum(label, 0) * 5, -label, n)
    problem = DualProblem(gram, penalty, 0.0)
    result = solve(problem, tol=1e-6, block_size=block_size)
    assert result.status in (Status.CONVERGED, Status.STALLED)
    kernel = gram.row_map.kernel
    Q = kernel_matrix(("sigmoid", kernel.gamma, kernel.coef0), X)
    case = Case(problem, Q, penalty.arrays())
    assert_consistent(case, result)
    start = problem.feasible_start()
    assert objective(Q, penalty.arrays(), result.a) <= (
        objective(Q, penalty.arrays(), start) + 1e-6
    )
    if result.status is Status.CONVERGED:
        assert kkt_residual(Q, penalty.arrays(), result.a) <= 1e-6


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), block_size=st.sampled_from([2, 8, None]), n=st.integers(2, 40))
def test_indefinite_matrix(seed, block_size, n):
    """Negative diagonals and curvatures of either sign."""
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(n, n))
    K = K + K.T
    penalty = Penalty.linear(0.0, 1.0, rng.normal(size=n), n)
    problem = DualProblem(PrecomputedGram(K), penalty, 0.3 * n)
    result = solve(problem, tol=1e-8, block_size=block_size)
    assert result.status in (Status.CONVERGED, Status.STALLED)
    case = Case(problem, K, penalty.arrays())
    assert_consistent(case, result)
    start = problem.feasible_start()
    assert objective(K, penalty.arrays(), result.a) <= objective(K, penalty.arrays(), start) + 1e-9
    if result.status is Status.CONVERGED:
        assert kkt_residual(K, penalty.arrays(), result.a) <= 1e-8


@pytest.mark.parametrize("block_size", [4, None])
def test_no_curvature_at_all(block_size, rng):
    """K = 0: a linear program, solved by filling the cheapest variables."""
    slope = rng.normal(size=30)
    upper = rng.uniform(0.5, 1.0, 30)
    problem = DualProblem(PrecomputedGram(np.zeros((30, 30))),
                          Penalty.linear(0.0, upper, slope, 30), 7.0)  # fmt: skip
    case = Case(problem, np.zeros((30, 30)), problem.penalty.arrays())
    result = solve(problem, tol=1e-9, block_size=block_size)
    assert_solved(case, result, 1e-9)
    order = np.argsort(slope)
    expected = np.zeros(30)
    left = 7.0
    for i in order:
        expected[i] = min(upper[i], left)
        left -= expected[i]
    assert np.allclose(result.a, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("block_size", [4, None])
def test_unbounded_problems_are_refused(block_size, rng):
    """Two free directions without curvature between them and unequal slopes."""
    X = rng.normal(size=(20, 2))
    X[1] = X[0]
    lower, upper = np.zeros(20), np.ones(20)
    lower[0], upper[1] = -np.inf, np.inf
    slope = np.zeros(20)
    slope[0] = 1.0
    problem = DualProblem(make_gram(RBF(1.0), X, dtype=np.float64),
                          Penalty.linear(lower, upper, slope, 20), 5.0)  # fmt: skip
    with pytest.raises(ValueError, match="unbounded"):
        solve(problem, tol=1e-6, block_size=block_size)
    # With equal slopes there is an optimum: mass may travel for ever, but need not.
    problem = DualProblem(problem.gram, Penalty.linear(lower, upper, 0.0, 20), 5.0)
    K = kernel_matrix(("rbf", 1.0), X)
    result = solve(problem, tol=1e-6, block_size=block_size)
    case = Case(problem, K, problem.penalty.arrays())
    assert result.status is Status.CONVERGED
    assert_consistent(case, result)
    assert kkt_residual(K, case.arrays, result.a) <= 1e-6


@pytest.mark.parametrize("n_free", [1, 2, 5])
@pytest.mark.parametrize("block_size", [4, 16, None])
def test_free_variables(n_free, block_size, rng):
    X = rng.normal(size=(50, 3))
    lower, upper = np.zeros(50), np.ones(50)
    lower[:n_free], upper[:n_free] = -np.inf, np.inf
    slope = rng.normal(size=50)
    penalty = Penalty.linear(lower, upper, slope, 50)
    problem = DualProblem(make_gram(RBF(2.0), X), penalty, 3.0)
    case = Case(problem, kernel_matrix(("rbf", 2.0), X), penalty.arrays())
    for tol in (1e-3, 1e-8):
        assert_solved(case, solve(problem, tol=tol, block_size=block_size), tol)


@pytest.mark.parametrize("cache_size", [1.0, 8 * 200 * 20.0, 1e8, np.inf])
def test_expensive_kernels_through_stored_columns(cache_size, rng):
    """A user's function: float64 values must stay float64 in the store."""
    X = rng.normal(size=(200, 2))
    calls = []

    def function(A, B):
        calls.append(len(A) * len(B))
        return np.exp(-np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))

    K = function(X, X)
    for tol in (1e-3, 1e-8):
        problem = one_class(make_gram(Callable(function), X), 0.3)
        case = Case(problem, K, problem.penalty.arrays())
        result = solve(problem, tol=tol, block_size=16, cache_size=cache_size)
        assert_solved(case, result, tol)
        assert_consistent(case, result, noise=1e-13)
    if cache_size < 1e6:
        assert max(calls[1:]) < 200 * 200  # the whole matrix was never asked for


def test_values_that_a_function_keeps_are_not_changed(rng):
    X = rng.normal(size=(40, 2))
    kept = {}

    def function(A, B):
        key = A.tobytes(), B.tobytes()
        if key not in kept:
            kept[key] = kernel_matrix(("rbf", 1.0), A, B)
            kept[key].flags.writeable = False
        return kept[key]

    problem = svdd_squared(make_gram(Callable(function), X), 1.0)
    Q = 2 * kernel_matrix(("rbf", 1.0), X) + 0.5 * np.eye(40)
    case = Case(problem, Q, problem.penalty.arrays())
    for block_size in (8, None):
        assert_solved(case, solve(problem, tol=1e-7, block_size=block_size), 1e-7)


@pytest.mark.parametrize("d", [1, 2, 30])
@pytest.mark.parametrize("tol", [1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("machine", ["svdd squared", "one-class", "s3vm"])
def test_worst_float32_rows_still_meet_the_tolerance(machine, tol, d, rng):
    """As far from the centre as RowMap lets float32 go: close pairs lose most digits."""
    centres = rng.normal(size=(15, d))
    centres *= 1.0 / np.linalg.norm(centres, axis=1, keepdims=True)
    gamma = 79.0 / (1.3 + 0.4 * np.sqrt(d)) / np.log2(np.e)
    X = np.repeat(centres, 10, axis=0)
    X += rng.normal(size=X.shape) * 0.3 / np.sqrt(gamma * d)
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=1).max()
    gram = make_gram(RBF(gamma), X)
    assert gram.dtype == np.float32
    case = make_case(machine, X, ("rbf", gamma), rng)
    assert_solved(case, solve(case.problem, tol=tol, block_size=16), tol)


def test_nan_is_never_converged(rng):
    K = np.eye(30)
    K[3, 4] = K[4, 3] = np.nan
    for block_size in (8, None):
        try:
            result = solve(one_class(PrecomputedGram(K), 0.1), tol=1e-3, block_size=block_size)
        except ValueError:
            continue
        if result.status is Status.CONVERGED:  # only where the NaN plays no part
            assert np.isfinite(result.objective)
            assert result.a[3] * result.a[4] == 0.0


@pytest.mark.parametrize("block_size", [1, 2, 3])
def test_smallest_blocks(block_size, rng):
    problem = one_class(make_gram(RBF(1.0), rng.normal(size=(30, 2))), 0.4)
    if block_size == 1:
        with pytest.raises(ValueError, match="block_size"):
            solve(problem, block_size=block_size)
        return
    K = problem.block(np.arange(30))
    case = Case(problem, K, problem.penalty.arrays())
    assert_solved(case, solve(problem, tol=1e-6, block_size=block_size), 1e-6)


@pytest.mark.parametrize(
    "bad",
    [
        {"tol": 0.0},
        {"tol": -1.0},
        {"tol": np.nan},
        {"block_size": 0},
        {"max_time": -1.0},
        {"max_time": np.nan},
        {"cache_size": 0.0},
        {"cache_size": np.nan},
    ],
    ids=str,
)
def test_bad_settings_are_refused(bad, rng):
    problem = one_class(make_gram(RBF(1.0), rng.normal(size=(10, 2))), 0.4)
    with pytest.raises(ValueError, match=next(iter(bad))):
        solve_decomposition(problem, **{"max_time": 5.0, **bad})


def test_unknown_setting_is_refused(rng):
    problem = one_class(make_gram(RBF(1.0), rng.normal(size=(10, 2))), 0.4)
    with pytest.raises(TypeError):
        solve_decomposition(problem, tolerance=1e-3)


def test_bordered_precomputed_with_free_duplicates(rng):
    """The mean of one row is that row again: the free variable has a twin in the box."""
    X = rng.normal(size=(30, 2))
    K = kernel_matrix(("rbf", 1.0), X)
    gram = BorderedGram.mean_of(PrecomputedGram(K), np.array([4]))
    label = rng.choice([-1.0, 1.0], 30)
    lower, upper = (
        np.append(np.minimum(label, 0), -np.inf),
        np.append(np.maximum(label, 0), np.inf),
    )
    penalty = Penalty.linear(lower, upper, np.append(-label, -0.2), 31)
    problem = DualProblem(gram, penalty, 0.0)
    order = np.append(np.arange(30), 4)
    case = Case(problem, K[np.ix_(order, order)], penalty.arrays())
    for block_size in (4, None):
        assert_solved(case, solve(problem, tol=1e-8, block_size=block_size), 1e-8)


def test_equal_solutions_at_an_optimum_of_zero(rng):
    """The origin among the rows: the optimum is zero, and so is the scale of all conditions."""
    steps, same = [], 0
    for _ in range(20):
        X = np.concatenate([rng.normal(size=(40, 2)) + c for c in ([9.0, 3.0], [-8.0, 4.0])])
        X[::3] -= [0.0, 12.0]
        solutions = []
        for storage in (np.asarray, sp.csr_array):
            result = solve(one_class(make_gram(Linear(), storage(X)), 0.5), tol=1e-5, rtol=1e-4)
            assert result.converged
            assert abs(result.objective) <= 1e-12
            solutions.append(result.a)
            steps.append(result.n_iter)
        same += np.allclose(*solutions, rtol=0, atol=1e-9)
    # Rounding decides which solution is found and after how many steps. Most often it is the same
    # one, at once: 130 of 150 draws, and 21 of 300 fits took more than 100 steps.
    assert same >= 12 and np.median(steps) < 100 and max(steps) < 10_000


@pytest.mark.parametrize("steps, calls", [(0, 1), (1, 10)])
def test_whole_problems_go_on_in_the_engine_when_pair_steps_get_nowhere(
    steps, calls, rng, monkeypatch
):
    # Rounding can make them say "done" for ever where a fresh gradient says that they are not.
    made = []

    def nowhere(*args):
        made.append(args)
        return steps, 60.0, Outcome.DONE

    monkeypatch.setattr(decomposition.LazyRows, "take_steps", nowhere)
    gram = make_gram(RBF(0.5), rng.normal(size=(60, 2)), dtype=np.float64)
    problem = one_class(gram, 0.3)
    result = solve_decomposition(problem, tol=1e-6, max_time=GUARD)
    assert len(made) == calls
    assert result.converged and result.violation <= 1e-6


def test_rounds_end_where_steps_add_rounding_of_their_own():
    # Random problem 1143: the finer solve begins within rounding of its tolerance, and thousands
    # of pair steps a round make the violation a hundred times larger.
    rng = np.random.default_rng(1143)
    n, d = int(rng.integers(4, 400)), int(rng.integers(1, 30))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7)
    X[:, 0] = 1.0
    X = sp.csr_array(X.astype(np.float32))
    rounds = []

    def count(entry):
        rounds.append(entry["round"])
        return len(rounds) > 500

    model = OneClassSVM(nu=0.1, kernel="linear", tol=1e-6)
    model.fit(X, callback=count)
    assert model.fit_status_ == 0
    assert len(rounds) <= 500
    assert model.duality_gap_ < 1e-9
