"""PUEnsemble: bags, weights of members, posterior, soft labels, threshold."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reference import kernel_matrix
from reference.pu import clouds
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels import PUEnsemble
from fewlabels.kernels import RBF
from fewlabels.kernels.operators import PrecomputedGram, make_gram
from fewlabels.positive_unlabelled import bags, ensemble
from fewlabels.positive_unlabelled.bags import DistinctPURows, sample_bag, train_bagged_models
from fewlabels.positive_unlabelled.data import PUData
from fewlabels.positive_unlabelled.problem import soft_labels
from fewlabels.positive_unlabelled.scores import fit_logistic
from fewlabels.solvers import Status, solve_decomposition

SETTINGS = [dict(), dict(kernel="linear"), dict(kernel="poly", degree=2)]


@parametrize_with_checks([PUEnsemble(prior=0.3, n_bags=3, **settings) for settings in SETTINGS])
def test_estimator_checks(estimator, check):
    check(estimator)


# -- first stage -----------------------------------------------------------------------------


def distinct(X, y, weight=None):
    return DistinctPURows(PUData(X, y == 1, weight, RBF(1.0)), X)


def test_distinct_rows_do_not_depend_on_order_or_on_how_weights_are_written(rng):
    X, y = clouds(rng, 30, 10)
    weight = rng.integers(1, 5, 40).astype(float)
    rows = np.repeat(np.arange(40), weight.astype(int))
    rows = rng.permutation(rows)
    one, two = distinct(X, y, weight), distinct(X[rows], y[rows])
    assert one.n_positive == two.n_positive == 10
    np.testing.assert_array_equal(X[one.index], X[rows][two.index])
    assert np.all(y[one.index[:10]] == 1) and np.all(y[one.index[10:]] == 0)
    for name in ("weight", "total_weight", "label"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.total_weight, weight[one.index])
    for a, b in zip(one.drawn, two.drawn, strict=True):
        np.testing.assert_array_equal(a, b)
    unlabeled = np.flatnonzero(y[rows] == 0)
    np.testing.assert_array_equal(X[rows][two.index[two.place]], X[rows][unlabeled])


def test_bags_are_means_of_machines_and_scores_are_held_out(rng):
    X, y = clouds(rng, 60, 20)
    weight = rng.integers(1, 3, 80).astype(float)
    rows = distinct(X, y, weight)
    points, n_bags, prices = X[rows.index], 4, (0.5, 3.0)
    gram = make_gram(RBF(0.2), points, dtype=np.float64)
    found = train_bagged_models(gram, 3, prices, rows, n_bags, 1e-7, seed=5)
    draws = np.random.default_rng(5)
    drawn = [sample_bag(rows.drawn, draws) for _ in range(n_bags)]
    for k in range(3):
        K = kernel_matrix(("rbf", 0.2 * 2**k), points)
        for c, price in enumerate(prices):
            coef, bias, sums, out = np.zeros(80), 0.0, np.zeros(80), np.zeros(80)
            for bag, times in drawn:
                machine = SVC(C=price, kernel="precomputed", tol=1e-9)
                machine.fit(K[np.ix_(bag, bag)], rows.label[bag], sample_weight=times)
                a = np.zeros(80)
                a[bag[machine.support_]] = machine.dual_coef_[0]
                held_out = np.setdiff1d(np.arange(80), bag)
                sums[held_out] += (K @ a + machine.intercept_[0])[held_out]
                out[held_out] += 1
                coef, bias = coef + a / n_bags, bias + machine.intercept_[0] / n_bags
            # Where no row is on the margin, the bias is any of an interval.
            np.testing.assert_allclose(K @ found.coef[k, c], K @ coef, atol=1e-4)
            np.testing.assert_allclose(found.bias[k, c], bias, atol=1e-4)
            seen = out > 0
            np.testing.assert_allclose(found.scores[k, c, seen], sums[seen] / out[seen], atol=2e-4)
            mean = np.average(found.scores[k, c, seen], weights=rows.weight[seen])
            np.testing.assert_allclose(found.scores[k, c, ~seen], mean, atol=1e-12)
    assert found.unfinished is None and found.n_iter > 0


def test_a_bag_holds_a_bootstrap_and_at_most_half_of_the_rest(rng):
    for n, p in ((100, 20), (30, 20), (1, 5), (2, 1)):
        X, y = clouds(rng, n, p)
        rows = distinct(X, y)
        draws = np.random.default_rng(0)
        for _ in range(5):
            bag, times = sample_bag(rows.drawn, draws)
            assert np.sum(times[rows.label[bag] > 0]) == p
            assert np.all(times[rows.label[bag] < 0] == 1)
            assert np.sum(rows.label[bag] < 0) == min(p, (n + 1) // 2)


def test_values_in_parts_are_the_same(rng, monkeypatch):
    X, y = clouds(rng, 60, 20)
    rows = distinct(X, y)
    gram = make_gram(RBF(0.2), X[rows.index], dtype=np.float64)
    whole = train_bagged_models(gram, 2, (1.0,), rows, 3, 1e-6, 0)
    monkeypatch.setattr(bags, "_MAX_VALUES_AT_A_TIME", 1)
    parts = train_bagged_models(gram, 2, (1.0,), rows, 3, 1e-6, 0)
    np.testing.assert_allclose(parts.scores, whole.scores, atol=1e-12)
    stored = PrecomputedGram(gram.block(np.arange(80)))
    one = train_bagged_models(stored, 1, (1.0,), rows, 3, 1e-6, 0)
    np.testing.assert_allclose(one.scores[0], whole.scores[0], atol=1e-10)


def test_members_are_weighted_by_their_area(rng):
    X, y = clouds(rng, 150, 40, distance=1.0)
    machine = PUEnsemble(0.4).fit(X, y)
    assert machine.auc_.shape == machine.weights_.shape == (5, 2)
    np.testing.assert_allclose(machine.gammas_, machine.gamma_ * 2.0 ** np.arange(-3, 2))
    expected = np.exp((machine.auc_ - machine.auc_.max()) / 0.01)
    expected /= expected.sum()
    expected[expected < 1e-3] = 0.0
    np.testing.assert_allclose(machine.weights_, expected / expected.sum())
    # The prior has no part in them.
    np.testing.assert_array_equal(PUEnsemble(0.2).fit(X, y).weights_, machine.weights_)
    rows = distinct(X, y)
    gram = make_gram(RBF(machine.gammas_[0]), X[rows.index], dtype=np.float64)
    scores = train_bagged_models(gram, 5, (1.0, 10.0), rows, 30, 1e-2, 0).scores
    assert machine.auc_[2, 1] == pytest.approx(roc_auc_score(rows.label, scores[2, 1]), abs=1e-3)


# -- posterior and second stage ----------------------------------------------------------------


def test_logistic_is_the_minimum(rng):
    x = np.r_[rng.normal(size=200), rng.normal(size=100) + 2]
    weight = rng.uniform(0.5, 2.0, 300)
    features = np.column_stack([x, np.ones(300)])
    share = weight / weight.sum()
    for prior in (0.05, 0.35, 0.9):
        target = prior * np.array([0.8, 1.0])
        t = fit_logistic(features, weight, target, [True, False])

        def value(t, target=target):
            risk = share @ np.logaddexp(0.0, features @ t) - target @ t
            return risk + 0.5e-3 * t[0] ** 2

        best = minimize(value, t + 0.3, method="BFGS", options={"gtol": 1e-9})
        assert value(t) <= best.fun + 1e-9
        np.testing.assert_allclose(t, best.x, rtol=1e-3, atol=1e-5)
        # The free constant makes the mean probability the prior.
        assert share @ expit(features @ t) == pytest.approx(prior, abs=1e-9)


def test_logistic_never_falls(rng):
    # Positive rows that score lower than the others: nothing is learnt, nothing reversed.
    x = rng.normal(size=200)
    features = np.column_stack([x, np.ones(200)])
    t = fit_logistic(features, np.ones(200), 0.3 * np.array([-1.0, 1.0]), [True, False])
    assert t[0] == 1e-3
    assert expit(features @ t).mean() == pytest.approx(0.3, abs=1e-9)
    t = fit_logistic(np.zeros((50, 2)), np.ones(50), np.zeros(2), [True, True])
    assert np.all(np.isfinite(t)) and np.all(t >= 1e-3)


def test_soft_labels_are_two_rows_of_opposite_labels(rng):
    X = rng.normal(size=(60, 3))
    q = np.r_[np.ones(10), rng.uniform(1e-3, 1 - 1e-3, 50)]
    price = rng.uniform(0.2, 1.0, 60)
    K = kernel_matrix(("rbf", 0.4), X)
    result = solve_decomposition(soft_labels(PrecomputedGram(K), q, price), tol=1e-8)
    twice = np.r_[np.arange(60), np.arange(10, 60)]
    label = np.r_[np.ones(60), -np.ones(50)]
    weight = np.r_[q * price, ((1 - q) * price)[10:]]
    machine = SVC(C=1.0, kernel="precomputed", tol=1e-9)
    machine.fit(K[np.ix_(twice, twice)], label, sample_weight=weight)
    expected = machine.decision_function(K[:, twice])
    np.testing.assert_allclose(K @ result.a - result.multiplier, expected, atol=1e-5)


def test_standardised_sum_of_both_stages_is_cut_at_the_prior(rng):
    """The recipe written down for small data, from the stages' own parts."""
    X, y = clouds(rng, 120, 30, distance=1.0)
    machine = PUEnsemble(0.4, tol=1e-6, random_state=3).fit(X, y)
    rows = distinct(X, y)
    points, unlabeled = X[rows.index], rows.label < 0
    gram = make_gram(RBF(machine.gammas_[0]), points, dtype=np.float64)
    bags = train_bagged_models(gram, 5, (1.0, 10.0), rows, 30, 1e-6, 3)
    kernels = [kernel_matrix(("rbf", g), points) for g in machine.gammas_]
    first, held_out = np.zeros(150), np.zeros(150)
    for k, c in np.ndindex(5, 2):
        score, w = bags.scores[k, c], machine.weights_[k, c]
        inside = kernels[k] @ bags.coef[k, c] + bags.bias[k, c]
        first += w * (inside - score.mean()) / score.std()
        held_out += w * (score - score.mean()) / score.std()
    x = (held_out - held_out[unlabeled].mean()) / held_out[unlabeled].std()

    def risk(t):
        fitted = np.logaddexp(0.0, t[0] * x[unlabeled] + t[1]).mean()
        return fitted - 0.4 * (t[0] * x[~unlabeled].mean() + t[1]) + 0.5e-3 * t[0] ** 2

    t = minimize(risk, [1.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    q = np.where(unlabeled, expit(t[0] * x + t[1]), 1.0)
    K = sum(w * part for w, part in zip(machine.weights_.sum(axis=1), kernels, strict=True))
    price = np.full(150, 0.3)
    second = solve_decomposition(soft_labels(PrecomputedGram(K), q, price), tol=1e-8)
    inside = K @ second.a - second.multiplier
    without_own = inside - second.a

    def standardised(values, reference):
        return (values - reference[unlabeled].mean()) / reference[unlabeled].std()

    final = standardised(first, held_out) + standardised(inside, without_own)
    honest = standardised(held_out, held_out) + standardised(without_own, without_own)
    ordered = np.sort(honest[unlabeled])[::-1]
    cut = 0.5 * (ordered[47] + ordered[48])
    np.testing.assert_allclose(machine.decision_function(points), final - cut, atol=2e-3)


def test_linear_kernel_is_the_second_stage_alone(rng):
    X, y = clouds(rng, 120, 30, distance=1.0)
    machine = PUEnsemble(0.4, kernel="linear", tol=1e-5).fit(X, y)
    assert machine.dual_coef_.shape[0] == 1 and machine.weights_.shape == (1, 3)
    np.testing.assert_allclose(
        machine.decision_function(X), X @ machine.coef_[0] + machine.intercept_, atol=1e-9
    )
    size = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    np.testing.assert_allclose(machine.prices_ * size, [0.1, 1.0, 10.0])
    # Coefficients of the second stage are within its prices.
    assert np.abs(machine.dual_coef_).max() <= 0.3 / size * (1 + 1e-9)
    # The unit and the place of the rows do not matter.
    moved = PUEnsemble(0.4, kernel="linear", tol=1e-5).fit(100 * X + 7, y)
    np.testing.assert_allclose(
        moved.decision_function(100 * X + 7), machine.decision_function(X), atol=1e-3
    )


# -- the machine -------------------------------------------------------------------------------


def matrix_of(machine, k, rows, vectors):
    gamma = machine.gammas_[k]
    reference = {
        "rbf": ("rbf", gamma), "linear": ("linear",), "poly": ("poly", gamma, 2, 1.0)
    }[machine.kernel_]  # fmt: skip
    return kernel_matrix(reference, np.vstack([rows, vectors]))[: len(rows), len(rows) :]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_attributes_are_the_decision(settings, rng):
    X, y = clouds(rng, 120, 30, distance=1.0)
    machine = PUEnsemble(0.4, n_bags=5, **settings).fit(X, y)
    new = rng.normal(size=(17, 3))
    expected = machine.intercept_[0] + sum(
        matrix_of(machine, k, new, machine.support_vectors_) @ dual
        for k, dual in enumerate(machine.dual_coef_)
    )
    np.testing.assert_allclose(machine.decision_function(new), expected, atol=1e-9)
    np.testing.assert_array_equal(machine.support_vectors_, X[machine.support_])
    np.testing.assert_array_equal(
        machine.n_support_, [np.sum(y[machine.support_] == v) for v in (0, 1)]
    )
    np.testing.assert_allclose(machine.dual_coef_.sum(), 0.0, atol=1e-9)
    assert machine.n_iter_ > 0 and machine.fit_status_ == 0 and machine.history_


@pytest.mark.parametrize("prior", [0.05, 0.333, 0.6])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_share_is_the_prior_and_probabilities_agree(settings, prior, rng):
    X, y = clouds(rng, 150, 30, distance=1.0)
    machine = PUEnsemble(prior, n_bags=5, **settings).fit(X, y)
    assert abs(np.mean(machine.transduction_[y == 0]) - prior) <= 0.5 / 150 + 1e-12
    assert np.all(machine.transduction_[y == 1] == 1)
    f, proba = machine.decision_function(X), machine.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(machine.classes_[proba.argmax(axis=1)], machine.predict(X))
    np.testing.assert_array_equal(machine.predict(X) == 1, f > 0)
    assert np.all(np.diff(proba[np.argsort(f), 1]) >= 0)
    assert proba[y == 0, 1].mean() == pytest.approx(prior, abs=0.12)


def test_finds_hidden_positives_of_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    X, truth = StandardScaler().fit_transform(X), y == 0
    known = truth & (np.random.default_rng(0).random(len(y)) < 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        machine = PUEnsemble().fit(X, known)
    hidden = truth[~known]
    assert abs(machine.prior_ - hidden.mean()) < 0.1
    low, high = machine.prior_interval_
    assert low <= machine.prior_ <= high
    assert np.mean(machine.transduction_[~known] == hidden) > 0.91
    assert roc_auc_score(hidden, machine.decision_function(X[~known])) > 0.97
    error = np.mean((machine.predict_proba(X[~known])[:, 1] - hidden) ** 2)
    assert error < 0.08


# -- weights and rows --------------------------------------------------------------------------


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_weights_are_repetitions_in_any_order(settings, rng):
    X, y = clouds(rng, 60, 20, distance=1.0)
    weight = rng.integers(0, 4, 80).astype(float)
    weight[[5, 40]] = -1.0, 0.0
    rows = rng.permutation(np.repeat(np.arange(80), np.maximum(weight, 0).astype(int)))
    machine = PUEnsemble(0.4, n_bags=5, **settings)
    weighted = machine.fit(X, y, sample_weight=weight)
    decision, labels = weighted.decision_function(X), weighted.transduction_
    left_out = weight <= 0
    np.testing.assert_array_equal(
        labels[left_out], np.where(y == 1, 1, weighted.predict(X))[left_out]
    )
    assert np.all(weight[weighted.support_] > 0)
    repeated = machine.fit(X[rows], y[rows])
    np.testing.assert_allclose(repeated.decision_function(X), decision, atol=1e-9)
    np.testing.assert_array_equal(repeated.transduction_, labels[rows])
    # Rounding may lead elsewhere, within the tolerance.
    unit = machine.fit(X, y, sample_weight=7.0 * weight)
    np.testing.assert_allclose(unit.decision_function(X), decision, atol=1e-2)


def test_precomputed_kernel(rng):
    X, y = clouds(rng, 60, 20, distance=1.0)
    K = kernel_matrix(("rbf", 0.3), X)
    weight = rng.integers(1, 3, 80).astype(float)
    machine = PUEnsemble(0.4, kernel="precomputed", n_bags=5)
    expected = machine.fit(K, y, sample_weight=weight).decision_function(K)
    by_hand = K[:, machine.support_] @ machine.dual_coef_[0] + machine.intercept_
    np.testing.assert_allclose(expected, by_hand, atol=1e-9)
    rows = rng.permutation(np.repeat(np.arange(80), weight.astype(int)))
    again = machine.fit(K[np.ix_(rows, rows)], y[rows])
    np.testing.assert_allclose(again.decision_function(K[:, rows]), expected, atol=1e-6)
    hidden = np.arange(80) < 44
    assert roc_auc_score(hidden[20:], expected[20:]) > 0.7
    with pytest.raises(ValueError, match="square kernel matrix"):
        machine.fit(K[:, :50], y)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_sparse_single_precision_and_frames(settings, rng):
    X, y = clouds(rng, 60, 20, 6)
    X = np.where(np.abs(X) > 1.0, np.round(X, 2), 0.0)
    machine = PUEnsemble(0.4, n_bags=5, tol=1e-6, **settings)
    expected = machine.fit(X, y).decision_function(X)
    sparse = machine.fit(sp.csr_array(X), y)
    assert sp.issparse(sparse.support_vectors_)
    np.testing.assert_allclose(sparse.decision_function(sp.csc_matrix(X)), expected, atol=1e-4)
    single = X.astype(np.float32)
    np.testing.assert_allclose(
        machine.fit(single, y).decision_function(single), expected, atol=1e-3
    )
    frame = pd.DataFrame(X, columns=list("abcdef"))
    named = machine.fit(frame, pd.Series(y))
    np.testing.assert_array_equal(named.decision_function(frame), expected)
    np.testing.assert_array_equal(named.feature_names_in_, list("abcdef"))


def test_more_rows_than_double_precision_is_used_for(rng):
    X, y = clouds(rng, 1500, 100, 4, distance=1.0)
    machine = PUEnsemble(0.4, kernel="rbf", n_bags=10).fit(X, y)
    hidden = np.arange(1500) < 600
    f = machine.decision_function(X[100:])
    assert roc_auc_score(hidden, f) > 0.88
    expected = machine.intercept_[0] + sum(
        matrix_of(machine, k, X[100:140], machine.support_vectors_) @ dual
        for k, dual in enumerate(machine.dual_coef_)
    )
    np.testing.assert_allclose(f[:40], expected, atol=1e-3)
    assert np.mean((machine.transduction_[100:] == 1) == hidden) > 0.8


def test_codings_of_y(rng):
    X, y = clouds(rng, 60, 20)
    expected = PUEnsemble(0.4, n_bags=3).fit(X, y).predict(X) == 1
    for coded, positive in (
        (np.where(y == 1, "yes", "unknown"), "yes"),
        (np.where(y == 1, 1.0, np.nan), 1.0),
        (pd.Series(np.where(y == 1, "a", "b")), "a"),
        (y.astype(bool), True),
    ):
        pos_label = "a" if positive == "a" else None
        machine = PUEnsemble(0.4, n_bags=3, pos_label=pos_label).fit(X, coded)
        np.testing.assert_array_equal(machine.predict(X) == positive, expected)
        assert machine.classes_[1] == positive
        assert machine.transduction_.dtype == machine.classes_.dtype


# -- edges -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n, p", [(40, 1), (1, 10), (1, 1), (12, 30), (3, 2)])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_few_rows(settings, n, p, rng):
    X, y = clouds(rng, n, p)
    machine = PUEnsemble(0.4, **settings).fit(X, y)
    assert np.isfinite(machine.decision_function(X)).all()
    assert np.isfinite(machine.predict_proba(X)).all()
    share = np.mean(machine.transduction_[y == 0])
    assert abs(share - 0.4) <= 0.5 / n + 1e-12


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("prior", [0.3, 0.7])
def test_all_rows_alike(kernel, prior):
    X, y = np.full((50, 2), 1.7), np.repeat([1.0, 0.0], [5, 45])
    machine = PUEnsemble(prior, kernel=kernel, gamma=0.5).fit(X, y)
    assert np.all(machine.predict(X) == (prior > 0.5))


def test_equal_rows_are_held_out_together(rng):
    # A copy in the bag would give a row away.
    X, y = clouds(rng, 60, 20, distance=1.0)
    one = PUEnsemble(0.4, gamma=0.3, n_bags=5).fit(X, y)
    twice = PUEnsemble(0.4, gamma=0.3, n_bags=5).fit(np.vstack([X, X]), np.r_[y, y])
    np.testing.assert_allclose(twice.decision_function(X), one.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(twice.transduction_, np.tile(one.transduction_, 2))


def test_same_seed_same_machine(rng):
    X, y = clouds(rng, 150, 40, distance=1.0)
    expected = PUEnsemble(0.4).fit(X, y).decision_function(X)
    for same in (dict(), dict(random_state=0), dict(n_jobs=1), dict(n_jobs=2)):
        again = PUEnsemble(0.4, **same).fit(X, y).decision_function(X)
        np.testing.assert_array_equal(again, expected)
    other = PUEnsemble(0.4, random_state=1).fit(X, y).decision_function(X)
    assert np.abs(other - expected).max() > 1e-3
    assert np.corrcoef(other, expected)[0, 1] > 0.95
    states = [PUEnsemble(0.4, random_state=np.random.RandomState(4)).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(states[0].decision_function(X), states[1].decision_function(X))


def test_copies(rng):
    X, y = clouds(rng, 60, 20)
    machine = PUEnsemble(0.4, n_bags=3)
    with pytest.raises(NotFittedError):
        machine.predict_proba(X)
    fitted = machine.fit(X, y)
    assert not hasattr(clone(fitted), "dual_coef_")
    twin = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(twin.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = fitted.coef_


def test_uncertain_prior_warns_at_the_caller(rng):
    X, y = clouds(rng, 20, 5, distance=0.5)
    with pytest.warns(UserWarning, match=r"class prior is uncertain") as caught:
        PUEnsemble(n_bags=3).fit(X, y)
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize("module", [ensemble, bags])
def test_unfinished_machines_warn_and_are_usable(module, rng, monkeypatch):
    X, y = clouds(rng, 60, 20, distance=1.0)
    solve = module.solve_decomposition

    def stopped(*args, **options):
        return solve(*args, **options, max_iter=1)

    monkeypatch.setattr(module, "solve_decomposition", stopped)
    with pytest.warns(ConvergenceWarning, match="PUEnsemble stopped early") as caught:
        machine = PUEnsemble(0.4, n_bags=3).fit(X, y)
    assert [w.filename for w in caught] == [__file__]
    assert machine.fit_status_ == 1
    assert np.isfinite(machine.decision_function(X)).all()


def test_interrupt_in_a_bag_ends_the_fit(rng, monkeypatch):
    X, y = clouds(rng, 60, 20)
    solve = bags.solve_decomposition

    def interrupted(*args, **options):
        result = solve(*args, **options)
        result.status = Status.INTERRUPTED
        return result

    monkeypatch.setattr(bags, "solve_decomposition", interrupted)
    with pytest.raises(KeyboardInterrupt):
        PUEnsemble(0.4, n_bags=3).fit(X, y)


def test_verbose_prints_and_silence_does_not(rng, capsys):
    X, y = clouds(rng, 60, 20)
    PUEnsemble(0.4, n_bags=3).fit(X, y)
    assert capsys.readouterr().out == ""
    PUEnsemble(0.4, n_bags=3, verbose=True).fit(X, y)
    assert capsys.readouterr().out.startswith("[PUEnsemble] round 1: violation")


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"prior": 0.0}, "prior=0 is not allowed.*strictly between 0 and 1"),
        ({"prior": 1.5}, "prior=1.5 is not allowed"),
        ({"kernel": "sigmoid"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"n_bags": 0}, "n_bags"),
        ({"tol": 0.0}, "tol"),
        ({"cache_size": 0}, "cache_size"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_wrong_parameters(parameters, message, rng):
    X, y = clouds(rng, 20, 5)
    with pytest.raises(ValueError, match=message):
        PUEnsemble(**{"prior": 0.4, "n_bags": 3, **parameters}).fit(X, y)


def test_wrong_data(rng):
    X, y = clouds(rng, 30, 10)
    machine = PUEnsemble(0.4, n_bags=3)
    with pytest.raises(ValueError, match="y is None"):
        machine.fit(X, None)
    with pytest.raises(ValueError, match="3 different values"):
        machine.fit(X, np.arange(40) % 3)
    with pytest.raises(ValueError, match=r"one class only.*unlabelled rows a weight"):
        machine.fit(X, y, sample_weight=y)
    far = np.vstack([X[y == 1] + 50.0, np.tile(X[y == 0], (20, 1))])
    with pytest.warns(UserWarning, match="contradicts the data"):
        PUEnsemble(0.9, gamma=0.5, n_bags=3).fit(
            np.vstack([np.repeat(far[:10], 20, axis=0), far[10:]]), np.repeat([1, 0], [200, 600])
        )
