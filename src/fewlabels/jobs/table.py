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
    """What was learnt from a table. A notebook shows the report.

    Attributes
    ----------
    model : Pipeline
        What turns columns into numbers ("columns"), and the machine ("machine"), fitted. Its input
        are rows in the types that the table was read in; :meth:`predict` takes tables as they are.
    choice : Choice
        ``machine``, the name of the machine that is delivered, and ``why`` it is this one.
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
    """Learn from a table: what ``fewlabels fit`` does, without a file.

    The labels decide which machine. Rows of one class get an SVDDEnsemble, which tells what does
    not belong to them (an SVDD, if none of them is an anomaly). One class and blanks get a
    PUEnsemble, or a PUSVM if the ensemble would take long or ``rows`` are to be held: both find
    more rows of that class among the blank ones. Two or more classes and blanks get an S3VM,
    which tells them apart. A simpler method that is clearly better on held-out labels is delivered
    in place of these, unless ``machine``, its settings or ``rows`` are given. Columns that nothing
    can be learnt from are left out, categories and words are encoded, missing numbers filled in,
    settings chosen from the data. Options and defaults are those of ``fewlabels fit``.

    Parameters
    ----------
    data : DataFrame, path-like, ndarray or sparse matrix
        The table: a data frame of pandas or polars, a file as for ``fewlabels fit``, or a matrix.
    target : str, default=None
        Column with the class of each row, blank where it is unknown. Without it all rows are
        normal.
    normal : str, default=None
        The class that is normal; it alone is learnt from.
    positive : str, default=None
        The class to look for; all other rows, blank or with one other value, are unlabelled.
    unlabeled : str, default=None
        A value of the target that marks rows of unknown class, as a blank does.
    machine : {"svdd", "svdd-ensemble", "one-class", "pusvm", "pu-ensemble", "s3vm"}, default=None
        The machine; None leaves it to the labels. Or a simple method, such as "forest",
        "neighbours" and "logistic", see :mod:`fewlabels.baselines`.
    drop, categorical, keep, text : str or sequence of str, default=()
        Columns to leave out; columns of categories although they hold numbers; columns to learn
        from although they look like an identifier, a date or a constant; columns whose words are
        learnt from although their texts are short (sentences are found by themselves).
    text_weight : float, default=None
        Variance of all texts together in terms of that of all other columns. None: by labels held
        out, which may leave columns out; 1 without labels.
    missing : {"impute", "skip", "refuse"}, default="impute"
        Missing numbers: filled in with the median, and the machine is told where; or their rows
        are left out; or they are refused.
    scale : "auto" or bool, default="auto"
        Whether numbers are scaled to mean 0 and variance 1. "auto": unless all columns are numbers
        of one unit, which is where rows are all of one length, or most columns reach the same
        largest value.
    clean : bool, default=None
        Whether no row of one class is an anomaly, so that all are trained on. None is as False:
        a few may be, and the rows farthest from others have no part.
    time_budget : float, default=20.0
        Seconds for all of it, from reading to the report. Where they are too few for all rows, a
        sample is learnt from, and a note says so. With 0 no settings are chosen, and all rows are
        learnt from. A setting that would be chosen and is given ends the choice.
    baselines : bool, default=None
        Whether other methods are compared with, in what is left of the time budget; None: if
        there is a budget, and a report or labels that show which method is better.
    report : bool, default=True
        Whether a report is made.
    rows : bool, default=None
        Whether a saved model holds the training rows, so that rows can be added; None: an S3VM
        does.
    merge_case : bool, default=None
        Whether values that differ in capital letters or blanks only are one. None refuses them in
        the target, and merges them in columns of categories, with a note.
    sep, decimal, encoding : str, default=None
        Of a file of text, what is between cells, what is before decimals ("." or ","), and the
        encoding; None finds them by looking.
    header : bool, default=None
        Whether the first row of a file of text names the columns; False calls them ``column_1``
        and so on.
    features : path-like or ndarray, default=None
        Numbers that stand beside the table, such as embeddings: an .npy file or an array, row by
        row.
    labels : path-like, default=None
        File of labels that ``fewlabels label`` wrote for the data; ``target`` is then its column.
    dates : str or sequence of str, default=()
        Columns of dates to learn from: days since 1970, weekday, month and hour.
    observer : Observer, default=None
        Hears what is going on.
    **parameters
        Parameters of the machine by the names of its class, such as ``gamma``, ``C``, ``nu``,
        ``target_fpr`` ("none" for the machine's own threshold), ``prior``, ``max_time``,
        ``n_jobs`` and ``random_state``.

    Returns
    -------
    TableFit
        With ``model``, ``choice``, ``profile``, ``comparison``, ``report``, ``predict(data)`` and
        ``save(path)``. A notebook shows its report.

    Raises
    ------
    UserError
        The table cannot be learnt from as asked; the message says why, and what to do.

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
