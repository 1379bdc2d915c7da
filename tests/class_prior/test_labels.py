"""Which rows are positive: every coding people use, and a sentence for what is ambiguous."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewlabels.class_prior import split_labels

NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "mark", "label"),
    [
        ([1, 0, 1, 0], 0, 1),
        ([1, -1, 1, -1], -1, 1),
        ([2, 1, 2, 1], 1, 2),
        ([1.0, NAN, 1.0, NAN], NAN, 1.0),
        ([True, False, True, False], False, True),
        (["pos", "other", "pos", "other"], "other", "pos"),
        (pd.Series([1, pd.NA, 1, pd.NA], dtype="Int64"), NAN, 1),
        (pd.Series([True, pd.NA, True, pd.NA], dtype="boolean"), NAN, True),
        (pd.Series(["a", None, "a", None]), None, "a"),
        (pd.Series(["a", "b", "a", "b"], dtype="category"), "b", "a"),
        (pl.Series([1, 0, 1, 0]), 0, 1),
        (pl.Series([1, None, 1, None]), NAN, 1),
        (np.array(["a", None, "a", None], dtype=object), None, "a"),
        (np.array([1, None, 1, None], dtype=object), NAN, 1),
        (np.array([1, 0, 1, 0], dtype=np.uint8), 0, 1),
    ],
)
def test_codings(y, mark, label):
    positive, classes = split_labels(y, "a" if label == "a" and mark == "b" else None)
    assert positive.dtype == bool
    assert positive.tolist() == [True, False, True, False]
    assert len(classes) == 2 and classes[1] == label
    if mark is None or mark != mark:
        assert pd.isna(classes[0])
    else:
        assert classes[0] == mark


def test_the_positive_class_can_be_named():
    positive, classes = split_labels(["yes", "no", "no"], pos_label="no")
    assert positive.tolist() == [False, True, True]
    assert classes.tolist() == ["yes", "no"]
    positive, _ = split_labels([0, NAN], pos_label=0)
    assert positive.tolist() == [True, False]


@pytest.mark.parametrize(
    ("y", "pos_label", "words"),
    [
        ([0, 1, 2], None, "3 different values"),
        ([0, 1, NAN], None, "3 different values"),
        ([1, 1, 1], None, "no unlabelled row"),
        ([0, 0, 0], None, "no unlabelled row"),
        ([NAN, NAN], None, "no positive row"),
        ([0, 1, 1], 7, "no positive row"),
        ([0, 0, NAN], None, "usually marks negatives"),
        ([-1, -1, NAN], None, "usually marks negatives"),
        (np.array(["no", None], dtype=object), None, "usually marks negatives"),
        ([], None, "empty"),
        (np.array([1, "a"], dtype=object), None, "can't be compared"),
    ],
)
def test_refusals_say_what_to_do(y, pos_label, words):
    with pytest.raises(ValueError, match=words):
        split_labels(y, pos_label)
