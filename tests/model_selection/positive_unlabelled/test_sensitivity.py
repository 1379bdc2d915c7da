"""Refitting along priors."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM
from fewlabels.metrics import pu_risk
from fewlabels.model_selection import prior_sensitivity

COLUMNS = ["prior", "base", "share_positive", "n_changed", "objective", "risk"]


@pytest.fixture
def pu_data(rng):
    X = np.concatenate([rng.normal(1, 1, (140, 3)), rng.normal(-1, 1, (160, 3))])
    y = np.r_[np.ones(60), np.zeros(240)]
    order = rng.permutation(300)
    return X[order], y[order]


@pytest.mark.parametrize("threshold", ["prior", "risk"])
def test_the_table_is_that_of_separate_fits(threshold, pu_data):
    X, y = pu_data
    machine = PUSVM(prior=0.3, threshold=threshold, tol=1e-6)
    table = prior_sensitivity(machine, X, y, [0.4, 0.2, 0.3, 0.35])
    assert table.columns.tolist() == COLUMNS
    assert table["prior"].tolist() == [0.2, 0.3, 0.35, 0.4]
    assert table["base"].tolist() == [False, True, False, False]
    hidden = X[y == 0]
    base = PUSVM(prior=0.3, threshold=threshold, tol=1e-6).fit(X, y).predict(hidden)
    for row in table.itertuples():
        apart = PUSVM(prior=row.prior, threshold=threshold, tol=1e-6).fit(X, y)
        assert row.objective == pytest.approx(apart.objective_, abs=1e-5)
        answer = apart.predict(hidden)
        # Rows on the boundary may fall to either side.
        assert row.share_positive == pytest.approx(np.mean(answer == 1), abs=0.01)
        assert row.n_changed == pytest.approx(np.sum(answer != base), abs=3)
        assert row.risk == pytest.approx(pu_risk(y, apart.predict(X) - 0.5, row.prior), abs=0.02)
    assert table.loc[table["base"], "n_changed"].item() == 0
    assert "prior" in repr(machine) and not hasattr(machine, "prior_")


def test_rows_to_compare(pu_data):
    X, y = pu_data
    grid = np.random.default_rng(0).normal(size=(50, 3))
    table = prior_sensitivity(PUSVM(prior=0.3), X, y, [0.2], X_eval=grid)
    found = PUSVM(prior=0.2).fit(X, y).predict(grid)
    assert table["share_positive"][0] == pytest.approx(np.mean(found == 1), abs=0.021)


@pytest.mark.filterwarnings("ignore:the class prior is uncertain")
def test_an_estimated_prior_is_the_base(pu_data):
    X, y = pu_data
    table = prior_sensitivity(PUSVM(), X, y, [0.2])
    assert table.loc[table["base"], "prior"].item() == PUSVM().fit(X, y).prior_


def test_pipelines_and_precomputed_kernels(pu_data):
    X, y = pu_data
    Z = StandardScaler().fit_transform(100 * X)
    expected = prior_sensitivity(PUSVM(prior=0.3, gamma=0.3), Z, y, [0.2, 0.4], X_eval=Z[:40])
    pipeline = make_pipeline(StandardScaler(), PUSVM(prior=0.3, gamma=0.3))
    found = prior_sensitivity(pipeline, 100 * X, y, [0.2, 0.4], X_eval=100 * X[:40])
    np.testing.assert_allclose(found[COLUMNS[2:]], expected[COLUMNS[2:]], atol=1e-12)
    alone = Pipeline([("model", PUSVM(prior=0.3, gamma=0.3))])
    found = prior_sensitivity(alone, Z, y, [0.2, 0.4], X_eval=Z[:40])
    np.testing.assert_allclose(found[COLUMNS[2:]], expected[COLUMNS[2:]], atol=1e-12)
    K = rbf_kernel(Z, gamma=0.3)
    given = PUSVM(prior=0.3, kernel="precomputed")
    found = prior_sensitivity(given, K, y, [0.2, 0.4], X_eval=K[:40])
    np.testing.assert_allclose(found["objective"], expected["objective"], atol=1e-3)


class Cut(ClassifierMixin, BaseEstimator):
    """Some estimator with a prior, without path or objective."""

    def __init__(self, prior=0.5):
        self.prior = prior

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.at_ = np.quantile(X[y == 0, 0], 1 - self.prior)
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > self.at_).astype(int)]


def test_other_estimators(pu_data):
    X, y = pu_data
    table = prior_sensitivity(Cut(0.3), X, y, [0.25, 0.5])
    np.testing.assert_allclose(table["share_positive"], [0.25, 0.3, 0.5])
    assert table["n_changed"].tolist() == [12, 0, 48]
    assert table["objective"].isna().all()


@pytest.mark.parametrize("coding", ["nan", "reversed"])
def test_codings_of_labels(coding, pu_data):
    X, y = pu_data
    expected = prior_sensitivity(PUSVM(prior=0.3), X, y, [0.2, 0.4])
    coded, options = (
        (np.where(y == 1, 1.0, np.nan), {}) if coding == "nan" else (1 - y, {"pos_label": 0})
    )
    found = prior_sensitivity(PUSVM(prior=0.3, **options), X, coded, [0.2, 0.4])
    np.testing.assert_array_equal(found, expected)


def test_refused_with_a_sentence(pu_data):
    X, y = pu_data
    for wrong in ([], [0.3, 1.0]):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            prior_sensitivity(PUSVM(prior=0.3), X, y, wrong)
    with pytest.raises(ValueError, match="LogisticRegression has no parameter prior"):
        prior_sensitivity(LogisticRegression(), X, y, [0.3])
    # One unlabelled row in ten is where the positives are.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) + np.repeat([0.0, 30.0], [240, 360])[:, None]
    y = np.repeat([1, 0], [200, 400])
    with pytest.warns(UserWarning, match=r"prior=0.9 contradicts the data"):
        prior_sensitivity(PUSVM(prior=0.1), X, y, [0.2, 0.9])
