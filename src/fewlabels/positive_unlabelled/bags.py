"""Bags of positive and unlabelled rows, a support vector machine for each, and their mean."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray, RealArray, RowMatrix
from .._util.deadline import ENDLESS, Deadline
from .._util.messages import ref
from .._util.threads import run_in_order
from ..kernels.operators import GramOperator, PrecomputedGram
from ..kernels.rows import row_keys
from ..kernels.sampling import repeat_by_weight
from ..problem import DualProblem, Penalty
from ..solvers import Result, Settings, Status, solve_decomposition
from .data import PUData

# Kernel values held at a time: they stay in cache while they are used for every model.
_MAX_VALUES_AT_A_TIME = 2**18
_MIN_COLUMNS = 16
# Bags of up to so many rows are one working set.
_MAX_WORKING_SET = 2048

# Coefficients and biases by kernel and cost, iterations, and a Result that didn't converge.
BagModels: TypeAlias = tuple[FloatArray, FloatArray, int, Result | None]


class DistinctPURows:
    """Distinct rows of PUData, positives first, in an order that depends on their values alone.

    Equal rows are one row of their weights' sum, so that a row is out of a bag only if no copy is
    inside. ``index`` says where each first occurs, ``n_positive`` how many are positive,
    ``weight`` their weights by class, which sum to the length of ``drawn``, ``total_weight`` the
    weights given. ``drawn`` are rows of either kind, each as often as its weight says (what all
    weights of a class have in common left out); ``place`` says which row each unlabelled one is.
    ``chance`` has the drawn positive rows' chances to be in a bag, if they have factors.
    """

    def __init__(self, data: PUData, rows: RowMatrix) -> None:
        key = row_keys(rows)
        order: AnyArray = key
        if data.kernel.is_matrix:
            # Columns are in the order of the rows; similarities to the positives are not.
            order = np.empty(len(key))
            order[data.positive], order[data.unlabeled] = data.similarity_positive, data.similarity
        parts = (
            (data.positive, data.given_weight_positive, data.factor),
            (data.unlabeled, data.weight_unlabeled, None),
        )
        index, weight, total, before = [], [], [], 0
        self.drawn: list[IntArray] = []
        self.chance: FloatArray | None = None
        for part, given, factor in parts:
            _, first, group = np.unique(key[part], return_index=True, return_inverse=True)
            by_order = np.argsort(order[part[first]], kind="stable")
            group, first = np.argsort(by_order)[group], first[by_order]
            summed: FloatArray = np.bincount(group, weights=given).astype(float, copy=False)
            every = np.arange(len(first))
            drawn = repeat_by_weight(every, summed, every)
            if factor is not None:
                mean = np.bincount(group, weights=given * factor) / summed
                self.chance = mean[drawn] / mean[drawn].sum()
                summed = summed * mean
            index.append(part[first])
            total.append(summed)
            weight.append(summed * len(drawn) / summed.sum())
            self.drawn.append(before + drawn)
            self.place = before + group
            before += len(first)
        self.index = np.concatenate(index)
        self.n_positive = len(index[0])
        self.weight = np.concatenate(weight)
        self.total_weight = np.concatenate(total)

    @property
    def label(self) -> FloatArray:
        """1 for positive rows, -1 for the others."""
        return np.where(np.arange(len(self.index)) < self.n_positive, 1.0, -1.0)


@dataclass
class Bagging:
    """Mean functions of bagged models: ``coef`` (n_kernels, n_costs, n) and ``bias``.

    Held-out ``scores`` are means over the bags that a row is not in; where it is in all of them,
    the mean over the other rows. ``unfinished`` is a model that did not reach the tolerance, if
    any.
    """

    coef: np.ndarray
    bias: np.ndarray
    scores: np.ndarray
    n_iter: int = 0
    unfinished: Result | None = None


def train_bagged_models(
    gram: GramOperator,
    n_kernels: int,
    costs: FloatArray,
    rows: DistinctPURows,
    n_bags: int,
    tol: float,
    seed: int,
    deadline: Deadline = ENDLESS,
) -> Bagging:
    """Train support vector machines of positive rows and samples of the unlabelled ones.

    Every bag, the same for all kernels and costs, holds a bootstrap sample of the positive rows
    and as many unlabelled ones, but at most half of these, so that all are held out often enough
    (Mordelet and Vert 2014). The kernels are K, its entries squared, their squares, and so on.
    Bags that the deadline comes before are left out, but for the first.
    """
    rng = np.random.default_rng(seed)
    shape = (n_kernels, len(costs))
    found = Bagging(np.zeros((*shape, gram.n)), np.zeros(shape), np.zeros((*shape, gram.n)))
    times_out = np.full(gram.n, float(n_bags))
    drawn = [sample_bag(rows.drawn, rng, rows.chance) for _ in range(n_bags)]
    calls = [
        partial(
            _train_bag,
            gram,
            bag,
            rows.label[bag],
            times,
            shape,
            costs,
            tol,
            deadline if k else ENDLESS,
        )
        for k, (bag, times) in enumerate(drawn)
    ]
    for done, models in enumerate(run_in_order(calls, n_bags)):
        bag = drawn[done][0]
        if models is None:
            deadline.cut.append(f"{done} of {ref('n_bags', n_bags)} bags were trained")
            found = replace(
                found, coef=found.coef * (n_bags / done), bias=found.bias * (n_bags / done)
            )
            times_out -= n_bags - done
            break
        (a, bias, n_iter, unfinished), f = models
        found.n_iter += n_iter
        found.unfinished = unfinished or found.unfinished
        f[:, :, bag] = 0.0
        found.scores += f
        times_out[bag] -= 1.0
        found.coef[:, :, bag] += a / n_bags
        found.bias += bias / n_bags
    out = times_out > 0
    found.scores[:, :, out] /= times_out[out]
    if out.any():
        mean = np.average(found.scores[:, :, out], axis=2, weights=rows.weight[out])
        found.scores[:, :, ~out] = mean[:, :, None]
    return found


def sample_bag(
    drawn: list[IntArray], rng: np.random.Generator, chance: FloatArray | None = None
) -> tuple[IntArray, IntArray]:
    """Distinct rows of one bag, and how often each is in it."""
    positive, unlabeled = drawn
    if chance is None:
        chosen = positive[rng.integers(0, len(positive), len(positive))]
    else:
        chosen = rng.choice(positive, len(positive), p=chance)
    size = min(len(positive), (len(unlabeled) + 1) // 2)
    others = unlabeled[rng.choice(len(unlabeled), size, replace=False)]
    return np.unique(np.concatenate([chosen, others]), return_counts=True)


def _train_bag(
    gram: GramOperator,
    bag: IntArray,
    label: FloatArray,
    times: IntArray,
    shape: tuple[int, int],
    costs: FloatArray,
    tol: float,
    deadline: Deadline,
) -> tuple[BagModels, FloatArray] | None:
    """Return what ``_solve_bag`` returns, and decisions about all rows.

    None where the deadline came first.
    """
    found = _solve_bag(gram.block(bag), label, times, shape, costs, tol, deadline)
    if found is None:
        return None
    a, bias, _, _ = found
    used = np.any(a != 0.0, axis=(0, 1))
    return found, _decide_all_rows(gram, bag[used], a[:, :, used]) + bias[:, :, None]


def _solve_bag(
    block: RealArray,
    label: FloatArray,
    times: IntArray,
    shape: tuple[int, int],
    costs: FloatArray,
    tol: float,
    deadline: Deadline,
) -> BagModels | None:
    """Return coefficients and biases of one bag, each started from the smaller cost or gamma.

    With them how many iterations it took, and a Result that did not reach the tolerance, if any.
    None where the deadline came first.
    """
    n_kernels, n_costs = shape
    a, bias = np.zeros((n_kernels, n_costs, len(label))), np.zeros((n_kernels, n_costs))
    n_iter, unfinished = 0, None
    settings = Settings(tol=tol, polish=0, coarse=False, block_size=_MAX_WORKING_SET)
    for k in range(n_kernels):
        if k > 0:
            np.square(block, out=block)
        for c, cost in enumerate(costs):
            if deadline.is_over():
                return None
            ends = cost * times
            penalty = Penalty.linear(
                np.where(label < 0, -ends, 0.0), np.where(label > 0, ends, 0.0), -label, len(label)
            )
            start = a[k - 1, c] if k > 0 else a[k, c - 1] if c > 0 else a[k, c]
            problem = DualProblem(PrecomputedGram(block), penalty, 0.0)
            result = solve_decomposition(problem, start, settings, max_time=deadline.left())
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if result.status is Status.MAX_TIME:
                return None
            if not result.converged:
                unfinished = result
            n_iter += result.n_iter
            a[k, c], bias[k, c] = result.a, -result.multiplier
    return a, bias, n_iter, unfinished


def _decide_all_rows(gram: GramOperator, rows: IntArray, coef: FloatArray) -> FloatArray:
    """Return values of the expansions at all rows, without bias, shape (n_kernels, n_costs, n)."""
    out = np.zeros((*coef.shape[:2], gram.n))
    if gram.value_cost == 0.0:  # products cost less than kernel values
        for coef_k, out_k in zip(coef, out, strict=True):
            for c, values in zip(coef_k, out_k, strict=True):
                gram.apply(rows, c, values)
        return out
    step = max(_MIN_COLUMNS, _MAX_VALUES_AT_A_TIME // gram.n)
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        values = gram.columns(rows[part])
        for k in range(len(coef)):
            if k > 0:
                np.square(values, out=values)
            out[k] += coef[k][:, part].astype(values.dtype) @ values
    return out
