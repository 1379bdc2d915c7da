"""The fit of a table: read, plan, encode, train, examine, conclude, and deliver what is best."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from ..._typing import PathLike, TableLike
from ...tables.models.files import save_model
from ...tables.reading.training import read_training
from ...tables.sources import InMemory, Source, input_format
from ...tables.user_data import make_source
from ..cluster_files import list_files
from ..observer import Observer, interruptible
from ..options.checks import check_streamable, parse_options
from ..options.fit import FitOptions
from .comparison import deliver_best
from .evidence import examine
from .fitting import Run
from .large import exceeds_memory, train_large
from .on_cluster import train_on_cluster
from .outcome import Outcome, conclude
from .outputs import check_model_output, check_report_output, expected_rates, write_outcome_report
from .plan import make_plan
from .rows import encode_rows
from .schedule import Schedule
from .train import train


def fit(source: Source | InMemory, options: FitOptions, run: Run) -> Outcome:
    """Fit a table as its options say.

    Parameters
    ----------
    source : Source or InMemory
        The table.
    options : FitOptions
        What was asked for, free of contradictions (:func:`parse_options`).
    run : Run
        The observer of progress, the time, and the file that will be written.

    Returns
    -------
    Outcome
        The model with all that it was made of, and its facts.
    """
    if options.on_cluster or exceeds_memory(source, options):
        return _fit_in_pieces(source, options, run)
    observer, schedule = run.observer, run.schedule
    observer.report_stage("reading")
    table = read_training(source, options.columns)
    schedule.record("reading")
    plan = make_plan(table, options, schedule, can_switch=run.can_switch)
    plan, rows = encode_rows(table, plan, schedule)
    schedule.record("encoding")
    plan, model = train(plan, rows, run)
    schedule.record("settings and fit")
    outcome = conclude(plan, rows, model, examine(rows, model, run), observer)
    schedule.record("tests")
    _save(outcome, run)  # the model is there before methods are compared
    outcome = deliver_best(outcome, run)
    _save(outcome, run)
    return outcome


def _save(outcome: Outcome, run: Run) -> None:
    """Save an outcome with the seconds that were spent on it, if it is saved at all."""
    outcome.facts["budget"] = {"seconds": run.schedule.seconds, "spent": {**run.schedule.spent}}
    if run.save:
        run.save(outcome)


def _fit_in_pieces(source: Source | InMemory, options: FitOptions, run: Run) -> Outcome:
    """Learn from a sample of a table in memory, and from all of its rows in pieces."""
    check_streamable(options)

    def fit_sample(
        rows: InMemory, spread: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> Outcome:
        of_sample = replace(run, save=None, can_switch=False, spread=spread)
        return fit(rows, options.in_memory(), of_sample)

    fit_all = train_on_cluster if options.on_cluster else train_large
    outcome = fit_all(source, options, fit_sample, run)
    run.schedule.record("training on all rows")
    _save(outcome, run)
    return outcome


def fit_file(
    data: TableLike,
    model: PathLike,
    *,
    report: PathLike | None = None,
    command: str = "",
    force: bool = False,
    started: float | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Fit a table, and write the model and its report.

    ``data`` and ``options`` as in :func:`fewlabels.fit_table`.

    Parameters
    ----------
    model, report : path-like
        The files to write; by default no report. The model is there before methods are compared.
    command : str
        What did the fit, for the report.
    force : bool
        Whether files that are no model and no report may be replaced.
    started : float, optional
        When the time budget began, by ``time.perf_counter``; None means now.
    observer : Observer, optional
        Receives progress messages.

    Returns
    -------
    dict
        What the model file says about itself.
    """
    started = time.perf_counter() if started is None else started
    observer = observer or Observer()
    asked = parse_options(options)  # what is wrong with these is said first
    source = make_source(data, **asked.reading)
    _check_readable(source, asked)
    check_model_output(model, force, inputs=[source])
    if report is not None:
        check_report_output(report, force, inputs=[source, model])
    saved = []

    def save(outcome: Outcome) -> None:
        save_model(model, outcome.pipeline, outcome.metadata)
        saved.append(model)

    schedule = Schedule(
        asked.time_budget,
        started=started,
        baselines=asked.baselines,
        has_report=report is not None,
    )
    with interruptible("no model was written", model, unless=saved):
        outcome = fit(source, asked, Run(observer, schedule, model, save))
    facts = outcome.facts
    if report is not None:
        observer.report_stage("writing the report")
        write_outcome_report(outcome, report, schedule, observer, model, command)
        schedule.record("report")
        facts["budget"]["spent"] = {**schedule.spent}
    else:
        facts["expected"] = expected_rates(outcome)
    facts["seconds_in_all"] = schedule.used
    return outcome.metadata


def _check_readable(source: Source | InMemory, options: FitOptions) -> None:
    """Refuse a source of an unknown format, before anything else is done."""
    if options.on_cluster:
        list_files(source)
    else:
        input_format(source)
