"""From a table to a model that has learned from it: the main job."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..._typing import PathLike, TableLike
from ...tables.given import source_of
from ...tables.models.contents import no_signal
from ...tables.models.files import save_model
from ...tables.sources import InMemory, Source, input_format
from ...tasks import machine_class
from ..cluster.files import files_of
from ..observer import Observer, interruptible
from ..options.fit import FitOptions
from .budget import Budget
from .choice import (
    check_for_pieces,
    options_of,
)
from .comparison import (
    are_ranked,
    compare,
    comparison_facts,
    deliver,
    encoded_rows_of_others,
    instead_of,
    too_short,
    why_kept,
)
from .figures import described
from .fitting import Fitted, Run, fit_machine
from .large import does_not_fit, train_large
from .on_cluster import train_on_cluster
from .outputs import check_model_output, check_report_output, expected_of, write_report_of
from .preparing import Prepared, prepare
from .propensities import propensities_of, weight_notes
from .result import Training
from .testing import compare_labelled, kept_for_anomalies, test_model, use_anomalies

if TYPE_CHECKING:
    from ...report.evidence.testing import Tests


def train(
    data: TableLike,
    target: str | None = None,
    *,
    reported: bool = False,
    model: PathLike | None = None,
    save: Callable[[Training], None] | None = None,
    started: float | None = None,
    switch: bool = True,
    observer: Observer | None = None,
    **options: Any,
) -> Training:
    """Learn from a table and return the training, without writing files.

    ``data``, ``target`` and ``options`` as in :func:`fewlabels.fit_table`.

    Parameters
    ----------
    reported : bool
        Whether a report will follow, for which methods are compared.
    model : path-like, optional
        The file that will be written, for messages.
    save : callable, optional
        Gets the training when the model has learned, and again when methods were compared.
    started : float, optional
        When the time budget began, by ``time.perf_counter``; None means now.
    switch : bool
        Whether a method that is clearly better may be delivered instead.
    observer : Observer, optional
        Receives the progress.

    Returns
    -------
    Training
        With ``pipeline``, ``metadata`` and ``comparison``.
    """
    run = Run(
        observer or Observer(),
        reported=reported,
        model=model,
        save=save,
        started=started,
        switch=switch,
    )
    asked = options_of({"target": target, **options})
    return learn(source_of(data, **asked.reading), asked, run)


def learn(source: Source | InMemory, options: FitOptions, run: Run) -> Training:
    """Learn from a table what its options ask for.

    Parameters
    ----------
    source : Source or InMemory
        The table.
    options : FitOptions
        What was asked for, free of contradictions (:func:`options_of`).
    run : Run
        The observer of progress, the file that will be written, and the time.

    Returns
    -------
    Training
        With ``pipeline``, ``metadata``, ``comparison`` and all that they were made of.
    """
    budget = Budget(
        options.time_budget,
        started=run.started,
        baselines=options.baselines,
        reported=run.reported,
    )
    if options.on_cluster or does_not_fit(source, options):
        return _learn_in_pieces(source, options, run, budget)
    return _learn_in_memory(source, options, run, budget)


def _learn_in_pieces(
    source: Source | InMemory, options: FitOptions, run: Run, budget: Budget
) -> Training:
    """Learn from a sample of a table in memory, and from all of its rows in pieces."""
    check_for_pieces(options)

    def learn_sample(
        rows: InMemory, spread: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> Training:
        of_sample = replace(run, save=None, started=budget.started, switch=False)
        return learn(rows, options.in_memory(), replace(of_sample, spread=spread))

    learn_all = train_on_cluster if options.on_cluster else train_large
    training = learn_all(source, options, learn_sample, run)
    if run.save:
        run.save(training)
    return training


def _learn_in_memory(
    source: Source | InMemory, options: FitOptions, run: Run, budget: Budget
) -> Training:
    """Learn from a table in memory: prepare, fit and test, then compare with other methods."""
    run.observer.step("reading")
    prepared = prepare(source, options, budget)
    spent = {"seconds": budget.seconds, "reading": budget.used}
    kept = why_kept(options, prepared.choice.machine, run.switch)
    budget.ranked = not kept and are_ranked(prepared)
    fitted = _fitted(prepared, options, run, budget)
    spent["choosing"] = budget.used - spent["reading"]
    training = _trained(prepared, fitted, options, budget, run.observer)
    kept = kept or kept_for_anomalies(training)
    if run.save:
        run.save(training)
    training.metadata["training"]["budget"] = {**spent, "fitting": budget.used}
    return _with_comparison(training, options, kept, run)


def _fitted(prepared: Prepared, options: FitOptions, run: Run, budget: Budget) -> Fitted:
    """The model that was prepared, fitted with the settings that are found in time."""
    machine, search = machine_class(prepared.choice.machine)(**prepared.settings), prepared.search
    if search.seconds:
        search = search._replace(
            seconds=budget.to_choose(), seconds_in_all=budget.to_fit(), expected=prepared.expected
        )
    propensity = None
    notes: list[str] = []
    if options.weighing:
        prior = prepared.settings.get("prior")  # among the unlabelled rows, however it was given
        propensity, notes = propensities_of(options, prepared.found, prepared.X, prior)
    with run.spread():
        fitted = fit_machine(
            machine,
            prepared.X,
            prepared.found.y,
            run,
            given=options.parameters,
            search=search,
            budget=budget,
            propensity=propensity,
            groups=prepared.groups,
        )
    if options.weighing:
        fitted.messages.extend(notes + weight_notes(fitted.estimator))
    return fitted


def _with_comparison(training: Training, options: FitOptions, kept: str, run: Run) -> Training:
    """The training compared with other methods, or of the one that the comparison prefers."""
    facts, budget, fitted = training.metadata["training"], training.budget, training.fitted
    since, seconds = budget.used, budget.to_compare()
    if seconds < fitted.seconds and options.baselines is None and budget.seconds:
        if budget.is_compared and not budget.in_haste:
            note = too_short(seconds, fitted.seconds)
            facts["notes"].append(run.observer.words(note))
    elif seconds and (options.baselines or no_signal(facts) is None):
        training = _compared(training, seconds, run.observer)
        training = _delivered(training, options, kept, run)
        training.metadata["training"]["budget"] |= {"comparing": budget.used - since}
        if run.save:
            run.save(training)
    return training


def train_file(
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
    """Learn from a table, and write the model and its report.

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
    asked = options_of(options)  # what is wrong with these is said first
    source = source_of(data, **asked.reading)
    _check_readable(source, asked)
    check_model_output(model, force, inputs=[source])
    if report is not None:
        check_report_output(report, force, inputs=[source, model])
    saved = []

    def save(training: Training) -> None:
        save_model(model, training.pipeline, training.metadata)
        saved.append(model)

    with interruptible("no model was written", model, unless=saved):
        run = Run(observer, reported=report is not None, model=model, save=save, started=started)
        training = learn(source, asked, run)
    facts = training.metadata["training"]
    if report is not None:
        since = time.perf_counter()
        observer.step("writing the report")
        write_report_of(training, report, observer, model_path=model, command=command)
        facts["budget"]["reporting"] = time.perf_counter() - since
    else:
        facts["expected"] = expected_of(training)
    facts["seconds_in_all"] = time.perf_counter() - started
    return training.metadata


def _check_readable(source: Source | InMemory, options: FitOptions) -> None:
    """Refuse what can be read by nobody."""
    if options.on_cluster:
        files_of(source)
    else:
        input_format(source)


def _trained(
    prepared: Prepared,
    fitted: Fitted,
    options: FitOptions,
    budget: Budget,
    observer: Observer,
    before: Tests | None = None,
) -> Training:
    """The training of a fitted machine, tested against chance; ``before`` are another's tests."""
    y, tests, known = prepared.found.y, None, None
    if y is None:
        prepared, fitted, known = use_anomalies(prepared, fitted, options, budget, observer)
    else:
        observer.step("testing the model against chance")
        about = dict(rows=prepared.found.rows, groups=prepared.groups, before=before)
        tests, messages = test_model(fitted, prepared.X, y, budget, **about)
        tests, more = compare_labelled(tests, fitted.estimator, prepared, budget)
        fitted.messages.extend(messages + more)
    metadata = described(prepared, fitted, options, observer, tests)
    metadata["training"] |= {} if known is None else {"anomalies": known}
    return Training(prepared, fitted, metadata, tests=tests, budget=budget)


def _compared(training: Training, seconds: float, observer: Observer) -> Training:
    """The training with other methods next to it."""
    prepared = training.prepared
    others, unusable = encoded_rows_of_others(
        prepared.file, prepared.roles, prepared.encoder, prepared.schema
    )
    comparison, said = compare(training, others, seconds, observer)
    facts = training.metadata["training"]
    facts["notes"] += [observer.words(note) for note in unusable + said]
    facts["baselines"] = comparison_facts(comparison, facts)
    return replace(training, comparison=comparison)


def _delivered(training: Training, options: FitOptions, kept: str, run: Run) -> Training:
    """The training of the method that the comparison prefers, unless the machine is ``kept``."""
    comparison, observer = training.comparison, run.observer
    method = None
    if comparison is not None:
        method = comparison.clearly_better if kept else comparison.preferred
    if comparison is None or method is None or not method.machine:
        return training
    found, instead = None, kept
    if not kept:
        seconds = training.budget.to_deliver()
        found, instead = deliver(method, training, options, seconds, run)
    facts = training.metadata["training"]
    if found is None:
        instead = instead_of(kept, method) if kept else instead
        facts["baselines"]["instead"] = observer.words(instead)
        return training
    comparison = comparison.led_by(method)
    delivered = _trained(
        found.prepared, found.fitted, options, training.budget, observer, training.tests
    )
    delivered.metadata["training"] |= {
        "delivered": {**found.facts, "sentence": observer.words(found.facts["sentence"])},
        "baselines": comparison_facts(comparison, delivered.metadata["training"]),
        "budget": facts["budget"],
    }
    return replace(delivered, comparison=comparison)
