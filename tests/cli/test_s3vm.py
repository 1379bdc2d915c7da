"""Two classes and blanks on the command line: fit, predict and inspect."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

from fewlabels import S3VM, PUEnsemble
from fewlabels.tables.models.files import load_model

N, N_LABELED = 160, 10


def make_shops(seed=0):
    """Two clusters; ten rows are labelled."""
    rng = np.random.default_rng(seed)
    fraud = np.arange(N) % 2 == 0
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["size", "age"])
    frame += np.where(fraud, 1.5, -1.5)[:, None]
    frame["shop"] = rng.choice(["north", "south"], N)
    frame["status"] = np.where(fraud, "fraud", "fine").astype(object)
    frame.loc[N_LABELED:, "status"] = ""
    return frame


@pytest.fixture(scope="module")
def shops():
    return make_shops()


@pytest.fixture
def shops_csv(tmp_path, shops):
    path = tmp_path / "shops.csv"
    shops.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(run, shops, tmp_path_factory):
    """Bytes of a model, and what the command said."""
    folder = tmp_path_factory.mktemp("s3vm")
    shops.to_csv(folder / "shops.csv", index=False)
    result = run("fit", folder / "shops.csv", "--target", "status", "-o", folder / "m")
    assert result.code == 0, result.err
    return (folder / "m").read_bytes(), result


@pytest.fixture
def model(tmp_path, fitted):
    path = tmp_path / "m.fewlabels"
    path.write_bytes(fitted[0])
    return path


def encoded(frame, like):
    scaler = StandardScaler().fit(like[["size", "age"]])
    numbers = scaler.transform(frame[["size", "age"]])
    return np.column_stack([numbers, frame["shop"] == "north", frame["shop"] == "south"])


def coded(frame):
    return np.select([frame["status"] == "fraud", frame["status"] == "fine"], [1, 0], -1)


# -- fit ---------------------------------------------------------------------------------------


def test_two_classes_and_blanks(fitted, model, shops):
    said = fitted[1].out
    pipeline, schema, metadata = load_model(model)
    machine, training = pipeline[-1], metadata["training"]
    assert schema.names() == ["size", "age", "shop"]
    assert (metadata["method"], metadata["format_version"]) == ("s3vm", 1)
    assert type(machine) is S3VM
    assert training["choice"] == "'status' holds two classes, 'fine' and 'fraud', and blanks"
    assert training["classes"] == ["fine", "fraud"]
    assert training["unlabeled"] == ""
    assert training["rows_labeled"] == {"fine": 5, "fraud": 5}
    assert training["rows_unlabeled"] == N - N_LABELED
    assert training["rows_held"] is True
    found = (pipeline.decision_function(shops) > 0)[N_LABELED:].sum()
    predicted = {"fine": N - N_LABELED - found, "fraud": found}
    assert training["unlabeled_predicted"] == predicted
    assert training["violation"] < 1e-3
    for words in (
        "s3vm: 'status' holds two classes, 'fine' and 'fraud', and blanks",
        "10 rows: 5 'fine', 5 'fraud'",
        "150 rows, blank",
        f"'fine' {predicted['fine']} (",
        "of the unlabelled rows",
        "160, so that 'fewlabels update' can add to them",
        "objective",
        "violation",
    ):
        assert words in said, words
    assert "duality gap" not in said


def test_result_is_that_of_the_library(model, shops):
    X = encoded(shops, shops)
    expected = S3VM().fit(X, coded(shops))
    found = load_model(model)[0]
    np.testing.assert_allclose(
        found.decision_function(shops), expected.decision_function(X), atol=1e-9
    )
    np.testing.assert_array_equal(found[-1].transduction_, expected.transduction_)


@pytest.mark.parametrize(
    ("balance", "value"), [("auto", "auto"), ("labels", True), ("none", False), ("-0.25", -0.25)]
)
def test_options_reach_the_machine(run, shops_csv, tmp_path, balance, value):
    model = tmp_path / "m"
    result = run("fit", shops_csv, "--target", "status", "-o", model, "--C", 3, "--C-star", 2,
                 "--balance", balance, "--kernel", "linear", "--json")  # fmt: skip
    assert result.code == 0, result.err
    machine = load_model(model)[0][-1]
    expected = S3VM(C=3.0, C_star=2.0, balance=value, kernel="linear", probability="sigmoid")
    assert machine.get_params() == expected.get_params()
    assert type(machine.balance) is type(value)
    assert json.loads(result.out)["parameters"]["balance"] == value


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (("1", "0"), ["0", "1"]),
        (("-1", "+1"), ["-1", "+1"]),
        (("9", "10"), ["9", "10"]),
        (("True", "False"), ["False", "True"]),
        (("b", "a"), ["a", "b"]),
        (("score", "rows"), ["rows", "score"]),
    ],
)
def test_classes_keep_the_files_coding(run, tmp_path, shops, names, classes):
    data, model, out = tmp_path / "d.csv", tmp_path / "m", tmp_path / "o.csv"
    status = shops["status"].replace({"fraud": names[0], "fine": names[1]})
    shops.assign(status=status).to_csv(data, index=False)
    result = run("fit", data, "--target", "status", "-o", model)
    assert result.code == 0, result.err
    assert load_model(model)[2]["training"]["classes"] == classes
    shops.drop(columns="status").to_csv(data, index=False)
    summary = json.loads(run("predict", model, data, "-o", out, "--json").out)
    back = pd.read_csv(out, dtype={"label": str})
    np.testing.assert_array_equal(back["label"], np.where(back["score"] > 0, *classes[::-1]))
    assert summary["rows"] == N
    for name in classes:
        assert summary[f"label '{name}'"] == (back["label"] == name).sum()


def test_matrices_and_a_mark(run, tmp_path, shops):
    X = np.maximum(shops[["size", "age"]].to_numpy(), 0.0)
    y = np.select([shops["status"] == "fraud", shops["status"] == "fine"], [1.0, -1.0], 0.0)
    np.savez(tmp_path / "d.npz", X=X, y=np.where(y == 0, np.nan, y))
    dump_svmlight_file(X, y, str(tmp_path / "d.svm"))
    np.save(tmp_path / "d.npy", X)
    model, out = tmp_path / "m", tmp_path / "o.csv"
    scores = []
    for name, options in (("d.npz", ()), ("d.svm", ("--unlabeled", "0"))):
        result = run("fit", tmp_path / name, "--target", "y", *options, "--no-scale", "-o", model)
        assert result.code == 0, result.err
        machine, training = load_model(model)[0][-1], load_model(model)[2]["training"]
        assert sp.issparse(machine.support_vectors_) == (name == "d.svm")
        assert training["classes"] == ["-1", "1"]
        assert training["rows_labeled"] == {"-1": 5, "1": 5}
        assert training["unlabeled"] == ("0" if options else "")
        assert ("rows, marked '0'" in result.out) == bool(options)
        assert run("predict", model, tmp_path / "d.npy", "-o", out).code == 0
        scores.append(pd.read_csv(out)["score"])
    np.testing.assert_allclose(*scores, atol=1e-3)  # the tolerance of the fit


def test_a_mark_for_the_unlabelled_rows_of_one_class(run, tmp_path, shops):
    data, model = tmp_path / "d.csv", tmp_path / "m"
    shops.assign(status=shops["status"].replace({"fine": "?!", "": "?!"})).to_csv(
        data, index=False
    )
    result = run("fit", data, "--target", "status", "--unlabeled", "?!", "--prior", 0.5, "-o",
                 model)  # fmt: skip
    assert result.code == 0, result.err
    metadata = load_model(model)[2]
    assert metadata["method"] == "pusvm"
    assert (metadata["training"]["positive"], metadata["training"]["unlabeled"]) == ("fraud", "?!")


def test_labels_in_all_rows_are_allowed_when_asked_for(run, tmp_path, shops):
    data, model = tmp_path / "d.csv", tmp_path / "m"
    shops[:N_LABELED].to_csv(data, index=False)
    assert run("fit", data, "--target", "status", "-o", model).code == 2
    result = run("fit", data, "--target", "status", "--method", "s3vm", "-o", model)
    assert result.code == 0, result.err
    assert load_model(model)[2]["training"]["rows_unlabeled"] == 0


def test_without_rows(run, shops_csv, tmp_path):
    model = tmp_path / "m"
    result = run("fit", shops_csv, "--target", "status", "--no-rows", "-o", model)
    assert result.code == 0, result.err
    assert "rows stored" not in result.out
    pipeline, _, metadata = load_model(model)
    assert metadata["training"]["rows_held"] is False
    assert pipeline[-1]._stream is None
    assert run("predict", model, shops_csv, "-o", tmp_path / "o.csv").code == 0


def test_stopping_early_is_told(run, shops_csv, tmp_path):
    result = run("fit", shops_csv, "--target", "status", "--max-iter", 1, "--tol", 1e-9, "-o",
                 tmp_path / "m")  # fmt: skip
    assert result.code == 3
    assert "stopped early" in result.err


# -- predict and inspect -----------------------------------------------------------------------


@pytest.mark.parametrize("into", ["csv", "parquet"])
def test_predict(run, shops_csv, tmp_path, shops, model, into):
    out = tmp_path / f"out.{into}"
    result = run("predict", model, shops_csv, "-o", out)
    assert result.code == 0, result.err
    back = pd.read_csv(out) if into == "csv" else pd.read_parquet(out)
    assert list(back.columns) == [*shops.columns, "score", "label", "probability"]
    expected = load_model(model)[0].decision_function(shops)
    np.testing.assert_allclose(back["score"], expected, rtol=1e-9)
    np.testing.assert_array_equal(back["label"], np.where(expected > 0, "fraud", "fine"))
    assert f"label 'fraud'  {(expected > 0).sum()} (" in result.out


def test_rows_without_a_score_are_blank_everywhere(run, tmp_path, shops, model):
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    shops.assign(age=shops["age"].where(np.arange(N) % 10 != 3)).to_csv(data, index=False)
    assert run("predict", model, data, "-o", out, "--skip-missing").code == 0
    skipped = pd.read_csv(out)[["score", "label"]][np.arange(N) % 10 == 3]
    assert skipped.isna().all(axis=None)


def test_inspect(run, model):
    text = run("inspect", model).out
    for words in (
        "s3vm, created",
        "format           1",
        " kB",
        "C_star=5.0",
        "target           status",
        "10 rows: 5 'fine', 5 'fraud'",
        "rows stored      160",
    ):
        assert words in text, words
    assert json.loads(run("inspect", model, "--json").out) == load_model(model)[2]


# -- the ensemble ------------------------------------------------------------------------------


def test_pu_ensemble(run, tmp_path, shops):
    data, model, out = tmp_path / "d.csv", tmp_path / "m", tmp_path / "o.csv"
    pile = shops.assign(status=np.where(np.arange(N) % 4 == 0, "fraud", ""))
    pile.to_csv(data, index=False)
    result = run("fit", data, "--target", "status", "--method", "pu-ensemble", "--prior", 0.33,
                 "--bags", 5, "--seed", 3, "-o", model)  # fmt: skip
    assert result.code == 0, result.err
    assert "40 rows labelled 'fraud'" in result.out
    assert "lambda" not in result.out
    X = encoded(pile, pile)
    expected = PUEnsemble(prior=0.33, n_bags=5, random_state=3).fit(X, pile["status"] == "fraud")
    pipeline, _, metadata = load_model(model)
    assert (metadata["format_version"], metadata["training"]["rows_held"]) == (1, False)
    np.testing.assert_allclose(
        pipeline.decision_function(pile), expected.decision_function(X), atol=1e-9
    )
    assert run("predict", model, data, "-o", out).code == 0
    assert list(pd.read_csv(out).columns)[-4:] == ["score", "label", "positive", "probability"]
    assert "pu-ensemble, created" in run("inspect", model).out
