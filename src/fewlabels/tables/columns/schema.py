"""What a model knows about the columns it was fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd

    from ..._typing import ObjectArray, RowMatrix

# What a model does with missing numbers.
REFUSE, IMPUTE = "refuse", "impute"
# Values that a description leaves out.
_USUAL: dict[str, Any] = {
    "missing": REFUSE,
    "header": True,
    "dates": (),
    "features": "",
    "empty_rows": "",
}
_USUAL_OF_COLUMNS: dict[str, Any] = {"decimal": ".", "unit": "", "words": None, "spellings": {}}
# Columns of numbers that are in a file next to the table.
_SIDECAR = "features[{}]"


def sidecar_name(k: int) -> str:
    """Return the name of column k of the numbers next to a table."""
    return _SIDECAR.format(k)


def is_sidecar(name: str) -> bool:
    """Return whether a column is one of those next to the table."""
    return name.startswith(_SIDECAR[:9]) and name.endswith("]") and name[9:-1].isdigit()


@dataclass(frozen=True)
class Column:
    """A named column: ``kind`` is "number", "category", "boolean", "date" or "text".

    There may be its number of ``categories``, or of ``words`` and their like. Numbers may have
    been written with a mark other than "." before ``decimal`` s, and a ``unit``. Categories that
    differ in capital letters or blanks only may be one: ``spellings`` gives the one to use, by
    what they have in common.
    """

    name: str
    kind: str
    categories: int | None = None
    decimal: str = "."
    unit: str = ""
    words: int | None = None
    spellings: dict[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Schema:
    """Columns of the training data.

    The ``layout`` is a "table" of named ``columns``, or a "dense" or "sparse" matrix whose columns
    are known by their position. ``zero_based``: whether svmlight files count columns from 0.
    ``missing`` says whether the encoder fills in missing numbers or refuses them, ``header``
    whether a file of text had a row of names. Columns of ``dates`` are replaced by what they say.
    ``features`` is the name of the file of numbers next to the table, if there was one.
    ``empty_rows`` says what becomes of rows in which every column is blank, see
    :mod:`fewlabels.pipeline.options.fit`; "" where they are like others.
    """

    layout: str
    n_columns: int
    columns: tuple[Column, ...] = ()
    zero_based: bool = False
    missing: str = REFUSE
    header: bool = True
    dates: tuple[str, ...] = ()
    features: str = field(default="", compare=False)
    empty_rows: str = field(default="", compare=False)

    def sources(self) -> list[str]:
        """Return names of the columns that a table must have."""
        parts = tuple(f"{name}: " for name in self.dates)
        return [n for n in self.names() if not (parts and n.startswith(parts))] + [*self.dates]

    def names(self, *kinds: str) -> list[str]:
        """Return names of the columns, of some kinds or all."""
        return [column.name for column in self.columns if not kinds or column.kind in kinds]

    def blank_rows(self, count: int) -> pd.DataFrame | RowMatrix:
        """Return ``count`` rows for the encoder: numbers 0, texts empty."""
        import numpy as np
        import scipy.sparse as sp

        shape = count, self.n_columns
        if self.layout != "table":
            return np.zeros(shape) if self.layout == "dense" else sp.csr_array(shape)
        import pandas as pd

        texts = {"category", "boolean", "text"}
        cells = {c.name: "" if c.kind in texts else 0.0 for c in self.columns}
        return pd.DataFrame(cells, index=range(count))

    @property
    def only_texts(self) -> bool:
        """Return whether all columns are texts."""
        return bool(self.columns) and self.names() == self.names("text")

    def with_counts(self, known: Mapping[str, ObjectArray], words: Mapping[str, int]) -> Self:
        """Return a copy with the numbers of categories and words by column."""
        columns = (
            replace(column, categories=len(known[column.name]))
            if column.kind == "category"
            else replace(column, words=words.get(column.name))
            for column in self.columns
        )
        return replace(self, columns=tuple(columns))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name, without those that most schemas and columns share."""
        values = asdict(self)
        for key, usual in _USUAL.items():
            if values[key] == usual:
                del values[key]
        for column in values["columns"]:
            for key, usual in _USUAL_OF_COLUMNS.items():
                if column[key] == usual:
                    del column[key]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make a schema of the output of :meth:`to_dict`; unknown keys are ignored."""
        columns = tuple(Column(**_known_fields(Column, column)) for column in values["columns"])
        dates = tuple(values.get("dates", ()))
        return cls(**{**_known_fields(cls, values), "columns": columns, "dates": dates})


def _known_fields(kind: type[Schema] | type[Column], values: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}
