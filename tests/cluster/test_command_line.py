"""Files that workers read, by ``fewlabels fit`` and ``predict``."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from distributed import LocalCluster, get_worker
from typer.testing import CliRunner

from fewlabels import pipeline
from fewlabels.cli import app
from fewlabels.model_selection.tuning.search import Search
from fewlabels.pipeline.training import large, on_cluster
from fewlabels.tables.formats.registry import FORMATS
from fewlabels.tables.models.files import load_model

N, FILES = 900, 3


@pytest.fixture(scope="module")
def address():
    with LocalCluster(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame["site"] = rng.choice(["x", "y"], N)
    frame["state"] = np.where(rng.random(N) < 0.1, np.where(frame.a > 0, "bad", "good"), "")
    frame["fraud"] = np.where((frame.a > 0.8) & (rng.random(N) < 0.5), "yes", "")
    return frame


@pytest.fixture
def files(request, frame, tmp_path):
    form = getattr(request, "param", "csv")
    for k, part in enumerate(np.array_split(np.arange(N), FILES)):
        path = tmp_path / "data" / f"part-{k}.{form}"
        path.parent.mkdir(exist_ok=True)
        getattr(frame.iloc[part], f"to_{form}")(path, index=False)
    return tmp_path / "data" / f"part-*.{form}"


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def fit(files, model, *more):
    budget = [] if "--time-budget" in more else ["--time-budget", 0]
    told = run("fit", files, "-o", model, "--no-report", "--json", *budget, *more)
    return json.loads(told.stdout)["training"]


@pytest.mark.parametrize(
    ("files", "machine"),
    [
        ("parquet", ["svdd", "--drop", "state", "--drop", "fraud", "--target-fpr", "none"]),
        ("csv", ["pusvm", "--target", "fraud", "--drop", "state", "--prior", 0.1]),
        ("parquet", ["s3vm", "--kernel", "linear", "--target", "state", "--drop", "fraud"]),
    ],
    indirect=["files"],
    ids=["svdd", "pusvm", "s3vm"],
)
def test_the_machine_is_that_of_one_table(machine, address, files, frame, tmp_path):
    options = ["--method", *machine, "--tol", 1e-6]
    told = fit(files, tmp_path / "model", *options, "--scheduler", address)
    frame.to_parquet(tmp_path / "table.parquet", index=False)
    whole = fit(tmp_path / "table.parquet", tmp_path / "whole", *options)
    assert told["rows"] == told["rows_read"] == N == whole["rows"]
    assert told["data"] == files.name
    assert told["notes"][0].startswith("the table is 3 files on 2 workers: settings, columns and")
    # The sample is all rows here, so that the encoder is that of all.
    assert told["objective"] == pytest.approx(whole["objective"], rel=1e-4)
    answers = [score(tmp_path, model, files, address) for model in ("model", "whole")]
    assert len(answers[0]) == N and np.array_equal(answers[0]["a"], frame["a"])
    known = [answer["label"].fillna("") for answer in answers]
    assert np.mean(known[0] == known[1]) > 0.99


def score(folder, model, files, address):
    run("predict", folder / model, files, "-o", folder / "out.parquet", "--scheduler", address)
    return pd.read_parquet(folder / "out.parquet").astype({"a": float})


def test_scores_are_those_of_one_process(address, files, frame, tmp_path):
    fit(files, tmp_path / "model", "--drop", "state", "--drop", "fraud", "--scheduler", address)
    _, _, metadata = load_model(tmp_path / "model")
    assert metadata["method"] == "svdd-ensemble"
    assert (
        "svdd-ensemble was trained on 900 random rows of 900" in metadata["training"]["notes"][0]
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    for data, more in ((files, ["--scheduler", address]), (tmp_path / "table.csv", [])):
        out = tmp_path / f"{data.stem.strip('-*')}-out.csv"
        told = run("predict", tmp_path / "model", data, "-o", out, "--json", *more)
        assert json.loads(told.stdout)["rows"] == N
    here, there = pd.read_csv(tmp_path / "table-out.csv"), pd.read_csv(tmp_path / "part-out.csv")
    pd.testing.assert_frame_equal(here, there)


def test_a_sample_of_all_files(address, files, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_MAX_UNLABELLED_ROWS", 500)
    options = ["--method", "svdd", "--drop", "state", "--drop", "fraud", "--seed", 1]
    told = fit(files, tmp_path / "model", *options, "--scheduler", address)
    assert "are based on 500 random rows" in told["notes"][0] and told["rows"] == N


def test_candidates_are_tried_by_workers(address, files, tmp_path, monkeypatch):
    tasks, sent = [], Search._copy_for_worker
    monkeypatch.setattr(Search, "_copy_for_worker", lambda search: tasks.append(0) or sent(search))
    options = ["--method", "pusvm", "--target", "fraud", "--prior", 0.1, "--time-budget", 600]
    told = fit(files, tmp_path / "model", *options, "--scheduler", address)
    assert len(tasks) == 15 and "held-out positives" in told["settings"]


@pytest.mark.parametrize("files", ["csv", "parquet"], indirect=True)
def test_large_files_are_cut(address, files, frame, tmp_path, monkeypatch):
    """One file: as many workers as there are have parts of it, and rows stay in their order."""
    form = files.suffix[1:]
    part = (100, 200) if form == "parquet" else (5000, 10000)
    monkeypatch.setattr(FORMATS[form].load(), "PART", part)
    table = tmp_path / f"table.{form}"
    more = {"row_group_size": 350} if form == "parquet" else {}
    frame = frame.assign(site=frame["site"] + '\n"quoted, in two lines"')
    getattr(frame, f"to_{form}")(table, index=False, **more)
    encode = on_cluster.encode_file

    def noting(file, *arguments):
        (tmp_path / f"{file.part[0]}.part").write_text(get_worker().address)
        return encode(file, *arguments)

    monkeypatch.setattr(on_cluster, "encode_file", noting)
    options = ["--method", "svdd", "--drop", "state", "--drop", "fraud", "--tol", 1e-6]
    options += ["--target-fpr", "none"]
    told = fit(table, tmp_path / "model", *options, "--scheduler", address)
    where = [path.read_text() for path in tmp_path.glob("*.part")]
    parts = len(where)
    assert parts >= 4 and len(set(where)) == 2 and told["rows"] == told["rows_read"] == N
    assert told["notes"][0].startswith(f"the table is 1 file in {parts} parts on 2 workers: ")
    whole = fit(table, tmp_path / "whole", *options)
    assert told["objective"] == pytest.approx(whole["objective"], rel=1e-6)
    answers = [tmp_path / f"{name}.csv" for name in ("here", "there")]
    for out, more in zip(answers, ([], ["--scheduler", address]), strict=True):
        run("predict", tmp_path / "whole", table, "-o", out, *more)
    pd.testing.assert_frame_equal(*map(pd.read_csv, answers))


def test_processes_of_its_own(frame, tmp_path):
    for k in range(2):
        frame.iloc[450 * k : 450 * (k + 1)].to_parquet(tmp_path / f"part-{k}.parquet")
    files = tmp_path / "part-?.parquet"
    options = ["--method", "one-class", "--drop", "state", "--drop", "fraud", "--workers", 2]
    assert fit(files, tmp_path / "model", *options)["rows"] == N


def test_what_is_wrong_is_said(address, files, tmp_path, monkeypatch):
    def refused(words, data, *more):
        told = run("fit", data, "-o", tmp_path / "model", *more, code=2)
        assert words in " ".join(told.output.split())

    refused("is a pattern, which needs a cluster", files)
    refused("No file matches", tmp_path / "*.nothing", "--workers", 1)
    refused("pass one", files, "--workers", 1, "--scheduler", address)
    monkeypatch.setattr("fewlabels.pipeline.cluster_files._SCHEDULER_TIMEOUT", 0.5)
    refused("No Dask scheduler answers at", files, "--scheduler", "tcp://127.0.0.1:9")
    (tmp_path / "rows.npy").write_bytes(b"123")
    refused(
        "a cluster reads .csv, .tsv, .parquet or .jsonl files",
        tmp_path / "rows.npy",
        "--workers",
        1,
    )
    broken = files.parent / f"part-1{files.suffix}"
    broken.write_bytes(b"\x00\xff" * 50)
    refused(f"{broken} ", files, "--scheduler", address)
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused("needs distributed, which isn't installed; run pip install", files, "--workers", 1)


def test_no_workers_are_refused_in_python(tmp_path):
    with pytest.raises(
        pipeline.UserError, match="workers=0 is out of range; it must be 1 or more"
    ):
        pipeline.score_file(tmp_path / "m", tmp_path / "a.csv", tmp_path / "b.csv", workers=0)


@pytest.mark.parametrize("dropped", ["fraud", "b"])
def test_a_file_without_a_column_of_the_others_is_named(files, frame, tmp_path, address, dropped):
    last = tmp_path / "data" / f"part-{FILES - 1}.csv"
    pd.read_csv(last).drop(columns=dropped).to_csv(last, index=False)
    options = ("--method", "pusvm", "--target", "fraud", "--drop", "state", "--prior", 0.1)
    model = tmp_path / "model"
    given = ("fit", files, "-o", model, "--no-report", "--time-budget", 0, *options)
    failed = run(*given, "--scheduler", address, code=2)
    message = " ".join(failed.output.split())
    assert "has other columns than" in message and last.name in message
    assert not model.exists()
