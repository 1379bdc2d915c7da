"""Texts as numbers: which words count, in any language, and beside other columns."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from fewlabels._util.messages import UserError, as_arguments
from fewlabels.kernels.parameters import total_variance
from fewlabels.tables.columns.schema import Column, Schema
from fewlabels.tables.columns.target import choose_all_rows
from fewlabels.tables.encoding.fit import fit_encoder, text_columns, text_encoders, weigh_texts
from fewlabels.tables.encoding.texts import CHARACTERS, WORDS, TextEncoder, choose_unit
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training
from fewlabels.tables.user_data import make_source

RNG = np.random.default_rng(0)
WORDS_USED = "the pump in hall broke again after storm refund my money please now".split()
TEXTS = [" ".join(RNG.choice(WORDS_USED, RNG.integers(4, 12))) for _ in range(80)]


def test_the_same_numbers_as_scikit_learn():
    ours = TextEncoder().fit(TEXTS)
    theirs = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_df=0.8)
    expected = theirs.fit(TEXTS).transform(TEXTS)
    assert ours.words() == list(theirs.get_feature_names_out())
    np.testing.assert_array_equal(ours.transform(TEXTS).toarray(), expected.toarray())
    np.testing.assert_allclose(np.linalg.norm(ours.transform(TEXTS).toarray(), axis=1), 1.0)
    other = ["My REFUND, please!", "nothing known", "", None, np.nan]
    found = ours.transform(other).toarray()
    np.testing.assert_array_equal(found[:3], theirs.transform(other[:3]).toarray())
    assert not found[3:].any()
    again = clone(ours).fit(pd.Series(TEXTS, index=range(5, 85)))
    assert again.vocabulary_ == ours.vocabulary_


@pytest.mark.parametrize(
    ("texts", "unit", "known"),
    [
        (["das Gerät läuft heute nicht"] * 3, WORDS, "gerät läuft"),
        (["ο σωλήνας έσπασε χθες"] * 3, WORDS, "σωλήνας"),
        (["насос снова сломался"] * 3, WORDS, "снова сломался"),
        (["हिस्सा फिर टूट गया"] * 3, WORDS, "हिस्सा"),  # marks belong to words
        (["ชิ้นส่วนพังอีกครั้งแล้ว"] * 3, CHARACTERS, "พัง"),
        (["水泵昨天晚上又坏了"] * 3, CHARACTERS, "水泵"),
        (["AB-1203/x", "AB-7203/y", "CD-1203/x"], CHARACTERS, "1203"),
        (["a b c", "b c d", "c d e"], CHARACTERS, " c "),  # no word of two letters
        (["ＲＥＦＵＮＤ now please", "refund now please"], WORDS, "refund now"),
    ],
)
def test_any_language(texts, unit, known):
    encoder = TextEncoder().fit(texts)
    assert encoder.unit_ == unit
    assert known in encoder.words()
    assert encoder.transform(texts).nnz


def test_new_words():
    encoder = TextEncoder().fit(TEXTS)
    assert encoder.new_words(["The pump leaks, leaks badly", "", "refund"]) == {"leaks", "badly"}
    codes = TextEncoder().fit(["ab12", "ab13"])
    assert "zz" in codes.new_words(["zz"])
    with pytest.raises(ValueError, match="blank"):
        TextEncoder().fit(["", " "])


def test_many_texts_give_a_bounded_vocabulary(monkeypatch):
    from fewlabels.tables.encoding import texts as module

    monkeypatch.setattr(module, "_MAX_FIT_TEXTS", 40)
    monkeypatch.setattr(module, "_MAX_WORDS", 10)
    encoder = TextEncoder().fit(TEXTS)
    assert len(encoder.words()) == len(encoder.idf_) == 10
    assert encoder.transform(TEXTS).shape == (80, 10)
    assert choose_unit(["x"]) == CHARACTERS


def _table(n=60):
    return pd.DataFrame(
        {
            "size": RNG.normal(size=n),
            "town": RNG.choice(["a", "b"], n),
            "message": TEXTS[:n],
            "note": TEXTS[-n:],
        }
    )


def _encoded(frame, **options):
    file = read_training(make_source(frame), ColumnOptions(**options))
    found = file.choose(choose_all_rows(file.n_rows))
    return found, *fit_encoder(found.schema, found.rows, "d")


@pytest.mark.parametrize("ratio", [1.0, 16.0, 1 / 16])
def test_texts_and_others_are_weighed(ratio):
    frame = _table()
    found, encoder, X, schema = _encoded(frame)
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {"size": "number", "town": "category", "message": "text", "note": "text"}
    assert {c.name: c.words for c in schema.columns if c.words} == {
        name: len(one.words()) for name, one in text_encoders(encoder, schema).items()
    }
    columns = text_columns(encoder, X.shape[1])
    assert issparse(X) and columns.sum() == X.shape[1] - 3
    before = total_variance(X)
    X = weigh_texts(encoder, weigh_texts(encoder, X, 7.0), ratio)
    of_texts, of_others = total_variance(X[:, columns]), total_variance(X[:, ~columns])
    np.testing.assert_allclose([of_texts, of_texts + of_others], [ratio * of_others, before])
    np.testing.assert_allclose(encoder.transform(found.rows).toarray(), X.toarray(), rtol=1e-12)


def test_texts_alone_are_left_as_they_are():
    _, encoder, X, _ = _encoded(_table()[["message"]])
    assert encoder.transformer_weights is None
    np.testing.assert_allclose(np.asarray(X.multiply(X).sum(axis=1)).ravel(), 1.0)
    assert weigh_texts(encoder, X, 4.0) is X


def test_what_is_asked_of_columns():
    frame = _table()
    names = frame.assign(name=[f"part{k} left" for k in range(len(frame))])
    assert "name" not in _encoded(names)[3].names()
    for asked in ({"text": ["name"]}, {"keep": ["name"]}):
        found, *_, schema = _encoded(names, **asked)
        assert "name" in schema.names("text")
        told = "'note' (sentences), 'name' (60 different texts); drop=[COLUMN] drops one"
        assert (told in as_arguments(" ".join(found.notes))) == ("keep" in asked)
    assert "town" in _encoded(names, text=["town"])[3].names("text")
    assert "name" in _encoded(names, categorical=["name"])[3].names("category")
    assert "message" not in _encoded(names, drop=["message"])[3].names()
    numbers = frame.assign(code=[f"{k % 7}" for k in range(len(frame))])
    assert "code" in _encoded(numbers, text=["code"])[3].names("text")
    with pytest.raises(UserError, match=r"drop and text both name the column 'name'"):
        read_training(make_source(names), ColumnOptions(drop=["name"], text=["name"]))
    with pytest.raises(UserError, match=r"text and target both name the column 'town'"):
        read_training(make_source(names), ColumnOptions(text=["town"], target="town"))
    with pytest.raises(UserError, match="has no column 'nam'"):
        read_training(make_source(names), ColumnOptions(text=["nam"]))
    with pytest.raises(UserError, match="Column 'name' of the data frame is blank"):
        _encoded(names.assign(name=""), text=["name"])
    with pytest.raises(UserError, match="text, dates, groups and categorical need column names"):
        read_training(make_source(np.zeros((3, 2))), ColumnOptions(text=["x"]))


def test_schemas_of_texts_travel():
    schema = Schema("table", 1, (Column("note", "text", words=7),))
    assert Schema.from_dict(schema.to_dict()) == schema
