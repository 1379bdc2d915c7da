"""The solution and the certificate of an S3VM, from coefficients and decisions of its functions.

A batch training (``trainer.py``) and a stream (``stream.py``) describe themselves by these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from ..base.solution import (
    Certificate,
    ClassFunctions,
    Function,
    Solution,
    describe_run,
    estimate_rounding,
    make_function,
)
from ..calibration.curve import class_of
from ..data.labels.semi_supervised import class_indices
from ..kernels.base import Kernel
from ..kernels.operators import GramOperator
from ..solvers.run import HistoryEntry

# Steps, history, and whether it converged.
SolverRun: TypeAlias = tuple[int, list[HistoryEntry], bool]


class SupportRows(NamedTuple):
    """Rows that functions are sums over.

    ``X`` are as they were given, without the ``shift`` that the kernel doesn't see.
    """

    X: RowMatrix
    numbers: IntArray  # by which users call them; -1 for those on their way out
    label: AnyArray
    shift: FloatArray | None


def build_solution(
    kernel: Kernel,
    gram: GramOperator,
    rows: SupportRows,
    coefs: list[FloatArray],
    biases: list[float],
    run: SolverRun,
) -> Solution:
    """Return the ``Solution`` with the coefficients of every function.

    ``gram`` is over the rows.
    """
    sizes = [estimate_rounding(gram.diagonal(), coef) for coef in coefs]
    several = len(coefs) > 1
    function, places, support = make_function(
        kernel,
        gram,
        rows.X,
        np.stack(coefs),
        rows.numbers,
        shift=rows.shift,
        rounding=np.array(sizes) if several else sizes[0],
        bias=np.array(biases) if several else biases[0],
    )
    n_classes = max(2, len(coefs))
    kinds = class_indices(rows.label[places], n_classes)
    counts = [np.sum(kinds == place) for place in range(n_classes)]
    return Solution(function=function, **describe_run(support, counts, *run))


def add_offset(solution: Solution, offset: float | FloatArray) -> Solution:
    """Return the ``Solution`` of functions with an ``offset``, a number or one for each."""
    bias: Any = solution.function.bias + offset  # an array of several functions
    return replace(solution, function=replace(solution.function, bias=bias))


def build_certificate(
    certified: Sequence[tuple[float, float]],
    decision: FloatArray,
    function: Function | ClassFunctions,
    label: AnyArray,
) -> Certificate:
    """Return the ``Certificate`` from decisions about all training rows, a column each.

    ``certified`` are objective and violation of every function.
    """
    objectives, violations = zip(*certified, strict=True)
    if len(certified) == 1:
        positive = np.where(label, label > 0, decision[:, 0] > function.rounding)
        return Certificate(objectives[0], violations[0], positive)
    chosen = np.where(label, class_indices(label, len(certified)), class_of(decision))
    return Certificate(np.array(objectives), np.array(violations), chosen)
