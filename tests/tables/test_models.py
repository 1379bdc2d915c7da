"""Model files: what is kept, and what is refused."""

import io
import itertools
import json
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import fewlabels
from fewlabels import SVDD, tune
from fewlabels._util.messages import UserError
from fewlabels.tables.columns.schema import Column, Schema
from fewlabels.tables.models import files as models
from fewlabels.tables.models.files import (
    describe_model,
    is_model,
    load_model,
    read_metadata,
    save_model,
)
from fewlabels.tables.models.trust import trusted_types

X = np.random.default_rng(0).normal(size=(30, 2))
SCHEMA = Schema("dense", 2, (Column("a", "number"), Column("b", "number", decimal=",", unit="kg")))


def _metadata(method="svdd"):
    return describe_model(method, {"C": 2.0}, SCHEMA, {"rows": 30})


@pytest.fixture
def model(tmp_path):
    pipeline = Pipeline([("columns", StandardScaler()), ("model", SVDD())]).fit(X)
    path = tmp_path / "m.skops"
    save_model(path, pipeline, _metadata())
    return path, pipeline


def test_round_trip(model):
    path, pipeline = model
    loaded, schema, metadata = load_model(path)
    np.testing.assert_array_equal(loaded.decision_function(X), pipeline.decision_function(X))
    assert schema == SCHEMA
    assert metadata["training"] == {"rows": 30}
    assert set(metadata["versions"]) == {"fewlabels", "scikit-learn", "numpy", "skops", "python"}
    assert is_model(path)


def test_account_of_a_search_is_left_out(tmp_path):
    tuned = tune(Pipeline([("columns", StandardScaler()), ("model", SVDD())]), X)
    path = tmp_path / "m.skops"
    save_model(path, tuned, _metadata())
    loaded, _, _ = load_model(path)
    assert not hasattr(loaded, "tuning_") and not hasattr(loaded[-1], "tuning_")
    assert hasattr(tuned[-1], "tuning_")
    np.testing.assert_array_equal(loaded.decision_function(X), tuned.decision_function(X))


def test_file_holds_no_pickle(model):
    with zipfile.ZipFile(model[0]) as archive:
        names = archive.namelist()
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".joblib"))]


def _rewrite(path, **changes):
    """Change the metadata and keep all else."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    metadata = json.loads(members[models.MEMBER]) | changes
    members[models.MEMBER] = json.dumps(metadata).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("number", [0, 2, 99, -3, 1.0, "5", None, True, 10**400], ids=str)
def test_another_format(model, number):
    path, _ = model
    _rewrite(path, format_version=number, versions={"fewlabels": "7.0"}, schema="unheard of")
    advice = "update fewlabels" if number in (2, 99, 10**400) else "fit the model again"
    for read in (load_model, read_metadata):
        with pytest.raises(UserError) as refused:
            read(path)
        assert str(refused.value) == (
            f"{path} was written by fewlabels 7.0 in model format {str(number)[:20]}, but this is "
            f"fewlabels {fewlabels.__version__}, which reads format 1 only; {advice}."
        )


def test_keys_that_are_not_known_are_passed_over(model):
    path, _ = model
    schema = SCHEMA.to_dict() | {"later": 1}
    schema["columns"] = [{**column, "colour": "m"} for column in schema["columns"]]
    _rewrite(path, schema=schema, later=2)
    assert load_model(path)[1] == SCHEMA


_NUMBERS = [float("nan"), float("inf"), 10**400, "1", [], {}]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, value) for name in ("objective", "rows_read", "lam") for value in _NUMBERS],
        *[("signal", value) for value in (*_NUMBERS, {"area": 0.5}, {"low": None})],
        ("rows_read", None), ("rows", -1), ("rows", 0.5), ("converged", None), ("notes", [1]),
        ("target_fpr", 0), ("target_fpr", 2.0), ("classes", ["a", 1]), ("classes", "ab"),
        ("classes", ["a\ud800"]), ("positive", "\ud800"), ("tuning", {"fits": "many"}),
        ("delivered", {"candidate": {"task": "one_class"}}), ("later", float("nan")),
        ("class_shares", {"classes": {"a": {"share": 10**400, "low": 0.0, "high": 1.0}}}),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_a_training_that_no_fit_wrote(model, name, value):
    path, _ = model
    _rewrite(path, training={"rows": 30, name: value})
    for read in (load_model, read_metadata):
        with pytest.raises(UserError, match="is damaged or truncated; fit the model again"):
            read(path)


@pytest.mark.parametrize("value", [float("nan"), 10**400, [1], {"a": 1}], ids=lambda v: str(v)[:9])
def test_parameters_that_no_model_has(model, value):
    path, _ = model
    _rewrite(path, parameters={"C": value})
    with pytest.raises(UserError, match="is damaged or truncated; fit the model again"):
        read_metadata(path)


@pytest.mark.parametrize(
    "change",
    [{"decimal": 3}, {"categories": "2"}, {"words": 10**400}, {"name": "\ud800"}],
    ids=str,
)
def test_columns_that_no_schema_has(model, change):
    path, _ = model
    schema = SCHEMA.to_dict()
    first, *others = schema["columns"]
    _rewrite(path, schema={**schema, "columns": [first | change, *others]})
    with pytest.raises(UserError, match="is damaged or truncated; fit the model again"):
        read_metadata(path)


@pytest.mark.parametrize("kept", [3, 100, 0.5, -1])
def test_truncated(model, kept):
    path, _ = model
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data)) if kept == 0.5 else kept])
    with pytest.raises(UserError, match="damaged or truncated"):
        read_metadata(path)


def test_flipped_bit(model):
    path, _ = model
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with pytest.raises(UserError, match="damaged"):
        load_model(path)


def _save_as(path, machine):
    save_model(path, Pipeline([("m", SVDD())]).fit(X), _metadata())
    _rewrite(path, method=machine)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_text("a,b\n1,2\n"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(skops.io.dumps(StandardScaler().fit(X))),
        lambda path: save_model(path, StandardScaler().fit(X), _metadata()),
        lambda path: save_model(path, Pipeline([("p", PCA())]).fit(X), _metadata()),
        lambda path: save_model(path, Pipeline([("m", SVDD())]).fit(X), _metadata("one-class")),
        lambda path: _save_as(path, "unheard of"),
    ],
)
def test_not_a_model(tmp_path, write):
    path = tmp_path / "m"
    write(path)
    with pytest.raises(UserError, match="is not a fewlabels model"):
        load_model(path)


def _unknown(rows):
    raise AssertionError("loading must not run foreign code")


def test_foreign_types_are_refused_by_name(tmp_path):
    path = tmp_path / "m"
    pipeline = Pipeline([("f", FunctionTransformer(_unknown)), ("model", SVDD())])
    save_model(path, pipeline, _metadata())
    with pytest.raises(UserError, match=r"types that no fewlabels model has .*_unknown"):
        load_model(path)


def test_a_file_says_its_format(model):
    metadata = read_metadata(model[0])
    assert (metadata["format"], metadata["format_version"]) == ("fewlabels-model", 1)
    words = Schema("table", 1, (Column("a", "text", words=3),))
    assert describe_model("s3vm", {}, words, {"classes": list("abc")})["format_version"] == 1


def test_types_that_files_may_hold_are_those_of_this_package():
    own = [name for name in trusted_types() if name.startswith("fewlabels.")]
    assert len(trusted_types()) == len(own) + 3
    assert (
        "fewlabels.base.solution.Function" in own
        and "fewlabels.positive_unlabelled.pusvm.PUSVM" in own
    )


def _members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _write(path, members, with_digest):
    """Write the members of a model, perhaps with their own digest."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if name != models.MEMBER:
                archive.writestr(name, content)
        metadata = json.loads(members[models.MEMBER])
        if with_digest:
            metadata["digest"] = models.members_digest(archive)
        archive.writestr(models.MEMBER, json.dumps(metadata))


def _rename(path, old, new, version=None):
    """Call something otherwise inside a model."""
    members = _members(path)
    text = members["schema.json"].decode()
    assert json.dumps(old) in text
    members["schema.json"] = text.replace(json.dumps(old), json.dumps(new)).encode()
    if version is not None:
        metadata = json.loads(members[models.MEMBER])
        metadata["versions"]["fewlabels"] = version
        members[models.MEMBER] = json.dumps(metadata).encode()
    _write(path, members, with_digest=version is not None)


@pytest.mark.parametrize("name", ["coef", "kernels", "function", "solution"])
def test_attributes_of_another_version(model, name):
    path, _ = model
    _rename(path, name, "another", version="0.0.1")
    with pytest.raises(UserError, match=r"written with fewlabels 0.0.1.*; fit the model again"):
        load_model(path)


@pytest.mark.parametrize("name", ["coef", "kernels", "function", "solution"])
def test_attributes_of_this_version_that_are_damaged(model, name):
    path, _ = model
    _rename(path, name, "another")
    with pytest.raises(UserError, match="is damaged or truncated; fit the model again"):
        load_model(path)


def test_a_file_without_its_digest(model):
    path, _ = model
    metadata = read_metadata(path)
    for digest in (None, 3, "", metadata["digest"][::-1]):
        _rewrite(path, digest=digest)
        with pytest.raises(UserError, match="is damaged or truncated"):
            load_model(path)
    members = _members(path)
    del metadata["digest"]
    members[models.MEMBER] = json.dumps(metadata).encode()
    _write(path, members, with_digest=False)
    with pytest.raises(UserError, match="is damaged or truncated"):
        load_model(path)
    _write(path, members, with_digest=True)
    assert load_model(path)[2]["digest"] == read_metadata(path)["digest"]


def _swapped(path, one, two, with_digest):
    members = _members(path)
    members[one], members[two] = members[two], members[one]
    _write(path, members, with_digest)


@pytest.mark.parametrize("kind", ["complex128", "datetime64[s]"])
def test_arrays_of_types_that_no_model_has(model, kind):
    path, _ = model
    whole = _members(path)
    arrays = [name for name in whole if name.endswith(".npy")]
    assert arrays
    for name in arrays:
        content = io.BytesIO()
        np.save(content, np.load(io.BytesIO(whole[name])).astype(kind))
        _write(path, {**whole, name: content.getvalue()}, with_digest=True)
        with pytest.raises(UserError, match="is damaged or truncated"):
            load_model(path)


def test_members_that_are_swapped(model):
    path, _ = model
    whole = path.read_bytes()
    content = {name: data for name, data in _members(path).items() if name.endswith(".npy")}
    refused = 0
    for one, two in itertools.combinations(content, 2):
        if content[one] == content[two]:
            continue
        _swapped(path, one, two, with_digest=False)
        with pytest.raises(UserError, match="is damaged or truncated"):
            load_model(path)
        path.write_bytes(whole)
        _swapped(path, one, two, with_digest=True)
        try:  # with a digest that fits, arrays of the same shape can't be distinguished
            pipeline = load_model(path)[0]
        except UserError as error:
            assert "is damaged or truncated" in str(error)
            refused += 1
        else:
            assert pipeline.decision_function(X).shape == (len(X),)
        path.write_bytes(whole)
    assert refused > 3


def test_missing_file(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        load_model(tmp_path / "m")
    with pytest.raises(UserError, match="is a folder"):
        load_model(tmp_path)
