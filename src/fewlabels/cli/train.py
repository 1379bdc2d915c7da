"""From a file to a saved model and its report."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

from ..io.errors import UserError
from .choice import check_options, choose_machine
from .fitting import fit_machine
from .parameters import machine_parameters, with_target_fpr
from .progress import Watch
from .reporting import (
    check_report_output,
    compare,
    comparison_facts,
    comparison_seconds,
    rows_of_others,
    write_report_of,
)
from .results import count_labels, figures_of
from .settings import plan_search, tuning_facts, why_settings


def train(
    data,
    model,
    *,
    machine=None,
    parameters=None,
    target=None,
    normal=None,
    positive=None,
    unlabeled=None,
    drop=(),
    categorical=(),
    keep=(),
    missing="impute",
    scale=True,
    time_budget=0.0,
    clean=False,
    baselines=False,
    report=None,
    command="",
    keep_rows=None,
    force=False,
    watch=None,
):
    """Fit a machine to a file, save the model, and write its report.

    Parameters
    ----------
    data, model : path-like
        Input and output.
    machine : str, optional
        A name from :data:`fewlabels.io.models.machines.MACHINES`; else the labels decide.
    parameters : dict
        Its parameters, as far as they are given.
    target, normal, positive, unlabeled : str, optional
        Column with the labels, the class to learn alone, the class to look for, and a value
        that counts as blank.
    drop, categorical, keep : sequence of str
        Columns to leave out, columns that are categories whatever they hold, and columns to
        learn from although they look as if nothing could be learnt from them.
    missing : {"impute", "skip", "refuse"}
        What is done with missing numbers.
    scale : bool
        Whether numbers are scaled.
    time_budget : float
        Seconds for the choice of settings; 0 for those given or default.
    clean : bool
        Whether rows of one class hold no others.
    baselines : bool or None
        Whether other methods are compared with; None means if there is a report.
    report : path-like, optional
        The report to write.
    command : str
        What did the fit, for the report.
    keep_rows : bool, optional
        Whether the model holds its training rows; else the machine decides.
    force : bool
        Whether a file that is no model, or no report, may be replaced.
    watch : Watch, optional
        Shows what is going on.

    Returns
    -------
    dict
        What the model file says about itself.
    """
    from sklearn.pipeline import Pipeline

    from ..io.models.files import describe, save_model
    from ..io.models.machines import machine_class
    from ..io.paths import input_format
    from ..io.tables.encoding import fit_encoder
    from ..io.tables.training import read_training

    started = time.perf_counter()
    watch = watch or Watch()
    check_options(machine, target, normal, positive, unlabeled)
    input_format(data)
    check_model_output(model, force, inputs=[data])
    if report is not None:
        check_report_output(report, force, inputs=[data, model])
    watch.step("reading")
    file = read_training(
        data,
        target=target,
        drop=drop,
        categorical=categorical,
        keep=keep,
        unlabeled=unlabeled,
    )
    choice = choose_machine(file.labels, machine=machine, normal=normal, positive=positive)
    settings, notes = machine_parameters(choice, parameters or {})
    search = plan_search(choice.machine, parameters or {}, time_budget, clean)
    keep_rows = _keeps_rows(choice, keep_rows)
    roles = choose_roles(file, choice.machine, normal, positive)
    found = file.choose(roles, missing)
    settings, more = with_target_fpr(choice.machine, settings, found.rows.shape[0])
    encoder, X, schema = fit_encoder(
        schema=found.schema, rows=found.rows, source=data, scale=scale
    )
    fitted = fit_machine(
        machine_class(choice.machine)(**settings),
        X,
        found.y,
        model=model,
        search=search,
        seed=settings.get("random_state"),
        watch=watch,
    )
    estimator = fitted.estimator
    training = {
        "data": Path(data).name,
        "choice": choice.why,
        "settings": why_settings(choice.machine, estimator, fitted.tuning, search),
        "rows_read": file.n_rows,
        "rows": X.shape[0],
        "features": X.shape[1],
        "rows_held": keep_rows,
        "target": target,
        **roles.facts,
        **figures_of(choice.machine, estimator, X, count_labels(roles.facts, found.y)),
        "profile": [asdict(column) for column in found.profile],
        "tuning": tuning_facts(fitted.tuning),
        "baselines": None,
        "seconds": fitted.seconds,
        "notes": notes + found.notes + more + fitted.messages,
    }
    metadata = describe(choice.machine, _plain(estimator.get_params()), schema, training)
    pipeline = Pipeline([("columns", encoder), ("machine", estimator)])
    save_model(model, pipeline, metadata)
    comparison = None
    seconds = comparison_seconds(baselines, report is not None, time_budget)
    if seconds:
        others, unusable = rows_of_others(file, roles, encoder, schema)
        comparison, said = compare(
            estimator, X, found.y, others=others, classes=roles.facts.get("classes"),
            seconds=seconds, seed=settings.get("random_state"), watch=watch,
        )  # fmt: skip
        training["baselines"] = comparison_facts(comparison)
        training["notes"] += unusable + said
        save_model(model, pipeline, metadata)
    if report is not None:
        watch.step("writing the report")
        training["notes"] += write_report_of(
            report, model, file=file, found=found, encoder=encoder, estimator=estimator, X=X,
            y=found.y, metadata=metadata, profile=found.profile, tuning=fitted.tuning,
            comparison=comparison, command=command,
        )  # fmt: skip
    training["seconds_in_all"] = time.perf_counter() - started
    return metadata


def choose_roles(file, machine, normal=None, positive=None):
    """Which rows of the file the machine learns from, and as what.

    Returns
    -------
    Roles
    """
    from ..io.models.machines import MACHINES
    from ..io.tables.target import class_rows, every_row, normal_rows, positive_rows

    if MACHINES[machine].learns_from == "positive":
        return positive_rows(file.labels, positive)
    if MACHINES[machine].learns_from == "classes":
        return class_rows(file.labels)
    if file.labels is None:
        return every_row(file.n_rows)
    return normal_rows(file.labels, normal)


def check_model_output(model, force, inputs):
    """Refuse a model file that cannot be written, or that would replace another file."""
    from ..io.models.files import is_model
    from ..io.paths import check_output

    check_output(model, inputs=inputs)
    if Path(model).exists() and not (force or is_model(model)):
        raise UserError(
            f"{model} exists and is not a fewlabels model; choose another name, or pass --force "
            "to replace it."
        )


def _keeps_rows(choice, asked):
    """Whether the model will hold its training rows."""
    from ..io.models.machines import MACHINES, machine_class

    if asked and not hasattr(machine_class(choice.machine), "partial_fit"):
        raise UserError(
            f"--rows keeps rows for 'update', which cannot add to {choice.machine} models; leave "
            "the option out."
        )
    return MACHINES[choice.machine].keeps_rows if asked is None else asked


def _plain(parameters):
    return {
        name: value
        for name, value in sorted(parameters.items())
        if value is None or isinstance(value, str | int | float | bool)
    }
