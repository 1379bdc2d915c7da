"""P-values of ranks: exact, independent, uniform; also with ties and bounded memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from fewlabels.monitoring.ranks import Ranks


def slow_p_values(scores, calibration, seed):
    """The definition, row by row."""
    ties = 1.0 - np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0]))).random(
        len(scores)
    )
    held, found = list(calibration), []
    for score, tie in zip(scores, ties, strict=True):
        below = sum(s < score for s in held)
        equal = sum(s == score for s in held) + 1
        found.append((below + tie * equal) / (len(held) + 1))
        held.append(score)
    return np.array(found)


scores_of = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False)), max_size=60
)


@settings(max_examples=100, deadline=None)
@given(scores_of, scores_of, st.integers(0, 5))
def test_p_values_are_those_of_the_definition(calibration, scores, seed):
    ranks = Ranks(10_000, seed)
    ranks.begin(np.array(calibration))
    found, slots = ranks.p_values(np.array(scores))
    expected = slow_p_values(scores, calibration, seed)
    np.testing.assert_allclose(found, np.minimum(expected, 1.0 - 2.0**-53), rtol=1e-14)
    np.testing.assert_array_equal(ranks.values[slots], scores)


@settings(max_examples=40, deadline=None)
@given(scores_of, st.integers(1, 9), st.integers(2, 30))
def test_bounded_memory_holds_the_scores_of_its_slots(scores, batch, size):
    ranks, again = Ranks(size, 3), Ranks(size, 3)
    together, _ = again.p_values(np.array(scores))
    held = {}
    for start in range(0, len(scores), batch):
        part = np.array(scores[start : start + batch])
        p, slots = ranks.p_values(part)
        np.testing.assert_array_equal(p, together[start : start + batch])
        held |= {slot: s for slot, s in zip(slots, part, strict=True) if slot >= 0}
    assert len(ranks.values) == min(size, len(scores))
    np.testing.assert_array_equal(ranks.values, [held[k] for k in range(len(held))])


def test_many_rows_merge_as_the_definition_says():
    # Enough rows for several merges, with drops of scores old and new.
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 400, 5000).astype(float)
    ranks = Ranks(700, 1)
    drops = np.random.Generator(np.random.PCG64(np.random.SeedSequence([1, 1]))).random(5000)
    p, _ = ranks.p_values(scores)
    ties = 1.0 - np.random.Generator(np.random.PCG64(np.random.SeedSequence([1, 0]))).random(5000)
    held = np.empty(0)
    for k, score in enumerate(scores):
        below, equal = np.sum(held < score), np.sum(held == score) + 1
        assert p[k] == pytest.approx((below + ties[k] * equal) / (len(held) + 1), rel=1e-14)
        if len(held) < 700:
            held = np.append(held, score)
        elif (slot := int(drops[k] * 701)) < 700:
            held[slot] = score


@pytest.mark.parametrize("size", [100_000, 60])
@pytest.mark.parametrize("kind", ["continuous", "ties"])
def test_uniform_and_independent_while_exchangeable(size, kind):
    rng = np.random.default_rng(4)
    pairs = []
    for run in range(600):
        scores = rng.normal(size=80)
        scores = np.round(scores) if kind == "ties" else scores
        ranks = Ranks(size, run)
        ranks.begin(scores[:50])
        pairs.append(ranks.p_values(scores[50:])[0])
    p = np.array(pairs)
    assert kstest(p.ravel(), "uniform").pvalue > 1e-4
    # Of neighbours and of rows far apart, all four quadrants are as frequent.
    for gap in (1, 10):
        together = np.mean((p[:, gap:] < 0.5) & (p[:, :-gap] < 0.5))
        assert abs(together - 0.25) < 0.015
        assert abs(np.corrcoef(p[:, gap:].ravel(), p[:, :-gap].ravel())[0, 1]) < 0.035
