"""From scores on folds to intervals, differences and a verdict."""

import numpy as np
import pandas as pd
from scipy.stats import t as student

# Intervals hold the truth with this confidence.
_CONFIDENCE = 0.9
# Differences below it are rounding.
_TIE = 1e-9
# Beyond half of all that scores can differ by, an interval tells nothing.
_UNKNOWN = 0.5


def corrected_error(values, ratio):
    """Standard errors of means over folds, by row; infinite with one fold.

    ``sqrt((1/J + n_test/n_train) s^2)`` for J folds with variance s^2, as folds share training
    rows (Nadeau & Bengio 2003, eq. (9)); ``ratio`` is n_test/n_train.
    """
    n_folds = values.shape[-1]
    if n_folds < 2:
        return np.full(len(values), np.inf)
    return np.sqrt((1.0 / n_folds + ratio) * np.var(values, axis=-1, ddof=1))


def width(n_folds):
    """Half the width of an interval, in standard errors; infinite with one fold."""
    return float(student.ppf(0.5 + _CONFIDENCE / 2.0, n_folds - 1)) if n_folds > 1 else np.inf


def differences_of(names, scores, errors, n_folds):
    """Table of differences in mean score, with errors, between the first method and others."""
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
    """Outcome, verdict and the baselines ahead; ``shown`` tells scores and differences."""
    if differences.empty:
        return "unknown", "No baseline could be compared, so nothing is known about it.", []
    ahead = differences[differences["ahead"]]
    clearly = ahead[ahead["clear"]]
    nearest = (clearly if len(clearly) else differences).iloc[0]
    half = nearest["high"] - nearest["difference"]
    figures = f"{shown(score - nearest['difference'])} against {shown(score)}"
    if half > _UNKNOWN:
        figures += ", and too few rows were held out to tell how far they are apart"
    elif np.isfinite(half):
        figures += f", a difference of {shown(abs(nearest['difference']))} +- {shown(half)}"
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
        others = f" ({len(names)} are ahead: {_listed(names)})" if len(names) > 1 else ""
        verdict = (
            f"Another method did better here, but chance may explain it: {nearest['name']}, "
            f"{figures}{others}."
        )
        return "undecided", verdict, names
    level = int((~differences["clear"]).sum())
    count = f"{level or len(differences)} baseline{'s' * ((level or len(differences)) != 1)}"
    if not level:
        return "better", f"Better than {count}; next is {nearest['name']}: {figures}.", []
    verdict = (
        f"No baseline is ahead, but {count} cannot be told apart from it by these rows; "
        f"next is {nearest['name']}: {figures}."
    )
    return "undecided", verdict, []


def _listed(names):
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
