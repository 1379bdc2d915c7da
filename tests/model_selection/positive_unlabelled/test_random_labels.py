"""The test whether labelled positives are a random sample of all positives."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import ks_2samp
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_info, threadpool_limits

from fewlabels._util import deadline
from fewlabels._util.deadline import ENDLESS, Deadline
from fewlabels.metrics.scores import roc_area
from fewlabels.model_selection import labelled_at_random_test
from fewlabels.model_selection.positive_unlabelled import random_labels


def table(seed, mechanism="random", n_labelled=80, distance=3.0):
    """Rows, labels, and the share of positives among the unlabelled rows."""
    rng = np.random.default_rng(seed)
    pool = rng.normal(size=(2000, 4))
    pool[:, 0] += distance
    truth = rng.random(900) < 0.35
    unlabelled = rng.normal(size=(900, 4))
    unlabelled[truth, 0] += distance
    weight = np.ones(2000) if mechanism == "random" else np.exp(2.0 * pool[:, 0])
    labelled = rng.choice(2000, n_labelled, replace=False, p=weight / weight.sum())
    X = np.concatenate([pool[labelled], unlabelled])
    return X, np.repeat([1, 0], [n_labelled, 900]), truth.mean()


def test_random_labels_pass_and_obvious_ones_fail():
    # 10 tests at 5 %: more than 3 rejections have a probability of .001.
    found = []
    for seed in range(10):
        X, y, prior = table(seed)
        found.append(labelled_at_random_test(X, y, prior=prior, n_draws=39, random_state=seed))
    assert sum(one.rejected for one in found) <= 3
    assert np.mean([one.shift for one in found]) == pytest.approx(0.5, abs=0.07)
    for seed in range(3):
        X, y, prior = table(seed, "obvious")
        one = labelled_at_random_test(X, y, prior=prior, n_draws=39, random_state=seed)
        assert one.rejected
        assert one.shift > 0.6
        assert one.prior == pytest.approx(prior, abs=1e-6)
        assert one.prior_is_known


def test_both_comparisons_have_to_reject():
    X, y, _ = table(0)
    found = labelled_at_random_test(X, y, n_draws=59)
    assert found.p_value == max(found.p_scores, found.p_features)
    assert found.rejected == (found.p_value <= 0.05)
    assert min(found.p_scores, found.p_features) >= 1.0 / 60.0
    assert not found.prior_is_known
    assert (found.n_labelled, found.n_unlabelled) == (80, 900)
    assert 1 <= found.n_draws <= 59


def test_same_seed_same_result_and_large_tables_are_sampled():
    X, y, _ = table(1)
    one, other = (labelled_at_random_test(X, y, n_draws=39, random_state=3) for _ in range(2))
    assert one == other
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    X = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)
    found = labelled_at_random_test(X, y, n_draws=39)
    assert (found.n_labelled, found.n_unlabelled) == (240, 1500)


def test_sparse_rows_and_names():
    X, y, prior = table(2)
    labels = np.where(y == 1, "yes", "unknown")
    found = labelled_at_random_test(
        sp.csr_array(np.maximum(X, 0.0)), labels, prior=prior, pos_label="yes", n_draws=39
    )
    assert 0.0 < found.p_value <= 1.0


def test_left_out_scores_by_fitting_without_the_row():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(60, 5))
    F -= F.mean(axis=0)
    labelled = np.arange(60) < 20
    compared = random_labels.LabelStatistics(F, 20, None)
    spread = np.linalg.svd(F, compute_uv=False) ** 2
    ridge = random_labels.find_ridge(spread, 10.0)
    found = compared.predict_left_out(labelled.astype(float))
    for row in (0, 30):
        kept = np.delete(np.arange(60), row)
        fitted = Ridge(ridge).fit(F[kept], labelled[kept].astype(float))
        assert found[row] == pytest.approx(fitted.predict(F[[row]])[0], abs=1e-6)


def test_statistics_without_weights_are_the_usual_ones():
    rng = np.random.default_rng(0)
    scores, labelled = rng.normal(size=100).round(1), rng.random(100) < 0.4
    distance, shift = random_labels.compare_scores(scores, labelled, np.ones(100))
    assert distance == pytest.approx(ks_2samp(scores[labelled], scores[~labelled]).statistic)
    assert shift == pytest.approx(roc_auc_score(labelled, scores))
    weight = rng.random(100)
    area = roc_area(scores, labelled, weight)
    assert area == pytest.approx(roc_auc_score(labelled, scores, sample_weight=weight))


def test_what_is_refused():
    X, y, _ = table(0)
    few = np.where(np.arange(len(y)) < 5, 1, 0)
    for given, options, words in (
        (few, {}, "5 labelled and 975 unlabelled rows are too few"),
        (y, {"level": 0.0}, "level=0.0"),
        (y, {"n_draws": 10}, "n_draws=10"),
        (y, {"prior": 1.5}, "prior=1.5"),
    ):
        with pytest.raises(ValueError, match=words):
            labelled_at_random_test(X, given, **options)


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def draws(self, seconds, *statistics):
        """Draws that take so many seconds each."""
        for each in statistics:
            self.now += seconds
            yield each


@pytest.mark.parametrize("n_draws, level", [(99, 0.05), (59, 0.05), (50, 0.05), (199, 0.01)])
def test_draws_end_as_soon_as_the_verdict_is_certain(n_draws, level):
    rng, drawn = np.random.default_rng(0), []
    for share in np.resize([0.005, 0.02, 0.04, 0.06, 0.1, 0.5], 300):
        exceeds = rng.random((n_draws, 2)) < np.array([share, share / 2])
        (scores, features), n = random_labels.sequential_p_values(
            (1.0, 1.0), exceeds.astype(float), n_draws, level, ENDLESS
        )
        p_of_all = (1 + exceeds.sum(axis=0).max()) / (n_draws + 1)
        assert (max(scores, features) <= level) == (p_of_all <= level)
        drawn.append(n)
    assert min(drawn) < n_draws / 4 and max(drawn) == n_draws


def test_p_values_of_fewer_draws_are_valid():
    # Ranks of labels among exchangeable draws; the number of draws is limited, as by the time.
    rng, found = np.random.default_rng(0), []
    for _ in range(1500):
        all_of_them = rng.random(100)
        drawn = np.stack([all_of_them[1:], all_of_them[1:]], axis=1)[: rng.integers(39, 99)]
        p_values, _ = random_labels.sequential_p_values(
            (all_of_them[0],) * 2, drawn, 99, 0.05, ENDLESS
        )
        found.append(max(p_values))
    for level in (0.05, 0.1, 0.3):  # three standard errors
        assert np.mean(np.array(found) <= level) < level + 3 * np.sqrt(level * (1 - level) / 1500)


@pytest.mark.parametrize(
    "seconds, n, p_value",
    [(3.75, 30, None), (4.875, 39, 1 / 40), (7.5, 60, 1 / 61), (60.0, 99, 1 / 100), (0, 0, None)],
)
def test_draws_end_with_the_time(monkeypatch, seconds, n, p_value):
    clock = Clock(monkeypatch)
    end, draws = Deadline(seconds), clock.draws(0.125, *[(0.0, 0.0)] * 99)
    found = random_labels.sequential_p_values((1.0, 1.0), draws, 99, 0.05, end)
    assert found == (p_value and (p_value, p_value), n)
    assert clock.now <= seconds + 0.125


def test_few_draws_tell_that_the_test_cannot_reject(monkeypatch):
    clock = Clock(monkeypatch)
    draws = clock.draws(0.1, *[(0.0, 1.0)] * 99)
    p_values, n = random_labels.sequential_p_values((0.5, 0.5), draws, 99, 0.05, Deadline(1.0))
    assert n == 5 and p_values == (1 / 6, 1.0)


def test_a_test_ends_in_time_however_slow_its_draws_are(monkeypatch):
    clock, compare = Clock(monkeypatch), random_labels.LabelStatistics.__call__
    threads = set()

    def slow(self, labelled):
        clock.now += 0.125
        threads.update(p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas")
        return compare(self, labelled)

    monkeypatch.setattr(random_labels.LabelStatistics, "__call__", slow)
    X, y, prior = table(1, "obvious")
    for seconds, n_draws in ((2.0, None), (5.5, 43)):
        since = clock.now
        with threadpool_limits(2, "blas"):
            found = random_labels.labelled_at_random_within(
                Deadline(seconds), X, y, prior=prior, n_draws=99
            )
        assert clock.now - since <= seconds + 0.125
        assert (found and found.n_draws) == n_draws and (found is None or found.rejected)
    assert threads == {1}
