"""Rows of other values beside normal ones: used where held-out rows say so, and said to be."""

import json

import numpy as np
import pandas as pd
import pytest
from outcomes import fit_outcome
from sklearn.metrics import roc_auc_score

from fewlabels import SVDD, OneClassSVM, SVDDEnsemble, fit_table
from fewlabels.kernels.parameters import resolve_gamma
from fewlabels.model_selection.one_class.anomalies import MIN_ANOMALIES, try_anomalies
from fewlabels.pipeline.training.fit import fit_file
from fewlabels.tables.models.files import load_model, read_metadata


def clouds(rng, n=250, m=60):
    """Normal rows, and a dense group of anomalies in their midst."""
    return rng.normal(size=(n, 4)), rng.normal([0.9, 0.9, 0.0, 0.0], 0.25, size=(m, 4))


def table(normal, odd, name="fraud"):
    frame = pd.DataFrame(np.vstack([normal, odd]), columns=list("abcd"))
    frame["state"] = ["ok"] * len(normal) + [name] * len(odd)
    return frame


def test_anomalies_that_help_are_used_and_said_to_be(rng, tmp_path):
    frame = table(*clouds(rng))
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    report = tmp_path / "page.html"
    facts = fit_file(
        path,
        tmp_path / "m.fewlabels",
        target="state",
        normal="ok",
        time_budget=600.0,
        report=report,
    )["training"]
    known = facts["anomalies"]
    assert known["used"] and known["known"] == 60 and known["low"] > 0
    assert known["auc"] > known["without"] + 0.1
    (note,) = [note for note in facts["notes"] if "confirmed anomalies" in note]
    assert f"{known['auc']:.3f}" in note and "95 % CI" in note
    assert "60 rows of other values are used as confirmed anomalies" in report.read_text("utf-8")
    assert read_metadata(tmp_path / "m.fewlabels")["method"] == "svdd"
    assert json.loads(json.dumps(facts))["anomalies"] == known
    pipeline, _, _ = load_model(tmp_path / "m.fewlabels")
    new_normal, new_odd = clouds(np.random.default_rng(1))
    fresh = table(new_normal, new_odd)
    score = -pipeline.score_samples(fresh[list("abcd")])
    area = roc_auc_score(fresh["state"] == "fraud", score)
    assert area == pytest.approx(known["auc"], abs=0.12)
    p = pipeline[-1].p_values(pipeline[:-1].transform(fresh[list("abcd")][: len(new_normal)]))
    assert np.mean(p <= 0.05) <= 0.1  # normal rows alone calibrate


def test_anomalies_that_do_not_help_are_left_out(rng):
    normal, _ = clouds(rng)
    same = table(normal, rng.normal(size=(60, 4)))  # no anomalies at all
    training = fit_outcome(same, target="state", normal="ok", time_budget=200.0)
    known = training.facts["anomalies"]
    assert not known["used"] and known["low"] < 0 < known["high"]
    assert any("left out" in note for note in training.facts["notes"])
    assert training.plan.method == "svdd-ensemble"


def test_few_anomalies_and_given_settings(rng):
    normal, odd = clouds(rng)

    def facts(frame, **options):
        training = fit_outcome(frame, target="state", normal="ok", **options)
        return training, training.facts

    _, few = facts(table(normal, odd[: MIN_ANOMALIES - 1]), time_budget=5.0)
    assert not few["anomalies"]["used"] and any("are needed" in note for note in few["notes"])
    training, found = facts(table(normal, odd), time_budget=200.0, gamma=0.25, C=2.0)
    assert found["anomalies"]["used"] and training.model.estimator.gamma == 0.25
    training, found = facts(table(normal, odd), time_budget=200.0, method="one-class", nu=0.1)
    assert isinstance(training.model.estimator, OneClassSVM)
    assert "anomalies" in found
    for options in (dict(method="svdd-ensemble", time_budget=5.0), dict(time_budget=0.0)):
        _, found = facts(table(normal, odd), **options)
        assert "anomalies" not in found


def test_a_table_says_so_too(rng):
    fitted = fit_table(
        table(*clouds(rng)), target="state", normal="ok", time_budget=200.0, report=False
    )
    assert fitted.choice.method == "svdd" and "confirmed anomalies improve it" in fitted.choice.why


def test_a_trial_is_the_difference_of_two_areas(rng):
    normal, odd = clouds(rng, 200, 40)
    trial = try_anomalies(SVDDEnsemble().fit(normal), normal, odd, fixed=False, seconds=60.0)
    assert trial.is_used and isinstance(trial.estimator, SVDD)
    assert trial.low < trial.gain < trial.high and 0 < trial.without < trial.auc < 1
    widths = [resolve_gamma("scale", normal, None) * width for width in (1.0, 4.0)]
    assert any(trial.estimator.gamma == pytest.approx(width) for width in widths)
    short = try_anomalies(SVDD().fit(normal), normal, odd, fixed=True, seconds=0.0)
    assert not short.is_used and "time budget" in short.why_not
    narrow = try_anomalies(SVDD(gamma=100.0).fit(normal), normal, odd, fixed=True, seconds=60.0)
    assert not narrow.is_used and narrow.gain == pytest.approx(0.0, abs=0.02)


def test_the_interval_holds_where_nothing_is_gained(rng):
    # "Anomalies" that are normal rows: the gain is 0, and false claims are rare.
    claims = []
    for seed in range(12):
        own = np.random.default_rng([seed, 7])
        normal, same = own.normal(size=(120, 3)), own.normal(size=(20, 3))
        trial = try_anomalies(
            SVDD().fit(normal), normal, same, fixed=True, seconds=60.0, seed=seed
        )
        claims.append(trial.is_used)
    assert np.sum(claims) <= 2
