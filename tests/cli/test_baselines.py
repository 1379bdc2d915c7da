"""Simple methods on the command line, and when one is offered."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabels import PUSVM, fit_table
from fewlabels.model_selection import compare_with_baselines

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = ("--time-budget", 0, "--no-report")


@pytest.fixture
def tables(tmp_path, seed):
    """Rows of one class, of one and blanks, of two and blanks."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(["good", "bad"], [90, 70])
    frame = pd.DataFrame(rng.normal(size=(160, 3)) + 2.0 * (truth == "good")[:, None])
    frame.columns = ["a", "b", "c"]
    told = np.arange(160) % 4 == 0
    frames = {
        "neighbours": frame[truth == "good"],
        "forest": frame.assign(kind=np.where(told & (truth == "good"), truth, "")),
        "logistic": frame.assign(kind=np.where(told, truth, "")),
    }
    for name, one in frames.items():
        one.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("name", ["neighbours", "forest", "logistic"])
def test_fit_predict_explain_and_inspect(run, tables, name):
    table, model, out = tables / f"{name}.csv", tables / "m", tables / "out.csv"
    target = () if name == "neighbours" else ("--target", "kind")
    done = run("fit", table, *target, "--method", name, "-o", model, *QUICK, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["method"] == name and told["parameters"]["method"] == name
    assert told["training"]["support_vectors"] is None
    lines = run("fit", table, *target, "--method", name, "-o", model, *QUICK).out
    assert "defaults" in lines and "support vectors" not in lines and "rounds" not in lines
    assert run("predict", model, table, "-o", out).code == 0
    scored = pd.read_csv(out)
    more = "p_value" if name == "neighbours" else "probability"
    assert scored[more].between(0, 1).all() and scored["score"].notna().all()
    explained = run("explain", model, table, "--row", 2)
    assert explained.code == 0 and "contribution" in explained.out
    assert name in run("inspect", model).out
    refused = run("update", model, table)
    assert refused.code == 2 and "can't be updated; fit a new model to all rows" in refused.err
    refused = run("export", model, "-o", tables / "m.onnx")
    assert refused.code == 2 and "takes a fewlabels estimator with a kernel" in refused.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gamma", 1], "--gamma needs --method svdd"),
        (["--kernel", "linear"], "--kernel needs --method svdd"),
        (["--rows"], "can't update neighbours models"),
        (["--target-fpr", "none"], "neighbours has none"),
        (["--clean"], "neighbours has none"),
        (["--prior", 0.3], "--prior needs --method"),
    ],
)
def test_options_that_a_method_does_not_have(run, tables, options, message):
    command = ["fit", tables / "neighbours.csv", "--method", "neighbours", "-o", tables / "m"]
    refused = run(*command, *QUICK, *options)
    assert refused.code == 2 and message in refused.err, refused.err


def test_too_few_rows_for_a_threshold(run, tables):
    pd.read_csv(tables / "neighbours.csv")[:12].to_csv(tables / "few.csv", index=False)
    command = ["fit", tables / "few.csv", "--method", "neighbours", "-o", tables / "m", *QUICK]
    refused = run(*command)
    assert refused.code == 2 and "pass --target-fpr RATE, more rows" in refused.err
    assert run(*command, "--target-fpr", 0.2).code == 0


def test_in_a_notebook_with_a_report(tables):
    found = fit_table(
        tables / "logistic.csv", "kind", method="logistic", time_budget=5, random_state=3
    )
    assert found.model[-1].method == "logistic" and found.model[-1].random_state == 3
    names = set(found.comparison.table["name"])
    assert {"logistic regression, labels only", "S3VM", "self-training"} <= names
    ours = found.comparison.table.set_index("name")["ours"]
    assert ours.sum() == 1 and ours["logistic regression, labels only"]
    assert "logistic regression, labels only" in found.report._repr_html_()


def test_a_baseline_that_is_clearly_ahead_is_offered(run, tmp_path, seed):
    # A ring around the others: no line tells them apart.
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(300, 2)), np.arange(300) < 60
    X[:120] *= 6.0 / np.linalg.norm(X[:120], axis=1, keepdims=True)
    table, model = tmp_path / "t.csv", tmp_path / "m"
    kind = np.where(y, "ring", "")
    pd.DataFrame(X, columns=["a", "b"]).assign(kind=kind).to_csv(table, index=False)
    command = ["fit", table, "--target", "kind", "-o", model, "--method", "pusvm", "--json"]
    command += ["--time-budget", 100]  # for the comparison: the settings are given
    done = run(*command, "--kernel", "linear", "--prior", 0.25, "--baselines")
    told = json.loads(done.out)["training"]["baselines"]
    assert "Worse than a baseline" in told["verdict"]
    assert told["offer"] in ("forest", "random-forest", "pu-svm")
    assert told["instead"].startswith(f"--method {told['offer']} fits ")
    lines = [" ".join(line.split()) for line in run("inspect", model).out.splitlines()]
    assert any(line.startswith(f"instead --method {told['offer']}") for line in lines)


def test_nothing_is_offered_where_nothing_is_clear(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(80, 2)), (np.arange(80) < 20).astype(int)
    assert compare_with_baselines(PUSVM(prior=0.3), X, y, time_budget=5).offer == ""


def test_the_kernel_of_trees(run, tables):
    command = ["fit", tables / "forest.csv", "--target", "kind", "-o", tables / "m", *QUICK]
    done = run(*command, "--method", "pu-ensemble", "--kernel", "trees", "--bags", 2)
    assert done.code == 0 and "kernel trees" in done.out, done.err
    assert run("predict", tables / "m", tables / "forest.csv", "-o", tables / "o.csv").code == 0
    one = ["fit", tables / "neighbours.csv", "-o", tables / "m", *QUICK]
    refused = run(*one, "--kernel", "trees")
    assert refused.code == 2
    assert "needs --method pusvm, pu-ensemble or s3vm" in refused.err
    command[1] = tables / "logistic.csv"
    done = run(*command, "--kernel", "trees")
    assert done.code == 0 and "kernel trees" in done.out, done.err
    assert run("predict", tables / "m", tables / "logistic.csv", "-o", tables / "o.csv").code == 0
