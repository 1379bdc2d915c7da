"""Positive and unlabelled rows on the command line: fit, predict, inspect and prior."""

import inspect
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM
from fewlabels.class_prior import METHODS, estimate_prior, pooled_from_unlabeled
from fewlabels.pipeline import score_file
from fewlabels.pipeline.tasks.positive_unlabelled import PRIOR_CONFIDENCE
from fewlabels.tables.models.files import load_model

N, N_LABELED, N_POSITIVE = 240, 40, 100


def make_pile(seed=0):
    """Two clusters; 40 of the 100 positives are labelled."""
    rng = np.random.default_rng(seed)
    positive = np.arange(N) < N_POSITIVE
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["size", "age"])
    frame["size"] += np.where(positive, 3.0, 0.0)
    frame["shop"] = rng.choice(["north", "south"], N)
    frame["status"] = np.where(np.arange(N) < N_LABELED, "fraud", "")
    return frame.iloc[rng.permutation(N)].reset_index(drop=True)


@pytest.fixture(scope="module")
def pile():
    return make_pile()


@pytest.fixture
def pile_csv(tmp_path, pile):
    path = tmp_path / "pile.csv"
    pile.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(run, pile, tmp_path_factory):
    """Bytes of a model with an estimated prior, and what the command said."""
    folder = tmp_path_factory.mktemp("pu")
    pile.to_csv(folder / "pile.csv", index=False)
    result = run("fit", folder / "pile.csv", "--target", "status", "-o", folder / "m")
    assert result.code == 0, result.err
    return (folder / "m").read_bytes(), result


@pytest.fixture
def pu_model(tmp_path, fitted):
    path = tmp_path / "pu.fewlabels"
    path.write_bytes(fitted[0])
    return path


def _encoded(frame):
    numbers = StandardScaler().fit_transform(frame[["size", "age"]])
    return np.column_stack([numbers, frame["shop"] == "north", frame["shop"] == "south"])


# -- fit -----------------------------------------------------------------------------------


def test_one_class_and_blanks(fitted, pu_model, pile):
    said = fitted[1].out
    pipeline, schema, metadata = load_model(pu_model)
    machine, training = pipeline[-1], metadata["training"]
    assert schema.names() == ["size", "age", "shop"]
    assert (metadata["method"], metadata["format_version"]) == ("pusvm", 1)
    assert isinstance(machine, PUSVM)
    assert training["choice"] == (
        "'status' holds one class, 'fraud', and blanks; quicker than a pu-ensemble "
        "(--time-budget 0)"
    )
    assert (training["positive"], training["unlabeled"]) == ("fraud", "")
    assert (training["rows_labeled"], training["rows_unlabeled"]) == (N_LABELED, N - N_LABELED)
    assert training["prior"] == machine.prior_
    assert (training["prior_low"], training["prior_high"]) == machine.prior_interval_
    assert training["prior_low"] < 0.3 < training["prior_high"]
    found = pipeline.decision_function(pile) > 0
    blank = (pile["status"] == "").to_numpy()
    assert training["unlabeled_predicted_positive"] == found[blank].sum()
    for words in (
        "pusvm: 'status' holds one class, 'fraud', and blanks",
        "40 rows labelled 'fraud'",
        "200 rows, blank",
        f"{machine.prior_:.3g} of the unlabelled rows ({(40 + 200 * machine.prior_) / 240:.3g} of "
        f"all rows), estimated; 90 % CI {machine.prior_interval_[0]:.3g} to "
        f"{machine.prior_interval_[1]:.3g}",
        f"{found[blank].sum()} (",
        "duality gap",
        "objective",
        "support vectors",
    ):
        assert words in said, words


def test_result_is_that_of_the_library(pu_model, pile):
    X = _encoded(pile)
    pipeline, _, _ = load_model(pu_model)
    expected = PUSVM(prior=pipeline[-1].prior_).fit(X, pile["status"] == "fraud")
    np.testing.assert_allclose(
        pipeline.decision_function(pile), expected.decision_function(X), atol=1e-9
    )


def test_json_holds_everything(run, pile_csv, tmp_path):
    result = run("fit", pile_csv, "--target", "status", "-o", tmp_path / "m", "--prior", 0.3,
                 "--json")  # fmt: skip
    summary = json.loads(result.out)
    training = summary["training"]
    assert summary["parameters"]["prior"] == 0.3
    assert training["prior"] == 0.3
    assert training["prior_estimated"] is False
    assert training["prior_low"] is training["prior_high"] is training["prior_confidence"] is None
    for name in ("objective", "duality_gap", "support_vectors", "unlabeled_predicted_positive"):
        assert training[name] is not None


def test_options_reach_the_machine(run, pile_csv, tmp_path, pile):
    model = tmp_path / "m"
    result = run("fit", pile_csv, "--target", "status", "-o", model, "--prior", 0.25, "--lam",
                 0.05, "--loss", "ramp", "--threshold", "risk", "--kernel", "linear",
                 "--seed", 5)  # fmt: skip
    assert result.code == 0, result.err
    assert "0.25 of the unlabelled rows (0.375 of all rows), as given" in result.out
    machine = load_model(model)[0][-1]
    expected = PUSVM(
        prior=0.25, lam=0.05, loss="ramp", threshold="risk", kernel="linear", random_state=5,
        probability="isotonic",
    )  # fmt: skip
    assert machine.get_params() == expected.get_params()
    X = _encoded(pile)
    expected.fit(X, pile["status"] == "fraud")
    np.testing.assert_allclose(machine.decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize(
    ("marks", "option", "labels"),
    [
        (("1", "0"), ("--method", "pusvm"), ("1", "0")),
        (("1", "0"), ("--positive", "1"), ("1", "0")),
        (("1", "0"), ("--positive", "0"), ("0", "1")),
        (("fraud", "unknown"), ("--positive", "fraud"), ("fraud", "unknown")),
        (("True", "False"), ("--method", "pusvm"), ("True", "False")),
    ],
)
def test_two_values(run, tmp_path, pile, marks, option, labels):
    data, model, out = tmp_path / "d.csv", tmp_path / "m", tmp_path / "o.csv"
    frame = pile.assign(status=np.where(pile["status"] == "fraud", *marks))
    frame.to_csv(data, index=False)
    result = run("fit", data, "--target", "status", *option, "--prior", 0.3, "-o", model)
    assert result.code == 0, result.err
    assert f"rows, marked '{labels[1]}'" in result.out
    training = load_model(model)[2]["training"]
    assert (training["positive"], training["unlabeled"]) == labels
    assert training["rows_labeled"] == (frame["status"] == labels[0]).sum()
    assert run("predict", model, data, "-o", out).code == 0
    back = pd.read_csv(out, dtype=str)
    np.testing.assert_array_equal(back["label"], np.where(back["positive"] == "True", *labels))


def test_matrices(run, tmp_path, pile):
    X = np.maximum(pile[["size", "age"]].to_numpy(), 0.0)
    positive = (pile["status"] == "fraud").to_numpy()
    np.savez(tmp_path / "d.npz", X=X, y=np.where(positive, 1.0, np.nan))
    dump_svmlight_file(X, positive.astype(int), str(tmp_path / "d.svm"))
    np.savez(tmp_path / "dense.npz", X=X)
    model, out = tmp_path / "m", tmp_path / "o.csv"
    for name, options in (("d.npz", ()), ("d.svm", ("--method", "pusvm"))):
        result = run("fit", tmp_path / name, "--target", "y", *options, "--prior", 0.3,
                     "--no-scale", "-o", model)  # fmt: skip
        assert result.code == 0, result.err
        pipeline, _, metadata = load_model(model)
        assert sp.issparse(pipeline[-1].support_vectors_) == (name == "d.svm")
        assert metadata["training"]["rows_labeled"] == N_LABELED
        result = run("predict", model, tmp_path / "dense.npz", "-o", out)
        assert result.code == 0, result.err
        back = pd.read_csv(out)
        assert list(back.columns) == ["score", "label", "positive", "probability"]
        assert back["positive"].mean() == pytest.approx(0.42, abs=0.08)


def test_many_categories_are_kept_sparse(run, tmp_path, pile):
    data, model, out = tmp_path / "d.csv", tmp_path / "m", tmp_path / "o.csv"
    codes = np.random.default_rng(0).integers(0, 60, N)
    pile.assign(shop=[f"shop {code}" for code in codes]).to_csv(data, index=False)
    result = run("fit", data, "--target", "status", "--prior", 0.3, "-o", model)
    assert result.code == 0, result.err
    assert sp.issparse(load_model(model)[0][-1].support_vectors_)
    assert run("predict", model, data, "-o", out).code == 0
    result = run("prior", data, "--target", "status", "--json")
    assert json.loads(result.out)["low"] < 0.3 < json.loads(result.out)["high"]


def test_a_prior_that_the_data_contradict(run, tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(5, 0.1, 400), rng.normal(-5, 0.1, 400)])
    frame = pd.DataFrame({"a": X, "b": -X, "t": np.repeat(["x", ""], 400)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    result = run("fit", tmp_path / "d.csv", "--target", "t", "--prior", 0.9, "-o", tmp_path / "m")
    assert result.code == 0
    told = " ".join((result.out + result.err).split())
    assert "0.9 contradicts the data but is used anyway" in told
    assert "or --prior estimate" in told
    assert load_model(tmp_path / "m")[0][-1].prior_ == 0.9


def test_an_uncertain_prior_is_noted(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    frame["t"] = np.where(np.arange(40) < 6, "x", "")
    frame.loc[:12, "a"] += 2.0
    frame.to_csv(tmp_path / "d.csv", index=False)
    result = run("fit", tmp_path / "d.csv", "--target", "t", "-o", tmp_path / "m")
    assert result.code == 0, result.err
    assert "no signal" not in result.out
    assert "the class prior is uncertain" in result.err
    assert "pass --prior NUMBER if you know" in result.err
    assert "note: the class prior is uncertain" in run("inspect", tmp_path / "m").out


def test_stopping_early_is_told(run, pile_csv, tmp_path):
    result = run("fit", pile_csv, "--target", "status", "--prior", 0.3, "--max-iter", 1,
                 "--tol", 1e-9, "-o", tmp_path / "m")  # fmt: skip
    assert result.code == 3
    assert "stopped early" in result.err


# -- predict and inspect ----------------------------------------------------------------------


@pytest.mark.parametrize("into", ["csv", "parquet"])
def test_predict(run, pile_csv, tmp_path, pile, pu_model, into):
    out = tmp_path / f"out.{into}"
    result = run("predict", pu_model, pile_csv, "-o", out)
    assert result.code == 0, result.err
    back = pd.read_csv(out) if into == "csv" else pd.read_parquet(out)
    assert list(back.columns) == [*pile.columns, "score", "label", "positive", "probability"]
    expected = load_model(pu_model)[0].decision_function(pile)
    np.testing.assert_allclose(back["score"], expected, rtol=1e-9)
    np.testing.assert_array_equal(back["positive"], expected > 0)
    assert back["positive"].dtype == bool
    assert (back["label"][expected > 0] == "fraud").all()
    assert back["label"][expected <= 0].isna().all()
    assert f"{(expected > 0).sum()} (" in result.out
    assert "not positive" in result.out


def test_pieces_give_the_same_file(tmp_path, pile_csv, pu_model):
    whole = score_file(pu_model, pile_csv, tmp_path / "whole.csv")
    pieces = score_file(pu_model, pile_csv, tmp_path / "pieces.csv", chunk_rows=7)
    for name in ("rows", "positive", "not_positive", "skipped"):
        assert whole[name] == pieces[name]
    assert whole["positive"] + whole["not_positive"] == N
    one, two = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("whole", "pieces"))
    np.testing.assert_allclose(one.pop("score"), two.pop("score"), rtol=1e-9)
    pd.testing.assert_frame_equal(one, two)


def test_rows_without_a_score_are_blank_everywhere(run, tmp_path, pile, pu_model):
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    pile.assign(age=pile["age"].where(np.arange(N) % 10 != 3)).to_csv(data, index=False)
    result = run("predict", pu_model, data, "-o", out, "--skip-missing", "--json")
    summary = json.loads(result.out)
    assert (summary["rows"], summary["skipped"]) == (N, 24)
    assert summary["positive"] + summary["not_positive"] == N - 24
    skipped = pd.read_csv(out)[["score", "label", "positive"]][np.arange(N) % 10 == 3]
    assert skipped.isna().all(axis=None)


def test_prefix(run, tmp_path, pile, pu_model):
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    pile.assign(positive="x").to_csv(data, index=False)
    result = run("predict", pu_model, data, "-o", out)
    assert result.code == 2
    assert "a column 'positive'; pass --prefix NAME_ to write 'NAME_score', " in result.err
    assert run("predict", pu_model, data, "-o", out, "--prefix", "pu_").code == 0
    assert list(pd.read_csv(out).columns)[-4:] == [
        "pu_score",
        "pu_label",
        "pu_positive",
        "pu_probability",
    ]


def test_inspect(run, pu_model):
    text = run("inspect", pu_model).out
    for words in (
        "pusvm, created",
        "lam=auto",
        "target              status",
        "lambda              0.00375",
        "class prior",
        "90 % CI",
        "40 rows labelled 'fraud'",
    ):
        assert words in text, words
    assert json.loads(run("inspect", pu_model, "--json").out) == load_model(pu_model)[2]


# -- prior -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def estimated(run, pile, tmp_path_factory):
    """What ``prior --json`` says."""
    path = tmp_path_factory.mktemp("prior") / "pile.csv"
    pile.to_csv(path, index=False)
    result = run("prior", path, "--target", "status", "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_prior_is_the_one_that_fit_estimates(estimated, pu_model):
    training = load_model(pu_model)[2]["training"]
    for ours, theirs in (("prior", "prior"), ("low", "prior_low"), ("high", "prior_high")):
        assert estimated[ours] == pytest.approx(training[theirs], rel=1e-9)
    assert (estimated["rows_labeled"], estimated["rows_unlabeled"]) == (N_LABELED, N - N_LABELED)
    assert estimated["confidence"] == training["prior_confidence"]
    assert estimated["convention"] == "unlabeled"


def test_prior_among_all_rows_in_words(run, pile_csv, estimated):
    result = run("prior", pile_csv, "--target", "status", "--convention", "pooled")
    assert result.code == 0, result.err
    share, low, high = (
        pooled_from_unlabeled(estimated[name], N_LABELED, N - N_LABELED)
        for name in ("prior", "low", "high")
    )
    assert result.out.startswith(f"{share:.3g} of all rows are positive\n")
    for words in (
        f"90 % CI     {low:.3g} to {high:.3g}",
        "assumes     the labelled rows are a random sample of the positives",
        "method      " + estimated["method"],
        "40 rows labelled 'fraud'",
        "200 rows, blank",
    ):
        assert words in result.out, words


def test_a_prior_that_the_data_leave_open_has_no_point(run, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 3)), columns=list("abc"))
    frame.assign(t=np.where(np.arange(400) < 50, "x", "")).to_csv(tmp_path / "d.csv", index=False)
    facts = json.loads(run("prior", tmp_path / "d.csv", "--target", "t", "--json").out)
    assert facts["prior"] is None and facts["low"] < 0.05 and facts["high"] > 0.9
    assert facts["rows_low"] < 20 and facts["rows_high"] > 300
    shown = run("prior", tmp_path / "d.csv", "--target", "t").out
    ends = f"between {facts['low']:.3g} and {facts['high']:.3g} of the unlabelled rows"
    assert f"{ends} are positive: the data don't determine it\n" in shown
    assert f"{facts['rows_low']} to {facts['rows_high']} positive unlabelled rows" in shown
    assert "so these data don't determine it" in shown  # the caution


@pytest.mark.parametrize("option", [(), ("--positive", "a")])
def test_prior_of_three_classes_names_another_way(run, tmp_path, option):
    (tmp_path / "d.csv").write_text("x,t\n1,a\n2,b\n3,c\n4,\n")
    result = run("prior", tmp_path / "d.csv", "--target", "t", *option)
    assert result.code == 2
    assert "'a' (1), 'b' (1), 'c' (1) and 1 blank" in result.err
    assert "use 'fewlabels fit' with --class-ratio estimate" in result.err


def test_methods(run, pile_csv, estimated):
    result = run("prior", pile_csv, "--target", "status", "--method", "best-bin", "--confidence",
                 0.5, "--json")  # fmt: skip
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert (found["method"], found["confidence"]) == ("best-bin", 0.5)
    assert found["prior"] != estimated["prior"]
    result = run("prior", pile_csv, "--target", "status", "--method", "guess")
    assert result.code == 2
    assert all(f"'{name}'" in result.err for name in ("auto", *METHODS))


def test_level_of_the_interval_that_pusvm_gives():
    default = inspect.signature(estimate_prior).parameters["confidence"].default
    assert default == PRIOR_CONFIDENCE


@pytest.mark.parametrize(
    ("status", "arguments", "message"),
    [
        (("x", "y"), (), "pass the positive one as --positive VALUE"),
        (("x", "x"), (), "'x' in every row"),
        (("x", ""), ("--positive", "z"), "positive value 'z'"),
        (("x", ""), ("--confidence", "1"), "--confidence 1 is out of range"),
        (("x", ""), ("--n-jobs", "0"), "--n-jobs 0 is out of range"),
        (("x", ""), ("--seed", "-1"), "--seed -1 is out of range"),
        (("x", ""), ("--drop", "z"), "no column 'z'"),
    ],
)
def test_prior_errors(run, tmp_path, pile, status, arguments, message):
    data = tmp_path / "d.csv"
    pile.assign(status=np.where(pile["status"] == "fraud", *status)).to_csv(data, index=False)
    result = run("prior", data, "--target", "status", *arguments)
    assert result.code == 2
    assert result.out == ""
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_prior_needs_a_target(run, pile_csv):
    result = run("prior", pile_csv)
    assert result.code == 2
    assert "--target" in result.err
