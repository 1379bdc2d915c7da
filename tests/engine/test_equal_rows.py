"""Equal rows are one row with a weight, exactly: found, solved together, shared out."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from engine.machines import KERNELS, MACHINES, assert_solved, make_case
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kernel_matrix, penalty_value
from reference.problems import random_point

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM
from fewlabels.kernels import RBF, Callable, Linear, Precomputed
from fewlabels.kernels.operators import FormedGram, LinearGram, RowsGram, make_gram
from fewlabels.kernels.rows import DuplicateRows, equal_rows
from fewlabels.problem import Penalty
from fewlabels.solvers import solve_decomposition
from fewlabels.solvers.decomposition import merge_equal_rows, warm_start

pytestmark = pytest.mark.filterwarnings("error")

seeds = st.integers(0, 10**6)


def repeated(rng, n, distinct, d=3):
    """Rows of which some are equal, and which of the distinct ones each is."""
    of = np.concatenate([np.arange(distinct), rng.integers(0, distinct, n - distinct)])
    of = rng.permutation(of)
    return rng.normal(size=(distinct, d))[of], of


def same_partition(one, two):
    pairs = np.unique(np.column_stack([one, two]), axis=0)
    return len(pairs) == len(np.unique(one)) == len(np.unique(two))


# -- finding ---------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [np.asarray, np.float32, sp.csr_array])
@pytest.mark.parametrize(("n", "distinct"), [(2, 1), (40, 7), (6000, 300)])
def test_equal_rows_are_found(storage, n, distinct, rng):
    X, of = repeated(rng, n, distinct)
    X[np.abs(X) < 0.5] = 0.0
    _, of = np.unique(X, axis=0, return_inverse=True)
    X[rng.random(X.shape) < 0.5] *= 1.0  # a copy
    X[(X == 0.0) & (rng.random(X.shape) < 0.5)] = -0.0
    copies = equal_rows(storage(X))
    assert same_partition(copies.of, of)
    np.testing.assert_array_equal(copies.of[copies.first], np.arange(len(copies.first)))
    for k, first in enumerate(copies.first):
        assert first == np.flatnonzero(copies.of == k)[0]


def test_nothing_is_found_where_rows_differ(rng):
    assert equal_rows(rng.normal(size=(1, 2))) is None
    assert equal_rows(rng.normal(size=(500, 2))) is None
    assert equal_rows(sp.csr_array(rng.normal(size=(500, 2)))) is None
    # So few that another matrix would not be worth it.
    assert equal_rows(np.append(rng.normal(size=(9999, 1)), [[0.0], [0.0]], axis=0)) is None


def test_rows_that_rounding_of_their_keys_confuses_are_different():
    X = np.column_stack([np.full(60, 1e18), np.arange(60.0) % 30])
    copies = equal_rows(X)
    for k in range(60) if copies is not None else ():
        same = X[copies.of == copies.of[k]]
        assert (same == X[k]).all()


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), Callable(lambda X, Z: X @ Z.T)])
def test_operator_of_repeated_rows(kernel, rng):
    X, of = repeated(rng, 50, 8)
    gram, n = make_gram(kernel, X, dtype=np.float64), 50
    assert type(gram.inner) in (RowsGram, LinearGram, FormedGram)
    assert gram.inner.n == 8
    name = ("rbf", 0.5) if isinstance(kernel, RBF) else ("linear",)
    K, some, coef = kernel_matrix(name, X), rng.permutation(n)[:20], rng.normal(size=20)
    np.testing.assert_allclose(gram.diagonal(), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(gram.columns(some), K[some], atol=1e-12)
    np.testing.assert_allclose(gram.block(some), K[np.ix_(some, some)], atol=1e-12)
    np.testing.assert_allclose(gram.product(some, coef), K[:, some] @ coef, atol=1e-12)
    part = gram.take(some)
    np.testing.assert_allclose(part.block(np.arange(20)), K[np.ix_(some, some)], atol=1e-12)
    assert gram.take(gram.copies.first) is gram.inner
    one = make_gram(Precomputed(), K)
    assert same_partition(one.copies.of, of)
    np.testing.assert_array_equal(one.columns(some), K[some])


# -- penalties ---------------------------------------------------------------------------------


@settings(max_examples=150)
@given(seed=seeds)
def test_sums_of_variables_cost_what_the_best_shares_do(seed):
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    copies = DuplicateRows.by_first(equal_first(rng.integers(0, groups, n)))
    m = len(copies.first)
    ends = np.sort(rng.integers(0, 5, (n, 3)) * 0.1, axis=1).T
    if rng.random() < 0.5:  # a kink below zero: the other piece passes through zero
        ends = -ends[::-1]
    slopes = np.sort(rng.normal(size=(m, 2)), axis=1)[copies.of].T
    penalty = Penalty(tuple(ends), tuple(slopes))
    a = random_point(rng, penalty.arrays())
    together = np.bincount(copies.of, a)
    if rng.random() < 0.3:  # exactly on a breakpoint
        together = np.bincount(copies.of, ends[int(rng.integers(0, 3))])
    whole, shared = penalty.merge_equal_rows(copies), penalty.share_out(together, copies)
    assert np.all(shared >= penalty.lower)
    assert np.all(shared <= penalty.upper)
    np.testing.assert_allclose(np.bincount(copies.of, shared), together, atol=1e-14)
    np.testing.assert_allclose(
        penalty_value(penalty.arrays(), shared),
        penalty_value(whole.arrays(), together),
        atol=1e-13,
    )
    if np.array_equal(together, np.bincount(copies.of, a)):
        assert (
            penalty_value(whole.arrays(), together) <= penalty_value(penalty.arrays(), a) + 1e-13
        )
    off = np.bincount(copies.of, penalty.between(shared))
    assert off.max() <= 1.0


def equal_first(of):
    return np.array([np.flatnonzero(of == k)[0] for k in of])


# -- solving -----------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "quadratic"])
@pytest.mark.parametrize("machine", MACHINES)
def test_machine_against_the_programme(machine, kernel, storage, rng):
    for n, distinct in ((2, 1), (30, 3), (60, 25)):
        X, _ = repeated(rng, n, distinct)
        case = make_case(machine, X, KERNELS[kernel], rng, storage=storage)
        smaller = merge_equal_rows(case.problem)
        result = solve_decomposition(case.problem, tol=1e-8)
        assert_solved(case, result, 1e-8)
        if n == 30:
            assert smaller.problem.n < 30
        if smaller is not None and not case.problem.ridge.any():
            between = case.problem.penalty.between(result.a)
            assert np.bincount(smaller.copies.of, between).max() <= 1.0
        # Objective, violation and gap are those of the whole problem.
        values = case.problem.survey(result.a, result.gradient)
        size = case.size(result.a)
        assert result.objective == pytest.approx(values.objective, abs=1e-12 * size)
        gap = case.problem.duality_gap(result.a, result.gradient, result.multiplier)
        if np.isfinite(gap):
            assert result.duality_gap == pytest.approx(gap, abs=1e-11 * size)


@pytest.mark.parametrize("machine", MACHINES)
def test_starts(machine, rng):
    """From a point, from a Result, and from the solution of a similar problem."""
    X, _ = repeated(rng, 40, 6)
    case = make_case(machine, X, KERNELS["rbf"], rng)
    first = solve_decomposition(case.problem, tol=1e-2, polish=0)
    again = solve_decomposition(case.problem, first, tol=1e-8)
    assert_solved(case, again, 1e-8)
    assert again.history[: len(first.history)] == first.history
    assert_solved(case, solve_decomposition(case.problem, first.a, tol=1e-8), 1e-8)
    near = warm_start(case.problem, 0.5 * first.a, 0.5 * first.gradient)
    assert case.problem.is_feasible(near.a)
    np.testing.assert_allclose(near.gradient, case.Q @ near.a, atol=1e-5)
    with pytest.raises(ValueError, match="not feasible"):
        solve_decomposition(case.problem, np.full(case.problem.n, 1e6))


# -- machines ----------------------------------------------------------------------------------

ONE_CLASS = {
    "squared": lambda **o: SVDD(C=0.2, **o),
    "linear": lambda **o: SVDD(slack="linear", nu=0.3, **o),
    "one-class": lambda **o: OneClassSVM(nu=0.3, **o),
}


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("machine", ONE_CLASS)
@pytest.mark.parametrize("storage", [np.asarray, np.float32, sp.csr_array])
def test_one_class_machine_of_weighted_rows(machine, kernel, storage, rng):
    X, of = repeated(rng, 3000, 40)
    X += 2.0  # else the origin is inside, and the best plane goes through it
    weight = rng.choice([0.5, 1.0, 3.0], 3000)
    _, first = np.unique(of, return_index=True)
    make = ONE_CLASS[machine]
    few = make(kernel=kernel, gamma=0.3).fit(
        storage(X[first]), sample_weight=np.bincount(of, weight)
    )
    many = make(kernel=kernel, gamma=0.3).fit(storage(X), sample_weight=weight)
    new = storage(rng.normal(size=(30, 3)))
    size = np.abs(few.score_samples(new)).max()
    np.testing.assert_allclose(
        many.decision_function(new), few.decision_function(new), atol=1e-9 * size
    )
    assert many.objective_ == pytest.approx(few.objective_, rel=1e-9)
    total = np.bincount(of[many.support_], many.dual_coef_.ravel() if storage is not
                        sp.csr_array or machine != "one-class"
                        else many.dual_coef_.toarray().ravel(), 40)  # fmt: skip
    part = few.dual_coef_ if isinstance(few.dual_coef_, np.ndarray) else few.dual_coef_.toarray()
    there = np.zeros(40)
    there[of[first][few.support_]] = part.ravel()
    np.testing.assert_allclose(total, there, atol=1e-8 * np.abs(there).max())
    # What is shown is said of all support vectors, what is evaluated of distinct ones.
    shown = many.support_vectors_
    shown = shown.toarray() if sp.issparse(shown) else shown
    np.testing.assert_array_equal(shown, np.asarray(X, shown.dtype)[many.support_])
    assert many.function_.vectors.shape[0] <= 40
    again = pickle.loads(pickle.dumps(many))
    np.testing.assert_array_equal(again.decision_function(new), many.decision_function(new))
    assert again.support_vectors_.shape == many.support_vectors_.shape


def test_positive_unlabelled_machine_of_weighted_rows(rng):
    X, of = repeated(rng, 2000, 60)
    y = (rng.random(60) < 0.3)[of].astype(int)
    _, first = np.unique(of, return_index=True)
    new = rng.normal(size=(30, 3))
    for threshold in ("risk", "prior", "leave-one-out"):
        make = PUSVM(prior=0.05, threshold=threshold, tol=1e-6)
        many = make.fit(X, y)
        found = many.decision_function(new), many.objective_
        few = make.fit(X[first], y[first], sample_weight=np.bincount(of).astype(float))
        np.testing.assert_allclose(found[0], few.decision_function(new), rtol=1e-7, atol=1e-8)
        assert found[1] == pytest.approx(few.objective_, rel=1e-8)


@pytest.mark.parametrize("balance", [False, True])
def test_semi_supervised_machine_of_weighted_rows(balance, rng):
    X, of = repeated(rng, 1500, 80)
    label = np.full(80, -1)
    label[:10] = np.arange(10) % 2
    y = label[of]
    _, first = np.unique(of, return_index=True)
    weight = np.bincount(of).astype(float)
    # A row that has a label in one place only.
    k = np.flatnonzero((of == 3) & (np.arange(1500) != first[3]))[0]
    y[k] = -1
    rows, labels = np.append(X[first], X[[k]], axis=0), np.append(label, -1)
    weight[3] -= 1.0
    many = S3VM(balance=balance, gamma=0.5, tol=1e-8).fit(X, y)
    few = S3VM(balance=balance, gamma=0.5, tol=1e-8).fit(
        rows, labels, sample_weight=np.append(weight, 1.0)
    )
    assert many.objective_ == pytest.approx(few.objective_, rel=1e-8)
    np.testing.assert_array_equal(many.transduction_[first], few.transduction_[:80])
    assert many.kkt_violation_ < 1e-6


def test_what_many_copies_cost(rng):
    Z = rng.normal(size=(10, 4))
    for machine in (SVDD(), SVDD(slack="linear", nu=0.2), OneClassSVM(nu=0.2)):
        machine.fit(np.repeat(Z, 2000, axis=0))
        assert machine.history_[-1]["kernel_values"] <= 500
        assert machine.duality_gap_ <= 1e-9
    y = np.repeat([0, 1, -1, -1, -1, -1, -1, -1, -1, -1], 2000)
    model = S3VM().fit(np.repeat(Z, 2000, axis=0), y)
    assert model.history_[-1]["kernel_values"] <= 20_000


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_sample_without_copies_of_rows_with_a_few(kernel, rng):
    y = np.arange(3600) % 2
    X, y = rng.normal(size=(3600, 3)) + 2.0 * y[:, None], np.where(np.arange(3600) < 40, y, -1)
    # Four labelled rows occur without a label too: a sample of the rows has hardly any pair.
    X[40:44] = X[:4]
    model = S3VM(kernel=kernel).fit(X, y)
    assert model.kkt_violation_ < 2e-3
    f = model.decision_function(X)
    cost = np.where(y < 0, 5.0 * np.maximum(0.0, 1.0 - np.abs(f)), 0.0)
    cost += np.where(y >= 0, 10.0 * np.maximum(0.0, 1.0 - (2 * y - 1) * f), 0.0)
    norm = model.dual_coef_[0] @ (
        model.decision_function(model.support_vectors_) - model.intercept_
    )
    assert model.objective_ == pytest.approx(0.5 * norm + cost.sum(), rel=1e-4)
