"""``fewlabels fit``: from a file to a model."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ..io.errors import UserError
from ..io.models.machines import MACHINES
from ..jobs.settings import DEFAULT_BUDGET, ONE_CLASS_NU, TARGET_FPR
from . import options
from .errors import NOT_CONVERGED
from .options import (
    ROWS_PANEL,
    ClusterOptions,
    Missing,
    Quiet,
    ReadingOptions,
    SummaryAsJson,
    argument,
    grouped,
    parse_number,
    plain_option,
    values_of,
)
from .terminal import progress, show
from .terminal.say import say
from .terminal.summary import summary_lines

Machine = StrEnum("Machine", [(name.replace("-", "_"), name) for name in MACHINES])  # type: ignore[misc]
Slack = StrEnum("Slack", ["squared", "linear"])
Loss = StrEnum("Loss", [("double_hinge", "double-hinge"), ("ramp", "ramp")])
Threshold = StrEnum(
    "Threshold", [("leave_one_out", "leave-one-out"), ("prior", "prior"), ("risk", "risk")]
)

_rows = partial(typer.Option, rich_help_panel=ROWS_PANEL)
_machine = partial(typer.Option, rich_help_panel="Machine")
_effort = partial(typer.Option, rich_help_panel="Effort")
_report = partial(typer.Option, rich_help_panel="Report")


class RowOptions(NamedTuple):
    """Which rows and columns are learnt from."""

    target: str | None = _rows(
        None,
        help="Column with the class of each row, blank where it is unknown. Without it all "
        "rows are normal. (npz: an array; svmlight: y.)",
    )
    labels: Path | None = _rows(
        None,
        help="File of labels that 'fewlabels label' wrote for DATA; --target is then its column.",
        show_default=False,
    )
    normal: str | None = _rows(None, help="The class that is normal; it alone is learnt from.")
    positive: str | None = _rows(
        None,
        help="The class to look for; all other rows, blank or with one other value, are "
        "unlabelled.",
    )
    unlabeled: str | None = _rows(
        None, help="A value of the target that marks rows of unknown class, as a blank does."
    )
    drop: list[str] | None = options.DROP
    categorical: list[str] | None = options.CATEGORICAL
    keep: list[str] | None = options.KEEP
    text: list[str] | None = options.TEXT
    text_weight: float | None = _rows(
        None,
        metavar="RATIO",
        help="Variance of all texts together in terms of that of all other columns. (default: "
        "chosen by labels held out, which may leave columns out; 1 without labels)",
        show_default=False,
    )
    dates: list[str] | None = options.DATES
    missing: Missing = _rows(
        Missing.impute,
        help="Missing numbers: impute fills them in with the median and tells the machine "
        "where; skip leaves out rows that have some; refuse stops.",
    )
    scale: bool | None = options.SCALE
    merge_case: bool | None = options.MERGE_CASE
    clean: bool | None = _rows(
        None,
        "--clean/--maybe-dirty",
        help="Rows of one class: none is an anomaly, so all are trained on (by an svdd); or a few "
        "may be, and the rows farthest from others have no part. (default: maybe dirty)",
        show_default=False,
    )


class MachineOptions(NamedTuple):
    """The machine and its parameters, by their names."""

    machine: Machine | None = _machine(
        None,
        help="svdd: smallest ball around the rows; svdd-ensemble: many small ones; one-class: "
        "one-class SVM; pusvm: SVM for positive and unlabelled rows; pu-ensemble: many of them, "
        "slower and often better; s3vm: SVM for classes and unlabelled rows. Others are simple "
        "methods to compare with, which this library wraps: forest, neighbours, ... (default: "
        "svdd-ensemble without blanks in the target, or svdd with --clean; with one class and "
        "blanks pu-ensemble if its fit is quick, else pusvm; with more classes s3vm)",
    )
    target_fpr: str | None = _machine(
        None,
        metavar="RATE|none",
        help="svdd, svdd-ensemble, one-class, neighbours, ...: share of normal rows that may be "
        "called outside; none: the machine's own threshold, of svdd and one-class. (default: "
        f"{TARGET_FPR}; none with --nu)",
    )
    C: float | None = _machine(
        None,
        "--C",
        help="svdd, svdd-ensemble: price of rows outside; smaller lets more outside. (default: "
        "2, svdd-ensemble 0.1) s3vm: price of labelled rows inside the margin. (default: 10)",
    )
    C_star: float | None = _machine(
        None, "--C-star", help="s3vm: price of unlabelled rows inside the margin. (default: 5)"
    )
    balance: str | None = _machine(
        None,
        metavar="NUMBER|labels|none",
        help="s3vm: mean score of the unlabelled rows: a number, that of the labels (greater "
        "class 1, other -1), or whatever it comes to. (default: labels)",
    )
    class_ratio: str | None = _machine(
        None,
        metavar="NUMBER|estimate",
        help="s3vm: share of the greater of two classes among the unlabelled rows, if it isn't "
        "that of the labels; estimate works it out, for any number of classes. If classes of a "
        "table have equal numbers of labels, it is estimated anyway",
    )
    nu: float | None = _machine(
        None,
        help="Share of training rows that may lie outside, in (0, 1]; svdd: with linear "
        f"slack, in place of C. (default for one-class: {ONE_CLASS_NU})",
    )
    slack: Slack | None = _machine(
        None, help="svdd: how rows outside are charged. (default: squared)"
    )
    prior: str | None = _machine(
        None,
        metavar="NUMBER|estimate",
        help="pusvm, pu-ensemble, forest, ...: share of positives among the unlabelled rows, in "
        "(0, 1). (default: estimate)",
    )
    n_bags: int | None = _machine(
        None,
        "--bags",
        help="pu-ensemble, svdd-ensemble: how many samples of the rows are learnt from. "
        "(default: 30, svdd-ensemble 25)",
    )
    bag_size: int | None = _machine(
        None, help="svdd-ensemble: most rows of a sample, up to 4096. (default: 512)"
    )
    trim: float | None = _machine(
        None,
        help="svdd-ensemble: share of a sample's rows that is left out, those farthest from "
        "their neighbours, as they may be anomalies. (default: auto; 0 with --clean)",
    )
    lam: str | None = _machine(
        None,
        metavar="NUMBER|auto",
        help="pusvm: weight of the norm; larger values give smoother functions; auto: 0.15 "
        "divided by the number of positive rows. (default: auto)",
    )
    loss: Loss | None = _machine(None, help="pusvm: what errors cost. (default: double-hinge)")
    threshold: Threshold | None = _machine(
        None,
        help="pusvm: where scores turn positive: such that the prior is the share of "
        "positives found, the same for rows not trained on, or where the risk is smallest. "
        "(default: leave-one-out)",
    )
    kernel: str | None = _machine(
        None,
        help="rbf, linear, poly, sigmoid, manifold, isolation, with pusvm, pu-ensemble and s3vm "
        "also trees. (default: rbf, pu-ensemble auto)",
        callback=options.check_kernel,
    )
    gamma: str | None = _machine(
        None,
        help="Kernel width: scale, auto or a number. (default: scale, s3vm distance, "
        "svdd-ensemble neighbors)",
    )
    degree: int | None = _machine(None, help="Degree of poly. (default: 3)")
    coef0: float | None = _machine(
        None, help="Constant of poly and sigmoid. (default: 1, one-class 0)"
    )


class EffortOptions(NamedTuple):
    """Time, accuracy and memory; all but the time budget are parameters of the machine."""

    time_budget: float = _effort(
        DEFAULT_BUDGET,
        metavar="SECONDS",
        help="Time for the whole command. Where it is too short for all rows, a sample is learnt "
        "from, and a note says so. 0: no settings are chosen, all rows are learnt from, and what "
        "follows the fit takes a few seconds or a fifth of its time. A setting that "
        "would be chosen (kernel, gamma, C, C-star, nu, lam) and is given ends the choice.",
    )
    tol: float | None = _effort(None, help="Accuracy. (default: 0.001, pu-ensemble 0.01)")
    max_iter: int | None = _effort(None, help="Limit on iterations. (default: none)")
    max_time: float | None = _effort(None, help="Limit on the seconds of fitting. (default: none)")
    cache_size: float | None = _effort(
        None, help="Memory for kernel values, in MB. (default: 200)"
    )
    memory: str | None = _effort(
        None,
        metavar="SIZE",
        help="Memory that learning from DATA may take, such as 4G. Larger tables (.csv, .tsv, "
        ".parquet) and matrices are learnt from in pieces, on disk: settings from a sample, and "
        "svdd, one-class, pusvm and a linear s3vm from all rows. (default: half of what is free)",
        show_default=False,
    )
    n_jobs: int | None = _effort(None, help="Threads. (default: all cores)")
    random_state: int | None = _effort(
        None, "--seed", help="Seed of the sample that a large fit starts from, and of the prior."
    )


class ReportOptions(NamedTuple):
    """The report, and the comparison that it shows."""

    report: Path | None = _report(
        None, help="Report to write. (default: MODEL with the ending .html)", show_default=False
    )
    no_report: bool = _report(False, "--no-report", help="Write no report.")
    baselines: bool | None = _report(
        None,
        "--baselines/--no-baselines",
        help="Compare with other methods, such as an isolation forest or an SVM of the labels "
        "alone, in what is left of the time budget. (default: if there is a budget, and a report "
        "or labels that show which method is better)",
        show_default=False,
    )


@grouped
def fit(
    context: typer.Context,
    data: Annotated[
        Path,
        argument(
            metavar="DATA",
            help="Table (.csv, .tsv, .csv.gz, .tsv.gz, .parquet) or matrix (.npz with X and y, "
            ".npy, .svmlight, .libsvm, .svm, .txt).",
        ),
    ],
    model: Annotated[
        Path,
        plain_option("-o", "--output", help="Model file to write."),
    ],
    of_rows: RowOptions,
    of_reading: ReadingOptions,
    of_machine: MachineOptions,
    of_effort: EffortOptions,
    of_cluster: ClusterOptions,
    of_report: ReportOptions,
    rows: Annotated[
        bool | None,
        plain_option(
            "--rows/--no-rows",
            help="Keep the training rows in the model, so that 'update' can add to them. "
            "(default: s3vm yes, others no)",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace the output even if it is no model, and no report."),
    ] = False,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a line per step and round, on stderr.")
    ] = False,
    json: SummaryAsJson = False,
):
    """Fit a machine to the rows of DATA and save it as a model.

    The labels decide which machine: rows of one class get an svdd-ensemble, which tells what does
    not belong to them (an svdd, if they are known to be --clean). One class and blanks get a
    pu-ensemble, or a pusvm if the ensemble would take long: both find more rows of that class
    among the blank ones and estimate how many there are. Two or more classes and blanks get an
    s3vm, which tells the classes apart and takes further rows later (update). A simpler method
    that is clearly better on held-out labels is delivered instead, unless --machine, model
    settings or --rows are given.

    Columns that nothing can be learnt from are left out, and fit says which. Numbers are
    standardised, categories encoded and missing numbers filled in; all of it travels inside the
    model. Settings are chosen from the data. An existing model is replaced, at the moment the new
    one is complete; then a report is written beside it, a web page that needs no network.
    """
    from ..jobs.training.train import train_file

    page = page_path(model, of_report.report, not of_report.no_report)
    given = values_of(of_rows) | values_of(of_reading) | values_of(of_cluster)
    given |= _parameters(of_machine, of_effort)
    with progress.observing("reading", quiet, verbose) as observer:
        summary = train_file(
            data, model, report=page, command=show.command_line(context), force=force,
            observer=observer, baselines=of_report.baselines, rows=rows, started=context.obj,
            **given,
        )  # fmt: skip
    written = {"model": str(model), "report": None if page is None else str(page), **summary}
    if show.told(written, json, quiet, summary["training"]["notes"]):
        say(f"{summary['machine']} model written to {model}")
        show.lines(summary_lines(summary))
        if page is not None:
            say(f"report written to {page}")
    if not summary["training"]["converged"]:
        raise typer.Exit(NOT_CONVERGED)


def _parameters(of_machine, of_effort):
    """Machine, time budget and parameters, with numbers read."""
    given = values_of(of_machine) | values_of(of_effort)
    for name in _WORDS.keys() & given.keys():
        given[name] = parse_number(name, given[name], _WORDS[name])
    if "balance" in given:
        given["balance"] = _BALANCE.get(given["balance"], given["balance"])
    return given


# Options that are numbers or words.
_WORDS = {
    "balance": ("labels", "none"),
    "class_ratio": ("estimate",),
    "target_fpr": ("none",),
    "prior": ("estimate",),
    "lam": ("auto",),
    "gamma": ("distance", "neighbors", "scale", "auto"),
}
_BALANCE = {"labels": True, "none": False}


def page_path(model, report, wanted):
    """Where the report of a model goes; None for nowhere."""
    if not wanted:
        if report is not None:
            raise UserError("--report asks for a report and --no-report for none; pass one.")
        return None
    path = Path(report or f"{str(model).removesuffix('.fewlabels')}.html")
    if path == Path(model):
        raise UserError(
            f"The model and its report cannot both be {model}; name the report with --report, or "
            "pass --no-report."
        )
    return path
