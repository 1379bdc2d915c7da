"""Options of the machines: their ranges, and which belong together."""

from __future__ import annotations

import math
import re
from enum import StrEnum

from ..io.errors import UserError
from ..io.models.machines import MACHINES

Machine = StrEnum("Machine", [(name.replace("-", "_"), name) for name in MACHINES])  # type: ignore[misc]
Slack = StrEnum("Slack", ["squared", "linear"])
Kernel = StrEnum("Kernel", ["rbf", "linear", "poly", "sigmoid"])
Loss = StrEnum("Loss", [("double_hinge", "double-hinge"), ("ramp", "ramp")])
Threshold = StrEnum(
    "Threshold", [("leave_one_out", "leave-one-out"), ("prior", "prior"), ("risk", "risk")]
)
Missing = StrEnum("Missing", ["impute", "skip", "refuse"])
Convention = StrEnum("Convention", ["unlabeled", "pooled"])

# scikit-learn's default of 0.5 would reject half of the training rows.
ONE_CLASS_NU = 0.05
# Curves from scores to probabilities, by machine: the better one on real sets.
PROBABILITY = {"pusvm": "isotonic", "s3vm": "sigmoid"}
# Share of normal rows that machines of one class may call outside.
TARGET_FPR = 0.05

_RANGES = {
    "C": (lambda value: 0 < value < float("inf"), "greater than 0"),
    "C_star": (lambda value: 0 < value < float("inf"), "greater than 0"),
    "balance": (lambda value: abs(value) < float("inf"), "'labels', 'none' or a number"),
    "n_bags": (lambda value: value >= 1, "1 or more"),
    "nu": (lambda value: 0 < value <= 1, "greater than 0 and at most 1"),
    "prior": (lambda value: 0 < value < 1, "'estimate' or a number between 0 and 1"),
    "lam": (lambda value: 0 < value < float("inf"), "'auto' or a number greater than 0"),
    "target_fpr": (lambda value: 0 < value < 1, "'none' or a number between 0 and 1"),
    "time_budget": (
        lambda value: 0 <= value < float("inf"),
        "0 (settings as given) or a number of seconds",
    ),
    "confidence": (lambda value: 0 < value < 1, "between 0 and 1"),
    "gamma": (
        lambda value: 0 <= value < float("inf"),
        "'scale', 'auto', with s3vm 'distance', or a number from 0 on",
    ),
    "degree": (lambda value: value >= 0, "0 or more"),
    "tol": (lambda value: 0 < value < float("inf"), "greater than 0"),
    "max_iter": (lambda value: value >= -1, "-1 (no limit) or more"),
    "max_time": (lambda value: value > 0, "greater than 0"),
    "cache_size": (lambda value: value > 0, "greater than 0"),
    "n_jobs": (lambda value: value != 0, "a number of threads, or -1 for all cores"),
    "random_state": (lambda value: 0 <= value < 2**32, "between 0 and 4294967295"),
}
_OPTIONS = {
    "C": "--C",
    "C_star": "--C-star",
    "n_bags": "--bags",
    "random_state": "--seed",
    "pos_label": "--positive",
}
_BALANCE = {"labels": True, "none": False}
_STEPWISE = ("svdd", "one-class", "pusvm", "s3vm")
# Options that not every machine has.
_BELONGS = {
    "C": ("svdd", "s3vm"),
    "C_star": ("s3vm",),
    "balance": ("s3vm",),
    "slack": ("svdd",),
    "nu": ("svdd", "one-class"),
    "target_fpr": ("svdd", "one-class"),
    "prior": ("pusvm", "pu-ensemble"),
    "n_bags": ("pu-ensemble",),
    "max_iter": _STEPWISE,
    "max_time": _STEPWISE,
    "lam": ("pusvm",),
    "loss": ("pusvm",),
    "threshold": ("pusvm",),
}


def machine_parameters(choice, given):
    """Parameters of the estimator from the options that were given.

    Parameters
    ----------
    choice : Choice
        The machine.
    given : dict
        Parameter to value, None where the option was not used.

    Returns
    -------
    parameters : dict
        What to pass to the estimator.
    notes : list of str
        What was decided for the user.
    """
    parameters = {name: value for name, value in given.items() if value is not None}
    notes = []
    for name in parameters:
        machines = _BELONGS.get(name, MACHINES)
        if choice.machine not in machines:
            raise UserError(
                f"{option(name)} belongs to --machine {' or '.join(machines)}, but the machine is "
                f"{choice.machine}, {choice.why}; leave the option out or pass another --machine."
            )
    if choice.machine in PROBABILITY:
        parameters.setdefault("probability", PROBABILITY[choice.machine])
    if choice.machine == "one-class":
        parameters.setdefault("nu", ONE_CLASS_NU)
    elif "nu" in parameters:
        if "C" in parameters:
            raise UserError("--nu and --C set the same price in two ways; pass one of them.")
        if parameters.setdefault("slack", "linear") != "linear":
            raise UserError("--nu needs --slack linear; with --slack squared pass --C.")
        if given.get("slack") is None:
            notes.append("--nu was given, so slack is linear")
    return parameters, notes


def with_target_fpr(machine, parameters, n_rows):
    """Parameters with a rate of false alarms, for machines that have a threshold for it.

    By default :data:`TARGET_FPR`, except where ``nu`` says itself how many rows may lie outside,
    and where there are too few rows to say what is rare.

    Parameters
    ----------
    machine : str
        Its name.
    parameters : dict
        From :func:`machine_parameters`; "none" stands for the machine's own threshold.
    n_rows : int
        Training rows.

    Returns
    -------
    parameters : dict
        What to pass to the estimator.
    notes : list of str
        What was decided for the user.
    """
    if MACHINES[machine].learns_from != "normal":
        return parameters, []
    parameters, notes = dict(parameters), []
    asked = parameters.pop("target_fpr", None)
    if asked is None and "nu" in parameters:
        return parameters, []
    if asked is None and n_rows + 1 < 1 / TARGET_FPR:
        notes.append(
            f"{n_rows} rows are too few for a threshold that {100 * TARGET_FPR:g} % of normal "
            "rows miss, so it is the machine's own; --target-fpr RATE asks for another rate"
        )
    elif asked != "none":
        fewest = 0 if asked is None else math.ceil((1.0 - 1e-12) / asked) - 1
        if n_rows < fewest:
            raise UserError(
                f"--target-fpr {asked:g} takes at least {fewest} training rows, and there are "
                f"{n_rows}: no row could be called outside; pass a greater rate, or none for the "
                "machine's own threshold."
            )
        parameters["target_fpr"] = TARGET_FPR if asked is None else asked
    return parameters, notes


def check_ranges(given):
    """Refuse numbers outside the ranges of their options."""
    for name, value in given.items():
        if value is not None:
            check_range(name, value)


def parse_number(name, text, words):
    """Read an option that is a number or one of some words; None stays None."""
    if text is None or text in words:
        return text
    try:
        return float(text)
    except ValueError:
        raise UserError(
            f"{option(name)} '{text}' is not understood; it must be {_RANGES[name][1]}."
        ) from None


def parse_balance(text):
    """Read what the mean of f over the unlabelled rows is held at; None stays None."""
    found = parse_number("balance", text, tuple(_BALANCE))
    return _BALANCE.get(found, found)


def check_range(name, value):
    """Refuse a number outside the range of its option."""
    if name not in _RANGES or isinstance(value, str):
        return
    allowed, words = _RANGES[name]
    if not allowed(value):
        raise UserError(f"{option(name)} {value:g} is out of range; it must be {words}.")


def option(name):
    """Option on the command line of a parameter."""
    return _OPTIONS.get(name, "--" + name.replace("_", "-"))


def as_options(message):
    """What an estimator says of its parameters, in the words of the command line."""
    known = {*_RANGES, *_OPTIONS, *_BELONGS}

    def spoken(found):
        name, value = found.groups()
        if name not in known:
            return found.group()
        return f"{option(name)} {'NUMBER' if value == '...' else value.strip(chr(39))}"

    return re.sub(r"\b(\w+)=('[^']*'|\.\.\.|[-+.\d]+(?:e[-+]?\d+)?(?<!\.))", spoken, message)
