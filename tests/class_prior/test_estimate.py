"""One call: the estimate, its interval and both conventions."""

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import PUSVM
from fewlabels.class_prior import (
    METHODS,
    BestBin,
    PriorEstimate,
    SaturatedLogistic,
    estimate_prior,
    label_shift,
    pooled_from_unlabeled,
)
from fewlabels.model_selection import bias_sensitivity


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_every_method(method, mixture):
    X, y, _ = mixture(n_positive=30, n_unlabeled=90, apart=4.0)
    estimate = estimate_prior(X, y, method, n_bootstrap=8, n_jobs=1)
    assert isinstance(estimate, PriorEstimate)
    assert 0.0 < estimate.low <= estimate.prior <= estimate.high < 1.0
    assert estimate.replicates.shape == (8,)
    assert np.all((estimate.replicates > 0.0) & (estimate.replicates < 1.0))
    assert estimate.method == ("saturated-logistic" if method == "auto" else method)
    again = estimate_prior(X, y, method, n_bootstrap=8, n_jobs=1)
    assert again[:3] == estimate[:3]
    fitted = METHODS[estimate.method](random_state=0).fit(X, y)
    assert fitted.prior_ == estimate.prior


def test_conventions(mixture):
    X, y, _ = mixture(n_positive=50, n_unlabeled=150)
    ours = estimate_prior(X, y)
    pooled = estimate_prior(X, y, convention="pooled")
    for name in ("prior", "low", "high"):
        expected = pooled_from_unlabeled(getattr(ours, name), 50, 150)
        assert getattr(pooled, name) == pytest.approx(expected)
    np.testing.assert_allclose(pooled.replicates, (50 + 150 * ours.replicates) / 200)
    assert (ours.convention, pooled.convention) == ("unlabeled", "pooled")


def test_more_confidence_is_a_wider_interval(mixture):
    X, y, _ = mixture(apart=1.5)
    narrow, wide = (estimate_prior(X, y, confidence=c) for c in (0.5, 0.95))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_more_rows_are_a_narrower_interval(mixture):
    few, many = (
        estimate_prior(*mixture(n_positive=n, n_unlabeled=10 * n, apart=3.0)[:2], BestBin())
        for n in (40, 400)
    )
    assert many.high - many.low < 0.7 * (few.high - few.low)


def test_an_estimator_with_options(mixture):
    X, y, _ = mixture(n_positive=30, n_unlabeled=90)
    mine = BestBin(delta=0.3, random_state=5)
    estimate = estimate_prior(X, y, mine, n_bootstrap=5)
    assert estimate.method == "BestBin"
    assert estimate.prior == BestBin(delta=0.3, random_state=5).fit(X, y).prior_


@pytest.mark.parametrize("apart", [1.0, 2.0])
def test_coverage_where_classes_overlap(apart, seed, given):
    # Two Gaussians, 100 positives, scores given: intervals of nominally 90 %.
    held = []
    for draw in range(25):
        rng = np.random.default_rng([seed, draw, int(10 * apart)])
        prior = rng.uniform(0.1, 0.8)
        side = np.concatenate([np.ones(100), rng.random(1000) < prior])
        X = (rng.normal(size=len(side)) + apart * side)[:, None]
        estimate = estimate_prior(
            X,
            np.arange(len(side)) < 100,
            SaturatedLogistic(scorer=given(), random_state=draw),
            n_bootstrap=200,
        )
        held.append(estimate.low <= side[100:].mean() <= estimate.high)
    assert np.mean(held) >= 0.75


def test_nothing_to_learn_is_a_wide_interval(rng):
    # Positives drawn from the unlabelled rows' own distribution: any prior fits.
    X = rng.normal(size=(600, 5))
    estimate = estimate_prior(X, np.arange(600) < 100)
    assert estimate.high - estimate.low > 0.3 and estimate.high > 0.8


def test_sparse_is_dense_where_columns_are_few(mixture):
    X, y, _ = mixture(n_positive=30, n_unlabeled=120, d=6)
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = estimate_prior(X, y), estimate_prior(sp.csr_array(X), y)
    assert sparse.prior == pytest.approx(dense.prior, abs=1e-12)


def test_threads_and_frames_change_nothing(mixture):
    import pandas as pd

    X, y, _ = mixture(n_positive=30, n_unlabeled=120)
    one = estimate_prior(X, y, n_jobs=1)
    assert estimate_prior(X, y, n_jobs=2)[:3] == one[:3]
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert estimate_prior(frame, pd.Series(y))[:3] == one[:3]


def test_bad_options_are_refused(mixture):
    X, y, _ = mixture(n_positive=10, n_unlabeled=30)
    for options, words in (
        ({"confidence": 1.0}, r"pass a number in \(0, 1\)"),
        ({"confidence": 90}, r"pass a number in \(0, 1\)"),
        ({"convention": "all"}, "pass 'unlabeled'"),
        ({"n_bootstrap": 1}, "an integer >= 2"),
        ({"method": "guess"}, "pass 'auto', one of saturated-logistic"),
        ({"method": 3}, "pass 'auto'"),
    ):
        with pytest.raises(ValueError, match=words):
            estimate_prior(X, y, **options)


def test_long_results_are_printed_in_a_line():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(2, 1, (60, 2)), rng.normal(-2, 1, (140, 2))])
    y = np.repeat([1, 0], [30, 170])
    prior = estimate_prior(X, y)
    assert repr(prior).startswith(f"PriorEstimate(prior={prior.prior:.4g}, low=")
    assert str(prior).endswith("replicates=<ndarray of 500>)")
    few = np.where(np.arange(200) % 10 == 0, np.arange(200) > 60, -1)
    assert "replicates=<ndarray of 200 x 2>" in repr(label_shift(X, few))
    bias = bias_sensitivity(PUSVM(prior=0.3), X, y, [1, 1.2])
    assert repr(bias).startswith("BiasSensitivity(table=<DataFrame of 2 x 6>, base=<ndarray of")
    for result in (prior, bias):
        assert "\n" not in repr(result) and len(repr(result)) < 200
