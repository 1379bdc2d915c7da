"""Options that say how a file is read, and by whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..._util.option import (
    CLUSTER,
    READING,
    ROWS,
    Range,
    given_options,
    option,
    options_of_schema,
)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options of reading a file; whatever isn't given is detected."""

    sep: str | None = option(
        None,
        "Separator between cells; 'tab' for tabs.",
        READING,
        metavar="CHARACTER",
        unset="detected",
    )
    decimal: str | None = option(
        None, "Decimal separator.", READING, metavar=".|,", unset="detected"
    )
    encoding: str | None = option(
        None,
        "Text encoding, such as utf-8, cp1252 or utf-16.",
        READING,
        metavar="NAME",
        unset="detected",
    )
    header: bool | None = option(
        None,
        "Whether the first row holds column names; otherwise columns are column_1, column_2 and "
        "so on.",
        READING,
        unset="yes, or as in training",
    )
    features: Any = option(
        None,
        "More numbers for each row, such as embeddings; one row per row of the table.",
        READING,
        metavar="FILE.npy",
        accepts="path-like or ndarray",
    )
    labels: Any = option(
        None,
        "Labels given with 'fewlabels label', for the rows of DATA.",
        ROWS,
        metavar="FILE",
        accepts="path-like",
    )

    @property
    def reading(self) -> dict[str, Any]:
        """Return the options of reading that were given, by name."""
        return given_options(self, options_of_schema(ReadingOptions))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ClusterOptions:
    """Who reads the files of DATA."""

    scheduler: str | None = option(
        None,
        "Address of a Dask scheduler, such as tcp://10.0.0.1:8786. Its workers read DATA, which "
        "may be a quoted pattern, such as 'data/part-?.parquet'.",
        CLUSTER,
        metavar="ADDRESS",
    )
    workers: int | None = option(
        None,
        "Start a local Dask cluster of N worker processes instead.",
        CLUSTER,
        metavar="N",
        range=Range("1 or more", lambda value: value >= 1),
    )

    @property
    def on_cluster(self) -> bool:
        """Return whether a cluster reads the files."""
        return self.scheduler is not None or self.workers is not None


@dataclass(frozen=True)
class ColumnOptions:
    """The columns of a table by their part in a fit; see :func:`fewlabels.fit_table`.

    ``aside`` is a column of numbers that no model learns from, such as propensities.
    """

    target: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    keep: Sequence[str] = ()
    text: Sequence[str] = ()
    unlabeled: str | None = None
    merge_case: bool | None = None
    dates: Sequence[str] = ()
    aside: str | None = None
    groups: str | None = None


DEFAULT_COLUMN_OPTIONS = ColumnOptions()
