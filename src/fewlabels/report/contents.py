"""What a report says, as plain data: the collector fills it in, the pages show it."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._typing import FloatArray
from ..base.task import Task
from ..class_prior.uncertainty import is_determined
from ..model_selection.tuning.result import TuningResult
from ..tables.columns.profile import ColumnProfile


@dataclass(frozen=True)
class Group:
    """Scores of rows of one kind, and in one sentence by which model they were scored.

    As ``predict`` writes them; of labelled rows held-out ones where there are any. The first
    picture of a report leaves out groups that are not ``in_overview``. ``counts`` are the rows
    on either side of the threshold, by the scores unless they are given.
    """

    name: str
    scores: FloatArray
    about: str = ""
    in_overview: bool = True
    counts: tuple[int, int] | None = None

    @property
    def sides(self) -> tuple[int, int]:
        """Return the numbers of rows below the threshold and of all others."""
        if self.counts is not None:
            return self.counts
        below = int(np.count_nonzero(self.scores < 0))
        return below, len(self.scores) - below


@dataclass(frozen=True)
class Rate:
    """An expected rate, its 90 % confidence interval, and how it is known.

    ``term`` is the field's word for it, such as "precision"; empty if there is none. With
    ``is_bound``, the rate is at most about ``value``, and the interval ends where it may reach.
    """

    name: str
    value: float
    interval: tuple[float, float] | None
    source: str
    term: str = ""
    is_bound: bool = False

    @property
    def is_determined(self) -> bool:
        """Return whether the interval is narrow enough for the value to mean anything."""
        return is_determined(self.interval)


class ClassFindings(NamedTuple):
    """Labels, predicted rows and rates of a class; None for a rate that is unknown."""

    name: str
    labelled: int
    predicted: int
    share: Rate | None
    precision: Rate | None
    recall: Rate | None

    @property
    def rates(self) -> tuple[Rate | None, Rate | None, Rate | None]:
        """Return the rates in the order in which they are shown."""
        return self.share, self.precision, self.recall


class Excerpt(NamedTuple):
    """A part of a text with its words in pieces: each with 1, -1 or 0 as it moves the score."""

    pieces: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return "".join(piece for piece, _ in self.pieces)


@dataclass(frozen=True)
class Ranking:
    """Rows to look at, best first, and why these.

    Columns are "row" (from 1, in the file), the identifier if the file has one, "score" or
    "p-value", "probability" where there is one, columns of texts (an :class:`Excerpt` in each),
    and "why" (columns that drive the score).
    """

    title: str
    text: str
    rows: pd.DataFrame


class Sensitivity(NamedTuple):
    """Sensitivity of the decisions to a bound on selection bias.

    ``table`` has a row per bound, as in ``fewlabels.model_selection.BiasSensitivity``,
    ``text`` says how it came about, and ``ranking`` lists the rows that change first, if any.
    Without a table, ``text`` says why there is none.
    """

    table: pd.DataFrame | None
    text: str
    ranking: Ranking | None


class Findings(NamedTuple):
    """Findings that a task adds to a report."""

    headline: str  # the answer in two or three sentences
    answer: list[tuple[str, str]]  # the first figures to read
    sides: tuple[str, str]  # names of the rows below and above the threshold
    groups: list[Group]
    rankings: list[Ranking]
    rates: list[Rate]
    prior: Rate | None = None  # share of positives among unlabelled rows
    notes: tuple[str, ...] = ()
    classes: tuple[ClassFindings, ...] = ()  # of two classes or more
    bias: Sensitivity | None = None  # of positive and unlabelled rows


@dataclass(frozen=True)
class Contents:
    """Contents of a report, as plain data.

    ``source`` and ``model`` name the data and the model file, which a ``version`` of fewlabels
    ``created``, and ``command`` repeats that (empty if it is unknown). ``method`` is the method's
    name on the command line, ``title`` its name in words, ``task`` its task, and ``reason`` says
    why it was chosen. ``findings`` are the answer, ``rows`` counts by label, ``columns`` describe
    the table, ``settings`` the estimator's parameters, ``tuning`` their search. ``history``,
    ``converged`` and ``certificate`` describe the fit, and ``limits`` names the options that stop
    one. ``baselines``, ``measure``, ``verdict``, ``outcome``, ``worse_than``, ``protocol`` and
    ``agreement`` come from a ``BaselineComparison``. ``replacement`` says why another method
    replaced the model, if one did. ``distinctive_words`` are kinds of rows and words that are more
    frequent in them, ``notes`` are remarks, ``usage`` headings and code.
    """

    source: str
    model: str
    created: str
    version: str
    command: str
    method: str
    title: str
    task: Task
    reason: str
    findings: Findings
    rows: list[tuple[str, str]]
    columns: list[ColumnProfile]
    settings: dict[str, Any]
    tuning: TuningResult | None
    history: list[dict[str, Any]]
    converged: bool
    certificate: list[tuple[str, str]]

    baselines: pd.DataFrame | None = None
    measure: str = ""
    verdict: str = ""
    outcome: str = ""
    worse_than: list[str] = field(default_factory=list)
    limits: str = ""  # the options that stop a fit
    replacement: str = ""
    protocol: str = ""
    agreement: pd.DataFrame | None = None
    distinctive_words: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    usage: list[tuple[str, str]] = field(default_factory=list)
