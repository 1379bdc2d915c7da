"""Which model, from what the labels of a file say."""

from typing import NamedTuple

from ...io.errors import UserError, listing, quoted
from ...io.models.machines import MACHINES, machine_class, machines_from
from ..settings import option

# Number of classes in the target and whether there are blanks.
BY_LABELS = {(1, False): "normal", (1, True): "positive", (2, True): "s3vm"}
# Settings that speak of one ball around all rows.
OF_ONE_BALL = ("C", "nu", "slack", "kernel", "gamma", "degree", "coef0", "max_iter", "cache_size")
# Fewer rows are not split into bags.
_FEWEST = 40
_OF_PUSVM = {"lam", "loss", "threshold", "max_iter", "max_time", "kernel", "coef0"}
# Share of the time budget that a fit of an ensemble may take.
_A_FIT = 0.1
OF_BAGS = ("n_bags", "bag_size", "trim")
# What to do where no machine fits: with two classes in all rows, and with more.
ONE_OF_TWO = (
    "pass {unlabeled} marks rows of unknown class, or --normal VALUE to learn one class alone "
    "(two known classes in all rows are a task for a classifier, such as scikit-learn's SVC; add "
    "rows with a blank target for an s3vm, which learns from them too)"
)
ONE_OF_MANY = (
    "pass --normal VALUE for the normal class, or --unlabeled VALUE if a value marks unlabelled "
    "rows"
)
# Where there are so many that they are hardly classes.
FEWER = f"{ONE_OF_MANY} (classes need at least two rows per value)"
# The machines for positives and a pile that are most like those for classes.
_FOR_A_PILE = {"logistic": "pu-logistic", "svm": "pu-svm"}
_COUNTED = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}


class Choice(NamedTuple):
    """A model and why it is this one."""

    machine: str
    why: str


def check_options(machine, target, normal, positive, unlabeled=None):
    """Refuse options that contradict each other, before a file is read."""
    if machine is not None and machine not in MACHINES:
        raise UserError(f"Unknown --machine {quoted(machine)}; choose {listing(MACHINES)}.")
    for name, value, *learns_from in (
        ("--normal", normal, "normal"),
        ("--positive", positive, "positive"),
        ("--unlabeled", unlabeled, "positive", "classes"),
    ):
        if value is None:
            continue
        if target is None:
            raise UserError(
                f"{name} {quoted(value)} is a value of the target column; pass that column as "
                "--target."
            )
        if machine is not None and MACHINES[machine].learns_from not in learns_from:
            machines = " or ".join(machines_from(*learns_from))
            raise UserError(
                f"{name} needs --machine {machines}, but the model is {machine}; omit one of the "
                "options."
            )
    if normal is not None and positive is not None:
        raise UserError(
            "--normal is for one-class models and --positive for positive and unlabelled rows; "
            "pass one of them."
        )
    if normal is not None and unlabeled is not None:
        raise UserError(
            "--normal trains on one class only, without unlabelled rows; omit --unlabeled."
        )
    if machine is None or target is not None:
        return
    rows = {
        "positive": "positive and unlabelled rows",
        "classes": "two or more classes and other rows",
    }
    if MACHINES[machine].learns_from in rows:
        raise UserError(
            f"--machine {machine} needs {rows[MACHINES[machine].learns_from]}; pass the column "
            "that distinguishes them as --target."
        )


def choose_machine(
    labels, *, n_rows=_FEWEST, machine=None, normal=None, positive=None, clean=None, given=(),
    rows=None, time_budget=0.0,
):  # fmt: skip
    """Choose a model: as the user said, else as the labels (None without a target) say.

    Which one for rows of one class: by what is known of them, and by the settings ``given``. Which
    one for positive and unlabelled rows: by its seconds, and whether the model holds its ``rows``.
    """
    if machine is not None:
        return Choice(machine, "set with --machine")
    if normal is not None:
        why = f"--normal selects the class {quoted(normal)}"
        n_rows = labels.counts[labels.find(normal, "normal")]
        return _of_normal(why, n_rows, clean, given, time_budget > 0)
    if positive is not None:
        why = f"--positive selects the class {quoted(positive)}"
        return _of_positive(why, labels, positive, given, rows, time_budget)
    if labels is None:
        why = "without --target, all rows count as one class"
        return _of_normal(why, n_rows, clean, given, time_budget > 0)
    situation = len(labels.names), labels.n_blank > 0
    if BY_LABELS.get(situation) == "normal":
        return _of_normal(_why(labels), labels.counts[0], clean, given, time_budget > 0)
    if BY_LABELS.get(situation) == "positive":
        return _of_positive(_why(labels), labels, labels.names[0], given, rows, time_budget)
    if situation in BY_LABELS:
        return Choice(BY_LABELS[situation], _why(labels))
    if len(labels.names) > 2 and labels.n_blank and sum(labels.counts) >= 2 * len(labels.names):
        return Choice("s3vm", _why(labels))
    if not labels.names:
        raise UserError(
            f"{labels.where} is blank in every row; label some rows, or omit --target to treat "
            "all rows as one class."
        )
    blanks = f" and {labels.n_blank} blanks" if labels.n_blank else ""
    advice = FEWER if labels.n_blank and len(labels.names) > 2 else ONE_OF_MANY
    if len(labels.names) == 2:
        from ...io.tables.target import greater_value

        greater = greater_value(labels)
        other = "--positive VALUE if the other value"
        if greater is not None:
            other = f"--machine pusvm if {quoted(labels.names[1 - greater])}"
        advice = ONE_OF_TWO.format(unlabeled=other)
    raise UserError(
        f"{labels.where} has {len(labels.names)} values: {labels.shown()}{blanks}; {advice}."
    )


def _of_normal(why, n_rows, clean, given, is_tuned):
    """One ball for rows known to be normal, where it does better, and bags for others."""
    given = {name: value for name, value in dict(given).items() if value is not None}
    if n_rows < _FEWEST and not given.keys() & set(OF_BAGS):
        return Choice("svdd", f"{why}; {n_rows} rows are too few for an ensemble")
    said = [option(name) for name in OF_ONE_BALL if name in given]
    if given.get("target_fpr") == "none":
        said.append("--target-fpr none")
    if said and not given.keys() & set(OF_BAGS):
        return Choice("svdd", f"{why}; a single model, because {said[0]} is given")
    if clean and is_tuned and not given.keys() & set(OF_BAGS):
        return Choice("svdd", f"{why}; no anomalies (--clean)")
    return Choice("svdd-ensemble", why)


def _of_positive(why, labels, positive, given, rows, time_budget):
    """The ensemble, where its fit takes a small part of the time."""
    given = {name for name, value in dict(given).items() if value is not None}
    if "n_bags" in given:
        return Choice("pu-ensemble", why)
    n_rows, n_positive = len(labels.index), labels.counts[labels.find(positive, "positive")]
    seconds = max(1.0, 4e-4 * n_rows + 4e-9 * n_rows**2 + 1e-5 * n_positive**2)
    if rows or given & _OF_PUSVM or seconds > _A_FIT * time_budget:
        return Choice("pusvm", why)
    return Choice("pu-ensemble", f"{why} (no updates: --rows for a pusvm)")


def choose_roles(file, machine, normal=None, positive=None):
    """Which rows of the file the model learns from, and as what."""
    # The command line reads this file for its options, and takes no time for numpy.
    from ...io.tables import target as rows_of

    if MACHINES[machine].learns_from == "positive":
        return rows_of.positive_rows(file.labels, positive)
    if MACHINES[machine].learns_from == "classes":
        return rows_of.class_rows(file.labels, _FOR_A_PILE.get(machine, "pu-ensemble"))
    if file.labels is None:
        return rows_of.every_row(file.n_rows)
    return rows_of.normal_rows(file.labels, normal)


def keeps_rows(choice, asked):
    """Whether the model will hold its training rows."""
    if asked and not hasattr(machine_class(choice.machine), "partial_fit"):
        raise UserError(
            f"--rows stores rows for 'fewlabels update', which can't update {choice.machine} "
            "models; omit the option."
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
