"""What a model knows about the columns it was fitted to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Column:
    """A named column: ``kind`` is "number" or "category"."""

    name: str
    kind: str
    categories: int | None = None


@dataclass(frozen=True)
class Schema:
    """Columns of the training data.

    Attributes
    ----------
    layout : {"table", "dense", "sparse"}
        Named columns, or a matrix whose columns are known by their position.
    n_columns : int
        How many columns go in.
    columns : tuple of Column
        For tables; empty for matrices.
    zero_based : bool
        For svmlight files: whether they count columns from 0.
    """

    layout: str
    n_columns: int
    columns: tuple[Column, ...] = ()
    zero_based: bool = False

    def names(self, kind=None):
        """Names of the columns, of one kind or all."""
        return [column.name for column in self.columns if kind in (None, column.kind)]

    def with_categories(self, counts):
        """Copy with the number of categories filled in, in the order of the columns."""
        counts = iter(counts)
        return replace(
            self,
            columns=tuple(
                replace(column, categories=next(counts)) if column.kind == "category" else column
                for column in self.columns
            ),
        )

    def to_dict(self):
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values):
        """Inverse of :meth:`to_dict`."""
        columns = tuple(Column(**column) for column in values["columns"])
        return cls(**{**values, "columns": columns})
