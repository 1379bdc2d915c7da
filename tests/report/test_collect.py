"""What a report says is true of the fit."""

import copy
import re
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binom, norm
from sklearn.pipeline import make_pipeline

from fewlabels import PUSVM
from fewlabels._util.deadline import Deadline
from fewlabels.model_selection import compare_with_baselines
from fewlabels.pipeline.summary import answer
from fewlabels.pipeline.tasks.positive_unlabelled import figures
from fewlabels.pipeline.training.outputs import rates_by_term
from fewlabels.report import collect
from fewlabels.report.evidence.held_out import HeldOutScores, hide_labels
from fewlabels.report.evidence.intervals import (
    counted_interval,
    cross_fitted_interval,
    estimate_precision_and_recall,
    threshold_interval,
)
from fewlabels.report.fit import Fit
from fewlabels.report.page.html import page
from fewlabels.report.reasons import explain_rows
from fewlabels.tables.models.files import save_model

pytestmark = pytest.mark.usefixtures("few_trees")


def table_of(parts):
    return pd.read_csv(parts["file"].path, keep_default_na=False)


def check_rows(ranking, parts, allowed, told=0.9):
    """Row numbers lead to the rows of the file, and scores are those that predict gives."""
    table = table_of(parts)
    rows = ranking.rows["row"].to_numpy()
    assert len(set(rows)) == len(rows) > 0
    assert list(table["case"].iloc[rows - 1]) == list(ranking.rows["case"])
    assert set(table["state"].iloc[rows - 1]) <= allowed
    assert ranking.rows["why"].str.contains("age|weight|town").mean() >= told


# -- one class -----------------------------------------------------------------------------------


def test_one_class(normal_parts):
    found = collect(**normal_parts).findings
    machine, X = normal_parts["estimator"], normal_parts["X"]
    own, held, blank, other = found.groups
    assert np.array_equal(own.scores, machine.decision_function(X))
    assert [len(g.scores) for g in (own, held)] == [len(X), len(X)]
    labels = table_of(normal_parts)["state"]
    assert len(blank.scores) == (labels == "").sum()
    assert len(other.scores) == (labels == "ill").sum()
    # The threshold lies at the rank that the rate asks for.
    assert np.sum(held.scores < -1e-9) == int(0.05 * (len(X) + 1)) - 1
    false, caught = found.rates
    rank = int(0.05 * (len(X) + 1))
    assert false.value == rank / (len(X) + 1)
    assert false.interval[0] < false.value < false.interval[1]
    assert caught.value == np.mean(other.scores < 0)
    unlabelled, strangest = found.rankings
    check_rows(unlabelled, normal_parts, {""})
    check_rows(strangest, normal_parts, {"well"})
    order = np.argsort(machine.score_samples(X), kind="stable")
    at = np.flatnonzero(labels.to_numpy() == "well")
    assert strangest.rows["row"].tolist() == (at[order[:20]] + 1).tolist()
    for ranking in found.rankings:
        assert "score" not in ranking.rows  # the p-value says the same to people
        assert np.all(np.diff(ranking.rows["p-value"]) >= 0)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_scores_that_calibrate_are_in_units_of_the_decision(kernel, fitted, seed):
    rows = np.random.default_rng(seed).normal(size=(80, 2))
    for machine in ("svdd", "one-class"):
        settings = {"target_fpr": 0.1, "calibration": "split", "kernel": kernel}
        parts = fitted({"X": rows}, method=machine, name="rows.npz", **settings)
        found = collect(**parts).findings
        estimator = parts["estimator"]
        held = np.random.default_rng(0).permutation(len(rows))[: len(rows) // 2]
        expected = np.sort(estimator.decision_function(parts["X"][held]))
        assert np.allclose(found.groups[1].scores, expected, atol=1e-12)
        assert "held out from training" in found.groups[1].name


def test_without_a_target_no_rate_is_made_up(fitted, seed):
    rows = np.random.default_rng(seed).normal(size=(60, 2))
    contents = collect(**fitted({"X": rows}, name="rows.npz", method="svdd"))
    assert contents.findings.rates == []
    assert "p-value" not in contents.findings.rankings[0].rows
    assert any("the false alarm rate is unknown" in note for note in contents.notes)


def test_gaps_in_a_matrix(fitted, seed):
    rows = np.random.default_rng(seed).normal(size=(60, 3))
    rows[3, 1], rows[5, 1] = np.nan, 30.0
    contents = collect(**fitted({"X": rows}, name="rows.npz"))
    ranking = contents.findings.rankings[0].rows
    assert ranking["row"][0] == 6 and ranking["why"][0].startswith("column 2 is 30 (median ")


# -- positive and unlabelled ---------------------------------------------------------------------


def test_positive(positive_parts):
    contents = collect(**positive_parts)
    found, machine = contents.findings, positive_parts["estimator"]
    y, X = positive_parts["y"], positive_parts["X"]
    check_rows(found.rankings[0], positive_parts, {""})
    best = found.rankings[0].rows["score"].to_numpy()
    assert best[0] == machine.decision_function(X[y == 0]).max() and np.all(np.diff(best) <= 0)
    assert found.prior.value == machine.prior_
    labelled, unlabelled = found.groups
    precision, recall = found.rates
    assert [len(labelled.scores), len(unlabelled.scores)] == [np.sum(y == 1), np.sum(y == 0)]
    hidden = hide_labels(machine, X, y, Deadline())
    marked = int((machine.transduction_[y == 0] == machine.classes_[1]).sum())
    n_unlabelled = int(np.sum(y == 0))
    found_in = estimate_precision_and_recall(
        machine.prior_, machine.prior_quantiles_, hidden.found, hidden.n, marked, n_unlabelled
    )
    assert hidden.n == np.sum(y == 1) and hidden.folds == 5
    assert recall.value == hidden.found / hidden.n
    assert precision.value == found_in.precision
    assert precision.interval == found_in.precision_interval
    for rate in (precision, recall, found.prior):
        assert rate.interval[0] <= rate.value <= rate.interval[1]
    # Held-out scores are not those of the machine itself.
    assert not np.allclose(np.sort(labelled.scores), np.sort(machine.decision_function(X[y == 1])))


@pytest.mark.parametrize("width", ["narrow", "wide"])
def test_a_share_that_the_data_leave_open_has_no_point(width, positive_parts):
    parts = copy.deepcopy({k: positive_parts[k] for k in ("estimator", "metadata")})
    parts, machine = {**positive_parts, **parts}, parts["estimator"]
    n, low, high = int(np.sum(parts["y"] == 0)), 0.01, 0.98 if width == "wide" else 0.5
    machine.prior_interval_ = low, high
    machine.prior_quantiles_ = np.geomspace(low, high, 32) if width == "wide" else np.full(32, 0.3)
    facts = figures(machine, parts["X"], {"ill": int(np.sum(parts["y"] == 1))}, None)
    parts["metadata"]["training"] |= facts
    contents = collect(**parts)
    found, shown = contents.findings, page(contents)
    share = found.answer[1][1].replace("\N{NO-BREAK SPACE}", " ")
    rows = f"{round(low * n)} to {round(high * n)} rows"
    point = f"{100 * machine.prior_:.0f} %"
    assert rows in found.headline
    line = dict(answer(parts["metadata"]))["class prior"]
    assert rows in line
    assert facts["prior_used"] == machine.prior_
    note = "which these data don't determine"
    if width == "wide":
        assert "Between 1 % and 98 % of" in found.headline.replace("\N{NO-BREAK SPACE}", " ")
        assert share == "between 1 % and 98 %: the data don't determine it"
        assert point not in share and facts["prior"] is None and "don't determine it" in line
        assert any(note in one for one in contents.notes) and "not determined" in shown
        assert rates_by_term(found.rates)["precision"]["value"] is None
    else:
        assert found.headline.startswith("About") and share.startswith(point)
        assert facts["prior"] == machine.prior_ and "don't determine" not in line
        assert not any(note in one for one in contents.notes) and "not determined" not in shown
        assert rates_by_term(found.rates)["precision"]["value"] == found.rates[0].value


def test_a_prior_that_is_given_has_no_interval(fitted, positive_parts):
    table = table_of(positive_parts)
    prior = collect(**fitted(table, target="state", prior=0.2)).findings.prior
    assert prior.interval is None and prior.value == 0.2 and "with prior" in prior.source


def test_one_positive_row_is_too_few_for_rates(fitted, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    table["state"] = [*["ill"], *[""] * 39]
    contents = collect(**fitted(table, target="state", prior=0.2))
    assert contents.findings.rates == []
    assert any("Error rates are unknown" in note for note in contents.notes)


# -- two classes ---------------------------------------------------------------------------------


def test_classes(class_parts):
    found = collect(**class_parts).findings
    y, machine = class_parts["y"], class_parts["estimator"]
    ill, well, unlabelled = found.groups
    assert (ill.name, well.name) == ("labelled 'ill'", "labelled 'well'")
    right = np.sum(ill.scores <= 0) + np.sum(well.scores > 0)
    assert found.rates[0].value == right / 20
    assert found.rates[0].interval == cross_fitted_interval(right, 20)
    assert np.array_equal(unlabelled.scores, machine.decision_function(class_parts["X"][y < 0]))
    least, most_ill, most_well = found.rankings
    for ranking in found.rankings:
        check_rows(ranking, class_parts, {""})
    assert most_ill.rows["score"][0] == unlabelled.scores.min()
    assert most_well.rows["score"][0] == unlabelled.scores.max()
    assert least.rows["models that agree"].str.fullmatch("[0-9]+ of 10").all()
    certain = {*most_ill.rows["row"], *most_well.rows["row"]}
    assert not certain & set(least.rows["row"])


def test_no_recall_of_a_class_of_which_no_row_was_held_out(class_parts):
    # The time may end after a fold that holds rows of one class only.
    y = class_parts["y"]
    rows = np.flatnonzero(y == 0)[:5]
    held = HeldOutScores(rows, np.full(5, -1.0), 1, 5)
    found = collect(**class_parts, held=held).findings
    first, second = class_parts["metadata"]["training"]["classes"]
    assert [rate.term for rate in found.rates] == ["accuracy", f"recall of '{first}'"]
    assert any(f"The recall of '{second}' is unknown" in note for note in found.notes)


def test_one_label_a_class_is_too_few_for_rates(fitted, class_parts):
    table = table_of(class_parts)
    for name in ("ill", "well"):
        table.loc[np.flatnonzero(table["state"] == name)[1:], "state"] = ""
    contents = collect(**fitted(table, target="state"))
    assert contents.findings.rates == []
    assert any("only one labelled row" in note for note in contents.notes)
    assert "models that agree" not in contents.findings.rankings[0].rows


# -- the rest ------------------------------------------------------------------------------------


def test_facts(positive_parts):
    contents = collect(**positive_parts, command="fewlabels fit people.csv")
    rows = dict(contents.rows)
    assert rows["Rows in the file"] == "300" and contents.source == "people.csv"
    assert contents.command == "fewlabels fit people.csv"
    assert contents.model == "people.fewlabels"
    assert {c.name for c in contents.columns} == {"case", "age", "weight", "town"}
    assert dict(contents.certificate)["Status"] == "converged"
    assert contents.baselines is None and contents.verdict == ""
    code = dict(contents.usage)
    row = contents.findings.rankings[0].rows["row"][0]
    assert code["Why a row has its score"].endswith(f"people.csv --row {row}")


def test_python_to_copy_gives_the_scores_of_predict(fitted, seed, tmp_path, monkeypatch):
    rng, n = np.random.default_rng(seed), 80
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "known": rng.random(n) < 0.5,
            "code": np.where(rng.random(n) < 0.5, "01", "02"),
        }
    )
    parts = fitted(table, name="v1. two words.csv")
    contents = collect(**parts)
    code = dict(contents.usage)
    assert code["Score new rows"].endswith("predict people.fewlabels new.csv -o scored.csv")
    monkeypatch.chdir(tmp_path)
    table.to_csv("new.csv", index=False)
    pipeline = make_pipeline(parts["encoder"], parts["estimator"])
    save_model("people.fewlabels", pipeline, parts["metadata"])
    told = {}
    exec(code["From Python"], told)
    np.testing.assert_allclose(told["scores"], parts["estimator"].decision_function(parts["X"]))


def test_comparison(positive_parts):
    comparison = compare_with_baselines(
        positive_parts["estimator"], positive_parts["X"], positive_parts["y"], time_budget=5
    )
    contents = collect(**positive_parts, comparison=comparison)
    assert contents.baselines is comparison.table and contents.verdict == comparison.verdict
    assert contents.worse_than == comparison.worse_than


def test_a_comparison_of_nothing_or_of_a_part_of_the_rows_is_not_asked(class_parts):
    """One fold of ours alone would give an interval from nothing to all."""
    nothing = compare_with_baselines(
        class_parts["estimator"], class_parts["X"], class_parts["y"], time_budget=1e-6
    )
    assert nothing.outcome == "unknown"
    table = nothing.table.assign(score=0.9, low=0.8, high=0.95)
    whole = replace(nothing, outcome="better", table=table, rows=20)
    found = collect(**class_parts, comparison=whole).findings.rates[0]
    assert found.value == 0.9 and found.source.startswith(
        "Measured on 20 rows held out with their labels, as in"
    )
    without = collect(**class_parts).findings.rates[0]
    assert "of 20 labelled rows" in without.source
    for other in (nothing, replace(whole, rows=19)):
        assert collect(**class_parts, comparison=other).findings.rates[0] == without


@pytest.mark.parametrize("parts", ["normal_parts", "positive_parts", "class_parts"])
def test_nothing_is_changed(request, parts):
    parts = request.getfixturevalue(parts)
    before = parts["estimator"].decision_function(parts["X"])
    y = None if parts["y"] is None else parts["y"].copy()
    collect(**parts)
    assert np.array_equal(before, parts["estimator"].decision_function(parts["X"]))
    assert y is None or np.array_equal(y, parts["y"])


def test_many_rows_are_sampled(positive_parts, monkeypatch):
    monkeypatch.setattr("fewlabels.report.fit._MAX_KERNEL_VALUES", 5_000.0)
    contents = collect(**positive_parts)
    assert any(re.search("random sample of [0-9]+ rows", note) for note in contents.notes)
    check_rows(contents.findings.rankings[0], positive_parts, {""}, told=0.0)


# -- intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 7), (7, 7), (40, 900)])
def test_counted_interval(hits, n):
    low, high = counted_interval(hits, n)
    if hits:
        assert np.isclose(binom.sf(hits - 1, n, low), 0.05)
    if hits < n:
        assert np.isclose(binom.cdf(hits, n, high), 0.05)


def test_threshold_interval(seed):
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.uniform(size=(20_000, 99)), axis=1)[:, 4]  # the fifth lowest of 99
    low, high = threshold_interval(5, 99)
    assert abs(np.mean(drawn < low) - 0.05) < 0.01 and abs(np.mean(drawn > high) - 0.05) < 0.01


def test_all_of_few_rows_are_no_proof():
    """15 of 15 start near 80 %, not at 90 %."""
    assert counted_interval(15, 15)[0] == pytest.approx(0.05 ** (1 / 15))
    assert 0.7 < cross_fitted_interval(15, 15)[0] < counted_interval(15, 15)[0] < 0.82
    assert counted_interval(0.5, 2.5, 0.95)[0] < counted_interval(0.5, 2.5)[0] < 0.2


def normal_halves(prior, low, high):
    """Quantiles of a skewed distribution with this 90 % interval."""
    z = norm.ppf((np.arange(32) + 0.5) / 32) / norm.ppf(0.95)
    return np.clip(prior + np.where(z < 0, prior - low, high - prior) * z, 1e-4, 1.0 - 1e-4)


def test_promise_of_precision_and_recall():
    wide = estimate_precision_and_recall(
        0.3, normal_halves(0.3, 0.25, 0.4), 800, 1000, 3000, 10_000
    )
    assert 0.6 < wide.precision_interval[0] < wide.precision < wide.precision_interval[1] <= 1.0
    assert wide.recall == 0.8 and wide.recall_interval[0] < 0.8 < wide.recall_interval[1]
    narrow = estimate_precision_and_recall(0.3, None, 800, 1000, 3000, 10_000)
    assert narrow.precision == pytest.approx(0.8, abs=0.01)
    assert np.ptp(narrow.precision_interval) < np.ptp(wide.precision_interval)
    # Errors of the prior and of recall are correlated, and so is what they do to the precision.
    interval = np.divide((0.25, 0.4), 0.3) * 0.8
    assert np.ptp(wide.precision_interval) < 0.95 * np.hypot(
        np.ptp(np.minimum(interval, 1.0)), np.ptp(narrow.precision_interval)
    )
    # Chance among few marked rows is a part of the interval.
    few = estimate_precision_and_recall(0.3, None, 800, 1000, 9, 30)
    assert np.ptp(few.precision_interval) > 2 * np.ptp(narrow.precision_interval)
    # A prior that is too large for the rows marked: what is impossible is left out.
    large = estimate_precision_and_recall(0.6, normal_halves(0.6, 0.1, 0.9), 90, 100, 200, 1000)
    assert large.precision < 1.0 and large.precision_interval[0] < 0.75
    # Nothing is possible at all: the least impossible.
    assert estimate_precision_and_recall(0.9, None, 99, 100, 10, 1000).precision == 1.0


def test_precision_carries_a_skewed_prior():
    """Without separation, as many marked rows are positive as of all: nobody knows how many."""
    share = np.geomspace(0.001, 0.98, 32)
    found = estimate_precision_and_recall(
        0.65, share, 39, 60, 650, 1000
    )  # 65 % of everything is marked
    assert found.precision == pytest.approx(share.mean(), abs=0.03)
    assert found.precision_interval[0] < 0.02 and found.precision_interval[1] > 0.7
    assert (
        estimate_precision_and_recall(0.65, np.full(32, 0.95), 39, 60, 650, 1000).precision > 0.9
    )
    # The point of the prior doesn't matter, its distribution does.
    assert estimate_precision_and_recall(0.1, share, 39, 60, 650, 1000) == found


def test_promises_where_all_rows_are_marked_though_a_hidden_label_was_missed():
    found = estimate_precision_and_recall(0.4, np.linspace(0.3, 0.5, 32), 56, 60, 1000, 1000)
    assert 0.38 < found.precision < 0.42
    assert found.recall_interval[1] == 1.0


def test_hidden_labels_are_found_as_often_as_unlabelled_positives():
    rng = np.random.default_rng(0)
    truth = np.arange(900) < 300
    X = rng.normal(size=(900, 2)) + 1.2 * truth[:, None]
    y = (np.arange(900) < 100).astype(int)
    machine = PUSVM(0.25).fit(X, y)
    hidden = hide_labels(machine, X, y, Deadline())
    among_rows = np.mean(machine.predict(X[100:300]) == machine.classes_[1])
    assert hidden.n == 100 and hidden.found / hidden.n == pytest.approx(among_rows, abs=0.1)
    assert hide_labels(machine, X, y, Deadline(0.0)).folds == 1
    assert "no time" in hide_labels(machine, X, y, Deadline(0.5), seconds=2.0).reason
    one = np.where(np.arange(900) == 0, 1, 0)
    assert "only one labelled row" in hide_labels(machine, X, one, Deadline()).reason


def test_no_reasons_where_columns_are_too_many():
    rows = sp.csr_array((3, 10_001))
    fit = SimpleNamespace(found=SimpleNamespace(rows=rows))
    assert explain_rows(fit, None, np.array([2, 0]), 1.0) == ["", ""]


@pytest.mark.parametrize("parts", ["positive_parts", "class_parts"])
def test_a_deadline_ends_what_takes_long_and_is_said(request, parts):
    parts = request.getfixturevalue(parts)
    contents = collect(**parts, deadline=Deadline(0.0))
    told = [note for note in contents.notes if note.startswith("The time budget ran out")]
    assert len(told) == 1
    n, planned = re.search(r"based on (\d+) of (\d+) models trained without", told[0]).groups()
    assert int(n) == 1 < int(planned)  # one is always fitted, so that rates can be counted
    assert "no reasons for the scores of some rows" in told[0]
    assert contents.findings.rates
    assert not any("why" in ranking.rows for ranking in contents.findings.rankings)
    endless = collect(**parts)
    assert not any("time budget ran out" in note for note in endless.notes)


def test_reasons_in_parts_are_those_of_one_call(positive_parts):
    named = {field.name for field in fields(Fit)}
    fit = Fit(**{name: part for name, part in positive_parts.items() if name in named})
    order = np.arange(9)
    whole = explain_rows(fit, fit.trained_rows, order, 1.0)
    parts = explain_rows(replace(fit, deadline=Deadline(3600.0)), fit.trained_rows, order, 1.0)
    assert parts == whole
    assert sum(map(bool, whole[:4])) == 4 and any(whole[4:])

    class Soon(Deadline):
        """Time for the first row alone."""

        looks = 0

        def is_over(self):
            self.looks += 1
            return self.looks > 1

    end = Soon(1.0)
    some = explain_rows(replace(fit, deadline=end), fit.trained_rows, order, 1.0)
    assert some[0] == whole[0] and not any(some[1:])
    assert end.cut == ["no reasons for the scores of some rows"]


def test_a_comparison_of_nothing_has_no_table(positive_parts):
    asked = positive_parts["estimator"], positive_parts["X"], positive_parts["y"]
    nothing = compare_with_baselines(*asked, time_budget=1e-3)
    assert nothing.outcome == "unknown"
    ours = np.where(nothing.table["ours"], 0.9, np.nan)
    alone = replace(nothing, table=nothing.table.assign(score=ours, low=0.0, high=1.0))
    told = page(collect(**positive_parts, comparison=alone))
    assert "could be compared" in told and "Best first." not in told


def test_without_reasons_nothing_speaks_of_them(class_parts):
    contents = collect(**class_parts, deadline=Deadline(0.0))
    least = contents.findings.rankings[0]
    assert "columns listed" not in least.text and "models that agree" not in least.rows
    assert "Why: the columns" not in page(contents)
    whole = collect(**class_parts)
    assert "columns listed" in whole.findings.rankings[0].text and "Why: the columns" in page(
        whole
    )
