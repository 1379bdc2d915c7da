"""What a training is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..settings import check_ranges
from .choice import check_options
from .parameters import check_names
from .search import DEFAULT_BUDGET


@dataclass(frozen=True)
class Request:
    """Rows, machine and effort of a training; the defaults are those of ``fewlabels fit``.

    Attributes
    ----------
    target, normal, positive, unlabeled : str or None
        Column with the labels, the class to learn alone, the class to look for, and a value
        that counts as blank.
    machine : str or None
        A name from :data:`fewlabels.io.models.machines.MACHINES`; else the labels decide.
    parameters : dict
        Its parameters, as far as they are given.
    drop, categorical, keep : sequence of str
        Columns to leave out, columns that are categories whatever they hold, and columns to
        learn from although they look as if nothing could be learnt from them.
    missing : {"impute", "skip", "refuse"}
        What is done with missing numbers.
    scale : bool
        Whether numbers are scaled.
    clean : bool
        Whether rows of one class hold no others.
    time_budget : float
        Seconds for the choice of settings; 0 for those given or default.
    baselines : bool or None
        Whether other methods are compared with; None means if there is a report.
    rows : bool or None
        Whether the model holds its training rows; None leaves it to the machine.
    """

    target: str | None = None
    normal: str | None = None
    positive: str | None = None
    unlabeled: str | None = None
    machine: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    missing: str = "impute"
    scale: bool = True
    clean: bool = False
    time_budget: float = DEFAULT_BUDGET
    baselines: bool | None = None
    rows: bool | None = None

    def check(self):
        """Refuse what contradicts itself or is out of range, before anything is read."""
        check_names(self.parameters)
        check_ranges({**self.parameters, "time_budget": self.time_budget})
        check_options(self.machine, self.target, self.normal, self.positive, self.unlabeled)
