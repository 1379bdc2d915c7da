"""The section on labels that aren't random: its figures, its rows, and when it is left out."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from fewlabels import PUSVM, PUEnsemble
from fewlabels._util import deadline
from fewlabels._util.deadline import Deadline
from fewlabels.model_selection import bias_sensitivity
from fewlabels.model_selection.positive_unlabelled import bias
from fewlabels.report import collect
from fewlabels.report.fit import Fit
from fewlabels.report.page import sections
from fewlabels.report.sensitivity import BOUNDS, measure_sensitivity


def fit_of(parts, **others):
    return Fit(**{name: value for name, value in parts.items() if name != "model_path"} | others)


def test_figures_are_those_of_bias_sensitivity(positive_parts, contents):
    found = contents.findings.bias
    X, y, model = (positive_parts[name] for name in ("X", "y", "estimator"))
    order = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y != 1)])
    expected = bias_sensitivity(model, X[order], y[order] == 1, BOUNDS)
    np.testing.assert_allclose(found.table.to_numpy(), expected.table.to_numpy(), atol=1e-9)
    assert found.table["bias"].tolist() == list(BOUNDS)
    counts = found.table[["positive", "negative", "undecided"]].sum(axis=1)
    assert (counts == np.sum(y != 1)).all()
    assert "random sample of" in found.text and "may differ" not in found.text


def test_rows_that_change_first_are_in_order(positive_parts, contents):
    ranking = contents.findings.bias.ranking
    bounds = ranking.rows["changes at B"].astype(float).to_numpy()
    assert (np.diff(bounds) >= 0).all() and set(bounds) <= set(BOUNDS[1:])
    unlabelled = positive_parts["found"].numbers[positive_parts["y"] != 1]
    assert np.isin(ranking.rows["row"], unlabelled).all()
    for _, same in ranking.rows.groupby("changes at B"):
        assert (np.diff(np.abs(same["score"])) >= 0).all()


def test_the_page_shows_every_bound(contents):
    text = sections.render_bias(contents)
    assert text.count('role="img"') == len(BOUNDS)
    line = contents.findings.bias.table.iloc[-1]
    assert f"{int(line.positive)} to {int(line.positive + line.undecided)}" in text
    assert sections.render_bias(_without(contents)) is None


def _without(contents):
    return dataclasses.replace(contents, findings=contents.findings._replace(bias=None))


def test_rows_that_allow_no_bound_are_named(positive_parts, contents, monkeypatch):
    def refused(*arguments):
        raise ValueError("too few different rows.")

    monkeypatch.setattr("fewlabels.report.sensitivity.bias_sensitivity_within", refused)
    found = measure_sensitivity(fit_of(positive_parts), "p")
    assert found.table is None and found.ranking is None
    findings = contents.findings._replace(bias=found)
    text = sections.render_bias(dataclasses.replace(contents, findings=findings))
    assert "If the labels aren" in text and "(too few different rows)" in text


def test_no_time_no_section(positive_parts):
    parts = {**positive_parts, "deadline": Deadline(0.2)}
    contents = collect(**parts)
    assert contents.findings.bias is None
    assert any("labels that aren't random" in note for note in contents.notes)


def test_larger_bounds_are_left_out_when_the_time_is_over(positive_parts, monkeypatch):
    now, fits = [0.0], bias._fit_at_ends
    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(deadline, "time", clock)

    def slow(*given):
        now[0] += 1.0
        return fits(*given)

    monkeypatch.setattr(bias, "_fit_at_ends", slow)
    fit = fit_of(positive_parts, deadline=Deadline(2.5))
    found = measure_sensitivity(fit, "p")
    assert now[0] == 2.0 and found.table["bias"].tolist() == [1.0, 1.25, 1.5]
    assert fit.deadline.cut == ["no figures on labels that aren't random beyond B = 1.5"]


def test_an_ensemble_is_represented_by_one_model(positive_parts):
    X, y = positive_parts["X"], positive_parts["y"]
    ensemble = PUEnsemble(prior=0.2, kernel="rbf", n_bags=3, random_state=0).fit(X, y)
    found = measure_sensitivity(fit_of(positive_parts, estimator=ensemble), "p")
    assert "a single PUSVM" in found.text
    assert (found.table[["prior_low", "prior_high"]] == 0.2).all(axis=None)


@pytest.mark.parametrize("options", [{"propensity": 0.5}, {}])
def test_propensities_and_few_labels_have_no_section(positive_parts, options):
    X, y = positive_parts["X"], positive_parts["y"]
    if not options:  # nine labels
        y = np.where(np.cumsum(y == 1) <= 9, y, 0)
    model = PUSVM(prior=0.2).fit(X, y, **options)
    assert measure_sensitivity(fit_of(positive_parts, estimator=model, y=y), "p") is None


def test_many_rows_are_sampled(positive_parts, monkeypatch):
    monkeypatch.setattr("fewlabels.report.sensitivity._MAX_UNLABELLED", 40)
    found = measure_sensitivity(fit_of(positive_parts), "p")
    assert found.table.iloc[0][["positive", "negative"]].sum() == 40
    assert f"{int(np.sum(positive_parts['y'] == 1)) + 40} rows" in found.text
