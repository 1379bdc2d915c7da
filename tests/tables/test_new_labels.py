"""Labels of rows that are added, in the coding of the rows that are there."""

import numpy as np
import pytest

from fewlabels._util.messages import UserError
from fewlabels.tables.reading.new_labels import NewLabels

CLASSES = {"method": "s3vm", "training": {"classes": ["0", "1"], "unlabeled": "-1"}}
POSITIVE = {"method": "pusvm", "training": {"positive": "1", "unlabeled": "0"}}
NORMAL = {"method": "svdd", "training": {"normal": "ok"}}
ALL_NORMAL = {"method": "svdd", "training": {"normal": None}}


def _read(metadata, values, complete=None, first_row=1):
    labels = NewLabels(metadata, "d.csv", "t")
    n = 4 if values is None else len(values)
    complete = np.ones(n, bool) if complete is None else np.array(complete)
    values = None if values is None else np.array(values, dtype=object)
    keep, y = labels.read(values, complete, first_row)
    return keep.tolist(), None if y is None else y.tolist(), labels


def test_two_classes():
    keep, y, labels = _read(CLASSES, ["1", "0.0", "", " 1 ", "NA", "-1", "1.0"])
    assert all(keep)
    assert y == [1, 0, -1, 1, -1, -1, 1]
    assert labels.n_labeled == {"0": 1, "1": 3}
    assert (labels.n_unlabeled, labels.n_left_out) == (3, 0)


def test_positives():
    keep, y, labels = _read(POSITIVE, ["1", "0", "", "1.0"])
    assert (all(keep), y) == (True, [1, 0, 0, 1])
    assert (labels.n_labeled, labels.n_unlabeled) == ({"1": 2}, 2)


def test_one_class():
    keep, y, labels = _read(NORMAL, ["ok", "broken", "", " ok"], [True, True, True, False])
    assert (keep, y) == ([True, False, False, False], None)
    assert (labels.n_left_out, labels.n_unlabeled) == (2, 0)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [(CLASSES, [-1] * 4), (POSITIVE, [0] * 4), (NORMAL, None), (ALL_NORMAL, None)],
)
def test_no_target(metadata, expected):
    keep, y, labels = _read(metadata, None)
    assert (all(keep), y) == (True, expected)
    assert labels.n_unlabeled == (0 if expected is None else 4)


def test_incomplete_rows_are_not_counted():
    keep, y, labels = _read(CLASSES, ["1", "0", ""], [False, True, True])
    assert (keep, y) == ([False, True, True], [0, -1])
    assert labels.n_labeled == {"0": 1, "1": 0}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            CLASSES,
            "Row 12 of d.csv has '2' in the target column 't', but the classes of the model "
            "are '0' and '1'; .*no_labels=True",
        ),
        (POSITIVE, "Row 12 .* but the class of the model is '1'"),
    ],
)
def test_unknown_class(metadata, message):
    with pytest.raises(UserError, match=message):
        _read(metadata, ["1", "2", "2"], first_row=11)
