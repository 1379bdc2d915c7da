"""The global minimum of S3VM against every way to give signs; NN-BB around new rows."""

import warnings

import numpy as np
import pytest
from reference import kernel_matrix
from reference.s3vm import all_values, smallest_value
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels import S3VM
from fewlabels.kernels import RBF
from fewlabels.kernels.operators import BorderedGram, make_gram
from fewlabels.semi_supervised.sign_relaxation import SignRelaxation
from fewlabels.solvers import Status
from fewlabels.solvers.papers.branch_and_bound import branch_and_bound

BRANCHING = {"solver": "branch-and-bound"}
KERNELS = {
    "rbf": (dict(kernel="rbf", gamma=0.5), ("rbf", 0.5)),
    "linear": (dict(kernel="linear"), ("linear",)),
}


def problem(rng, labels=4, unlabeled=6, ties=False):
    """Rows of no structure, where local minima abound; labels 0, 1 and NaN."""
    n = labels + unlabeled
    X = rng.normal(size=(n, 2))
    if ties:
        X = rng.integers(0, 2, size=(n, 2)).astype(float)
    y = np.full(n, np.nan)
    y[:labels] = np.arange(labels) % 2
    return X, y


def coded(y):
    return np.where(np.isnan(y), 0.0, 2.0 * np.nan_to_num(y) - 1.0)


def balance_target(y, balance, weight=None):
    if balance is False:
        return None
    if balance is not True:
        return balance
    known = ~np.isnan(y)
    return float(np.average(2 * y[known] - 1, weights=None if weight is None else weight[known]))


def judge(model, X, y, reference, balance=True, weight=None):
    """Objective and conditions of a minimum, from data and coefficients alone."""
    K = kernel_matrix(reference, X - X.mean(axis=0) if reference == ("linear",) else X)
    coef = np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[0]
    f = kernel_matrix(reference, X) @ coef + model.intercept_[0]
    label, weight = coded(y), np.ones(len(X)) if weight is None else weight
    loss = np.where(label != 0, model.C, model.C_star) * weight
    loss = loss * np.maximum(0.0, 1.0 - np.where(label != 0, label * f, np.abs(f)))
    assert model.objective_ == pytest.approx(0.5 * coef @ K @ coef + loss.sum(), rel=1e-7)
    assert model.kkt_violation_ < 1e-7
    target = balance_target(y, balance, weight)
    if target is not None and np.isnan(y).any():
        free = np.isnan(y)
        assert np.average(f[free], weights=weight[free]) == pytest.approx(target, abs=1e-7)
    return K


@parametrize_with_checks([S3VM(max_nodes=200, **BRANCHING)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("balance", [True, 0.2, False])
@pytest.mark.parametrize("ties", [False, True])
def test_the_global_minimum(rng, kernel, balance, ties):
    parameters, reference = KERNELS[kernel]
    for C, C_star in ((10.0, 5.0), (0.5, 0.3)):
        X, y = problem(rng, ties=ties)
        model = S3VM(C=C, C_star=C_star, balance=balance, **parameters, **BRANCHING).fit(X, y)
        K = judge(model, X, y, reference, balance)
        price = np.where(np.isnan(y), C_star, C)
        smallest = smallest_value(K, coded(y), price, balance_target(y, balance))
        assert model.objective_ == pytest.approx(smallest, rel=1e-6)
        assert model.optimality_gap_ == 0.0 and model.fit_status_ == 0
        cccp = S3VM(C=C, C_star=C_star, balance=balance, tol=1e-9, **parameters).fit(X, y)
        assert model.objective_ <= cccp.objective_ * (1 + 1e-7)


@pytest.mark.parametrize("balance", [True, False])
def test_the_global_minimum_with_weights(rng, balance):
    X, y = problem(rng, labels=5)
    weight = rng.uniform(0.2, 3.0, len(X))
    weight[-1] = 0.0  # left out
    parameters, reference = KERNELS["rbf"]
    model = S3VM(balance=balance, **parameters, **BRANCHING).fit(X, y, sample_weight=weight)
    X, y, weight = X[:-1], y[:-1], weight[:-1]
    target = balance_target(y, balance, weight)
    price = weight * np.where(np.isnan(y), 5.0, 10.0)
    K = kernel_matrix(reference, X)
    smallest = smallest_value(K, coded(y), price, target, weight)
    assert model.objective_ == pytest.approx(smallest, rel=1e-6)
    assert model.optimality_gap_ == 0.0


def test_the_batch_solution_is_left_behind(rng):
    """Rows without structure: the procedure that the search begins at must fail sometimes."""
    better = 0
    for _ in range(5):
        X, y = problem(rng, unlabeled=8)
        cccp = S3VM(gamma=0.5, tol=1e-8).fit(X, y).objective_
        model = S3VM(gamma=0.5, **BRANCHING).fit(X, y)
        assert model.objectives_[0] == pytest.approx(cccp, rel=1e-6)
        assert model.objectives_[-1] == model.objective_
        better += model.objective_ < 0.999 * cccp
    assert better


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("balanced", [True, False])
def test_bounds_of_nodes_hold(rng, dense, balanced):
    """Every node, against the values of all signs below it."""
    X, y = problem(rng, unlabeled=5)
    label, unlabeled = coded(y), np.flatnonzero(np.isnan(y))
    price, target = np.where(label != 0, 2.0, 1.0), 0.1 if balanced else None
    gram = make_gram(RBF(0.5), X, dtype=np.float64)
    if balanced:
        gram = BorderedGram.mean_of(gram, unlabeled)
    values = all_values(kernel_matrix(("rbf", 0.5), X), label, price, target)
    relaxation = SignRelaxation(gram, label, price, target, dense=dense)

    def below(node):
        return [
            value
            for signs, value in values.items()
            if all(s in (0.0, t) for s, t in zip(node.side[unlabeled], signs, strict=True))
        ]

    waiting, n_leaves = [relaxation.root()], 0
    while waiting:
        node = waiting.pop()
        assert node.bound <= min(below(node)) * (1 + 1e-8)
        if relaxation.is_leaf(node):
            assert node.bound == pytest.approx(min(below(node)), rel=1e-7)
            n_leaves += 1
        else:
            children, n_solved = relaxation.split(node, np.inf)
            assert n_solved == 2 and min(child.bound for child in children) >= node.bound - 1e-12
            waiting += children
    assert n_leaves == 2 ** len(unlabeled)
    search = branch_and_bound(SignRelaxation(gram, label, price, target, dense=dense))
    assert search.value == pytest.approx(min(values.values()), rel=1e-7)
    assert search.status is Status.CONVERGED and search.gap <= 2e-9 * search.value
    signs = tuple(search.solution.sign[unlabeled])
    assert values[signs] == pytest.approx(min(values.values()), rel=1e-7)


def test_limits_say_how_far_the_minimum_may_be(rng):
    X, y = problem(rng, unlabeled=12)
    X = rng.normal(size=(len(X), 20))
    smallest = S3VM(**BRANCHING).fit(X, y).objective_
    last = np.inf
    for max_nodes in (1, 40, 120):
        with pytest.warns(ConvergenceWarning, match=r"not certified.*at most .* above.*max_nodes"):
            model = S3VM(max_nodes=max_nodes, **BRANCHING).fit(X, y)
        gap = model.optimality_gap_
        assert gap > 0.0 and model.fit_status_ == 1 and model.n_nodes_ <= max_nodes + 2
        assert model.objective_ - gap <= smallest <= model.objective_ * (1 + 1e-9)
        assert model.objective_ - gap >= 0.0 and gap <= last * (1 + 1e-9)
        last = gap
    # What waits would not fit into the memory allowed.
    with pytest.warns(ConvergenceWarning, match="cache_size"):
        S3VM(cache_size=1e-3, **BRANCHING).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        assert S3VM(max_time=1e-9, **BRANCHING).fit(X, y).optimality_gap_ > 0.0
    seen = []

    def stop(entry):
        seen.append(entry)
        return "nodes" in entry

    with pytest.warns(ConvergenceWarning, match="callback"):
        model = S3VM(**BRANCHING).fit(X, y, callback=stop)
    assert seen[-1]["lower_bound"] == pytest.approx(model.objective_ - model.optimality_gap_)
    assert [entry["round"] for entry in model.history_] == list(range(1, len(model.history_) + 1))


@pytest.mark.filterwarnings("ignore:the global minimum is not certified")
def test_the_gap_is_of_these_rows_only(rng):
    X, y = problem(rng)
    model = S3VM(gamma=0.5, **BRANCHING).fit(X[:-1], y[:-1])
    assert model.optimality_gap_ == 0.0
    model.partial_fit(X[-1:])
    with pytest.raises(AttributeError, match="until rows or labels"):
        _ = model.optimality_gap_
    model.consolidate()
    assert model.optimality_gap_ == 0.0
    model.set_params(max_nodes=1).consolidate()  # finds no better minimum, and proves less
    assert model.optimality_gap_ == 0.0
    model.relabel([-1], [1.0])
    assert not hasattr(model, "optimality_gap_")
    assert not hasattr(S3VM().fit(X, y), "optimality_gap_")


def test_bounds_need_an_inner_product(rng):
    X, y = problem(rng)
    with pytest.raises(ValueError, match="negative eigenvalues"):
        S3VM(kernel="sigmoid", gamma=2.0, coef0=1.0, **BRANCHING).fit(X, y)


def test_a_proof_for_many_rows_in_clusters(rng):
    """More rows than are kept as a whole matrix, few nodes."""
    truth = np.arange(330) % 2
    X = rng.normal(size=(330, 3)) * 0.2 + 2.0 * (2 * truth[:, None] - 1)
    y = np.where(np.arange(330) < 4, truth, np.nan)
    model = S3VM(gamma=0.2, **BRANCHING).fit(X, y)
    assert model.optimality_gap_ == 0.0 and model.fit_status_ == 0
    assert np.array_equal(model.transduction_, truth)
    judge(model, X, y, ("rbf", 0.2))


# -- NN-BB ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("balance", [True, 0.2, False])
def test_signs_around_a_new_row(rng, kernel, balance):
    """No signs of the neighbours are better, with all other signs as they are."""
    parameters, reference = KERNELS[kernel]
    for _ in range(3):
        X, y = problem(rng, labels=4, unlabeled=8)
        model = S3VM(balance=balance, n_neighbors=3, **parameters)
        model.fit(X[:-1], y[:-1]).set_params(**BRANCHING)
        path = S3VM(balance=balance, **parameters).fit(X[:-1], y[:-1]).partial_fit(X[-1:])
        assert model.partial_fit(X[-1:]) is model
        assert model.objective_ <= path.objective_ * (1 + 1e-9)
        K = judge(model, X, y, reference, balance)
        unlabeled = np.flatnonzero(np.isnan(y))
        distance = np.sum((X[unlabeled] - X[-1]) ** 2, axis=1)
        near = unlabeled[np.argsort(distance)[:4]]
        f = model.decision_function(X)
        held = np.where(np.isnan(y), np.where(f >= 0, 1.0, -1.0), coded(y))
        price = np.where(np.isnan(y), 5.0, 10.0)
        values = all_values(
            K, coded(y), price, balance_target(y, balance), searched=near, held=held
        )
        assert model.objective_ <= min(values.values()) * (1 + 1e-6)


def test_the_path_is_left_behind(rng):
    better = 0
    for _ in range(6):
        X, y = problem(rng, unlabeled=12)
        path = S3VM(gamma=0.5).fit(X[:-4], y[:-4]).partial_fit(X[-4:])
        model = S3VM(gamma=0.5).fit(X[:-4], y[:-4]).set_params(**BRANCHING).partial_fit(X[-4:])
        judge(model, X, y, ("rbf", 0.5))
        better += model.objective_ < 0.999 * path.objective_
    assert better


def test_as_many_neighbours_as_rows_find_the_global_minimum(rng):
    X, y = problem(rng, labels=4, unlabeled=8)
    model = S3VM(gamma=0.5, n_neighbors=8, **BRANCHING).fit(X[:-2], y[:-2])
    model.partial_fit(X[-2:])
    judge(model, X, y, ("rbf", 0.5))
    whole = S3VM(gamma=0.5, **BRANCHING).fit(X, y)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-7)
    assert model.n_nodes_ > 0


def test_a_stream_of_both_kinds_of_rows(rng):
    """Blocks, labels, removals and new labels keep a valid minimum, also from nothing."""
    X, y = problem(rng, labels=6, unlabeled=34)
    y[[24, 33]] = [1.0, 0.0]
    model = S3VM(gamma=0.5, n_neighbors=4, **BRANCHING)
    model.partial_fit(X[:20], y[:20], classes=[0, 1])
    for part in (slice(20, 21), slice(21, 30), slice(30, 40)):
        model.partial_fit(X[part], y[part])
        judge(model, X[: part.stop], y[: part.stop], ("rbf", 0.5))
    assert model.consolidation_due_  # twice the rows, also where other signs were taken
    model.forget([0, 7])
    X, y = np.delete(X, [0, 7], axis=0), np.delete(y, [0, 7])
    unlabeled = np.flatnonzero(np.isnan(y))[:2]
    y[unlabeled] = [0.0, 1.0]
    model.relabel(unlabeled, y[unlabeled])
    judge(model, X, y, ("rbf", 0.5))
    assert model.kkt_violation_ < 1e-9


def test_a_large_neighbourhood_may_be_cut_short(rng):
    X, y = problem(rng, labels=4, unlabeled=14)
    X = rng.normal(size=(len(X), 20))
    model = S3VM(n_neighbors=13).fit(X[:-1], y[:-1])
    model.set_params(max_nodes=2, **BRANCHING)
    with pytest.warns(ConvergenceWarning, match="around 1 of 1 new rows"):
        model.partial_fit(X[-1:])
    judge(model, X, y, ("rbf", model.gamma_))


def test_an_end_is_needed(rng):
    X, y = problem(rng)
    model = S3VM(gamma=0.5, max_steps=3, **BRANCHING).fit(X, y)
    with pytest.raises(ValueError, match="set max_steps=None"):
        model.partial_fit(X[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.forget([len(X) - 1])
        model.set_params(max_steps=None).partial_fit(X[-1:])
    judge(model, X, y, ("rbf", 0.5))
