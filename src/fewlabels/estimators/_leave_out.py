"""What unlabelled rows would score had they not been trained on, without training again."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

# More rows between breakpoints than this are sampled: fewer give larger corrections.
_MOST_FREE = 1000
# Kernel values held at a time (float64: 40 MB).
_VALUES_AT_A_TIME = 5_000_000
# Added to the diagonal of a block, relative to its mean.
_RIDGE = 1e-8
# A variable this near a breakpoint, relative to its interval, is on it.
_ON = 1e-9


def own_terms(gram, sigma, penalty_arrays, weight, groups, affinity, norm):
    """By how much each row lowers its own decision.

    The coefficients of positive and unlabelled rows have equal sums, so that the weight vector
    is ``sum_u sigma_u (m - phi(x_u))`` with m the mean of the positive rows. When one unit of
    weight of row u is left out, the rows between breakpoints take its place as far as they
    can: f(x_u) grows by ``sigma_u / w_u`` times the squared distance of ``phi(x_u) - m`` to
    the span of theirs (the span rule of Chapelle and Vapnik 2000). Without any such row, or under
    a kernel that is no inner product, it is ``||phi(x_u) - m||^2`` (Jaakkola and Haussler 1999).

    Parameters
    ----------
    gram : GramOperator
        K over the rows.
    sigma : ndarray of shape (n,)
        Minus their coefficients.
    penalty_arrays : tuple of three ndarrays of shape (n,)
        Lower ends, kinks and upper ends of sigma.
    weight : ndarray of shape (n,)
        Weights.
    groups : ndarray of int of shape (n,)
        Equal rows share a number: they act as one row with the sum of their weights.
    affinity : ndarray of shape (n,)
        Inner products of the rows with m.
    norm : float
        Squared norm of m.

    Returns
    -------
    ndarray of shape (n,)
    """
    total = np.bincount(groups, weights=sigma)[groups]
    units = np.bincount(groups, weights=weight)[groups]
    ends = [np.bincount(groups, weights=ends)[groups] for ends in penalty_arrays]
    lower, _, upper = ends
    near = _ON * (upper - lower)
    free = np.all([np.abs(total - end) > near for end in ends], axis=0)
    diagonal = distance = gram.diagonal() - 2.0 * affinity + norm
    _, first, position = np.unique(groups, return_index=True, return_inverse=True)
    # Rows at the mean of the positive ones span nothing.
    apart = diagonal > _RIDGE * (np.abs(gram.diagonal()) + abs(norm))
    members = first[(free & apart)[first]]
    if len(members):
        members = members[:: -(-len(members) // _MOST_FREE)]
        rows = first[total[first] != 0]
        distance = _squared_distances(gram, rows, members, diagonal, affinity - 0.5 * norm)
    if distance is not diagonal:
        # Where other copies stay, they take the place of one exactly.
        distance[members[units[members] > 1.0]] = 0.0
        distance = distance[first][position]
    return total / units * np.clip(distance, 0.0, np.maximum(diagonal, 0.0))


def _squared_distances(gram, rows, members, diagonal, moved):
    """Squared distances of ``rows`` to the span of ``members`` (of the others, for these).

    ``K_ij - moved_i - moved_j`` are the inner products, ``diagonal`` those of rows with
    themselves.
    """
    size = len(members)
    block = gram.block(members) - moved[members] - moved[members, None]
    block[np.diag_indices(size)] += _RIDGE * float(np.mean(np.diag(block)))
    try:
        factor = cho_factor(block)
    except LinAlgError:  # no inner product
        return diagonal
    distance = diagonal.copy()
    step = max(1, _VALUES_AT_A_TIME // size)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        together = gram.take(np.concatenate([members, part]))
        values = np.asarray(together.columns(np.arange(size)), dtype=float)[:, size:]
        values = values - moved[part] - moved[members, None]
        distance[part] -= np.einsum("ij,ij->j", values, cho_solve(factor, values))
    distance[members] = 1.0 / np.diag(cho_solve(factor, np.eye(size)))
    return distance
