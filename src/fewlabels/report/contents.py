"""What a report says, as plain data: the collector fills it in, the pages show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..io.tables.profile import Column


@dataclass(frozen=True)
class Group:
    """Scores of rows of one kind, and in one sentence by which machine they were scored.

    As ``predict`` writes them; of labelled rows held-out ones where there are any.
    """

    name: str
    scores: np.ndarray
    about: str = ""


@dataclass(frozen=True)
class Rate:
    """An expected rate, where it lies with 90 % confidence, and how it is known."""

    name: str
    value: float
    interval: tuple[float, float] | None
    source: str


@dataclass(frozen=True)
class Ranking:
    """Rows to look at, best first, and why these.

    Columns are "row" (from 1, in the file), the identifier if the file has one, "score" or
    "p-value", "probability" where there is one, and "why" (columns that drive the score).
    """

    title: str
    text: str
    rows: pd.DataFrame


class Findings(NamedTuple):
    """What a situation adds to a report."""

    headline: str  # the answer in two or three sentences
    answer: list[tuple[str, str]]  # the first figures to read
    sides: tuple[str, str]  # names of the rows below and above the threshold
    groups: list[Group]
    rankings: list[Ranking]
    rates: list[Rate]
    prior: Rate | None = None  # share of positives among unlabelled rows
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contents:
    """All that a report says.

    Attributes
    ----------
    source, model : str
        Names of the data and the model file.
    created, version : str
        When, and by which fewlabels.
    command : str
        The command that does it again; empty where it is not known.
    machine, title : str
        Name on the command line, and what it is in words.
    situation : {"normal", "positive", "classes"}
        What the machine learns from.
    why : str
        Why this machine.
    findings : Findings
        What was found.
    rows : list of (str, str)
        Counts of rows, by label.
    columns : list of Column
        The table.
    settings : dict
        Parameters of the estimator.
    tuning : TuningResult or None
        The search.
    history : list of dict
        ``history_`` of the fit.
    converged : bool
        Whether the tolerance was reached.
    certificate : list of (str, str)
        Gap, violation, status, seconds, kernel values.
    baselines : DataFrame or None
        The comparison, one row a method: columns name, ours, score, low, high, seconds, note.
    measure : str
        What the score of the comparison is.
    verdict : str
        What the comparison says, one or two sentences.
    outcome : {"better", "worse", "undecided", "unknown", ""}
        The verdict in a word; empty without a comparison.
    worse_than : list of str
        Methods that are ahead of the machine, clearly or not.
    protocol : str
        How methods were compared.
    agreement : DataFrame or None
        Where no score is known: columns name, false_alarms, rank_correlation with the machine.
    notes : list of str
        Warnings and remarks.
    usage : list of (str, str)
        Headings and code: how to use the model.
    """

    source: str
    model: str
    created: str
    version: str
    command: str
    machine: str
    title: str
    situation: str
    why: str
    findings: Findings
    rows: list[tuple[str, str]]
    columns: list[Column]
    settings: dict[str, Any]
    tuning: Any
    history: list[dict]
    converged: bool
    certificate: list[tuple[str, str]]

    baselines: pd.DataFrame | None = None
    measure: str = ""
    verdict: str = ""
    outcome: str = ""
    worse_than: list[str] = field(default_factory=list)
    protocol: str = ""
    agreement: pd.DataFrame | None = None
    notes: list[str] = field(default_factory=list)
    usage: list[tuple[str, str]] = field(default_factory=list)
