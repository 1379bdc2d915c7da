"""Settings of a model: chosen from the data, or as they were given, and why."""

from typing import NamedTuple

from sklearn.base import BaseEstimator

from ...io.errors import UserError
from ...options.words import ref
from ...tasks.machines import MACHINES, machines_with, task_of
from ..tasks import scored, steps_of
from ..tasks.one_class import of_every_bag

# What a search would choose, and what is shown of the settings, in this order.
CHOSEN = ("kernel", "gamma", "C", "C_star", "nu", "lam", "trim")


class SearchPlan(NamedTuple):
    """Seconds for the choice of settings (0: none is made, and why not).

    ``seconds_in_all`` are for the fit and the probabilities too; a fit of all rows is ``expected``
    to take so many. ``contaminated``: whether rows of
    one class may hold others; ``settings`` that follow from it where none are chosen.
    """

    seconds: float
    why_not: str = ""
    seconds_in_all: float | None = None
    contaminated: bool = True
    settings: dict = {}  # noqa: RUF012
    expected: float = 0.0


def plan_search(machine, given, time_budget, clean):
    """Decide whether settings are searched for; those given end the search."""
    if clean and "clean" not in task_of(machine).options:
        raise UserError(
            f"{ref('clean', True)} is for one-class models, but the model is {machine}; omit the "
            "option."
        )
    if MACHINES[machine].is_baseline:
        if clean:
            raise UserError(
                f"{ref('clean', True)} affects the choice of settings, and {machine} has none; "
                "omit one of the options."
            )
        return SearchPlan(0.0, "defaults")
    fixed = [ref(name) for name in CHOSEN if given.get(name) is not None]
    if fixed:
        search = SearchPlan(0.0, f"set with {' and '.join(fixed)}, otherwise defaults")
    elif not time_budget:
        search = SearchPlan(0.0, f"defaults ({ref('time_budget', 0)})")
    else:
        return SearchPlan(time_budget, contaminated=not clean)
    if clean and machine in machines_with("trim") and given.get("trim") is None:
        return search._replace(contaminated=False, settings={"trim": 0.0})
    if clean:
        raise UserError(
            f"{ref('clean', True)} affects the choice of settings, but they are {search.why_not}; "
            "omit one of the options."
        )
    return search


def odd_rows(machine, estimator, clean):
    """What becomes of anomalies among rows of one class, and how to say otherwise; or None."""
    if "clean" not in task_of(machine).options:
        return None
    of_bags = hasattr(estimator, "trim")
    trim = estimator.trim if of_bags else 0.0
    if hasattr(estimator, "tuning_"):
        from ...model_selection.tuning.result import trim_of  # slow to import

        trim = trim or trim_of(estimator)
    if not trim:
        known = f"none ({ref('clean', True)}); " if clean else ""
        return f"{known}all rows are used for training"
    if of_bags:
        left_out = of_every_bag(trim)
    else:
        left_out = f"the most distant {100 * trim:g} % are dropped from training"
    advice = "" if clean is False else f"; pass {ref('clean', True)} if all rows are normal"
    return f"possible: {left_out}{advice}"


def tuning_facts(tuning):
    """What a model keeps of the search, plain values only."""
    if tuning is None:
        return None
    return {
        "chosen": {name: _plain(value) for name, value in tuning.chosen.items()},
        "reason": tuning.reason,
        "candidates": len(tuning.candidates),
        "scored": len(scored(tuning)),
        "fits": tuning.fits,
        "seconds": tuning.seconds,
        "stopped": tuning.stopped,
        "unlabeled_rows": tuning.unlabeled_rows and tuning.unlabeled_rows._asdict(),
    }


def why_settings(machine, estimator, tuning, search, names=None):
    """One line: the settings and where they are from; ``names`` of classes."""
    parameters = estimator.get_params()
    # What "scale", "distance" and "auto" came to.
    parameters |= {
        name: getattr(estimator, f"{name}_", None) or parameters.get(name)
        for name in ("gamma", "lam")
    }
    parameters["kernel"] = getattr(estimator, "kernel_", parameters.get("kernel"))
    if parameters.get("kernel") == "linear":
        parameters.pop("gamma")
    if hasattr(estimator, "cost_name"):
        # Of two parameters that set the same cost, the one in use.
        unused = {"C", "nu"} - {estimator.cost_name}
        parameters = {name: value for name, value in parameters.items() if name not in unused}
    shown = [
        f"{name} {_number(parameters[name])}"
        for name in CHOSEN
        if parameters.get(name) is not None and (name, parameters[name]) != ("kernel", "rbf")
    ]
    source = search.why_not if tuning is None else steps_of(machine).why_tuned(tuning)
    if parameters.get("C_star") == 0 and "C_star" in parameters:
        shown = [one for one in shown if not one.startswith("C_star ")]
        shown.append("trained on the labelled rows only (C_star 0)")
    words = ": ".join(filter(None, [", ".join(shown), source]))
    return words + _class_ratio_words(estimator, names) + _unlabeled_words(tuning)


def _class_ratio_words(estimator, names):
    """The class ratio that a model of classes was given or has estimated."""
    shares = getattr(estimator, "class_ratio_", None)
    if shares is None:
        return ""
    ends = estimator.class_ratio_interval_
    each = [
        f"{100 * share:.0f} % {name}"
        for name, share in zip(names or estimator.classes_, shares, strict=True)
    ]
    if ends is None:
        return f"; class ratio of unlabelled rows as given: {', '.join(each)}"
    each = [
        f"{one} ({100 * low:.0f} to {100 * high:.0f})"
        for one, (low, high) in zip(each, ends, strict=True)
    ]
    return f"; estimated class ratio of unlabelled rows, with 90 % CIs: {', '.join(each)}"


def _unlabeled_words(tuning):
    """What unlabelled rows change, if that was compared."""
    change = tuning and tuning.unlabeled_rows
    if not change:
        return ""
    clear = change.low > 0.0 or change.high < 0.0
    used = "used" if change.used else "left out"
    why = "" if clear else ", as it isn't clear whether they help"
    return (
        f"; unlabelled rows are {used}{why}: with them, held-out accuracy changes by "
        f"{change.gain:+.3f} (95 % CI {change.low:+.3f} to {change.high:+.3f})"
    )


def _number(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value):
    if isinstance(value, BaseEstimator):  # a kernel with settings of its own
        return str(value)
    return value if isinstance(value, str | int | float | bool) else float(value)
