"""Options of the machines, checked before any data is read."""

from __future__ import annotations

from enum import StrEnum

from ..io.errors import UserError
from ..io.machines import MACHINES

Machine = StrEnum("Machine", [(name.replace("-", "_"), name) for name in MACHINES])
Slack = StrEnum("Slack", ["squared", "linear"])
Kernel = StrEnum("Kernel", ["rbf", "linear", "poly", "sigmoid"])

# scikit-learn's default of 0.5 would reject half of the training rows.
ONE_CLASS_NU = 0.05

_RANGES = {
    "C": (lambda value: 0 < value < float("inf"), "greater than 0"),
    "nu": (lambda value: 0 < value <= 1, "greater than 0 and at most 1"),
    "gamma": (lambda value: 0 <= value < float("inf"), "'scale', 'auto' or a number from 0 on"),
    "degree": (lambda value: value >= 0, "0 or more"),
    "tol": (lambda value: 0 < value < float("inf"), "greater than 0"),
    "max_iter": (lambda value: value >= -1, "-1 (no limit) or more"),
    "max_time": (lambda value: value > 0, "greater than 0"),
    "cache_size": (lambda value: value > 0, "greater than 0"),
    "n_jobs": (lambda value: value != 0, "a number of threads, or -1 for all cores"),
    "random_state": (lambda value: 0 <= value < 2**32, "between 0 and 4294967295"),
}
_OPTIONS = {"C": "--C", "random_state": "--seed"}
_ONLY_SVDD = ("C", "slack")


def machine_parameters(machine, given):
    """Parameters of the estimator from the options that were given.

    Parameters
    ----------
    machine : str
        Name of the machine.
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
    for name, value in parameters.items():
        check_range(name, value)
    if machine == "one-class":
        for name in _ONLY_SVDD:
            if name in parameters:
                raise UserError(
                    f"{option(name)} belongs to --machine svdd; one-class takes --nu, the share "
                    "of training rows that may lie outside."
                )
        parameters.setdefault("nu", ONE_CLASS_NU)
    elif "nu" in parameters:
        if "C" in parameters:
            raise UserError("--nu and --C set the same price in two ways; pass one of them.")
        if parameters.setdefault("slack", "linear") != "linear":
            raise UserError("--nu needs --slack linear; with --slack squared pass --C.")
        if given.get("slack") is None:
            notes.append("--nu was given, so slack is linear")
    return parameters, notes


def parse_gamma(text):
    """Read ``scale``, ``auto`` or a number."""
    if text in (None, "scale", "auto"):
        return text
    try:
        return float(text)
    except ValueError:
        raise UserError(
            f"--gamma '{text}' is not understood; it must be {_RANGES['gamma'][1]}."
        ) from None


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
