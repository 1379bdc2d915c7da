"""Figures of one fit: seconds, memory, quality, and how far it is from the floor."""

from __future__ import annotations

import resource
import sys
import warnings

import numpy as np
from shared.common import PeakMemory, fastest, timed


def quality(scores, predicted, truth, prior):
    """Accuracy and F1 of the method's own decisions, AUC, and accuracy when cut at the prior.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Greater means more likely positive.
    predicted, truth : ndarray of bool of shape (n,)
        Decisions and classes.
    prior : float
        This share of the rows, those with the greatest scores, is positive for the cut.
    """
    from sklearn.metrics import f1_score, roc_auc_score

    # Ties are broken at random, or a constant score would look like a decision.
    order = np.lexsort((np.random.default_rng(0).random(len(scores)), -scores))
    cut = np.zeros(len(scores), dtype=bool)
    cut[order[: round(prior * len(scores))]] = True
    return {
        "accuracy": float(np.mean(predicted == truth)),
        "f1": float(f1_score(truth, predicted, zero_division=0.0)),
        "auc": float(roc_auc_score(truth, scores)) if 0 < truth.sum() < len(truth) else None,
        "accuracy_cut": float(np.mean(cut == truth)),
        "predicted_positive": float(np.mean(predicted)),
    }


def measure_fit(fit, budget):
    """Seconds (the fastest of several calls), memory, warnings, and what ``fit()`` returned.

    ``extra_mb`` is the high-water mark of resident memory during the first call minus
    resident memory before it, ``peak_mb`` the mark itself: the process with its data.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with PeakMemory() as memory:
            first, fitted = timed(fit)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, fits = fastest(fit, first=[first], budget=budget)
    return fitted, {
        "fit_s": seconds, "fits": fits, "extra_mb": memory.extra / 1e6,
        "peak_mb": peak / (1e6 if sys.platform == "darwin" else 1e3),
        "warnings": sorted({f"{w.category.__name__}: {w.message}"[:300] for w in caught}),
    }  # fmt: skip
