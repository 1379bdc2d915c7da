"""Classifiers and detectors of the user's own: compared, delivered, stored and trusted."""

import json
import sys
import textwrap
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from skops.io import dumps, get_untrusted_types

from fewlabels import fit_table, load, pipeline
from fewlabels._util.messages import UserError
from fewlabels.baselines import OneClassBaseline, PUBaseline, SemiSupervisedBaseline
from fewlabels.model_selection import BaselineComparison, compare_with_baselines
from fewlabels.model_selection.one_class import comparison as one_class
from fewlabels.model_selection.positive_unlabelled import comparison as positive_unlabelled
from fewlabels.model_selection.semi_supervised import comparison as semi_supervised
from fewlabels.model_selection.tuning.search import Search
from fewlabels.one_class.svdd import SVDD

pytestmark = pytest.mark.usefixtures("few_trees")

MODULE = "somebodys_models"
# What a stranger's package may hold: methods that know the shape of the classes.
SOURCE = """
    import numpy as np
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin

    __version__ = "3.1"


    class Band(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            inside = np.abs(X[:, 0]) < 0.67
            self.inner_ = int(np.mean(y[inside]) > np.mean(y[~inside]))
            return self

        def predict_proba(self, X):
            inside = 1.0 / (1.0 + np.exp(9.0 * (np.abs(X[:, 0]) - 0.67)))
            chances = np.column_stack([1.0 - inside, inside])
            return chances if self.inner_ else chances[:, ::-1]

        def predict(self, X):
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


    class Ring(OutlierMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.radius_ = np.median(np.linalg.norm(X, axis=1))
            return self

        def decision_function(self, X):
            return -np.abs(np.linalg.norm(X, axis=1) - self.radius_)


    class Failing(Band):
        def fit(self, X, y):
            raise RuntimeError("no weights here")


    class NeedsMore(Band):
        def __init__(self, size):
            self.size = size
    """
# Types of a tree that skops doesn't trust, which depend on its version.
TREE_PARTS = get_untrusted_types(data=dumps(DecisionTreeClassifier().fit([[0], [1]], [0, 1])))
TREE_TYPES = ["sklearn.tree._classes.DecisionTreeClassifier", *TREE_PARTS]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of the module, from which it can be imported."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / f"{MODULE}.py").write_text(textwrap.dedent(SOURCE))
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop(MODULE, None)


@pytest.fixture(autouse=True)
def enough_time(monkeypatch):
    """Deliver what is better, however slow the computer is, and compare with few methods."""
    monkeypatch.setattr(BaselineComparison, "seconds_of", lambda *given: 0.0)
    for module, name, n_methods in (
        (semi_supervised, "semi_supervised_methods", 3),
        (positive_unlabelled, "positive_unlabelled_methods", 1),
        (one_class, "one_class_methods", 3),
    ):
        few = partial(lambda make, n, seed: make(seed)[:n], getattr(module, name), n_methods)
        monkeypatch.setattr(module, name, few)


def bands(n=400, n_labelled=160):
    """A class in a band of one column of twelve, in which trees and kernels don't see it well."""
    rng = np.random.default_rng(0)
    X = np.clip(rng.normal(size=(n, 12)), -1.5, 1.5)
    truth = np.where(np.abs(X[:, 0]) < 0.67, "in", "out")
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(12)])
    return frame.assign(kind=np.where(np.arange(n) < n_labelled, truth, "")), truth


def some_positives():
    """Half of the rows in the band are labelled, and no other row."""
    frame, truth = bands()
    return frame.assign(kind=np.where((truth == "in") & (np.arange(len(truth)) < 200), "in", ""))


def rings():
    """Normal rows on a circle in two of six columns, and others off it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 6))
    size = np.where(np.arange(260) < 200, 5.0, rng.choice([4.0, 6.0], 260))
    X *= (size / np.linalg.norm(X, axis=1))[:, None]
    frame = pd.DataFrame(X + 0.02 * rng.normal(size=X.shape), columns=list("abcdef"))
    return frame.assign(state=np.repeat(["good", "bad"], [200, 60]))


def fit(frame, target=None, **options):
    return fit_table(frame, target, **{"time_budget": 0, "report": False, **options})


def training_of(found):
    return found.metadata["training"]


# -- what is better is delivered -----------------------------------------------------------------


def test_few_labels(run, tmp_path):
    frame, truth = bands()
    table, model, page = (tmp_path / name for name in ("t.csv", "m", "m.html"))
    frame.to_csv(table, index=False)
    done = run("fit", table, "--target", "kind", "-o", model, "--report", page, "--json",
               "--candidate", "tree=sklearn.tree:DecisionTreeClassifier",
               "--candidate", "near=sklearn.neighbors:KNeighborsClassifier")  # fmt: skip
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    delivered = summary["training"]["delivered"]
    assert summary["method"] == summary["training"]["method"] == delivered["method"] == "tree"
    assert delivered["instead_of"] == "s3vm" and delivered["low"] > 0.0
    assert delivered["candidate"] == {
        "task": "semi_supervised",
        "class": TREE_TYPES[0],
        "package": "scikit-learn",
        "version": sklearn.__version__,
        "types": TREE_TYPES,
    }
    names = [line["name"] for line in summary["training"]["baselines"]["table"]]
    assert names[0] == "tree (DecisionTreeClassifier)" and "near (KNeighborsClassifier)" in names
    trust = [part for name in TREE_TYPES for part in ("--trust", name)]
    text = page.read_text()
    assert f"Model: tree, the candidate {TREE_TYPES[0]} of scikit-learn" in text
    assert " ".join(trust) in text
    lines = " ".join(run("inspect", model).out.split())
    assert f"tree ({TREE_TYPES[0]}), because its held-out accuracy" in lines
    assert f"its model file needs {' '.join(trust)}" in lines

    out = tmp_path / "o.csv"
    refused = run("predict", model, table, "-o", out)
    assert refused.code == 2 and refused.err.count("\n") == 1 and not out.exists()
    assert "holds the candidate tree of the package scikit-learn" in refused.err
    assert f"pass {' '.join(trust)}." in refused.err
    if TREE_PARTS:
        one = run("predict", model, table, "-o", out, *trust[:2])
        assert one.code == 2 and f"pass {' '.join(trust[2:])}." in one.err
    assert run("predict", model, table, "-o", out, *trust).code == 0
    scored = pd.read_csv(out)
    assert np.mean(scored["label"][160:] == truth[160:]) > 0.9
    assert scored["probability"].between(0, 1).all()

    explained = run("explain", model, table, "--row", 3, "--json", *trust)
    assert explained.code == 0, explained.err
    first = json.loads(explained.out)["rows"][0]["contributions"][0]
    assert first["column"] == "x0"
    for command in (("update", model, table), ("export", model, "-o", tmp_path / "m.onnx")):
        done = run(*command)
        assert done.code == 2 and done.err.count("\n") == 1 and "tree" in done.err


def test_positive_and_unlabelled(run, tmp_path, home):
    frame, truth = some_positives(), bands()[1]
    table, model = tmp_path / "t.csv", tmp_path / "m"
    frame.to_csv(table, index=False)
    done = run("fit", table, "--target", "kind", "-o", model, "--json",
               "--candidate", f"band={MODULE}:Band")  # fmt: skip
    assert done.code == 0, done.err
    training = json.loads(done.out)["training"]
    assert training["method"] == "band" and training["delivered"]["instead_of"] != "band"
    candidate = training["delivered"]["candidate"]
    assert candidate["package"] == MODULE and candidate["version"] == "3.1"
    assert candidate["types"] == [f"{MODULE}.Band"]

    out = tmp_path / "o.csv"
    assert run("predict", model, table, "-o", out).code == 2
    assert run("predict", model, table, "-o", out, "--trust", f"{MODULE}.Band").code == 0
    scored = pd.read_csv(out)
    rest = (frame["kind"] == "").to_numpy()
    # The prior's share of the unlabelled rows is positive, and these are in the band.
    assert np.isclose(scored["positive"][rest].mean(), training["prior"], atol=0.1)
    assert np.mean(truth[rest & scored["positive"].to_numpy()] == "in") > 0.9
    assert scored["probability"].between(0, 1).all()


def test_one_class(run, tmp_path, home):
    frame = rings()
    table, model, out = (tmp_path / name for name in ("t.csv", "m", "o.csv"))
    frame.to_csv(table, index=False)
    done = run("fit", table, "--target", "state", "--normal", "good", "-o", model, "--json",
               "--candidate", f"ring={MODULE}:Ring")  # fmt: skip
    assert done.code == 0, done.err
    training = json.loads(done.out)["training"]
    assert training["method"] == "ring" and training["target_fpr"] == 0.05
    trust = ("--trust", f"{MODULE}.Ring")
    assert run("predict", model, table, "-o", out, *trust).code == 0
    scored = pd.read_csv(out)
    outside = (scored["label"] == "outside").to_numpy()
    assert outside[:200].mean() <= 0.06 and outside[200:].mean() > 0.9
    assert scored["p_value"][200:].median() < 0.05 < scored["p_value"][:200].median()

    refused = run("watch", model, table, "-o", tmp_path / "w.jsonl")
    assert refused.code == 2 and f"pass --trust {MODULE}.Ring." in refused.err
    assert run("watch", model, table, "-o", tmp_path / "w.jsonl", *trust).code in (0, 3)
    assert len((tmp_path / "w.jsonl").read_text().splitlines()) == 260


@pytest.mark.parametrize(
    "candidate", [GaussianNB(), make_pipeline(StandardScaler(), SVC()), KNeighborsClassifier()]
)
def test_what_is_no_better_is_compared_alone(candidate):
    # Two clouds, on which nothing is clearly better than anything else.
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 60)
    frame = pd.DataFrame(rng.normal(size=(120, 3)) + 2.0 * truth[:, None], columns=list("abc"))
    frame["kind"] = np.where(np.arange(120) % 3, "", np.where(truth, "yes", "no"))
    found = fit(frame, "kind", candidates={"mine": candidate})
    assert found.choice.method == "s3vm" and training_of(found)["delivered"] is None
    table = found.comparison.table.set_index("name")
    assert np.isfinite(table.loc[f"mine ({type(candidate).__name__})", "score"])


def test_what_was_asked_for_is_kept():
    found = fit(bands()[0], "kind", candidates={"tree": DecisionTreeClassifier()}, C=3.0)
    assert found.choice.method == "s3vm"
    instead = training_of(found)["baselines"]["instead"]
    assert instead == (f"tree ({TREE_TYPES[0]}) is clearly better, but s3vm is kept because of C")


def test_a_pipeline_of_three_classes_is_delivered_and_saved(tmp_path):
    frame, truth = bands()
    left = (truth == "out") & (frame["x0"] < 0.0)
    truth = np.where(left, "left", truth)
    frame["kind"] = np.where(frame["kind"] == "", "", truth)
    trees = make_pipeline(StandardScaler(), RandomForestClassifier(20, max_features=None))
    found = fit(frame, "kind", candidates={"trees": trees}, random_state=3)
    assert found.choice.method == "trees"
    assert "trees" in found.metadata["training"]["delivered"]["sentence"]
    answers = found.predict(frame)
    assert np.mean(answers["label"][160:] == truth[160:]) > 0.9
    chances = answers[[f"probability {name}" for name in ("in", "left", "out")]]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    found.save(tmp_path / "m")
    types = ["sklearn.pipeline.Pipeline", *TREE_PARTS]
    with pytest.raises(UserError, match=r"pass trusted=\['sklearn.pipeline.Pipeline'"):
        load(tmp_path / "m")
    loaded = load(tmp_path / "m", trusted=types)
    pd.testing.assert_frame_equal(loaded.predict(frame), answers)
    scored = pipeline.score(tmp_path / "m", frame, trusted=types)
    pd.testing.assert_frame_equal(scored, answers)
    # The user's own estimator is left as it is, and the seed makes fits alike.
    assert trees[-1].random_state is None and not hasattr(trees[-1], "estimators_")
    assert found.model[-1].get_params()["random_state"] == 3


# -- what can't be --------------------------------------------------------------------------------


def test_a_candidate_that_fails_gets_a_note(home):
    found = fit(bands()[0], "kind",
                candidates=[f"bad={MODULE}:Failing", f"band={MODULE}:Band"])  # fmt: skip
    table = found.comparison.table.set_index("name")
    assert table.loc["bad (Failing)", "note"] == "failed: RuntimeError: no weights here"
    assert found.choice.method == "band"
    found = fit(bands()[0], "kind", candidates=[f"bad={MODULE}:Failing"])
    assert "the candidate bad (Failing) failed: RuntimeError: no weights here" in found.notes


def test_a_candidate_without_time_gets_a_note(monkeypatch):
    X = np.random.default_rng(0).normal(size=(80, 2))
    known = X[:9] + 9.0
    candidate = LocalOutlierFactor(novelty=True)
    done = []
    monkeypatch.setattr(Search, "advance", lambda self, text="": done.append(text))
    monkeypatch.setattr(Search, "is_over", lambda self: len(done) == 4)
    found = compare_with_baselines(SVDD(), X, known_other=known, candidates={"lof": candidate})
    table = found.table.set_index("name")
    assert table.loc["lof (LocalOutlierFactor)", "note"] == "not finished in time"
    assert found.folds == 1 and table["score"].notna().sum() == 4

    monkeypatch.setattr(one_class, "one_class_methods", lambda seed: [])
    done.clear()
    monkeypatch.setattr(Search, "is_over", lambda self: len(done) == 1)
    fitted = fit(pd.DataFrame(X), candidates={"lof": candidate}, method="svdd")
    assert "the candidate lof (LocalOutlierFactor) had no time; raise time_budget" in fitted.notes


def test_a_fit_that_fails_at_the_end_keeps_the_model(monkeypatch):
    def fail(self, *given):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(SemiSupervisedBaseline, "fit", fail)
    found = fit(bands()[0], "kind", candidates={"tree": DecisionTreeClassifier()})
    assert found.choice.method == "s3vm"
    instead = training_of(found)["baselines"]["instead"]
    assert instead.endswith("can't be delivered: RuntimeError: out of memory")


def test_what_no_file_can_hold_is_delivered_in_python_alone(run, tmp_path):
    class Local(DecisionTreeClassifier):  # which nobody can import
        pass

    frame = bands()[0]
    found = fit(frame, "kind", candidates={"local": Local()})
    assert found.choice.method == "local"
    assert training_of(found)["delivered"]["candidate"]["types"] is None
    with pytest.raises(UserError, match="A model file can't hold the candidate"):
        found.save(tmp_path / "python")
    summary = pipeline.fit_file(
        frame, tmp_path / "m", target="kind", time_budget=0, candidates={"local": Local()}
    )
    assert summary["method"] == "s3vm"
    assert "model file can't hold the candidate" in summary["training"]["baselines"]["instead"]
    assert load(tmp_path / "m").choice.method == "s3vm"


@pytest.mark.parametrize(
    ("data", "candidate", "words"),
    [
        ("few", IsolationForest(), "needs a classifier with predict_proba or decision_function"),
        ("few", LinearRegression(), "(LinearRegression) can't learn from "),
        ("positives", IsolationForest(), "needs a classifier with"),
        ("one class", GaussianNB(), "needs an outlier detector with score_samples or decision"),
        ("one class", LocalOutlierFactor(), "needs an outlier detector with"),
        (
            "few",
            DecisionTreeClassifier,
            "must be an estimator in scikit-learn's form, not a cl",
        ),
        ("few", "tree", "must be an estimator in scikit-learn's form, not a str"),
    ],
)
def test_wrong_kinds_are_refused_before_any_fit(data, candidate, words, monkeypatch):
    def fail(*given, **options):
        raise AssertionError("fitted")

    monkeypatch.setattr("fewlabels.pipeline.training.train.fit_model", fail)
    frame = {"few": bands()[0], "positives": some_positives()}.get(data, rings()[list("abcdef")])
    target = None if data == "one class" else "kind"
    with pytest.raises(UserError) as error:
        fit(frame, target, candidates={"mine": candidate})
    assert words in str(error.value) and "The candidate 'mine'" in str(error.value)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            ["tree"],
            "--candidate 'tree' is not valid; write --candidate NAME=package.module:Class.",
        ),
        (["a=sklearn.tree"], "is not valid"),
        (["a=no_such_package:A"], "the module no_such_package can't be imported"),
        (["a=sklearn.tree:NoTree"], "the module sklearn.tree has no class NoTree."),
        ([f"a={MODULE}:NeedsMore"], "NeedsMore can't be made without arguments"),
        (["svm=sklearn.svm:SVC"], "that is a method of fewlabels; pass another name."),
        (["a=sklearn.svm:SVC", "a=sklearn.svm:NuSVC"], "Two candidates are called 'a'"),
        (["a=sklearn.svm:SVC", "--no-baselines"], "omit one of the options."),
    ],
)
def test_options_are_checked_before_the_table_is_read(run, home, tmp_path, texts, words):
    flags = [part for text in texts if text[0] != "-" for part in ("--candidate", text)]
    flags += [text for text in texts if text[0] == "-"]
    done = run("fit", tmp_path / "none.csv", "-o", tmp_path / "m", *flags)
    assert done.code == 2 and words in done.err and done.err.count("\n") == 1


def test_a_missing_package_and_a_missing_class_are_named(run, home, tmp_path):
    frame = bands()[0]
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, trust = tmp_path / "m", ("--trust", f"{MODULE}.Band")
    done = run("fit", tmp_path / "t.csv", "--target", "kind", "-o", model,
               "--candidate", f"band={MODULE}:Band")  # fmt: skip
    assert done.code == 0, done.err
    assert run("inspect", model).code == 0

    def predict(*more):
        sys.modules.pop(MODULE, None)
        done = run("predict", model, tmp_path / "t.csv", "-o", tmp_path / "o.csv", *more)
        assert done.code == 2 and done.err.count("\n") == 1, done.err
        return done.err

    source = home / f"{MODULE}.py"
    source.write_text('__version__ = "4.0"\nraise AssertionError("imported without trust")\n')
    assert "if you trust the file" in predict()
    source.write_text('__version__ = "4.0"\n')
    words = predict(*trust)
    assert f"needs {MODULE}.Band" in words and f"written with {MODULE} 3.1" in words
    assert "has no such class; install that version." in words
    source.unlink()
    assert "can't be imported here" in predict(*trust)


def test_a_large_table_is_compared_on_its_sample(tmp_path, home):
    rings().to_csv(tmp_path / "t.csv", index=False)
    found = fit(tmp_path / "t.csv", "state", candidates=[f"ring={MODULE}:Ring"], normal="good",
                memory="50K", method="svdd")  # fmt: skip
    assert training_of(found)["in_pieces"] and found.choice.method == "svdd"
    assert found.comparison.table["name"][0] == "ring (Ring)"
    assert (
        "ring (somebodys_models.Ring) is clearly better"
        in (training_of(found)["baselines"]["instead"])
    )


# -- the models -----------------------------------------------------------------------------------


def test_estimators_as_methods_of_baselines():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    truth = (X[:, 0] > 0).astype(int)
    y = np.where(np.arange(120) < 40, truth, -1)
    few = SemiSupervisedBaseline(make_pipeline(StandardScaler(), SVC())).fit(X, y)
    assert few.title == "Pipeline" and few.score(X, truth) > 0.85
    positives = PUBaseline(GaussianNB(), prior=0.4).fit(X, (y == 1).astype(int))
    assert positives.predict_proba(X).shape == (120, 2)
    rows = OneClassBaseline(IsolationForest(), target_fpr=0.1).fit(X)
    assert 0.0 < np.mean(rows.predict(X) < 0) < 0.2
    again = OneClassBaseline(IsolationForest(), target_fpr=0.1).fit(X)
    np.testing.assert_array_equal(rows.score_samples(X), again.score_samples(X))
