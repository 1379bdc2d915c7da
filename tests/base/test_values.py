"""Conformal, curves and late values."""

import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from fewlabels import OneClassSVM
from fewlabels.base.kernel_estimator import VersionedCache
from fewlabels.calibration.conformal import Conformal
from fewlabels.calibration.curve import Curve, TwoSidedCurve


def calibration(scores, rate=None, **options):
    settings = {"shift": 0.0, "scale": 1.0, "tie": 1e-9, "relative": False} | options
    return Conformal(scores=np.sort(np.asarray(scores, float)), rate=rate, **settings)


# -- Conformal ---------------------------------------------------------------------------------


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.1, 0.5, 0.99])
def test_rejected_rows_are_those_of_small_p_values(rate, relative, rng):
    scores = rng.random(99).round(2)  # ties
    found = calibration(scores, rate, relative=relative, scale=3.0, shift=0.0)
    new = np.concatenate([found.as_scored(rng.random(300).round(2)), found.tie_bounds()[0]])
    rejected = new < found.threshold
    np.testing.assert_array_equal(rejected, found.p_values(new) <= rate * (1 + 1e-12))


def test_p_values_count_rows_that_are_at_most_as_normal():
    found = calibration([1.0, 2.0, 2.0, 3.0])
    assert found.p_values(np.array([0.5, 1.0, 2.0, 9.0])).tolist() == [0.2, 0.4, 0.8, 1.0]
    half = found.smoothed(np.array([0.5, 2.0, 9.0]), np.full(3, 0.5))
    assert half.tolist() == pytest.approx([0.1, 0.5, 0.9])


def test_shift_and_scale_are_those_of_the_machine(rng):
    scores = rng.normal(size=50)
    plain, moved = calibration(scores, 0.1), calibration(scores, 0.1, shift=-2.0, scale=4.0)
    new = rng.normal(size=20)
    np.testing.assert_allclose(moved.p_values(4.0 * new - 2.0), plain.p_values(new))
    assert moved.threshold == pytest.approx(4.0 * plain.threshold - 2.0)
    np.testing.assert_allclose(moved.as_scored(new), 4.0 * new - 2.0)


def test_scores_within_a_tie_are_equal():
    found = calibration([1.0, 2.0], tie=0.1)
    assert found.p_values(np.array([0.95, 1.95])).tolist() == pytest.approx([2 / 3, 1.0])
    relative = calibration([1e-200, 1.0], tie=0.1, relative=True)
    assert relative.p_values(np.array([0.95e-200, 0.8e-200])).tolist() == pytest.approx(
        [2 / 3, 1 / 3]
    )
    # Rows beyond every kernel's reach are as far away as can be told.
    lost = calibration([0.0, 1e-300, 1.0], tie=1e-9, relative=True)
    assert lost.p_values(np.array([0.0, 1e-310])).tolist() == [0.75, 0.75]


def test_too_few_rows_reject_nothing():
    found = calibration(np.arange(9.0), 0.05)
    assert (found.rank, found.threshold) == (0, -np.inf)
    assert calibration(np.arange(19.0), 0.05).rank == 1  # 0.05 * 20 in decimals
    assert calibration([], 0.5).threshold == -np.inf


# -- curves ------------------------------------------------------------------------------------


def test_curve_is_the_sigmoid_or_the_mean_with_an_increasing_function():
    f = np.array([-3.0, 0.0, 0.5, 4.0])
    sigmoid = Curve(2.0, -0.5)
    np.testing.assert_allclose(sigmoid(f)[:, 1], expit(2 * f - 0.5))
    both = Curve(2.0, -0.5, np.array([0.0, 1.0]), np.array([0.2, 0.6]), "isotonic")
    np.testing.assert_allclose(
        both(f)[:, 1], 0.5 * (expit(2 * f - 0.5) + np.array([0.2, 0.2, 0.4, 0.6]))
    )
    for curve in (sigmoid, both):
        np.testing.assert_allclose(curve(f).sum(axis=1), 1.0, atol=1e-15)


def test_several_sigmoids_are_averaged():
    curve, f = Curve(np.array([2.0, 1.0]), np.array([-0.5, 0.0])), np.array([-1.0, 0.5, 3.0])
    expected = 0.5 * (expit(2 * f - 0.5) + expit(f))
    np.testing.assert_allclose(curve(f), np.column_stack([1.0 - expected, expected]))


def test_two_sided_curve_has_a_slope_on_either_side():
    curve = TwoSidedCurve(2.0, np.array([3.0, 1.0]))
    f = np.array([-4.0, 0.0, 4.0])
    np.testing.assert_allclose(curve(f)[:, 1], expit([-2.0, 0.0, 6.0]))
    lower = replace(curve, level=-1.0)
    np.testing.assert_allclose(lower(f)[:, 1], expit([-3.0, -1.0, 5.0]))
    np.testing.assert_allclose(curve(f).sum(axis=1), 1.0, atol=1e-15)


# -- late values -------------------------------------------------------------------------------


def test_a_value_is_computed_once_per_version():
    late, calls = VersionedCache(), []
    for version in (0, 0, 1, 1):
        late.get("it", version, lambda: calls.append(0))
    assert len(calls) == 2


def test_values_may_be_known_put_and_replaced():
    late = VersionedCache({"it": (3, "three")})
    assert late.get("it", 3, lambda: "new") == "three"
    assert (late.peek("it", 4), late.latest("it"), late.latest("other")) == (None, "three", None)
    late.store("it", 4, "four")
    assert late.peek("it", 4) == "four"
    other = late.with_value("it", 4.0)
    assert (other.peek("it", 4), late.peek("it", 4)) == (4.0, "four")


def test_nothing_is_kept_of_what_failed():
    late = VersionedCache()
    with pytest.raises(ZeroDivisionError):
        late.get("it", 0, lambda: 1 / 0)
    assert late.get("it", 0, lambda: "right") == "right"


def test_one_thread_computes_and_the_others_wait(rng):
    # The model's lock sees to it: whoever asks late gets what the first one has computed.
    model = OneClassSVM(nu=0.2, target_fpr=0.1, calibration="leave-one-out").fit(
        rng.normal(size=(200, 2))
    )
    barrier, found = threading.Barrier(8), []

    def ask():
        barrier.wait()
        found.append(model.conformal_)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(map(id, found))) == 1


def test_one_value_may_ask_for_another():
    late = VersionedCache()
    assert late.get("sum", 0, lambda: 1 + late.get("one", 0, lambda: 1)) == 2


def test_pickles_keep_what_is_known():
    late = pickle.loads(pickle.dumps(VersionedCache({"it": (2, [1])})))
    assert late.peek("it", 2) == [1]
    assert late.get("new", 0, lambda: 5) == 5
