"""What a training is requested, and the parameters of its model."""

import dataclasses
import difflib
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...gram import row_keys
from ...io.answers.file import read_answers
from ...io.errors import UserError, quoted
from ...io.models.machines import MACHINES
from ...io.sources import Reading
from ..settings import (
    DEFAULT_BUDGET,
    ONE_CLASS_NU,
    SETTINGS,
    TARGET_FPR,
    check_ranges,
    option,
)  # fmt: skip
from .choice import check_options

# Curves from scores to probabilities, by machine: the better one on real sets.
PROBABILITY = {"pusvm": "isotonic", "s3vm": "sigmoid"}

# Rows that are looked at first to see whether enough of them differ.
_AT_FIRST = 1000


@dataclass(frozen=True)
class Request:
    """Options of a training, which :func:`fewlabels.fit_table` explains, and their defaults."""

    target: str | None = None
    normal: str | None = None
    positive: str | None = None
    unlabeled: str | None = None
    machine: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    text_weight: float | None = None
    dates: tuple[str, ...] = ()
    missing: str = "impute"
    scale: bool | str = "auto"
    clean: bool | None = None
    time_budget: float = DEFAULT_BUDGET
    baselines: bool | None = None
    rows: bool | None = None
    merge_case: bool | None = None
    memory: str | None = None
    scheduler: str | None = None
    workers: int | None = None
    reading: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)


def request_of(options):
    """The request that options by name make; what is no option is a parameter of the model.

    What contradicts itself or is out of range is refused, before anything is read.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in {"target", "normal", "positive", "unlabeled"} & given.keys():
        given[name] = str(given[name])
    for name in {"drop", "categorical", "keep", "text", "dates"} & given.keys():
        given[name] = names_of(given[name])
    names = {field.name for field in dataclasses.fields(Request)} - {"parameters"}
    asked = {name: given.pop(name) for name in names & given.keys()}
    asked["reading"] = {name: given.pop(name) for name in Reading._fields if name in given}
    _check_names(given)
    asked = _of_label_file(asked)
    request = Request(**asked, parameters=given)
    check_ranges({**given, "time_budget": request.time_budget, "text_weight": request.text_weight})
    check_options(
        request.machine, request.target, request.normal, request.positive, request.unlabeled
    )
    return request


def _of_label_file(asked):
    """The same, the target being that of a file of labels, if there is one."""
    labels = asked["reading"].get("labels")
    if labels is None:
        return asked
    target = read_answers(labels).about["target"]
    if asked.setdefault("target", target) != target:
        raise UserError(
            f"{labels} holds labels of the column '{target}', not of '{asked['target']}'; omit "
            "--target."
        )
    return asked


def names_of(names):
    """Names of columns, given one or several."""
    return (names,) if isinstance(names, str) else tuple(str(one) for one in names)


def _check_names(given):
    """Refuse parameters that no model has."""
    known = list(SETTINGS)
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"is {quoted(close[0])} meant?" if close else f"there are {', '.join(known)}."
            raise UserError(f"Unknown option {quoted(name)}; {hint}")


def machine_parameters(choice, given):
    """Parameters of the estimator from those given (None: not said), and notes on them."""
    parameters = {name: value for name, value in given.items() if value is not None}
    notes = []
    for name in parameters:
        machines = SETTINGS[name].machines if name in SETTINGS else ()
        if machines and choice.machine not in machines:
            raise UserError(
                f"{option(name)} needs --machine {' or '.join(machines)}, but the model is "
                f"{choice.machine} ({choice.why}); omit the option or pass another --machine."
            )
    if parameters.get("kernel") == "trees" and MACHINES[choice.machine].learns_from == "normal":
        raise UserError(
            "--kernel trees needs --machine pusvm, pu-ensemble or s3vm, but the model is "
            f"{choice.machine} ({choice.why}); omit the option or pass another kernel."
        )
    if MACHINES[choice.machine].is_baseline:
        parameters["method"] = choice.machine
    if choice.machine in PROBABILITY:
        parameters.setdefault("probability", PROBABILITY[choice.machine])
    if choice.machine == "one-class":
        parameters.setdefault("nu", ONE_CLASS_NU)
    elif "nu" in parameters:
        if "C" in parameters:
            raise UserError("--nu and --C set the same cost in two ways; pass one of them.")
        if parameters.setdefault("slack", "linear") != "linear":
            raise UserError("--nu needs --slack linear; with --slack squared pass --C.")
        if given.get("slack") is None:
            notes.append("--nu was given, so slack is linear")
    return parameters, notes


def different_rows(X):
    """How many rows of a matrix differ, counted up to what :data:`TARGET_FPR` needs."""
    enough = math.ceil(1.0 / TARGET_FPR) - 1
    for rows in (X[:_AT_FIRST], X):  # few tables need more than the first rows
        found = min(enough, len(np.unique(row_keys(rows))))
        if found == enough:
            break
    return found


def with_target_fpr(machine, parameters, n_rows, searched=False, n_different=None):
    """Parameters with a rate of false alarms, for models that have a threshold for it.

    By default :data:`TARGET_FPR`, except where ``nu`` says itself how many rows may lie outside,
    and where there are too few rows to say what is rare, of which ``n_different`` differ. "none"
    means the model's own threshold. Gives notes too.
    """
    if MACHINES[machine].learns_from != "normal":
        return parameters, []
    parameters, notes = dict(parameters), []
    asked = parameters.pop("target_fpr", None)
    has_own = not (machine == "svdd-ensemble" or MACHINES[machine].is_baseline)
    if asked == "none" and not has_own:
        raise UserError(
            f"--target-fpr none needs a model with its own threshold, and {machine} has none; "
            "pass a rate, or --machine svdd."
        )
    if asked is None and "nu" in parameters:
        return parameters, []
    counted, rows = n_rows, "rows"
    if has_own and n_different is not None and n_different < n_rows:
        counted, rows = n_different, "different rows"
    if asked is None and counted + 1 < 1 / TARGET_FPR:
        if MACHINES[machine].is_baseline:
            raise UserError(
                f"{n_rows} rows are too few to calibrate a false alarm rate of "
                f"{100 * TARGET_FPR:g} %, which {machine} needs; pass --target-fpr RATE, more "
                "rows, or --machine svdd."
            )
        if not searched and has_own:  # a search sets a rate itself
            notes.append(
                f"{counted} {rows} are too few to calibrate a false alarm rate of "
                f"{100 * TARGET_FPR:g} %, so the threshold is uncalibrated; --target-fpr RATE "
                "sets another rate"
            )
    elif asked != "none":
        fewest = 0 if asked is None else math.ceil(min(1e18, (1.0 - 1e-12) / asked)) - 1
        if n_rows < fewest:
            raise UserError(
                f"--target-fpr {asked:g} needs at least {fewest} training rows, and there are "
                f"{n_rows}; pass a larger rate, or none for the uncalibrated threshold."
            )
        parameters["target_fpr"] = TARGET_FPR if asked is None else asked
    return parameters, notes
