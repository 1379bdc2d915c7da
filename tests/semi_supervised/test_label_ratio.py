"""The default of S3VM uses the labels' class ratio unless the rows contradict it."""

import warnings

import numpy as np
import pytest

from fewlabels import S3VM
from fewlabels.class_prior import label_ratio
from fewlabels.class_prior.label_ratio import LabelRatio


def rows(seed, share, counts, n=250):
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.repeat([0, 1], counts), (rng.random(n) < share).astype(int)])
    X = rng.normal(size=(len(truth), 4)) + 2.5 * truth[:, None] * [1, 1, 0, 0]
    return X, np.where(np.arange(len(truth)) < sum(counts), truth, -1), truth


@pytest.mark.parametrize("kernel", ["rbf", "linear", "trees"])
@pytest.mark.parametrize("counts", [(10, 10), (15, 5)])
def test_labels_drawn_per_class_of_a_rare_class(kernel, counts):
    X, y, truth = rows(0, 0.03, counts)
    free = y < 0
    default, paper = (S3VM(kernel=kernel, balance=b).fit(X, y) for b in ("auto", True))
    right, forced = (np.mean(m.predict(X[free]) == truth[free]) for m in (default, paper))
    assert right > 0.95 and right > forced + 0.1
    assert default.class_ratio_[1] < 0.12 and default.class_ratio_interval_.shape == (2, 2)
    assert paper.class_ratio_ is None


def test_random_labels_keep_their_ratio():
    X, y, _ = rows(1, 0.4, (12, 8))
    default, paper = S3VM().fit(X, y), S3VM(balance=True).fit(X, y)
    assert default.class_ratio_ is None
    np.testing.assert_array_equal(default.decision_function(X), paper.decision_function(X))


def test_the_constraint_of_the_papers_is_exact():
    X, y, _ = rows(0, 0.03, (15, 5))
    model = S3VM(balance=True, tol=1e-6).fit(X, y)
    assert model.decision_function(X[y < 0]).mean() == pytest.approx(-0.5, abs=1e-4)


def test_a_doubtful_ratio_is_kept_with_a_warning(monkeypatch):
    X, y, _ = rows(1, 0.4, (12, 8))
    shares, intervals = np.array([0.8, 0.2]), np.array([[0.6, 0.9], [0.1, 0.4]])
    doubtful = LabelRatio(shares, intervals, is_doubtful=True)
    monkeypatch.setattr(
        "fewlabels.semi_supervised.arguments.compare_label_ratio", lambda *a: doubtful
    )
    said = r"60 % of the labels are of class 0, and about 80 % of the unlabelled rows seem to be"
    with pytest.warns(UserWarning, match=said):
        model = S3VM().fit(X, y)
    assert model.class_ratio_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        S3VM(balance=True).fit(X, y)
        S3VM(class_ratio=0.4).fit(X, y)


def test_updates_keep_the_estimate():
    X, y, _ = rows(0, 0.03, (15, 5))
    model = S3VM().fit(X[:200], y[:200])
    ratio = model.class_ratio_
    model.partial_fit(X[200:220], y[200:220])
    np.testing.assert_array_equal(model.class_ratio_, ratio)
    started = S3VM().partial_fit(X[:200], y[:200])
    np.testing.assert_array_equal(started.class_ratio_, ratio)
    assert np.mean(model.predict(X) == 1) < 0.2


def test_a_new_class_ends_the_estimate():
    X, y, _ = rows(0, 0.03, (15, 5))
    model = S3VM().fit(X, y).partial_fit(X[:2] + 20.0, [2, 2], classes=[0, 1, 2])
    assert model.class_ratio_ is None and model.predict(X[:1] + 20.0)[0] == 2


def test_probabilities_follow_the_estimate_without_another(monkeypatch):
    X, y, _ = rows(0, 0.03, (15, 5))
    model = S3VM(probability="sigmoid").fit(X, y)
    monkeypatch.setattr(label_ratio, "estimate_shares", None)  # would be called in vain
    p = model.predict_proba(X[y < 0])[:, 1]
    assert p.mean() == pytest.approx(model.class_ratio_[1], abs=0.02)  # 0.25 by the labels
