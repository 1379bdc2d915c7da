"""Which model, from what the labels of a file say."""

from ...io.errors import UserError, listing, quoted
from ...options.words import ref
from ...tasks.classification import CLASSIFICATION
from ...tasks.machines import MACHINES, TASKS, machine_class, machines_for, task_of
from ...tasks.one_class import ONE_CLASS
from ...tasks.positive_unlabelled import POSITIVE_UNLABELLED
from ..tasks import classification, one_class, positive_unlabelled, steps_of
from ..tasks.values import Choice

# Number of classes in the target and whether there are blanks.
BY_LABELS = {(1, False): ONE_CLASS, (1, True): POSITIVE_UNLABELLED, (2, True): CLASSIFICATION}
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
FEWER = f"{ONE_OF_MANY} (classes need at least two rows per value)"
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
            tasks = [task for task in TASKS if name in task.options]
            machines = tuple(machines_for(*tasks))
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
    if task.needs_target:
        raise UserError(
            f"{ref('machine', machine)} needs {task.rows}; pass the column that distinguishes "
            f"them as {ref('target')}."
        )


def choose_machine(
    labels, *, n_rows=one_class.FEWEST, machine=None, normal=None, positive=None, clean=None,
    given=(), rows=None, time_budget=0.0,
):  # fmt: skip
    """Choose a model: as the user said, else as the labels (None without a target) say.

    Which one for rows of one class: by what is known of them, and by the settings ``given``. Which
    one for positive and unlabelled rows: by its seconds, and whether the model holds its ``rows``.
    """
    if machine is not None:
        return Choice(machine, f"set with {ref('machine')}")
    if normal is not None:
        why = f"{ref('normal')} selects the class {quoted(normal)}"
        n_rows = labels.counts[labels.find(normal, "normal")]
        return one_class.choose(why, n_rows, clean, given, time_budget > 0)
    if positive is not None:
        why = f"{ref('positive')} selects the class {quoted(positive)}"
        return positive_unlabelled.choose(why, labels, positive, given, rows, time_budget)
    if labels is None:
        why = f"without {ref('target')}, all rows count as one class"
        return one_class.choose(why, n_rows, clean, given, time_budget > 0)
    situation = len(labels.names), labels.n_blank > 0
    if BY_LABELS.get(situation) is ONE_CLASS:
        return one_class.choose(_why(labels), labels.counts[0], clean, given, time_budget > 0)
    if BY_LABELS.get(situation) is POSITIVE_UNLABELLED:
        return positive_unlabelled.choose(
            _why(labels), labels, labels.names[0], given, rows, time_budget
        )
    several = len(labels.names) > 2 and labels.n_blank > 0
    if situation in BY_LABELS or (several and sum(labels.counts) >= 2 * len(labels.names)):
        return classification.choose(_why(labels))
    if not labels.names:
        raise UserError(
            f"{labels.where} is blank in every row; label some rows, or omit {ref('target')} to "
            "treat all rows as one class."
        )
    blanks = f" and {labels.n_blank} blanks" if labels.n_blank else ""
    advice = FEWER if labels.n_blank and len(labels.names) > 2 else ONE_OF_MANY
    if len(labels.names) == 2:
        from ...io.tables.target import greater_value

        greater = greater_value(labels)
        other = f"{ref('positive', some='VALUE')} if the other value"
        if greater is not None:
            other = f"{ref('machine', 'pusvm')} if {quoted(labels.names[1 - greater])}"
        advice = ONE_OF_TWO.format(unlabeled=other)
    raise UserError(
        f"{labels.where} has {len(labels.names)} values: {labels.shown()}{blanks}; {advice}."
    )


def choose_roles(file, machine, options):
    """Which rows of the file the machine learns from, and as what."""
    return steps_of(machine).roles(file, machine, options)


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
