"""Two conventions of the prior, each from the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabels.class_prior import pooled_from_unlabeled, unlabeled_from_pooled

COUNTS = st.integers(1, 10**7)


def test_by_hand():
    # 100 labelled, 900 unlabelled of which 360 are positive: 460 of 1000.
    assert pooled_from_unlabeled(0.4, 100, 900) == pytest.approx(0.46, abs=1e-15)
    assert unlabeled_from_pooled(0.46, 100, 900) == pytest.approx(0.4, abs=1e-15)


@given(st.floats(0, 1), COUNTS, COUNTS)
def test_there_and_back(prior, n_positive, n_unlabeled):
    pooled = pooled_from_unlabeled(prior, n_positive, n_unlabeled)
    assert 0.0 <= pooled <= 1.0
    # The labelled positives crowd out the rest: digits are lost in this proportion.
    lost = 1e-15 * (n_positive + n_unlabeled) / n_unlabeled
    back = unlabeled_from_pooled(pooled, n_positive, n_unlabeled)
    assert back == pytest.approx(prior, abs=4 * lost)


def test_impossible_shares_are_refused():
    with pytest.raises(ValueError, match="labelled positives alone are"):
        unlabeled_from_pooled(0.05, 100, 900)
    for bad in (-0.1, 1.1, float("nan"), "0.5"):
        for function in (pooled_from_unlabeled, unlabeled_from_pooled):
            with pytest.raises(ValueError, match=r"pass a number in \[0, 1\]"):
                function(bad, 10, 10)
    for counts in ((0, 10), (10, 0), (10, 2.5)):
        with pytest.raises(ValueError, match="an integer > 0"):
            pooled_from_unlabeled(0.5, *counts)
