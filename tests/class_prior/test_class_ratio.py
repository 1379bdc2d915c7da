"""The class ratio of unlabelled rows: EM by a plain loop, known shifts, awkward inputs."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from fewlabels.class_prior import label_shift, label_shift_em


def shifted(rng, shares, n_labels=30, n_free=600, apart=3.0):
    """Gaussian classes, equal numbers of labels, unlabelled rows with other shares."""
    k = len(shares)
    truth = np.concatenate([np.repeat(np.arange(k), n_labels), rng.choice(k, n_free, p=shares)])
    X = rng.normal(size=(len(truth), 4)) + apart * np.eye(4)[truth]
    y = np.where(np.arange(len(truth)) < k * n_labels, truth, -1)
    return X, y, np.bincount(truth[k * n_labels :], minlength=k) / n_free


def plain_em(p, source, weight, steps):
    shares = np.array(source, dtype=float)
    for _ in range(steps):
        new = np.zeros(len(shares))
        for row, w in zip(p, weight, strict=True):
            joint = [row[c] * shares[c] / source[c] for c in range(len(shares))]
            new += w * np.array(joint) / sum(joint)
        shares = new / weight.sum()
    return shares


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_em_is_the_plain_loop(rng, n_classes):
    p = rng.dirichlet(np.full(n_classes, 0.5), size=60)
    source, weight = rng.dirichlet(np.full(n_classes, 5.0)), rng.integers(0, 4, 60).astype(float)
    expected = plain_em(p, source, weight, 3000)
    found = label_shift_em(p, source, sample_weight=weight)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    repeated = label_shift_em(np.repeat(p, weight.astype(int), axis=0), source)
    np.testing.assert_allclose(repeated, found, atol=1e-7)


def test_em_finds_the_shares_of_greatest_likelihood(rng):
    truth = rng.random(4000) < 0.1
    x = rng.normal(size=4000) + 2.0 * truth
    odds = np.exp(2.0 * x - 2.0)  # of the densities
    p = np.column_stack([1.0 / (1.0 + odds), odds / (1.0 + odds)])
    found = label_shift_em(p, [0.5, 0.5])[1]
    grid = np.linspace(0.001, 0.999, 999)[:, None]
    likelihood = np.log(grid * odds + 1.0 - grid).sum(axis=1)
    assert abs(found - grid[np.argmax(likelihood), 0]) <= 0.001
    assert abs(found - truth.mean()) < 0.03


def test_em_at_the_edge():
    sure = np.tile([1.0, 0.0], (5, 1))
    np.testing.assert_allclose(label_shift_em(sure, [0.5, 0.5]), [1.0, 0.0], atol=1e-12)
    even = np.full((5, 2), 0.5)
    np.testing.assert_allclose(label_shift_em(even, [0.5, 0.5]), [0.5, 0.5])


@pytest.mark.parametrize(
    ("p", "source", "weight"),
    [
        ([[0.5, 0.5]], [0.5, 0.3, 0.2], None),
        ([[0.5, 0.5]], [1.0, 0.0], None),
        ([[-0.5, 1.5]], [0.5, 0.5], None),
        ([[np.nan, 1.0]], [0.5, 0.5], None),
        ([[0.5, 0.5]], [0.5, 0.5], [-1.0]),
        ([[0.5, 0.5]], [0.5, 0.5], [1.0, 1.0]),
        ([[0.5, 0.5]], [0.5, 0.5], [0.0]),
    ],
)
def test_em_refuses(p, source, weight):
    with pytest.raises(ValueError):
        label_shift_em(p, source, sample_weight=weight)


@pytest.mark.parametrize("shares", [[0.9, 0.1], [0.3, 0.7], [0.7, 0.2, 0.1]])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_the_ratio_of_unlabelled_rows(rng, shares, storage):
    X, y, truth = shifted(rng, shares)
    found = label_shift(storage(X), y, n_bootstrap=60)
    np.testing.assert_allclose(found.shares, truth, atol=0.07)
    assert found.shares.sum() == pytest.approx(1.0) and np.all(found.shares > 0)
    assert found.classes.tolist() == list(range(len(shares)))
    assert np.all(found.intervals[:, 0] <= found.shares)
    assert np.all(found.intervals[:, 1] >= found.shares)
    assert np.all((found.intervals[:, 0] <= truth) & (truth <= found.intervals[:, 1]))
    assert found.replicates.shape == (60, len(shares))


def test_names_missing_labels_and_seeds(rng):
    X, y, _ = shifted(rng, [0.8, 0.2], n_free=200)
    named = np.where(y < 0, None, np.array(["no", "yes"])[np.maximum(y, 0)])
    found, again = label_shift(X, y, n_bootstrap=5), label_shift(X, named, n_bootstrap=5)
    assert again.classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found.replicates, again.replicates)
    other = label_shift(X, y, n_bootstrap=5, random_state=1)
    assert np.any(other.replicates != found.replicates)


def test_order_does_not_matter_and_weights_repeat(rng):
    X, y, _ = shifted(rng, [0.8, 0.2], n_labels=15, n_free=200)
    found = label_shift(X, y, n_bootstrap=5)
    order = rng.permutation(len(y))
    moved = label_shift(X[order], y[order], n_bootstrap=5)
    np.testing.assert_array_equal(moved.replicates, found.replicates)
    times = rng.integers(0, 3, len(y))
    times[:30] += 1
    again = np.repeat(np.arange(len(y)), times)
    weighted = label_shift(X, y, sample_weight=times, n_bootstrap=5)
    repeated = label_shift(X[again], y[again], n_bootstrap=5)
    np.testing.assert_allclose(weighted.shares, repeated.shares, atol=1e-12)
    np.testing.assert_allclose(weighted.replicates, repeated.replicates, atol=1e-12)


def test_scores_of_labels_are_those_of_forests_without_them(rng):
    """Labels that are noise say nothing: the interval has to be wide."""
    X = rng.normal(size=(440, 5))
    y = np.where(np.arange(440) < 40, np.arange(440) % 2, -1)
    low, high = label_shift(X, y).intervals[1]
    assert high - low > 0.5


def test_many_rows_are_sampled(rng, monkeypatch):
    X, y, truth = shifted(rng, [0.8, 0.2], n_labels=60, n_free=1000)
    monkeypatch.setattr("fewlabels.class_prior.class_ratio._MAX_UNLABELLED_ROWS", 300)
    monkeypatch.setattr("fewlabels.class_prior.class_ratio._MAX_ROWS_PER_CLASS", 25)
    np.testing.assert_allclose(label_shift(X, y, n_bootstrap=5).shares, truth, atol=0.1)


def test_extreme_shares_stay_inside(rng):
    X, y, _ = shifted(rng, [1.0, 0.0], n_free=200, apart=8.0)
    found = label_shift(X, y, n_bootstrap=20)
    assert 0 < found.shares[1] < 0.02 and found.intervals[1, 0] >= 0


@pytest.mark.parametrize(
    ("ratio", "shares"),
    [(0.2, [0.8, 0.2]), ({1: 0.2, 0: 0.8}, [0.8, 0.2]), ([0.8, 0.2], [0.8, 0.2]),
     (np.array([0.8, 0.2]), [0.8, 0.2])],
)  # fmt: skip
def test_known_ratios_pass_through(rng, ratio, shares):
    X, y, _ = shifted(rng, [0.5, 0.5], n_labels=2, n_free=20)
    found = label_shift(X, y, ratio)
    np.testing.assert_allclose(found.shares, shares)
    assert found.intervals is None and found.replicates is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class_ratio": 1.5}, "no set of shares"),
        ({"class_ratio": True}, "no set of shares|class_ratio"),
        ({"class_ratio": [0.2, 0.3, 0.5]}, "a share for each of the classes"),
        ({"class_ratio": [0.2, 0.3]}, "sum to 1"),
        ({"class_ratio": {0: 0.5, 7: 0.5}}, "it lacks 1"),
        ({"class_ratio": "guess"}, "'guess' is not valid"),
        ({"confidence": 1.0}, "confidence=1.0 is not a share"),
        ({"n_bootstrap": 1}, "n_bootstrap=1 is too few"),
        ({"y": np.r_[0, 1, np.full(58, -1)]}, "two different labelled rows"),
        ({"y": np.arange(60) % 2}, "every row has a label"),
        ({"y": np.full(60, -1)}, "no labels"),
        ({"X": np.full((60, 2), np.nan)}, "NaN"),
        ({"y": np.zeros(3)}, "inconsistent"),
    ],
)
def test_refusals_are_sentences(rng, change, message):
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 10, np.arange(60) % 2, -1)
    arguments = {"X": X, "y": y, **change}
    with pytest.raises(ValueError, match=message):
        label_shift(**arguments)


def test_the_correction_helps_a_classifier(rng):
    X, y, truth = shifted(rng, [0.9, 0.1], apart=1.5)
    model = LogisticRegression().fit(X[y >= 0], y[y >= 0])
    found = label_shift_em(model.predict_proba(X[y < 0]), [0.5, 0.5])
    naive = np.mean(model.predict(X[y < 0]))
    assert abs(found[1] - truth[1]) < abs(naive - truth[1])
