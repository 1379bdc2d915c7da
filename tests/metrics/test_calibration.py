"""calibration_error against its definition, bin by bin."""

import numpy as np
import pytest

from fewlabels.metrics import calibration_error


def by_hand(y, p, n_bins):
    order = np.argsort(p)
    parts = np.array_split(order, n_bins)
    return sum(len(part) * abs(p[part].mean() - y[part].mean()) for part in parts) / len(y)


@pytest.mark.parametrize("n_bins", [1, 2, 5, 10])
def test_is_its_definition_without_ties(n_bins, rng):
    p = rng.random(400)
    y = (rng.random(400) < p**2).astype(int)
    assert calibration_error(y, p, n_bins) == pytest.approx(by_hand(y, p, n_bins), abs=1e-12)


def test_root_mean_square_is_not_below_the_mean(rng):
    p = rng.random(300)
    y = rng.random(300) < 0.3
    mean, square = (calibration_error(y, p, 6, norm=norm) for norm in ("l1", "l2"))
    parts = np.array_split(np.argsort(p), 6)
    expected = np.sqrt(np.mean([(p[part].mean() - y[part].mean()) ** 2 for part in parts]))
    assert square == pytest.approx(expected, abs=1e-12)
    assert square > mean


def test_right_probabilities_have_nearly_none(rng):
    p = rng.random(100_000)
    y = rng.random(100_000) < p
    assert calibration_error(y, p) < 0.01
    assert calibration_error(~y, p) > 0.3


def test_equal_probabilities_stay_together_whatever_the_order(rng):
    p = rng.choice([0.1, 0.4, 0.8], 200)
    y = rng.random(200) < p
    order = rng.permutation(200)
    error = calibration_error(y, p, 7)
    assert calibration_error(y[order], p[order], 7) == pytest.approx(error, abs=1e-15)
    parts = [p == value for value in (0.1, 0.4, 0.8)]
    expected = sum(part.sum() * abs(p[part][0] - y[part].mean()) for part in parts) / 200
    assert calibration_error(y, p, 100) == pytest.approx(expected, abs=1e-12)


def test_weights_are_repetitions(rng):
    p, weight = rng.random(60), rng.integers(0, 4, 60)
    y = rng.random(60) < p
    repeated = np.repeat(np.arange(60), weight)
    for norm in ("l1", "l2"):
        assert calibration_error(y, p, 5, norm=norm, sample_weight=weight) == pytest.approx(
            calibration_error(y[repeated], p[repeated], 5, norm=norm), abs=1e-12
        )


def test_codings_of_the_positive_class():
    p = [0.9, 0.2, 0.4]
    expected = calibration_error([1, 0, 0], p, 3)
    assert expected == pytest.approx((0.1 + 0.2 + 0.4) / 3)
    assert calibration_error([1, -1, -1], p, 3) == expected
    assert calibration_error([True, False, False], p, 3) == expected
    assert calibration_error(["b", "c", "c"], p, 3, pos_label="b") == expected
    assert calibration_error(["c", "c"], [0.2, 0.4], 1, pos_label="b") == pytest.approx(0.3)
    assert calibration_error([0, 0], [0.2, 0.4], 1) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 1], [0.1, 1.2], {}, "from 0 to 1"),
        ([0, 1], [[0.1, 0.9], [0.2, 0.8]], {}, "one column"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "3 different labels"),
        ([0, np.nan], [0.1, 0.2], {}, "missing labels"),
        ([0, 1], [0.1, 0.2], {"n_bins": 0}, "n_bins=0"),
        ([0, 1], [0.1, 0.2], {"norm": "max"}, "norm='max'"),
        (["a", "a"], [0.1, 0.2], {}, "pass pos_label"),
        ([0, 1], [0.1, 0.2], {"pos_label": 7}, "pos_label=7 is not one of the labels"),
        ([0, 1, 1], [0.1, 0.2], {}, "inconsistent"),
    ],
)
def test_what_is_wrong_is_said(y, p, options, message):
    with pytest.raises(ValueError, match=message):
        calibration_error(y, p, **options)
