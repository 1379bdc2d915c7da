"""What all estimators of the prior have in common, and that they find it where it is plain."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels.class_prior import METHODS, BestBin, SaturatedLogistic, pooled_from_unlabeled

NAMES = list(METHODS)
# How far an estimate may be from the truth where classes do not overlap, at 100 positives.
# Some are known to be loose there, in the directions given.
CLOSE = {name: (-0.08, 0.08) for name in NAMES}
CLOSE |= {"km2": (-0.15, 0.12), "km1": (-0.15, 0.15), "dedpul": (-0.15, 0.1)}
CLOSE |= {"penl1": (-0.05, 0.3), "tice": (-0.1, 0.3)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("prior", [0.15, 0.5])
def test_separate_classes(name, prior, mixture):
    X, y, truth = mixture(prior=prior, n_unlabeled=500, apart=6.0)
    estimator = METHODS[name]().fit(X, y)
    low, high = CLOSE[name]
    assert low <= estimator.prior_ - truth <= high
    assert estimator.n_positive_ == 100 and estimator.n_unlabeled_ == 500
    assert estimator.pooled_prior_ == pooled_from_unlabeled(estimator.prior_, 100, 500)


@pytest.mark.parametrize("name", NAMES)
def test_a_larger_prior_gives_a_larger_estimate(name, mixture):
    low, high = (
        METHODS[name]().fit(*mixture(prior=p, n_unlabeled=300, apart=4.0)[:2]).prior_
        for p in (0.1, 0.6)
    )
    assert high > low + 0.2


@pytest.mark.parametrize("name", NAMES)
def test_inputs_of_other_kinds(name, mixture):
    X, y, _ = mixture(n_positive=40, n_unlabeled=160, d=4)
    X[np.abs(X) < 0.3] = 0.0
    before = X.copy()
    estimator = METHODS[name](random_state=3)
    reference = estimator.fit(X, y).prior_
    assert clone(estimator).fit(X, y).prior_ == reference
    missing = np.where(y == 1, 1.0, np.nan)
    assert clone(estimator).fit(X, missing).prior_ == reference
    flipped = clone(estimator).set_params(pos_label=0.0).fit(X, 1.0 - y)
    assert flipped.prior_ == reference
    single = clone(estimator).fit(X.astype(np.float32), y).prior_
    assert single == pytest.approx(reference, abs=0.1)
    # Sparse columns are scaled and split in other ways by some methods.
    sparse = clone(estimator).fit(sp.csr_array(X), y).prior_
    assert 0.0 < sparse < 1.0
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", ["tiny", "least", "constant", "copies", "text", "huge"])
def test_hostile_data_give_a_share(name, case, rng):
    n_positive, n_unlabeled = {"tiny": (5, 20), "least": (2, 2)}.get(case, (20, 60))
    n = n_positive + n_unlabeled
    X = {
        "constant": lambda: np.ones((n, 3)),
        "copies": lambda: np.repeat(rng.normal(size=(4, 2)), n // 4, axis=0),
        "text": lambda: sp.random_array((n, 3000), density=0.002, format="csr", rng=rng),
        "huge": lambda: rng.normal(size=(n, 2)) * 1e150,
    }.get(case, lambda: rng.normal(size=(n, 2)))()
    y = np.repeat([1, 0], [n_positive, n_unlabeled])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        estimator = METHODS[name]().fit(X, y)
    assert 0.0 < estimator.prior_ < 1.0
    assert 0.0 < estimator.pooled_prior_ < 1.0


@pytest.mark.parametrize("name", NAMES)
def test_many_rows_are_subsampled(name, mixture):
    X, y, _ = mixture(n_positive=300, n_unlabeled=900, apart=6.0)
    estimator = METHODS[name](max_rows=80).fit(X, y)
    assert (estimator.n_positive_, estimator.n_unlabeled_) == (300, 900)
    assert 0.1 < estimator.prior_ < 0.75
    seeds = {METHODS[name](max_rows=80, random_state=s).fit(X, y).prior_ for s in range(4)}
    assert len(seeds) > 1


@pytest.mark.parametrize("scorer", [LogisticRegression(), GaussianNB()])
def test_another_scorer(scorer, mixture):
    # One with decision_function, one with predict_proba alone.
    X, y, truth = mixture(apart=6.0)
    for cls in (SaturatedLogistic, BestBin):
        assert cls(scorer=scorer).fit(X, y).prior_ == pytest.approx(truth, abs=0.06)


def test_bad_input_is_refused(mixture):
    X, y, _ = mixture(n_positive=10, n_unlabeled=30)
    with pytest.raises(ValueError, match="cv"):
        SaturatedLogistic(cv=1).fit(X, y)
    with pytest.raises(ValueError, match="scorer"):
        SaturatedLogistic(scorer="forest").fit(X, y)
    with pytest.raises(ValueError, match="3 different values"):
        SaturatedLogistic().fit(X, np.arange(40) % 3)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SaturatedLogistic().fit(X, y[:-1])
    one = np.zeros(40)
    one[0] = 1.0
    for cls in (SaturatedLogistic, METHODS["lee-liu"]):
        with pytest.raises(ValueError, match="too few to estimate a prior from"):
            cls().fit(X, one)


# One of each kind: scores, kernel means, bases, trees.
@parametrize_with_checks([METHODS[n]() for n in ("saturated-logistic", "km1", "penl1", "tice")])
def test_estimator_checks(estimator, check):
    check(estimator)
