"""What rows would score had they not been trained on, without training again.

The weight vector is ``sum_u sigma_u (m - phi(x_u))``, m the mean of the positive rows: inner
products are taken around m. The unlabelled rows between breakpoints take the place of a row that
is left out as far as they can (the span rule of Chapelle and Vapnik 2000).
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._typing import BoolArray, FloatArray, IntArray, RealArray
from .._util.deadline import Deadline
from ..kernels.operators import GramOperator
from ..kernels.rows import row_keys
from ..problem import Penalty
from .data import PUData, PUSolution

# More rows between breakpoints than this are sampled: fewer give larger corrections.
_MAX_FREE_ROWS = 1000
# Kernel values held at a time (float64: 40 MB).
_MAX_VALUES_AT_A_TIME = 5_000_000
# Added to the diagonal of a block, relative to its mean.
_RELATIVE_RIDGE = 1e-8
# A variable this near a breakpoint, relative to its interval, is on it.
_BREAKPOINT_TOLERANCE = 1e-9


def score_unlabeled_left_out(found: PUSolution, data: PUData, deadline: Deadline) -> FloatArray:
    """Return values at the unlabelled rows, without bias, as if each had not been trained on.

    Without one unit of weight of row u, f(x_u) grows by ``sigma_u / w_u`` times the squared
    distance of ``phi(x_u) - m`` to the span of the rows between breakpoints; where there are none,
    the kernel is no inner product, or the deadline comes, ``||phi(x_u) - m||^2`` (Jaakkola and
    Haussler 1999).
    """
    gram, groups, norm = data.gram, data.groups, data.positive_norm
    sigma, is_between = _merge_variables(found, data)
    units = np.bincount(groups, weights=data.weight_unlabeled)
    own = gram.diagonal()
    diagonal = distance = own - 2.0 * data.similarity + norm
    _, first, position = np.unique(groups, return_index=True, return_inverse=True)
    # Rows at the mean of the positive ones span nothing.
    apart = diagonal > _RELATIVE_RIDGE * (np.abs(own) + abs(norm))
    members = _sample_members(first[is_between & apart[first]])
    if len(members):
        moved = data.similarity - 0.5 * norm
        rows = first[sigma != 0]
        distance = _squared_distances(gram, rows, members, diagonal, moved, deadline)
    if distance is not diagonal:
        # Where other copies stay, they take the place of one exactly.
        distance[members[units[groups[members]] > 1.0]] = 0.0
        distance = distance[first][position]
    per_unit = sigma[groups] / units[groups]
    return found.f + per_unit * np.clip(distance, 0.0, np.maximum(diagonal, 0.0))


def shift_of_positives_left_out(found: PUSolution, data: PUData) -> FloatArray:
    """Return the changes of decisions about positive rows when each is left out, at most 0.

    The mean m of the positive rows moves by ``(m - phi(x_i)) / (W - 1)``, W the weight of them
    all. Rows between breakpoints keep their decisions as their variables take over, to first
    order.
    """
    total_weight = data.weight_positive.sum()
    keys = row_keys(data.X)[data.positive]
    _, which, group = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(group, weights=found.coef[data.positive])
    per_unit = total / np.bincount(group, weights=data.weight_positive)
    step = per_unit * total_weight / max(total_weight - 1.0, 0.5 * total_weight)
    norm = data.positive_norm
    similarity = data.similarity_positive[which]
    distance = data.gram_positive.diagonal()[which] - 2.0 * similarity + norm
    first = np.unique(data.groups, return_index=True)[1]
    members = _sample_members(first[_merge_variables(found, data)[1]])
    change, size = -distance, len(members)
    if size:
        both = data.gram_of(np.concatenate([data.unlabeled[members], data.positive[which]]))
        moved = np.concatenate([data.similarity[members], similarity]) - 0.5 * norm
        values = _center_products(both.columns(np.arange(size)), moved, moved[:size])
        # From the first of them, as what the others take over sums to zero.
        values, start = values[1:] - values[0], values[0]
        change = start[size:] - distance
        if size > 1:
            toward = values[:, size:]
            solve = _make_solver(values[:, 1:size] - values[:, :1])
            if solve is None:
                return (-step * distance)[group]
            change += np.einsum("ij,ij->j", toward - values[:, :1], solve(toward))
    return np.minimum(step * change, 0.0)[group]


def _merge_variables(found: PUSolution, data: PUData) -> tuple[FloatArray, BoolArray]:
    """Variables of unlabelled rows, equal rows as one, and which are between breakpoints."""
    sigma = -np.bincount(data.groups, weights=found.coef[data.unlabeled]).astype(float, copy=False)
    ends = [
        np.bincount(data.groups, weights=end).astype(float, copy=False)
        for end in found.penalty.ends
    ]
    penalty = Penalty.from_pieces(ends, [0.0] * (len(ends) - 1), len(sigma))
    near = _BREAKPOINT_TOLERANCE * (penalty.upper - penalty.lower)
    return sigma, penalty.between(penalty.round_to_breakpoints(sigma, near))


def _sample_members(members: IntArray) -> IntArray:
    return members[:: max(1, -(-len(members) // _MAX_FREE_ROWS))]


def _center_products(
    values: RealArray, moved: FloatArray, moved_members: FloatArray
) -> FloatArray:
    """Inner products around m of kernel values between rows and members, a row per member."""
    return np.asarray(values, dtype=float) - moved - moved_members[:, None]


def _make_solver(block: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
    """Return the function that solves with a block of inner products.

    None where these are none.
    """
    block[np.diag_indices(len(block))] += _RELATIVE_RIDGE * float(np.mean(np.diag(block)))
    try:
        factor = cho_factor(block)
    except LinAlgError:
        return None
    return lambda right: cho_solve(factor, right)


def _squared_distances(
    gram: GramOperator,
    rows: IntArray,
    members: IntArray,
    diagonal: FloatArray,
    moved: FloatArray,
    deadline: Deadline,
) -> FloatArray:
    """Return squared distances of ``rows`` to the span of ``members`` (of the others, for these).

    Inner products are ``K_ij - moved_i - moved_j``, and ``diagonal``.
    """
    size = len(members)
    cut = (
        "the threshold and probabilities use bounds on leave-one-out scores, so they may mark "
        "fewer rows positive than the prior implies"
    )
    if deadline.is_over():
        deadline.cut.append(cut)
        return diagonal
    solve = _make_solver(_center_products(gram.block(members), moved[members], moved[members]))
    if solve is None:
        return diagonal
    distance = diagonal.copy()
    step = max(1, _MAX_VALUES_AT_A_TIME // size)
    for start in range(0, len(rows), step):
        if deadline.is_over():
            deadline.cut.append(cut)
            return diagonal
        part = rows[start : start + step]
        together = gram.take(np.concatenate([members, part]))
        values = _center_products(
            together.columns(np.arange(size))[:, size:], moved[part], moved[members]
        )
        distance[part] -= np.einsum("ij,ij->j", values, solve(values))
    distance[members] = 1.0 / np.diag(solve(np.eye(size)))
    return distance
