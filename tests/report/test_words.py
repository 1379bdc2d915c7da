"""Figures as people read them."""

import math

import pytest

from fewlabels.report.contents import Rate
from fewlabels.report.page import words
from fewlabels.report.semi_supervised import describe_accuracy


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (1e-5, "under 0.1 %"), (0.99999, "over 99.9 %"), (0.05, "5 %"),
     (0.0512, "5.1 %"), (0.0999, "10 %"), (0.914, "91 %"), (0.9951, "99.5 %"), (0.25, "25 %"),
     (0.9949999, "99.5 %")],
)  # fmt: skip
def test_percent(share, text):
    assert words.percent(share).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (math.nan, ""), (math.inf, "infinite"), (3.0, "3"), (1234567, "1,234,567"),
     (0.15, "0.15"), (686.52, "686.5"), (0.0335, "0.0335"), (1.5e-7, "1.5e-07"), (1e12, "1e+12"),
     (-2.5, "-2.5"), (99999.5, "100,000"), ("rbf", "rbf"), (True, "True")],
)  # fmt: skip
def test_number(value, text):
    assert words.number(value) == text


def test_column():
    assert words.column([1.0, -0.25, 12.0]) == ["1.00", "-0.25", "12.00"]
    assert words.column([1e-6, -2.5e-7]) == ["1.000e-06", "-2.500e-07"]
    assert words.column([0.0, 0.0]) == ["0", "0"]
    assert words.column([math.inf, 2.0]) == ["inf", "2.000"]
    assert words.column([]) == []


def test_a_wide_interval_stands_alone():
    few = Rate("Accuracy", 1.0, (0.7, 1.0), "12 of 12 labelled rows")
    assert "is between 70 % and 100 % (90 % CI): too few" in _plain(describe_accuracy(few))
    many = Rate("Accuracy", 0.83, (0.75, 0.89), "83 of 100 labelled rows")
    assert _plain(describe_accuracy(many)).startswith(
        "The expected accuracy is 83 % (90 % CI 75 %"
    )


def _plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")
