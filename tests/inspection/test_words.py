"""What the score of a row loses when a word is taken out of its text."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from fewlabels import SVDD, TableEncoder
from fewlabels.inspection import explain
from fewlabels.inspection.words import word_changes
from fewlabels.report.reasons import make_excerpt
from fewlabels.tables.encoding.texts import find_words


def _counts(rows):
    """2 for every "good", -1 for every "bad", 10 for every size."""
    texts = rows["note"]
    return 2.0 * texts.str.count("good") - texts.str.count("bad") + 10.0 * rows["size"]


def test_every_word_is_taken_out_by_itself():
    rows = pd.DataFrame({"size": [1.0, 2.0, 3.0], "note": ["Good, bad and GOOD good", "", "bad"]})
    lower = lambda changed: _counts(changed.assign(note=changed["note"].str.lower()))  # noqa: E731
    found = word_changes(lower, rows, "note", find_words)
    assert found == [[("good", 6.0), ("bad", -1.0), ("and", 0.0)], [], [("bad", -1.0)]]
    assert list(rows["note"]) == ["Good, bad and GOOD good", "", "bad"]


def test_scores_of_several_classes():
    rows = pd.DataFrame({"size": [0.0, 0.0], "note": ["good bad", "bad bad bad"]})
    both = lambda changed: np.column_stack([_counts(changed), -_counts(changed)])  # noqa: E731
    found = word_changes(both, rows, "note", find_words)
    assert found == [[("good", 2.0), ("bad", -1.0)], [("bad", 3.0)]]


def test_many_words_are_scored_in_parts(monkeypatch):
    monkeypatch.setattr("fewlabels.inspection.words._AT_A_TIME", 2)
    rows = pd.DataFrame({"size": [0.0] * 3, "note": ["good bad", "aa bb cc", "bad"]})
    found = word_changes(_counts, rows, "note", find_words)
    assert [dict(one) for one in found] == [
        {"good": 2.0, "bad": -1.0}, {"aa": 0.0, "bb": 0.0, "cc": 0.0}, {"bad": -1.0},
    ]  # fmt: skip


def test_contributions_of_a_table_with_texts_are_exact():
    rng = np.random.default_rng(0)
    words = "pump hall broke storm refund money please now".split()
    table = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "note": [" ".join([*rng.choice(words, 5), f"no{k}"]) for k in range(60)],
        }
    )
    model = make_pipeline(TableEncoder(), SVDD()).fit(table)
    model.steps[0] = ("columns", model[0].encoder_)
    told = explain(model, table[:3], background=table[10:40])
    assert told.method == "exact" and told.columns == ["size", "note"]
    sums = told.contributions.sum(axis=1)
    np.testing.assert_allclose(sums, told.decision - told.base, atol=1e-10)


@pytest.mark.parametrize("text", ["水泵昨天又坏了", "ชิ้นส่วนพัง"])
def test_without_spaces_two_characters_are_a_word(text):
    assert "".join(text[a:b] for a, b in find_words(text)) in (text, text[:-1])


def test_excerpts_show_where_it_matters():
    text = "start " + "filler " * 60 + "please <b>REFUND</b> me\nnow " + "again " * 60
    changes = [("refund", 0.5), ("me", -0.2), ("again", 0.001)]
    found = make_excerpt(text, changes)
    assert ("REFUND", 1) in found.pieces and ("me", -1) in found.pieces
    assert len(str(found)) < 200 and "\n" not in str(found)
    assert str(found).startswith("... ") and str(found).endswith(" ...")
    assert not any(side for piece, side in found.pieces if "again" in piece)
    assert str(make_excerpt("short text", [])) == "short text"
    assert make_excerpt(None, []).pieces == ()
