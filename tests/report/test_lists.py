"""Lists of rows: labels that look wrong, and equal rows that are one line."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fewlabels.report import collect
from fewlabels.report.page.html import page
from fewlabels.report.rankings import count_equal_rows, describe_ties, merge_equal_rows

WRONG = [3, 40, 77, 120]


def people(n, seed):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3 == 0
    table = pd.DataFrame({"age": rng.normal(40, 5, n) + 25 * truth, "size": rng.normal(size=n)})
    return table.round(3), truth


def listed(parts, title):
    rankings = {r.title: r for r in collect(**parts).findings.rankings}
    return rankings.get(title)


def test_wrong_labels_of_two_classes(fitted):
    table, truth = people(240, 0)
    label = np.where(truth, "old", "young").astype(object)
    label[160:] = ""
    label[WRONG] = np.where(truth[WRONG], "young", "old")
    table["state"] = label
    found = listed(fitted(table, target="state", probability="sigmoid"), "Labels to check")
    assert set(WRONG) <= set(found.rows["row"] - 1)
    assert len(found.rows) <= 10
    assert (found.rows["probability"] < 0.5).all()
    assert found.rows["probability"].is_monotonic_increasing
    given = dict(zip(found.rows["row"] - 1, found.rows["label"], strict=True))
    assert all(given[k] == label[k] for k in given)
    assert "scores contradict the label" in found.text


def test_wrong_labels_of_one_class_and_a_pile(fitted):
    table, truth = people(300, 1)
    label = np.where(truth & (np.arange(300) < 200), "old", "").astype(object)
    wrong = [k for k in (4, 50, 101) if not truth[k]]
    label[wrong] = "old"
    table["state"] = label
    parts = fitted(table, target="state")
    found = listed(parts, "Labels to check")
    assert set(wrong) <= set(found.rows["row"] - 1)
    assert set(found.rows["label"]) == {"old"}
    assert "Labels to check" in page(collect(**parts))


def test_no_list_where_no_label_is_contradicted(fitted):
    table, truth = people(120, 2)
    label = np.where(truth, "old", "young").astype(object)
    label[60:] = ""
    table["age"] = 40.0 + 50 * truth
    table["state"] = label
    assert listed(fitted(table, target="state"), "Labels to check") is None


def test_equal_rows_are_one_line(fitted):
    table, truth = people(200, 3)
    label = np.where(truth & (np.arange(200) < 150), "old", "").astype(object)
    table["state"] = label
    copies = pd.DataFrame({"age": [65.0] * 4, "size": [0.0] * 4, "state": [""] * 4})
    parts = fitted(pd.concat([table, copies], ignore_index=True), target="state")
    found = listed(parts, "Unlabelled rows most like 'old'")
    assert sorted(found.rows["equal rows"])[-1] == 4
    assert len(found.rows) == 20
    assert f"The {found.rows['equal rows'].sum()} unlabelled rows" in found.text
    assert "Rows with the same values share one line." in found.text


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_first_of_equal(form):
    X = form(np.array([[1.0, 0], [0, 2], [1, 0], [0, 0], [0, 2], [1, 0]]))
    first, sizes = merge_equal_rows(X, [2, 1, 0, 3, 5, 4], 2)
    assert first.tolist() == [2, 1] and sizes.tolist() == [2, 1]  # ended by the third kind
    first, sizes = merge_equal_rows(X, [2, 1, 0, 3, 5, 4], 5)
    assert first.tolist() == [2, 1, 3] and sizes.tolist() == [3, 2, 1]
    assert count_equal_rows(sizes) == {"equal rows": [3, 2, 1]} and describe_ties(sizes)
    first, sizes = merge_equal_rows(X, [], 3)
    assert not len(first) and count_equal_rows(sizes) == {} and describe_ties(sizes) == ""


def test_columns_left_out_are_in_the_first_section(fitted):
    table, truth = people(150, 4)
    table["nothing"] = "x"
    table["state"] = np.where(truth & (np.arange(150) < 100), "old", "")
    contents = collect(**fitted(table, target="state"))
    text = page(contents)
    assert text.count("Column left out: &#x27;nothing&#x27; (constant)") == 1
    assert text.index("Column left out") < text.index('<section id="rows"')
    again = page(replace(contents, notes=["Something else."]))
    assert "Column left out" not in again and "Something else." in again
