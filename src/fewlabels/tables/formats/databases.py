"""What databases of all kinds have in common: tables with names."""

from collections.abc import Mapping
from typing import TypeVar

from ..._util.messages import UserError, listing
from ..sources import Source

T = TypeVar("T")


def choose_table(source: Source, known: Mapping[str, T]) -> T:
    """Choose the table of a source among those ``known`` by name."""
    if source.table in known:
        return known[source.table]
    if not known:
        raise UserError(f"{source.path} has no tables; pass a database with at least one.")
    if source.table:
        raise UserError(
            f"{source.path} has no table {listing([source.table])}; it has {listing(known, 20)}."
        )
    if len(known) > 1:
        raise UserError(
            f"{source.path} has {len(known)} tables, {listing(known, 20)}; choose one, as in "
            f"{source.path}::{next(iter(known))}."
        )
    return next(iter(known.values()))


def check_share_read(source: Source, done: int, n_rows: int) -> float:
    """Return the share of a table that was read; more rows than the table has are refused."""
    if done > n_rows:
        raise UserError(
            f"{source} returns more rows than the {n_rows} that it counts, like a view with "
            "random numbers; pass a table."
        )
    return done / max(1, n_rows)


def quoted(name: str) -> str:
    """Return a name as SQL takes any."""
    return '"' + name.replace('"', '""') + '"'
