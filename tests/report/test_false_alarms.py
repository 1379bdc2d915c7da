"""The false alarm rate that is printed, with and without anomalies among the training rows."""

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table

COLUMNS = ["a", "b", "c"]


def rows(rng, n_normal, n_odd):
    odd = rng.normal(size=(n_odd, 3)) + 6.0
    return pd.DataFrame(np.vstack([rng.normal(size=(n_normal, 3)), odd]), columns=COLUMNS)


@pytest.fixture(scope="module")
def fits():
    """Models of the same 300 normal rows: with anomalies, without, and without by declaration."""
    rng = np.random.default_rng(0)
    clean, odd = rows(rng, 300, 0), rows(rng, 0, 30)
    mixed = pd.concat([clean, odd], ignore_index=True)
    return {
        "mixed": fit_table(mixed, time_budget=0),
        "unknown": fit_table(clean, time_budget=0),
        "clean": fit_table(clean, time_budget=0, clean=True),
    }


def stated(found):
    (rate,) = (r for r in found.report.contents.findings.rates if "False alarm" in r.name)
    return rate


@pytest.mark.parametrize("name", ["mixed", "unknown", "clean"])
def test_the_interval_holds_the_rate(fits, name):
    new = rows(np.random.default_rng(1), 5000, 0)
    share = float(np.mean(fits[name].predict(new)["score"] < 0))
    low, high = stated(fits[name]).interval
    assert low <= share <= high


def test_only_rows_declared_clean_bound_the_rate_from_below(fits):
    assert stated(fits["mixed"]).interval[0] == 0.0 and stated(fits["mixed"]).is_bound
    assert stated(fits["unknown"]).interval[0] == 0.0
    assert stated(fits["clean"]).interval[0] > 0.0 and not stated(fits["clean"]).is_bound
    # The upper end is the same, whatever the rows contain.
    assert stated(fits["clean"]).interval[1] == pytest.approx(stated(fits["unknown"]).interval[1])


def test_every_place_says_at_most(fits):
    for name in ("mixed", "clean"):
        findings = fits[name].report.contents.findings
        answer = dict(findings.answer)["False alarm rate on new normal rows"]
        texts = [findings.headline.lower(), answer, repr(fits[name])]
        assert [("at most about" in text) for text in texts] == [name == "mixed"] * 3
        assert ("up to" in answer) == (name == "mixed")
