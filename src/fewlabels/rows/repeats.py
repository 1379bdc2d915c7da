"""Rows that repeat more often than independent draws would: copies, which count as one row.

Equal rows are no sign of copies by themselves. Tables of categories repeat rows honestly, and then
equal rows are independent draws. Three observations tell copies apart:

* Multiplicities. Whatever the chances of the different rows, a mixture of Poisson distributions
  says how many rows independent draws give once, twice and so on (Good 1953). Twenty rows that
  each occur three times come from no such mixture.
* Halves. Independent rows that agree in one half of the columns often differ in the other half.
  Copies agree in both.
* Single columns. Rows with the same value of a fine-grained column agree in all others, which
  don't follow from it. Where they agree in some of the others only, as visits of a patient do
  whose age and blood group stay, labels decide: these are copies if each patient has one class.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln, rel_entr

from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ..kernels.rows import DuplicateRows, canonical, row_keys, row_products

Groups: TypeAlias = IntArray

# Distinct rows that have to repeat before they are tested.
_MIN_REPEATED = 3
# Poisson means that the mixture consists of.
_N_MEANS = 40
# EM steps that fit the mixture.
_N_EM_STEPS = 200
# Simulated tables that a deviance is compared with.
_N_TABLES = 400
# More copies of a row than this aren't looked at.
_MAX_COPIES = 1000
# Deviance from the mixture per repeated row that matters.
_MIN_DEVIANCE = 0.4
# Random halves of the columns.
_N_HALVES = 8
# The share of the halves that has to speak for copies.
_MIN_VOTES = 0.75
# The share of the ties in a half that have to be whole rows, ...
_MIN_WHOLE_SHARE = 0.8
# ... and the most that it may be by chance.
_MAX_CHANCE = 0.25
# Copies of a distinct row, on average, beyond which they are rather the frequent values of a
# small population, of which new rows will be drawn too.
_MAX_MEAN_COPIES = 20.0
# Single columns that are tested.
_MAX_COLUMNS = 40
# The different values that such a column needs, ...
_MIN_VALUES = 10
# ... and as a share of the rows.
_MIN_VALUES_SHARE = 0.05
# The share of smallest gaps between values from which they lie on a grid.
_GRID_SHARE = 0.2
# With more rows single columns aren't tested, which would take long.
_MAX_ROWS_FOR_COLUMNS = 20_000
# Share of repeated values within which other columns don't vary.
_MIN_STATIC_SHARE = 0.9
# Minus the logarithm of the probability of that by chance.
_MIN_EVIDENCE = 9.0
# A column changes at least so much from value to value of another, relative to values in random
# order, if it doesn't follow from it.
_MIN_RELATIVE_CHANGE = 0.5


def repeated_rows(X: RowMatrix, y: IntArray | None = None) -> Groups | None:
    """Find copies among rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        Rows.
    y : ndarray of int of shape (n,), default=None
        Classes from 0, and -1 for rows without a label.

    Returns
    -------
    ndarray of int of shape (n,) or None
        A number for each row, the same for copies; None where rows don't repeat more often than
        chance allows.
    """
    if X.shape[0] < 2 * _MIN_REPEATED or X.shape[1] == 0:
        return None
    X = _fill_missing(X)
    copies = DuplicateRows.among(X, row_keys(X))
    counts = np.bincount(copies.of)
    if _are_copies(X, copies, counts, None if y is None else y >= 0):
        return copies.of
    if sp.issparse(X) or len(X) > _MAX_ROWS_FOR_COLUMNS:
        return None
    groups = _group_by_static_columns(X)
    if groups is None:
        return None
    if _share_of_repeated(groups, copies.of) >= _MIN_WHOLE_SHARE:
        return copies.of
    return groups if y is not None and labels_agree(groups, y) else None


def labels_agree(groups: Groups, y: IntArray) -> bool:
    """Return whether labelled rows of a group have one class, which chance can't explain."""
    known = y >= 0
    _, place = np.unique(groups[known], return_inverse=True)
    kinds = y[known]
    share = np.bincount(kinds) / max(len(kinds), 1)
    sizes = np.bincount(place)
    several = sizes > 1
    if several.sum() < _MIN_REPEATED:
        return False
    low, high = (np.full(len(sizes), end) for end in (len(share), -1))
    np.minimum.at(low, place, kinds)
    np.maximum.at(high, place, kinds)
    if np.mean((low == high)[several]) < _MIN_STATIC_SHARE:
        return False
    chance = [np.log(np.sum(share**size)) for size in sizes[several]]
    return bool(-np.sum(chance) > _MIN_EVIDENCE)


def join_groups(parts: list[Groups]) -> Groups | None:
    """Return groups in which rows are together that are so in any of the parts; None of none."""
    if not parts:
        return None
    n = len(parts[0])
    edges = [
        np.unique(part, return_index=True)[1][np.unique(part, return_inverse=True)[1].ravel()]
        for part in parts
    ]
    first, rows = np.concatenate(edges), np.tile(np.arange(n), len(parts))
    graph = sp.coo_array((np.ones(len(rows)), (first, rows)), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.intp)


def _share_of_repeated(groups: Groups, others: Groups) -> float:
    """Share of the groups of several rows whose rows are in one of the other groups."""
    first = np.unique(groups, return_index=True)[1][groups]
    apart = np.bincount(groups, others != others[first])
    return float(np.mean(apart[np.bincount(groups) > 1] == 0))


def _fill_missing(X: RowMatrix) -> RowMatrix:
    X = canonical(X) if sp.issparse(X) else np.asarray(X)
    values = X if isinstance(X, np.ndarray) else X.data
    if values.dtype.kind != "f" or not np.isnan(np.sum(values)):
        return X if values.dtype.kind == "f" else X.astype(np.float64)
    X = X.copy()
    values = X if isinstance(X, np.ndarray) else X.data
    values[np.isnan(values)] = np.pi * (np.nanmax(np.abs(values)) if values.size else 1.0)
    return X


def _are_copies(
    X: RowMatrix, copies: DuplicateRows, counts: IntArray, known: BoolArray | None
) -> bool:
    repeated = counts > 1
    if repeated.sum() < _MIN_REPEATED:
        return False
    rows = X[copies.first]
    if counts[repeated].mean() <= _MAX_MEAN_COPIES and _halves_agree(rows, repeated):
        return True
    every = [counts]
    if known is not None and known.any() and not known.all():
        of_known = np.bincount(copies.of[known])
        every.append(of_known[of_known > 0])
    return any(map(_repeats_beyond_chance, every)) and not _is_complete_design(rows)


# -- multiplicities ------------------------------------------------------------------------------


def _repeats_beyond_chance(counts: IntArray) -> bool:
    """Return whether chance can't explain how often rows repeat, from counts of distinct rows."""
    n_repeated, most = int(np.sum(counts > 1)), int(counts.max())
    if n_repeated < _MIN_REPEATED or most > _MAX_COPIES:
        return False
    k = np.arange(1, 2 * most + 10)
    observed = np.bincount(counts, minlength=len(k) + 1)[1 : len(k) + 1].astype(float)
    means = np.geomspace(0.02, 1.2 * most + 1.0, _N_MEANS)
    log_p = k * np.log(means[:, None]) - means[:, None] - gammaln(k + 1.0)
    p = np.exp(log_p - np.log(-np.expm1(-means))[:, None])
    weight = np.full(_N_MEANS, 1.0 / _N_MEANS)
    for _ in range(_N_EM_STEPS):
        mixed = weight @ p
        weight *= p @ (observed / np.maximum(mixed, 1e-300)) / observed.sum()
    expected = np.maximum(weight @ p, 1e-12)
    deviance = _poisson_deviance(observed[None], expected)[0]
    if deviance < _MIN_DEVIANCE * n_repeated:
        return False
    rng = np.random.default_rng(0)
    simulated = rng.multinomial(int(observed.sum()), expected / expected.sum(), size=_N_TABLES)
    return bool(deviance > _poisson_deviance(simulated.astype(float), expected).max())


def _poisson_deviance(observed: FloatArray, expected: FloatArray) -> FloatArray:
    share = observed / observed.sum(axis=1, keepdims=True)
    terms = np.where(observed > 0, observed * np.log(np.maximum(share, 1e-300) / expected), 0.0)
    return 2.0 * terms.sum(axis=1)


def _is_complete_design(rows: RowMatrix) -> bool:
    """Return whether the distinct rows are all combinations of the values of their columns.

    Then a new row equals one of them, and copies have nothing to give away.
    """
    if sp.issparse(rows):
        return False
    rows, levels, k = rows[:, _find_varying_columns(rows)], 1, 0
    marks = rows > rows.min(axis=0)
    while k < rows.shape[1] and levels <= len(rows):
        sizes = np.cumsum(marks[:, k:], axis=1)
        n_values = len(np.unique(rows[:, k]))
        ends = np.flatnonzero((sizes == 1).all(axis=0))
        # Columns of 0 and 1 of which each row has exactly one 1 are the categories of one column.
        if n_values == 2 and len(ends) and _are_binary(rows[:, k : k + ends[0] + 1]):
            levels, k = levels * (int(ends[0]) + 1), k + int(ends[0]) + 1
        else:
            levels, k = levels * n_values, k + 1
    return levels == len(rows)


def _are_binary(columns: FloatArray) -> bool:
    low, high = columns.min(axis=0), columns.max(axis=0)
    return bool(((columns == low) | (columns == high)).all())


# -- halves of the columns -----------------------------------------------------------------------


def _halves_agree(rows: RowMatrix, repeated: BoolArray) -> bool:
    """Return whether rows that agree in half of the columns agree in all, against chance."""
    varying = _find_varying_columns(rows)
    if not sp.issparse(rows) and len(varying) <= _MAX_COLUMNS:
        varying = _drop_rescaled_columns(rows, varying)
    if len(varying) < 2:
        return False
    rng = np.random.default_rng(0)
    weights = rng.normal(size=rows.shape[1])
    votes = []
    for _ in range(_N_HALVES):
        order = rng.permutation(varying)
        half = np.isin(np.arange(rows.shape[1]), order[: len(order) // 2])
        keys = [row_products(rows, np.where(part, weights, 0.0)) for part in (half, ~half)]
        votes += [
            _is_whole(own, other, repeated) for own, other in zip(keys, keys[::-1], strict=True)
        ]
    return bool(np.mean(votes) >= _MIN_VOTES)


def _drop_rescaled_columns(rows: FloatArray, columns: IntArray) -> IntArray:
    """Return columns that aren't another one in other units, which has the same order of rows."""
    observed: set[bytes] = set()
    for column in columns:
        values, place = np.unique(rows[:, column], return_inverse=True)
        orders = {
            place.astype(np.int32).tobytes(),
            (len(values) - 1 - place).astype(np.int32).tobytes(),
        }
        if observed.isdisjoint(orders):
            observed |= orders
        else:
            columns = columns[columns != column]
    return columns


def _is_whole(own: FloatArray, other: FloatArray, repeated: BoolArray) -> bool:
    _, place, size = np.unique(own, return_inverse=True, return_counts=True)
    whole, mixed = int(np.sum(repeated & (size[place] == 1))), int(np.sum(size[place] > 1))
    if whole < max(_MIN_REPEATED, _MIN_WHOLE_SHARE * (whole + mixed)):
        return False
    return _tie_probability(np.unique(other, return_counts=True)[1]) <= _MAX_CHANCE


def _tie_probability(counts: IntArray) -> float:
    """Return the probability that two different ones of all rows have the same value."""
    n = float(counts.sum())
    return float(np.sum(counts * (counts - 1.0)) / max(n * (n - 1.0), 1.0))


def _find_varying_columns(rows: RowMatrix) -> IntArray:
    low, high = rows.min(axis=0), rows.max(axis=0)
    if sp.issparse(rows):
        low, high = low.toarray(), high.toarray()
    return np.flatnonzero(np.ravel(low) < np.ravel(high))


# -- single columns ------------------------------------------------------------------------------


class _Column(NamedTuple):
    """A column: the numbers of its values by row, and their counts."""

    place: IntArray
    counts: IntArray
    is_fine: bool  # has many values, on no grid, some of which repeat


def _group_by_static_columns(X: FloatArray) -> Groups | None:
    """Groups of rows with the same value of a fine-grained column and of those that go with it."""
    varying = _find_varying_columns(X)
    columns = [
        _describe_column(X[:, j])
        for j in varying[:: max(1, len(varying) // _MAX_COLUMNS)][:_MAX_COLUMNS]
    ]
    best, found = _MIN_EVIDENCE + 2.0 * np.log(max(1, len(columns))), None
    for k, fine in enumerate(columns):
        if not fine.is_fine:
            continue
        others = [one for j, one in enumerate(columns) if j != k and _is_static(fine, one)]
        if not others:
            continue
        joint = _number_combinations([one.place for one in others])
        share = _static_share(fine, joint)
        chance = max(_tie_probability(np.bincount(joint)), 0.5 / len(joint))
        if share < _MIN_STATIC_SHARE or chance > _MAX_CHANCE:
            continue
        evidence = (
            float(np.sum(fine.counts > 1))
            * rel_entr([share, 1.0 - share], [chance, 1.0 - chance]).sum()
        )
        if evidence > best:
            best, found = evidence, _number_combinations([fine.place, joint])
    return found


def _describe_column(values: FloatArray) -> _Column:
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    repeated = counts > 1
    enough = len(distinct) >= max(_MIN_VALUES, _MIN_VALUES_SHARE * len(values))
    if not enough or repeated.sum() < _MIN_REPEATED:
        return _Column(place, counts, False)
    gaps = np.diff(distinct)
    on_grid = np.mean(gaps <= 1.5 * gaps.min()) > _GRID_SHARE
    return _Column(place, counts, not on_grid)


def _is_static(fine: _Column, other: _Column) -> bool:
    """Return whether a column doesn't vary where ``fine`` repeats, nor follows from it."""
    low, high = _ends(fine, other.place)
    if np.mean((low == high)[fine.counts > 1]) < _MIN_STATIC_SHARE:
        return False
    steps = np.abs(np.diff(low)).mean()
    in_random_order = np.abs(np.diff(np.random.default_rng(0).permutation(low))).mean()
    return bool(steps > _MIN_RELATIVE_CHANGE * in_random_order)


def _static_share(fine: _Column, place: IntArray) -> float:
    """Share of the repeated values within which another column doesn't vary."""
    low, high = _ends(fine, place)
    return float(np.mean((low == high)[fine.counts > 1]))


def _ends(fine: _Column, place: IntArray) -> tuple[IntArray, IntArray]:
    """Return the least and greatest value of another column by value of ``fine``."""
    value = place[np.argsort(fine.place, kind="stable")]
    first = np.cumsum(np.r_[0, fine.counts[:-1]])
    return np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)


def _number_combinations(places: list[IntArray]) -> Groups:
    """Return numbers of the combinations of values."""
    found = places[0]
    for place in places[1:]:
        found = np.unique(found * (place.max() + 1) + place, return_inverse=True)[1]
    return found


# Rows of a group at most.
_MAX_GROUP_ROWS = 12
# How many times as far as its rows are from each other all other rows are from a group.
_MIN_GAP_RATIO = 4.0
# Groups that there have to be, ...
_MIN_GROUPS = 4
# ... and the share of the labelled rows that they have to hold.
_MIN_GROUPED_SHARE = 0.4
# Distances below this share of the median are rounding.
_ROUNDING = 1e-7


def near_copies(X: RowMatrix, known: BoolArray | None = None) -> Groups | None:
    """Find small groups of rows that are nearly equal.

    A group is a row with its nearest neighbours, if these have the same ones, and the next
    neighbour of each is several times as far. Independent rows are rarely like that, whatever they
    are drawn from.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        Rows, in comparable units.
    known : ndarray of bool of shape (n,), default=None
        Mask of the rows with a label, many of which have to be nearly equal to others; None means
        all rows.

    Returns
    -------
    ndarray of int of shape (n,) or None
        A number for each row, the same for rows that are equal or nearly; None where few rows are
        nearly equal.
    """
    from sklearn.neighbors import NearestNeighbors  # slow to import

    copies = DuplicateRows.among(X, row_keys(X))
    n = len(copies.first)
    if n < 2 * _MIN_GROUPS or X.shape[1] < 2:
        return None
    nearest = NearestNeighbors(n_neighbors=min(_MAX_GROUP_ROWS, n - 1)).fit(X[copies.first])
    distance, place = nearest.kneighbors()
    distance = np.maximum(distance, _ROUNDING * np.median(distance))
    gap = distance[:, 1:] / distance[:, :-1]
    size = np.where(gap.max(axis=1) >= _MIN_GAP_RATIO, gap.argmax(axis=1) + 1, 0)
    first = _find_closed_groups(place, size)
    grouped = first >= 0
    counted = grouped[copies.of] if known is None else grouped[copies.of][known]
    if len(np.unique(first[grouped])) < _MIN_GROUPS or np.mean(counted) < _MIN_GROUPED_SHARE:
        return None
    return np.where(grouped, first, np.arange(n))[copies.of]


def _find_closed_groups(place: IntArray, size: IntArray) -> IntArray:
    """Return the first row of the group of each row, -1 where neighbours have others."""
    inside = np.arange(place.shape[1]) < size[:, None]
    rows = np.arange(len(place))
    first = np.minimum(rows, np.where(inside, place, len(place)).min(axis=1))
    same = (first[place] == first[:, None]) & (size[place] == size[:, None])
    return np.where((size > 0) & (same | ~inside).all(axis=1), first, -1)
