"""Our model and strategies in scikit-activeml's loops, and its strategies in ours."""

import numpy as np
import pytest

pytest.importorskip("skactiveml", reason="scikit-activeml is not installed")

from skactiveml.pool import RandomSampling, UncertaintySampling
from sklearn.exceptions import NotFittedError

from fewlabels import S3VM
from fewlabels.adapters.skactiveml import QueryStrategy, S3VMClassifier, SkactivemlAdapter
from fewlabels.querying import Uncertain


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 60)
    X = rng.normal(3.0 * truth[:, None] - 1.5, 1.0, (120, 2))
    return X, truth


@pytest.mark.parametrize("ask", ["ours", "theirs", "random"])
def test_our_machine_in_their_loop(ask, problem):
    X, truth = problem
    strategy = {
        "ours": QueryStrategy(Uncertain(random_state=0)),
        "theirs": UncertaintySampling(random_state=0),
        "random": RandomSampling(random_state=0),
    }[ask]
    y, clf = np.full(120, np.nan), S3VMClassifier(classes=[0, 1], random_state=0)
    for _ in range(12):
        clf.fit(X, y)
        told = {} if isinstance(strategy, RandomSampling) else {"clf": clf}
        (row,) = strategy.query(X=X, y=y, **told)
        assert np.isnan(y[row])
        y[row] = truth[row]
    clf.fit(X, y)
    assert clf.score(X, truth) > 0.9
    shares = clf.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert np.array_equal(shares.argmax(axis=1), clf.predict(X))


def test_their_strategies_in_our_loop(problem):
    X, truth = problem
    y = np.full(120, -1)
    y[[0, 1, 70, 80]] = truth[[0, 1, 70, 80]]
    model = S3VM().fit(X, y)
    theirs = SkactivemlAdapter(UncertaintySampling(random_state=0), missing_label=-1)
    rows, utilities, reasons = theirs.query(
        X, y, model, batch_size=4, return_utilities=True, return_reasons=True
    )
    # Least confident and smallest margin are one thing with two classes.
    assert set(rows) == set(Uncertain(missing_label=-1).query(X, y, model, batch_size=4))
    assert reasons == ["chosen by UncertaintySampling"] * 4
    assert np.isnan(utilities[:, y >= 0]).all()
    some = SkactivemlAdapter(RandomSampling(random_state=0), missing_label=-1).query(
        X, y, candidates=[5, 9]
    )
    assert set(some) <= {5, 9}


def test_our_utilities_have_their_shape(problem):
    X, truth = problem
    y = np.full(120, np.nan)
    y[[0, 70]] = truth[[0, 70]]
    clf = S3VMClassifier(classes=[0, 1]).fit(X, y)
    rows, utilities = QueryStrategy(Uncertain()).query(
        X, y, clf, candidates=[3, 4, 90], batch_size=2, return_utilities=True
    )
    assert set(rows) <= {3, 4, 90} and utilities.shape == (2, 120)
    assert np.flatnonzero(~np.isnan(utilities[0])).tolist() == [3, 4, 90]
    with pytest.raises(ValueError, match="positions"):
        QueryStrategy(Uncertain()).query(X, y, clf, candidates=X[:3])


def test_refusals_are_one_sentence(problem):
    X, truth = problem
    clf = S3VMClassifier(classes=[0, 1])
    for use in (clf.predict, clf.predict_proba, lambda rows: clf.score(rows, truth)):
        with pytest.raises(NotFittedError, match="this S3VMClassifier is not fitted; call fit"):
            use(X)
    with pytest.raises(ValueError, match=r"X holds complex numbers; [^\n]*\.$"):
        clf.fit(X + 1j, np.full(120, np.nan))
    clf.fit(X, np.full(120, np.nan))  # no class is known
    for use in (clf.predict, clf.predict_proba):
        assert len(use(X)) == 120
        with pytest.raises(ValueError, match=r"X has 1 features, but .* expecting 2 features"):
            use(X[:, :1])
