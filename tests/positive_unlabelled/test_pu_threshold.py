"""Where PUSVM cuts: its three thresholds, and priors that the data contradict."""

import warnings

import numpy as np
import pytest
from reference.pu import clouds

from fewlabels import PUSVM
from fewlabels.positive_unlabelled.scores import quantile_cut


def shares(machine, X, y, weight=None):
    """Share of the unlabelled rows that are positive by transduction_ and by predict."""
    unlabeled = y == 0
    weight = None if weight is None else weight[unlabeled]
    return [
        np.average(labels[unlabeled] == 1, weights=weight)
        for labels in (machine.transduction_, machine.predict(X))
    ]


def attainable(f, share):
    """The nearest share that a cut between distinct values of f can give."""
    f = np.sort(f)[::-1]
    ends = np.flatnonzero(f[:-1] - f[1:] > 1e-9 * (1e-3 + np.abs(f).max())) + 1
    possible = np.concatenate([[0], ends, [len(f)]]) / len(f)
    return np.abs(possible - share).min()


@pytest.mark.parametrize("loss", ["double-hinge", "ramp"])
@pytest.mark.parametrize("prior", [0.01, 0.1, 0.333, 0.5, 0.8])
def test_share_is_the_prior(loss, prior, rng):
    for lam in (1e-3, 0.1, 10.0):
        for kernel in ("rbf", "linear"):
            X, y = clouds(rng, 150, 6)
            machine = PUSVM(prior, lam, loss, "prior", kernel=kernel).fit(X, y)
            # f is the same, -1 or 1, at all rows between breakpoints.
            best = attainable(machine.decision_function(X[y == 0]), prior)
            for share in shares(machine, X, y):
                assert abs(share - prior) <= max(0.5 / 150, best) + 1e-12
            assert np.all(machine.transduction_[y == 1] == 1)


def test_share_is_the_prior_for_smooth_functions(rng):
    # A heavy norm keeps all f apart: no ties to excuse anything.
    X, y = clouds(rng, 150, 6)
    for prior in np.linspace(0.004, 0.996, 30):
        machine = PUSVM(float(prior), 5.0, threshold="prior").fit(X, y)
        assert attainable(machine.decision_function(X[y == 0]), prior) < 1 / 150
        for share in shares(machine, X, y):
            assert abs(share - prior) <= 0.5 / 150 + 1e-12


def test_share_of_the_weight(rng):
    X, y = clouds(rng, 150, 40)
    weight = rng.exponential(size=190)
    machine = PUSVM(0.4, threshold="prior").fit(X, y, sample_weight=weight)
    largest = weight[y == 0].max() / weight[y == 0].sum()
    for share in shares(machine, X, y, weight):
        assert abs(share - 0.4) <= 0.5 * largest + 1e-12


@pytest.mark.parametrize("prior", [0.02, 0.2, 0.4, 0.6, 0.7, 0.9, 0.98])
def test_ties_take_the_nearest_share_that_exists(prior, rng):
    # Unlabelled rows at three places only: 20 %, 30 % and 50 % of them.
    places = np.array([[2.0], [0.5], [-1.0]])
    X = np.vstack([np.full((5, 1), 2.0), np.repeat(places, [20, 30, 50], axis=0)])
    y = np.repeat([1.0, 0.0], [5, 100])
    machine = PUSVM(prior, threshold="prior", gamma=0.5).fit(X, y)
    # Places where f is the same, -1 or 1 for instance, are one.
    f = machine.decision_function(places)
    assert f[0] > f[1] >= f[2] - 1e-12  # equal, to rounding
    one = f[1] - f[2] < 1e-9
    possible = np.array([0.0, 0.2, 1.0] if one else [0.0, 0.2, 0.5, 1.0])
    for share in shares(machine, X, y):
        assert abs(share - prior) == pytest.approx(np.abs(possible - prior).min())


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("value", [0.0, 1.7, 1e8])
@pytest.mark.parametrize("prior", [0.3, 0.7])
def test_all_rows_alike(kernel, value, prior):
    X, y = np.full((50, 2), value), np.repeat([1.0, 0.0], [5, 45])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = PUSVM(prior, threshold="prior", kernel=kernel, gamma=0.5).fit(X, y)
    assert shares(machine, X, y) == [prior > 0.5] * 2


@pytest.mark.parametrize("loss", ["double-hinge", "ramp"])
def test_equal_rows_get_equal_labels_in_single_precision(loss, rng):
    # More than a thousand rows: values in float32, rows of working sets in float64.
    X = rng.integers(0, 6, size=(2500, 2)).astype(float)
    X[:1000] = rng.integers(3, 6, size=(1000, 2))
    y = np.zeros(2500)
    y[rng.choice(1000, 300, replace=False)] = 1
    place = 10 * X[:, 0] + X[:, 1]
    for prior in (0.2, 0.3, 0.37):
        machine = PUSVM(prior, loss=loss, gamma=0.3).fit(X, y)
        for labels in (machine.transduction_[y == 0], machine.predict(X)[y == 0]):
            for at in np.unique(place):
                assert len(np.unique(labels[place[y == 0] == at])) <= 1
        np.testing.assert_array_equal(machine.transduction_[y == 0], machine.predict(X)[y == 0])


@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_transduction_is_what_predict_says(n, kernel, rng):
    X, y = clouds(rng, n, 100, 4, distance=1.0)
    for threshold in ("leave-one-out", "prior", "risk"):
        machine = PUSVM(0.4, 0.05, threshold=threshold, kernel=kernel).fit(X, y)
        predicted = machine.predict(X)
        np.testing.assert_array_equal(machine.transduction_[y == 0], predicted[y == 0])
        assert machine.intercept_.shape == (1,)
    assert machine.intercept_[0] == machine.risk_intercept_


def test_threshold_changes_the_intercept_alone(rng):
    X, y = clouds(rng)
    by_prior, by_risk = (PUSVM(0.4, threshold=t).fit(X, y) for t in ("prior", "risk"))
    np.testing.assert_array_equal(by_prior.dual_coef_, by_risk.dual_coef_)
    assert by_prior.risk_intercept_ == by_risk.risk_intercept_
    assert by_prior.objective_ == by_risk.objective_
    shift = by_prior.decision_function(X) - by_risk.decision_function(X)
    np.testing.assert_allclose(shift, shift[0], atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_leave_one_out_does_not_depend_on_which_dual_solution_was_found(kernel, rng):
    # Few columns, or equal rows: the function is unique, the coefficients are not.
    X, y = clouds(rng, 120, 40, 2, distance=1.0)
    if kernel == "rbf":
        X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    order = rng.permutation(len(y))
    cuts = [
        PUSVM(0.4, 0.01, "double-hinge", "leave-one-out", kernel, tol=1e-8, solver=s)
        .fit(X[o], y[o])
        .intercept_[0]
        for s in ("decomposition", "qp")
        for o in (np.arange(len(y)), order)
    ]
    np.testing.assert_allclose(cuts, cuts[0], atol=1e-4)


# -- a prior that contradicts the data -----------------------------------------------------


def random_draw(rng, kind, d):
    """A function that draws rows of a class, 0 or 1."""
    return {
        "gaussian": lambda size, label: rng.normal(size=(size, d)) + 2 * label,
        "far": lambda size, label: rng.normal(size=(size, d)) + 20 * label,
        "binary": lambda size, label: rng.integers(0, 2, (size, d)) + 5.0 * label,
        "cauchy": lambda size, label: rng.standard_cauchy((size, d)) + 3 * label,
        "one place": lambda size, label: np.full((size, d), 0.3 + 1.1 * label),
    }[kind]


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("kind", ["gaussian", "far", "binary", "cauchy", "one place"])
def test_true_prior_is_never_doubted(kind, kernel, rng):
    for _ in range(40):
        n, p, prior = rng.integers(20, 300), rng.integers(3, 150), rng.uniform(0.05, 0.95)
        draw = random_draw(rng, kind, int(rng.integers(1, 5)))
        hidden = rng.random(n) < prior
        X = np.vstack([draw(p, 1), np.where(hidden[:, None], draw(n, 1), draw(n, 0))])
        y = np.repeat([1.0, 0.0], [p, n])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", message=".*contradicts the data")
            PUSVM(float(prior), kernel=kernel, max_iter=1).fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_impossible_prior_is_used_with_a_warning(kernel, rng):
    X, y = clouds(rng, 400, 200, 2, prior=0.1, distance=5.0)
    X = X @ X.T if kernel == "precomputed" else X
    with pytest.warns(UserWarning, match=r"prior=0\.8 contradicts the data.*used anyway"):
        machine = PUSVM(0.8, kernel=kernel).fit(X, y)
    assert machine.prior_ == 0.8 and machine.prior_interval_ is None
    assert np.isfinite(machine.decision_function(X)).all() and machine.fit_status_ == 0
    with pytest.warns(UserWarning, match="contradicts the data"):
        path = PUSVM(kernel=kernel).path(X, y, prior=[0.1, 0.8])
    assert [m.prior_ for m in path] == [0.1, 0.8]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PUSVM(0.1, kernel=kernel).fit(X, y)


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, 1.5, 30, float("nan"), float("inf"), True])
def test_prior_outside_its_range(prior, rng):
    X, y = clouds(rng, 20, 5)
    with pytest.raises(ValueError, match=r"prior=.*between 0 and 1"):
        PUSVM(prior).fit(X, y)


@pytest.mark.parametrize("prior", [None, "0.3", "guess", [0.3]])
def test_prior_of_another_type(prior, rng):
    X, y = clouds(rng, 20, 5)
    with pytest.raises(ValueError, match="prior"):
        PUSVM(prior).fit(X, y)


def test_many_rows_close_together_are_not_one():
    # Neighbours are nearer to each other than rounding, the ends are far apart.
    f = np.random.default_rng(0).normal(size=100_000)
    weight = np.ones(len(f))
    for share in (0.01, 0.1, 0.5):
        cut = quantile_cut(f, weight, share, rounding=1e-4)
        assert np.mean(f > cut) == pytest.approx(share, abs=2e-4)
    # Rows that are equal to rounding still stay on one side.
    f[f > 0] = 1.0 + 1e-5 * f[f > 0]
    assert np.mean(f > quantile_cut(f, weight, 0.1, rounding=1e-4)) == 0.0


def test_a_narrow_kernel_over_many_rows_marks_the_prior(rng):
    direction = 0.45 * rng.choice([-1.0, 1.0], 30)

    def rows(n, share):
        positive = rng.random(n) < share
        return rng.normal(size=(n, 30)) + positive[:, None] * direction, positive

    X, positive = rows(8000, 0.15)
    y = np.zeros(8000)
    y[np.flatnonzero(positive)[:400]] = 1
    new, _ = rows(8000, 0.1)
    machine = PUSVM(0.1, gamma=4.0 / (30 * X.var()), lam=0.15 / 400).fit(X, y)
    assert machine.predict(new).mean() == pytest.approx(0.1, abs=0.03)
