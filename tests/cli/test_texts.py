"""Columns of texts on the command line: fit, predict, update, explain, export, report."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table
from fewlabels.tables.formats import blocks
from fewlabels.tables.models.files import load_model
from fewlabels.tables.reading import chunks

RNG = np.random.default_rng(0)
N = 120
FILL = "and the with this that order today room again please".split()
GOOD = np.arange(N) % 2 == 0
TEXTS = [
    " ".join(
        [*RNG.choice(FILL, 6), *RNG.choice(["great", "love"] if good else ["bad", "broke"], 2)]
    )
    for good in GOOD
]
TEXTS[4], TEXTS[5] = "", TEXTS[5] + ', "quoted",\n<b>&amp;</b>'
TABLE = pd.DataFrame({"size": RNG.normal(size=N).round(3), "review": TEXTS})
TARGET = np.where(np.arange(N) < 40, np.where(GOOD, "good", "bad"), "")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    TABLE.assign(kind=TARGET).to_csv(folder / "few.csv", index=False)
    TABLE.to_csv(folder / "all.csv", index=False)
    TABLE.to_parquet(folder / "all.parquet")
    return folder


@pytest.fixture(scope="module")
def model(files, run):
    path = files / "m.fewlabels"
    result = run("fit", files / "few.csv", "--target", "kind", "-o", path)
    assert result.code == 0, result.err
    assert "taken as text: 'review' (sentences); --drop COLUMN drops one" in result.err
    assert "1 of texts with " in result.out
    return path


def test_the_model_file(model, run):
    pipeline, schema, metadata = load_model(model)
    assert metadata["format_version"] == 1
    encoder = pipeline[0].named_transformers_["text 0"]
    column = schema.columns[1]
    assert (column.kind, column.words) == ("text", len(encoder.words()))
    told = metadata["training"]["texts"]
    assert told["columns"] == {"review": {"unit": "words", "words": column.words}}
    assert (told["weight"], told["areas"]) == (1.0, None)
    shown = run("inspect", model).out
    assert f"text, {column.words:,} terms" in shown


def test_scores_in_pieces_are_those_of_the_frame(model, files, run, monkeypatch):
    found = fit_table(TABLE.assign(kind=TARGET), "kind", time_budget=0, report=False)
    wanted = found.predict(TABLE)
    assert (wanted["label"][40:] == np.where(GOOD, "good", "bad")[40:]).mean() > 0.9
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 700)
    monkeypatch.setattr(chunks, "_ROWS", 7)
    for name in ("all.csv", "all.parquet"):
        out = files / f"out-{name}"
        assert run("predict", model, files / name, "-o", out).code == 0
        back = pd.read_csv(out) if name.endswith("csv") else pd.read_parquet(out)
        np.testing.assert_allclose(back["score"], wanted["score"], rtol=1e-9, atol=1e-12)
        assert list(back["label"]) == list(wanted["label"])
        assert back["review"].fillna("").tolist() == TEXTS


def test_texts_without_a_known_word_are_counted(model, files, run, monkeypatch):
    texts = ["Qwertz yxcv!", "great qwertz", "", " ", "nan", "asdf"]
    pd.DataFrame({"size": 0.1, "review": texts}).to_csv(files / "odd.csv", index=False)
    monkeypatch.setattr(chunks, "_ROWS", 2)
    for name in ("all.csv", "odd.csv"):
        result = run("predict", model, files / name, "-o", files / "odd-out.csv", "--json")
        told = json.loads(result.out)["texts_without_known_words"]
        # Blank texts are no such texts.
        assert told == ({"review": 2} if name == "odd.csv" else {})
        words = "some texts have no word from training and count as blank (rows: "
        assert (f"{words}2 in 'review')" in result.err) == (name == "odd.csv")


def test_new_words_are_counted(model, files, run):
    more = pd.DataFrame(
        {"size": [0.1, 0.2], "review": ["great and shiny", "a wobbly, shiny room"]}
    )
    more.to_csv(files / "more.csv", index=False)
    out = files / "more.fewlabels"
    result = run("update", model, files / "more.csv", "-o", out, "--json")
    assert json.loads(result.out)["new_words"] == {"review": 2}
    assert (
        "2 new words in 'review' are ignored; fit a new model to all rows to use them"
        in result.err
    )
    assert load_model(out)[2]["format_version"] == 1


def test_words_are_explained(model, files, run):
    told = json.loads(run("explain", model, files / "all.csv", "--row", "3", "--json").out)
    row = told["rows"][0]
    assert told["method"] == "exact"
    assert {one["column"] for one in row["contributions"]} == {"size", "review"}
    strongest = row["words"][0]
    assert strongest["column"] == "review" and strongest["word"] in ("great", "love")
    assert strongest["change"] > 0 and row["label"] == "good"
    shown = run("explain", model, files / "all.csv", "--row", "3").out
    assert f"what the score loses without a word: '{strongest['word']}' +" in shown
    blank = json.loads(run("explain", model, files / "all.csv", "--row", "5", "--json").out)
    assert blank["rows"][0]["words"] == []


def test_no_graph_holds_texts(model, files, run):
    pytest.importorskip("onnx")
    result = run("export", model, "-o", files / "m.onnx")
    assert result.code == 2
    assert "learns from the words of 'review'" in result.err.replace("\n", " ")


def test_the_report_shows_words_and_escapes_texts(files, run):
    page = files / "report.html"
    command = ("fit", files / "few.csv", "--target", "kind", "-o", files / "r.fewlabels")
    assert run(*command, "--report", page).code == 0
    text = page.read_text()
    assert '<mark class="up"' in text and "<b>&amp;</b>" not in text
    assert "Words that distinguish the rows" in text
    assert "love" in text.split("Words that distinguish the rows")[-1].split("</section>")[0]


def test_columns_asked_for_as_texts(files, run):
    out = files / "x.fewlabels"
    short = TABLE.assign(name=[f"part{k % 70} left" for k in range(N)])
    short.to_csv(files / "short.csv", index=False)
    result = run("fit", files / "short.csv", "-o", out, "--text", "name")
    assert result.code == 0 and load_model(out)[1].names("text") == ["review", "name"]
    result = run("fit", files / "short.csv", "-o", out, "--text", "name", "--drop", "name")
    assert result.code == 2 and "--drop and --text both name the column 'name'" in result.err
    result = run("fit", files / "short.csv", "-o", out)
    assert "--text COLUMN learns from its words" in result.err


def test_the_report_of_short_texts_that_repeat(tmp_path, run):
    # Half of the encoded numbers are not zero, so that rows are dense.
    texts = ["good nice", "bad poor"] * 60
    labels = [*(["a", "b"] * 12), *([""] * 96)]
    pd.DataFrame({"text": texts, "label": labels}).to_csv(tmp_path / "d.csv", index=False)
    result = run("fit", tmp_path / "d.csv", "-o", tmp_path / "m", "--target", "label",
                 "--text", "text", "--report", tmp_path / "r.html")  # fmt: skip
    assert result.code == 0, result.err
    page = (tmp_path / "r.html").read_text()
    assert "good" in page and "poor" in page
