"""``score`` of estimators, and searches without ``scoring=``."""

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, PUEnsemble
from fewlabels.baselines import PUBaseline, SemiSupervisedBaseline
from fewlabels.metrics import pu_auc
from fewlabels.model_selection import LabeledKFold


@pytest.fixture
def few(rng):
    truth = np.arange(300) % 2
    X = rng.normal(size=(300, 4)) + 2.0 * (2 * truth[:, None] - 1)
    return X, np.where(np.arange(300) < 30, truth, -1), truth


@pytest.fixture
def piles(rng):
    truth = np.arange(200) < 80
    X = rng.normal(size=(200, 2)) + 1.5 * truth[:, None]
    return X, np.where(np.arange(200) < 40, 1, 0), truth


@pytest.mark.parametrize("missing", [-1, None, np.nan, "?"])
def test_rows_without_a_label_do_not_count(missing, few):
    X, y, truth = few
    names = np.array(["a", "b"], dtype=object)
    y = np.where(y < 0, missing, names[y])
    unlabeled = missing if missing in (-1, "?") else None
    machine = S3VM(unlabeled=unlabeled).fit(X, y)
    right = machine.predict(X[:30]) == names[truth[:30]]
    assert machine.score(X, y) == right.mean() > 0.9
    weight = np.where(np.arange(300) < 10, 3.0, 1.0)
    assert machine.score(X, y, weight) == pytest.approx(np.average(right, weights=weight[:30]))


def test_a_mark_that_is_a_class_counts(rng):
    y = np.where(np.arange(60) % 2, 1, -1)
    X = rng.normal(size=(60, 2)) + 2.0 * y[:, None]
    with pytest.warns(UserWarning, match="both count as classes"):
        machine = S3VM().fit(X, y)
    assert machine.score(X, y) == np.mean(machine.predict(X) == y)
    assert machine.score(X, -y) < 0.1


def test_cross_validation_of_few_labels(few):
    X, y, _ = few
    assert cross_val_score(S3VM(), X, y, cv=3).min() > 0.9
    assert cross_val_score(S3VM(), X, y, cv=LabeledKFold(3)).min() > 0.9
    model = make_pipeline(StandardScaler(), SemiSupervisedBaseline("logistic"))
    assert cross_val_score(model, X, y, cv=3).min() > 0.9
    search = GridSearchCV(S3VM(), {"gamma": [1e-2, 1e3]}, cv=3).fit(X, y)
    assert search.best_params_ == {"gamma": 1e-2} and search.best_score_ > 0.9


def test_a_fold_without_labels_is_warned_of(few):
    X, y, _ = few
    machine = S3VM().fit(X, y)
    with pytest.warns(UndefinedMetricWarning, match="no row of y has a label"):
        assert np.isnan(machine.score(X[100:], y[100:]))


@pytest.mark.parametrize(
    "model", [PUSVM(0.25), PUEnsemble(prior=0.25, n_bags=3), PUBaseline("pu-logistic", prior=0.25)]
)
def test_positives_and_unlabelled_rows_are_scored_by_their_ranking(model, piles):
    X, y, truth = piles
    model.fit(X, y)
    f = model.decision_function(X)
    assert model.score(X, y) == pytest.approx(pu_auc(y, f))
    assert model.score(X, truth.astype(int)) == pytest.approx(roc_auc_score(truth, f))
    with pytest.warns(UndefinedMetricWarning, match="no positive row"):
        assert np.isnan(model.score(X[y == 0], y[y == 0]))


def test_a_search_does_not_take_unlabelled_rows_for_negatives(piles):
    X, y, _ = piles
    # Calling nothing positive has the best accuracy of all against such labels.
    kinds = {"gamma": [0.5, 1e4]}
    search = GridSearchCV(PUSVM(0.25), kinds, cv=StratifiedKFold(4)).fit(X, y)
    assert search.best_params_ == {"gamma": 0.5}
    assert search.best_score_ == pytest.approx(
        cross_val_score(PUSVM(0.25, gamma=0.5), X, y, scoring="roc_auc", cv=4).mean()
    )
    missing = np.where(y == 1, 1.0, np.nan)
    machine = PUSVM(0.25).fit(X, missing)
    assert machine.score(X, missing) == pytest.approx(pu_auc(y, machine.decision_function(X)))
