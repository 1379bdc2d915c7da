"""The prior by tree induction for label frequency estimation (TIcE)."""

import heapq
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._typing import BoolArray, IntArray, RandomStateLike, RowMatrix
from ._base import PriorEstimator

# Tests "column <= quantile" per column, and how many of them are kept.
_QUANTILES = (0.25, 0.5, 0.75)
_N_TESTS = 1500
# Folds (one grows the tree, the others estimate), nodes per tree, and rounds; the
# first round takes this label frequency in its bound.
_FOLDS = 5
_N_NODES = 200
_ROUNDS = 2
_FIRST_FREQUENCY = 0.5
# A region with fewer rows bounds nothing; rows added to T when splits are compared.
_FEWEST = 10
_PULL = 5


# Outcomes of the tests, 0 or 1.
TestOutcomes: TypeAlias = npt.NDArray[np.float32]
_State: TypeAlias = tuple[TestOutcomes, TestOutcomes, tuple[IntArray, IntArray]]


class TIcE(PriorEstimator[_State]):
    r"""Tree induction for c estimation (TIcE), Bekker and Davis 2018.

    In the single-training-set setting a positive row is labelled with the label frequency c.
    A region with T rows, L of them labelled, has L/T near c where all rows are positive and
    below elsewhere, so that (with probability :math:`1 - \delta`)

    .. math:: c \ge \frac{L}{T} - \sqrt{\frac{1 - \delta}{\delta} \frac{c (1 - c)}{T}}.

    A tree, grown on one fold towards regions rich in labelled rows, proposes regions; the
    largest bound of its regions on the other folds is the estimate of c, averaged over folds.
    From c follows the share of positives among all rows, :math:`n_P / (c n)`, and from
    that the share among the unlabelled rows.

    Parameters
    ----------
    <rows 2000>
    <seed subsamples and folds>

    <found strictly inside (0, 1)>

    Notes
    -----
    :math:`\delta = \max(0.025, 1 / (1 + 0.004 n))`, as in the paper (AAAI 2018). Splits are
    binary, at the quartiles of a column (sparse columns: zero or not), at most 1500 of them, those
    that separate best alone.

    <clouds 0.2 < class_prior.TIcE().fit(X, y).prior_ < 0.8>
    """

    _n_bootstrap = 10

    def __init__(
        self,
        *,
        max_rows: int | None = 2000,
        pos_label: object = None,
        random_state: RandomStateLike = 0,
    ) -> None:
        self.max_rows = max_rows
        self.pos_label = pos_label
        self.random_state = random_state

    def _prepare(self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState) -> _State:
        tests = _run_tests(X, positive)
        folds_p, folds_u = (
            rng.permutation(n) % _FOLDS for n in (positive.sum(), (~positive).sum())
        )
        return tests[positive], tests[~positive], (folds_p, folds_u)

    def _solve(self, state: _State, p: IntArray, u: IntArray) -> float:
        tests = np.concatenate([state[0][p], state[1][u]])
        folds = np.concatenate([state[2][0][p], state[2][1][u]])
        labelled = np.arange(len(tests)) < len(p)
        frequency = _FIRST_FREQUENCY
        for _ in range(_ROUNDS):
            found = [
                _find_largest_bound(tests, labelled, folds == k, frequency) for k in range(_FOLDS)
            ]
            frequency = float(np.clip(np.mean(found), 1e-6, 1.0))
        positives = len(p) / frequency
        return (positives - len(p)) / len(u)


def _run_tests(X: RowMatrix, positive: BoolArray) -> TestOutcomes:
    """Return outcomes of the most separating binary tests, float32 of shape (n, tests)."""
    if sp.issparse(X):
        share = np.asarray(sp.csr_array(X != 0)[np.flatnonzero(positive)].mean(axis=0)).ravel()
        rest = np.asarray(sp.csr_array(X != 0)[np.flatnonzero(~positive)].mean(axis=0)).ravel()
        kept = np.argsort(-np.abs(share - rest), kind="stable")[:_N_TESTS]
        return (X[:, kept] != 0).toarray().astype(np.float32)
    cuts = np.quantile(X, _QUANTILES, axis=0)
    outcomes = np.concatenate([X <= cut for cut in cuts], axis=1)
    outcomes = outcomes[:, outcomes.any(axis=0) & ~outcomes.all(axis=0)]
    apart = np.abs(outcomes[positive].mean(axis=0) - outcomes[~positive].mean(axis=0))
    kept = np.argsort(-apart, kind="stable")[:_N_TESTS]
    return outcomes[:, kept].astype(np.float32)


def _delta(n: int) -> float:
    return max(0.025, 1.0 / (1.0 + 0.004 * n))


def _bound(labelled: float, total: int, frequency: float, delta: float) -> float:
    """Return the lower confidence bound of the label frequency from a region's counts."""
    width = np.sqrt((1.0 - delta) / delta * frequency * (1.0 - frequency) / total)
    return labelled / total - width


def _find_largest_bound(
    tests: TestOutcomes, labelled: BoolArray, grows: BoolArray, frequency: float
) -> float:
    """Return the largest bound among the regions of one tree, on the rows it has not seen."""
    grow_tests, grow_labelled = tests[grows], labelled[grows].astype(np.float32)
    test_tests, test_labelled = tests[~grows], labelled[~grows].astype(np.float32)
    test_delta = _delta(len(test_tests))
    best = _bound(test_labelled.sum(), len(test_labelled), frequency, test_delta)
    # Best first: nodes with the largest share of labelled rows are split before others.
    queue = [(0.0, 0, np.arange(len(grow_tests)), np.arange(len(test_tests)))]
    made = 1
    for _ in range(_N_NODES):
        if not queue:
            break
        _, _, rows, held_out = heapq.heappop(queue)
        if tests.shape[1] == 0 or len(rows) < 2:
            continue
        total = grow_tests[rows].sum(axis=0)
        hits = grow_labelled[rows] @ grow_tests[rows]
        other_total, other_hits = len(rows) - total, grow_labelled[rows].sum() - hits
        splits = (total > 0) & (other_total > 0)
        if not splits.any():
            continue
        score = np.maximum(hits / (total + _PULL), other_hits / (other_total + _PULL))
        test = int(np.argmax(np.where(splits, score, -np.inf)))
        for outcome in (0.0, 1.0):
            inside = rows[grow_tests[rows, test] == outcome]
            held_out_inside = held_out[test_tests[held_out, test] == outcome]
            if len(held_out_inside) < _FEWEST:
                continue
            n_hits = float(test_labelled[held_out_inside].sum())
            best = max(best, _bound(n_hits, len(held_out_inside), frequency, test_delta))
            if grow_labelled[inside].sum() > 0:
                share = float(grow_labelled[inside].mean())
                heapq.heappush(queue, (-share, made, inside, held_out_inside))
                made += 1
    return best
