"""Problems in memory as the engine's rows."""

from itertools import pairwise

import numpy as np

from .partition import Partition
from .rows import Rows


def memory_rows(problem, a=None, gradient=None, parts=1):
    """The ``Rows`` of a problem, perhaps at a feasible ``a`` with its ``gradient`` Q a.

    The number of ``parts`` makes no difference but for rounding.
    """
    edges = sorted({problem.n * k // parts for k in range(parts + 1)})
    partitions = []
    for first, last in pairwise(edges):
        part = slice(first, last)
        partition = Partition(
            problem.gram.part(first, last),
            problem.penalty if len(edges) == 2 else problem.penalty.take(part),
            problem.ridge[part],
            problem.scale,
            first,
        )
        if a is not None:
            known = None if gradient is None else np.array(gradient[part])
            partition.start(np.array(a[part]), known)
        partitions.append(partition)
    return Rows(partitions, problem.total, problem.scale)


def collected(rows):
    """All variables and their gradient, of rows in memory."""
    a = [partition.a for partition in rows.partitions]
    g = [partition.g for partition in rows.partitions]
    return (a[0], g[0]) if len(a) == 1 else (np.concatenate(a), np.concatenate(g))
