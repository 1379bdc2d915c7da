"""``fewlabels fit``: from a file to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import parameters as options
from . import progress, show
from .errors import NOT_CONVERGED
from .parameters import Kernel, Loss, Machine, Missing, Slack, Threshold
from .reporting import page_path
from .results import summary_lines
from .settings import DEFAULT_BUDGET
from .train import train

_ROWS = "Rows and columns"
_MACHINE = "Machine"
_EFFORT = "Effort"
_REPORT = "Report"


def fit(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Table (.csv, .tsv, .csv.gz, .tsv.gz, .parquet) or matrix (.npz with X and y, "
            ".npy, .svmlight, .libsvm, .svm, .txt).",
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
            help="Column with the class of each row, blank where it is unknown. Without it all "
            "rows are normal. (npz: an array; svmlight: y.)",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    normal: Annotated[
        str | None,
        typer.Option(
            help="The class that is normal; it alone is learnt from.", rich_help_panel=_ROWS
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="The class to look for; all other rows, blank or with one other value, are "
            "unlabelled.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    unlabeled: Annotated[
        str | None,
        typer.Option(
            help="A value of the target that marks rows of unknown class, as a blank does.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    machine: Annotated[
        Machine | None,
        typer.Option(
            help="svdd: smallest ball around the rows; one-class: one-class SVM; pusvm: SVM for "
            "positive and unlabelled rows; pu-ensemble: many of them, slower and often better; "
            "s3vm: SVM for two classes and unlabelled rows. (default: svdd without blanks in the "
            "target, pusvm with one class and blanks, s3vm with two)",
            rich_help_panel=_MACHINE,
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
            help="Missing numbers: impute fills them in with the median and tells the machine "
            "where; skip leaves out rows that have some; refuse stops.",
            rich_help_panel=_ROWS,
        ),
    ] = Missing.impute,
    scale: Annotated[
        bool,
        typer.Option(
            help="Scale numbers to mean 0 and variance 1 (sparse: to 1).", rich_help_panel=_ROWS
        ),
    ] = True,
    time_budget: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Time for choosing settings from the data; 0: none are chosen. A setting that "
            "would be chosen (kernel, gamma, C, C-star, nu, lam) and is given ends the choice.",
            rich_help_panel=_EFFORT,
        ),
    ] = DEFAULT_BUDGET,
    clean: Annotated[
        bool,
        typer.Option(
            "--clean",
            help="svdd, one-class: no training row is an anomaly, so all are trained on.",
            rich_help_panel=_ROWS,
        ),
    ] = False,
    target_fpr: Annotated[
        str | None,
        typer.Option(
            metavar="RATE|none",
            help="svdd, one-class: share of normal rows that may be called outside; none: the "
            f"machine's own threshold. (default: {options.TARGET_FPR}; none with --nu)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            help="svdd: price of rows outside; smaller lets more outside. (default: 2) s3vm: "
            "price of labelled rows inside the margin. (default: 10)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    C_star: Annotated[
        float | None,
        typer.Option(
            "--C-star",
            help="s3vm: price of unlabelled rows inside the margin. (default: 5)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    balance: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|labels|none",
            help="s3vm: mean score of the unlabelled rows: a number, that of the labels (greater "
            "class 1, other -1), or whatever it comes to. (default: labels)",
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
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|estimate",
            help="pusvm, pu-ensemble: share of positives among the unlabelled rows, in (0, 1). "
            "(default: estimate)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    bags: Annotated[
        int | None,
        typer.Option(
            help="pu-ensemble: how many samples of the rows are learnt from. (default: 30)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    lam: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto",
            help="pusvm: weight of the norm; larger values give smoother functions; auto: 0.15 "
            "divided by the number of positive rows. (default: auto)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    loss: Annotated[
        Loss | None,
        typer.Option(
            help="pusvm: what errors cost. (default: double-hinge)", rich_help_panel=_MACHINE
        ),
    ] = None,
    threshold: Annotated[
        Threshold | None,
        typer.Option(
            help="pusvm: where scores turn positive: such that the prior is the share of "
            "positives found, the same for rows not trained on, or where the risk is smallest. "
            "(default: leave-one-out)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    kernel: Annotated[
        Kernel | None, typer.Option(help="(default: rbf)", rich_help_panel=_MACHINE)
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(
            help="Kernel width: scale, auto or a number. (default: scale, s3vm distance)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    degree: Annotated[
        int | None, typer.Option(help="Degree of poly. (default: 3)", rich_help_panel=_MACHINE)
    ] = None,
    coef0: Annotated[
        float | None,
        typer.Option(
            help="Constant of poly and sigmoid. (default: 1, one-class 0)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(help="Accuracy. (default: 0.001, pu-ensemble 0.01)", rich_help_panel=_EFFORT),
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
            help="Seed of the sample that a large fit starts from, and of the prior.",
            rich_help_panel=_EFFORT,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Report to write. (default: MODEL with the ending .html)",
            show_default=False,
            rich_help_panel=_REPORT,
        ),
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no report.", rich_help_panel=_REPORT)
    ] = False,
    baselines: Annotated[
        bool | None,
        typer.Option(
            "--baselines/--no-baselines",
            help="Compare with other methods, such as an isolation forest or an SVM of the labels "
            "alone, for half of the time budget. (default: if there is a report and a budget)",
            show_default=False,
            rich_help_panel=_REPORT,
        ),
    ] = None,
    rows: Annotated[
        bool | None,
        typer.Option(
            "--rows/--no-rows",
            help="Keep the training rows in the model, so that 'update' can add to them. "
            "(default: s3vm yes, others no)",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace the output even if it is no model, and no report."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a line per step and round, on stderr.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON on stdout.")
    ] = False,
):
    """Fit a machine to the rows of DATA and save it as a model.

    The labels decide which machine: rows of one class get an svdd, which tells what does
    not belong to them; one class and blanks get a pusvm, which finds more rows of that
    class among the blank ones and estimates how many there are; two classes and blanks get an
    s3vm, which tells the classes apart and takes further rows later (update).

    Columns that nothing can be learnt from are left out, and fit says which. Numbers are
    standardised, categories encoded and missing numbers filled in; all of it travels inside the
    model. Settings are chosen from the data. An existing model is replaced, at the moment the new
    one is complete; then a report is written beside it, a web page that needs no network.
    """
    given = {
        "C": C,
        "C_star": C_star,
        "balance": options.parse_balance(balance),
        "nu": nu,
        "target_fpr": options.parse_number("target_fpr", target_fpr, ("none",)),
        "slack": slack and slack.value,
        "prior": options.parse_number("prior", prior, ("estimate",)),
        "n_bags": bags,
        "lam": options.parse_number("lam", lam, ("auto",)),
        "loss": loss and loss.value,
        "threshold": threshold and threshold.value,
        "kernel": kernel and kernel.value,
        "gamma": options.parse_number("gamma", gamma, ("distance", "scale", "auto")),
        "degree": degree,
        "coef0": coef0,
        "tol": tol,
        "max_iter": max_iter,
        "max_time": max_time,
        "cache_size": cache_size,
        "n_jobs": n_jobs,
        "random_state": seed,
    }
    options.check_ranges({**given, "time_budget": time_budget})
    page = page_path(model, report, not no_report)
    with progress.fitting(quiet, verbose) as watch:
        summary = train(
            data,
            model,
            machine=machine and machine.value,
            parameters=given,
            target=target,
            normal=normal,
            positive=positive,
            unlabeled=unlabeled,
            drop=drop or (),
            categorical=categorical or (),
            keep=keep or (),
            missing=missing.value,
            scale=scale,
            time_budget=time_budget,
            clean=clean,
            baselines=baselines,
            report=page,
            command=show.command_line(context),
            keep_rows=rows,
            force=force,
            watch=watch,
        )
    if not quiet:
        for message in summary["training"]["notes"]:
            show.note(message)
    if json:
        written = None if page is None else str(page)
        show.as_json({"model": str(model), "report": written, **summary})
    elif not quiet:
        typer.echo(f"{summary['machine']} model written to {model}")
        show.lines(summary_lines(summary))
        if page is not None:
            typer.echo(f"report written to {page}")
    if not summary["training"]["converged"]:
        raise typer.Exit(NOT_CONVERGED)
