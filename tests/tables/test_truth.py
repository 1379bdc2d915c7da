"""Yes and no in words are one 0/1 column, in every language and format."""

import numpy as np
import pandas as pd
import pytest

from fewlabels import TableEncoder, fit_table
from fewlabels.pipeline import score, update
from fewlabels.tables.encoding.truth import TruthColumns, are_truth_values, parse_truth_values

PAIRS = [
    ("no", "yes"), ("N", "Y"), ("False", "True"), ("nein", "ja"), ("FALSCH", "wahr"),
    ("non", "oui"), ("faux", "vrai"), ("no", "sí"), ("não", "sim"), ("nie", "tak"), ("off", "on"),
    ("нет", "да"),
]  # fmt: skip
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("pair", PAIRS)
def test_words(pair):
    assert are_truth_values([*pair, pair[1].upper(), f" {pair[0]} "])
    np.testing.assert_array_equal(
        parse_truth_values([*pair, "", "perhaps", None]), [0, 1, *[np.nan] * 3]
    )


@pytest.mark.parametrize(
    "texts",
    [[], ["yes"], ["yes", "nein"], ["yes", "no", "perhaps"], ["a", "b"], ["0", "1"],
     [str(k) for k in range(1000)]],
)  # fmt: skip
def test_no_truth_values(texts):
    assert not are_truth_values(texts)


@pytest.mark.parametrize("pair", PAIRS)
def test_one_column_and_one_for_blanks(pair):
    X = pd.DataFrame({"full": [pair[0], pair[1], pair[1]], "gaps": [pair[0], "NA", ""]})
    step = TruthColumns().fit(X)
    np.testing.assert_array_equal(step.transform(X), [[0, 0, 0], [1, 0, 1], [1, 0, 1]])
    other = pd.DataFrame({"full": ["", "perhaps", "1"], "gaps": ["1", "0", pair[1].upper()]})
    np.testing.assert_array_equal(step.transform(other), [[1, 1, 0], [1, 0, 0], [1, 1, 0]])
    assert list(step.get_feature_names_out()) == ["full", "gaps", "missingindicator_gaps"]


def _table(n=150):
    return pd.DataFrame(
        {
            "size": RNG.normal(size=n).round(2),
            "paid": RNG.choice(["yes", "no", ""], n, p=[0.5, 0.4, 0.1]),
            "open": RNG.random(n) < 0.3,
            "kind": RNG.choice(["a", "b"], n),
        }
    )


def test_encoder():
    table = _table()
    encoder = TableEncoder().fit(table, np.arange(len(table)) % 2)
    names = ["size", "kind_a", "kind_b", "paid", "open", "missingindicator_paid"]
    assert list(encoder.get_feature_names_out()) == names
    found = pd.DataFrame(encoder.transform(table), columns=names)
    np.testing.assert_array_equal(found["open"], table["open"])
    np.testing.assert_array_equal(found["missingindicator_paid"], table["paid"] == "")
    np.testing.assert_array_equal(found["paid"], table["paid"] != "no")
    assert dict(zip(encoder.profile_["name"], encoder.profile_["kind"], strict=True)) == {
        "size": "number", "paid": "boolean", "open": "boolean", "kind": "category"
    }  # fmt: skip
    german = table.assign(paid=table["paid"].map({"yes": "Ja", "no": "NEIN", "": None}))
    np.testing.assert_array_equal(encoder.transform(german), found)
    numbers = table.assign(open=table["open"].astype(int))
    np.testing.assert_array_equal(encoder.transform(numbers), found)


def test_a_category_where_the_user_says_so():
    table = _table()
    encoder = TableEncoder(categorical=["paid"]).fit(table)
    assert {"paid_", "paid_no", "paid_yes"} < set(encoder.get_feature_names_out())


def test_rare_values_of_one_class_count_less():
    table = _table(400).assign(sealed=np.arange(400) > 3)
    encoder = TableEncoder().fit(table)
    column = list(encoder.get_feature_names_out()).index("sealed")
    odd = encoder.transform(table)[:, column]
    np.testing.assert_allclose(sorted(set(odd)), [0.0, np.sqrt(0.1)])


def test_from_file_to_scores_and_updates(tmp_path):
    table = _table()
    labels = np.where(RNG.random(len(table)) < 0.3, RNG.choice(["x", "y"], len(table)), "")
    table.assign(label=labels).to_csv(tmp_path / "t.csv", index=False)
    table.assign(label=labels).to_parquet(tmp_path / "t.parquet")
    found = fit_table(tmp_path / "t.csv", "label", time_budget=0, report=False)
    kinds = {c["name"]: c["kind"] for c in found.metadata["schema"]["columns"]}
    assert kinds["paid"] == kinds["open"] == "boolean"
    found.save(tmp_path / "m.fewlabels")
    expected = found.predict(table)["score"].to_numpy()
    for name in ("t.csv", "t.parquet"):
        answers = score(tmp_path / "m.fewlabels", tmp_path / name)
        np.testing.assert_allclose(answers["score"], expected)
    more = table.head(20).assign(paid=["yes", "perhaps"] * 10, label="")
    more.to_csv(tmp_path / "more.csv", index=False)
    told = update(tmp_path / "m.fewlabels", tmp_path / "more.csv")
    assert told["unseen_categories"] == {"paid": 10}
    assert told["unseen_values"] == {"paid": {"perhaps": 10}}


def test_onnx():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from fewlabels.onnx import to_onnx

    table = _table().assign(open=lambda t: t["open"].map({True: "TRUE", False: "false"}))
    model = fit_table(table, time_budget=0, report=False).model
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    table.loc[:3, "paid"] = ["JA", "nein", "perhaps", "1"]
    cells = {
        name: column.to_numpy(float if name == "size" else object)[:, None]
        for name, column in table.items()
    }
    (scores,) = session.run(["score"], cells)
    np.testing.assert_allclose(np.ravel(scores), model.decision_function(table), atol=1e-9)
