"""From scores on folds to intervals, differences and a verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import t as student

# Intervals hold the truth with this confidence.
_CONFIDENCE = 0.9
# Differences below it are rounding.
_TIE = 1e-9


def corrected_error(values, ratio):
    """Standard error of a mean over folds whose training sets overlap.

    ``sqrt((1/J + n_test/n_train) s^2)`` for J folds with variance s^2 (Nadeau & Bengio 2003,
    eq. (9)): scores of folds that share training rows are correlated, and s^2/J is too small.
    ``ratio`` is n_test/n_train.
    """
    return float(np.sqrt((1.0 / len(values) + ratio) * np.var(values, ddof=1)))


def width(n_folds):
    """Half the width of an interval, in standard errors."""
    return float(student.ppf(0.5 + _CONFIDENCE / 2.0, n_folds - 1))


def differences_of(names, scores, errors, n_folds):
    """Table of differences between the first method, which is ours, and the others.

    ``scores`` are means over the same folds, ``errors`` those of the differences to the first.
    """
    difference = scores[0] - np.asarray(scores[1:])
    difference[np.abs(difference) <= _TIE] = 0.0
    error = np.asarray(errors[1:], dtype=float)
    half = width(n_folds) * error if n_folds > 1 else np.full(len(error), np.inf)
    table = pd.DataFrame(
        {
            "name": list(names[1:]),
            "difference": difference,
            "standard_error": error,
            "low": difference - half,
            "high": difference + half,
            "ahead": difference < 0,
            "clear": np.abs(difference) > half,
        }
    )
    return table.sort_values("difference", ignore_index=True, kind="stable")


def judged(differences, score, shown):
    """Outcome, verdict and the names of baselines ahead.

    ``differences`` are of ``differences_of``; ``shown`` tells a score or a difference in words.
    """
    if differences.empty:
        return "unknown", "No baseline could be compared, so nothing is known about it.", []
    ahead = differences[differences["ahead"]]
    clearly = ahead[ahead["clear"]]
    nearest = (clearly if len(clearly) else differences).iloc[0]
    rival = score - nearest["difference"]
    half = nearest["high"] - nearest["difference"]
    gap = f"a difference of {shown(abs(nearest['difference']))} +- {_margin(half, shown)}"
    figures = f"{shown(rival)} against {shown(score)}, {gap}"
    names = list(ahead["name"])
    if len(clearly):
        others = f"; ahead are also {_listed(names[1:])}" if len(names) > 1 else ""
        if nearest["name"] != names[0]:
            others = f"; ahead are {_listed(names)}"
        verdict = (
            f"Worse than a baseline: {nearest['name']} is ahead, {figures}{others}. "
            "Use the baseline, or look for what the machine lacks."
        )
        return "worse", verdict, names
    if names:
        others = f" ({len(names)} baselines are ahead: {_listed(names)})" if len(names) > 1 else ""
        verdict = (
            f"A baseline is ahead, by no more than chance may explain: {nearest['name']}, "
            f"{figures}{others}."
        )
        return "undecided", verdict, names
    if differences["clear"].all():
        verdict = f"Better than {_count(len(differences))}; next is {nearest['name']}: {figures}."
        return "better", verdict, []
    level = int((~differences["clear"]).sum())
    verdict = (
        f"No baseline is ahead, but {_count(level)} cannot be told apart from it by these rows; "
        f"next is {nearest['name']}: {figures}."
    )
    return "undecided", verdict, []


def _margin(half, shown):
    return shown(half) if np.isfinite(half) else "unknown"


def _count(n):
    return f"{n} baseline{'s' * (n != 1)}"


def _listed(names):
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
