"""PUSVMCV: the grid in one go, and in scikit-learn's searches."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels import PUSVM
from fewlabels.metrics import make_pu_scorer
from fewlabels.model_selection import PUSVMCV, LabeledKFold, PUKFold

LAMS = (0.1, 0.01, 0.001)


def draw(rng, n, n_features=4, prior=0.4):
    """Three clouds per class; a tenth labelled positives, and the true classes."""
    centres = rng.normal(0, 0.7, (6, n_features))
    centres[3:, :4] += 1.5
    truth = np.r_[np.ones(n // 10), rng.random(n - n // 10) < prior].astype(int)
    cloud = rng.integers(0, 3, n) + 3 * truth
    X = centres[cloud] + rng.normal(0, 1.0, (n, n_features))
    y = np.r_[np.ones(n // 10), np.zeros(n - n // 10)]
    order = rng.permutation(n)
    return X[order], y[order], truth[order]


@pytest.fixture
def pu_data(rng):
    return draw(rng, 400)


@parametrize_with_checks([PUSVMCV(lams=[0.1, 0.01], gammas=["scale"], cv=2, prior=0.3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- the same as candidates fitted one by one ---------------------------------------------


@pytest.mark.parametrize("scoring", ["auc-risk", "pu-risk", "lee-liu"])
def test_scores_are_those_of_a_grid_search(scoring, pu_data):
    X, y, _ = pu_data
    cv = PUKFold(3, shuffle=True, random_state=1)
    found = PUSVMCV(LAMS, [0.05, 0.3], cv, scoring, prior=0.4, tol=1e-6).fit(X, y)
    grid = GridSearchCV(
        PUSVM(prior=0.4, tol=1e-6),
        {"gamma": [0.05, 0.3], "lam": list(LAMS)},
        scoring=make_pu_scorer(scoring, prior=0.4),
        cv=cv,
        error_score="raise",
    ).fit(X, y)
    table = pd.DataFrame(found.cv_results_)
    np.testing.assert_array_equal(table["param_lam"], grid.cv_results_["param_lam"])
    np.testing.assert_array_equal(table["param_gamma"], grid.cv_results_["param_gamma"])
    for name in ("split0_test_score", "mean_test_score", "std_test_score"):
        np.testing.assert_allclose(table[name], grid.cv_results_[name], atol=1e-4)
    assert found.best_score_ == pytest.approx(grid.best_score_, abs=1e-4)
    np.testing.assert_allclose(
        found.decision_function(X), grid.best_estimator_.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_values_held_in_memory_change_nothing(kernel, rng):
    # 200 columns are dear enough to hold the matrix; with little memory it is not.
    X, y, _ = draw(rng, 300, n_features=200)
    options = dict(lams=LAMS, gammas=[0.002, 0.01], prior=0.4, kernel=kernel, cv=3, tol=1e-6)
    held = PUSVMCV(**options).fit(X, y)
    walked = PUSVMCV(**options, cache_size=0.1).fit(X, y)
    for name in ("mean_test_score", "split2_test_score"):
        np.testing.assert_allclose(held.cv_results_[name], walked.cv_results_[name], atol=1e-4)
    if kernel == "rbf":
        assert held.kernel_values_ == 2 * 300**2 < walked.kernel_values_


def test_a_grid_evaluates_fewer_kernel_values_than_separate_fits(rng):
    X, y, _ = draw(rng, 1500, n_features=6)
    lams = np.logspace(-1, -2, 6)
    machine = PUSVM(prior=0.4, gamma=0.1)
    apart = [clone(machine).set_params(lam=lam).fit(X, y) for lam in lams]
    everything = np.arange(1500)
    found = PUSVMCV(lams, [0.1], [(everything, everything)], prior=0.4).fit(X, y)
    separate = sum(m.history_[-1]["kernel_values"] for m in apart)
    assert found.kernel_values_ < 0.7 * separate


def test_it_chooses_well(rng):
    # Against the candidates' accuracy on the hidden truth.
    X, y, truth = draw(rng, 800, prior=0.4)
    new_X, _, new_truth = X[:300], y[:300], truth[:300]
    X, y = X[300:], y[300:]
    found = PUSVMCV(gammas=[0.01, 0.1, 1.0, 10.0], prior=0.4).fit(X, y)
    accuracy = [
        np.mean(
            (PUSVM(prior=0.4, lam=lam, gamma=gamma).fit(X, y).predict(new_X) == 1) == new_truth
        )
        for lam, gamma in zip(
            found.cv_results_["param_lam"], found.cv_results_["param_gamma"], strict=True
        )
    ]
    own = np.mean((found.predict(new_X) == 1) == new_truth)
    assert own > max(accuracy) - 0.05 > min(accuracy) + 0.05


@pytest.mark.parametrize(
    "settings",
    [{"loss": "ramp"}, {"threshold": "risk"}, {"kernel": "linear"}, {"solver": "usmo"}],
    ids=str,
)
def test_other_settings_reach_the_machines(settings, rng):
    X, y, _ = draw(rng, 150)
    settings = {"prior": 0.4, "tol": 1e-6, **settings}
    cv = PUKFold(2, shuffle=True, random_state=0)
    found = PUSVMCV([0.1, 0.01], ["scale"], cv, "pu-risk", **settings).fit(X, y)
    train, test = next(cv.split(X, y))
    gamma = 1.0 / (4 * X.var())
    machine = PUSVM(lam=0.01, gamma=gamma, **settings).fit(X[train], y[train])
    expected = make_pu_scorer("pu-risk", prior=0.4)(machine, X[test], y[test])
    assert found.cv_results_["split0_test_score"][1] == pytest.approx(expected, abs=1e-6)
    assert found.best_estimator_.get_params().items() >= settings.items()


# -- what goes in and what comes out --------------------------------------------------------


def test_attributes(pu_data):
    X, y, _ = pu_data
    found = PUSVMCV(LAMS, ["scale", "auto"], cv=4, prior=0.4).fit(X, y)
    assert found.n_splits_ == 4 and len(found.cv_results_["mean_test_score"]) == 6
    best = found.best_index_
    assert found.cv_results_["rank_test_score"][best] == 1
    assert found.cv_results_["param_lam"][best] == found.lam_ == found.best_estimator_.lam
    assert found.cv_results_["param_gamma"][best] == found.gamma_ == found.best_estimator_.gamma_
    assert set(found.cv_results_["param_gamma"]) == {0.25, 1.0 / (4 * X.var())}
    assert isinstance(found.best_estimator_, PUSVM) and type(found.best_estimator_) is PUSVM
    refitted = PUSVM(prior=0.4, lam=found.lam_, gamma=found.gamma_).fit(X, y)
    np.testing.assert_array_equal(found.decision_function(X), refitted.decision_function(X))
    twin = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(twin.predict(X), found.predict(X))
    again = clone(found).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), found.decision_function(X))


def test_the_default_grid(pu_data):
    X, y, _ = pu_data
    found = PUSVMCV(prior=0.4, cv=2).fit(X, y)
    scale = 1.0 / (4 * X.var())
    gammas = np.repeat([scale / 4, scale, 4 * scale], 7)
    np.testing.assert_allclose(found.cv_results_["param_gamma"], gammas)
    prices = np.tile([10, 3, 1, 0.3, 0.1, 0.03, 0.01], 3)
    np.testing.assert_allclose(found.cv_results_["param_lam"], prices / y.sum())


@pytest.mark.filterwarnings("ignore:the class prior is uncertain")
def test_an_estimated_prior_is_the_same_for_all(pu_data):
    X, y, _ = pu_data
    found = PUSVMCV([0.1, 0.01], ["scale"], cv=2).fit(X, y)
    expected = PUSVM().fit(X, y)
    assert found.prior_ == expected.prior_ == found.best_estimator_.prior_
    assert found.prior_interval_ == expected.prior_interval_


@pytest.mark.parametrize("coding", ["nan", "words", "reversed"])
def test_codings_of_labels(coding, pu_data):
    X, y, _ = pu_data
    coded, options = {
        "nan": (np.where(y == 1, 1.0, np.nan), {}),
        "words": (np.where(y == 1, "yes", None), {}),
        "reversed": (1 - y, {"pos_label": 0.0}),
    }[coding]
    expected = PUSVMCV(LAMS, [0.1], 3, prior=0.4).fit(X, y)
    found = PUSVMCV(LAMS, [0.1], 3, prior=0.4, **options).fit(X, coded)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert found.best_score_ == expected.best_score_
    predicted = pd.Series(found.predict(X)) == found.classes_[1]
    np.testing.assert_array_equal(predicted, expected.predict(X) == 1)


def test_kinds_of_rows(pu_data):
    X, y, _ = pu_data
    options = dict(lams=LAMS, gammas=[0.1], cv=3, prior=0.4)
    expected = PUSVMCV(**options).fit(X, y)
    frame = PUSVMCV(**options).fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert frame.feature_names_in_.tolist() == list("abcd")
    sparse = PUSVMCV(**options).fit(sp.csr_array(X), y)
    K = rbf_kernel(X, gamma=0.1)
    given = PUSVMCV(**{**options, "kernel": "precomputed"}).fit(K, y)
    called = PUSVMCV(**options, kernel=lambda a, b: rbf_kernel(a, b, gamma=0.1)).fit(X, y)
    for other, rows in (
        (frame, pd.DataFrame(X, columns=list("abcd"))),
        (sparse, sp.csr_array(X)),
        (given, K),
        (called, X),
    ):
        assert other.lam_ == expected.lam_
        np.testing.assert_allclose(
            other.decision_function(rows), expected.decision_function(X), atol=5e-3
        )


def test_weights_are_repetitions(rng):
    X, y, _ = draw(rng, 120)
    weight = rng.integers(0, 4, 120)
    rows = np.repeat(np.arange(120), weight)
    folds = list(PUKFold(3).split(X, y))
    repeated = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in folds]
    options = dict(lams=LAMS, gammas=["scale"], prior=0.4, tol=1e-7, threshold="risk")
    weighted = PUSVMCV(**options, cv=folds).fit(X, y, sample_weight=weight)
    expected = PUSVMCV(**options, cv=repeated).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighted.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], atol=1e-5
    )
    np.testing.assert_allclose(
        weighted.decision_function(X), expected.decision_function(X), atol=1e-4
    )


def test_rows_of_weight_zero_are_as_if_left_out(pu_data):
    X, y, _ = pu_data
    weight = np.r_[np.zeros(100), np.ones(300)]
    options = dict(lams=LAMS, gammas=["scale"], cv=3, prior=0.4)
    found = PUSVMCV(**options).fit(X, y, sample_weight=weight)
    expected = PUSVMCV(**options).fit(X[100:], y[100:])
    assert found.best_score_ == pytest.approx(expected.best_score_)
    np.testing.assert_allclose(
        found.decision_function(X), expected.decision_function(X), atol=1e-9
    )


def test_a_scorer_of_your_own(pu_data):
    X, y, _ = pu_data
    seen = []

    def prefers_the_middle(machine, X, y):
        seen.append((machine.prior_, X.shape, len(y)))
        return -abs(np.log(machine.lam / 0.01))

    found = PUSVMCV(LAMS, [0.1], 4, prefers_the_middle, prior=0.4).fit(X, y)
    assert found.lam_ == 0.01 and found.best_score_ == 0.0
    assert seen == [(0.4, (100, 4), 100)] * 12


def test_the_first_of_equal_scores_wins(pu_data):
    X, y, _ = pu_data
    found = PUSVMCV((0.001, 0.1, 0.01), [0.1, 0.3], 2, lambda *a: 0.0, prior=0.4).fit(X, y)
    assert (found.lam_, found.gamma_) == (0.1, 0.1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lams": []}, "pass one or more numbers > 0"),
        ({"lams": [0.1, 0.0]}, "pass one or more numbers > 0"),
        ({"gammas": []}, "gammas is empty"),
        ({"gammas": [-1.0]}, "gamma"),
        ({"scoring": "accuracy"}, "scoring"),
        ({"cv": 1}, "cv"),
        ({"cv": 60}, "40 positive rows for 60 folds"),
        ({"cv": LabeledKFold(3, unlabeled=0)}, "no unlabelled row"),
        ({"prior": 1.5}, "strictly between 0 and 1"),
        ({"loss": "ramp", "solver": "usmo"}, "solver='usmo' is for"),
    ],
)
def test_refused_with_a_sentence(settings, words, pu_data):
    X, y, _ = pu_data
    with pytest.raises(ValueError, match=words):
        PUSVMCV(**{"prior": 0.4, "lams": LAMS, **settings}).fit(X, y)


# -- scikit-learn's searches around PUSVM ---------------------------------------------------


@pytest.mark.parametrize("search", [GridSearchCV, HalvingGridSearchCV])
@pytest.mark.parametrize("metric", ["auc-risk", "nn-pu-risk", "pu-auc", "lee-liu"])
def test_searches_around_a_pipeline(search, metric, pu_data):
    X, y, truth = pu_data
    options = {} if search is GridSearchCV else dict(min_resources=200, random_state=0)
    found = search(
        make_pipeline(StandardScaler(), PUSVM(prior=0.4)),
        {"pusvm__lam": [0.1, 0.003], "pusvm__gamma": [0.1, 30.0]},
        scoring=make_pu_scorer(metric),
        cv=PUKFold(3, shuffle=True, random_state=0),
        error_score="raise",
        **options,
    ).fit(100 * X, y)
    assert found.best_params_["pusvm__gamma"] == 0.1
    hidden = y == 0
    assert np.mean((found.predict(100 * X) == 1)[hidden] == truth[hidden]) > 0.7


def test_missing_labels_inside_a_grid_search(pu_data):
    X, y, _ = pu_data
    y = np.where(y == 1, 1.0, np.nan)
    grid = GridSearchCV(
        PUSVM(prior=0.4), {"gamma": [0.1, 30.0]}, scoring=make_pu_scorer("pu-risk"),
        cv=PUKFold(3), error_score="raise",
    ).fit(X, y)  # fmt: skip
    assert grid.best_params_ == {"gamma": 0.1}


def test_pusvmcv_inside_cross_validation(pu_data):
    X, y, _ = pu_data
    scores = cross_val_score(
        make_pipeline(StandardScaler(), PUSVMCV(LAMS, ["scale"], 2, prior=0.4)),
        X, y, cv=PUKFold(3), scoring=make_pu_scorer("pu-auc"), error_score="raise",
    )  # fmt: skip
    assert np.all(scores > 0.6)
