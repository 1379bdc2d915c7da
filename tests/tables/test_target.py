"""What a column of labels says."""

import numpy as np
import pytest

from fewlabels._util.messages import UserError
from fewlabels.tables.columns.target import (
    choose_class_rows,
    choose_normal_rows,
    choose_positive_rows,
    count_labels,
    find_greater_value,
    refuse_misspelt,
    target_as_text,
)
from fewlabels.tables.names import misspelling


def _labels(*values):
    return count_labels(np.array(values, dtype=object), column="t", source="f")


def test_counts():
    labels = _labels("b", "a", "", "b ", "NA", "1", "1.0", "1", "?")
    assert labels.names == ["1", "b", "a"]
    assert labels.counts == [3, 2, 1]
    assert labels.n_blank == 3
    assert labels.index.tolist() == [1, 2, -1, 1, -1, 0, 0, 0, -1]
    assert labels.list_values() == "'1' (3), 'b' (2), 'a' (1)"
    assert _labels(*"abcdefghijkl").list_values().endswith(", 'j' (1) and 2 more")


def test_numbers_as_a_user_would_type_them():
    assert target_as_text(np.array([1.0, 0.5, np.nan])).tolist() == ["1", "0.5", ""]
    assert target_as_text(np.array([True, False])).tolist() == ["True", "False"]


# -- one class ---------------------------------------------------------------------------


def test_one_value_and_blanks():
    keep, y, facts, notes, needed = choose_normal_rows(_labels("a", "", "a", "NA"))
    assert keep.tolist() == [True, False, True, False]
    assert y is None
    assert facts == {"normal": "a"}
    assert notes == ["2 rows with a blank target not used for training"]
    assert not needed


def test_several_values_need_a_choice():
    with pytest.raises(UserError, match=r"2 values: 'a' \(2\), 'b' \(1\); pass.*normal=VALUE"):
        choose_normal_rows(_labels("a", "b", "a"))
    roles = choose_normal_rows(_labels("a", "b", ""), "a")
    assert roles.keep.tolist() == [True, False, False]
    assert roles.notes == [
        "1 row of other classes ('b') not used for training",
        "1 row with a blank target not used for training",
    ]


def test_normal_value_matches_as_number():
    assert choose_normal_rows(_labels("1.0", "2", "1"), "1").keep.tolist() == [True, False, True]


@pytest.mark.parametrize("normal", [None, "a"])
def test_blank_target(normal):
    with pytest.raises(UserError, match="blank in every row"):
        choose_normal_rows(_labels("", "NA"), normal)


def test_no_normal_row():
    with pytest.raises(UserError, match=r"normal value 'c'.*'a' \(1\)"):
        choose_normal_rows(_labels("a"), "c")


# -- positive and unlabelled rows -----------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "positive", "y", "name", "mark"),
    [
        (["a", "", "a"], None, [1, 0, 1], "a", ""),
        (["1", "0", "0"], None, [1, 0, 0], "1", "0"),
        (["-1", "1", "-1"], None, [0, 1, 0], "1", "-1"),
        (["0.0", "1.0", "1"], None, [0, 1, 1], "1.0", "0.0"),
        (["False", "True"], None, [0, 1], "True", "False"),
        (["a", "b", "b"], "a", [1, 0, 0], "a", "b"),
        (["0", "1"], "0", [1, 0], "0", "1"),
        (["0", ""], "0", [1, 0], "0", ""),
        (["1", "1.0", "", "1.0"], "1", [1, 1, 0, 1], "1.0", ""),
    ],
)
def test_positive_rows(values, positive, y, name, mark):
    roles = choose_positive_rows(_labels(*values), positive)
    assert roles.keep.all()
    assert roles.y.tolist() == y
    assert roles.y.dtype == np.int8
    assert roles.facts == {"positive": name, "unlabeled": mark}


@pytest.mark.parametrize(
    ("values", "positive", "message"),
    [
        (["", "NA"], None, "blank in every row; label the known"),
        (
            ["a", "a"],
            None,
            "'a' in every row, .* target blank, or pass method='svdd'",
        ),
        (["a", "b"], None, r"2 values: 'a' \(1\), 'b' \(1\); pass the positive one"),
        (["1", "x"], None, "pass the positive one"),
        (["1", "2", "3"], None, "3 values: .* pass the positive one"),
        (
            ["1", "0", ""],
            "1",
            r"has '1' \(1\), '0' \(1\) and 1 blanks, but only one other value can mark",
        ),
        (["1", "2", "3"], "1", "only one other value can mark"),
        (["a", ""], "b", r"positive value 'b' in the target column 't'; its values are 'a' \(1\)"),
        (["0", ""], None, "'0' usually marks negatives; pass positive=0 .* or normal=0"),
        (["-1.0", ""], None, "usually marks negatives"),
        (["no", ""], None, "usually marks negatives"),
        (["False", ""], None, "usually marks negatives"),
    ],
)
def test_hopeless_labels(values, positive, message):
    with pytest.raises(UserError, match=message):
        choose_positive_rows(_labels(*values), positive)


def test_greater_value():
    assert find_greater_value(_labels("5", "5", "7")) == 1
    assert find_greater_value(_labels("True", "False")) == 0
    assert find_greater_value(_labels("yes", "no")) is None
    assert find_greater_value(_labels("1", "2", "3")) is None
    assert find_greater_value(_labels("1")) is None


# -- typing errors -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usual", "slips"),
    [
        ("yes", ["yess", "yse", "yyes", "Yess", "eys"]),
        ("no", ["noo"]),
        ("SPAM", ["SPAAM", "SPMA", "SPM"]),
        ("malignant", ["malignat", "maligannt", "mallignant"]),
        ("not spam", ["notspam", "not_spam", "not-spam", "not sapm"]),
    ],
)
def test_added_missing_and_swapped_letters_are_slips(usual, slips):
    assert {misspelling(one, usual) for one in slips} == {"slip"}
    assert {misspelling(usual, one) for one in slips} == {"slip"}


@pytest.mark.parametrize(
    "names",
    [
        "A B AB O A1 A2 A11 1 11 12 1.0 1.01 C10 C11 x xx y n",
        "AAA AA A BBB BB B",
        "I II III IV V VI VII ii iii",
        "typical atypical good vgood acc unacc male female no on none one",
        "cp im pp imU om omL imL imS CYT NUC MIT ME1 ME2 ME3 EXC VAC POX ERL",
        "grade_1 grade_2 group_a group_b stage_ii stage_iii Fpv_Close Bpv_Close Fpv_Open",
        "january february march april may june july monday sunday",
        "positive negative neutral low high very_low very_high",
    ],
)
def test_names_of_classes_are_no_misspelt_ones(names):
    names = [name.replace("_", " ") for name in names.split()]
    assert not any(misspelling(a, b) for a in names for b in names if a != b)


def test_another_letter_is_doubtful():
    assert misspelling("nitrite", "nitrate") == misspelling("yas", "yes") == "letter"


def test_a_misspelt_value_makes_no_class():
    labels = _labels(*["yes"] * 30, "yess", *[""] * 9, "yse")
    said = (
        r"has 3 values, but 'yess' \(row 31\) is probably a misspelt 'yes' \(30 rows\) and "
        r"'yse' \(row 41\) .*; correct the cells, or pass method='s3vm' if these are different"
    )
    with pytest.raises(UserError, match=said):
        refuse_misspelt(labels)
    # Who names the task is told, and served.
    assert "'yess' (row 31) is probably" in choose_class_rows(labels).facts["misspelt"]
    assert "'yess' (row 31) is probably" in choose_normal_rows(labels, "yes").facts["misspelt"]
    with pytest.raises(UserError, match=r"correct the values \('yess' \(row 31\) is probably"):
        choose_positive_rows(labels, "yes")
    with pytest.raises(UserError, match=r"'noo' .* a misspelt 'no'"):
        refuse_misspelt(_labels(*["yes"] * 3, *["no"] * 20, "noo").with_mark("no"))


@pytest.mark.parametrize(
    "values",
    [
        ["yes"] * 30 + ["no"] * 20 + ["yess"],  # classes in any case
        ["yes"] * 30 + ["yas"],  # doubtful
    ],
)
def test_values_that_may_be_misspelt_are_named(values):
    labels = _labels(*values, "")
    refuse_misspelt(labels)
    doubt = choose_class_rows(labels).facts["misspelt"]
    assert "a misspelt 'yes' (30 rows); it counts as another value until corrected" in doubt


@pytest.mark.parametrize(
    "values", [["yes"] * 30 + ["yess"] * 10, ["yes"] * 4 + ["yess"], ["cats"] * 9 + ["dogs"]]
)
def test_frequent_values_are_not_misspelt(values):
    labels = _labels(*values, "")
    refuse_misspelt(labels)
    assert not labels.misspelt and "misspelt" not in choose_class_rows(labels).facts
