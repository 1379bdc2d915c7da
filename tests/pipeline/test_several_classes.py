"""Tables whose labels are of several classes, from the command line and from Python."""

import json
import re
import time

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from typer.testing import CliRunner

from fewlabels import S3VM, fit_table, pipeline, tune
from fewlabels.cli import app
from fewlabels.inspection import explain
from fewlabels.model_selection import compare_with_baselines
from fewlabels.tables.models.files import load_model, read_metadata

pytestmark = pytest.mark.usefixtures("few_trees")

QUEUES = np.array(["billing", "delivery", "refund", "spare, parts"], dtype=object)


def tickets(k=3, n=240, labels=20, apart=3.0, seed=0):
    """Tickets of k queues, the first ones of each with their queue."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["a"] += apart * np.cos(2 * np.pi * truth / k)
    frame["b"] += apart * np.sin(2 * np.pi * truth / k)
    frame["channel"] = rng.choice(["mail", "phone"], n)
    frame["queue"] = np.where(np.arange(n) < labels * k, QUEUES[truth], "")
    return frame, QUEUES[truth]


def run(*arguments):
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert found.exit_code == 0, found.output
    return found.output


def test_a_budget_that_ends_with_the_fit(monkeypatch):
    """A fit that takes longer than the budget: what may follow it is said, and little of it is."""
    frame, _ = tickets()
    fits, fit = [], S3VM.fit

    def slowly(machine, *rows, **options):
        fits.append(machine)
        since = time.perf_counter()
        fit(machine, *rows, **options)
        time.sleep(max(0.0, 0.3 - (time.perf_counter() - since)))
        return machine

    monkeypatch.setattr(S3VM, "fit", slowly)
    found = fit_table(frame, target="queue", time_budget=0.1)
    notes = found.metadata["training"]["notes"]
    assert any("probabilities are based on 1 of 5 models" in note for note in notes)
    assert any(note.startswith("not compared with other methods: a fit takes") for note in notes)
    assert found.comparison is None and found.predict(frame)["probability refund"].notna().all()
    before = len(fits)
    page = found.report._repr_html_()
    assert len(fits) == before
    assert "12 of 12 labelled rows are classified correctly" in page.replace("\xa0", " ")
    assert re.search(r"error rates are based on \d+ of 60 labels, because models without", page)
    assert "report was complete: error rates are based on" in page


def test_from_a_file_to_scores(tmp_path):
    frame, truth = tickets()
    data, model, out = (tmp_path / name for name in ("t.csv", "t.fewlabels", "s.csv"))
    frame.to_csv(data, index=False)
    told = run("fit", data, "--target", "queue", "-o", model, "--time-budget", 0)
    assert "s3vm: 'queue' holds three classes, 'billing', 'delivery', 'refund', and blanks" in told
    assert "60 rows: 20 'billing', 20 'delivery', 20 'refund'" in told
    page = (tmp_path / "t.html").read_text()
    assert "The classes" in page and "predicted rows" in page
    assert (
        "Most confident predictions of &#x27;refund&#x27;" in page
        or "Most confident predictions of 'refund'" in page
    )
    assert "label 'refund'" in run("predict", model, data, "-o", out)
    scored = pd.read_csv(out)
    added = list(scored.columns[5:])
    assert added == ["score", "label", *(f"probability {name}" for name in QUEUES[:3])]
    chances = scored[added[2:]]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.mean(scored["label"] == truth) > 0.9
    again = pipeline.score(model, frame)
    assert again["label"].tolist() == scored["label"].tolist()
    metadata = read_metadata(model)
    assert metadata["format_version"] == 1
    training = metadata["training"]
    assert training["classes"] == list(QUEUES[:3]) and training["signal"]["found"]
    assert sum(training["unlabeled_predicted"].values()) == training["rows_unlabeled"] == 180
    assert json.loads(run("inspect", model, "--json"))["training"]["rows_labeled"]["refund"] == 20
    # The class that a row got is explained, or the one that is asked for.
    for of in (None, "billing"):
        asked = [] if of is None else ["--class", of]
        row = json.loads(run("explain", model, data, "--row", 100, "--json", *asked))["rows"][0]
        assert row["label"] == scored["label"][99] and row["class"] == (of or row["label"])
        total = row["usual_score"] + sum(c["contribution"] for c in row["contributions"])
        assert row["score"] == pytest.approx(total + row["others"]["contribution"])
        assert row["probability"] == pytest.approx(scored[f"probability {row['class']}"][99])
    found = CliRunner().invoke(
        app, ["explain", str(model), str(data), "--row", "1", "--class", "x"]
    )
    assert found.exit_code and "no class 'x'" in found.output
    graph = tmp_path / "t.onnx"
    run("export", model, "-o", graph)
    session = onnxruntime.InferenceSession(str(graph))
    feed = {
        value.name: frame[[value.name]].to_numpy(object if "string" in value.type else float)
        for value in session.get_inputs()
    }
    # Kernel values are float32 in the one and float64 in the other.
    assert np.mean(session.run(["label"], feed)[0] == scored["label"].to_numpy()) > 0.98


@pytest.mark.parametrize("before", [2, 3])
def test_rows_of_a_new_class(tmp_path, before):
    frame, truth = tickets(k=4)
    first = np.isin(truth, QUEUES[:before])
    new = ~first & (truth == "spare, parts")
    data, more, model = (tmp_path / name for name in ("t.csv", "m.csv", "t.fewlabels"))
    frame[first].to_csv(data, index=False)
    frame[new].to_csv(more, index=False)
    run("fit", data, "--target", "queue", "-o", model, "--time-budget", 0, "--no-report")
    refused = CliRunner().invoke(app, ["update", str(model), str(more)])
    assert refused.exit_code and "--new-class 'spare, parts'" in refused.output.replace("\n", " ")
    missing = CliRunner().invoke(app, ["update", str(model), str(more), "--new-class", "lost",
                                       "--new-class", "spare, parts"])  # fmt: skip
    assert missing.exit_code and "new class 'lost'" in missing.output
    told = run("update", model, more, "--new-class", "spare, parts", "--block", 20)
    assert "20 labelled (20 'spare, parts'), 40 unlabelled" in told
    training = read_metadata(model)["training"]
    assert training["classes"] == [*QUEUES[:before], "spare, parts"]
    assert training["rows_labeled"]["spare, parts"] == 20
    kept = first | new
    answers = pipeline.score(model, frame[kept])
    assert np.mean(answers["label"] == truth[kept]) > 0.9
    assert "probability spare, parts" in answers
    kept_model = load_model(model)[0]
    assert np.all(kept_model[-1].kkt_violation_ < 1e-8)
    with pytest.raises(Exception, match="already has the class 'billing'"):
        pipeline.update(model, more, new_classes=["billing"])


def test_in_a_notebook_with_a_comparison():
    frame, truth = tickets(n=120, labels=10)
    found = fit_table(frame.replace("", None), target="queue", time_budget=60)
    assert found.choice.method == "s3vm"
    assert np.mean(found.predict(frame)["label"] == truth) > 0.8
    table = found.comparison.table
    assert table["ours"].sum() == 1 and table["score"].max() > 0.8
    assert any("unlabelled rows" in note for note in table["note"])
    assert len(found.report.contents.findings.classes) == 3


def test_labels_that_mean_nothing_are_said_to():
    frame, _ = tickets(apart=0.0, labels=15)
    found = fit_table(frame, target="queue", time_budget=0)
    signal = found.metadata["training"]["signal"]
    assert not signal["found"] and signal["low"] <= 0.5
    assert "mean ROC AUC" in signal.get("headline", signal.get("caution"))
    assert "probability billing" in found.predict(frame)
    frame, _ = tickets(labels=10)
    found = fit_table(frame, target="queue", time_budget=0, report=False)
    assert found.metadata["training"]["signal"]["found"]


def test_what_is_no_column_of_classes_is_refused(tmp_path):
    frame, _ = tickets()
    frame["queue"] = [f"ticket {k}" if k < 100 else "" for k in range(len(frame))]
    with pytest.raises(Exception, match="classes need at least two rows per value"):
        fit_table(frame, target="queue", time_budget=0, report=False)
    frame, truth = tickets()
    with pytest.raises(Exception, match="has 3 values"):
        fit_table(frame.assign(queue=truth), target="queue", time_budget=0, report=False)
    numbers = frame.assign(queue=frame["queue"].map({"billing": "10", "delivery": "9",
                                                     "refund": "1", "": ""}))  # fmt: skip
    found = fit_table(numbers, target="queue", time_budget=0, report=False)
    assert found.metadata["training"]["classes"] == ["1", "9", "10"]


def test_tune_and_comparison_of_classes(rng):
    frame, _ = tickets(labels=12, n=90)
    X, y = frame[["a", "b", "c"]].to_numpy(), frame["queue"].replace("", None).to_numpy()
    shares = {"billing": 0.3, "delivery": 0.3, "refund": 0.4}
    for machine in (S3VM(), S3VM(balance=shares)):
        model = tune(machine, X, y, time_budget=20)
        assert model.classes_.tolist() == list(QUEUES[:3])
        assert model.tuning_.candidates["accuracy"].max() > 0.8
        assert model.balance == machine.balance
    # A class with one label is trained on and never held out.
    y[y == "refund"] = None
    y[2] = "refund"
    found = compare_with_baselines(S3VM(), X, y, time_budget=20)
    assert found.table["score"].max() > 0.8
    with pytest.warns(UserWarning, match="too few to compare"):
        tune(S3VM(), X, y, time_budget=5, graph=False)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_explanations_add_up_for_each_class(rng, kernel):
    frame, _ = tickets()
    X, y = frame[["a", "b", "c"]].to_numpy(), frame["queue"].replace("", None).to_numpy()
    model = S3VM(kernel=kernel, gamma=0.3).fit(X, y).partial_fit(X[:1])
    f = model.decision_function(X[:9])
    told = explain(model, X[:9])
    assert told.classes.tolist() == model.predict(X[:9]).tolist()
    np.testing.assert_allclose(told.decision, f.max(axis=1))
    np.testing.assert_allclose(told.contributions.sum(axis=1), told.decision - told.base)
    one = explain(model, X[:9], of="refund")
    np.testing.assert_allclose(one.decision, f[:, 2])
    np.testing.assert_allclose(one.contributions.sum(axis=1), one.decision - one.base)
    assert one.method == ("permutations" if kernel == "poly" else "exact")
    assert one.reasons(0) and len(one.frame(3)) == 3 and "9 rows" in repr(one)
    with pytest.raises(ValueError, match="not one of the classes"):
        explain(model, X[:2], of="lost")
    with pytest.raises(ValueError, match="a single decision"):
        explain(S3VM().fit(X, np.where(y == "refund", 1, np.where(y == "billing", 0, -1))),
                X[:2], of=1)  # fmt: skip
