"""TableEncoder: the encoder of the command line as a transformer."""

import pickle

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, SVDD, TableEncoder, fit_table, tune

RNG = np.random.default_rng(0)
N = 90
LIKED = np.arange(N) % 3 == 0
FILL = "the and with this that pump order today room again".split()
TABLE = pd.DataFrame(
    {
        "id": range(1, N + 1),
        "size": RNG.normal(size=N).round(3),
        "town": RNG.choice(["a", "b"], N),
        "name": [f"part {k}" for k in range(N)],
        "note": [
            " ".join([*RNG.choice(FILL, 6), RNG.choice(["great", "fine"] if good else ["bad"])])
            for good in LIKED
        ],
    }
)
TABLE.loc[3, "size"] = np.nan
PLAIN = TABLE[["id", "size", "town"]]


def test_the_same_numbers_as_fit_table():
    encoder = TableEncoder(text_weight=1.0)
    X = encoder.fit_transform(TABLE)
    found = fit_table(TABLE, time_budget=0, report=False)
    assert issparse(X)
    theirs = found.model[0].transform(TABLE.assign(size=TABLE["size"].astype(float)))
    np.testing.assert_array_equal(X.toarray(), theirs.toarray())
    pd.testing.assert_frame_equal(encoder.profile_, found.profile)
    assert set(encoder.notes_) <= set(found.notes)
    assert encoder.schema_ == found.schema and found.schema.empty_rows == "blank"
    names = encoder.get_feature_names_out()
    assert len(names) == X.shape[1] == len(set(names))
    assert list(names[:5]) == ["size", "town_a", "town_b", "town_once_or_never", "new_blanks"]
    column = list(names).index("note: great")
    holds = TABLE["note"].str.contains("great").to_numpy()
    np.testing.assert_array_equal(X[:, [column]].toarray()[:, 0] > 0, holds)


@pytest.mark.parametrize("kind", [polars.from_pandas, pa.Table.from_pandas])
def test_frames_of_other_libraries(kind):
    X = TableEncoder().fit_transform(TABLE).toarray()
    np.testing.assert_array_equal(TableEncoder().fit_transform(kind(TABLE)).toarray(), X)
    encoder = TableEncoder().fit(TABLE)
    np.testing.assert_array_equal(encoder.transform(kind(TABLE)).toarray(), X)


def test_columns_come_in_any_order_and_rows_one_by_one():
    encoder = TableEncoder().fit(TABLE)
    X = encoder.transform(TABLE).toarray()
    turned = TABLE[TABLE.columns[::-1]].assign(more=1.0)
    np.testing.assert_array_equal(encoder.transform(turned).toarray(), X)
    each = [encoder.transform(TABLE.iloc[[k]]).toarray() for k in range(5)]
    np.testing.assert_array_equal(np.vstack(each), X[:5])
    with pytest.raises(ValueError, match="lacks the column 'note'"):
        encoder.transform(TABLE.drop(columns="note"))
    with pytest.raises(ValueError, match="fitted to a table with named columns"):
        encoder.transform(np.zeros((2, 5)))


def test_as_scikit_learn_has_it():
    encoder = TableEncoder(drop="note", scale=False)
    with pytest.raises(NotFittedError):
        encoder.transform(TABLE)
    before = TABLE.copy()
    assert encoder.fit(TABLE) is encoder
    pd.testing.assert_frame_equal(TABLE, before)
    assert encoder.get_params() == clone(encoder).get_params()
    assert not hasattr(clone(encoder), "encoder_")
    assert list(encoder.feature_names_in_) == list(TABLE.columns) and encoder.n_features_in_ == 5
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(encoder)).transform(TABLE), encoder.transform(TABLE)
    )
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        encoder.get_feature_names_out(["a"])
    shown = TableEncoder().set_output(transform="pandas").fit_transform(PLAIN)
    assert list(shown.columns) == ["size", "town_a", "town_b", "town_once_or_never", "new_blanks"]
    assert list(shown.index) == list(PLAIN.index)
    with pytest.raises(ValueError, match="sparse"):
        TableEncoder().set_output(transform="pandas").fit_transform(TABLE)
    assert "TableEncoder" in repr(encoder)


def test_numbers_as_people_write_them():
    prices = PLAIN.assign(price=[f"{k % 9},{k % 10}0 €" for k in range(N)])
    encoder = TableEncoder().fit(prices)
    column = list(encoder.get_feature_names_out()).index("price")
    values = np.array([float(f"{k % 9}.{k % 10}") for k in range(N)])
    found = encoder.transform(prices)[:, column]
    np.testing.assert_allclose(found, (values - values.mean()) / values.std())


def test_matrices():
    X = RNG.normal(size=(20, 3))
    encoder = TableEncoder().fit(X)
    expected = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(encoder.transform(X)[:, :3], expected, rtol=1e-13)
    assert list(encoder.get_feature_names_out()) == ["x0", "x1", "x2", "new_blanks"]
    assert not encoder.transform(X)[:, 3].any()
    labelled = TableEncoder().fit(X, np.arange(20) % 2).transform(X)
    np.testing.assert_array_equal(labelled, StandardScaler().fit_transform(X))
    with pytest.raises(ValueError, match="has 2 columns but the model was fitted to 3"):
        encoder.transform(X[:, :2])
    X[4, 1] = np.nan
    encoder = TableEncoder().fit(X)
    assert encoder.transform(X).shape == (20, 4)
    with pytest.raises(ValueError, match="missing"):
        TableEncoder(missing="refuse").fit(X)


def test_parameters():
    encoder = TableEncoder(text=["name"], keep="id", categorical="size").fit(TABLE)
    kinds = dict(zip(encoder.profile_["name"], encoder.profile_["kind"], strict=True))
    assert kinds == {"id": "number", "size": "category", "town": "category", "name": "text",
                     "note": "text"}  # fmt: skip
    for bad, message in (
        ({"missing": "skip"}, "pass 'impute' or 'refuse'"),
        ({"text_weight": 0}, "greater than 0"),
        ({"drop": "nam"}, "no column 'nam'"),
        ({"drop": "name", "text": "name"}, "drop and text both name"),
    ):
        with pytest.raises(ValueError, match=message):
            TableEncoder(**bad).fit(TABLE)
    with pytest.raises(ValueError, match="read the file"):
        TableEncoder().fit("table.csv")
    with pytest.raises(ValueError, match="y has 2 values"):
        TableEncoder().fit(TABLE, [0, 1])


def test_labels_weigh_texts():
    noisy = TABLE.assign(**{f"x{k}": RNG.normal(size=N) for k in range(12)})
    alone = TableEncoder().fit(noisy)
    assert alone.text_weight_ == 1.0
    some = LIKED & (RNG.random(N) < 0.7)
    for y in (some, np.where(some, 1, -1), np.where(some, "yes", ""), np.where(LIKED, "a", "b")):
        assert TableEncoder().fit(noisy, y).text_weight_ > 1.0
    assert TableEncoder(text_weight=9).fit(noisy, some).text_weight_ == 9.0
    useless = noisy.assign(note=RNG.permutation(noisy["note"]), x0=LIKED + noisy["x0"] / 10)
    assert TableEncoder().fit(useless, LIKED).text_weight_ <= 1.0


def test_in_a_pipeline():
    model = make_pipeline(TableEncoder(), PUSVM(prior=0.2)).fit(TABLE, LIKED & (np.arange(N) < 60))
    scores = model.decision_function(TABLE)
    assert scores[LIKED].mean() > scores[~LIKED].mean()
    model = tune(make_pipeline(TableEncoder(), SVDD()), TABLE)
    assert np.isfinite(model.decision_function(TABLE)).all()


def test_columns_of_texts_count_as_their_words():
    """As if they were one text: a title is not as long as the page below it."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(50)])
    frame = pd.DataFrame(
        {
            "title": [" ".join(rng.choice(words, 4)) for _ in range(60)],
            "page": [" ".join(rng.choice(words, 100)) for _ in range(60)],
        }
    )
    encoder = TableEncoder(text=["title", "page"]).fit(frame)
    X = encoder.transform(frame)
    is_title = np.char.startswith(encoder.get_feature_names_out().astype(str), "title")
    of_titles, of_pages = X[:, is_title], X[:, ~is_title]
    share = of_titles.multiply(of_titles).sum(axis=1) / X.multiply(X).sum(axis=1)
    expected = of_titles.nnz / (of_titles.nnz + of_pages.nnz)
    assert 0.01 < expected < 0.2
    np.testing.assert_allclose(share, expected)
