"""The main job from Python: a table in, a model and its report out."""

import dataclasses
import html
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..io.models.files import save_model
from ..io.models.machines import cautions
from ..io.tables.profile import Column
from ..io.tables.schema import Schema
from ..report import Contents, collect, write_report
from ..report.page.html import page
from .observer import Observer, in_words_of
from .scoring import score
from .settings import DEFAULT_BUDGET
from .training.choice import Choice
from .training.outputs import check_model_output, check_report_output
from .training.train import train
from .wording import listening


@dataclass(frozen=True, eq=False)
class Report:
    """The report of a fit, and its ``contents``. A notebook shows it; :meth:`save` writes it."""

    contents: Contents

    def __repr__(self):
        return self.contents.findings.headline

    def _repr_html_(self):
        # A document of its own, whose styles stay inside, without scripts.
        text = html.escape(page(self.contents, inline=True))
        style = "width: 100%; height: 40rem; border: 0; resize: vertical"
        return f'<iframe srcdoc="{text}" sandbox title="Report" style="{style}"></iframe>'

    def save(self, path, *, force=False):
        """Write the report as one HTML file, ``path``, that needs no network.

        ``force``: whether a file that is no report may be replaced.
        """
        with in_words_of(Observer()):
            check_report_output(path, force, inputs=[])
            write_report(path, self.contents)


@dataclass(frozen=True, eq=False)
class TableFit:
    """What was learned from a table. A notebook shows the report.

    Attributes
    ----------
    model : Pipeline
        What turns columns into numbers ("columns"), and the model ("machine"), fitted. Its input
        are rows in the types that the table was read in; :meth:`predict` takes tables as they are.
    choice : Choice
        ``machine``, the name of the model that is delivered, and ``why`` it is this one.
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

    model: Any
    choice: Choice
    profile: pd.DataFrame
    comparison: Any
    report: Report | None
    metadata: dict[str, Any]
    schema: Schema

    @property
    def notes(self):
        """What the user should know."""
        return list(self.metadata["training"]["notes"])

    def predict(self, data, *, skip_missing=False, **reading):
        """Score rows.

        Parameters
        ----------
        data : DataFrame, path-like, ndarray or sparse matrix
            Rows with the columns of the table, in any order and with others between them.
        skip_missing : bool, default=False
            Leave rows with missing numbers without a score, where the model fills in none.
        **reading
            How a file is read: ``sep``, ``decimal``, ``encoding``, ``header`` and ``features`` as
            in :func:`fit_table`.

        Returns
        -------
        DataFrame
            The columns that ``fewlabels predict`` adds to a table: ``score``, ``label`` and, as
            the model has them, ``positive`` and ``p_value`` or ``probability``; with the index
            of the data. ``data.join(found.predict(data))`` has everything side by side.
        """
        return score(self, data, skip_missing=skip_missing, **reading)

    def save(self, path, *, force=False):
        """Write the model as a file, ``path``, for ``fewlabels predict`` and the others.

        ``force``: whether a file that is no model may be replaced.
        """
        with in_words_of(Observer()):
            check_model_output(path, force, inputs=[])
            save_model(path, self.model, self.metadata)

    def __repr__(self):
        training = self.metadata["training"]
        lines = [f"{sentence}." for sentence in cautions(training)]
        lines += [f"{self.choice.machine}: {self.choice.why}", training["settings"]]
        if self.comparison is not None:
            lines.append(self.comparison.verdict)
        return "\n".join(lines + [f"Note: {note}." for note in self.notes])

    def _repr_html_(self):
        return None if self.report is None else self.report._repr_html_()


def fit_table(
    data,
    target=None,
    *,
    normal=None,
    positive=None,
    unlabeled=None,
    machine=None,
    drop=(),
    categorical=(),
    keep=(),
    text=(),
    text_weight=None,
    missing="impute",
    scale="auto",
    clean=None,
    time_budget=DEFAULT_BUDGET,
    baselines=None,
    report=True,
    rows=None,
    merge_case=None,
    sep=None,
    decimal=None,
    encoding=None,
    header=None,
    features=None,
    labels=None,
    dates=(),
    observer=None,
    **parameters,
):
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
    target : str, default=None
        Column with the class of each row, blank if unknown. Without it all rows are normal.
    normal : str, default=None
        The normal class. Only its rows are used for training.
    positive : str, default=None
        The class to look for. All other rows, blank or with one other value, are unlabelled.
    unlabeled : str, default=None
        A value of the target that marks unlabelled rows, like a blank.
    machine : {"svdd", "svdd-ensemble", "one-class", "pusvm", "pu-ensemble", "s3vm"}, default=None
        The method; None picks it from the labels. Or a simpler method, such as "forest",
        "neighbours" or "logistic" (:mod:`fewlabels.baselines`).
    drop, categorical, keep, text : str or sequence of str, default=()
        Columns to leave out; numeric columns to treat as categories; columns to keep although
        they look like an identifier, a date or a constant; columns whose words to use although
        their texts are short (sentences are detected).
    text_weight : float, default=None
        Variance of all text columns relative to all other columns. None chooses it by held-out
        labels, which may leave columns out; 1 without labels.
    missing : {"impute", "skip", "refuse"}, default="impute"
        Missing numbers: impute the median and mark them, skip their rows, or refuse them.
    scale : "auto" or bool, default="auto"
        Whether numbers are scaled to mean 0 and variance 1. "auto" does so unless all columns
        are numbers of one unit: rows of one length, or columns with the same maximum.
    clean : bool, default=None
        Whether no row of one class is an anomaly. None is False: a few may be.
    time_budget : float, default=20.0
        Seconds for everything, from reading to the report. If it is too short for all rows, a
        sample is used, and a note says so. With 0, settings are defaults, all rows are used, and
        what follows the fit takes a few seconds or a fifth of its time. Passing a setting that
        would be chosen ends the search.
    baselines : bool, default=None
        Whether to compare with other methods. None: if there is a report and a budget.
    report : bool, default=True
        Whether to make a report.
    rows : bool, default=None
        Whether a saved model keeps the training rows, so that rows can be added. None: an S3VM
        does.
    merge_case : bool, default=None
        Whether values that differ only in case or blanks are equal. None refuses them in the
        target and merges them in other columns, with a note.
    sep, decimal, encoding : str, default=None
        Separator, decimal mark ("." or ",") and encoding of a text file; None detects them.
    header : bool, default=None
        Whether the first row of a text file names the columns; False calls them ``column_1``
        and so on. None detects it.
    features : path-like or ndarray, default=None
        Numbers to add to the table, such as embeddings: an .npy file or an array, row by row.
    labels : path-like, default=None
        File of labels written by ``fewlabels label``; ``target`` is then its column.
    dates : str or sequence of str, default=()
        Date columns to use: days since 1970, weekday, month and hour.
    observer : Observer, default=None
        Receives progress messages.
    parameters
        Parameters of the method, such as ``gamma``, ``C``, ``nu``, ``target_fpr`` ("none" for
        the model's own threshold), ``prior``, ``max_time``, ``n_jobs`` and ``random_state``.

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
    >>> found.choice.machine
    'svdd-ensemble'
    >>> list(found.predict(pd.DataFrame({"a": [0.0, 9.0], "b": [0.0, 9.0]}))["label"])
    ['inside', 'outside']
    """
    observer = observer or Observer()
    training = train(
        data, target, reported=report, observer=observer, normal=normal, positive=positive,
        unlabeled=unlabeled, machine=machine, drop=drop, categorical=categorical, keep=keep,
        text=text, text_weight=text_weight, missing=missing, scale=scale, clean=clean,
        time_budget=time_budget, baselines=baselines, rows=rows, merge_case=merge_case, sep=sep,
        decimal=decimal, encoding=encoding, header=header, features=features, labels=labels,
        dates=dates, **parameters,
    )  # fmt: skip
    names = [field.name for field in dataclasses.fields(Column)]
    columns = [dataclasses.asdict(column) for column in training.prepared.found.profile]
    choice = training.prepared.choice
    return TableFit(
        model=training.pipeline,
        choice=choice._replace(why=observer.words(choice.why)),
        profile=pd.DataFrame(columns, columns=names),
        comparison=training.comparison,
        report=_report(training, observer) if report else None,
        metadata=training.metadata,
        schema=training.prepared.schema,
    )


def _report(training, observer):
    """The report of a training; None, with a note, where Ctrl-C ended it."""
    observer.step("writing the report")
    notes = training.metadata["training"]["notes"]
    try:
        with listening() as messages:
            contents = collect(**training.parts_of_report())
    except KeyboardInterrupt:
        notes.append("there is no report, as Ctrl-C ended it")
        return None
    notes += [observer.words(note) for note in messages]
    return Report(_told(contents, observer.words))


def _told(value, words):
    """A value with all its texts in other words."""
    if isinstance(value, str):
        return words(value)
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **{k: _told(v, words) for k, v in fields.items()})
    if isinstance(value, list | tuple):
        parts = [_told(part, words) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value
