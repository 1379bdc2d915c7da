"""From a table to a model that has learned from it: the main job."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..._typing import PathLike, TableLike
from ...tables.models.cautions import no_signal_headline
from ...tables.models.files import save_model
from ...tables.sources import InMemory, Source, input_format
from ...tables.user_data import make_source
from ...tasks import estimator_class
from ..cluster.files import list_files
from ..observer import Observer, interruptible
from ..options.fit import FitOptions
from .budget import Budget
from .choice import (
    check_streamable,
    parse_options,
)
from .comparison import (
    can_rank_methods,
    compare,
    comparison_facts,
    encode_other_rows,
    explain_keeping,
    fallback_note,
    no_time_note,
    switch_method,
)
from .figures import describe_training
from .fitting import FitData, FitResult, Run, fit_estimator
from .large import exceeds_memory, train_large
from .model_tests import compare_labelled, explain_anomalies_used, test_model, use_anomalies
from .on_cluster import train_on_cluster
from .outputs import check_model_output, check_report_output, expected_rates, write_training_report
from .preparing import PreparedTable, prepare
from .propensities import find_propensities, weight_notes
from .result import Training

if TYPE_CHECKING:
    from ...report.evidence.model_tests import Tests


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
    asked = parse_options({"target": target, **options})
    return learn(make_source(data, **asked.reading), asked, run)


def learn(source: Source | InMemory, options: FitOptions, run: Run) -> Training:
    """Learn from a table what its options ask for.

    Parameters
    ----------
    source : Source or InMemory
        The table.
    options : FitOptions
        What was asked for, free of contradictions (:func:`parse_options`).
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
    if options.on_cluster or exceeds_memory(source, options):
        return _learn_in_pieces(source, options, run, budget)
    return _learn_in_memory(source, options, run, budget)


def _learn_in_pieces(
    source: Source | InMemory, options: FitOptions, run: Run, budget: Budget
) -> Training:
    """Learn from a sample of a table in memory, and from all of its rows in pieces."""
    check_streamable(options)

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
    run.observer.report_stage("reading")
    prepared = prepare(source, options, budget)
    spent = {"seconds": budget.seconds, "reading": budget.used}
    kept = explain_keeping(options, prepared.choice.method, run.switch)
    budget.ranked = not kept and can_rank_methods(prepared)
    fitted = _fit_prepared(prepared, options, run, budget)
    spent["choosing"] = budget.used - spent["reading"]
    training = _make_training(prepared, fitted, options, budget, run.observer)
    kept = kept or explain_anomalies_used(training)
    if run.save:
        run.save(training)
    training.metadata["training"]["budget"] = {**spent, "fitting": budget.used}
    return _with_comparison(training, options, kept, run)


def _fit_prepared(
    prepared: PreparedTable, options: FitOptions, run: Run, budget: Budget
) -> FitResult:
    """Fit the prepared model with the settings that are found in time."""
    estimator = estimator_class(prepared.choice.method)(**prepared.settings)
    search = prepared.search
    if search.seconds:
        search = search._replace(
            seconds=budget.to_choose(), total_seconds=budget.to_fit(), expected=prepared.expected
        )
    propensity = None
    notes: list[str] = []
    if options.weighing:
        prior = prepared.settings.get("prior")  # among the unlabelled rows, however it was given
        propensity, notes = find_propensities(options, prepared.found, prepared.X, prior)
    with run.spread():
        fitted = fit_estimator(
            estimator,
            FitData(prepared.X, prepared.found.y, propensity, prepared.groups),
            run,
            given=options.parameters,
            search=search,
            budget=budget,
        )
    if options.weighing:
        fitted.messages.extend(notes + weight_notes(fitted.estimator))
    return fitted


def _with_comparison(training: Training, options: FitOptions, kept: str, run: Run) -> Training:
    """Compare the model with other methods, and switch to a better one."""
    facts, budget, fitted = training.metadata["training"], training.budget, training.fitted
    since, seconds = budget.used, budget.to_compare()
    if seconds < fitted.seconds and options.baselines is None and budget.seconds:
        if budget.is_compared and not budget.is_expired:
            note = no_time_note(seconds, fitted.seconds)
            facts["notes"].append(run.observer.words(note))
    elif seconds and (options.baselines or no_signal_headline(facts) is None):
        training = _compare(training, options, seconds, run.observer)
        training = _switch_if_better(training, options, kept, run)
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
    asked = parse_options(options)  # what is wrong with these is said first
    source = make_source(data, **asked.reading)
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
        observer.report_stage("writing the report")
        write_training_report(training, report, observer, model_path=model, command=command)
        facts["budget"]["reporting"] = time.perf_counter() - since
    else:
        facts["expected"] = expected_rates(training)
    facts["seconds_in_all"] = time.perf_counter() - started
    return training.metadata


def _check_readable(source: Source | InMemory, options: FitOptions) -> None:
    """Refuse what can be read by nobody."""
    if options.on_cluster:
        list_files(source)
    else:
        input_format(source)


def _make_training(
    prepared: PreparedTable,
    fitted: FitResult,
    options: FitOptions,
    budget: Budget,
    observer: Observer,
    before: Tests | None = None,
) -> Training:
    """Test a fitted model against chance; ``before`` are another model's tests."""
    y, tests, known = prepared.found.y, None, None
    if y is None:
        prepared, fitted, known = use_anomalies(prepared, fitted, options, budget, observer)
    else:
        observer.report_stage("testing the model against chance")
        tests, messages = test_model(
            fitted,
            prepared.X,
            y,
            budget,
            rows=prepared.found.rows,
            groups=prepared.groups,
            before=before,
        )
        tests, more = compare_labelled(tests, fitted.estimator, prepared, budget)
        fitted.messages.extend(messages + more)
    metadata = describe_training(prepared, fitted, options, observer, tests)
    metadata["training"] |= {} if known is None else {"anomalies": known}
    return Training(prepared, fitted, metadata, tests=tests, budget=budget)


def _compare(
    training: Training, options: FitOptions, seconds: float, observer: Observer
) -> Training:
    """Compare the model with other methods."""
    prepared = training.prepared
    others, unusable = encode_other_rows(
        prepared.file, prepared.roles, prepared.encoder, prepared.schema
    )
    comparison, said = compare(training, others, options.candidates, seconds, observer)
    facts = training.metadata["training"]
    facts["notes"] += [observer.words(note) for note in unusable + said]
    facts["baselines"] = comparison_facts(comparison, facts)
    return replace(training, comparison=comparison)


def _switch_if_better(training: Training, options: FitOptions, kept: str, run: Run) -> Training:
    """Switch to the method that the comparison prefers, unless the model is ``kept``."""
    comparison, observer = training.comparison, run.observer
    method = None
    if comparison is not None:
        method = comparison.clearly_better if kept else comparison.preferred
    if comparison is None or method is None or not method.key:
        return training
    found, instead = None, kept
    if not kept:
        seconds = training.budget.to_deliver()
        found, instead = switch_method(method, training, options, seconds, run)
    facts = training.metadata["training"]
    if found is None:
        instead = fallback_note(kept, method) if kept else instead
        facts["baselines"]["instead"] = observer.words(instead)
        return training
    comparison = comparison.with_winner(method)
    delivered = _make_training(
        found.prepared, found.fitted, options, training.budget, observer, training.tests
    )
    delivered.metadata["training"] |= {
        "delivered": {**found.facts, "sentence": observer.words(found.facts["sentence"])},
        "baselines": comparison_facts(comparison, delivered.metadata["training"]),
        "budget": facts["budget"],
    }
    return replace(delivered, comparison=comparison)
