"""Best bin, ROC slope, Lee and Liu, penL1, DEDPUL, TIcE against their definitions."""

import numpy as np
import pytest
from scipy.stats import beta

from fewlabels.class_prior import DEDPUL, BestBin, Blanchard, LeeLiu, PenL1
from fewlabels.class_prior.methods.best_bin import tail_shares
from fewlabels.class_prior.methods.lee_liu import _best_threshold
from fewlabels.class_prior.methods.pen_l1 import _PENALTIES, _PRIORS, _divergences
from fewlabels.class_prior.methods.tice import _bound, _find_largest_bound


@pytest.fixture
def scores(rng):
    """Scores with ties, of 30 positive and 200 unlabelled rows."""
    p = np.round(rng.normal(1.0, 1.0, 30), 1)
    u = np.round(rng.normal(0.0, 1.0, 200), 1)
    return p, u


def everything(p, u):
    return (p, u), np.arange(len(p)), np.arange(len(u))


def test_tail_shares(scores):
    p, u = scores
    for c, q_p, q_u in zip(np.unique(p), *tail_shares(p, u), strict=True):
        assert q_p == pytest.approx(np.mean(p >= c)) and q_p > 0
        assert q_u == pytest.approx(np.mean(u >= c))


def test_best_bin(scores):
    p, u = scores
    best = (np.inf, None)
    for c in np.unique(p):
        q_p, q_u = np.mean(p >= c), np.mean(u >= c)
        width = np.sqrt(np.log(40) / (2 * len(u))) + np.sqrt(np.log(40) / (2 * len(p)))
        best = min(best, (q_u / q_p + 1.01 / q_p * width, q_u / q_p))
    assert BestBin()._solve(*everything(p, u)) == pytest.approx(best[1])


def test_blanchard(scores):
    p, u = scores
    ratios = []
    for c in np.unique(p):
        k_p, k_u = np.sum(p >= c), np.sum(u >= c)
        low = beta.ppf(0.1, k_p, len(p) - k_p + 1)
        high = beta.ppf(0.9, k_u + 1, len(u) - k_u) if k_u < len(u) else 1.0
        ratios.append(high / low)
    assert Blanchard()._solve(*everything(p, u)) == pytest.approx(min(ratios))


def test_lee_liu(scores):
    p, u = scores
    best = max(
        (np.mean(p >= c) ** 2 / max(np.mean(u >= c), 0.5 / len(u)), np.mean(u >= c))
        for c in np.unique(p)
    )
    criterion, ratio = _best_threshold(p, u)
    assert criterion == pytest.approx(best[0])
    assert ratio == pytest.approx(best[1] / np.sqrt(best[0] * best[1]))
    assert LeeLiu()._solve(*everything(p, u)) == ratio


def test_pen_l1_by_loops(rng):
    bases_p, bases_u = rng.random((10, 4)), rng.random((15, 4))
    folds_p, folds_u = np.arange(10) % 5, np.arange(15) % 5
    held_out, value = _divergences(bases_p, bases_u, folds_p, folds_u)
    for i, j in ((0, 3), (2, 50), (4, 98)):
        penalty, prior = _PENALTIES[i], _PRIORS[j]
        excess = prior * bases_p.mean(axis=0) - bases_u.mean(axis=0)
        alpha = np.maximum(excess, 0.0) / penalty
        assert value[i, j] == pytest.approx(alpha @ excess - prior + 1.0)
        total = 0.0
        for k in range(5):
            inside = prior * bases_p[folds_p != k].mean(0) - bases_u[folds_u != k].mean(0)
            outside = prior * bases_p[folds_p == k].mean(0) - bases_u[folds_u == k].mean(0)
            total += np.maximum(inside, 0.0) @ outside / penalty / 5
        assert held_out[i, j] == pytest.approx(total)
    assert PenL1(n_bases=5).fit(np.eye(6), [1, 1, 1, 0, 0, 0]).prior_ < 1.0


def test_dedpul_on_disjoint_scores(rng):
    # 30 % of the unlabelled rows score as the positives do, all others far below.
    p = rng.normal(5.0, 1.0, 400)
    u = np.concatenate([rng.normal(5.0, 1.0, 300), rng.normal(-5.0, 1.0, 700)])
    assert DEDPUL()._solve(*everything(p, u)) == pytest.approx(0.3, abs=0.05)


def test_tice_bound_and_tree(rng):
    assert _bound(20, 40, 0.5, 0.1) == pytest.approx(0.5 - np.sqrt(9 * 0.25 / 40))
    # One test splits off a region where 40 % of the rows are labelled, elsewhere none.
    n = 2000
    tests = (np.arange(n) < 1000).astype(np.float32)[:, None]
    labelled = (np.arange(n) < 1000) & (rng.random(n) < 0.4)
    grows = np.arange(n) % 5 == 0
    found = _find_largest_bound(tests, labelled, grows, 0.4)
    region = ~grows & (np.arange(n) < 1000)
    delta = max(0.025, 1 / (1 + 0.004 * 1600))
    assert found == pytest.approx(_bound(labelled[region].sum(), region.sum(), 0.4, delta))
