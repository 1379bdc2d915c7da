"""What texts count beside other columns, and columns that are left out, by labels held out."""

import numpy as np
import pandas as pd
import pytest

from fewlabels import TableEncoder, fit_table
from fewlabels._util.messages import UserError
from fewlabels.kernels.parameters import total_variance
from fewlabels.model_selection.weighing import RATIOS, ColumnBlocks, weigh_columns

FILL = "the and with this that order today room again please".split()
N = 160


def table(seed=0, *, words=0.3, numbers=0.0, town=0.0):
    """Rows, some of which are labelled, told by words, numbers or the town to some degree."""
    rng = np.random.default_rng(seed)
    kind = rng.random(N) < 0.5
    text = [
        " ".join(rng.choice(["leak", "oil", "drip"] if k and rng.random() < words else FILL)
                 for _ in range(14))
        for k in kind
    ]  # fmt: skip
    near = rng.random(N) < town
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=N) + numbers * kind,
            "b": rng.normal(size=N),
            "town": np.where(near, np.where(kind, "x", "y"), rng.choice(list("xyz"), N)),
            "note": text,
        }
    )
    return frame, np.where(kind, "bad", "good")


def left_out(encoder):
    return set(encoder.profile_.query("kind == 'left out'")["name"])


def test_columns_that_mean_nothing_beside_texts_are_left_out():
    frame, y = table(1, words=0.1)
    encoder = TableEncoder().fit(frame, y)
    assert left_out(encoder) == {"a", "b", "town"}
    assert encoder.text_weight_ == np.inf
    assert any(
        "'a' (held-out labels are predicted better without it)" in n for n in encoder.notes_
    )
    # What is left out is not needed any more.
    assert encoder.transform(frame[["note"]]).shape[0] == N
    # What was asked for by name stays, with the others of its kind.
    encoder = TableEncoder(keep="b").fit(frame, y)
    assert not {"a", "b"} & left_out(encoder)


def test_blocks_that_help_stay():
    frame, y = table(words=0.1, numbers=3.0)
    assert not {"a", "b"} & left_out(TableEncoder().fit(frame, y))
    frame, y = table(words=0.1, town=0.9)
    assert "town" not in left_out(TableEncoder().fit(frame, y))
    # Without labels, or with a weight, all stay.
    frame, y = table(1, words=0.1)
    assert not left_out(TableEncoder().fit(frame))
    assert not left_out(TableEncoder(text_weight=2).fit(frame, y))


def test_weights_keep_the_variance_of_all_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6)) * [1, 2, 3, 4, 5, 6]
    places = {("t",): np.r_[0:2], ("u",): np.r_[2:3], ("a", "b"): np.r_[3:5], ("c",): np.r_[5:6]}
    blocks = ColumnBlocks(X, places, {("t",), ("u",)}, fixed=[("c",)])
    choices = list(blocks.choices())
    assert {out for _, out in choices} == {(), (("a", "b"),)}
    assert len(choices) == 2 * len(RATIOS)
    outs = [out for _, out in choices] + [(("a", "b"), ("c",)), (("t",), ("u",)), (("u",),)]
    for out in outs:
        Y = X * blocks.weights(4.0, out)
        assert total_variance(Y) == pytest.approx(total_variance(X))
        texts, others = (total_variance(Y[:, part]) for part in (slice(0, 3), slice(3, 6)))
        if texts and others:
            assert texts == pytest.approx(4.0 * others)
        for names in out:
            assert not Y[:, places[names]].any()


def test_too_few_labels_choose_nothing():
    X = np.random.default_rng(0).normal(size=(6, 2))
    blocks = ColumnBlocks(X, {("t",): np.r_[0:1], ("a",): np.r_[1:2]}, {("t",)})
    assert weigh_columns(X, np.array([0, 1, 1, -1, -1, -1]), blocks) is None


def test_fit_table_says_what_was_left_out():
    frame, y = table(1, words=0.1)
    target = np.where(np.arange(N) < 60, y, "")
    found = fit_table(frame.assign(kind=target), "kind", time_budget=1, report=False)
    training = found.metadata["training"]
    assert training["texts"]["left_out"] == ["a", "b", "town"]
    assert training["texts"]["weight"] is None
    assert any(note.startswith("only the texts are used") for note in training["notes"])
    answers = found.predict(frame[["note"]])["label"].to_numpy()
    assert (answers == y)[60:].mean() > 0.6
    given = fit_table(
        frame.assign(kind=target), "kind", time_budget=1, report=False, text_weight=2.0
    )
    texts = given.metadata["training"]["texts"]
    assert (texts["weight"], texts["areas"], texts["left_out"]) == (2.0, None, [])


def test_a_weight_without_texts_is_refused():
    frame, _ = table()
    with pytest.raises(UserError, match=r"needs a text column, and .* has none"):
        fit_table(frame.drop(columns="note"), time_budget=0, report=False, text_weight=2.0)
    with pytest.raises(
        UserError, match="text_weight=0 is out of range; it must be greater than 0"
    ):
        fit_table(frame, time_budget=0, report=False, text_weight=0.0)
