"""From a table to a model that has learned from it: the main job."""

import time
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from ...io.errors import UserError, listing
from ...io.models.contents import no_signal
from ...io.models.files import save_model
from ...io.paths import input_format
from ...io.sources import source_of
from ...io.tables.schema import Schema
from ...io.tables.target import Roles
from ...io.tables.training import TableRows, TrainingFile, read_training
from ...options.fit import TARGET_FPR
from ...options.words import ref
from ...tasks.machines import added_columns, machine_class, task_of
from ..cluster.files import files_of
from ..cluster.training import train_on_cluster
from ..observer import interruptible, job
from ..tasks import Choice, steps_of
from ..tasks.one_class import OF_BAGS
from .budget import Budget
from .choice import (
    check_for_pieces,
    choose_machine,
    different_rows,
    keeps_rows,
    machine_parameters,
    options_of,
    with_target_fpr,
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
from .cost import affordable_rows, drawn, encodable_rows, pace_of, subset
from .figures import described
from .fitting import Fitted, fit_machine
from .large import does_not_fit, train_large
from .outputs import check_model_output, check_report_output, expected_of, write_report_of
from .propensities import check_takes_propensities, propensities_of, weight_notes
from .search import SearchPlan, plan_search
from .testing import kept_for_anomalies, test_model, use_anomalies
from .texts import encode

# Why an ensemble has no trees.
_FASTER = "Gaussian kernels only, because trees would take too much of the time budget"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table that is ready to be learned from.

    ``choice`` is the model with ``settings``, ``roles`` say which rows of the ``file`` it learns
    from, ``found`` are these rows, ``encoder`` makes ``X`` of them. ``search``: whether settings
    are searched for; ``keeps_rows``: whether the model will hold its rows; ``notes``: for the
    user; ``weighing`` says what texts count next to other columns, if labels chose that;
    ``expected`` are the seconds of a fit, as far as that is known.
    """

    file: TrainingFile
    choice: Choice
    roles: Roles
    found: TableRows
    encoder: Any
    X: Any
    schema: Schema
    settings: dict[str, Any]
    search: SearchPlan
    keeps_rows: bool
    notes: list[str]
    weighing: Any = None
    expected: float = 0.0


@dataclass(frozen=True, eq=False)
class Training:
    """A model that has learned from a table, and what its model file says of it.

    ``tests`` say whether the model beats chance and whether its prior agrees with its labels.
    The ``budget`` is for the whole job.
    """

    prepared: Prepared
    fitted: Fitted
    metadata: dict[str, Any]
    comparison: Any = None
    tests: Any = None
    budget: Budget = field(default_factory=lambda: Budget(0.0))

    @property
    def pipeline(self):
        """Encoder and model."""
        steps = [("columns", self.prepared.encoder), ("machine", self.fitted.estimator)]
        return Pipeline(steps)

    def parts_of_report(self):
        """What :func:`fewlabels.report.collect` asks for of a training."""
        prepared, found = self.prepared, self.prepared.found
        return dict(
            file=prepared.file, found=found, encoder=prepared.encoder, X=prepared.X, y=found.y,
            estimator=self.fitted.estimator, metadata=self.metadata, profile=found.profile,
            tuning=self.fitted.tuning, comparison=self.comparison,
            held=self.tests and self.tests.held, deadline=self.budget.to_report(),
        )  # fmt: skip


@job
def train(
    data, target=None, *, reported=False, model=None, save=None, started=None, switch=True,
    observer=None, **options,
):  # fmt: skip
    """Learn from a table; ``data``, ``target`` and ``options`` as in :func:`fewlabels.fit_table`.

    ``reported`` says whether a report will follow, for which methods are compared. ``model`` is
    the file that will be written, for messages. ``save`` gets the training when the model has
    learned, and again when methods were compared. The time budget began at ``started``, by
    ``time.perf_counter`` (None: now). ``switch`` says whether a method that is clearly better may
    be delivered instead. The ``observer`` receives the progress.
    """
    return learn(
        data, options_of({"target": target, **options}), reported=reported, model=model, save=save,
        started=started, switch=switch, observer=observer,
    )  # fmt: skip


def learn(
    data, options, *, reported=False, model=None, save=None, spread=nullcontext, started=None,
    switch=True, observer,
):  # fmt: skip
    """Learn from a table what its options ask for.

    Parameters
    ----------
    data : DataFrame, path-like, ndarray or sparse matrix
        The table.
    options : FitOptions
        What was asked for, free of contradictions (:func:`options_of`).
    reported : bool
        Whether a report will follow, for which methods are compared.
    model : path-like, optional
        What will be written, for messages.
    save : callable, optional
        Gets the training when the model has learned, and again when methods were compared.
    spread : callable, optional
        Makes the context of search and fit, in which others may help.
    started : float, optional
        When the time budget began, by ``time.perf_counter``; None means now.
    switch : bool
        Whether a method that is clearly better may take the place of the machine.
    observer : Observer
        Hears what is going on.

    Returns
    -------
    Training
        With ``pipeline``, ``metadata``, ``comparison`` and all that they were made of.
    """
    budget = Budget(
        options.time_budget, started=started, baselines=options.baselines, reported=reported
    )
    data = source_of(data, **options.reading)
    if options.on_cluster or does_not_fit(data, options):
        check_for_pieces(options)
        from_sample = partial(
            learn, options=options.in_memory(), reported=reported, model=model, switch=False,
            started=budget.started, observer=observer,
        )  # fmt: skip
        learn_all = train_on_cluster if options.on_cluster else train_large
        training = learn_all(data, options, from_sample, model=model, observer=observer)
        if save:
            save(training)
        return training
    observer.step("reading")
    prepared = prepare(data, options, budget)
    spent = {"seconds": budget.seconds, "reading": budget.used}
    kept = why_kept(options, prepared.choice.machine, switch)
    budget.ranked = not kept and are_ranked(prepared)
    machine, search = machine_class(prepared.choice.machine)(**prepared.settings), prepared.search
    if search.seconds:
        search = search._replace(
            seconds=budget.to_choose(), seconds_in_all=budget.to_fit(), expected=prepared.expected
        )
    propensity, notes = None, []
    if options.weighing:
        propensity, notes = propensities_of(options, prepared)
    with spread():
        fitted = fit_machine(
            machine, prepared.X, prepared.found.y, given=options.parameters, model=model,
            search=search, observer=observer, budget=budget, propensity=propensity,
        )  # fmt: skip
    spent["choosing"] = budget.used - spent["reading"]
    if options.weighing:
        fitted.messages.extend(notes + weight_notes(fitted.estimator))
    training = _trained(prepared, fitted, options, budget, observer)
    kept = kept or kept_for_anomalies(training)
    if save:
        save(training)
    fitting, metadata = budget.used, training.metadata
    metadata["training"]["budget"] = {**spent, "fitting": fitting}
    seconds = budget.to_compare()
    if seconds < fitted.seconds and options.baselines is None and budget.seconds:
        if budget.is_compared and not budget.in_haste:
            metadata["training"]["notes"].append(
                observer.words(too_short(seconds, fitted.seconds))
            )
    elif seconds and (options.baselines or no_signal(metadata["training"]) is None):
        training = _compared(training, seconds, observer)
        training = _delivered(training, options, kept, observer)
        training.metadata["training"]["budget"] |= {"comparing": budget.used - fitting}
        if save:
            save(training)
    return training


@job
def train_file(
    data, model, *, report=None, command="", force=False, started=None, observer=None, **options
):
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
    asked = options_of(options)  # what is wrong with these is said first
    data = source_of(data, **asked.reading)
    _check_readable(data, asked)
    check_model_output(model, force, inputs=[data])
    if report is not None:
        check_report_output(report, force, inputs=[data, model])
    saved = []

    def save(training):
        save_model(model, training.pipeline, training.metadata)
        saved.append(model)

    with interruptible("no model was written", model, unless=saved):
        training = learn(
            data, asked, reported=report is not None, model=model, observer=observer, save=save,
            started=started,
        )  # fmt: skip
    facts = training.metadata["training"]
    if report is not None:
        since = time.perf_counter()
        observer.step("writing the report")
        parts = training.parts_of_report()
        facts["notes"] += write_report_of(
            report, model, words=observer.words, command=command, **parts
        )
        facts["budget"]["reporting"] = time.perf_counter() - since
    else:
        facts["expected"] = expected_of(training)
    facts["seconds_in_all"] = time.perf_counter() - started
    return training.metadata


def _check_readable(data, options):
    """Refuse what can be read by nobody."""
    if options.on_cluster:
        files_of(data)
    else:
        input_format(data)


def prepare(data, options, budget=None):
    """Read a table, and choose the machine and the rows it learns from."""
    budget = budget or Budget(options.time_budget)
    since = time.perf_counter()
    file = read_training(data, **options.columns)
    read = time.perf_counter() - since
    planned = _planned(file, options, budget.seconds)
    file, roles = _fewer_rows(file, planned.choice, options, read, budget)
    encoded = encode(
        file, roles, options.missing, options.scale, weight=options.text_weight,
        by_labels=planned.search.seconds > 0,
    )  # fmt: skip
    if options.text_weight is not None and not encoded.schema.names("text"):
        raise UserError(
            f"{ref('text_weight')} needs a text column, and {data} has none; omit the option, or "
            f"declare one with {ref('text', some=['COLUMN'])}."
        )
    n_rows, pace = encoded.X.shape[0], None
    if budget.seconds:
        planned, pace = _paced(planned, file, encoded, options, budget)
        n_rows = affordable_rows(pace, n_rows, budget.for_fits(), planned.choice.machine)
    if n_rows < encoded.X.shape[0]:
        task = task_of(planned.choice.machine)
        encoded = subset(encoded, drawn(encoded.found.y, encoded.X.shape[0], n_rows, task))
    file, found, encoder, X, schema, weighing, text_notes = encoded
    takes_labels = task_of(planned.choice.machine).takes_labels
    n_different = None if takes_labels else different_rows(X)
    planned = _without_bags(planned, file, options, n_different)
    settings, more = with_target_fpr(
        planned.choice.machine, planned.settings, X.shape[0],
        searched=planned.search.seconds > 0, n_different=n_different,
    )  # fmt: skip
    notes = _on_fewer_rows(X.shape[0], int(planned.roles.keep.sum()), budget)
    notes += planned.notes + found.notes + more + _taken_names(file, planned.choice) + text_notes
    expected = 0.0 if pace is None else pace.seconds_of(X.shape[0])
    return Prepared(
        file, planned.choice, roles, found, encoder, X, schema, settings, planned.search,
        planned.keeps_rows, notes, weighing, expected,
    )  # fmt: skip


class _Planned(NamedTuple):
    """A model, its settings, and the rows it learns from."""

    choice: Choice
    settings: dict[str, Any]
    search: SearchPlan
    keeps_rows: bool
    roles: Roles
    notes: list[str]


def _planned(file, options, seconds):
    """The plan for a file, with so many seconds for all."""
    normal, positive = options.normal, options.positive
    choice = choose_machine(
        file.labels, n_rows=file.n_rows, machine=options.machine, normal=normal, positive=positive,
        clean=options.clean, given=options.parameters, rows=options.rows, time_budget=seconds,
    )  # fmt: skip
    settings, notes = machine_parameters(choice, options.parameters)
    search = plan_search(choice.machine, options.parameters, options.time_budget, options.clean)
    if options.weighing:
        check_takes_propensities(options, choice)
        settings = {"sampling": "one-sample", **settings}
        search = SearchPlan(0.0, f"defaults, because of {ref(options.weighing)}")
    held = keeps_rows(choice, options.rows)
    roles = steps_of(choice.machine).roles(file, choice.machine, options)
    settings = steps_of(choice.machine).for_rows(settings | search.settings, roles, options)
    return _Planned(choice, settings, search, held, roles, notes)


def _fewer_rows(file, choice, options, read, budget):
    """The file and the roles of its rows, of no more than can be encoded in time."""
    roles = steps_of(choice.machine).roles(file, choice.machine, options)
    content = file.content
    width = content.num_columns if hasattr(content, "num_columns") else content.X.shape[1]
    size = file.n_rows
    if budget.seconds:
        size = encodable_rows(file.n_rows, width, read, budget.left)
    places = np.flatnonzero(roles.keep)
    if size >= len(places):
        return file, roles
    y = None if roles.y is None else roles.y[places]
    task = task_of(choice.machine)
    keep = np.zeros(len(roles.keep), bool)
    keep[places[drawn(y, len(places), size, task)]] = True
    return replace(file, sample=keep), roles._replace(keep=keep)


def _paced(planned, file, encoded, options, budget):
    """The plan and the ``Pace`` of its machine: a quicker one where an ensemble takes long."""

    def pace(plan):
        machine = machine_class(plan.choice.machine)(**plan.settings)
        return pace_of(machine, encoded.X, encoded.found.y, budget.for_fits())

    found, n_rows = pace(planned), encoded.X.shape[0]
    chosen = options.machine is None and planned.choice.machine == "pu-ensemble"
    if found is None or not chosen or "n_bags" in options.parameters:
        return planned, found
    if affordable_rows(found, n_rows, budget.for_fits(), "pu-ensemble") >= n_rows:
        return planned, found
    if "kernel" not in planned.settings:  # Gaussian kernels alone are several times as fast
        choice = planned.choice._replace(why=f"{planned.choice.why}; {_FASTER}")
        settings = {**planned.settings, "kernel": "rbf"}
        gaussian = planned._replace(settings=settings, choice=choice)
        other = pace(gaussian)
        if affordable_rows(other, n_rows, budget.for_fits(), "pu-ensemble") >= n_rows:
            return gaussian, other
    planned = _planned(file, options, 0.0)
    return planned, pace(planned)


def _without_bags(planned, file, options, n_different):
    """The plan with one ball, where so few rows differ that bags of them have no threshold.

    That is so for the usual rate of false alarms; whoever asks for bags or a rate gets these.
    """
    asked = any(options.parameters.get(name) is not None for name in ("target_fpr", *OF_BAGS))
    if planned.choice.machine != "svdd-ensemble" or options.machine is not None or asked:
        return planned
    if n_different + 1 >= 1 / TARGET_FPR:
        return planned
    clean = options.clean if planned.search.seconds else None
    planned = _planned(file, replace(options, machine="svdd", clean=clean), planned.search.seconds)
    rows = "row is" if n_different == 1 else "rows are"
    why = f"{n_different} different {rows} too few for an ensemble"
    return planned._replace(choice=Choice("svdd", why))


def _on_fewer_rows(n_rows, all_rows, budget):
    """A note where time allows for some of the rows only."""
    if n_rows >= all_rows or not budget.seconds:
        return []
    return [
        f"the time budget of {budget.seconds:g} s is enough for {n_rows:,} of {all_rows:,} rows "
        f"(labelled rows first, then random ones); raise {ref('time_budget')} to use more"
    ]


def _taken_names(file, choice):
    """A note on columns with the names of those that 'predict' adds."""
    names = [] if file.target is None else [file.target]
    names += getattr(file.content, "column_names", [])
    taken = set(added_columns(choice.machine)) & {*names}
    if not taken:
        return []
    return [
        f"{listing(sorted(taken))}: 'predict' adds columns with these names; for files that have "
        f"them, pass {ref('prefix', some='NAME_')} to it"
    ]


def _trained(prepared, fitted, options, budget, observer):
    """The training of a fitted machine, tested against chance."""
    y, tests, known = prepared.found.y, None, None
    if y is None:
        prepared, fitted, known = use_anomalies(prepared, fitted, options, budget, observer)
    else:
        observer.step("testing the model against chance")
        tests, messages = test_model(fitted, prepared.X, y, budget)
        fitted.messages.extend(messages)
    metadata = described(prepared, fitted, options, observer, tests)
    metadata["training"] |= {} if known is None else {"anomalies": known}
    return Training(prepared, fitted, metadata, tests=tests, budget=budget)


def _compared(training, seconds, observer):
    """The training with other methods next to it."""
    prepared = training.prepared
    others, unusable = encoded_rows_of_others(
        prepared.file, prepared.roles, prepared.encoder, prepared.schema
    )
    comparison, said = compare(
        training.fitted.estimator, prepared.X, prepared.found.y, others=others,
        classes=prepared.roles.facts.get("classes"), seconds=seconds,
        seed=prepared.settings.get("random_state"), observer=observer,
    )  # fmt: skip
    facts = training.metadata["training"]
    facts["notes"] += [observer.words(note) for note in unusable + said]
    facts["baselines"] = comparison_facts(comparison, facts)
    return replace(training, comparison=comparison)


def _delivered(training, options, kept, observer):
    """The training of the method that the comparison prefers, unless the machine is ``kept``."""
    comparison = training.comparison
    method = None if comparison is None else comparison.preferred
    if method is None or not method.machine:
        return training
    found, instead = None, kept
    if not kept:
        seconds = training.budget.to_deliver()
        found, instead = deliver(method, training, options, seconds=seconds, observer=observer)
    facts = training.metadata["training"]
    if found is None:
        instead = instead_of(kept, method) if kept else instead
        facts["baselines"]["instead"] = observer.words(instead)
        return training
    prepared = replace(
        training.prepared, choice=found.choice, settings=found.settings, search=found.search,
        keeps_rows=False, expected=0.0,
    )  # fmt: skip
    comparison = comparison.led_by(method)
    delivered = _trained(prepared, found.fitted, options, training.budget, observer)
    delivered.metadata["training"] |= {
        "delivered": {**found.facts, "sentence": observer.words(found.facts["sentence"])},
        "baselines": comparison_facts(comparison, delivered.metadata["training"]),
        "budget": facts["budget"],
    }
    return replace(delivered, comparison=comparison)
