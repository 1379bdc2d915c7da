"""The command update: rows for a saved model without the file it was fitted to."""

import json
import re
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

from fewlabels import S3VM, SVDD
from fewlabels._util.messages import Message, ref
from fewlabels.pipeline import Observer, updating
from fewlabels.tables.models.files import describe_model, load_model, save_model

# pandas 2 may miss a number by its last bit otherwise.
read_csv = partial(pd.read_csv, float_precision="round_trip")

N, N_FIRST = 150, 100
NAMES = ["size", "age"]


def make_rows(seed=0):
    """Two clusters; the first rows are labelled, and every tenth of the later ones."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(N) < 0.5
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=NAMES)
    frame += np.where(fraud, 1.2, -1.2)[:, None]
    frame["shop"] = rng.choice(["north", "south"], N)
    status = np.where(fraud, "fraud", "fine").astype(object)
    labelled = (np.arange(N) < 12) | ((np.arange(N) >= N_FIRST) & (np.arange(N) % 10 == 0))
    frame["status"] = np.where(labelled, status, "")
    return frame


@pytest.fixture(scope="module")
def frame():
    return make_rows()


@pytest.fixture(scope="module")
def model_of(run, frame, tmp_path_factory):
    """Bytes of a model of the first rows."""
    folder = tmp_path_factory.mktemp("update")
    frame[:N_FIRST].to_csv(folder / "d.csv", index=False)
    result = run("fit", folder / "d.csv", "--target", "status", "-o", folder / "m",
                 "--missing", "refuse")  # fmt: skip
    assert result.code == 0, result.err
    return (folder / "m").read_bytes()


@pytest.fixture
def model(tmp_path, model_of):
    path = tmp_path / "m.fewlabels"
    path.write_bytes(model_of)
    return path


@pytest.fixture
def more(tmp_path, frame):
    path = tmp_path / "more.csv"
    frame[N_FIRST:].to_csv(path, index=False)
    return path


def encoded(frame):
    numbers = StandardScaler().fit(frame[:N_FIRST][NAMES]).transform(frame[NAMES])
    return np.column_stack([numbers, frame["shop"] == "north", frame["shop"] == "south"])


def coded(frame):
    return np.select([frame["status"] == "fraud", frame["status"] == "fine"], [1, 0], -1)


def expected_machine(frame, y=None, block=1):
    """What partial_fit in this process gives."""
    X, y = encoded(frame), coded(frame) if y is None else y
    machine = S3VM().fit(X[:N_FIRST], y[:N_FIRST])
    for start in range(N_FIRST, N, block):
        machine.partial_fit(X[start : start + block], y[start : start + block])
    return machine


def check_machine(path, frame, expected):
    pipeline, _, metadata = load_model(path)
    np.testing.assert_allclose(
        pipeline.decision_function(frame), expected.decision_function(encoded(frame)), atol=1e-10
    )
    assert pipeline[-1].n_flips_ == expected.n_flips_
    assert metadata["training"]["objective"] == pytest.approx(expected.objective_, rel=1e-10)
    return metadata["training"]


# -- what comes out ----------------------------------------------------------------------------


def test_rows_with_and_without_labels(run, model, more, frame):
    result = run("update", model, more, "--json")
    assert result.code == 0, result.err
    assert result.err == ""
    summary = json.loads(result.out)
    expected = expected_machine(frame)
    training = check_machine(model, frame, expected)
    status = frame["status"]
    new = status[N_FIRST:].value_counts()
    assert (summary["rows"], summary["rows_before"], summary["rows_after"]) == (50, 100, 150)
    assert summary["rows_labeled"] == {"fine": new["fine"], "fraud": new["fraud"]}
    assert summary["rows_unlabeled"] == new[""]
    assert summary["steps"] > 50
    assert summary["flips"] == expected.n_flips_
    assert summary["violation"] < 1e-10
    assert summary["consolidation_due"] is True
    assert summary["consolidated"] is None
    assert summary["converged"] is True
    latency = summary["milliseconds_per_row"]
    assert 0 < latency["median"] <= latency["max"]
    assert latency["mean"] * 50 == pytest.approx(1e3 * summary["seconds_adding"])
    assert training["rows"] == training["rows_read"] == 150
    assert training["rows_labeled"] == {
        "fine": int((status == "fine").sum()),
        "fraud": int((status == "fraud").sum()),
    }
    assert training["rows_unlabeled"] == (status == "").sum()
    assert sum(training["unlabeled_predicted"].values()) == training["rows_unlabeled"]
    assert training["updates"]["rows"] == 50
    assert summary["bytes"] == model.stat().st_size


def test_in_words(run, model, more):
    created = json.loads(run("inspect", model, "--json").out)["created"]
    said = run("update", model, more).out
    for words in (
        f"50 rows added, s3vm model written to {model}",
        "100 before, 150 now",
        "5 labelled (",
        ", 45 unlabelled",
        " median, ",
        " slowest",
        "unlabelled rows changed sides",
        f"recommended, because much has changed: fewlabels update {model} --consolidate",
        "(with reading and writing",
    ):
        assert words in said, words
    said = run("inspect", model).out
    assert "50 rows in 1, the last one at" in said
    # Where time is too short for error rates, a ROC AUC makes the column of names wider.
    assert re.search(r"^ +rows stored +150\b", said, re.MULTILINE)
    assert json.loads(run("inspect", model, "--json").out)["created"] == created


def test_again_and_again_is_the_same_as_at_once(run, model, tmp_path, frame):
    for start in range(N_FIRST, N, 25):
        frame[start : start + 25].to_parquet(tmp_path / "part.parquet")
        assert run("update", model, tmp_path / "part.parquet").code == 0
    training = check_machine(model, frame, expected_machine(frame))
    assert training["updates"]["count"] == 2


@pytest.mark.parametrize("how", ["no column", "option"])
def test_all_rows_unlabelled(run, model, tmp_path, frame, how):
    rows = frame[N_FIRST:].drop(columns="status") if how == "no column" else frame[N_FIRST:]
    # Columns in another order, with others between them.
    rows.assign(note="x")[["shop", "note", *rows.columns.drop("shop")]].to_csv(
        tmp_path / "more.csv", index=False
    )
    options = ["--no-labels"] if how == "option" else []
    result = run("update", model, tmp_path / "more.csv", *options)
    assert result.code == 0, result.err
    assert "50 unlabelled\n" in result.out
    y = np.where(np.arange(N) < N_FIRST, coded(frame), -1)
    check_machine(model, frame, expected_machine(frame, y))


def test_another_column_with_labels(run, model, tmp_path, frame):
    rows = frame[N_FIRST:].rename(columns={"status": "expert"})
    rows.to_csv(tmp_path / "more.csv", index=False)
    assert run("update", model, tmp_path / "more.csv", "--target", "expert").code == 0
    check_machine(model, frame, expected_machine(frame))


def test_block(run, model, more, frame):
    result = run("update", model, more, "--block", 20, "--json")
    assert result.code == 0, result.err
    check_machine(model, frame, expected_machine(frame, block=20))
    assert json.loads(result.out)["milliseconds_per_row"]["max"] > 0


def test_pieces_of_the_file_give_the_same(model, more, frame, tmp_path):
    told = []

    observer = Observer()
    observer.rows = lambda done, share, total, what: told.append((done, total, what))
    summary = updating.update(model, more, tmp_path / "m2", chunk_rows=7, observer=observer)
    assert told == [(k, 50, "added") for k in range(1, 51)]
    assert summary["rows"] == 50
    check_machine(tmp_path / "m2", frame, expected_machine(frame))


def test_output_leaves_the_model(run, model, model_of, more, tmp_path):
    assert run("update", model, more, "-o", tmp_path / "new", "--quiet").out == ""
    assert model.read_bytes() == model_of
    assert load_model(tmp_path / "new")[2]["training"]["rows"] == 150


def test_consolidate(run, model, more, frame):
    summary = json.loads(run("update", model, more, "--consolidate", "--json").out)
    assert isinstance(summary["consolidated"], bool)
    assert summary["consolidation_due"] is False
    expected = expected_machine(frame)
    assert summary["objective"] <= expected.objective_ * (1 + 1e-9)
    assert expected.consolidate() == summary["consolidated"]
    assert summary["objective"] == pytest.approx(expected.objective_, rel=1e-6)
    result = run("update", model, "--consolidate")
    assert result.code == 0
    assert result.out.startswith(f"s3vm model written to {model}\n")
    assert "found no better one" in result.out
    assert load_model(model)[2]["training"]["rows"] == 150


def test_missing_numbers_and_unknown_categories(run, model, tmp_path, frame):
    rows = frame[N_FIRST:].assign(shop="west")
    rows.loc[N_FIRST + 3 : N_FIRST + 4, "age"] = np.nan
    rows.to_csv(tmp_path / "more.csv.gz", index=False)
    result = run("update", model, tmp_path / "more.csv.gz", "--skip-missing")
    assert result.code == 0, result.err
    assert "48 rows added" in result.out
    assert "2 rows with missing numbers skipped" in result.err
    assert "some categories don't occur in the training rows" in result.err
    assert "'west' (48) in 'shop'" in result.err
    training = load_model(model)[2]["training"]
    assert (training["rows"], training["rows_read"]) == (148, 150)


def test_matrices(run, tmp_path, frame):
    X = np.maximum(frame[NAMES].to_numpy(), 0.0)
    y = 2.0 * coded(frame) - 1.0
    y[coded(frame) < 0] = 0.0
    for name, part in (("first", slice(N_FIRST)), ("more", slice(N_FIRST, N))):
        dump_svmlight_file(X[part], y[part], str(tmp_path / f"{name}.svm"))
        np.savez(tmp_path / f"{name}.npz", X=X[part], y=y[part])
    np.save(tmp_path / "more.npy", X[N_FIRST:])
    for ending in ("svm", "npz"):
        model = tmp_path / f"m-{ending}"
        result = run("fit", tmp_path / f"first.{ending}", "--target", "y", "--unlabeled", 0, "-o",
                     model)  # fmt: skip
        assert result.code == 0, result.err
        summary = json.loads(run("update", model, tmp_path / f"more.{ending}", "--json").out)
        assert sum(summary["rows_labeled"].values()) == (y[N_FIRST:] != 0).sum()
        summary = json.loads(run("update", model, tmp_path / "more.npy", "--json").out)
        assert (summary["rows_unlabeled"], summary["rows_after"]) == (50, 200)


# -- other machines ----------------------------------------------------------------------------


def test_one_class(run, tmp_path, frame):
    first, more, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m"
    fine = frame.assign(status=np.where(np.arange(N) % 5 == 0, "odd", "fine"))
    fine[:N_FIRST].to_csv(first, index=False)
    fine[N_FIRST:].to_csv(more, index=False)
    arguments = "--target", "status", "--normal", "fine", "--slack", "linear", "--nu", 0.2
    assert run("fit", first, *arguments, "--rows", "-o", model).code == 0
    result = run("update", model, more)
    assert result.code == 0, result.err
    assert "40 rows added, svdd model" in result.out
    assert "10 rows of another or unknown class skipped" in result.err
    training = load_model(model)[2]["training"]
    assert (training["rows"], training["rows_counted"]) == (120, 120)
    kept = fine[fine["status"] == "fine"]
    scaler = StandardScaler().fit(kept[:80][NAMES])
    X = np.column_stack(
        [scaler.transform(kept[NAMES]), kept["shop"] == "north", kept["shop"] == "south"]
    )
    gamma = load_model(model)[0][-1].gamma_
    expected = SVDD(slack="linear", nu=0.2, gamma=gamma, tol=1e-8).fit(X)
    np.testing.assert_allclose(
        load_model(model)[0].decision_function(kept), expected.decision_function(X), atol=1e-6
    )
    result = run("update", model, more, "--consolidate")
    assert result.code == 2
    assert "svdd has a single solution, so there is nothing to consolidate" in result.err


def test_positives(run, tmp_path, frame):
    first, more, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m"
    pile = frame.assign(status=np.where(frame["status"] == "fraud", "fraud", ""))
    pile[:N_FIRST].to_csv(first, index=False)
    pile[N_FIRST:].to_csv(more, index=False)
    arguments = "--target", "status", "--prior", 0.5, "--rows"
    assert run("fit", first, *arguments, "-o", model).code == 0
    summary = json.loads(run("update", model, more, "--json").out)
    training = load_model(model)[2]["training"]
    n_positive = int((pile["status"] == "fraud").sum())
    assert training["rows_labeled"] == n_positive
    assert training["rows_unlabeled"] == N - n_positive
    assert summary["rows_unlabeled"] == (pile["status"][N_FIRST:] == "").sum()
    assert "150 rows" not in run("inspect", model).err


# -- what goes wrong ---------------------------------------------------------------------------


def _refused(result, message):
    assert result.code == 2
    assert result.out == ""
    words = " ".join(result.err.split())
    assert message in words, words
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda f: f.drop(columns="age"), (), "lacks the column 'age' that the model was fitted"),
        (lambda f: f.assign(age="old"), (), "Column 'age' holds numbers in the model but row 1"),
        (lambda f: f.assign(age=np.nan), (), "50 values in 1 column"),
        (lambda f: f.assign(age=np.nan), ("--skip-missing",), "has no row that could be added"),
        (
            lambda f: f.assign(status=["fine"] * 49 + ["maybe"]),
            (),
            "Row 50 of {} has 'maybe' in the target column 'status', but the classes of the model "
            "are 'fine' and 'fraud'",
        ),
        (lambda f: f[:0], (), "has column names but no rows"),
        (lambda f: f, ("--target", "class"), "has no target 'class'; it has 'size'"),
        (lambda f: f, ("--target", "status", "--no-labels"), "pass one of them"),
    ],
)
def test_bad_rows_change_nothing(run, model, model_of, tmp_path, frame, change, options, message):
    data = tmp_path / "more.csv"
    change(frame[N_FIRST:]).to_csv(data, index=False)
    _refused(run("update", model, data, *options), message.format(data))
    assert model.read_bytes() == model_of


def test_models_that_cannot_be_updated(run, tmp_path, frame, more):
    data, model = tmp_path / "d.csv", tmp_path / "m"
    frame[:N_FIRST].to_csv(data, index=False)
    assert run("fit", data, "--target", "status", "--no-rows", "-o", model).code == 0
    said = (
        "doesn't store its training rows, so it can't be updated; fit it again without --no-rows"
    )
    _refused(run("update", model, more), said)
    frame[:N_FIRST].drop(columns="status").to_csv(data, index=False)
    assert run("fit", data, "-o", model).code == 0
    _refused(run("update", model, more), "fit it again with --rows")
    assert run("fit", data, "--rows", "-o", model).code == 0
    _refused(run("update", model, more, "--target", "status"), "fitted without a target")
    pile = frame.assign(status=np.where(frame["status"] == "fraud", "fraud", ""))
    pile.to_csv(data, index=False)
    arguments = "--target", "status", "--method", "pu-ensemble", "--bags", 2, "--prior", 0.5
    assert run("fit", data, *arguments, "-o", model).code == 0
    _refused(run("update", model, more), "a model of type pu-ensemble, which can't be updated")


def test_a_model_that_says_nothing_of_its_training(run, tmp_path, model, model_of, more):
    pipeline, schema, metadata = load_model(model)
    described = describe_model(
        metadata["method"], metadata["parameters"], schema, {"rows_held": True}
    )
    save_model(model, pipeline, described)
    _refused(run("update", model, more), "doesn't say which rows and labels it was fitted to")


def test_files(run, tmp_path, model, model_of, more):
    _refused(run("update", model), "There is nothing to do")
    _refused(run("update", tmp_path / "no", more), "model file")
    _refused(run("update", model, tmp_path / "no.csv"), "data file")
    _refused(run("update", more, more), "is not a fewlabels model; pass a file that")
    _refused(run("update", model, more, "-o", more), "is an input of this command")
    (tmp_path / "other").write_text("old")
    _refused(run("update", model, more, "-o", tmp_path / "other"), "is not a fewlabels model")
    _refused(run("update", tmp_path / "other", more, "--force"), "is not a fewlabels model")
    assert run("update", model, more, "--block", 0).code == 2
    assert model.read_bytes() == model_of
    assert (tmp_path / "other").read_text() == "old"


def test_two_updates_at_once(run, model, model_of, more, monkeypatch):
    real = S3VM.partial_fit

    def partial_fit(self, X, y=None, **others):
        model.write_bytes(model_of)  # another command
        return real(self, X, y, **others)

    monkeypatch.setattr(S3VM, "partial_fit", partial_fit)
    _refused(run("update", model, more), "Another command changed")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ArithmeticError("the path is cycling"), "is cycling), so no row"),
        (MemoryError(), "not enough memory"),
        (ValueError(Message(f"{ref('C', 3)} is wrong.")), "--C 3 is wrong."),
    ],
)
def test_failures_on_the_way(run, model, model_of, more, monkeypatch, error, message):
    def partial_fit(self, X, y=None):
        raise error

    monkeypatch.setattr(S3VM, "partial_fit", partial_fit)
    _refused(run("update", model, more), message)
    assert model.read_bytes() == model_of


def test_a_machine_that_did_not_converge_is_told(run, model, more, monkeypatch):
    real = updating.collect_figures
    monkeypatch.setattr(
        updating, "collect_figures", lambda *arguments: {**real(*arguments), "converged": False}
    )
    assert run("update", model, more).code == 3
    assert load_model(model)[2]["training"]["rows"] == 150


def test_ctrl_c(tmp_path, model, model_of, more):
    code = """
import sys, time
from fewlabels import S3VM
from fewlabels.cli import main
real, calls = S3VM.partial_fit, []
def partial_fit(self, X, y=None):
    calls.append(1)
    if len(calls) == 4:
        print("adding", file=sys.stderr, flush=True)
        time.sleep(1000)
    return real(self, X, y)
S3VM.partial_fit = partial_fit
sys.argv = ["fewlabels", "update", sys.argv[1], sys.argv[2]]
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(model), str(more)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that started the tests in the background has made them deaf to it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stderr.readline() == "adding\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out == ""
    assert err == f"Interrupted: no row was added, and {model} is unchanged.\n"
    assert model.read_bytes() == model_of
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.fewlabels", "more.csv"]


def test_probabilities_are_calibrated_anew(run, tmp_path, model, more, frame):
    frame[N_FIRST:].to_csv(tmp_path / "d.csv", index=False)

    def columns(updated):
        result = run("predict", updated, tmp_path / "d.csv", "-o", tmp_path / "o.csv", "--json")
        return json.loads(result.out)["columns"]

    assert columns(model) == ["score", "label", "probability"]
    result = run("update", model, more, "-o", tmp_path / "without", "--no-probability", "--json")
    assert json.loads(result.out)["seconds_calibrating"] is None
    assert columns(tmp_path / "without") == ["score", "label", "probability"]
    assert read_csv(tmp_path / "o.csv")["probability"].isna().all()
    result = run("update", model, more, "--json")
    assert json.loads(result.out)["seconds_calibrating"] > 0
    assert columns(model) == ["score", "label", "probability"]
    pipeline = load_model(model)[0]
    np.testing.assert_array_equal(
        read_csv(tmp_path / "o.csv")["probability"],
        pipeline.predict_proba(frame[N_FIRST:])[:, 1],
    )


def test_p_values_after_an_update(run, tmp_path, frame):
    frame = frame.drop(columns="status")
    frame[:N_FIRST].to_csv(tmp_path / "d.csv", index=False)
    frame[N_FIRST:].to_csv(tmp_path / "more.csv", index=False)
    model = tmp_path / "m"
    fit = ["fit", tmp_path / "d.csv", "-o", model, "--rows", "--target-fpr", 0.1]
    assert run(*fit).code == 0
    assert run("update", model, tmp_path / "more.csv").code == 0
    result = run("predict", model, tmp_path / "d.csv", "-o", tmp_path / "o.csv", "--json")
    assert json.loads(result.out)["columns"] == ["score", "label", "p_value"]
    back = read_csv(tmp_path / "o.csv")
    assert ((back["p_value"] <= 0.1) == (back["label"] == "outside")).all()
    assert back["p_value"].min() >= 1 / (N + 1)
