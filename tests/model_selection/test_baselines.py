"""Comparisons with baselines: no held-out row is trained on, errors are honest, verdicts true."""

from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import t as student
from sklearn.base import BaseEstimator
from sklearn.datasets import make_moons
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, tune
from fewlabels.baselines.methods import ComparedMethod
from fewlabels.metrics.intervals import cross_fitted_interval
from fewlabels.model_selection import compare_with_baselines
from fewlabels.model_selection.comparison import folds, verdict
from fewlabels.model_selection.comparison.folds import Scores, folds_in_words
from fewlabels.model_selection.comparison.method_comparison import _make_table, explain_missing
from fewlabels.model_selection.one_class import comparison as baselines_one_class
from fewlabels.model_selection.positive_unlabelled import comparison as baselines_pu
from fewlabels.model_selection.semi_supervised import comparison as semi_supervised_comparison

pytestmark = pytest.mark.usefixtures("few_trees")

matplotlib.use("Agg")
COLUMNS = ["name", "ours", "score", "low", "high", "seconds", "note"]


class Recorder(BaseEstimator):
    """Knows by heart the rows that it was trained on; their first column is their number."""

    seen = None

    def fit(self, X, y=None):
        self.known_ = set(np.asarray(X)[:, 0])
        Recorder.seen.append((np.asarray(X)[:, 0], y))
        return self

    def _knows(self, X):
        return np.array([float(x in self.known_) for x in np.asarray(X)[:, 0]])

    def predict(self, X):
        return self._knows(X) > 0

    score_samples = decision_function = _knows


@pytest.fixture
def recorder(monkeypatch):
    """The baselines replaced by one recorder; few repeats."""
    Recorder.seen = []
    for module, name in [
        (semi_supervised_comparison, "semi_supervised_methods"),
        (baselines_pu, "positive_unlabelled_methods"),
        (baselines_one_class, "one_class_methods"),
    ]:
        monkeypatch.setattr(module, name, lambda seed: [ComparedMethod("recorder", Recorder())])
    return Recorder


@pytest.fixture(autouse=True)
def _few_repeats(monkeypatch):
    monkeypatch.setattr(semi_supervised_comparison, "_MAX_REPEATS", 2)
    monkeypatch.setattr(baselines_pu, "_REPEATS", 2)
    monkeypatch.setattr(baselines_one_class, "_REPEATS", 1)


@pytest.fixture
def few(rng):
    """Two separate clouds, ten labels of each."""
    truth = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 3)) + 4.0 * truth[:, None]
    y = np.full(100, -1)
    y[:10], y[50:60] = 0, 1
    return X, y


@pytest.fixture
def pu(rng):
    truth = np.r_[np.ones(40), rng.random(110) < 0.4]
    X = rng.normal(size=(150, 3)) + 2.0 * truth[:, None]
    return X, np.r_[np.ones(40), np.zeros(110)], truth


def numbered(X):
    return np.column_stack([np.arange(len(X)), X])


# -- what is trained on -----------------------------------------------------------------------


def test_held_out_labelled_rows_are_not_trained_on(few, recorder):
    X, y = few
    found = compare_with_baselines(S3VM(), numbered(X), y)
    assert len(recorder.seen) == 10  # two times five folds
    for rows, labels in recorder.seen:
        assert set(np.flatnonzero(y < 0)) <= set(rows)  # unlabelled rows all stay
        assert np.sum(labels >= 0) == 16 and len(rows) == 80 + 16
        known = labels >= 0
        np.testing.assert_array_equal(labels[known], y[rows[known].astype(int)])
    # It knows no test row, calls all of them class 0, and half of them are.
    assert found.table.set_index("name").loc["recorder", "score"] == 0.5


def test_held_out_positive_and_unlabelled_rows_are_not_trained_on(pu, recorder):
    X, y, _ = pu
    found = compare_with_baselines(PUSVM(prior=0.4), numbered(X), y)
    for rows, labels in recorder.seen:
        assert len(rows) == 120 and labels.sum() == 32
    assert found.table.set_index("name").loc["recorder", "score"] == pytest.approx(0.5)


def test_known_anomalies_and_held_out_rows_are_not_trained_on(rng, recorder):
    X, odd = rng.normal(size=(50, 2)), rng.normal(5.0, 1.0, size=(9, 2))
    odd = np.column_stack([np.arange(100, 109), odd])
    found = compare_with_baselines(SVDD(), numbered(X), known_other=odd)
    for rows, _ in recorder.seen:
        assert len(rows) == 40 and rows.max() < 50
    assert found.table.set_index("name").loc["recorder", "score"] == 0.5
    assert np.isfinite(found.table["score"]).all()


# -- scores -------------------------------------------------------------------------------------


def test_the_corrected_error_is_that_of_nadeau_and_bengio():
    values = np.array([0.7, 0.8, 0.9, 0.6])
    variance = np.sum((values - values.mean()) ** 2) / 3
    expected = np.sqrt((1 / 4 + 1 / 3) * variance)
    assert verdict.corrected_error(values[None], 1 / 3) == pytest.approx(expected)
    assert verdict.corrected_error(values[None, :1], 1 / 3) == np.inf


def test_hits_give_scores_differences_and_intervals():
    hits = np.full((2, 2, 4), np.nan)
    hits[0, 0, :2], hits[0, 1, 2:] = [1, 1], [1, 0]
    hits[1, 0, :2], hits[1, 1, 2:] = [1, 0], [0, 0]
    scores = Scores([])
    scores.fill_hits(hits, 1.0)
    np.testing.assert_allclose(scores.mean, [0.75, 0.25])
    assert scores.ends == [cross_fitted_interval(hits, 4) for hits in (3, 1)]
    # The folds agree on the difference: what is left is that of four rows, two of them apart.
    assert scores.difference_error[1] == pytest.approx(np.sqrt(2) / 4)
    table = verdict.make_differences(["S", "b"], scores.mean, scores.difference_error, 2)
    half = student.ppf(0.975, 1) * np.sqrt(2) / 4
    assert table["low"][0] == pytest.approx(0.5 - half)
    assert not table["ahead"][0] and not table["clear"][0]


def test_the_area_with_known_anomalies_is_that_of_scikit_learn(rng, monkeypatch):
    seen = []
    monkeypatch.setattr(baselines_one_class, "one_class_methods", lambda seed: [])
    real = baselines_one_class._fill_areas
    monkeypatch.setattr(
        baselines_one_class, "_fill_areas", lambda found: (seen.append(found), real(found))
    )
    X, odd = rng.normal(size=(60, 2)), rng.normal(2.0, 1.0, size=(15, 2))
    found = compare_with_baselines(SVDD(gamma=0.5), X, known_other=odd)
    areas = [
        roc_auc_score(np.repeat([1, 0], [len(held), len(other)]), np.r_[held, other])
        for held, _, other in seen[0].outputs[0].values()
    ]
    assert found.table["score"][0] == pytest.approx(np.mean(areas))
    assert found.outcome == "unknown"
    assert "No baseline could be compared: no other method takes these rows." in found.verdict


def test_the_area_is_that_of_held_out_positive_against_unlabelled_rows(pu):
    X, y, _ = pu
    # With a prior as large as this, an area against negatives would be cut at 1.
    found = compare_with_baselines(PUSVM(prior=0.9), X, y)
    ours = found.table[found.table["ours"]].iloc[0]
    assert 0.6 < ours["score"] < 0.95 and ours["low"] < ours["score"] < ours["high"]
    assert found.table["score"].max() < 0.95
    assert "expected accuracy" in ours["note"] and "unlabelled rows" in found.measure


def test_placements_are_those_of_the_roc_curve(rng):
    decision, is_positive = rng.integers(0, 9, 60).astype(float), np.arange(60) % 3 == 0
    found = baselines_pu.compute_placements(decision, is_positive)
    area = roc_auc_score(is_positive, decision)
    assert found[is_positive].mean() == pytest.approx(area)
    assert found[~is_positive].mean() == pytest.approx(area)
    # One fold: its rows alone tell how far it may be off, and paired rows how far two are apart.
    scores = Scores([])
    values = np.stack([found, np.where(is_positive, found, found)])[:, None, :]
    scores.fill_placements(np.repeat(values, 2, axis=1), is_positive, 0.25)
    kinds = [found[is_positive], found[~is_positive]]
    delong = np.sqrt(sum(np.var(kind, ddof=1) / len(kind) for kind in kinds))
    np.testing.assert_allclose(scores.error, delong)
    np.testing.assert_allclose(scores.difference_error, 0.0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 4])
def test_intervals_of_differences_hold_at_once(n):
    scores, errors = np.r_[0.9, np.full(n, 0.8)], np.full(n + 1, 0.04)
    table = verdict.make_differences(["S", *"abcd"[:n]], scores, errors, 20)
    half = student.ppf(1 - 0.025 / n, 19) * 0.04
    np.testing.assert_allclose(table["high"] - table["difference"], half)
    assert table["clear"].all() == (n == 1)


def test_noise_names_no_method_better_or_worse(rng):
    outcomes = []
    for _ in range(6):
        X, y = rng.normal(size=(90, 3)), np.repeat([1, 0], [20, 70])
        outcomes.append(compare_with_baselines(PUSVM(prior=0.3), X, y).outcome)
    assert outcomes == ["undecided"] * 6


# -- verdicts -----------------------------------------------------------------------------------


def table_of(*lines):
    return pd.DataFrame(
        lines, columns=["name", "difference", "standard_error", "low", "high", "ahead", "clear"]
    )


def test_reasons_why_no_baseline_was_compared():
    methods = [ComparedMethod(name, None) for name in ("ours", "one", "two", "three")]
    scores = Scores(methods)
    time_out = "finished before the time budget ended the comparison"
    assert explain_missing(scores, "time budget") == f"none {time_out}"
    scores.failures[2] = "failed: singular matrix."
    expected = f"two failed: singular matrix, and 2 never {time_out}"
    assert explain_missing(scores, "time budget") == expected
    scores.failures[1:] = ["failed: no"] * 3
    assert explain_missing(scores, "") == "one failed: no (2 others failed, too)"


@pytest.mark.parametrize(
    ("lines", "outcome", "worse_than", "words"),
    [
        (
            [("a", -0.1, 0.02, -0.1, -0.1, True, True), ("b", 0.1, 1.0, -1.0, 1.2, False, False)],
            "worse", ["a"], "Worse than a baseline: a is significantly better, area 0.90 against",
        ),
        (
            [("a", -0.1, 0.2, -0.5, 0.3, True, False), ("b", -0.05, 0.0, -0.1, 0.0, True, True)],
            "worse", ["b"], "b is significantly better, area 0.85 against 0.80",
        ),
        (
            [("a", -0.1, 0.2, -0.5, 0.3, True, False), ("b", 0.1, 0.01, 0.08, 0.12, False, True)],
            "undecided", [], "1 is statistically tied with it, and it is significantly better",
        ),
        (
            [("a", 0.01, 0.2, -0.4, 0.4, False, False), ("b", 0.1, 0.01, 0.08, 0.12, False, True)],
            "undecided", [], "No baseline is significantly better; 1 is statistically tied",
        ),
        (
            [("a", 0.1, 0.01, 0.08, 0.12, False, True), ("b", 0.2, 0.01, 0.18, 0.22, False, True)],
            "better", [], "Better than 2 baselines; next is a, area 0.70 against 0.80, a",
        ),
        (
            [("a", -0.17, 0.4, -0.91, 0.57, True, False)],
            "undecided", [], "0.97 against 0.80, but on so few rows and splits that any",
        ),
        ([], "unknown", [], "No baseline could be compared"),
    ],
)  # fmt: skip
def test_verdicts(lines, outcome, worse_than, words):
    table = table_of(*lines)
    told = verdict.compare_scores(table, 0.8, lambda value: f"{value:.2f}", "area")
    assert told[0] == outcome and told[2] == worse_than
    assert words in told[1]
    assert all(name in told[1] for name in worse_than)


def test_a_machine_with_bad_settings_is_called_worse(few, monkeypatch):
    X, y = few
    # Intervals for seven baselines at once need more folds than other tests.
    monkeypatch.setattr(semi_supervised_comparison, "_MAX_REPEATS", 5)
    found = compare_with_baselines(S3VM(gamma=1e4, C_star=1e-6), X, y)
    assert found.outcome == "worse"
    assert all(name in found.verdict for name in found.worse_than)
    assert list(found.table.columns) == COLUMNS
    assert found.table["name"].is_unique and found.table["ours"].sum() == 1
    scores = found.table["score"].to_numpy()
    assert (np.diff(scores) <= 0).all()
    better = found.differences[found.differences["ahead"] & found.differences["clear"]]
    assert found.worse_than == list(better["name"])


def test_a_good_machine_is_not_called_worse(seed):
    X, truth = make_moons(240, noise=0.08, random_state=seed)
    y = np.full(240, -1)
    for label in (0, 1):
        y[np.flatnonzero(truth == label)[:12]] = label
    found = compare_with_baselines(S3VM(gamma=10.0), X, y)
    clear = found.differences.set_index("name")
    assert clear.loc["majority class", "clear"] and not clear.loc["majority class", "ahead"]
    assert found.outcome != "worse"


def test_bad_settings_of_the_other_machines_are_seen(pu, rng):
    X, y, _ = pu
    found = compare_with_baselines(PUSVM(prior=0.4, gamma=1e4), X, y)
    assert found.outcome == "worse" and "logistic regression" in found.verdict
    rows, odd = rng.normal(size=(120, 2)), rng.normal(4.0, 0.5, size=(30, 2))
    # No width is bad here: scores go on where the kernel ends.
    found = compare_with_baselines(OneClassSVM(kernel="linear"), rows, known_other=odd)
    assert found.outcome == "worse" and len(found.worse_than) >= 3


def test_without_known_anomalies_nothing_is_ranked(rng):
    X = rng.normal(size=(200, 3))
    found = compare_with_baselines(SVDD(C=0.1, target_fpr=0.1), X)
    assert found.outcome == "unknown" and not found.worse_than
    assert found.table["score"].isna().all() and found.differences.empty
    assert "detectors can't be ranked" in found.verdict
    agreement = found.agreement.set_index("name")
    assert agreement.loc["SVDD", "rank_correlation"] == pytest.approx(1.0)
    assert (agreement["asked"] == 0.1).all()
    assert agreement.loc["SVDD", "false_alarms"] == pytest.approx(0.1, abs=0.07)
    rows = found.disagreements
    assert rows["row"].is_unique and rows["row"].between(0, 199).all()
    apart = (rows["ours"] - rows["baselines"]).abs().to_numpy()
    assert (np.diff(apart) <= 1e-12).all()


# -- inputs -------------------------------------------------------------------------------------


def test_pipelines_tables_and_strings(few):
    X, y = few
    table = pd.DataFrame(X * [1.0, 1e6, 1.0], columns=list("abc"))
    labels = np.array([None, "no", "yes"], dtype=object)[y + 1]
    model = make_pipeline(StandardScaler(), S3VM())
    found = compare_with_baselines(model, table, labels)
    scores = found.table.set_index("name")["score"]
    assert scores["SVM, labels only"] > 0.9  # it stands behind the scaler too
    assert scores["S3VM"] > 0.9
    bare = compare_with_baselines(S3VM(), table, labels)
    assert np.isfinite(bare.table["score"]).all()
    frames = make_pipeline(StandardScaler().set_output(transform="pandas"), S3VM())
    same = compare_with_baselines(frames, table, labels).table.set_index("name")["score"]
    pd.testing.assert_series_equal(scores.sort_index(), same.sort_index())


def test_sparse_rows(pu, rng):
    X, y, _ = pu
    sparse = sp.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0.0))
    semi = np.where(np.arange(150) < 40, np.arange(150) % 2, -1)
    for machine, labels in [(PUSVM(prior=0.4), y), (S3VM(), semi)]:
        found = compare_with_baselines(machine, sparse, labels)
        assert np.isfinite(found.table["score"]).all()
    found = compare_with_baselines(SVDD(), sparse, known_other=sparse[:5])
    failed = found.table[found.table["score"].isna()]
    assert list(failed["name"]) == ["Mahalanobis distance"]
    assert failed["note"].iloc[0].startswith("failed: ")
    assert "Not compared: Mahalanobis distance" in found.protocol


def test_a_fitted_machine_lends_its_prior_and_its_left_out_rows(pu, rng, monkeypatch):
    X, y, _ = pu
    machine = PUSVM(prior=0.3).fit(X, y)
    machine.prior = "estimate"
    assert "with the prior 0.3," in compare_with_baselines(machine, X, y).protocol
    trims = []
    real = baselines_one_class.far_from_neighbors
    monkeypatch.setattr(
        baselines_one_class, "far_from_neighbors",
        lambda rows, trim: trims.append(trim) or real(rows, trim),
    )  # fmt: skip
    compare_with_baselines(tune(SVDD(), rng.normal(size=(60, 2))), rng.normal(size=(60, 2)))
    assert set(trims) == {0.4}


def test_large_data_are_sampled_and_it_is_said(few, pu, rng, monkeypatch):
    monkeypatch.setattr(folds, "MOST_ROWS", 60)
    X, y = few
    assert (
        "20 labelled and 40 unlabelled rows of 100"
        in compare_with_baselines(S3VM(), X, y).protocol
    )
    monkeypatch.setattr(folds, "MOST_ROWS", 100)
    X, y, _ = pu
    assert (
        "40 positive and 60 unlabelled rows of 150"
        in compare_with_baselines(PUSVM(prior=0.4), X, y).protocol
    )
    monkeypatch.setattr(baselines_one_class, "MOST_ROWS", 50)
    assert (
        "sample of 50 rows of 80"
        in compare_with_baselines(SVDD(), rng.normal(size=(80, 2))).protocol
    )


def test_a_spent_budget_keeps_what_is_done(few):
    X, y = few
    found = compare_with_baselines(S3VM(), X, y, time_budget=1e-6)
    assert found.stopped == "time budget" and found.outcome == "unknown"
    assert found.table["score"].isna().all()
    assert (found.table["note"] == "not finished in time").all()


def test_ctrl_c_keeps_the_folds_that_are_done(few, recorder, monkeypatch):
    X, y = few
    real, calls = Recorder.fit, []

    def fit(self, X, y=None):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(self, X, y)

    monkeypatch.setattr(Recorder, "fit", fit)
    found = compare_with_baselines(S3VM(), X, y)
    assert found.stopped == "Ctrl-C" and "ended early by Ctrl-C" in found.protocol
    assert found.protocol.startswith("Accuracy on held-out labelled rows: 3 folds")
    assert found.folds == 3 and 0 < found.rows < np.sum(y >= 0)
    assert np.isfinite(found.table["score"]).all() and found.outcome != "unknown"


def test_the_same_seed_gives_the_same(few):
    X, y = few
    tables = [compare_with_baselines(S3VM(), X, y, random_state=3).table for _ in range(2)]
    pd.testing.assert_frame_equal(*(t.drop(columns="seconds") for t in tables))


def test_shares_that_labels_do_not_show_are_spoken_of(rng):
    # One unlabelled row in ten is of the second class, and half of the labels.
    truth = np.repeat([0, 1], [120, 30])
    X = rng.normal(size=(150, 2)) + 3.0 * truth[:, None]
    y = np.full(150, -1)
    y[:18], y[120:138] = 0, 1
    found = compare_with_baselines(S3VM(balance=0.0, C_star=50.0), X, y)
    assert "Caution: it predicts" in found.verdict and "50 % are" in found.verdict
    assert found.table["note"].str.contains("of the unlabelled rows 1").all()
    found = compare_with_baselines(S3VM(balance=False), X, y, class_names=("'dull'", "'odd'"))
    assert "Caution" not in found.verdict
    assert found.table["note"].str.contains("of the unlabelled rows 'odd'").all()


def test_too_few_labels_are_said(few):
    X, y = few
    y = y.copy()
    y[1:10] = -1
    found = compare_with_baselines(S3VM(), X, y)
    assert found.outcome == "unknown" and "a class has only 1 labelled row" in found.verdict


def test_pictures(few, rng):
    X, y = few
    found = compare_with_baselines(S3VM(), X, y)
    ax = found.plot()
    assert ax.get_xlabel() == found.measure
    assert [label.get_text() for label in ax.get_yticklabels()] == list(found.table["name"])
    ax = compare_with_baselines(SVDD(), rng.normal(size=(60, 2))).plot()
    assert ax.get_xlabel() == "rank correlation with ours"


def test_bad_input(few):
    X, y = few
    for arguments, words in [
        ((StandardScaler(), X), "compare_with_baselines accepts SVDD"),
        ((S3VM(), X), "S3VM needs labels; pass y"),
        ((S3VM(kernel="precomputed"), X @ X.T, y), "baselines need rows"),
        ((S3VM(), X, y[:-1]), "inconsistent numbers of samples"),
    ]:
        with pytest.raises(ValueError, match=words):
            compare_with_baselines(*arguments)
    with pytest.raises(ValueError, match="known_other is for SVDD, SVDDEnsemble and OneClassSVM"):
        compare_with_baselines(S3VM(), X, y, known_other=X[:3])
    with pytest.raises(ValueError, match="time_budget=0"):
        compare_with_baselines(SVDD(), X, time_budget=0)


def test_areas_end_at_one_and_keep_their_order():
    found = SimpleNamespace(
        methods=[SimpleNamespace(name=name) for name in ("ours", "ahead")], failures=["", ""],
        notes={}, running=[0, 1], folds=[0, 1, 2], mean=np.array([1.01, 1.02]),
        error=np.array([0.1, np.inf]), seconds=[[1.0], [1.0]], ends=None,
    )  # fmt: skip
    table = _make_table(found, True)
    assert list(table["name"]) == ["ahead", "ours"] and (table["score"] == 1.0).all()
    assert (table["high"] == 1.0).all() and table["low"].between(0.0, 1.0).all()


def test_a_single_fold_is_called_one():
    assert [folds_in_words(range(n)) for n in (1, 5)] == ["1 fold", "5 folds"]
