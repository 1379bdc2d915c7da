"""What a training is asked for."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from ..settings import check_ranges
from .choice import check_options
from .parameters import check_names
from .search import DEFAULT_BUDGET


@dataclass(frozen=True)
class Request:
    """Options of a training, which :func:`fewlabels.fit_table` explains, and their defaults."""

    target: str | None = None
    normal: str | None = None
    positive: str | None = None
    unlabeled: str | None = None
    machine: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    missing: str = "impute"
    scale: bool = True
    clean: bool = False
    time_budget: float = DEFAULT_BUDGET
    baselines: bool | None = None
    rows: bool | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


def request_of(options):
    """The request that options by name make; what is no option is a parameter of the machine.

    What contradicts itself or is out of range is refused, before anything is read.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in {"target", "normal", "positive", "unlabeled"} & given.keys():
        given[name] = str(given[name])
    for name in {"drop", "categorical", "keep"} & given.keys():
        names = given[name]
        given[name] = (names,) if isinstance(names, str) else tuple(str(one) for one in names)
    names = {field.name for field in dataclasses.fields(Request)} - {"parameters"}
    asked = {name: given.pop(name) for name in names & given.keys()}
    check_names(given)
    request = Request(**asked, parameters=given)
    check_ranges({**given, "time_budget": request.time_budget})
    check_options(
        request.machine, request.target, request.normal, request.positive, request.unlabeled
    )
    return request
