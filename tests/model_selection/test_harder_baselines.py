"""Baselines that are chosen among several: a forest, a graph, a rank."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from fewlabels.baselines.methods import (
    NeighborDistance,
    RootNeighborDistance,
    TunedForest,
    TunedSpreading,
    one_class_methods,
    positive_unlabelled_methods,
    semi_supervised_methods,
)


def test_a_forest_takes_the_better_leaves(rng):
    X = rng.normal(size=(400, 4))
    y = (rng.random(400) < 0.2 + 0.6 * (X[:, 0] > 0)).astype(int)  # noisy: large leaves
    forest = TunedForest(n_estimators=50, random_state=0)
    assert clone(forest).fit(X, y).min_samples_leaf == 15
    sharp = (X[:, 0] > 0).astype(int)
    found = clone(forest).fit(X, sharp)
    assert len(found.estimators_) == 50 and found.n_estimators == 50
    assert roc_auc_score(sharp, found.predict_proba(X)[:, 1]) > 0.99
    few = clone(forest).fit(X[:6], np.array([0, 1, 0, 1, 0, 1]))
    assert few.predict(X[:6]).shape == (6,)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_spreading_over_the_better_graph(rng, n_classes):
    truth = np.repeat(np.arange(n_classes), 60)
    X = rng.normal(size=(len(truth), 2)) + 4.0 * truth[:, None]
    y = np.full(len(truth), -1)
    for k in range(n_classes):
        y[60 * k : 60 * k + 4] = k
    found = TunedSpreading(random_state=0).fit(X, y)
    assert np.mean(found.predict(X) == truth) > 0.95
    one = y.copy()
    one[1:4] = -1  # a class with one label: nothing can be held out
    assert TunedSpreading(random_state=0).fit(X, one).spreading_.n_neighbors == 7


def test_the_rank_is_the_root_of_the_rows(rng):
    X = rng.normal(size=(144, 3))
    expected = NeighborDistance(n_neighbors=12).fit(X).score_samples(X)
    np.testing.assert_array_equal(RootNeighborDistance().fit(X).score_samples(X), expected)
    assert RootNeighborDistance().fit(X[:1]).score_samples(X[:1]) == 0.0


def test_they_are_among_the_baselines():
    names = [
        m.name
        for of in (one_class_methods, positive_unlabelled_methods, semi_supervised_methods)
        for m in of(0)
    ]
    for name in (
        "distance to the root-n-th neighbour",
        "tuned forest, unlabelled as negative",
        "label spreading, best of several graphs",
    ):
        assert name in names
