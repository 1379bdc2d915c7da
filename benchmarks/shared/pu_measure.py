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


def certificate(model):
    """What a fitted PUSVM says about itself."""
    return {
        "n_sv": len(model.support_), "objective": model.objective_,
        "relative_gap": model.duality_gap_ / abs(model.objective_),
        "n_iter": model.n_iter_, "rounds": len(model.history_),
        "converged": model.fit_status_ == 0,
    }  # fmt: skip


def floor(model, draw):
    """What evaluating the support vectors' columns over the unlabelled rows once would cost.

    Every exact solver needs ``n_U * n_SV`` kernel values. Seconds per value come from our
    own product of kernel columns with coefficients, on the same rows in the same process.
    With the linear kernel the floor is that product for all support vectors, O((n_U + n_SV) d).
    """
    from fewlabels._util.threads import resolve_n_jobs
    from fewlabels.kernels import RBF, Linear
    from fewlabels.kernels.operators import make_gram

    linear = model.kernel == "linear"
    X = draw.X[draw.n_positive :]
    kernel = Linear() if linear else RBF(model.gamma_)
    gram = make_gram(kernel, X, n_jobs=resolve_n_jobs(None), min_support=1.0)
    rng = np.random.default_rng(1)
    columns = model.support_[model.support_ >= draw.n_positive] - draw.n_positive
    if not linear:
        columns = rng.permutation(columns)[: max(1, min(1024, 200_000_000 // len(X)))]
    columns = np.sort(columns).astype(np.intp)
    coef, out = rng.normal(size=len(columns)), np.zeros(len(X))
    gram.apply(columns, coef, out)
    seconds, _ = fastest(lambda: gram.apply(columns, coef, out), budget=1.0, most=50)
    if linear:
        return {"floor_s": seconds}
    per_value = seconds / (len(columns) * len(X))
    needed = len(X) * len(model.support_)
    answer = {"ns_per_value": 1e9 * per_value, "floor_s": per_value * needed}
    if model.history_ and "kernel_values" in model.history_[-1]:
        # The solver does not count the columns of the labelled rows.
        evaluated = model.history_[-1]["kernel_values"] + len(X) * draw.n_positive
        answer["values_over_floor"] = evaluated / needed
    return answer


def exponent(n, seconds, least=0.02, most_points=5):
    """Slope of log seconds over log n, on the largest sizes; None with fewer than three.

    Parameters
    ----------
    least : float
        Shorter fits, which measure the overhead of a call, are left out.
    """
    points = sorted((a, b) for a, b in zip(n, seconds, strict=True) if b >= least)
    points = points[-most_points:]
    if len(points) < 3:
        return None
    x, y = np.log(points).T
    return float(np.polyfit(x, y, 1)[0])
