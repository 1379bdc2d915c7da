"""Whether columns of numbers have a unit in common."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fewlabels import TableEncoder, fit_table
from fewlabels.data.units import common_unit, explain_feature_table

pytestmark = pytest.mark.filterwarnings("error")

N = 60


def of_length_one(rng):
    X = np.abs(rng.normal(size=(N, 8))) * (rng.random((N, 8)) < 0.5) * np.arange(1, 9)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)


def codes(rng):
    return np.hstack([np.eye(3)[rng.integers(3, size=N)], np.eye(4)[rng.integers(4, size=N)]])


def pixels(rng):
    X = rng.integers(0, 256, (N, 9)).astype(float)
    X[0] = 255
    return np.hstack([X, (X[:, :2] > 200) * 7.0, np.zeros((N, 1))])  # a border that hardly varies


def answers(rng):
    return rng.integers(1, 6, (N, 5))


def measured(rng):
    return rng.normal(size=(N, 5))


def mixed(rng):
    return np.c_[rng.integers(0, 2, (N, 4)), rng.normal(size=N) * 1000]


def one_large(rng):
    """One column has nearly all the variance, and reaches the largest value alone."""
    return np.c_[rng.uniform(0, 1, (N, 6)), rng.uniform(0, 1e5, N)]


def far_off(rng):
    """Lengths are equal to many digits because of an offset."""
    return np.c_[1e7 + rng.normal(size=N), rng.normal(size=(N, 2))]


def temperature_and_pressure(rng):
    return np.c_[rng.normal(20, 1, N), rng.normal(101325, 500, N)]


def beside_constants(rng):
    return np.c_[np.full((N, 3), 7.0), temperature_and_pressure(rng), np.full(N, 2e5)]


def one_varies(rng):
    return np.c_[np.full((N, 3), 7.0), rng.normal(size=N)]


def percentages(rng):
    """Two columns of four end at 0 and 100, and the others lie between."""
    shares = np.clip(rng.normal(70, 60, (N, 2)), 0, 100)
    return np.c_[shares, rng.normal(20, 1, N), rng.gamma(2.0, 0.1, N)]


def rain(rng):
    """As above, but the others begin at 0 as well."""
    others = rng.gamma(1.0, [3.0, 0.1], (N, 2)) * (rng.random((N, 2)) < 0.5)
    return np.c_[percentages(rng)[:, :2], others]


def signs(rng):
    """Every row has one length, whatever the units are."""
    return rng.choice([-1.0, 1.0], (N, 3)) * [3.0, 1000.0, 1e-3]


def codes_and_a_number(rng):
    """Lengths are equal to many digits because of the codes."""
    return np.c_[1000.0 * codes(rng), rng.normal(size=N)]


def flipped(rng):
    return -pixels(rng)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (of_length_one, "one length"), (codes, "one length"), (pixels, "largest value, 255"),
        (answers, "largest value, 5"), (measured, None), (mixed, None), (one_large, None),
        (far_off, None), (temperature_and_pressure, None), (beside_constants, None),
        (one_varies, None), (percentages, None), (rain, None), (signs, None),
        (codes_and_a_number, None), (flipped, "smallest value, -255"),
    ],
)  # fmt: skip
def test_what_is_seen(rows, reason, storage, rng):
    X = storage(rows(rng))
    for factor in (1, 0.001):
        found = common_unit(X * factor)
        assert found is None if reason is None else reason.split(",")[0] in found


def test_nothing_to_see():
    for X in (np.zeros((5, 3)), np.ones((1, 3)), np.ones((5, 1)), np.full((4, 2), np.nan)):
        assert common_unit(X) is None


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_any_numbers(storage, rng):
    bytes_ = pixels(rng).astype(np.uint8)
    assert "largest value, 255" in common_unit(storage(bytes_))
    assert "largest value, 255" in common_unit(storage(bytes_.astype(np.float32)))
    huge = measured(rng)
    huge[0, 0] = 1e200
    assert common_unit(storage(huge)) is None


def test_missing_values_are_passed_over(rng):
    for rows in (pixels, of_length_one, measured, temperature_and_pressure):
        X = np.asarray(rows(rng), float)
        gaps = X.copy()
        gaps[3, 0] = gaps[5, 1] = np.nan
        assert common_unit(gaps) == common_unit(X)


def test_small_columns_count_as_much_as_large_ones(rng):
    """Ten standard deviations off are an anomaly in any unit."""
    X = pd.DataFrame(temperature_and_pressure(rng), columns=["temperature", "pressure"])
    fit = fit_table(X, time_budget=0, report=False)
    off = pd.DataFrame({"temperature": [30.0], "pressure": [101325.0]})
    assert fit.predict(off)["p_value"][0] < 0.05
    assert not any("standardised" in note for note in fit.notes)


def test_why_a_table_is_one_of_features(rng):
    assert "different units" in explain_feature_table(measured(rng))
    assert "0 or 1" in explain_feature_table(codes(rng))
    assert explain_feature_table(pixels(rng)) is None


def test_blank_texts_have_no_length(rng):
    X = of_length_one(rng)
    X[3] = 0.0
    assert "one length" in common_unit(sp.csr_array(X))


def test_encoder(rng):
    X = pixels(rng)
    as_given = np.column_stack([X, np.zeros(len(X))])  # no row has a blank
    encoder = TableEncoder().fit(X)
    assert np.array_equal(encoder.transform(X), as_given)
    assert not np.array_equal(TableEncoder(scale=True).fit(X).transform(X), as_given)
    assert np.array_equal(TableEncoder(scale=False).fit(X).transform(X), as_given)
    other = measured(rng)
    assert np.allclose(TableEncoder().fit(other).transform(other)[:, :-1].std(axis=0), 1.0)
    with pytest.raises(ValueError, match="scale='units' is not valid; pass 'auto', True or False"):
        TableEncoder(scale="units").fit(X)


def test_only_columns_of_numbers(rng):
    """Beside categories numbers are standardised; the note says what was done, and how not to."""
    table = pd.DataFrame(answers(rng), columns=list("abcde"))
    quick = {"time_budget": 0, "report": False, "method": "one-class"}
    told = "numbers are not standardised, because columns reach the same largest value, 5"
    assert any(note.startswith(told) for note in fit_table(table, **quick).notes)
    table["kind"] = np.where(rng.random(N) < 0.5, "dog", "cat")
    assert not any("standardised" in note for note in fit_table(table, **quick).notes)
