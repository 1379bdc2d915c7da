"""From a file to a saved model."""

from __future__ import annotations

import inspect
import time
import warnings
from pathlib import Path

from ..io.errors import UserError
from .choice import check_options, choose_machine
from .errors import Interrupted
from .parameters import as_options, machine_parameters
from .results import count_labels, figures_of


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
    skip_missing=False,
    scale=True,
    keep_rows=None,
    force=False,
    callback=None,
):
    """Fit a machine to a file and save the model.

    Parameters
    ----------
    data, model : path-like
        Input and output.
    machine : str, optional
        A name from :data:`fewlabels.io.machines.MACHINES`; else the labels decide.
    parameters : dict
        Its parameters, as far as they are given.
    target, normal, positive, unlabeled : str, optional
        Column with the labels, the class to learn alone, the class to look for, and a value
        that counts as blank.
    drop, categorical : sequence of str
        Columns to leave out, and columns that are categories whatever they hold.
    skip_missing : bool
        Leave out rows with missing numbers instead of refusing them.
    scale : bool
        Whether numbers are scaled.
    keep_rows : bool, optional
        Whether the model holds its training rows; else the machine decides.
    force : bool
        Whether a file that is no model may be replaced.
    callback : callable, optional
        Gets the newest entry of ``history_`` after every round.

    Returns
    -------
    dict
        What the model file says about itself.
    """
    from sklearn.pipeline import Pipeline

    from ..io.encoding import fit_encoder
    from ..io.machines import machine_class
    from ..io.models import describe, save_model
    from ..io.paths import input_format
    from ..io.training import read_training

    started = time.perf_counter()
    check_options(machine, target, normal, positive, unlabeled)
    input_format(data)
    check_model_output(model, force, inputs=[data])
    file = read_training(
        data, target=target, drop=drop, categorical=categorical, unlabeled=unlabeled
    )
    choice = choose_machine(file.labels, machine=machine, normal=normal, positive=positive)
    settings, notes = machine_parameters(choice, parameters or {})
    keep_rows = _keeps_rows(choice, keep_rows)
    roles = choose_roles(file, choice.machine, normal, positive)
    found = file.choose(roles, skip_missing)
    encoder, X, schema = fit_encoder(
        schema=found.schema, rows=found.rows, source=data, scale=scale
    )
    estimator = machine_class(choice.machine)(**settings)
    seconds, messages = _run(estimator, X, found.y, model, callback)
    training = {
        "data": Path(data).name,
        "choice": choice.why,
        "rows_read": file.n_rows,
        "rows": X.shape[0],
        "features": X.shape[1],
        "rows_held": keep_rows,
        "target": target,
        **roles.facts,
        **figures_of(choice.machine, estimator, X, count_labels(roles.facts, found.y)),
        "seconds": seconds,
        "notes": notes + found.notes + messages,
    }
    metadata = describe(choice.machine, _plain(estimator.get_params()), schema, training)
    save_model(model, Pipeline([("columns", encoder), ("machine", estimator)]), metadata)
    training["seconds_in_all"] = time.perf_counter() - started
    return metadata


def choose_roles(file, machine, normal=None, positive=None):
    """Which rows of the file the machine learns from, and as what.

    Returns
    -------
    Roles
    """
    from ..io.machines import MACHINES
    from ..io.target import class_rows, every_row, normal_rows, positive_rows

    if MACHINES[machine].learns_from == "positive":
        return positive_rows(file.labels, positive)
    if MACHINES[machine].learns_from == "classes":
        return class_rows(file.labels)
    if file.labels is None:
        return every_row(file.n_rows)
    return normal_rows(file.labels, normal)


def check_model_output(model, force, inputs):
    """Refuse a model file that cannot be written, or that would replace another file."""
    from ..io.models import is_model
    from ..io.paths import check_output

    check_output(model, inputs=inputs)
    if Path(model).exists() and not (force or is_model(model)):
        raise UserError(
            f"{model} exists and is not a fewlabels model; choose another name, or pass --force "
            "to replace it."
        )


def _keeps_rows(choice, asked):
    """Whether the model will hold its training rows."""
    from ..io.machines import MACHINES, machine_class

    if asked and not hasattr(machine_class(choice.machine), "partial_fit"):
        raise UserError(
            f"--rows keeps rows for 'update', which cannot add to {choice.machine} models; leave "
            "the option out."
        )
    return MACHINES[choice.machine].keeps_rows if asked is None else asked


def _run(estimator, X, y, model, callback):
    """Fit; give the seconds and what the estimator warned of."""
    started = time.perf_counter()
    arguments = {}
    if "callback" in inspect.signature(estimator.fit).parameters:
        arguments["callback"] = callback
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(X, y, **arguments)
        except KeyboardInterrupt:
            before = f", and {model} is as it was before" if Path(model).exists() else ""
            raise Interrupted(
                f"no model was written{before}. (--max-time SECONDS stops by itself and keeps "
                "what was reached.)"
            ) from None
        except ValueError as error:
            # The estimators' messages are sentences for users.
            raise UserError(as_options(str(error))) from error
        except MemoryError as error:
            raise UserError(
                "There is not enough memory to fit this model; use fewer rows or a smaller "
                "--cache-size."
            ) from error
    return time.perf_counter() - started, spoken(caught)


def spoken(caught):
    """What estimators warned of, in the words of the command line."""
    messages = [
        as_options(str(w.message)).rstrip(".")
        for w in caught
        if issubclass(w.category, UserWarning)
    ]
    return list(dict.fromkeys(messages))


def _plain(parameters):
    return {
        name: value
        for name, value in sorted(parameters.items())
        if value is None or isinstance(value, str | int | float | bool)
    }
