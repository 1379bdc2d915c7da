"""Choices of the next row: what ``--ask`` offers, and the strategy of each.

A strategy of :mod:`fewlabels.querying` that this table doesn't name is for Python alone.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from ..querying import Mixed

# Labels before uncertain rows are queried; clusters of texts say little about their classes.
_N_FIRST_OF_TEXTS = 10
_N_FIRST = 20
# Share of random rows while a rare class is looked for.
_RANDOM_SHARE = 0.2

MakeStrategy: TypeAlias = "Callable[[ModuleType, dict[str, Any], bool], Mixed]"


class QueryOption(NamedTuple):
    """A way to choose the next row.

    ``make(querying, settings, texts)`` returns the ``Mixed`` strategy, from the module
    ``querying`` (imported on first use, as it is slow) with the ``settings`` of all strategies;
    ``texts`` says whether rows are sparse. ``help`` continues "``name`` ...". With
    ``targets_rare_class``, the first class is unlike most rows, and a ball finds it until enough
    of its rows are known.
    """

    make: MakeStrategy
    help: str = ""
    targets_rare_class: bool = False


def use_only(name: str) -> MakeStrategy:
    """Return a maker of a strategy of ``fewlabels.querying`` that is queried for each row."""

    def make(querying: ModuleType, settings: dict[str, Any], texts: bool) -> Mixed:
        return querying.Mixed([(getattr(querying, name)(**settings), 1.0)], **settings)

    return make


def _make_mixed(querying: ModuleType, settings: dict[str, Any], texts: bool) -> Mixed:
    first, n_first = (
        (querying.Random, _N_FIRST_OF_TEXTS) if texts else (querying.Central, _N_FIRST)
    )
    return querying.Mixed(first=first(**settings), n_first=n_first, **settings)


def _make_rare_class_search(querying: ModuleType, settings: dict[str, Any], texts: bool) -> Mixed:
    strategies = [
        (querying.Random(**settings), _RANDOM_SHARE),
        (querying.Positives(positive=0, **settings), 1.0 - _RANDOM_SHARE),
    ]
    return querying.Mixed(strategies, **settings)


QUERY_OPTIONS = {
    "mixed": QueryOption(
        _make_mixed,
        "begins with varied rows, then combines uncertain rows with 25 % random rows, which the "
        "estimates need",
    ),
    "uncertain": QueryOption(use_only("Uncertain")),
    "typical": QueryOption(use_only("Typical")),
    "diverse": QueryOption(use_only("Diverse")),
    "positives": QueryOption(_make_rare_class_search, "looks for the first class"),
    "anomalies": QueryOption(
        _make_rare_class_search,
        "looks for a rare first class, unlike most rows",
        targets_rare_class=True,
    ),
    "random": QueryOption(use_only("Random")),
}
DEFAULT = "mixed"
Ask = StrEnum("Ask", list(QUERY_OPTIONS))  # type: ignore[misc]


def describe_ask_option() -> str:
    """Return the help of ``--ask``."""
    descriptions = [
        f"{name} {option.help}" for name, option in QUERY_OPTIONS.items() if option.help
    ]
    return f"How to choose the next row: {'; '.join(descriptions)}."
