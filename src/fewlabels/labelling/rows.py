"""The table that is labelled: its cells for people, its numbers for models, its keys."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._typing import IntArray, ObjectArray
from .._util.messages import UserError, listing, ref, template
from .._util.paths import is_regular_file, resolve_path
from ..tables.answers.row_keys import RowKeys, cells_as_text, fingerprint
from ..tables.columns.column import without
from ..tables.columns.schema import is_sidecar
from ..tables.columns.target import choose_all_rows, count_labels
from ..tables.encoding.fit import feature_names, fit_encoder
from ..tables.formats.registry import tables, usual_extensions
from ..tables.names import check_class_names
from ..tables.reading.options import DEFAULT_COLUMN_OPTIONS, ColumnOptions
from ..tables.reading.read import read_table
from ..tables.reading.training import read_training
from ..tables.sources import InMemory, Source

# Characters that a card shows of a cell.
_MAX_CELL_LENGTH = 20_000
# Types of the files that a card shows as pictures.
PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
# Rows that a search returns, and rows whose cells decide whether a column names pictures.
_MAX_ROWS_FOUND = 100
_ROWS_CHECKED = 20


class SessionRows:
    """Rows of a table, or a file of them.

    ``X`` are their numbers, ``columns`` the column of the table that each of these comes from,
    ``keys`` what every row is recognised by, ``given`` the labels that the column ``target`` holds
    already, "" where none. ``order`` is a random order of the rows, which follows from ``seed``
    and the keys, so that rows added later do not change it.
    """

    def __init__(
        self,
        source: Source | InMemory,
        target: str,
        seed: str,
        columns: ColumnOptions = DEFAULT_COLUMN_OPTIONS,
    ) -> None:
        if not source.format.is_table:
            raise UserError(
                f"{source} is a matrix of numbers, which people can't label by looking at it; "
                f"pass a table ({usual_extensions(tables())}) or a data frame."
            )
        self.source, self.seed = source, seed
        table = read_table(source)
        sidecar_names = [name for name in table.column_names if is_sidecar(name)]
        # Numbers beside the table are learnt from, but are no cells of its rows.
        self.table = without(table, sidecar_names)
        has_target = target in self.table.column_names
        self.given = (
            _read_labels(self.table.column(target), target, source) if has_target else None
        )
        self.shown = [name for name in self.table.column_names if name != target]
        self.keys = RowKeys(without=target).make_keys(self.table)
        self.fingerprint = fingerprint(self.keys)
        pictures = [] if sidecar_names else self._find_picture_columns()
        try:
            columns = replace(columns, target=target if has_target else None)
            file = read_training(source, columns)
            chosen = file.choose(choose_all_rows(file.n_rows), known=_label_codes(self.given))
        except UserError as error:
            if pictures:
                raise UserError(f"{template(error)} {_unused_pictures_note(pictures)}") from error
            raise
        encoder, self.X, schema = fit_encoder(chosen.schema, chosen.rows, source)
        self.columns = _source_columns(feature_names(encoder, schema), self.shown)
        self.notes = chosen.notes + ([_unused_pictures_note(pictures)] if pictures else [])
        self.order = np.argsort([_order_key(seed, key) for key in self.keys], kind="stable")

    def __len__(self) -> int:
        return self.table.num_rows

    @property
    def folder(self) -> Path | None:
        """Return the folder that may hold pictures; None for rows in memory."""
        return None if isinstance(self.source, InMemory) else resolve_path(self.source).parent

    def card(self, row: int) -> list[dict[str, Any]]:
        """Return names and cells of a row, as text, and whether they are pictures."""
        cells: list[dict[str, Any]] = []
        for name, text in self._cells(row, self.shown):
            cut = len(text) > _MAX_CELL_LENGTH
            cells.append(
                {
                    "name": name,
                    "text": text[:_MAX_CELL_LENGTH],
                    "cut": cut,
                    "picture": self.find_picture(text) is not None,
                }
            )
        return cells

    def _cells(self, row: int, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return names and cells of a row as text; all of one type at once, as each call costs."""
        table_row = self.table.slice(row, 1)
        names_by_type: dict[pa.DataType, list[str]] = {}
        found: dict[str, str] = {}
        for name in names:
            names_by_type.setdefault(table_row.column(name).type, []).append(name)
        for kind, alike in names_by_type.items():
            parts = [part for name in alike for part in table_row.column(name).chunks if len(part)]
            found |= zip(
                alike, map(str, cells_as_text(pa.chunked_array(parts, kind))), strict=True
            )
        return [(name, found[name]) for name in names]

    def find_picture(self, text: str) -> Path | None:
        """Return the picture below the data's folder that a cell names, or None."""
        if len(text) > 1000 or not text.lower().endswith(tuple(PICTURES)) or self.folder is None:
            return None
        try:
            path = resolve_path(self.folder / text)
            inside = path.is_relative_to(self.folder) and is_regular_file(path)
        except UserError:
            return None
        inside = inside and path.suffix.lower() in PICTURES
        return path if inside else None

    def _find_picture_columns(self) -> list[str]:
        """Return the names of columns whose first cells name pictures."""
        first = self.table.slice(0, _ROWS_CHECKED)
        cells = {
            name: [str(cell) for cell in cells_as_text(first.column(name)) if cell]
            for name in self.shown
        }
        return [
            name
            for name, texts in cells.items()
            if texts and all(self.find_picture(cell) is not None for cell in texts)
        ]

    def search(self, words: str) -> list[int]:
        """Return the first hundred rows whose cells contain the words."""
        hits = np.zeros(len(self), bool)
        for name in self.shown:
            column = pa.array(cells_as_text(self.table.column(name)), pa.large_string())
            hits |= pc.match_substring(column, words, ignore_case=True).to_numpy(False)
        return np.flatnonzero(hits)[:_MAX_ROWS_FOUND].tolist()

    def summarise(self, row: int) -> str:
        """Return a row as one line."""
        line = " · ".join(cell for _, cell in self._cells(row, self.shown[:8]) if cell)
        return line if len(line) <= 160 else f"{line[:159]}…"

    def with_labels(self, target: str, labels: dict[int, str]) -> pa.Table:
        """Return the table with a column of labels, by row; blank where there is none."""
        column = pa.array([labels.get(row) for row in range(len(self))], pa.large_string())
        if target in self.table.column_names:
            place = self.table.column_names.index(target)
            return self.table.set_column(place, target, column)
        return self.table.append_column(target, column)


def _read_labels(column: pa.ChunkedArray, target: str, source: Source | InMemory) -> ObjectArray:
    """Return the labels of a column by their names, "" where none; as a fit reads them."""
    labels = count_labels(cells_as_text(column), column=target, source=source, merge_case=False)
    try:
        check_class_names(labels.names)
    except UserError as error:
        raise UserError(f"{labels.where} can't be labelled further: {template(error)}") from error
    return np.array([*labels.names, ""], dtype=object)[labels.index]


def _unused_pictures_note(pictures: list[str]) -> str:
    return (
        f"The model doesn't use the pictures in {listing(pictures)}; pass {ref('features')} with "
        "an .npy file of embeddings, one row per picture."
    )


def _label_codes(given: ObjectArray | None) -> IntArray | None:
    """Return codes of the labels that a table holds already, -1 where there is none."""
    if given is None:
        return None
    return np.where(given == "", -1, np.unique(given, return_inverse=True)[1])


def _order_key(seed: str, key: str) -> bytes:
    return hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=16).digest()


def _source_columns(names: Iterable[object], column_names: Iterable[str]) -> ObjectArray:
    """Return the column of the table that each encoded column comes from; "" if unknown."""
    by_length = sorted(column_names, key=len, reverse=True)
    sources = []
    for name in map(str, names):
        plain_name = name.removeprefix("missingindicator_")
        candidates = (
            c for c in by_length if plain_name == c or plain_name.startswith((f"{c}_", f"{c}: "))
        )
        sources.append(next(candidates, ""))
    return np.array(sources, dtype=object)
