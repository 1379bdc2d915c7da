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
from .terminal.help import COLUMNS_PANEL, LIMITS_PANEL, OUTPUT_PANEL, PARAMETERS_PANEL
from .terminal.say import say
from .terminal.summary import answer_lines, how_lines

Machine = StrEnum("Machine", [(name.replace("-", "_"), name) for name in MACHINES])  # type: ignore[misc]
Slack = StrEnum("Slack", ["squared", "linear"])
Loss = StrEnum("Loss", [("double_hinge", "double-hinge"), ("ramp", "ramp")])
Threshold = StrEnum(
    "Threshold", [("leave_one_out", "leave-one-out"), ("prior", "prior"), ("risk", "risk")]
)

_BASELINES = ", ".join(name for name, known in MACHINES.items() if known.is_baseline)
_rows = partial(typer.Option, rich_help_panel=ROWS_PANEL, show_default=False)
_columns = partial(typer.Option, rich_help_panel=COLUMNS_PANEL)
_model = partial(typer.Option, rich_help_panel=options.MODEL_PANEL)
_parameter = partial(typer.Option, rich_help_panel=PARAMETERS_PANEL)
_limit = partial(typer.Option, rich_help_panel=LIMITS_PANEL)
_report = partial(typer.Option, rich_help_panel=options.REPORT_PANEL, show_default=False)


class RowOptions(NamedTuple):
    """Which rows and columns are learned from."""

    target: str | None = _rows(
        None,
        metavar="COLUMN",
        help="Column with the class of each row, blank where unknown. Without it all rows count "
        "as normal.",
    )
    labels: Path | None = _rows(
        None, metavar="FILE", help="Labels given with 'fewlabels label', for the rows of DATA."
    )
    normal: str | None = _rows(
        None, metavar="CLASS", help="Learn from this class alone and flag everything else."
    )
    positive: str | None = _rows(
        None,
        metavar="CLASS",
        help="Look for this class; all other rows count as unlabelled.",
    )
    clean: bool | None = _rows(
        None,
        "--clean/--maybe-dirty",
        help="Whether rows of one class are free of anomalies. (default: a few may be anomalies)",
    )
    drop: list[str] | None = options.DROP
    unlabeled: str | None = _columns(
        None,
        metavar="VALUE",
        help="Value of the target that means 'unlabelled', in addition to blanks.",
    )
    categorical: list[str] | None = options.CATEGORICAL
    keep: list[str] | None = options.KEEP
    text: list[str] | None = options.TEXT
    text_weight: float | None = _columns(
        None,
        metavar="RATIO",
        help="Total variance of the text columns relative to the other columns. (default: chosen "
        "on held-out labels, which may drop columns; 1 without labels)",
        show_default=False,
    )
    dates: list[str] | None = options.DATES
    missing: Missing = _columns(
        Missing.impute,
        help="Missing numbers: fill in the median and mark the place, skip the row, or refuse "
        "the table.",
    )
    scale: bool | None = options.SCALE
    merge_case: bool | None = options.MERGE_CASE


class MachineOptions(NamedTuple):
    """The estimator and its parameters, by their names."""

    machine: Machine | None = _model(
        None,
        metavar="NAME",
        help="One class: svdd-ensemble, svdd, one-class. Positive and unlabelled: pu-ensemble, "
        "pusvm. Several classes: s3vm. Baselines: "
        f"{_BASELINES}. (default: svdd-ensemble, or svdd with --clean; pu-ensemble if quick, else "
        "pusvm; s3vm)",
    )
    target_fpr: str | None = _model(
        None,
        metavar="RATE|none",
        help="One class: false positive rate to calibrate for; none keeps the estimator's own "
        f"threshold. (default: {TARGET_FPR}; none with --nu)",
    )
    prior: str | None = _model(
        None,
        metavar="NUMBER|estimate",
        help="Positive and unlabelled: share of positives among the unlabelled rows. (default: "
        "estimate)",
    )
    kernel: str | None = _parameter(
        None,
        metavar="NAME",
        help="rbf, linear, poly, sigmoid, manifold or isolation; also trees for pusvm, "
        "pu-ensemble and s3vm. (default: rbf, pu-ensemble auto)",
        callback=options.check_kernel,
    )
    gamma: str | None = _parameter(
        None,
        metavar="NUMBER|RULE",
        help="Kernel width: a number, or the rule scale, auto, distance or neighbors. (default: "
        "scale, s3vm distance, svdd-ensemble neighbors)",
    )
    C: float | None = _parameter(
        None,
        "--C",
        metavar="COST",
        help="svdd, svdd-ensemble: cost of rows outside; a smaller one leaves more rows outside. "
        "(default: 2, svdd-ensemble 0.1) s3vm: cost of labelled rows inside the margin. "
        "(default: 10)",
    )
    C_star: float | None = _parameter(
        None,
        "--C-star",
        metavar="COST",
        help="s3vm: cost of unlabelled rows inside the margin. (default: 5)",
    )
    balance: str | None = _parameter(
        None,
        metavar="NUMBER|labels|none",
        help="s3vm: mean score of the unlabelled rows: a number, the mean label, or "
        "unconstrained. (default: labels)",
    )
    class_ratio: str | None = _parameter(
        None,
        metavar="NUMBER|estimate",
        help="s3vm: share of the greater of two classes among the unlabelled rows, or "
        "'estimate', for any number of classes. Without it, the labels' ratio counts, unless "
        "classes have equal numbers of labels.",
        show_default=False,
    )
    nu: float | None = _parameter(
        None,
        metavar="SHARE",
        help="Upper bound on the share of training rows outside, in (0, 1]. svdd: linear slack "
        f"instead of C. (default for one-class: {ONE_CLASS_NU})",
    )
    slack: Slack | None = _parameter(
        None, help="svdd: penalty on the slack of rows outside. (default: squared)"
    )
    n_bags: int | None = _parameter(
        None,
        "--bags",
        metavar="N",
        help="pu-ensemble, svdd-ensemble: number of bags. (default: 30, svdd-ensemble 25)",
    )
    bag_size: int | None = _parameter(
        None,
        metavar="N",
        help="svdd-ensemble: maximum rows in a bag, up to 4096. (default: 512)",
    )
    trim: float | None = _parameter(
        None,
        metavar="SHARE",
        help="svdd-ensemble: share of the most distant rows dropped from each bag. (default: "
        "auto; 0 with --clean)",
    )
    lam: str | None = _parameter(
        None,
        metavar="NUMBER|auto",
        help="pusvm: regularisation; larger is smoother; auto is 0.15 divided by the number of "
        "positive rows. (default: auto)",
    )
    loss: Loss | None = _parameter(None, help="pusvm: loss function. (default: double-hinge)")
    threshold: Threshold | None = _parameter(
        None,
        help="pusvm: threshold that marks the prior's share of the rows, by leave-one-out scores "
        "or by training scores, or that minimises the risk. (default: leave-one-out)",
    )
    degree: int | None = _parameter(None, metavar="N", help="Degree of poly. (default: 3)")
    coef0: float | None = _parameter(
        None,
        metavar="NUMBER",
        help="Constant term of poly and sigmoid. (default: 1, one-class 0)",
    )


class EffortOptions(NamedTuple):
    """Time, accuracy and memory; all but the time budget are parameters of the estimator."""

    time_budget: float = _report(
        DEFAULT_BUDGET,
        metavar="SECONDS",
        help="Time for the whole command; large tables are sampled to fit. 0: default settings "
        "and all rows; what follows the fit takes a few seconds or a fifth of its time. "
        f"(default: {DEFAULT_BUDGET:g})",
    )
    tol: float | None = _limit(
        None, metavar="NUMBER", help="Solver tolerance. (default: 0.001, pu-ensemble 0.01)"
    )
    max_iter: int | None = _limit(None, metavar="N", help="Maximum iterations. (default: none)")
    max_time: float | None = _limit(
        None, metavar="SECONDS", help="Maximum time for the fit itself. (default: none)"
    )
    cache_size: float | None = _limit(
        None, metavar="MB", help="Memory for kernel values, in MB. (default: 200)"
    )
    memory: str | None = _limit(
        None,
        metavar="SIZE",
        help="Memory for training, such as 4G. svdd, one-class, pusvm and a linear s3vm learn "
        "larger tables and matrices piece by piece from disk, with settings chosen on a sample. "
        "(default: half of the free memory)",
        show_default=False,
    )
    n_jobs: int | None = _limit(None, metavar="N", help="Threads. (default: all cores)")
    random_state: int | None = _limit(
        None, "--seed", metavar="N", help="Seed for sampling and for the class prior."
    )


class ReportOptions(NamedTuple):
    """The report, and the comparison that it shows."""

    report: Path | None = _report(
        None, metavar="FILE", help="HTML report to write. (default: MODEL with the ending .html)"
    )
    no_report: bool = _report(False, "--no-report", help="Write no report.")
    baselines: bool | None = _report(
        None,
        "--baselines/--no-baselines",
        help="Compare with other methods in the remaining time. (default: if there is a time "
        "budget, and a report or labels that show which method is better)",
    )


@grouped
def fit(
    context: typer.Context,
    data: Annotated[
        Path,
        argument(
            metavar="DATA",
            help="Table (.csv, .tsv, .parquet, .xlsx, .jsonl, database) or matrix (.npy, .npz, "
            ".svmlight).",
        ),
    ],
    model: Annotated[
        Path,
        plain_option("-o", "--output", metavar="MODEL", help="Model file to write."),
    ],
    of_rows: RowOptions,
    of_machine: MachineOptions,
    of_effort: EffortOptions,
    of_report: ReportOptions,
    of_reading: ReadingOptions,
    of_cluster: ClusterOptions,
    rows: Annotated[
        bool | None,
        plain_option(
            "--rows/--no-rows",
            help="Store the training rows in the model so that 'fewlabels update' can add rows. "
            "(default: s3vm yes, others no)",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace output files even if fewlabels didn't write them.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = False,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the solver's progress on stderr.")
    ] = False,
    json: SummaryAsJson = False,
):
    """Train a model on the rows of DATA and write a report.

    ```
    fewlabels fit healthy.csv -o m.fewlabels              # normal rows only
    fewlabels fit fraud.csv --target fraud -o m.fewlabels # "yes" or blank
    fewlabels fit mail.csv --target topic -o m.fewlabels  # classes or blank
    ```

    The target column decides what is trained. Rows of one class: an anomaly detector
    (svdd-ensemble). One class and blanks: a pu-ensemble, or a pusvm if that takes too long.
    Several classes and blanks: a semi-supervised classifier (s3vm). If a baseline is clearly
    better on held-out labels, you get that instead, unless you pass --model, settings or
    --rows.
    Preprocessing and settings are chosen from the data and stored in the model.
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
        show.sections({
            "Result": answer_lines(summary), "How it was fitted": how_lines(summary),
        })  # fmt: skip
        say(f"{summary['machine']} model written to {model}")
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
            raise UserError("--report and --no-report contradict each other; pass one of them.")
        return None
    path = Path(report or f"{str(model).removesuffix('.fewlabels')}.html")
    if path == Path(model):
        raise UserError(
            f"The model and its report can't both be written to {model}; pass another file as "
            "--report, or --no-report."
        )
    return path
