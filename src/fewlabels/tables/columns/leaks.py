"""Columns that tell labelled from unlabelled rows: they came with the labels, and go with them.

A reviewer, a closing code or a copy of the label is there for labelled rows only. Held-out labels
can't show that, since they have it as well. Unlabelled rows can: they are rows of the same classes
whose labels happen to be unknown. What their cells hold is therefore a mixture of what the cells
of the labelled classes hold, whatever the shares of the classes, and however many rows of each
class were labelled. A column is left out in two cases:

- The unlabelled rows are no mixture of the labelled classes. They are blank, or hold the same few
  values, far more often than the labelled rows of *every* class (or hold none of the values of
  labelled rows).
- A class has next to no rows among the unlabelled ones. Its labelled rows hold values that no
  unlabelled row holds, so that the class would be labelled nearly completely. Numbers that differ
  from one another show that only next to unlabelled rows that all hold the same few values.

The first case needs two or more classes: unlabelled rows beside a class of positives may differ
from these in any way. Both are exact tests, with a level that many columns can share.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import bdtrc, gammaln

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray
from ..._util.messages import listing, plural
from .column import format_number
from .values import ColumnValues

# Level of the tests.
_LEVEL = 1e-3
# Level of the second case if few rows of the class differ.
_STRICT_LEVEL = 1e-4
# How much more often unlabelled rows have to be blank than the rows of each class.
_MIN_SHARE_GAP = 0.5
# Share of the unlabelled rows that have to hold a few values for these to be a placeholder.
_MIN_PLACEHOLDER_SHARE = 0.95
# Values that a placeholder has at most.
_MAX_PLACEHOLDER_VALUES = 3
# More different values than this share of the unlabelled rows are measurements or names.
_MAX_DISTINCT_SHARE = 0.25
# The second case. Stray cells of unlabelled rows, as a share of the labelled rows' cells.
_MAX_STRAY_SHARE = 0.02
# Share of a class that has to differ from all unlabelled rows, unless these are blank.
_MIN_DIFFERING_SHARE = 0.8
# Largest share of a class that is believed to be labelled if many of its rows differ, or few.
_MAX_LABELLED = 0.25
_MAX_LABELLED_IF_FEW_DIFFER = 0.5
# Unlabelled rows of a matrix that are looked at.
_MAX_UNLABELLED_ROWS = 5000


class _ValueSet(NamedTuple):
    """A set of values that unlabelled rows may consist of: which ones it holds.

    ``log_tries`` is the logarithm of how many sets it was chosen from with a look at the labelled
    rows; ``is_blank``: whether it is all blank cells.
    """

    holds: BoolArray
    log_tries: float = 0.0
    is_blank: bool = False


class LabelledRows:
    """Labels of rows by class; ``known`` are codes, -1 for unlabelled rows."""

    def __init__(self, known: AnyArray) -> None:
        is_labelled = known >= 0
        self._rows = np.flatnonzero(is_labelled)
        self._class_codes = np.unique(known[is_labelled], return_inverse=True)[1]
        self._sizes = np.bincount(self._class_codes)
        self._n_labelled = len(self._rows)
        self._n_unlabelled = len(known) - self._n_labelled
        # If labels are a random sample, so large a share of every class has one, and at most this.
        share = self._n_labelled / max(1, len(known))
        self._max_labelled_share = min(1.5 * share, 0.5 + 0.5 * share)

    def explain_leak(self, column: ColumnValues) -> str:
        """Return why a column seems to have come with the labels, "" for other columns."""
        counts = column.counts
        if not (self._n_labelled and self._n_unlabelled) or self._can_skip(len(column), counts):
            return ""
        keys, places = _fold_values(column.values)
        blank = len(keys)
        labelled = np.zeros((len(self._sizes), blank + 1), dtype=np.intp)
        # A blank cell has the last place.
        own = np.append(places, blank)[column.positions(self._rows)]
        np.add.at(labelled, (self._class_codes, own), 1)
        total = np.bincount(places, counts, minlength=blank + 1).astype(np.intp)
        total[blank] = column.missing
        unlabelled = total - labelled.sum(axis=0)
        usual = _frequent_sets(unlabelled)
        every = _absent_values(labelled.sum(axis=0), unlabelled)
        for value_set in (*usual, every):
            if self._is_no_mixture(value_set, labelled, unlabelled):
                return self._describe(
                    value_set, labelled.sum(axis=0), "labelled rows", unlabelled, keys
                )
        # Measurements of a rare class may all lie where no others do.
        are_texts = keys.dtype.kind == "O"
        for class_counts in labelled:
            other = _absent_values(class_counts, unlabelled)
            for value_set in (*usual, other) if are_texts or not other.log_tries else usual:
                if self._is_missing(value_set, class_counts, unlabelled):
                    rows = "labelled rows" if len(labelled) == 1 else "rows of a class"
                    return self._describe(value_set, class_counts, rows, unlabelled, keys)
        return ""

    def _can_skip(self, n_rows: int, counts: IntArray) -> bool:
        """Return whether counts alone show that no test can reject, as for most measurements.

        There are so many different values that labelled rows lack most of them, few cells are
        blank, and no values are frequent.
        """
        n, blank = self._n_unlabelled, n_rows - int(counts.sum())
        if len(counts) <= _MAX_DISTINCT_SHARE * n or blank >= min(
            _MIN_SHARE_GAP * n, self._sizes.min()
        ):
            return False
        frequent = np.sort(counts)[-_MAX_PLACEHOLDER_VALUES:]
        return bool(frequent.sum() + blank < _MIN_PLACEHOLDER_SHARE * n)

    def _is_no_mixture(
        self, value_set: _ValueSet, labelled: IntArray, unlabelled: IntArray
    ) -> bool:
        """Return whether unlabelled rows hold these values far more often than any class."""
        if len(labelled) < 2:
            return False
        inside = labelled[:, value_set.holds].sum(axis=1)
        n_inside = int(unlabelled[value_set.holds].sum())
        share = n_inside / self._n_unlabelled
        if share - (inside / self._sizes).max() < _MIN_SHARE_GAP:
            return False
        if not value_set.is_blank and share < _MIN_PLACEHOLDER_SHARE:
            return False
        chances = [
            _log_chance(int(k), int(n), n_inside, self._n_unlabelled)
            for k, n in zip(inside, self._sizes, strict=True)
        ]
        return max(chances) + value_set.log_tries < np.log(_LEVEL)

    def _is_missing(
        self, value_set: _ValueSet, class_counts: IntArray, unlabelled: IntArray
    ) -> bool:
        """Return whether a class with other values than these has no unlabelled rows."""
        outside = class_counts[~value_set.holds]
        if (
            value_set.log_tries
        ):  # what occurs once may be one of many values that unlabelled rows hold too
            outside = outside[outside > 1]
        n_outside, n_stray = int(outside.sum()), int(unlabelled[~value_set.holds].sum())
        if not n_outside or n_stray > _MAX_STRAY_SHARE * n_outside:
            return False
        are_most = n_outside >= _MIN_DIFFERING_SHARE * class_counts.sum()
        if not are_most and not value_set.is_blank:
            return False
        level, share = (
            (_LEVEL, _MAX_LABELLED) if are_most else (_STRICT_LEVEL, _MAX_LABELLED_IF_FEW_DIFFER)
        )
        chance = bdtrc(n_outside - 1, n_outside + n_stray, max(share, self._max_labelled_share))
        return bool(np.log(max(chance, 1e-300)) + value_set.log_tries < np.log(level))

    def _describe(
        self,
        value_set: _ValueSet,
        class_counts: IntArray,
        rows: str,
        unlabelled: IntArray,
        keys: AnyArray,
    ) -> str:
        """Return the reason as a clause: the counts, and their meaning."""
        blank, n_known = len(keys), f"{int(class_counts.sum()):,} {rows}"
        n_inside = int(unlabelled[value_set.holds].sum())
        n_own = int(class_counts[value_set.holds].sum())
        n_others = f"{plural(self._n_unlabelled, 'unlabelled row')}"
        held = np.flatnonzero(value_set.holds)
        if value_set.is_blank:
            seen = f"blank in {n_inside:,} of {n_others} but in {n_own:,} of {n_known}"
        elif len(held) <= _MAX_PLACEHOLDER_VALUES and not value_set.log_tries:
            names = ["" if k == blank else _format_key(keys[k]) for k in held]
            seen = f"{listing(names)} in {n_inside:,} of {n_others} but in {n_own:,} of {n_known}"
        elif class_counts[blank] == class_counts.sum():
            seen = f"blank in {n_known} but in {int(unlabelled[blank]):,} of {n_others}"
        else:
            n_same = self._n_unlabelled - n_inside
            seen = f"the values of {n_known} are in {n_same:,} of {n_others}"
        return f"{seen}, so it seems to come with the label"


def find_matrix_leaks(X: AnyArray, known: AnyArray) -> dict[int, str]:
    """Return the reasons for columns of a dense matrix that came with the labels, by position.

    Of very many unlabelled rows some are compared.
    """
    free = np.flatnonzero(known < 0)
    step = -(-len(free) // _MAX_UNLABELLED_ROWS)
    rows = np.sort(np.concatenate([np.flatnonzero(known >= 0), free[:: max(1, step)]]))
    labelled, found = LabelledRows(known[rows]), {}
    for k in range(X.shape[1]):
        column = np.asarray(X[rows, k], float)
        if why := labelled.explain_leak(ColumnValues(pa.array(column))):
            found[k] = why
    return found


def _frequent_sets(unlabelled: IntArray) -> list[_ValueSet]:
    """Return sets of few values that unlabelled rows consist of, regardless of labelled rows."""
    n, blank = unlabelled.sum(), len(unlabelled) - 1
    order, found = np.argsort(-unlabelled, kind="stable"), []
    if unlabelled[blank] >= _MIN_SHARE_GAP * n:
        found.append(_ValueSet(np.arange(blank + 1) == blank, is_blank=True))
    for size in range(1, _MAX_PLACEHOLDER_VALUES + 1):
        some = order[:size]
        if unlabelled[some].sum() >= _MIN_PLACEHOLDER_SHARE * n:
            if not (found and size == 1):
                found.append(_ValueSet(np.isin(np.arange(blank + 1), some)))
            break
    return found


def _absent_values(class_counts: IntArray, unlabelled: IntArray) -> _ValueSet:
    """Return all values that some labelled rows don't hold."""
    held = class_counts > 0
    if held.sum() == 1 and held[-1]:  # blank cells were there before anybody looked
        return _ValueSet(~held)
    n, k = int(np.count_nonzero(class_counts + unlabelled)), int(held.sum())
    return _ValueSet(~held, max(float(_log_choose(n, k)), np.log(2.0)))


def _fold_values(values: AnyArray) -> tuple[AnyArray, IntArray]:
    """Merge values that differ only in spaces and case; return the index of each value's key."""
    if values.dtype.kind != "O":
        keys, places = np.unique(np.asarray(values, float), return_inverse=True)
    else:
        folded = np.array([value.strip().casefold() for value in values], dtype=object)
        keys, places = np.unique(folded, return_inverse=True)
    return keys, places.astype(np.intp)


def _format_key(key: str | float) -> str:
    return key if isinstance(key, str) else format_number(key)


def _log_choose(n: float | IntArray, k: float | IntArray) -> FloatArray:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _log_chance(inside: int, of_class: int, n_inside: int, n_unlabelled: int) -> float:
    """Return the log probability that so few rows of a class are inside (Fisher's exact test)."""
    all_inside, n = inside + n_inside, of_class + n_unlabelled
    k = np.arange(max(0, of_class - (n - all_inside)), inside + 1)
    terms = _log_choose(all_inside, k) + _log_choose(n - all_inside, of_class - k)
    return float(np.logaddexp.reduce(terms) - _log_choose(n, of_class))
