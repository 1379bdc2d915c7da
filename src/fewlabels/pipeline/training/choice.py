"""Which model is fitted, with which parameters, and whether settings are searched for."""

import dataclasses
import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..._typing import RowMatrix
from ..._util.messages import UserError, listing, quoted, ref
from ..._util.option import refuse_unknown
from ...base.task import Task
from ...kernels.rows import row_keys
from ...tables.answers.file import read_answers
from ...tables.columns.target import Labels, find_greater_value, refuse_misspelt
from ...tasks import METHODS, TASKS, estimator_class, list_methods_for, list_methods_with, task_of
from ..options.fit import ONE_CLASS_NU, TARGET_FPR, FitOptions
from ..tasks import Choice
from ..tasks.one_class import FEWEST
from ..tasks.steps import steps_of

# What a search would choose, and what is shown of the settings, in this order.
CHOSEN = ("kernel", "gamma", "C", "C_star", "nu", "lam", "trim")

# What to do where no model fits: with two classes in all rows, and with more.
ONE_OF_TWO = (
    f"pass {{unlabeled}} marks rows of unknown class, or {ref('normal', some='VALUE')} to learn "
    "one class alone (two known classes in all rows are a task for a classifier, such as "
    "scikit-learn's SVC; add rows with a blank target for an s3vm, which learns from them too)"
)
ONE_OF_MANY = (
    f"pass {ref('normal', some='VALUE')} for the normal class, or "
    f"{ref('unlabeled', some='VALUE')} if a value marks unlabelled rows"
)
# Where there are so many that they are hardly classes.
TOO_MANY = f"{ONE_OF_MANY} (classes need at least two rows per value)"
# Numbers that messages write as words.
_NUMBER_WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}
# Rows that are compared first to see whether enough of them differ.
_FIRST_COMPARED_ROWS = 1000


def parse_options(given: dict[str, Any]) -> FitOptions:
    """Return the options that were given by name, as far as they don't contradict each other.

    This is checked before anything is read.
    """
    refuse_unknown(FitOptions, given)
    options = _with_candidates(_with_label_file(FitOptions(**given)))
    _check_method(options)
    if options.prior_convention is not None and not isinstance(options.prior, Real):
        raise UserError(
            f"{ref('prior_convention')} says what {ref('prior', some='SHARE')} is a share of; "
            f"pass {ref('prior', some='SHARE')} as well, or omit the option."
        )
    if options.propensity is not None and options.selection_depends_on:
        raise UserError(
            f"{ref('propensity')} and {ref('selection_depends_on')} are two sources of the same "
            "numbers; pass one of them."
        )
    if options.propensity is not None and options.propensity == options.target:
        raise UserError(f"{ref('propensity')} and {ref('target')} name the same column.")
    return options


def check_streamable(options: FitOptions) -> None:
    """Refuse options that need the rows in memory."""
    needs = {
        ref(options.weighing or "propensity"): options.weighing is not None,
        ref("prior_convention", "pooled"): options.prior_convention == "pooled",
        ref("rows", True): bool(options.rows),
        ref("groups"): options.groups is not None,
    }
    for name, is_given in needs.items():
        if is_given:
            raise UserError(
                f"{name} needs rows in memory, but this table is read in pieces; pass fewer rows, "
                f"or a larger {ref('memory', some='SIZE')}, or omit the option."
            )


def _with_label_file(options: FitOptions) -> FitOptions:
    """Return the same, with the target of a file of labels, if there is one."""
    if options.labels is None:
        return options
    labels = read_answers(options.labels)
    target = labels.about["target"]
    if options.target not in (None, target):
        raise UserError(
            f"{options.labels} holds labels of the column '{target}', not of '{options.target}'; "
            f"omit {ref('target')}."
        )
    return dataclasses.replace(options, target=target, labels=labels)  # all steps take these


def _with_candidates(options: FitOptions) -> FitOptions:
    """Return the same with estimators for candidates, which need a comparison."""
    if not options.candidates:
        return options
    if options.baselines is False:
        raise UserError(
            f"{ref('candidates')} enters a comparison, and {ref('baselines', False)} skips it; "
            "omit one of the options."
        )
    from ...baselines.candidates import read_candidates  # slow to import

    candidates = read_candidates(options.candidates)
    return dataclasses.replace(options, candidates=candidates, baselines=True)


def _check_method(options: FitOptions) -> None:
    """Refuse a method, a target and classes that contradict each other."""
    method, normal = options.method, options.normal
    for name in ("normal", "positive", "unlabeled"):
        value = getattr(options, name)
        if value is None:
            continue
        if options.target is None:
            raise UserError(
                f"{ref(name, text=value)} is a value of the target column; pass that column as "
                f"{ref('target')}."
            )
        if method is not None and name not in task_of(method).options:
            takers = [task for task in TASKS if name in task.options]
            machines = tuple(list_methods_for(*takers))
            raise UserError(
                f"{ref(name)} needs {ref('method', machines)}, but the model is {method}; omit "
                "one of the options."
            )
    if normal is not None and options.positive is not None:
        raise UserError(
            f"{ref('normal')} is for one-class models and {ref('positive')} for positive and "
            "unlabelled rows; pass one of them."
        )
    if normal is not None and options.unlabeled is not None:
        raise UserError(
            f"{ref('normal')} trains on one class only, without unlabelled rows; omit "
            f"{ref('unlabeled')}."
        )
    if method is None or options.target is not None:
        return
    task = task_of(method)
    if task.takes_labels:
        raise UserError(
            f"{ref('method', method)} needs {task.rows}; pass the column that distinguishes "
            f"them as {ref('target')}."
        )


def choose_method(
    labels: Labels | None, options: FitOptions, *, n_rows: int = FEWEST, seconds: float = 0.0
) -> Choice:
    """Choose a model: as the user said, else as the labels (None without a target) say.

    Which one for rows of one class: by what is known of them, and by the settings that were given.
    Which one for positive and unlabelled rows: by how long it takes, compared with the ``seconds``
    for all, and whether the model holds its rows.
    """
    if options.method is not None:
        return Choice(options.method, f"set with {ref('method')}")
    normal, positive = options.normal, options.positive
    n_known = n_rows if labels is None else labels.counts[0] if labels.counts else 0
    task: Task | None
    if labels is not None and (normal is not None or positive is not None):
        name, value = ("normal", normal) if positive is None else ("positive", positive)
        assert value is not None
        task = next(task for task in TASKS if task.key == name)
        why = f"{ref(name)} selects the class {quoted(value)}"
        n_known = labels.counts[labels.find(value, name)]
    elif labels is None:
        task = next(task for task in TASKS if not task.takes_labels)
        why = f"without {ref('target')}, all rows count as one class"
    else:
        refuse_misspelt(labels)
        task = next(
            (task for task in TASKS if task.is_suitable(labels.counts, labels.n_blank)), None
        )
        if task is None:
            raise _no_task_error(labels)
        why = _describe_labels(labels)
    n_rows = n_rows if labels is None else len(labels.index)
    return steps_of(task).choose(why, options, n_known, n_rows, seconds)


def _no_task_error(labels: Labels) -> UserError:
    """Return the error about labels that no task suits."""
    if not labels.names:
        return UserError(
            f"{labels.where} is blank in every row; label some rows, or omit {ref('target')} to "
            "treat all rows as one class."
        )
    blanks = f" and {labels.n_blank} blanks" if labels.n_blank else ""
    advice = TOO_MANY if labels.n_blank and len(labels.names) > 2 else ONE_OF_MANY
    if len(labels.names) == 2:
        greater = find_greater_value(labels)
        other = f"{ref('positive', some='VALUE')} if the other value"
        if greater is not None:
            other = f"{ref('method', 'pusvm')} if {quoted(labels.names[1 - greater])}"
        advice = ONE_OF_TWO.format(unlabeled=other)
    return UserError(
        f"{labels.where} has {len(labels.names)} values: {labels.list_values()}{blanks}; {advice}."
    )


def _describe_labels(labels: Labels) -> str:
    n = len(labels.names)
    names = " and ".join(quoted(name) for name in sorted(labels.names))
    if n > 2:
        names = listing(sorted(labels.names), 5)
    classes = f"{_NUMBER_WORDS.get(n, n)} class{'es' * (n > 1)}, {names},"
    if not labels.n_blank:
        return f"{quoted(labels.column)} holds {classes} in all rows"
    marked = f"{quoted(labels.mark)} in the others" if labels.mark else "blanks"
    return f"{quoted(labels.column)} holds {classes} and {marked}"


def keeps_rows(choice: Choice, asked: bool | None) -> bool:
    """Return whether the model will hold its training rows."""
    if asked and not hasattr(estimator_class(choice.method), "partial_fit"):
        raise UserError(
            f"{ref('rows', True)} stores rows for 'fewlabels update', which can't update "
            f"{choice.method} models; omit the option."
        )
    return METHODS[choice.method].keeps_rows if asked is None else asked


def collect_parameters(choice: Choice, given: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return parameters of the estimator from those given, and notes on them."""
    parameters, notes = dict(given), []
    for name in parameters:
        if choice.method not in (machines := list_methods_with(name)):
            raise UserError(
                f"{ref(name)} needs {ref('method', tuple(machines))}, but the model is "
                f"{choice.method} ({choice.why}); omit the option or pass another "
                f"{ref('method')}."
            )
    if parameters.get("kernel") == "trees" and not task_of(choice.method).takes_labels:
        raise UserError(
            f"{ref('kernel', 'trees')} needs {ref('method', 'pusvm')}, pu-ensemble or s3vm, but "
            f"the model is {choice.method} ({choice.why}); omit the option or pass another "
            "kernel."
        )
    method = METHODS[choice.method]
    if method.is_baseline:
        parameters.setdefault("method", choice.method)
    if method.probability is not None:
        parameters.setdefault("probability", method.probability)
    if choice.method == "one-class":
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
        if "slack" not in given:
            notes.append(f"{ref('nu')} was given, so slack is linear")
    return parameters, notes


def count_different_rows(X: RowMatrix) -> int:
    """Return how many rows of a matrix differ, counted up to what :data:`TARGET_FPR` needs."""
    enough = math.ceil(1.0 / TARGET_FPR) - 1
    for rows in (X[:_FIRST_COMPARED_ROWS], X):  # few tables need more than the first rows
        found = min(enough, len(np.unique(row_keys(rows))))
        if found == enough:
            break
    return found


def with_target_fpr(
    method: str,
    parameters: dict[str, Any],
    n_rows: int,
    searched: bool = False,
    n_different: int | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Return parameters with a rate of false alarms, for models that have a threshold for it.

    By default :data:`TARGET_FPR`, except where ``nu`` says itself how many rows may lie outside,
    and where there are too few rows to say what is rare, of which ``n_different`` differ. "none"
    means the model's own threshold. Gives notes too.
    """
    if method not in list_methods_with("target_fpr"):
        return parameters, []
    parameters, notes = dict(parameters), []
    asked = parameters.pop("target_fpr", None)
    has_own = estimator_class(method).has_own_threshold
    if asked == "none" and not has_own:
        raise UserError(
            f"{ref('target_fpr', 'none')} needs a model with its own threshold, and {method} has "
            f"none; pass a rate, or {ref('method', 'svdd')}."
        )
    if asked is None and "nu" in parameters:
        return parameters, []
    counted, rows = n_rows, "rows"
    if has_own and n_different is not None and n_different < n_rows:
        counted, rows = n_different, "different rows"
    if asked is None and counted + 1 < 1 / TARGET_FPR:
        if METHODS[method].is_baseline:
            raise UserError(
                f"{n_rows} rows are too few to calibrate a false alarm rate of "
                f"{100 * TARGET_FPR:g} %, which {method} needs; pass "
                f"{ref('target_fpr', some='RATE')}, more rows, or {ref('method', 'svdd')}."
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


class SearchPlan(NamedTuple):
    """Seconds for the choice of settings (0: none is made, and why not).

    ``total_seconds`` are for the fit and the probabilities too; a fit of all rows is ``expected``
    to take so many. ``contaminated``: whether rows of
    one class may hold others; ``settings`` that follow from it where none are chosen.
    """

    seconds: float
    why_not: str = ""
    total_seconds: float | None = None
    contaminated: bool = True
    settings: dict[str, Any] = {}  # noqa: RUF012
    expected: float = 0.0


def plan_search(choice: Choice, options: FitOptions) -> SearchPlan:
    """Decide whether settings are searched for; those given end the search."""
    method, given, clean = choice.method, options.parameters, options.clean
    if clean and "clean" not in task_of(method).options:
        raise UserError(
            f"{ref('clean', True)} is for one-class models, but the model is {method}; omit the "
            "option."
        )
    if METHODS[method].is_baseline:
        if clean:
            raise UserError(
                f"{ref('clean', True)} affects the choice of settings, and {method} has none; "
                "omit one of the options."
            )
        return SearchPlan(0.0, "defaults")
    fixed = [ref(name) for name in CHOSEN if name in given]
    if fixed:
        search = SearchPlan(0.0, f"set with {' and '.join(fixed)}, otherwise defaults")
    elif not options.time_budget:
        search = SearchPlan(0.0, f"defaults ({ref('time_budget', 0)})")
    else:
        return SearchPlan(options.time_budget, contaminated=not clean)
    if clean and method in list_methods_with("trim") and "trim" not in given:
        return search._replace(contaminated=False, settings={"trim": 0.0})
    if clean:
        raise UserError(
            f"{ref('clean', True)} affects the choice of settings, but they are {search.why_not}; "
            "omit one of the options."
        )
    return search
