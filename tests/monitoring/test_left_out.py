"""Monitors calibrate on rows that models of few labels, or of positives, store."""

import copy

import numpy as np
import pytest

from fewlabels import PUSVM, S3VM, SVDD, PUEnsemble
from fewlabels.monitoring import Monitor
from fewlabels.monitoring.scores import scores_left_out, why_uncalibrated


def drawn(rng, n):
    truth = (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 3))
    X[:, :2] += 2.0 * truth[:, None]
    return X, truth


def labels(model, truth):
    few = np.arange(len(truth)) < 30
    if isinstance(model, S3VM):
        return np.where(few, truth, -1)
    return None if isinstance(model, SVDD) else ((truth == 1) & few).astype(int)


MODELS = [
    S3VM(),
    S3VM(kernel="linear"),
    PUSVM(prior=0.4),
    PUSVM(prior=0.4, sampling="one-sample", kernel="linear"),
    SVDD(),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_change_of_all_rows_is_seen(model):
    rng = np.random.default_rng(0)
    X, truth = drawn(rng, 160)
    y = labels(model, truth)
    model.fit(X) if y is None else model.fit(X, y)
    new, _ = drawn(rng, 200)
    monitor = Monitor(model, "model")
    assert copy.deepcopy(monitor).update(new).alarms.sum() == 0
    for column in range(3):
        moved = new.copy()
        moved[:, column] += 50.0
        assert copy.deepcopy(monitor).update(moved).alarms.any(), column
        assert not Monitor(model).update(moved).alarms.any()  # the stream alone can't tell


def test_rows_of_one_model_are_left_out_in_turn():
    X, truth = drawn(np.random.default_rng(1), 160)
    model = S3VM().fit(X, labels(S3VM(), truth))
    scores = scores_left_out(model, lambda one, rows: one.decision_function(rows))
    assert len(scores) == 130  # the labelled rows were chosen
    held = model.decision_function(X[30:])
    assert np.corrcoef(np.sort(scores), np.sort(held))[0, 1] > 0.98
    assert not np.isin(scores, held).any()


def test_several_classes_and_propensities():
    rng = np.random.default_rng(2)
    X, truth = drawn(rng, 160)
    truth[X[:, 2] > 0.7] = 2
    X[:, 2] *= 3.0
    several = S3VM().fit(X, np.where(np.arange(160) < 40, truth, -1))
    y = ((truth == 1) & (np.arange(160) < 90)).astype(int)
    weighed = PUSVM(prior=0.3).fit(X, y, propensity=np.full(160, 0.5))
    for model in (several, weighed):
        assert why_uncalibrated(model) is None
        assert len(Monitor(model, "model").reference_scores) > 50


def test_models_that_cannot_be_calibrated_say_why():
    X, truth = drawn(np.random.default_rng(3), 60)
    small = S3VM().fit(X, labels(S3VM(), truth))
    with pytest.raises(
        ValueError, match="it stores 30 rows that are like new ones, fewer than 50"
    ):
        Monitor(small, "model")
    bags = PUEnsemble(prior=0.4, n_bags=2).fit(X, labels(PUSVM(), truth))
    with pytest.raises(ValueError, match="it doesn't store its training rows; pass calibration="):
        Monitor(bags, "model")
