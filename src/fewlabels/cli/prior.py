"""``fewlabels prior``: how many of the unlabelled rows are positive."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated

import typer

from ..io.errors import UserError, listing
from . import parameters as options
from . import show
from .choice import check_options
from .parameters import Convention, Missing, as_options
from .train import choose_roles

_ROWS = "Rows and columns"


def prior(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Table (.csv, .tsv, .parquet) or matrix (.npz with X and y, .svmlight, .libsvm, "
            ".svm, .txt).",
            show_default=False,
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            help="Column that names the class of the positive rows and is blank, or has one "
            "other value, in the unlabelled ones. (npz: an array; svmlight: y.)",
            show_default=False,
        ),
    ],
    positive: Annotated[
        str | None,
        typer.Option(
            help="The class to look for, where the target has two values that are no numbers.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
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
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to learn from although it looks like an identifier, a date, free text or "
            "a constant; can be repeated.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    missing: Annotated[
        Missing,
        typer.Option(
            help="Missing numbers: impute fills them in with the median; skip leaves out rows "
            "that have some; refuse stops.",
            rich_help_panel=_ROWS,
        ),
    ] = Missing.impute,
    scale: Annotated[
        bool,
        typer.Option(
            help="Scale numbers to mean 0 and variance 1 (sparse: to 1).", rich_help_panel=_ROWS
        ),
    ] = True,
    method: Annotated[
        str,
        typer.Option(
            help="Estimator: auto is the one that proved best; any other word lists them all."
        ),
    ] = "auto",
    confidence: Annotated[float, typer.Option(help="Level of the interval.")] = 0.9,
    convention: Annotated[
        Convention,
        typer.Option(
            help="unlabeled: share of positives among the unlabelled rows, which is what 'fit "
            "--prior' takes; pooled: among all rows."
        ),
    ] = Convention.unlabeled,
    n_jobs: Annotated[int | None, typer.Option(help="Threads. [default: all cores]")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the estimate.")] = 0,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the estimate and no notes.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON on stdout.")
    ] = False,
):
    """Estimate the class prior: the share of positives among the unlabelled rows.

    This supposes that the labelled positives are a random sample of all positives. With
    the same seed it is the estimate that "fit" makes by itself.
    """
    options.check_ranges({"confidence": confidence, "n_jobs": n_jobs, "random_state": seed})
    summary = estimate(
        data,
        target,
        positive=positive,
        drop=drop or (),
        categorical=categorical or (),
        keep=keep or (),
        missing=missing.value,
        scale=scale,
        method=method,
        confidence=confidence,
        convention=convention.value,
        n_jobs=n_jobs,
        seed=seed,
    )
    if not quiet:
        for message in summary["notes"]:
            show.note(message)
    if json:
        show.as_json(summary)
        return
    among = {"unlabeled": "the unlabelled rows", "pooled": "all rows"}[summary["convention"]]
    typer.echo(f"{summary['prior']:.3g} of {among} are positive")
    show.lines(
        [
            (
                f"{show.percent(summary['confidence'])} interval",
                show.interval(summary["low"], summary["high"]),
            ),
            ("method", summary["method"]),
            ("positive", f"{summary['rows_labeled']:,} rows labelled '{summary['positive']}'"),
            (
                "unlabelled",
                f"{summary['rows_unlabeled']:,} rows, {show.mark(summary['unlabeled'])}",
            ),
            ("seconds", show.number(summary["seconds"])),
        ]
    )


def estimate(
    data,
    target,
    *,
    positive=None,
    drop=(),
    categorical=(),
    keep=(),
    missing="impute",
    scale=True,
    method="auto",
    confidence=0.9,
    convention="unlabeled",
    n_jobs=None,
    seed=0,
):
    """Estimate the class prior of a file.

    Parameters
    ----------
    data : path-like
        Input.
    target, positive, drop, categorical, keep, missing, scale
        As in :func:`fewlabels.cli.train.train`.
    method, confidence, convention, n_jobs
        As in :func:`fewlabels.class_prior.estimate_prior`.
    seed : int
        Its ``random_state``.

    Returns
    -------
    dict
        Estimate, interval, counts and seconds.
    """
    import numpy as np

    from ..class_prior import METHODS, estimate_prior
    from ..io.tables.encoding import fit_encoder
    from ..io.tables.training import read_training
    from ..training.row_order import value_order

    if method not in ("auto", *METHODS):
        raise UserError(
            f"--method '{method}' is not known; use {listing(['auto', *METHODS], limit=20)}."
        )
    check_options("pusvm", target, None, positive)
    started = time.perf_counter()
    file = read_training(data, target=target, drop=drop, categorical=categorical, keep=keep)
    roles = choose_roles(file, "pusvm", positive=positive)
    found = file.choose(roles, missing)
    _, X, _ = fit_encoder(schema=found.schema, rows=found.rows, source=data, scale=scale)
    # As a fit gives them to the estimator, so that both find the same prior.
    order = value_order(X, found.y > 0, np.ones(X.shape[0]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = estimate_prior(
                X[order],
                found.y[order],
                method,
                confidence=confidence,
                convention=convention,
                random_state=seed,
                n_jobs=n_jobs,
            )
        except ValueError as error:
            raise UserError(as_options(str(error))) from error
    messages = [
        as_options(str(w.message)).rstrip(".")
        for w in caught
        if issubclass(w.category, UserWarning)
    ]
    n_positive = int(found.y.sum())
    return {
        "data": str(data),
        "target": target,
        **roles.facts,
        "prior": show.finite(result.prior),
        "low": show.finite(result.low),
        "high": show.finite(result.high),
        "confidence": result.confidence,
        "convention": result.convention,
        "method": result.method,
        "rows_read": file.n_rows,
        "rows_labeled": n_positive,
        "rows_unlabeled": len(found.y) - n_positive,
        "seconds": time.perf_counter() - started,
        "notes": found.notes + messages,
    }
