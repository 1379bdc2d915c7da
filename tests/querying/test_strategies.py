"""Which rows strategies ask for, against what they say of themselves."""

import numpy as np
import pytest

from fewlabels import S3VM
from fewlabels.querying import (
    Central,
    Diverse,
    ExpectedError,
    LikelyWrong,
    Mixed,
    Positives,
    Random,
    Typical,
    Uncertain,
)

ALL = [Diverse, ExpectedError, LikelyWrong, Mixed, Positives, Random, Central, Typical, Uncertain]


@pytest.fixture(scope="module", params=[2, 3])
def problem(request):
    """Clouds, a few labels, and a machine."""
    k, rng = request.param, np.random.default_rng(0)
    truth = np.repeat(np.arange(k), 40)
    X = rng.normal(size=(40 * k, 2)) + 3.0 * np.eye(3)[truth][:, :2]
    y = np.full(40 * k, -1)
    told = np.concatenate([np.flatnonzero(truth == c)[:4] for c in range(k)])
    y[told] = truth[told]
    return X, y, truth, S3VM().fit(X, y)


@pytest.mark.parametrize("kind", ALL)
def test_the_call(kind, problem):
    X, y, _, machine = problem
    rows, utilities, reasons = kind(missing_label=-1, random_state=0).query(
        X, y, machine, batch_size=3, return_utilities=True, return_reasons=True
    )
    allowed = np.flatnonzero(y >= 0) if kind is LikelyWrong else np.flatnonzero(y < 0)
    assert len(set(rows)) == 3 and set(rows) <= set(allowed)
    assert utilities.shape == (3, len(y)) and all(reasons)
    assert np.isnan(np.delete(utilities, allowed, axis=1)).all()
    for k in range(3):
        assert np.isnan(utilities[k, rows[:k]]).all()
        assert utilities[k, rows[k]] == np.nanmax(utilities[k])
    again = kind(missing_label=-1, random_state=0).query(
        X, y, machine, batch_size=3, decisions=machine.decision_function(X)
    )
    assert np.array_equal(rows, again)
    few = np.sort(allowed[:2])
    found = kind(missing_label=-1).query(X, y, machine, candidates=few, batch_size=5)
    assert np.array_equal(np.sort(found), few)


def test_uncertain_rows_have_the_smallest_margins(problem):
    X, y, _, machine = problem
    f = machine.decision_function(X)
    best = np.sort(np.stack([-f / 2, f / 2], 1) if f.ndim == 1 else f, axis=1)
    margin = np.where(y < 0, best[:, -1] - best[:, -2], np.inf)
    rows = Uncertain(missing_label=-1).query(X, y, machine, batch_size=4)
    assert np.array_equal(rows, np.argsort(margin)[:4])


def test_typical_rows_are_no_outliers(problem):
    X, y, _, machine = problem
    X = np.concatenate([X, [[60.0, -60.0]]])
    y = np.append(y, -1)
    f = np.zeros((len(X), 3)) if len(machine.classes_) == 3 else np.zeros(len(X))
    (row,) = Typical(missing_label=-1, random_state=0).query(X, y, decisions=f)
    D = np.linalg.norm(X - X[row], axis=1)
    assert row != len(X) - 1 and np.mean(D < 2) > 0.1


def test_a_diverse_batch_lies_apart(problem):
    X, y, _, machine = problem
    apart = Diverse(missing_label=-1, random_state=0).query(X, y, machine, batch_size=5)
    sure = Uncertain(missing_label=-1).query(X, y, machine, batch_size=5)

    def nearest(rows):
        D = np.linalg.norm(X[rows][:, None] - X[rows], axis=2)
        return D[np.triu_indices(5, 1)].min()

    assert nearest(apart) > nearest(sure)


def test_positives_are_those_of_the_class(problem):
    X, y, truth, machine = problem
    for label in np.unique(truth):
        rows = Positives(label, missing_label=-1).query(X, y, machine, batch_size=10)
        assert np.mean(truth[rows] == label) > 0.7
    with pytest.raises(ValueError, match="not one of the model's classes"):
        Positives(9, missing_label=-1).query(X, y, machine)


def test_a_wrong_label_is_found(problem):
    X, y, _truth, _machine = problem
    wrong = y.copy()
    row = int(np.flatnonzero(y == 0)[np.argmin(X[y == 0].sum(axis=1) - X[y == 0][:, 0] * 2)])
    wrong[row] = 1
    fitted = S3VM().fit(X, wrong)
    assert row in LikelyWrong(missing_label=-1).query(X, wrong, fitted, batch_size=2)
    before = fitted.training_rows_
    assert np.array_equal(before.X, X)  # a copy was asked


def test_labels_left_out_by_fits(problem):
    X, y, _truth, machine = problem
    strategy = LikelyWrong(n_folds=4, missing_label=-1, random_state=0)
    _, utilities = strategy.query(X, y, machine, return_utilities=True)
    labeled = np.flatnonzero(y >= 0)
    assert np.isfinite(utilities[0, labeled]).all()
    fold = np.random.RandomState(0).permutation(labeled)[::4]
    hidden = y.copy()
    hidden[fold] = -1
    f = S3VM().fit(X, hidden).decision_function(X[fold])
    f = np.stack([-f, f], axis=1) if f.ndim == 1 else f
    for row, one in zip(fold, f, strict=True):
        margin = np.delete(one, y[row]).max() - one[y[row]]
        assert utilities[0, row] == pytest.approx(margin, abs=1e-6)
    for bad in (1, 0, 2.5):
        with pytest.raises(ValueError, match="n_folds="):
            LikelyWrong(n_folds=bad)


def test_expected_error_is_that_of_machines_told_each_label(problem):
    X, y, _, machine = problem
    strategy = ExpectedError(n_candidates=3, missing_label=-1)
    before = machine.training_decisions_.copy()
    (row,), utilities = strategy.query(X, y, machine, return_utilities=True)
    assert np.array_equal(machine.training_decisions_, before)
    assert np.isfinite(utilities[0]).sum() == 3

    def shares(f):
        f = np.stack([-f, f], axis=1) if f.ndim == 1 else f
        return np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)

    expected, p = 0.0, shares(machine.decision_function(X))[row]
    for k, label in enumerate(machine.classes_):
        told = S3VM(gamma=machine.gamma_).fit(X, y)
        told.relabel([row], [label])
        left = 1.0 - shares(told.decision_function(X))[y < 0].max(axis=1)
        expected += p[k] * left.sum()
    if len(machine.classes_) == 2:  # of more, labels before lead to other local minima
        assert utilities[0, row] == pytest.approx(-expected, rel=0.05)


def test_mixed_keeps_its_shares(problem):
    X, y, _, machine = problem
    mixed = Mixed(missing_label=-1, random_state=0)
    reasons = mixed.query(X, y, machine, batch_size=40, return_reasons=True)[1]
    assert reasons.count(Random.why) == 10 and reasons.count(Uncertain.why) == 30
    with pytest.raises(ValueError, match="number > 0"):
        Mixed([(Random(), 0.0)])


def test_mixed_begins_with_another_strategy_until_there_are_labels(problem):
    X, y, _, machine = problem
    first = Central(missing_label=-1, random_state=0)
    mixed = Mixed(missing_label=-1, random_state=0, first=first, n_first=20)
    n_labels = int(np.sum(y >= 0))
    reasons = mixed.query(X, y, machine, batch_size=40, return_reasons=True)[1]
    assert [why == Central.why for why in reasons] == [k < 20 - n_labels for k in range(40)]
    with pytest.raises(ValueError, match="n_first"):
        Mixed(first=first, n_first=0)


@pytest.mark.parametrize("n_labels", [0, 1])
def test_central_rows_are_central_ones_of_every_cluster(n_labels):
    rng, sizes = np.random.default_rng(0), (60, 30, 10)
    centres = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    X = np.repeat(centres, sizes, axis=0) + rng.normal(size=(100, 2))
    y = np.full(100, -1)
    y[:n_labels] = 0
    rows, utilities = Central(3, missing_label=-1, random_state=0).query(
        X, y, batch_size=6, return_utilities=True
    )
    cluster = np.repeat([0, 1, 2], sizes)[rows]
    # The largest first, and every cluster once before any of them again.
    order = [0, 1, 2, 0, 1, 2] if n_labels == 0 else [1, 2, 0, 1, 2, 0]
    assert cluster.tolist() == order
    mean = np.array([X[:60].mean(axis=0), X[60:90].mean(axis=0), X[90:].mean(axis=0)])
    for row, which, values in zip(rows[:2], cluster, utilities, strict=False):
        own = np.flatnonzero((np.repeat([0, 1, 2], sizes) == which) & np.isfinite(values))
        assert row == own[np.argmin(np.linalg.norm(X[own] - mean[which], axis=1))]


def test_central_takes_few_and_equal_rows(problem):
    X = np.ones((7, 2))
    rows = Central(random_state=0).query(X, np.full(7, np.nan), batch_size=7)
    assert sorted(rows) == list(range(7))
    with pytest.raises(ValueError, match="n_clusters"):
        Central(0)


def test_before_there_is_a_machine(problem):
    X = problem[0]
    nothing = np.full(len(X), np.nan)
    for kind in (Uncertain, Typical, Diverse, Mixed, Random, Central, Positives):
        rows, reasons = kind(random_state=0).query(X, nothing, batch_size=4, return_reasons=True)
        assert len(rows) == 4
        # What is asked before the first label is nobody's doubt.
        assert not any(words in why for why in reasons for words in ("sure", "looks most like"))


def test_bad_input_is_refused(problem):
    X, y, _, machine = problem
    ask = Uncertain(missing_label=-1)
    for given, words in (
        (dict(candidates=[999]), "from 0 to"),
        (dict(candidates=[[0.0, 1.0]]), "positions"),
        (dict(candidates=np.array([], int)), "no candidate is left"),
        (dict(batch_size=0), "1 or more"),
        (dict(batch_size=1.5), "batch_size=1.5 is not a whole number"),
    ):
        with pytest.raises(ValueError, match=words):
            ask.query(X, y, machine, **given)
    with pytest.raises(ValueError, match="one per row"):
        ask.query(X, y[:-1], machine)
    for kind in (LikelyWrong, ExpectedError):
        with pytest.raises(ValueError, match="needs a model"):
            kind(missing_label=-1).query(X, y, object(), decisions=np.zeros(len(y)))
    with pytest.raises(ValueError, match="neither decision_function"):
        ask.query(X, y, object())
