"""Which model, from what the labels of a file say."""

from ...io.errors import UserError, listing, quoted
from ...options.words import ref
from ...tasks.machines import MACHINES, TASKS, machine_class, machines_for, task_of
from .. import tasks
from ..tasks import Choice, Situation
from ..tasks.one_class import FEWEST

# What to do where no machine fits: with two classes in all rows, and with more.
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
_COUNTED = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}


def check_options(machine, target, normal, positive, unlabeled=None):
    """Refuse options that contradict each other, before a file is read."""
    given = {"normal": normal, "positive": positive, "unlabeled": unlabeled}
    for name, value in given.items():
        if value is None:
            continue
        if target is None:
            raise UserError(
                f"{ref(name, text=value)} is a value of the target column; pass that column as "
                f"{ref('target')}."
            )
        if machine is not None and name not in task_of(machine).options:
            takers = [task for task in TASKS if name in task.options]
            machines = tuple(machines_for(*takers))
            raise UserError(
                f"{ref(name)} needs {ref('machine', machines)}, but the model is {machine}; omit "
                "one of the options."
            )
    if normal is not None and positive is not None:
        raise UserError(
            f"{ref('normal')} is for one-class models and {ref('positive')} for positive and "
            "unlabelled rows; pass one of them."
        )
    if normal is not None and unlabeled is not None:
        raise UserError(
            f"{ref('normal')} trains on one class only, without unlabelled rows; omit "
            f"{ref('unlabeled')}."
        )
    if machine is None or target is not None:
        return
    task = task_of(machine)
    if task.takes_labels:
        raise UserError(
            f"{ref('machine', machine)} needs {task.rows}; pass the column that distinguishes "
            f"them as {ref('target')}."
        )


def choose_machine(
    labels, *, n_rows=FEWEST, machine=None, normal=None, positive=None, clean=None,
    given=None, rows=None, time_budget=0.0,
):  # fmt: skip
    """Choose a model: as the user said, else as the labels (None without a target) say.

    Which one for rows of one class: by what is known of them, and by the settings ``given``. Which
    one for positive and unlabelled rows: by its seconds, and whether the model holds its ``rows``.
    """
    if machine is not None:
        return Choice(machine, f"set with {ref('machine')}")
    n_known = n_rows if labels is None else labels.counts[0] if labels.counts else 0
    if normal is not None or positive is not None:
        name, value = ("normal", normal) if positive is None else ("positive", positive)
        task = next(task for task in TASKS if task.key == name)
        why = f"{ref(name)} selects the class {quoted(value)}"
        n_known = labels.counts[labels.find(value, name)]
    elif labels is None:
        task = next(task for task in TASKS if not task.takes_labels)
        why = f"without {ref('target')}, all rows count as one class"
    else:
        task = next((task for task in TASKS if task.suits(labels.counts, labels.n_blank)), None)
        if task is None:
            raise _no_task(labels)
        why = _why(labels)
    n_rows = n_rows if labels is None else len(labels.index)
    situation = Situation(n_known, n_rows, given or {}, clean, rows, time_budget)
    return task.part(tasks.__name__).choose(why, situation)


def _no_task(labels):
    """The error about labels that no task suits."""
    if not labels.names:
        return UserError(
            f"{labels.where} is blank in every row; label some rows, or omit {ref('target')} to "
            "treat all rows as one class."
        )
    blanks = f" and {labels.n_blank} blanks" if labels.n_blank else ""
    advice = TOO_MANY if labels.n_blank and len(labels.names) > 2 else ONE_OF_MANY
    if len(labels.names) == 2:
        from ...io.tables.target import greater_value

        greater = greater_value(labels)
        other = f"{ref('positive', some='VALUE')} if the other value"
        if greater is not None:
            other = f"{ref('machine', 'pusvm')} if {quoted(labels.names[1 - greater])}"
        advice = ONE_OF_TWO.format(unlabeled=other)
    return UserError(
        f"{labels.where} has {len(labels.names)} values: {labels.shown()}{blanks}; {advice}."
    )


def keeps_rows(choice, asked):
    """Whether the model will hold its training rows."""
    if asked and not hasattr(machine_class(choice.machine), "partial_fit"):
        raise UserError(
            f"{ref('rows', True)} stores rows for 'fewlabels update', which can't update "
            f"{choice.machine} models; omit the option."
        )
    return MACHINES[choice.machine].keeps_rows if asked is None else asked


def _why(labels):
    n = len(labels.names)
    names = " and ".join(quoted(name) for name in sorted(labels.names))
    if n > 2:
        names = listing(sorted(labels.names), 5)
    classes = f"{_COUNTED.get(n, n)} class{'es' * (n > 1)}, {names},"
    if not labels.n_blank:
        return f"{quoted(labels.column)} holds {classes} in all rows"
    marked = f"{quoted(labels.mark)} in the others" if labels.mark else "blanks"
    return f"{quoted(labels.column)} holds {classes} and {marked}"
