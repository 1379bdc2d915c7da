"""The projection of KM1 and KM2 against an independent QP, and their curve."""

import numpy as np
import pytest
from reference import solve_qp

from fewlabels.class_prior import KM1, KM2
from fewlabels.class_prior.methods.kernel_mean import _Distance


@pytest.fixture
def curve(rng):
    X = rng.normal(size=(60, 3))
    X[:35, 0] += 2.0
    K = np.exp(-0.3 * np.sum((X[:, None] - X) ** 2, axis=2))
    component, mixture = np.zeros(60), np.zeros(60)
    component[:20], mixture[20:] = 1 / 20, 1 / 40
    return _Distance(K, component, mixture)


def reference_distance(curve, value):
    K, n = curve.K, len(curve.K)
    point = value * curve.mixture + (1 - value) * curve.component
    slope = -K @ point
    zero = np.zeros(n)
    w, _ = solve_qp(K, (zero, zero, np.full(n, np.inf), slope, slope), 1.0)
    return np.sqrt((point - w) @ K @ (point - w))


@pytest.mark.parametrize("value", [1.05, 1.5, 2.5, 6.0])
def test_distance_is_that_of_a_quadratic_programme(curve, value):
    assert curve.distance(value) == pytest.approx(reference_distance(curve, value), abs=2e-5)


@pytest.mark.parametrize("value", [1.5, 3.0])
def test_slope_is_the_derivative(curve, value):
    step = 1e-3
    quotient = reference_distance(curve, value + step) - reference_distance(curve, value - step)
    assert curve.slope(value) == pytest.approx(quotient / (2 * step), rel=5e-3)


def test_curve_is_convex_from_zero(curve):
    assert curve.distance(1.0) == pytest.approx(0.0, abs=2e-3)
    slopes = [curve.slope(v) for v in (1.1, 1.4, 2.0, 4.0, 9.0)]
    assert np.all(np.diff(slopes) > -1e-3)
    assert slopes[-1] <= curve.distance_of_means * (1 + 1e-9)


def test_indistinguishable_samples_mean_that_all_are_positive(rng):
    X = rng.normal(size=(10, 2))
    X, y = np.concatenate([X, X]), np.repeat([1, 0], 10)
    for cls in (KM1, KM2):
        assert cls().fit(X, y).prior_ > 0.9
