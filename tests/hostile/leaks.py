"""Cases of columns that came with the labels, between columns that have to stay."""

import re

import numpy as np
import pandas as pd

from fewlabels import TableEncoder, fit_table
from fewlabels.labelling.rows import SessionRows
from fewlabels.pipeline.priors import prior
from fewlabels.tables.columns.target import (
    choose_class_rows,
    choose_normal_rows,
    choose_positive_rows,
)
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training
from fewlabels.tables.user_data import make_source

from .verdict import require

_BLAMED = re.compile(r"'([^']*)' \([^)]*seems to come with the label\)")
_NAMES = np.array(["anna", "bob", "carla", "dmitri"])


# -- columns that have to stay: their cells depend on the class, not on whether it is known -------


def _numbers(rng, side):
    return np.round(rng.normal(size=len(side)) + rng.normal() * side, 3)


def _counts(rng, side):
    """Mostly 0, perhaps in one class alone."""
    rate = rng.choice([0.0, 0.02, 0.3, 2.0], 2)
    return rng.poisson(rate[side] + 1e-3).astype(float)


def _flag(rng, side):
    """Yes or no, perhaps without an error."""
    share = rng.choice([0.0, 0.01, 0.5, 0.97, 1.0], 2)
    return (rng.random(len(side)) < share[side]).astype(float)


def _categories(rng, side):
    several = int(rng.choice([3, 8, 40]))
    share = rng.dirichlet(np.full(several, rng.choice([0.2, 1.0])), 2)
    drawn = np.array([rng.choice(several, p=share[k]) for k in side])
    return np.array([f"kind {k}" for k in drawn], dtype=object)


def _tail(rng, side):
    """Hundreds of categories, most of them rare."""
    drawn = np.minimum(rng.zipf(1.5, len(side)), 400)
    return np.array([f"code {k}" for k in drawn], dtype=object)


def _blanks(rng, side):
    """Blank in a share of each class."""
    share = rng.choice([0.0, 0.1, 0.6, 0.95, 1.0], 2)
    return np.where(rng.random(len(side)) < share[side], "", _numbers(rng, side).astype(str))


def _blanks_of_a_kind(rng, side):
    """Blank where another quantity, which follows the class, is small."""
    other = rng.normal(size=len(side)) + rng.normal() * side
    return np.where(other < rng.normal(), "", _categories(rng, side))


HONEST = [_numbers, _counts, _flag, _categories, _tail, _blanks, _blanks_of_a_kind]


# -- columns that came with the labels: their cells depend on whether there is one ----------------


def _reviewer(rng, side, known):
    return np.where(known, rng.choice(_NAMES, len(side)), "")


def _reviewer_or_queue(rng, side, known):
    """Two reviewers and two queues, so that no cell is blank."""
    queues = rng.choice(["queue 1", "queue 2"], len(side))
    return np.where(known, rng.choice(_NAMES[:2], len(side)), queues)


def _copy(rng, side, known):
    mark = str(rng.choice(["", "pending", "none", "n/a", "0", "not yet"]))
    return np.where(known, np.where(side == 1, "fraud case", "fine"), mark)


def _minutes(rng, side, known):
    mark = rng.choice([0.0, -1.0, np.nan])
    return np.where(known, np.round(rng.gamma(3.0, 10.0, len(side)) + 30.0 * side + 1, 1), mark)


def _comment(rng, side, known):
    words = np.array(["the customer paid late", "all is as it should be", "sent to the lawyers"])
    return np.where(known, rng.choice(words, len(side)), rng.choice(["", "-"]))


def _day(rng, side, known):
    """How long ago the case was closed; where there is no label, in any of two ways of no."""
    no = rng.choice(["", "open"], len(side))
    return np.where(known, rng.integers(1, 30, len(side)).astype(str), no)


def _of_labelled_alone(rng, side, known):
    """Blank in 60 % of the unlabelled rows, and in no labelled one."""
    return np.where(known | (rng.random(len(side)) < 0.4), _numbers(rng, side).astype(str), "")


LEAKS = [_reviewer, _reviewer_or_queue, _copy, _minutes, _comment, _day]
# How labels are given: the rows that have one, given classes and the random generator.
TASKS = ("few labels", "few labels of each class", "positives", "normal rows and anomalies")


class Case:
    """A table with columns of both kinds, and something that learns from it."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([13, 8, seed])
        self.task = str(rng.choice(TASKS))
        self.n = int(rng.choice([300, 1000]))
        self.n_labels = int(rng.choice([12, 20, 40, 100]))
        self.share = float(rng.choice([0.1, 0.3, 0.5]))
        self.leaks = [LEAKS[k] for k in rng.permutation(len(LEAKS))[: rng.integers(0, 4)]]
        # Rows of each class say whether the class is blank so often; few of them can't.
        several = self.task == "few labels of each class" and self.n_labels >= 40
        if several and self.share * self.n >= 60 and rng.random() < 0.5:
            self.leaks.append(_of_labelled_alone)
        self.honest = [HONEST[k] for k in rng.integers(0, len(HONEST), 5)]
        self.by = str(rng.choice(["reading"] * 24 + ["fit", "prior", "label", "encoder"]))
        self.keeps = bool(self.leaks) and rng.random() < 0.2

    def describe(self):
        leaks = ", ".join(make.__name__.strip("_") for make in self.leaks) or "no leak"
        return f"{self.by}, {self.task}, {self.n_labels} of {self.n} rows: {leaks}"

    def labelled(self, side):
        """Which rows have labels."""
        rng, n_labels = self.rng, self.n_labels
        places = rng.permutation(len(side))
        known = np.zeros(len(side), bool)
        if self.task == "positives":
            own = places[side[places] == 1]
            known[own[: min(n_labels, len(own) // 2)]] = True
        elif self.task == "few labels":
            known[places[:n_labels]] = True
            known[[np.argmax(side), np.argmin(side)]] = True
        else:
            few = n_labels // 2 if self.task.startswith("few") else 5
            for k, size in ((1, few), (0, n_labels - few)):
                own = places[side[places] == k]
                known[own[: min(size, len(own) // 2)]] = True
        return known

    def table(self):
        """The table, and the names of columns that came with the labels."""
        rng = self.rng
        side = (rng.random(self.n) < self.share).astype(int)
        known = self.labelled(side)
        columns = {"size": _numbers(rng, side)}
        columns |= {f"own {k}": make(rng, side) for k, make in enumerate(self.honest)}
        columns |= {f"late {k}": make(rng, side, known) for k, make in enumerate(self.leaks)}
        names = list(columns)
        frame = pd.DataFrame({names[k]: columns[names[k]] for k in rng.permutation(len(names))})
        classes = np.where(side == 1, "bad", "good")
        frame["class"] = np.where(known, classes, "")
        return frame, [name for name in names if name.startswith("late")]

    def __call__(self):
        frame, late = self.table()
        # Numbers with some texts among them ("open", "fine" beside "0") are refused if they are
        # learned from, with the advice to correct them, so nobody can ask to keep them.
        mixed = (_copy, _day)
        takes = [name for name, made in zip(late, self.leaks, strict=True) if made not in mixed]
        kept = takes[:1] if self.keeps else []
        notes = [note for note in self._notes(frame, kept) if note.startswith("column")]
        out = [name for name in frame.columns if any(f"'{name}' (" in note for note in notes)]
        left = [name for name in late if name not in out and name not in kept]
        require(not left, f"learns from {left}")
        require(not {*kept} & {*out}, f"leaves out {kept}, which were to be kept")
        blamed = [name for note in notes for name in _BLAMED.findall(note) if name not in late]
        require(not blamed, f"leaves out {blamed}: {notes}")

    def _notes(self, frame, kept):
        """What a command says, or what all of them call."""
        by, rows = self.by, frame.drop(columns=["class"])
        if by == "prior" and self.task == "positives":
            return prior(frame, "class", method="dedpul", keep=kept)["notes"]
        if by == "fit" and self.task != "normal rows and anomalies":
            fit = fit_table(frame, "class", time_budget=0, report=False, keep=kept)
            # Columns that are not used need not be there.
            used = [column.name for column in fit.schema.columns]
            require(len(fit.predict(rows[used])) == len(rows), "predicts other rows")
            return fit.notes
        if by == "label":
            return SessionRows(make_source(frame), "class", "0", ColumnOptions(keep=kept)).notes
        if by == "encoder":
            return TableEncoder(keep=kept).fit(rows, frame["class"].to_numpy()).notes_
        file = read_training(make_source(frame), ColumnOptions(target="class", keep=kept))
        roles = {"positives": choose_positive_rows, "normal rows and anomalies": _normal}
        return file.choose(roles.get(self.task, choose_class_rows)(file.labels)).notes


def _normal(labels):
    return choose_normal_rows(labels, "good")


def make(seed):
    """A case of this area."""
    case = Case(seed)
    return case.describe(), case
