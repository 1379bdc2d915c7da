"""Scores of rows by models of one class that were not trained on them."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp

from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS, Deadline
from .._util.messages import ref
from ..kernels.operators.expansion import extend_tail
from .conformal import DECIMALS
from .leave_one_out import LeftOutStream, decisions_without, sums_without

# "auto" leaves single rows out where that takes seconds: always up to here, ...
_FEW_ROWS = 1000
# ... and up to here when not more than so many rows have to be forgotten and put back.
_MANY_ROWS, _FEW_SUPPORT = 10_000, 1000
# Rows left out before the clock is looked at.
_AT_FIRST = 50
# Rows that a split holds out, in units of 1 / rate: the rate that a single split ends at
# deviates from it by a tenth, and more rows are better used for training.
_HELD_OUT = 100
# Tells the random numbers that break ties from others of the same seed.
_TIES = 0x7135
# Shares of whole numbers of rows may be whole in decimals only.
_DECIMALS = 1e-9


def is_split(calibration: str, is_matrix: bool, n: int, n_support: int | None = None) -> bool:
    """Return whether to hold rows out of training; ``n_support`` is None before it is known."""
    if calibration != "auto":
        return calibration == "split"
    if is_matrix or n > _MANY_ROWS:
        return True
    return n > _FEW_ROWS and n_support is not None and n_support > _FEW_SUPPORT


def draw_held_out(n: int, rate: float, seed: int, anomaly: BoolArray | None = None) -> BoolArray:
    """Choose the rows to hold out, none of those in the mask ``anomaly``; return their mask."""
    held_out, normal = np.zeros(n, bool), None if anomaly is None else np.flatnonzero(~anomaly)
    n = n if normal is None else len(normal)
    size = min(n // 2, int(np.ceil(_HELD_OUT / rate)))
    chosen = np.random.default_rng(seed).permutation(n)[:size]
    held_out[chosen if normal is None else normal[chosen]] = True
    return held_out


class Decision(Protocol):
    """A function that a model has learned, cut at its boundary."""

    boundary: float

    def __call__(self, X: RowMatrix) -> FloatArray: ...


class Redraw(NamedTuple):
    """How an update keeps a split: only normal rows calibrate, a ``share`` of them.

    ``marks`` say which rows of a stream calibrate, ``anomaly`` which are confirmed anomalies, both
    before the update.
    """

    marks: BoolArray
    anomaly: BoolArray
    share: float
    rng: np.random.Generator

    @classmethod
    def for_stream(cls, stream: LeftOutStream, share: float | None, seed: int) -> Self | None:
        """Make the redraw of a stream's next update; None without a split.

        Versions of a stream never repeat.
        """
        marks = held_out_marks(stream)
        if marks is None or share is None:
            return None
        rng = np.random.default_rng([seed, stream.version])
        return cls(marks, stream.marks.mask[stream.rows.alive], share, rng)

    def among_new(self, n: int, anomaly: BoolArray | None = None) -> BoolArray:
        """Choose rows to calibrate with among n that arrive, none of those in ``anomaly``."""
        normal, chosen = np.ones(n, bool) if anomaly is None else ~anomaly, np.zeros(n, bool)
        marks = self.marks[~self.anomaly]
        chosen[normal] = draw_among_new(marks, self.share, int(normal.sum()), self.rng)
        return chosen

    def without(self, indices: IntArray) -> IntArray:
        """Choose rows that switch between calibration and training when others go."""
        left = np.setdiff1d(np.flatnonzero(~self.anomaly), indices)
        return left[draw_switching(self.marks[left], self.share, self.rng)]

    def after(self, anomaly: BoolArray) -> IntArray:
        """Choose rows that switch once ``anomaly`` are marked; rows that become normal train."""
        normal = np.flatnonzero(~anomaly)
        return normal[draw_switching(self.marks[normal], self.share, self.rng)]


def draw_among_new(
    marks: BoolArray, share: float, n_new: int, rng: np.random.Generator
) -> BoolArray:
    """Choose rows to calibrate with among ``n_new`` that arrive; return their mask.

    Their number brings the split back to ``share`` as nearly as it can, rounded up or down at
    random. Which rows they are is drawn as well, and depends on no score.
    """
    wanted = share * (len(marks) + n_new)
    number = np.floor(wanted + _DECIMALS)
    number += rng.uniform() < wanted - number
    size = int(np.clip(number - marks.sum(), 0, n_new))
    chosen = np.zeros(n_new, bool)
    chosen[rng.permutation(n_new)[:size]] = True
    return chosen


def draw_switching(marks: BoolArray, share: float, rng: np.random.Generator) -> IntArray:
    """Choose rows that change between calibration and training, after others have gone.

    As few as bring the split within one row of ``share``, none if it is there already. They are
    drawn at random, so that the set that calibrates depends on no score.
    """
    n, held = len(marks), int(marks.sum())
    wanted = share * n
    least = max(0, int(np.ceil(wanted - 1.0 - _DECIMALS)))
    most = max(0, min(int(np.floor(wanted + 1.0 + _DECIMALS)), n - 1))
    kind = np.flatnonzero(marks if held > most else ~marks)
    return rng.permutation(kind)[: max(0, held - most, least - held)]


def numbers_after(used: int, n: int, seed: int) -> FloatArray:
    """Return n numbers in (0, 1] that break ties, after the ``used`` ones of their sequence."""
    bits = np.random.PCG64([seed, _TIES]).advance(used)
    return 1.0 - np.random.Generator(bits).random(n)


def held_out_marks(stream: LeftOutStream) -> BoolArray | None:
    """Return the mask of the rows that were held out; None if all were trained on."""
    marks = stream.rows.get("calibrates")
    return None if marks is None else marks[stream.rows.alive]


def held_rows(stream: LeftOutStream, places: IntArray) -> RowMatrix:
    """Return rows of a stream as a function takes them."""
    rows = stream.rows.rows(places)
    return sp.csr_array(rows) if sp.issparse(rows) else rows


def normal_places(stream: LeftOutStream) -> IntArray:
    """Return the places of the rows of a stream that aren't confirmed anomalies."""
    places = stream.rows.places
    return places[~stream.marks.mask[places]]


def left_out_decisions(stream: LeftOutStream, places: IntArray, function: Decision) -> FloatArray:
    """Decide about rows at places, each by the model of all other rows.

    Rows that have no part in any are decided by ``function``.
    """
    out = ~stream.takes()[places]
    values = np.empty(len(places))
    values[~out] = decisions_without(stream, places[~out])
    if out.any():
        values[out] = function(held_rows(stream, places[out])) - function.boundary
    return values


def scores_left_out(
    stream: LeftOutStream,
    self_weight: float,
    score: Callable[[RowMatrix], FloatArray],
    tail: float = 0.0,
    deadline: Deadline = ENDLESS,
    fewest: int = 1,
) -> tuple[IntArray, FloatArray]:
    """Return places of normal rows of a stream, and scores by the models of all other rows.

    On no model's scale; ``score`` scores rows that have no part, ``self_weight`` is
    the weight of K(x, x), and below ``tail`` scores are in log scale. With a deadline as many
    rows as there is time for, drawn at random, and not less than ``fewest``.
    """
    places = normal_places(stream)
    if len(places) == 1 and stream.takes()[places].all():
        return places[:0], np.zeros(0)
    stream.check_removable(places)
    if not deadline.has_end:
        return places, _scores_at(stream, places, self_weight, score, tail)
    n, size = len(places), max(_AT_FIRST, fewest)
    found: list[tuple[IntArray, FloatArray]] = []
    places = np.random.default_rng(n).permutation(places)
    while len(places) and not (found and deadline.is_over()):
        seconds = deadline.left()
        part, places = np.sort(places[:size]), places[size:]
        found.append((part, _scores_at(stream, part, self_weight, score, tail)))
        left = deadline.left()
        pace = len(part) / max(seconds - left, 1e-6)
        size = max(_AT_FIRST, int(min(2 * len(part), pace * left)))
    if len(places):
        deadline.cut.append(
            f"only {n - len(places)} of {n} training rows were used for calibration"
        )
    parts, scores = zip(*found, strict=True)
    return np.concatenate(parts), np.concatenate(scores)


def _scores_at(
    stream: LeftOutStream,
    places: IntArray,
    self_weight: float,
    score: Callable[[RowMatrix], FloatArray],
    tail: float,
) -> FloatArray:
    """Return scores of rows at some places."""
    out = ~stream.takes()[places]
    scores = np.empty(len(places))
    scores[~out] = extend_tail(sums_without(stream, places[~out]), tail)
    if self_weight:
        scores[~out] -= self_weight * stream.rows["diagonal"][places[~out]]
    if out.any():
        scores[out] = score(held_rows(stream, places[out]))
    return scores


def few_rows_message(rate: float, n: int) -> str:
    """Return the warning that ``n`` calibration rows are too few for any row to be rejected."""
    fewest = int(np.ceil((1.0 - DECIMALS) / rate)) - 1
    least = 1.0 / (n + 1)
    digit = 10.0 ** (np.floor(np.log10(least)) - 1.0)
    least = digit * np.ceil((1.0 - DECIMALS) * least / digit)
    return (
        f"{ref('target_fpr', rate)} needs at least {fewest} calibration rows and there are {n}, "
        "so no row will be rejected; pass more rows"
        + (f", or a target_fpr of at least {least:.2g}." if n else ".")
    )
