"""The command fit, where it succeeds."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble
from fewlabels.one_class.base import count_outside
from fewlabels.pipeline.options.fit import ONE_CLASS_NU
from fewlabels.tables.models.files import load_model, read_metadata


def test_target_and_normal_value(run, data, tmp_path, table):
    model = tmp_path / "m.skops"
    result = run("fit", data, "--target", "class", "--normal", "good", "--drop", "name",
                 "--method", "svdd", "-o", model)  # fmt: skip
    assert result.code == 0, result.err
    pipeline, schema, metadata = load_model(model)
    n_good = int((table["class"] == "good").sum())
    training = metadata["training"]
    assert training["rows"] == n_good
    assert training["rows_read"] == len(table)
    assert (training["target"], training["normal"]) == ("class", "good")
    assert schema.names() == ["width", "height", "colour", "ok"]
    assert (schema.names("category"), schema.names("boolean")) == (["colour"], ["ok"])
    good = table[table["class"] == "good"].astype({"ok": str})
    outside = count_outside(pipeline[-1], pipeline[:-1].transform(good))
    assert training["rows_outside"] == outside.outside and outside.left_out
    for words in ("support vectors", "radius", "duality gap", "seconds", f"{n_good} of 120 read"):
        assert words in result.out
    assert "rows of other classes ('bad') not used" in result.err
    assert "blank target not used" in result.err


@pytest.mark.parametrize("option", [("--normal", "good"), ("--method", "svdd")])
def test_one_class_and_blanks_can_be_one_class(run, tmp_path, table, option):
    data, model = tmp_path / "d.csv", tmp_path / "m"
    table[table["class"] != "bad"].drop(columns="name").to_csv(data, index=False)
    result = run("fit", data, "--target", "class", *option, "-o", model)
    assert result.code == 0, result.err
    metadata = load_model(model)[2]
    assert metadata["method"] == ("svdd" if "svdd" in option else "svdd-ensemble")
    assert metadata["training"]["normal"] == "good"
    assert metadata["training"]["rows"] == (table["class"] == "good").sum()


def test_one_class_in_all_rows(run, tmp_path, table):
    data, model = tmp_path / "d.csv", tmp_path / "m"
    good = table[table["class"] == "good"].drop(columns="name")
    good.to_csv(data, index=False)
    result = run("fit", data, "--target", "class", "-o", model)
    assert result.code == 0, result.err
    assert "svdd-ensemble: 'class' holds one class, 'good', in all rows" in result.out
    assert "if the data suggest it; pass --clean if" in result.out
    assert load_model(model)[2]["training"]["rows"] == len(good)


def test_result_is_that_of_the_library(run, tmp_path, table):
    data, model = tmp_path / "d.csv", tmp_path / "m"
    numbers = table[["width", "height"]]
    numbers.to_csv(data, index=False)
    assert run("fit", data, "-o", model, "--C", 0.3, "--gamma", 0.7, "--tol", 1e-6,
               "--target-fpr", "none").code == 0  # fmt: skip
    scaled = ((numbers - numbers.mean()) / numbers.std(ddof=0)).assign(new_blanks=0.0).to_numpy()
    expected = SVDD(C=0.3, gamma=0.7, tol=1e-6).fit(scaled).decision_function(scaled)
    scores = load_model(model)[0].decision_function(numbers)
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    assert run("fit", data, "-o", model, "--no-scale", "--method", "one-class", "--target-fpr",
               "none").code == 0  # fmt: skip
    rows = numbers.assign(new_blanks=0.0).to_numpy()
    expected = OneClassSVM(nu=ONE_CLASS_NU).fit(rows)
    scores = load_model(model)[0].decision_function(numbers)
    np.testing.assert_allclose(scores, expected.decision_function(rows), atol=1e-9)


def test_json_and_quiet(run, data, tmp_path):
    arguments = ["fit", data, "--drop", "name", "-o", tmp_path / "m"]
    summary = json.loads(run(*arguments, "--json").out)
    assert summary["training"]["rows"] == 120
    assert summary["training"]["converged"] is True
    assert summary["method"] == "svdd-ensemble"
    quiet = run(*arguments, "--quiet")
    assert (quiet.out, quiet.err) == ("", "")


def test_verbose_prints_rounds(run, data, tmp_path):
    result = run("fit", data, "--drop", "name", "-o", tmp_path / "m", "-v")
    assert "round 1, violation" in result.err


def test_nu_means_linear_slack(run, data, tmp_path):
    result = run("fit", data, "--drop", "name", "-o", tmp_path / "m", "--nu", 0.2, "--json")
    assert json.loads(result.out)["parameters"]["slack"] == "linear"
    assert "slack is linear" in result.err


def test_stopping_early_is_told(run, data, tmp_path):
    model = tmp_path / "m"
    result = run("fit", data, "--drop", "name", "-o", model, "--max-iter", 1, "--tol", 1e-9,
                 "--target-fpr", "none")  # fmt: skip
    assert result.code == 3
    assert "stopped early" in result.err
    assert "converged" in result.out
    assert load_model(model)[2]["training"]["converged"] is False


def test_an_existing_model_is_replaced(run, data, model):
    before = model.read_bytes()
    assert run("fit", data, "--drop", "name", "-o", model).code == 0
    assert model.read_bytes() != before


def test_force_replaces_any_file(run, data, tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("dear diary")
    assert run("fit", data, "--drop", "name", "-o", other).code == 2
    assert other.read_text() == "dear diary"
    assert run("fit", data, "--drop", "name", "-o", other, "--force").code == 0


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_table_formats_give_the_same_model(run, tmp_path, table, suffix):
    data = tmp_path / f"d.{suffix}"
    frame = table.drop(columns=["name", "class"])
    if suffix == "parquet":
        frame.astype({"colour": "category"}).to_parquet(data)
    else:
        frame.to_csv(data, index=False, sep="," if suffix == "csv" else "\t")
    assert run("fit", data, "-o", tmp_path / "m").code == 0
    pipeline, schema, _ = load_model(tmp_path / "m")
    assert [column.kind for column in schema.columns] == ["number"] * 2 + ["category", "boolean"]
    assert [column.categories for column in schema.columns] == [None, None, 2, None]
    assert pipeline[:-1].transform(frame.astype({"ok": str})).shape == (120, 7)


def test_matrices(run, tmp_path, table):
    X = table[["width", "height"]].to_numpy()
    np.save(tmp_path / "d.npy", X)
    np.savez(tmp_path / "d.npz", X=X, y=np.ones(120))
    dump_svmlight_file(X, np.ones(120), str(tmp_path / "d.svm"))
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(X))
    scores = {}
    for name in ("d.npy", "d.npz", "d.svm", "s.npz"):
        result = run("fit", tmp_path / name, "-o", tmp_path / "m", "--method", "svdd",
                     "--tol", 1e-6)  # fmt: skip
        assert result.code == 0, result.err
        pipeline, schema, _ = load_model(tmp_path / "m")
        assert schema.layout == ("dense" if name.startswith("d.n") else "sparse")
        assert sp.issparse(pipeline[-1].support_vectors_) == (schema.layout == "sparse")
        rows = X if schema.layout == "dense" else sp.csr_array(X)
        scores[name] = pipeline.decision_function(rows)
    np.testing.assert_allclose(scores["d.npy"], scores["d.npz"])
    np.testing.assert_allclose(scores["d.svm"], scores["s.npz"])


def test_defaults_in_the_help_are_those_of_the_estimators(run):
    words = " ".join(run("fit", "--help-all").out.replace("│", " ").split())
    machines = SVDD, OneClassSVM, PUSVM, S3VM, PUEnsemble, SVDDEnsemble
    svdd, one_class, pu, s3vm, ensemble, bags = (cls().get_params() for cls in machines)
    for text, name in (
        ("leaves more rows outside. (default: 2, svdd-ensemble 0.1)", "C"),
        ("(default: squared)", "slack"),
        ("pu-ensemble and s3vm. (default: rbf, pu-ensemble auto)", None),
        ("neighbors. (default: scale, s3vm distance, svdd-ensemble neighbors)", None),
        ("poly. (default: 3)", "degree"),
        ("in MB. (default: 200)", "cache_size"),
        (f"(default for one-class: {ONE_CLASS_NU})", None),
        ("sigmoid. (default: 1, one-class 0)", None),
        ("labelled rows inside the margin. (default: 10)", None),
        ("unlabelled rows inside the margin. (default: 5)", "C_star"),
        ("number of bags. (default: 30, svdd-ensemble 25)", None),
        ("up to 4096. (default: 512)", "bag_size"),
        ("(default: auto; 0 with --clean)", None),
        ("Solver tolerance. (default: 0.001, pu-ensemble 0.01)", None),
        ("the unlabelled rows. (default: estimate)", "prior"),
        ("number of positive rows. (default: auto)", "lam"),
        ("loss function. (default: double-hinge)", "loss"),
        ("minimises the risk. (default: leave-one-out)", "threshold"),
    ):
        assert text in words
        if name:
            value = text.split("default: ")[1].rstrip(")")
            for parameters_of in (svdd, one_class, pu, s3vm, ensemble, bags):
                if name in parameters_of and name != "C":
                    assert str(parameters_of[name]) in (value, f"{value}.0")
    assert [p["coef0"] for p in (svdd, one_class, pu, s3vm, ensemble)] == [1, 0, 1, 1, 1]
    assert [p["tol"] for p in (svdd, one_class, pu, s3vm, ensemble)] == [1e-3] * 4 + [1e-2]
    assert (svdd["C"], s3vm["C"]) == (2.0, 10.0)
    widths = [p["gamma"] for p in (svdd, one_class, pu, s3vm, ensemble)]
    assert widths == ["scale", "scale", "scale", "distance", "scale"]
    assert "Exit codes: 0 success" in words


def test_text_of_a_kind_that_pandas_reads_otherwise(run, tmp_path):
    data = tmp_path / "d.csv"
    pd.DataFrame({"zip": ["01234", "98765"] * 10, "x": np.arange(20) % 7}).to_csv(
        data, index=False
    )
    assert run("fit", data, "-o", tmp_path / "m").code == 0
    assert load_model(tmp_path / "m")[1].names("category") == ["zip"]


def test_many_categories_are_kept_sparse(run, tmp_path):
    data, model, out = tmp_path / "d.csv", tmp_path / "m", tmp_path / "o.csv"
    codes = np.random.default_rng(0).integers(0, 40, 200)
    pd.DataFrame({"x": np.arange(200) % 7, "k": [f"k{i}" for i in codes]}).to_csv(
        data, index=False
    )
    assert run("fit", data, "-o", model).code == 0
    result = run("predict", model, data, "-o", out)
    assert result.code == 0, result.err
    assert sp.issparse(load_model(model)[0][-1].support_vectors_)


@pytest.mark.parametrize("machine", ["svdd", "one-class"])
def test_a_fit_that_stopped_early_says_so_although_leaving_out_solved_it(run, tmp_path, machine):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    rows.to_csv(tmp_path / "d.csv", index=False)
    result = run("fit", tmp_path / "d.csv", "-o", tmp_path / "m", "--method", machine,
                 "--max-iter", 0, "--target-fpr", 0.1, "--time-budget", 0,
                 "--no-report")  # fmt: skip
    assert result.code == 3, result.err
    assert "no, stopped early" in result.out
    assert not read_metadata(tmp_path / "m")["training"]["converged"]


def test_two_rows_are_told_of_no_option_that_was_not_given(run, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n1,3\n2,5\n")
    result = run(
        "fit", tmp_path / "d.csv", "-o", tmp_path / "m", "--no-report", "--time-budget", 9
    )
    assert result.code == 0, result.err
    assert "--C" not in result.err and "--target-fpr" not in result.err
    assert " C 0.1 is so small" in result.err
    assert "flags no row: 2 rows are too few for a rate of 5 %" in result.out
    scored = run("predict", tmp_path / "m", tmp_path / "d.csv", "-o", tmp_path / "scores.csv")
    assert scored.code == 2 and not (tmp_path / "scores.csv").exists()
    assert "flags no row, because it was calibrated on too few" in scored.err
    given = run("fit", tmp_path / "d.csv", "-o", tmp_path / "m", "--no-report", "--C", 0.1)
    assert "--C 0.1 is so small" in given.err


def test_short_help_leaves_details_to_help_all(run):
    short, everything = run("fit", "--help").out, run("fit", "--help-all").out
    assert short.count("\n") <= 90 < everything.count("\n")
    assert short.index("fewlabels fit healthy.csv") < short.index("Options")
    for option in ("--target", "--method", "--time-budget", "--help-all"):
        assert option in short and option in everything
    for option in ("--C-star", "--sep", "--text-weight", "--scheduler", "--no-rows"):
        assert option not in short and option in everything
    # Short help changes nothing for what follows.
    assert run("fit", "--help-all").out == everything
