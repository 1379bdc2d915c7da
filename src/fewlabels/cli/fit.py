"""``fewlabels fit``: from a file to a model."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated

import typer

from ..io.errors import UserError
from . import parameters as options
from . import progress, show
from .errors import NOT_CONVERGED, Interrupted
from .parameters import Kernel, Machine, Slack

_ROWS = "Rows and columns"
_MACHINE = "Machine"
_EFFORT = "Effort"

# Rows of training whose side is counted for the summary.
_COUNTED_ROWS = 20_000


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Table (.csv, .tsv, .parquet) or matrix (.npz with X and y, .npy, .svmlight, "
            ".libsvm, .svm, .txt).",
            show_default=False,
        ),
    ],
    model: Annotated[
        Path,
        typer.Option("-o", "--output", help="Model file to write.", show_default=False),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the class of each row; only normal rows are learnt from. Without "
            "it all rows are normal. (npz: an array; svmlight: y.)",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    normal: Annotated[
        str | None,
        typer.Option(
            help="The class that is normal; needed when the target has several.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    machine: Annotated[
        Machine,
        typer.Option(
            help="svdd: smallest ball around the rows; one-class: one-class SVM.",
            rich_help_panel=_MACHINE,
        ),
    ] = Machine.svdd,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out; can be repeated.", rich_help_panel=_ROWS),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of categories although it holds numbers; can be repeated.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    skip_missing: Annotated[
        bool,
        typer.Option(
            "--skip-missing", help="Leave out rows with missing numbers.", rich_help_panel=_ROWS
        ),
    ] = False,
    scale: Annotated[
        bool,
        typer.Option(
            help="Scale numbers to mean 0 and variance 1 (sparse: to 1).", rich_help_panel=_ROWS
        ),
    ] = True,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            help="svdd: price of rows outside; smaller lets more outside. (default: 2)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    nu: Annotated[
        float | None,
        typer.Option(
            help="Share of training rows that may lie outside, in (0, 1]; svdd: with linear "
            f"slack, in place of C. (default for one-class: {options.ONE_CLASS_NU})",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    slack: Annotated[
        Slack | None,
        typer.Option(
            help="svdd: how rows outside are charged. (default: squared)", rich_help_panel=_MACHINE
        ),
    ] = None,
    kernel: Annotated[
        Kernel | None, typer.Option(help="(default: rbf)", rich_help_panel=_MACHINE)
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(
            help="Kernel width: scale, auto or a number. (default: scale)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    degree: Annotated[
        int | None, typer.Option(help="Degree of poly. (default: 3)", rich_help_panel=_MACHINE)
    ] = None,
    coef0: Annotated[
        float | None,
        typer.Option(
            help="Constant of poly and sigmoid. (default: svdd 1, one-class 0)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    tol: Annotated[
        float | None, typer.Option(help="Accuracy. (default: 0.001)", rich_help_panel=_EFFORT)
    ] = None,
    max_iter: Annotated[
        int | None,
        typer.Option(help="Limit on iterations. (default: none)", rich_help_panel=_EFFORT),
    ] = None,
    max_time: Annotated[
        float | None,
        typer.Option(
            help="Limit on the seconds of fitting. (default: none)", rich_help_panel=_EFFORT
        ),
    ] = None,
    cache_size: Annotated[
        float | None,
        typer.Option(
            help="Memory for kernel values, in MB. (default: 200)", rich_help_panel=_EFFORT
        ),
    ] = None,
    n_jobs: Annotated[
        int | None, typer.Option(help="Threads. (default: all cores)", rich_help_panel=_EFFORT)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the sample that a large fit starts from.", rich_help_panel=_EFFORT
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace the output even if it is no model."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a line per round, on stderr.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON on stdout.")
    ] = False,
):
    """Fit a machine to the normal rows of DATA and save it as a model.

    Numbers are standardised and categories encoded; both travel inside the model. An
    existing model is replaced, at the moment the new one is complete.
    """
    given = {
        "C": C,
        "nu": nu,
        "slack": slack and slack.value,
        "kernel": kernel and kernel.value,
        "gamma": options.parse_gamma(gamma),
        "degree": degree,
        "coef0": coef0,
        "tol": tol,
        "max_iter": max_iter,
        "max_time": max_time,
        "cache_size": cache_size,
        "n_jobs": n_jobs,
        "random_state": seed,
    }
    given, notes = options.machine_parameters(machine.value, given)
    with progress.fitting(quiet, verbose) as callback:
        summary = train(
            data,
            model,
            machine=machine.value,
            parameters=given,
            target=target,
            normal=normal,
            drop=drop or (),
            categorical=categorical or (),
            skip_missing=skip_missing,
            scale=scale,
            force=force,
            callback=callback,
        )
    if not quiet:
        for message in notes + summary["training"]["notes"]:
            show.note(message)
    if json:
        show.as_json({"model": str(model), **summary})
    elif not quiet:
        typer.echo(f"{machine.value} model written to {model}")
        show.lines(figures(summary))
    if not summary["training"]["converged"]:
        raise typer.Exit(NOT_CONVERGED)


def train(
    data,
    model,
    *,
    machine="svdd",
    parameters=None,
    target=None,
    normal=None,
    drop=(),
    categorical=(),
    skip_missing=False,
    scale=True,
    force=False,
    callback=None,
):
    """Fit a machine to a file and save the model.

    Parameters
    ----------
    data, model : path-like
        Input and output.
    machine : {"svdd", "one-class"}
        Which machine.
    parameters : dict
        Its parameters.
    target, normal, drop, categorical, skip_missing
        See :func:`fewlabels.io.training.read_training`.
    scale : bool
        Whether numbers are scaled.
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
    from ..io.models import describe, is_model, save_model
    from ..io.paths import check_output, input_format
    from ..io.training import read_training

    started = time.perf_counter()
    input_format(data)
    check_output(model, inputs=[data])
    if Path(model).exists() and not (force or is_model(model)):
        raise UserError(
            f"{model} exists and is not a fewlabels model; choose another name, or pass --force "
            "to replace it."
        )
    found = read_training(
        data,
        target=target,
        normal=normal,
        drop=drop,
        categorical=categorical,
        skip_missing=skip_missing,
    )
    encoder, X, schema = fit_encoder(
        schema=found.schema, rows=found.rows, source=data, scale=scale
    )
    estimator = machine_class(machine)(**(parameters or {}))
    seconds, messages = _run(estimator, X, model, callback)
    training = {
        "data": Path(data).name,
        "rows_read": found.n_read,
        "rows": X.shape[0],
        "features": X.shape[1],
        "target": target,
        "normal": found.normal,
        **_figures_of(estimator, X),
        "seconds": seconds,
        "notes": found.notes + messages,
    }
    metadata = describe(machine, _plain(estimator.get_params()), schema, training)
    save_model(model, Pipeline([("columns", encoder), ("machine", estimator)]), metadata)
    training["seconds_in_all"] = time.perf_counter() - started
    return metadata


def figures(summary):
    """Names and values of the summary for people."""
    training = summary["training"]
    rows = training["rows"]
    read = f" of {training['rows_read']:,} read" if rows != training["rows_read"] else ""
    gap = show.gap(training["duality_gap"])
    counted = training["rows_counted"]
    sample = "" if counted == rows else f" of {counted:,} counted"
    seconds = show.number(training["seconds"])
    if "seconds_in_all" in training:
        seconds += f" (with reading and writing {show.number(training['seconds_in_all'])})"
    return [
        ("rows", f"{rows:,}{read}"),
        ("columns", show.columns(summary["schema"])),
        ("support vectors", show.share(training["support_vectors"], rows)),
        ("training rows outside", show.share(training["rows_outside"], counted) + sample),
        ("radius", show.number(training["radius"])),
        ("objective", show.number(training["objective"])),
        ("duality gap", gap),
        ("rounds", f"{training['rounds']:,}"),
        ("converged", None if training["converged"] else "no, stopped before its tolerance"),
        ("seconds", seconds),
    ]


def _run(estimator, X, model, callback):
    """Fit; give the seconds and what the estimator warned of."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(X, callback=callback)
        except KeyboardInterrupt:
            before = f", and {model} is as it was before" if Path(model).exists() else ""
            raise Interrupted(
                f"no model was written{before}. (--max-time SECONDS stops by itself and keeps "
                "what was reached.)"
            ) from None
        except ValueError as error:
            # The estimators' messages are sentences for users.
            raise UserError(str(error)) from error
        except MemoryError as error:
            raise UserError(
                "There is not enough memory to fit this model; use fewer rows or a smaller "
                "--cache-size."
            ) from error
    messages = [str(w.message).rstrip(".") for w in caught if issubclass(w.category, UserWarning)]
    return time.perf_counter() - started, messages


def _figures_of(estimator, X):
    import numpy as np

    n_rows = X.shape[0]
    step = -(-n_rows // _COUNTED_ROWS)
    decision = estimator.decision_function(X[::step])
    history = estimator.history_
    return {
        "support_vectors": len(estimator.support_),
        "radius": show.finite(getattr(estimator, "radius_", None)),
        "objective": show.finite(estimator.objective_),
        "duality_gap": show.finite(estimator.duality_gap_),
        "violation": show.finite(history[-1].get("violation")) if history else None,
        "rounds": len(history),
        "iterations": int(estimator.n_iter_),
        "converged": estimator.fit_status_ == 0,
        "rows_outside": int(np.count_nonzero(decision < 0)),
        "rows_counted": len(decision),
    }


def _plain(parameters):
    return {
        name: value
        for name, value in sorted(parameters.items())
        if value is None or isinstance(value, str | int | float | bool)
    }
