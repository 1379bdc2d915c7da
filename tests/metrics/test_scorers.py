"""Metrics as scorers, inside scikit-learn's searches."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels.class_prior import pooled_from_unlabeled
from fewlabels.metrics import lee_liu_score, make_pu_scorer, pu_auc, pu_f1, pu_risk
from fewlabels.model_selection import PUKFold

METRICS = [
    "pu-risk", "nn-pu-risk", "pu-auc", "auc-risk", "lee-liu",
    "pu-recall", "pu-precision", "pu-f1", "pu-accuracy", "proxy-accuracy", "proxy-auc",
]  # fmt: skip


@pytest.fixture
def pu_data(rng):
    """Two clouds; 60 labelled positives and 240 unlabelled rows, a third of them positive."""
    X = np.concatenate([rng.normal(1, 1, (140, 2)), rng.normal(-1, 1, (160, 2))])
    y = np.r_[np.ones(60), np.zeros(240)]
    order = rng.permutation(300)
    return X[order], y[order]


class Tilted(ClassifierMixin, BaseEstimator):
    """Decides by the sum of the columns; knows a prior."""

    def __init__(self, prior=0.3, shift=0.0):
        self.prior = prior
        self.shift = shift

    def fit(self, X, y):
        self.classes_, self.prior_ = np.unique(y), self.prior
        return self

    def decision_function(self, X):
        return X.sum(axis=1) + self.shift

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def test_scores_are_the_metrics(pu_data):
    X, y = pu_data
    machine = LogisticRegression(class_weight="balanced").fit(X, y)
    f, answer = machine.decision_function(X), machine.predict(X)
    weight = np.linspace(0.5, 2.0, len(y))
    cases = {
        make_pu_scorer("pu-risk", prior=0.3): -pu_risk(y, f, 0.3),
        make_pu_scorer("pu-risk", prior=0.3, loss="ramp"): -pu_risk(y, f, 0.3, loss="ramp"),
        make_pu_scorer("nn-pu-risk", prior=0.9): -pu_risk(y, f, 0.9, non_negative=True),
        make_pu_scorer("pu-auc", prior=0.3): pu_auc(y, f, 0.3),
        make_pu_scorer("pu-auc"): pu_auc(y, f),
        make_pu_scorer("auc-risk", prior=0.7): (
            pu_auc(y, f) - pu_risk(y, f, 0.7, non_negative=True)
        ),
        make_pu_scorer("lee-liu", convention="pooled"): lee_liu_score(
            y, answer, convention="pooled"
        ),
        make_pu_scorer("pu-f1", prior=0.4, convention="pooled"): pu_f1(
            y, answer, 0.4, convention="pooled"
        ),
    }
    for scorer, expected in cases.items():
        assert scorer(machine, X, y) == pytest.approx(expected, abs=1e-15), scorer
    weighted = make_pu_scorer("pu-risk", prior=0.3)(machine, X, y, sample_weight=weight)
    assert weighted == -pu_risk(y, f, 0.3, sample_weight=weight)


@pytest.mark.parametrize("metric", METRICS)
def test_the_prior_of_the_fitted_estimator(metric, pu_data):
    X, y = pu_data
    scorer, given = make_pu_scorer(metric), make_pu_scorer(metric, prior=0.3)
    machine = Tilted(prior=0.3).fit(X, y)
    assert scorer(machine, X, y) == given(machine, X, y)
    # Wherever the estimator sits.
    pipeline = make_pipeline(StandardScaler(), Tilted(prior=0.3)).fit(X, y)
    assert scorer(pipeline, X, y) == given(pipeline, X, y)
    grid = GridSearchCV(pipeline, {"tilted__shift": [0.0]}, scoring=scorer, cv=PUKFold(3)).fit(
        X, y
    )
    assert scorer(grid, X, y) == given(grid, X, y)
    # An estimator's prior is a share of the unlabelled rows.
    pooled = make_pu_scorer(metric, convention="pooled")
    prior = pooled_from_unlabeled(0.3, 60, 240)
    given = make_pu_scorer(metric, prior=prior, convention="pooled")
    assert pooled(machine, X, y) == pytest.approx(given(machine, X, y), abs=1e-15)


def test_probabilities_become_decisions(pu_data):
    X, y = pu_data
    machine = GaussianNB().fit(X, y)
    p = machine.predict_proba(X)[:, 1]
    risk = make_pu_scorer("pu-risk", prior=0.3)(machine, X, y)
    assert risk == -pu_risk(y, p - 0.5, 0.3)
    squared = make_pu_scorer("pu-risk", prior=0.3, loss="squared")(machine, X, y)
    assert squared == pytest.approx(-pu_risk(y, 2 * p - 1, 0.3, loss="squared"))
    logistic = make_pu_scorer("pu-risk", prior=0.3, loss="logistic")(machine, X, y)
    assert logistic == pytest.approx(-pu_risk(y, np.log(p / (1 - p)), 0.3, loss="logistic"))
    # Probabilities of 0 and 1 have no log-odds; the score stays finite.
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert np.isfinite(make_pu_scorer("pu-risk", prior=0.3, loss="logistic")(forest, X, y))


@pytest.mark.parametrize(
    "machine", [LogisticRegression(tol=1e-12), GaussianNB()], ids=["decisions", "probabilities"]
)
@pytest.mark.parametrize("metric", METRICS)
def test_the_positive_class_may_be_the_first(metric, machine, pu_data):
    X, y = pu_data
    expected = make_pu_scorer(metric, prior=0.3)(clone(machine).fit(X, y), X, y)
    turned = clone(machine).fit(X, 1 - y)
    scorer = make_pu_scorer(metric, prior=0.3, pos_label=0)
    assert scorer(turned, X, 1 - y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_scorers_pickle_and_tell_what_they_are(metric, pu_data):
    X, y = pu_data
    scorer = make_pu_scorer(metric, prior=0.25, convention="pooled")
    machine = Tilted().fit(X, y)
    assert pickle.loads(pickle.dumps(scorer))(machine, X, y) == scorer(machine, X, y)
    assert eval(repr(scorer))(machine, X, y) == scorer(machine, X, y)


@pytest.mark.parametrize(
    "search",
    [
        lambda *a, **k: GridSearchCV(*a, n_jobs=1, **k),
        lambda *a, **k: HalvingGridSearchCV(*a, min_resources=150, random_state=0, **k),
    ],
    ids=["grid", "halving"],
)
@pytest.mark.parametrize("metric", ["pu-risk", "pu-auc", "lee-liu"])
def test_searches_find_the_shift_that_is_right(search, metric, pu_data):
    X, y = pu_data
    found = search(
        make_pipeline(StandardScaler(with_mean=False), Tilted(prior=0.333)),
        {"tilted__shift": [-3.0, 0.0, 3.0]},
        scoring=make_pu_scorer(metric),
        cv=PUKFold(3),
        error_score="raise",
    ).fit(X, y)
    if metric != "pu-auc":  # which does not see a shift
        assert found.best_params_ == {"tilted__shift": 0.0}
    assert np.all(np.isfinite(found.cv_results_["mean_test_score"]))


def test_several_metrics_at_once(pu_data):
    X, y = pu_data
    scoring = {metric: make_pu_scorer(metric, prior=0.333) for metric in METRICS}
    machine = LogisticRegression(class_weight="balanced")
    found = cross_validate(machine, X, y, cv=PUKFold(4), scoring=scoring, error_score="raise")
    accuracy, risk = found["test_pu-accuracy"], found["test_pu-risk"]
    np.testing.assert_allclose(accuracy, 1 + risk)
    assert np.mean(accuracy) > 0.8


def test_metadata_routing(pu_data):
    from sklearn import config_context

    X, y = pu_data
    with config_context(enable_metadata_routing=True):
        grid = GridSearchCV(
            Tilted(), {"shift": [0.0, 1.0]}, scoring=make_pu_scorer("pu-risk"), cv=PUKFold(3),
            error_score="raise",
        )  # fmt: skip
        assert np.isfinite(grid.fit(X, y).best_score_)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_pu_scorer("f1"), "metric='f1' is not valid.*pu-f1"),
        (lambda: make_pu_scorer("pu-risk", prior=1.2), "prior=1.2 is not allowed"),
        (lambda: make_pu_scorer("pu-risk", loss="hinge"), "loss='hinge' is not allowed"),
        (lambda: make_pu_scorer("pu-auc", loss="ramp"), "loss='ramp' is not allowed with"),
        (lambda: make_pu_scorer("pu-f1", convention="both"), "convention='both' is not valid"),
    ],
)
def test_refused_when_made(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_refused_when_used(pu_data):
    X, y = pu_data
    machine = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="needs the class prior, and LogisticRegression has no"):
        make_pu_scorer("pu-risk")(machine, X, y)
    with pytest.raises(ValueError, match=r"pos_label=2 is not one of the estimator's classes_"):
        make_pu_scorer("pu-auc", pos_label=2)(machine, X, y)
    # A fold without positives is not taken for one of positives only.
    rest = y == 0
    with pytest.raises(ValueError, match="no positive row"):
        make_pu_scorer("pu-auc")(machine, X[rest], y[rest])
    with pytest.raises(ValueError, match="no unlabelled row"):
        make_pu_scorer("pu-auc")(machine, X[~rest], y[~rest])


def test_estimators_without_decisions(pu_data):
    X, y = pu_data

    class Silent(NearestCentroid):
        decision_function = property()
        predict_proba = property()

    machine = Silent().fit(X, y)
    assert make_pu_scorer("lee-liu")(machine, X, y) > 0
    with pytest.raises(ValueError, match="neither decision_function nor predict_proba"):
        make_pu_scorer("pu-auc")(machine, X, y)


@pytest.mark.parametrize("convention", ["unlabeled", "pooled"])
def test_proxies_are_what_they_are_defined_as(pu_data, convention):
    # Definitions 1 and 2 of arXiv 2509.24228; "pooled" is their one-sample setting.
    X, y = pu_data
    machine, prior = LogisticRegression(class_weight="balanced").fit(X, y), 0.45
    f, positive = machine.decision_function(X), y == 1
    population = f[~positive] if convention == "unlabeled" else f
    accuracy = 2 * prior * np.mean(f[positive] > 0) + np.mean(population <= 0)
    made = {"prior": prior, "convention": convention}
    found = make_pu_scorer("proxy-accuracy", **made)(machine, X, y)
    assert found == pytest.approx(accuracy, abs=1e-12)
    ours, others = f[positive][:, None], f[~positive]
    area = np.mean((ours > others) + 0.5 * (ours == others))
    assert make_pu_scorer("proxy-auc", **made)(machine, X, y) == pytest.approx(area, abs=1e-12)
