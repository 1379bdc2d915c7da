"""What a report says, as plain data: the collector fills it in, the pages show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..io.tables.profile import Column


@dataclass(frozen=True)
class Group:
    """Scores of rows of one kind.

    Attributes
    ----------
    name : str
        Such as "labelled 'fraud'" or "unlabelled".
    scores : ndarray of shape (n,)
        What ``predict`` writes as score; for labelled rows held-out ones where there are any.
    about : str
        By which machine they were scored, one sentence.
    """

    name: str
    scores: np.ndarray
    about: str = ""


@dataclass(frozen=True)
class Rate:
    """An expected rate.

    Attributes
    ----------
    name : str
        Such as "normal rows called outside".
    value : float
        In [0, 1].
    interval : tuple of float or None
        Where it lies with 90 % confidence.
    source : str
        How it is known, one sentence.
    """

    name: str
    value: float
    interval: tuple[float, float] | None
    source: str


@dataclass(frozen=True)
class Ranking:
    """Rows to look at.

    Attributes
    ----------
    title, text : str
        Which rows, and why these.
    rows : DataFrame
        Best first: "row" (1-based in the file), the identifier's column if the file has one,
        "score" or "p-value", "probability" where there is one, "why" (columns that drive the
        score) where they are known.
    """

    title: str
    text: str
    rows: pd.DataFrame


class Findings(NamedTuple):
    """What a situation adds to a report.

    Attributes
    ----------
    headline : str
        The answer in two or three sentences.
    answer : list of (str, str)
        The first figures to read.
    sides : (str, str)
        Names of the rows below and above the threshold.
    groups : list of Group
        Score distributions.
    rankings : list of Ranking
        Rows to look at first.
    rates : list of Rate
        Expected error rates.
    prior : Rate or None
        Share of positives among unlabelled rows.
    notes : list of str
        Remarks.
    """

    headline: str
    answer: list[tuple[str, str]]
    sides: tuple[str, str]
    groups: list[Group]
    rankings: list[Ranking]
    rates: list[Rate]
    prior: Rate | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contents:
    """All that a report says.

    Attributes
    ----------
    source, model : str
        Names of the data and the model file; empty for a model that is not saved.
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
