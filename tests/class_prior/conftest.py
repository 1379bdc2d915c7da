"""Positive-unlabelled data with a known prior."""

import numpy as np
import pytest


@pytest.fixture
def mixture(rng):
    """Function: rows of two Gaussians ``apart`` from each other, labels, share of positives."""

    def make(prior=0.3, n_positive=100, n_unlabeled=900, apart=4.0, d=2):
        hidden = round(prior * n_unlabeled)
        X = rng.normal(size=(n_positive + n_unlabeled, d))
        X[: n_positive + hidden, 0] += apart
        y = np.zeros(n_positive + n_unlabeled)
        y[:n_positive] = 1.0
        order = rng.permutation(len(y))
        return X[order], y[order], hidden / n_unlabeled

    return make


class Given:
    """The only column is the score."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return X[:, 0]


@pytest.fixture
def given():
    """A scorer for rows that are their scores."""
    return Given


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Smaller forests: these tests fit hundreds."""
    monkeypatch.setattr("fewlabels.class_prior.methods._scores._TREES", 25)
