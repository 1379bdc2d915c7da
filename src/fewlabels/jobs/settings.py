"""Settings that a caller may give: their ranges, their models, and their options."""

from collections.abc import Callable
from numbers import Real
from typing import NamedTuple

from ..io.errors import UserError

# Seconds for a whole fit, the report included.
DEFAULT_BUDGET = 20.0
# scikit-learn's default of 0.5 would reject half of the training rows.
ONE_CLASS_NU = 0.05
# Share of normal rows that machines of one class may call outside.
TARGET_FPR = 0.05
_BALLS = ("svdd", "svdd-ensemble")
_ENSEMBLES = ("pu-ensemble", "svdd-ensemble")
_MACHINES = ("svdd", "svdd-ensemble", "one-class", "pusvm", "pu-ensemble", "s3vm")
_DETECTORS = ("isolation-forest", "neighbours", "root-neighbours", "mahalanobis")
_CLASSIFIERS = ("forest", "random-forest", "pu-logistic", "pu-svm")
_STEPWISE = ("svdd", "one-class", "pusvm", "s3vm")
_INF = float("inf")
_COST = "greater than 0 (at least 1e-100)"


class Setting(NamedTuple):
    """A setting: the models that have it (all if empty), its range, its name as an option.

    ``allowed`` says whether a number is in the range, ``words`` say what the range is.
    """

    machines: tuple[str, ...] = ()
    allowed: Callable[[float], bool] | None = None
    words: str = ""
    option: str = ""


def _positive(value):
    return 0 < value < _INF


def _cost(value):
    return 1e-100 <= value < _INF  # costs are divided by, and squared


def _share(value):
    return 0 < value < 1


SETTINGS = {
    "C": Setting((*_BALLS, "s3vm"), _cost, _COST, "--C"),
    "C_star": Setting(
        ("s3vm",), lambda value: value == 0 or _cost(value),
        "0 (unlabelled rows cost nothing) or greater (at least 1e-100)", "--C-star",
    ),
    "balance": Setting(("s3vm",), lambda value: abs(value) < _INF, "'labels', 'none' or a number"),
    "class_ratio": Setting(
        ("s3vm",), lambda value: isinstance(value, Real) and _share(value),
        "'estimate' or a number between 0 and 1",
    ),
    "n_bags": Setting(_ENSEMBLES, lambda value: value >= 1, "1 or more", "--bags"),
    "bag_size": Setting(
        ("svdd-ensemble",), lambda value: 1 <= value <= 4096, "between 1 and 4096"
    ),
    "trim": Setting(("svdd-ensemble",), lambda value: 0 <= value < 1, "from 0 to below 1"),
    "nu": Setting(
        ("svdd", "one-class"), lambda value: 1e-30 <= value <= 1,
        "greater than 0 (at least 1e-30) and at most 1",
    ),
    "slack": Setting(("svdd",)),
    "prior": Setting(
        ("pusvm", "pu-ensemble", *_CLASSIFIERS), _share,
        "'estimate' or a number between 0 and 1"
    ),
    "lam": Setting(("pusvm",), _positive, "'auto' or a number greater than 0"),
    "loss": Setting(("pusvm",)),
    "threshold": Setting(("pusvm",)),
    "target_fpr": Setting(
        (*_BALLS, "one-class", *_DETECTORS), _share, "'none' or a number between 0 and 1"
    ),
    "kernel": Setting(_MACHINES),
    "gamma": Setting(
        _MACHINES, lambda value: 0 <= value < _INF,
        "'scale', 'auto', with s3vm 'distance', with svdd-ensemble 'neighbors', or a number from "
        "0 on",
    ),
    "degree": Setting(_MACHINES, lambda value: value >= 0, "0 or more"),
    "tol": Setting(_MACHINES, _positive, "greater than 0"),
    "max_iter": Setting(_STEPWISE, lambda value: value >= -1, "-1 (no limit) or more"),
    "max_time": Setting((*_STEPWISE, "svdd-ensemble"), _positive, "greater than 0"),
    "cache_size": Setting((*_STEPWISE, "pu-ensemble"), _positive, "greater than 0"),
    "coef0": Setting(_MACHINES, lambda value: abs(value) < _INF, "a finite number"),
    "n_jobs": Setting(
        (), lambda value: value != 0, "a number of threads, or -1 for all cores"
    ),
    "random_state": Setting(
        (), lambda value: 0 <= value < 2**32, "between 0 and 4294967295", "--seed"
    ),
}  # fmt: skip
# What is no parameter of a machine.
_OTHERS = {
    "time_budget": Setting(
        (), lambda value: 0 <= value < _INF, "0 (settings as given) or a number of seconds"
    ),
    "text_weight": Setting((), _positive, "greater than 0 (--drop COLUMN leaves texts out)"),
    "confidence": Setting((), _share, "between 0 and 1"),
    "pos_label": Setting(option="--positive"),
}
_ALL = {**SETTINGS, **_OTHERS}


def option(name):
    """Option on the command line of a setting."""
    known = _ALL.get(name)
    return known.option if known and known.option else "--" + name.replace("_", "-")


def known_names():
    """Arguments of estimators and functions that are options too."""
    return _ALL.keys()


def check_ranges(given):
    """Refuse numbers outside the ranges of their settings; None and texts are passed over."""
    for name, value in given.items():
        setting = _ALL.get(name)
        if value is None or isinstance(value, str) or not (setting and setting.allowed):
            continue
        if not setting.allowed(value):
            raise UserError(
                f"{option(name)} {value:g} is out of range; it must be {setting.words}."
            )
