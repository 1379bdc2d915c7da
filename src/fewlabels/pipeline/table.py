"""The main job from Python: a table in, a model and its report out."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from .._typing import PathLike, TableLike
from .._util.messages import as_arguments
from ..report import Contents, write_report
from ..report.page.html import page
from ..tables.columns.profile import ColumnProfile
from ..tables.columns.schema import Schema
from ..tables.models.cautions import list_cautions
from ..tables.models.files import load_model, save_model
from ..tables.user_data import make_source
from .observer import Observer
from .options.checks import parse_options
from .options.documentation import takes
from .options.fit import FitOptions
from .options.score import ScoreOptions
from .scoring.score import score
from .summary import findings
from .tasks import Choice
from .training.fit import fit
from .training.fitting import Run
from .training.outcome import Outcome
from .training.outputs import (
    check_model_output,
    check_report_output,
    collect_contents,
    expected_rates,
)
from .training.schedule import Schedule
from .updating import current_metadata

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from ..model_selection import BaselineComparison


@dataclass(frozen=True, eq=False)
class Report:
    """The report of a fit, and its ``contents``. A notebook shows it; :meth:`save` writes it."""

    contents: Contents

    def __repr__(self) -> str:
        return self.contents.findings.headline

    def _repr_html_(self) -> str:
        # A document of its own, whose styles stay inside, without scripts.
        text = html.escape(page(self.contents, inline=True))
        style = "width: 100%; height: 40rem; border: 0; resize: vertical"
        return f'<iframe srcdoc="{text}" sandbox title="Report" style="{style}"></iframe>'

    def save(self, path: PathLike, *, force: bool = False) -> None:
        """Write the report as one HTML file, ``path``, that needs no network.

        ``force``: whether a file that is no report may be replaced.
        """
        check_report_output(path, force, inputs=[])
        write_report(path, self.contents)


@dataclass(frozen=True, eq=False)
class TableFit:
    """A model of a table, how it was chosen, and its report, which a notebook shows.

    Attributes
    ----------
    model : Pipeline
        What turns columns into numbers ("columns"), and the model ("model"), fitted. Its input
        are rows in the types that the table was read in; :meth:`predict` takes tables as they are.
    choice : Choice
        ``method``, the name of the method that is delivered, and ``why`` it is this one.
    profile : DataFrame
        The columns of the table and how they were taken; empty for a matrix.
    comparison : BaselineComparison or None
        Other methods on the same rows.
    report : Report or None
        What was found, for people.
    metadata : dict
        What the model file will say; figures of the fit are under "training".
    schema : Schema
        The columns of the model.
    """

    model: Pipeline
    choice: Choice
    profile: pd.DataFrame
    comparison: BaselineComparison | None
    report: Report | None
    metadata: dict[str, Any]
    schema: Schema

    @property
    def notes(self) -> list[str]:
        """Return what the user should know."""
        return list(self.metadata["training"]["notes"])

    @takes(ScoreOptions, 2)
    def predict(self, data: TableLike, **options: Any) -> pd.DataFrame:
        """Score rows.

        Parameters
        ----------
        data : DataFrame, path-like, ndarray or sparse matrix
            Rows with the columns of the table, in any order and with others between them.
        **options
            The fields of ``fewlabels.pipeline.options.score.ScoreOptions``.

        Returns
        -------
        DataFrame
            The columns that ``fewlabels predict`` adds to a table: ``score``, ``label`` and, as
            the model has them, ``positive`` and ``p_value`` or ``probability``, with ``fdr`` also
            ``discovery``; with the index of the data. ``data.join(found.predict(data))`` has
            everything side by side.
        """
        return score(self, data, **options)

    def save(self, path: PathLike, *, force: bool = False) -> None:
        """Write the model as a file, ``path``, for ``fewlabels predict`` and the others.

        The file describes the model as it is now, updates included. ``force``: whether a file
        that is no model may be replaced.
        """
        check_model_output(path, force, inputs=[])
        save_model(path, self.model, current_metadata(self.metadata, self.model[-1]))

    def __repr__(self) -> str:
        training = self.metadata["training"]
        lines = [f"{sentence}." for sentence in list_cautions(training)]
        for name, value in findings(self.metadata):
            if value is not None:
                lines.append(as_arguments(f"{name}: {value}" if name else value))
        lines += [f"{self.choice.method}: {self.choice.why}", training["settings"]]
        return "\n".join(lines + [f"Note: {note}." for note in self.notes])

    def _repr_html_(self) -> str | None:
        return None if self.report is None else self.report._repr_html_()


def load(path: PathLike, *, trusted: Collection[str] = ()) -> TableFit:
    """Load a model file, which ``fewlabels fit`` or :meth:`TableFit.save` wrote.

    Use it to score tables in Python, or to change a deployed model: ``model[:-1]`` turns a table
    into numbers, and ``model[-1]`` is the estimator with ``partial_fit``, ``forget`` and
    ``relabel`` if the file has its training rows (``rows=True``).

    Parameters
    ----------
    path : path-like
        The model file. It is checked before anything in it runs.
    trusted : collection of str, default=()
        Types that you trust in the file of a candidate, which may run any code; the error of a
        call without them names them.

    Returns
    -------
    TableFit
        As :func:`fit_table` returned it, without comparison and report.

    Raises
    ------
    UserError
        There is no such file, it isn't a model, it contains types that no model has, or a
        candidate whose types aren't trusted or not installed.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd
    >>> from fewlabels import fit_table, load
    >>> rows = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = fit_table(rows, method="svdd", rows=True, time_budget=0, report=False)
    ...     found.save(f"{folder}/healthy.fewlabels")
    ...     deployed = load(f"{folder}/healthy.fewlabels")
    >>> deployed.model[-1].forget([0, 1]).training_rows_.X.shape
    (198, 3)
    """
    model, schema, metadata = load_model(path, trusted)
    training = metadata["training"]
    return TableFit(
        model=model,
        choice=Choice(metadata["method"], training.get("choice", "")),
        profile=pd.DataFrame(training.get("profile", [])),
        comparison=None,
        report=None,
        metadata=metadata,
        schema=schema,
    )


@takes(FitOptions)
def fit_table(data: TableLike, **options: Any) -> TableFit:
    """Fit a table in one call: what ``fewlabels fit`` does, for a data frame.

    Use it first on new data. It encodes the columns, picks the method from the labels, chooses
    settings, compares with simpler methods and makes a report.

    The labels decide the method. Rows of one class get an SVDDEnsemble, which finds new rows that
    don't belong (an SVDD with ``clean=True``). One class and blanks get a PUEnsemble, or a PUSVM
    if the ensemble would take long or ``rows`` are to be kept: both find more rows of that class
    among the blank ones. Two or more classes and blanks get an S3VM, which predicts the class of
    the blank rows.

    Parameters
    ----------
    data : DataFrame, path-like, ndarray or sparse matrix
        The table: a pandas or polars data frame, a file as for ``fewlabels fit``, or a matrix.
    **options
        The fields of ``fewlabels.pipeline.options.fit.FitOptions``.

    Returns
    -------
    TableFit
        With ``model``, ``choice``, ``profile``, ``comparison``, ``report``, ``predict(data)`` and
        ``save(path)``. A notebook shows its report.

    Raises
    ------
    UserError
        The table can't be used as requested; the message says why, and what to do.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fewlabels import fit_table
    >>> healthy = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "b"])
    >>> found = fit_table(healthy, time_budget=0, report=False)
    >>> found.choice.method
    'svdd-ensemble'
    >>> list(found.predict(pd.DataFrame({"a": [0.0, 9.0], "b": [0.0, 9.0]}))["label"])
    ['inside', 'outside']
    """
    asked = parse_options(options)
    observer = asked.observer or Observer()
    schedule = Schedule(asked.time_budget, baselines=asked.baselines, has_report=asked.report)
    source = make_source(data, **asked.reading)
    outcome = fit(source, asked, Run(observer, schedule))
    names = [field.name for field in dataclasses.fields(ColumnProfile)]
    columns = [dataclasses.asdict(column) for column in outcome.rows.found.profile]
    choice = outcome.plan.choice
    report = _report(outcome, schedule, observer) if asked.report else None
    if report is None:
        outcome.facts["expected"] = expected_rates(outcome)
    return TableFit(
        model=outcome.pipeline,
        choice=choice._replace(why=observer.words(choice.why)),
        profile=pd.DataFrame(columns, columns=names),
        comparison=outcome.evidence.comparison,
        report=report,
        metadata=outcome.metadata,
        schema=outcome.rows.schema,
    )


def _report(outcome: Outcome, schedule: Schedule, observer: Observer) -> Report | None:
    """Return the report of a fit; None, with a note, where Ctrl-C ended it."""
    observer.report_stage("writing the report")
    try:
        return Report(collect_contents(outcome, schedule, observer))
    except KeyboardInterrupt:
        outcome.facts["notes"].append("there is no report, as Ctrl-C ended it")
        return None
