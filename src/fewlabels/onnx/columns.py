"""What travels between the steps of a pipeline: a matrix of numbers, or separate columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Matrix(NamedTuple):
    """Numbers: name of a float64 value of shape (n, width)."""

    name: str
    width: int

    def take(self, graph, places):
        """Some columns, in the order of ``places``."""
        if list(places) == list(range(self.width)):
            return self
        taken = graph.add("Gather", self.name, np.asarray(places, dtype=np.int64), axis=1)
        return Matrix(taken, len(places))

    def numbers(self, graph):
        """Itself."""
        return self

    def column(self, graph, place):
        """One column and whether it is text."""
        return graph.add("Gather", self.name, np.array([place], dtype=np.int64), axis=1), False


class Columns(NamedTuple):
    """Names of values of shape (n, 1), float64 or text."""

    names: tuple[str, ...]
    is_text: tuple[bool, ...]

    @property
    def width(self):
        """How many columns."""
        return len(self.names)

    def take(self, graph, places):
        """Some columns, in the order of ``places``."""
        return Columns(
            tuple(self.names[k] for k in places), tuple(self.is_text[k] for k in places)
        )

    def numbers(self, graph):
        """All columns as a matrix."""
        if any(self.is_text):
            raise ValueError(
                "a column of text reaches a step that needs numbers; put a OneHotEncoder or "
                "OrdinalEncoder before it."
            )
        return joined(graph, [Matrix(name, 1) for name in self.names])

    def column(self, graph, place):
        """One column and whether it is text."""
        return self.names[place], self.is_text[place]


def joined(graph, matrices):
    """Matrices side by side."""
    if len(matrices) == 1:
        return matrices[0]
    name = graph.add("Concat", *(matrix.name for matrix in matrices), axis=1)
    return Matrix(name, sum(matrix.width for matrix in matrices))
