"""The method that is fitted: as the user says, or as the labels show."""

from __future__ import annotations

from ..._util.messages import UserError, listing, quoted, ref
from ...base.task import Task
from ...tables.columns.target import Labels, find_greater_value, refuse_misspelt
from ...tasks import TASKS
from ..options.fit import FitOptions
from ..tasks import Choice
from ..tasks.one_class import FEWEST
from ..tasks.steps import steps_of

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


def choose_method(
    labels: Labels | None,
    options: FitOptions,
    *,
    n_rows: int = FEWEST,
    seconds: float | None = 0.0,
) -> Choice:
    """Choose a model: as the user said, else as the labels (None without a target) say.

    Which one for rows of one class: by what is known of them, and by the settings that were given.
    Which one for positive and unlabelled rows: by how long it takes, compared with the ``seconds``
    for all (None if an ensemble has turned out to take too long), and whether the model holds its
    rows.
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
