"""Estimates for all rows from a random sample of rows; plain numbers in and out."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._typing import FloatArray, IntArray
from ..metrics.intervals import counted_interval

LEVEL = 0.95
# Answers whose effect on the predictions the advice to stop depends on.
_N_RECENT_ANSWERS = 20
# Labels of random rows that the advice needs.
_MIN_RANDOM_LABELS = 20
# Share of changed predictions up to which labelling may stop.
_MAX_CHANGED_SHARE = 0.01


class Share(NamedTuple):
    """A share: ``hits`` of ``n``, and its interval at 95 %."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        return self.hits / self.n if self.n else None

    def as_plain(self) -> dict[str, float | None]:
        """Return plain values for JSON."""
        return {
            "count": self.hits,
            "n": self.n,
            "low": self.low,
            "high": self.high,
            "value": self.value,
        }


def estimate_share(hits: int, n: int, n_trained: float = np.inf) -> Share:
    """Estimate the share of ``hits`` among ``n`` random rows, with its Clopper-Pearson interval.

    It holds for any share and any n: at least 95 of 100 such intervals hold the true share.

    ``n_trained``: of errors by models that were each fitted to so many labels. What another
    draw of these would change adds 1 / n_trained to 1 / n in the variance (Nadeau and Bengio
    2003), so the interval is as for so many rows less.
    """
    weight = 1.0 / (1.0 + n / n_trained)
    return Share(int(hits), int(n), *counted_interval(weight * hits, weight * n, LEVEL))


def estimate_shares(labels: Sequence[str], names: Iterable[str]) -> dict[str, Share]:
    """Estimate the share of every name from the labels of random rows."""
    return {
        name: estimate_share(sum(one == name for one in labels), len(labels)) for name in names
    }


class PositiveList(NamedTuple):
    """Rows of a class, the likeliest first, of which at most ``rate`` are expected to be wrong."""

    rows: list[int]
    rate: float
    why: str


def list_positives(
    scores: FloatArray,
    candidates: IntArray,
    sample_scores: npt.ArrayLike,
    sample_positive: npt.ArrayLike,
    n_rows: int,
    rate: float,
) -> PositiveList:
    """List candidates by score, as many as keep the false discovery rate below ``rate``.

    The random sample tells how many rows of other classes lie above each score: its negatives
    there, and one more, so that few rows are no proof, times ``n_rows`` over the sample's size.
    ``sample_scores`` come from models without the row.
    """
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    n = np.size(sample_scores)
    if not n or not len(order):
        return PositiveList([], rate, "no rows drawn at random yet")
    negatives = np.sort(np.asarray(sample_scores)[~np.asarray(sample_positive, bool)])
    above = len(negatives) - np.searchsorted(negatives, scores[order], side="left")
    wrong = (above + 1.0) / (n + 1.0) * n_rows
    found = np.flatnonzero(wrong / np.arange(1, len(order) + 1) <= rate)
    length = int(found[-1]) + 1 if len(found) else 0
    if not length:
        return PositiveList([], rate, f"too few random rows ({n}) for such a bound")
    return PositiveList(order[:length].tolist(), rate, "")


class Advice(NamedTuple):
    """Advice to stop or to continue, with its reason in a sentence."""

    stop: bool
    words: str


def advise_stopping(changed: float | None, n_random: int, error: Share | None) -> Advice:
    """Advise whether twenty more labels are likely to be worth their time.

    ``changed`` is the share of predictions that differs from twenty answers ago (None:
    not known), ``error`` a ``Share`` over random rows.
    """
    if changed is None or n_random < _MIN_RANDOM_LABELS:
        needed = (
            f"{_MIN_RANDOM_LABELS} labels of random rows"
            if n_random < _MIN_RANDOM_LABELS
            else f"{_N_RECENT_ANSWERS} labels"
        )
        return Advice(False, f"Too early to tell; this needs {needed} with two classes.")
    words = f"The last {_N_RECENT_ANSWERS} labels changed {100 * changed:.2g} % of the predictions"
    if changed > _MAX_CHANGED_SHARE:
        return Advice(False, f"{words}: keep labelling.")
    assert error is not None
    at_most = 100 * min(changed, error.high)
    return Advice(
        True,
        f"{words}, so the next {_N_RECENT_ANSWERS} will probably lower the error by at most "
        f"{at_most:.2g} points. This is a good time to stop.",
    )
