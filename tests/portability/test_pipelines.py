"""Pipelines: what goes in by columns comes out as the pipeline says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from fewlabels import S3VM, SVDD, OneClassSVM, PUEnsemble, TableEncoder
from fewlabels.onnx import to_onnx
from fewlabels.onnx.export import make_graph


def make_table(n=90):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "year % of": 2000.0 + rng.integers(0, 30, n),
            "b": np.exp(rng.normal(size=n)),
            "size": rng.choice([1, 2, 3], n),
            "ok": rng.choice([True, False], n),
            "colour": rng.choice(["red", "grün", ""], n),
            "not used": rng.choice(["u", "v"], n),
            "rating": rng.choice(["low", "high", None], n),
        }
    )
    frame["colour"] = frame["colour"].astype(object)
    rating = frame["rating"].astype(object)
    frame["rating"] = rating.where(rating.notna(), np.nan)
    frame.loc[[3, 50], "b"] = np.nan
    return frame


NUMBERS = ["year % of", "b"]
FILLED = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), RobustScaler())
TABLES = {
    "one-hot": ColumnTransformer(
        [
            ("numbers", FILLED, NUMBERS),
            ("categories", OneHotEncoder(handle_unknown="ignore"), ["colour", "size", "ok"]),
        ]
    ),
    "flags": ColumnTransformer(
        [
            ("numbers", SimpleImputer(), NUMBERS),
            ("missing", MissingIndicator(features="all"), ["b"]),
            ("some", MissingIndicator(), NUMBERS),
        ]
    ),
    "ordinal": ColumnTransformer(
        [
            ("numbers", FILLED, ["b", "year % of"]),
            (
                "categories",
                OrdinalEncoder(
                    handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
                ),
                ["rating", "colour", "size"],
            ),
        ],
        transformer_weights={"categories": 0.5},
    ),
    "dropped": ColumnTransformer(
        [
            ("categories", OneHotEncoder(drop="first"), ["colour", "size"]),
            ("binary", OneHotEncoder(drop="if_binary"), ["ok"]),
            ("left out", "drop", ["rating", "not used"]),
        ],
        remainder=FILLED,
    ),
    "filled text": ColumnTransformer(
        [
            (
                "text",
                make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
                ["rating"],
            ),
            ("numbers", FILLED, make_column_selector("b")),
        ]
    ),
    "as they are": ColumnTransformer(
        [("numbers", "passthrough", ["size", "year % of"])], remainder="drop"
    ),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tables(name, dtype, exported):
    frame = make_table()
    # Sums of squares of raw years have few digits left for their differences.
    pipeline = make_pipeline(TABLES[name], StandardScaler(), SVDD(C=0.3, target_fpr=0.1))
    pipeline.fit(frame)
    graph = exported(pipeline, dtype=dtype)
    rows = frame.copy()
    rows["b"] = rows["b"].astype(dtype)
    found = graph.frame(rows)
    rows["b"] = rows["b"].astype(float)
    tolerance = 1e-12 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(
        found["score"], pipeline.decision_function(rows), rtol=0, atol=tolerance
    )
    np.testing.assert_array_equal(found["label"], pipeline.predict(rows))
    assert "not used" not in graph.inputs
    assert graph.frame(rows[:0])["score"].shape == (0,)
    one = graph.frame(rows[3:4])
    assert one["score"] == pytest.approx(found["score"][3], abs=1e-7)


def test_a_table_of_one_class(exported):
    # Rare categories count less, and those of a long tail are near the most frequent one.
    frame = make_table()[["b", "size"]]
    frame["town"] = np.repeat(list("abcde"), [70, 12, 4, 3, 1])
    encoder = TableEncoder(categorical="size").fit(frame).encoder_
    pipeline = make_pipeline(encoder, SVDD(C=0.3)).fit(frame)
    rows = frame.assign(town=np.repeat(list("edcbz"), 18))
    found = exported(pipeline).frame(rows)["score"]
    np.testing.assert_allclose(found, pipeline.decision_function(rows), rtol=0, atol=1e-12)


def test_categories_that_were_not_seen(exported):
    frame = make_table()
    other = frame.head(8).copy()
    other["colour"], other["size"], other["rating"] = "blue", 9, "odd"
    for name in ("one-hot", "ordinal"):
        pipeline = make_pipeline(TABLES[name], OneClassSVM(nu=0.3)).fit(frame)
        found = exported(pipeline).frame(other)["score"]
        np.testing.assert_allclose(found, pipeline.decision_function(other), atol=1e-12)
    # Where that is an error, the score is missing.
    strict = ColumnTransformer([("o", OrdinalEncoder(), ["colour"]), ("n", FILLED, NUMBERS)])
    pipeline = make_pipeline(strict, OneClassSVM(nu=0.3)).fit(frame)
    with pytest.raises(ValueError, match="unknown categories"):
        pipeline.decision_function(other)
    assert np.isnan(exported(pipeline).frame(other)["score"]).all()


MATRICES = {
    "standard": StandardScaler(),
    "not centred": StandardScaler(with_mean=False),
    "min-max": MinMaxScaler((-1, 2), clip=True),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(with_scaling=False),
    "pca": PCA(3, whiten=True),
    "svd": TruncatedSVD(3),
    "variance": VarianceThreshold(1e-3),
    "best": SelectKBest(f_classif, k=2),
    "identity": FunctionTransformer(),
    "nothing": "passthrough",
    "nested": make_pipeline(SimpleImputer(), make_pipeline(RobustScaler(), PCA(2))),
    "columns": ColumnTransformer([("a", MinMaxScaler(), [2, 0]), ("b", "passthrough", [3])]),
    "flags": ColumnTransformer(
        [("a", SimpleImputer(), [0, 1]), ("b", MissingIndicator(features="all"), [1])]
    ),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name, clouds, exported):
    X, positive, _ = clouds
    if name in ("nested", "flags"):
        X = X.copy()
        X[5, 1] = np.nan
    pipeline = make_pipeline(MATRICES[name], PUEnsemble(prior=0.4, n_bags=2)).fit(X, positive)
    graph = exported(pipeline)
    assert list(graph.inputs) == ["X"]
    found = graph(X)
    wanted = pipeline.decision_function(X)
    size = np.abs(wanted).max()
    np.testing.assert_allclose(found["score"], wanted, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(found["probabilities"], pipeline.predict_proba(X), atol=1e-10)
    np.testing.assert_array_equal(found["label"], pipeline.predict(X))


def test_texts_without_names(exported):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice(["a", "b"], 60), rng.choice(["c", "d", "e"], 60)]).astype(
        object
    )
    y = np.where(np.arange(60) < 10, X[:, 0], "?")
    pipeline = make_pipeline(OneHotEncoder(), S3VM(kernel="linear", unlabeled="?")).fit(X, y)
    graph = exported(pipeline)
    assert graph.inputs == {"x0": "tensor(string)", "x1": "tensor(string)"}
    found = graph({"x0": X[:, :1], "x1": X[:, 1:]})
    np.testing.assert_array_equal(found["label"], pipeline.predict(X))
    np.testing.assert_allclose(found["score"], pipeline.decision_function(X), atol=1e-10)


def test_steps_without_a_form(clouds):
    X, *_ = clouds
    for step, said in [
        (KNNImputer(), r"KNNImputer can't be exported.*register_with_skl2onnx"),
        (FunctionTransformer(np.abs), "FunctionTransformer contains a Python function"),
        (OneHotEncoder(max_categories=3), "OneHotEncoder with infrequent categories"),
        (OrdinalEncoder(max_categories=3), "OrdinalEncoder with infrequent categories"),
        (MissingIndicator(missing_values=0, features="all"), "mark missing numbers as NaN"),
    ]:
        with pytest.raises(ValueError, match=said):
            to_onnx(make_pipeline(step, SVDD()).fit(np.round(X)))
    mixed = pd.DataFrame({"a": [True, "yes", 3] * 10})
    pipeline = make_pipeline(OneHotEncoder(), SVDD())
    pipeline.fit(mixed.astype(object).map(str))
    pipeline[0].categories_ = [np.array([True, "yes", 3], dtype=object)]
    with pytest.raises(ValueError, match="neither texts nor numbers"):
        to_onnx(pipeline)
    frame = make_table()
    text = ColumnTransformer([("t", SimpleImputer(strategy="constant"), ["rating"])])
    text.fit(frame)
    with pytest.raises(ValueError, match="text reaches a step that needs numbers"):
        to_onnx(make_pipeline(text, SVDD().fit(np.arange(5.0)[:, None])))


def test_steps_refuse_what_they_refuse_in_python(exported):
    # Later steps, or rows between bounds, would hide an infinite number or an unknown category.
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:, 2] = np.arange(60) % 3
    y = X[:, 0] > 0
    strict = ColumnTransformer(
        [("n", StandardScaler(), [0, 1]), ("c", OneHotEncoder(drop="first"), [2])]
    )
    cases = [
        (MinMaxScaler(clip=True), [0.0, np.inf, 0.0]),
        (make_pipeline(MinMaxScaler(clip=True), SimpleImputer()), [-np.inf, 0.0, 0.0]),
        (make_pipeline(StandardScaler(), SelectKBest(f_classif, k=1)), [0.0, 0.0, np.nan]),
        (SimpleImputer(missing_values=0.0), [np.nan, 0.0, 0.0]),
        (MissingIndicator(error_on_new=True), [np.nan, 0.0, 0.0]),
        (make_pipeline(OrdinalEncoder(), SimpleImputer()), [9.0, 0.0, 0.0]),
        (strict, [0.0, 0.0, 9.0]),
    ]
    for step, row in cases:
        rows = np.round(X)
        if isinstance(step, MissingIndicator):
            rows[::7, 2] = np.nan
        encoded = step.fit_transform(rows, y)
        pipeline = make_pipeline(step, OneClassSVM(nu=0.3).fit(encoded))
        with pytest.raises(ValueError):
            pipeline.predict([row])
        found = exported(pipeline)(np.array([row, rows[0]]))
        np.testing.assert_array_equal(np.isnan(found["score"]), [True, False])


def test_an_exported_table_refuses_numbers_that_reading_refuses(run_graph):
    frame = make_table()[["year % of", "b"]].fillna(1.0)
    frame["b"] *= 1e120  # after scaling even 1e200 would be a number like others
    encoder = TableEncoder().fit(frame).encoder_
    pipeline = make_pipeline(encoder, SVDD().fit(encoder.transform(frame)))
    rows = frame.head(3).copy()
    rows.loc[1, "b"] = 1e151
    found = run_graph(make_graph(pipeline, "float64", None, of_table=True)).frame(rows)
    np.testing.assert_array_equal(np.isnan(found["score"]), [False, True, False])
