"""What a training is requested, and the parameters of its model."""

import dataclasses
import math
from numbers import Real

import numpy as np

from ...gram import row_keys
from ...io.answers.file import read_answers
from ...io.errors import UserError
from ...options.fit import ONE_CLASS_NU, TARGET_FPR, FitOptions
from ...options.given import refuse_unknown
from ...options.words import ref
from ...tasks.machines import MACHINES, machine_class, machines_with, task_of
from ..selection import is_weighed, named
from .choice import check_options

# Rows that are looked at first to see whether enough of them differ.
_AT_FIRST = 1000


def options_of(given):
    """The options that were given by name, as far as they don't contradict each other.

    This is checked before anything is read.
    """
    refuse_unknown(FitOptions, given)
    options = _of_label_file(FitOptions(**given))
    check_options(
        options.machine, options.target, options.normal, options.positive, options.unlabeled
    )
    if options.prior_convention is not None and not isinstance(options.prior, Real):
        raise UserError(
            f"{ref('prior_convention')} says what {ref('prior', some='SHARE')} is a share of; "
            f"pass {ref('prior', some='SHARE')} as well, or omit the option."
        )
    return options


def check_for_pieces(options):
    """Refuse options that need the rows in memory."""
    needs = {
        named(options): is_weighed(options),
        ref("prior_convention", "pooled"): options.prior_convention == "pooled",
        ref("rows", True): bool(options.rows),
    }
    for name, is_given in needs.items():
        if is_given:
            raise UserError(
                f"{name} needs rows in memory, but this table is read in pieces; pass fewer rows, "
                f"or a larger {ref('memory', some='SIZE')}, or omit the option."
            )


def _of_label_file(options):
    """The same, with the target of a file of labels, if there is one."""
    if options.labels is None:
        return options
    target = read_answers(options.labels).about["target"]
    if options.target not in (None, target):
        raise UserError(
            f"{options.labels} holds labels of the column '{target}', not of '{options.target}'; "
            f"omit {ref('target')}."
        )
    return dataclasses.replace(options, target=target)


def machine_parameters(choice, given):
    """Parameters of the estimator from those given (None: not said), and notes on them."""
    parameters = {name: value for name, value in given.items() if value is not None}
    notes = []
    for name in parameters:
        if choice.machine not in (machines := machines_with(name)):
            raise UserError(
                f"{ref(name)} needs {ref('machine', tuple(machines))}, but the model is "
                f"{choice.machine} ({choice.why}); omit the option or pass another "
                f"{ref('machine')}."
            )
    if parameters.get("kernel") == "trees" and not task_of(choice.machine).takes_labels:
        raise UserError(
            f"{ref('kernel', 'trees')} needs {ref('machine', 'pusvm')}, pu-ensemble or s3vm, but "
            f"the model is {choice.machine} ({choice.why}); omit the option or pass another "
            "kernel."
        )
    method = MACHINES[choice.machine]
    if method.is_baseline:
        parameters["method"] = choice.machine
    if method.probability is not None:
        parameters.setdefault("probability", method.probability)
    if choice.machine == "one-class":
        parameters.setdefault("nu", ONE_CLASS_NU)
    elif "nu" in parameters:
        if "C" in parameters:
            raise UserError(
                f"{ref('nu')} and {ref('C')} set the same cost in two ways; pass one of them."
            )
        if parameters.setdefault("slack", "linear") != "linear":
            raise UserError(
                f"{ref('nu')} needs {ref('slack', 'linear')}; with {ref('slack', 'squared')} pass "
                f"{ref('C')}."
            )
        if given.get("slack") is None:
            notes.append(f"{ref('nu')} was given, so slack is linear")
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
    if machine not in machines_with("target_fpr"):
        return parameters, []
    parameters, notes = dict(parameters), []
    asked = parameters.pop("target_fpr", None)
    has_own = machine_class(machine).has_own_threshold
    if asked == "none" and not has_own:
        raise UserError(
            f"{ref('target_fpr', 'none')} needs a model with its own threshold, and {machine} has "
            f"none; pass a rate, or {ref('machine', 'svdd')}."
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
                f"{100 * TARGET_FPR:g} %, which {machine} needs; pass "
                f"{ref('target_fpr', some='RATE')}, more rows, or {ref('machine', 'svdd')}."
            )
        if not searched and has_own:  # a search sets a rate itself
            notes.append(
                f"{counted} {rows} are too few to calibrate a false alarm rate of "
                f"{100 * TARGET_FPR:g} %, so the threshold is uncalibrated; "
                f"{ref('target_fpr', some='RATE')} sets another rate"
            )
    elif asked != "none":
        fewest = 0 if asked is None else math.ceil(min(1e18, (1.0 - 1e-12) / asked)) - 1
        if n_rows < fewest:
            raise UserError(
                f"{ref('target_fpr', asked)} needs at least {fewest} training rows, and there are "
                f"{n_rows}; pass a larger rate, or none for the uncalibrated threshold."
            )
        parameters["target_fpr"] = TARGET_FPR if asked is None else asked
    return parameters, notes
