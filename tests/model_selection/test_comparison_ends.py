"""A comparison ends when further folds are unlikely to change its verdicts."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.semi_supervised import LabelSpreading

from fewlabels import S3VM, SVDD
from fewlabels.baselines.methods import ComparedMethod, _FixedGraph
from fewlabels.model_selection import compare_with_baselines
from fewlabels.model_selection.comparison.folds import Scores, run
from fewlabels.model_selection.comparison.verdict import cannot_change
from fewlabels.model_selection.tuning.search import Search

pytestmark = pytest.mark.usefixtures("few_trees")


def verdict(by_fold, between):
    """Whether the interval of the first difference excludes 0, by Nadeau and Bengio's formula."""
    n = by_fold.shape[1]
    error = np.sqrt((1.0 / n + 0.25) * by_fold[0].var(ddof=1))
    half = student.ppf(0.975, n - 1) * max(error, between)
    return abs(by_fold[0].mean()) > half


@pytest.mark.parametrize(
    ("seconds", "folds", "running"),
    [
        (2.5, 1, [0, 1]),
        (4.5, 2, [0, 1]),  # no fold is lost for a method that hasn't begun
        (10.5, 5, [0, 1]),
        (14.5, 5, [0, 1]),  # it is far behind
        (16.5, 4, [0, 1, 2]),
        (18.5, 5, [0, 1, 2]),
        (21.5, 5, [0, 1, 2]),
        (24.5, 6, [0, 1, 2]),
        (99.5, 10, [0, 1, 2]),
    ],
)
def test_some_methods_go_through_a_pass_first(monkeypatch, seconds, folds, running):
    now, order = [0.0], []
    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr("fewlabels.model_selection.comparison.folds.time", clock)
    monkeypatch.setattr("fewlabels.model_selection.tuning.search.time", clock)
    methods = [ComparedMethod(name, object()) for name in "abc"]
    rows = np.arange(10)
    splits = [(rows, rows[[k]]) for k in range(10)]

    def evaluate(method, fold, train, test):
        now[0] += 2.0 if method.name == "c" else 1.0
        order.append((method.name, fold))
        return 0.0

    search = Search(seconds, False, 0)
    search.note_duration = lambda longest: None  # so that the time is used to its end
    options = {"find_stop_reason": lambda scores: "", "every": 5, "first": 2}
    found = run(methods, splits, evaluate, search, **options)
    assert order[:4] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)][: len(order)]
    assert (len(found.folds), found.running) == (folds, running)
    if running:
        other = found.with_winner(1)
        assert (other.folds, other.running) == (found.folds, found.running)
        assert other.methods[0].name == "b"


def test_what_can_and_cannot_change():
    row = np.tile([0.1, -0.1, 0.05, -0.05, 0.0], 2)
    nothing = np.zeros(1)
    assert cannot_change(np.zeros((3, 5)), np.zeros(3), 5, 50, 0.25)  # ties
    assert cannot_change(row[None], nothing, 5, 50, 0.25)
    assert cannot_change(row[None] + 1.0, nothing, 5, 50, 0.25)
    # Unclear now, and clear with more folds; one such difference is enough to go on.
    undecided = row + 0.09
    assert not verdict(undecided[None], 0.0)
    assert not cannot_change(undecided[None], nothing, 5, 50, 0.25)
    assert not cannot_change(np.array([row, undecided]), np.zeros(2), 5, 50, 0.25)
    # Rows disagree so much that no number of folds helps.
    assert cannot_change(undecided[None], np.ones(1), 5, 50, 0.25)
    assert not cannot_change(row[None, :1], nothing, 5, 50, 0.25)


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.2])
def test_early_verdicts_are_nearly_those_of_all_folds(mean):
    rng = np.random.default_rng(0)
    early, ended, in_full = 0, [], []
    for _ in range(400):
        # What differs between rows is the same in every pass, in other parts.
        rows, noise = rng.normal(mean, 0.5, 100), rng.normal(0.0, 0.2, (10, 100))
        passes = [rng.permuted(rows + one).reshape(5, 20).mean(axis=1) for one in noise]
        by_fold = np.concatenate(passes)[None]
        for n in range(5, 51, 5):
            between = (rows + noise[: n // 5].mean(axis=0)).std() / 10.0
            if n == 50 or cannot_change(by_fold[:, :n], np.array([between]), 5, 50, 0.25):
                break
        early += n < 50
        ended.append(verdict(by_fold[:, :n], between))
        in_full.append(verdict(by_fold, (rows + noise.mean(axis=0)).std() / 10.0))
    ended, in_full = np.array(ended), np.array(in_full)
    # No more false alarms, and little less power; in the middle a few verdicts differ.
    assert early > 300 and np.mean(ended == in_full) > 0.9
    assert -0.06 < ended.mean() - in_full.mean() < 0.01


def test_a_comparison_of_ties_ends_early():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(30, 2)), rng.normal(20.0, 1.0, (30, 2))]
    y = np.where(np.arange(60) % 3 == 0, np.arange(60) >= 30, -1)
    found = compare_with_baselines(S3VM(), X, y, time_budget=600)
    assert found.folds in (10, 15, 20) and found.stopped == "" and found.rows == 20
    assert "It used no more folds" in found.protocol


def test_rows_without_anomalies_are_held_out_once(rng):
    found = compare_with_baselines(SVDD(), rng.normal(size=(60, 2)), time_budget=600)
    assert found.folds == 5 and found.rows == 60 and found.stopped == ""
    found = compare_with_baselines(SVDD(), rng.normal(size=(4000, 2)), time_budget=600)
    assert found.folds == 2 and found.rows == 1600
    assert "enough rows were held out" in found.protocol


@pytest.mark.filterwarnings("ignore:max_iter=30 was reached")
def test_the_graph_is_that_of_label_spreading(rng):
    X, y = rng.normal(size=(80, 3)), np.full(80, -1)
    y[:20] = X[:20, 0] > 0
    theirs = LabelSpreading(kernel="knn", n_neighbors=5, alpha=0.8).fit(X, y)
    ours = LabelSpreading(kernel=_FixedGraph(5, X), alpha=0.8).fit(X, y)
    np.testing.assert_array_equal(ours.label_distributions_, theirs.label_distributions_)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_placements_of_one_row_of_a_kind_leave_the_error_unknown():
    scores = Scores(["ours", "other", "another"])
    placements = np.random.default_rng(0).random((3, 4, 6))
    scores.fill_placements(placements, np.arange(6) == 2, 0.25)
    assert np.all(np.isinf(scores.difference_error))
