"""What counts as no label, for every reader of y and every way to hold one."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fewlabels import PUSVM, S3VM
from fewlabels.baselines import SemiSupervisedBaseline
from fewlabels.class_prior import label_shift, split_labels
from fewlabels.data.labels.semi_supervised import is_labelled, read_known_labels, read_semi_labels
from fewlabels.model_selection import LabeledKFold
from fewlabels.pipeline.encoder import TableEncoder
from fewlabels.querying import Random

NAN = float("nan")
KNOWN = np.arange(40) < 12
PLACE = np.arange(40) % 3
X = np.random.default_rng(0).normal(size=(40, 2)) + 4.0 * np.eye(3)[PLACE, :2]


def held(classes, blank):
    """A list of labels in which ``blank`` is no label."""
    return [classes[k] if known else blank for k, known in zip(PLACE, KNOWN, strict=True)]


def masked(classes, blank):
    return np.ma.masked_array(np.array(classes)[PLACE], mask=~KNOWN)


TEXTS = {
    "None": lambda: held("abc", None),
    "NaN in a list": lambda: held("abc", NAN),
    "NaN in an array": lambda: np.array(held("abc", NAN), dtype=object),
    "NA": lambda: np.array(held("abc", pd.NA), dtype=object),
    "NaT": lambda: np.array(held("abc", pd.NaT), dtype=object),
    "empty": lambda: held("abc", ""),
    "empty in an array": lambda: np.array(held("abc", "")),
    "spaces": lambda: np.array(held("abc", " \t\u00a0")),
    "spaces in objects": lambda: np.array(held("abc", "  "), dtype=object),
    "both": lambda: [v if i % 2 else v or None for i, v in enumerate(held("abc", ""))],
    "masked": lambda: masked(list("abc"), None),
    "masked in a list": lambda: held("abc", np.ma.masked),
    "categories": lambda: pd.Categorical(held("abc", None)),
    "an empty category": lambda: pd.Categorical(held("abc", "")),
    "strings": lambda: pd.Series(held("abc", None), dtype="string"),
    "empty strings": lambda: pd.Series(held("abc", ""), dtype="string"),
    "Arrow in pandas": lambda: pd.Series(held("abc", None), dtype=pd.ArrowDtype(pa.string())),
    "Arrow": lambda: pa.array(held("abc", None)),
    "Arrow dictionary": lambda: pa.array(held("abc", None)).dictionary_encode(),
    "Arrow chunks, empty": lambda: pa.chunked_array([held("abc", "")]),
}
NUMBERS = {
    "None": lambda: held([0, 1, 2], None),
    "NaN": lambda: held([0, 1, 2], NAN),
    "empty": lambda: held([0, 1, 2], ""),
    "masked": lambda: masked([0, 1, 2], None),
    "masked floats": lambda: masked([0.0, 1.0, 2.0], None),
    "nullable": lambda: pd.array(held([0, 1, 2], None), dtype="Int64"),
    "Arrow": lambda: pa.array(held([0, 1, 2], None)),
    "mark": lambda: held([0, 1, 2], -1),
    "mark in texts": lambda: np.array(held([0, 1, 2], -1), dtype=object),
}
WAYS = [(name, make, list("abc")) for name, make in TEXTS.items()]
WAYS += [(f"numbers: {name}", make, [0, 1, 2]) for name, make in NUMBERS.items()]


@pytest.mark.parametrize(("name", "make", "classes"), WAYS, ids=[way[0] for way in WAYS])
def test_every_reader_has_one_definition_of_no_label(name, make, classes):
    y = make()
    code, found, _ = read_semi_labels(y, -1)
    assert found.tolist() == classes
    assert code.tolist() == np.where(KNOWN, PLACE + 1, 0).tolist()
    assert is_labelled(y, -1).tolist() == KNOWN.tolist()
    assert read_known_labels(y, 40, np.array(classes), -1).tolist() == code.tolist()
    tested = np.concatenate([test for _, test in LabeledKFold(2).split(X, y)])
    assert sorted(tested) == np.flatnonzero(KNOWN).tolist()
    mark = -1 if "mark" in name else None
    assert KNOWN[Random(missing_label=mark).query(X, y, batch_size=28)].sum() == 0


@pytest.mark.parametrize("make", [TEXTS["empty in an array"], TEXTS["NaN in a list"]])
def test_estimators_learn_from_rows_without_a_label(make):
    y, truth = make(), np.array(list("abc"))[PLACE]
    for model in (S3VM(), SemiSupervisedBaseline("logistic")):
        assert model.fit(X, y).classes_.tolist() == list("abc")
        assert set(model.predict(X)) <= set("abc")
        assert model.score(X, y) == np.mean(model.predict(X)[KNOWN] == truth[KNOWN])
    updated = S3VM().fit(X, y).partial_fit(X[:2], ["", None]).relabel([0], [" "])
    assert updated.training_rows_.label[[0, -2, -1]].tolist() == [0, 0, 0]
    shares = [0.2, 0.3, 0.5]
    assert label_shift(X, y, class_ratio=shares).classes.tolist() == list("abc")


@pytest.mark.parametrize("blank", [None, NAN, "", " ", pd.NA])
def test_positive_rows_next_to_any_blank(blank):
    y = np.array([blank if k % 3 else "x" for k in range(40)], dtype=object)
    positive, classes = split_labels(y)
    assert positive.tolist() == (np.arange(40) % 3 == 0).tolist()
    assert classes[1] == "x" and classes[0] == (blank if isinstance(blank, str) else None)
    mixed = np.where((np.arange(40) == 1), None, y)
    assert split_labels(mixed)[0].tolist() == positive.tolist()
    model = PUSVM(prior=0.3).fit(X, y).partial_fit(X[:2], [blank, "x"])
    assert model.training_rows_.label[-2:].tolist() == [0, 1]


def test_positive_numbers_next_to_empty_texts():
    assert split_labels([1, "", 1, ""])[1].tolist() == pytest.approx([NAN, 1.0], nan_ok=True)


@pytest.mark.parametrize("classes", [[-1, 1], [-1, 0, 1], [-1, 0, 1, 2], [-1.0, 2.0, 3.0]])
@pytest.mark.parametrize("blank", [None, NAN, "", pd.NA])
def test_the_usual_mark_next_to_missing_values_is_refused(classes, blank):
    y = [classes[k % len(classes)] if k < 12 else blank for k in range(40)]
    for given in (y, np.array(y, dtype=object)):
        for read in (
            lambda y: S3VM().fit(X, y),
            lambda y: SemiSupervisedBaseline("logistic").fit(X, y),
            lambda y: S3VM().partial_fit(X, y, classes=[0, 1, 2]),
            lambda y: next(LabeledKFold(2).split(X, y)),
            lambda y: label_shift(X, y),
            lambda y: TableEncoder().fit(X, y),
        ):
            with pytest.raises(ValueError, match=r"-1 is a class or|is -1 a class or"):
                read(given)
    code, found, _ = read_semi_labels(y, None)
    assert found.tolist() == sorted(classes) and np.count_nonzero(code) == 12
    # A mark that the user has chosen is no class, whatever stands next to it.
    assert is_labelled([0, 1, "?", None], "?").tolist() == [True, True, False, False]


def test_a_text_made_of_nan_is_refused_and_not_learned():
    y = np.array(held("abc", NAN))  # NumPy writes 'nan'
    with pytest.raises(ValueError, match="NumPy makes of a missing value"):
        S3VM().fit(X, y)
    assert S3VM(unlabeled="nan").fit(X, y).classes_.tolist() == list("abc")
    with pytest.raises(ValueError, match="NumPy makes of a missing value"):
        split_labels(np.array(["spam", np.nan, "spam"]))


def test_the_mark_as_a_text_is_a_class_with_a_warning():
    with pytest.warns(UserWarning, match="the text '-1', which counts as a class"):
        model = S3VM().fit(X, held("abc", "-1"))
    assert "-1" in model.classes_
    assert S3VM(unlabeled="-1").fit(X, held("abc", "-1")).classes_.tolist() == list("abc")
