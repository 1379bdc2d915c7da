"""A table that people label: what was answered, what learns from it, which row comes next."""

import os
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .. import querying
from .._typing import BoolArray, FloatArray, IntArray
from .._util.messages import UserError, listing, ref
from ..base.locking import lock_of
from ..data.labels.blanks import reads_as_blank
from ..querying import Random, Strategy
from ..tables.answers.file import KINDS, AnswerEntry, AnswerFile, undo_of
from ..tables.given import source_of
from ..tables.names import cell_text, check_class_names
from ..tables.paths import resolved
from ..tables.sources import InMemory, Source
from .asking import ASKING, DEFAULT
from .learner import UNKNOWN, Learner, Work, warm_up
from .names import Refused, check_names, check_text
from .overview import overview
from .rows import SessionRows

TARGET = "label"
_BACK = 20
_UNLIKE = {
    "svdd": "it is unlike most rows",
    "pusvm": "it looks least like the only class that has labels",
    "s3vm": "it looks least like the classes that have labels",
}
# Seconds for which a card waits for the machine to follow; later it is chosen by what was known.
_PATIENCE = 0.015
_LEASE = 900.0  # seconds for which a row that somebody sees is asked of nobody else


class Session:
    """Collect labels for a table, one answer at a time.

    Parameters
    ----------
    data : path-like or DataFrame
        The table.
    target : str, default=None
        Column of the labels; those that it holds already count. By default "label".
    classes : sequence of str, default=()
        The classes, besides those in the column and in the file.
    labels : path-like, default=None
        The file of answers; by default the name of the data with ".labels" behind it.
    ask : str, default="mixed"
        Which rows come next, a name in ``fewlabels.labelling.asking.ASKING``.
    kernel : {"trees", "linear", "rbf"}, default=None
        Kernel of the model; by default linear where there are texts, else trees.
    drop, keep, text, categorical : sequence of str
        Columns, as in :func:`fewlabels.fit_table`.
    reading : dict, default=None
        How a file of text is read, as in :func:`fewlabels.fit_table`.
    """

    def __init__(
        self,
        data: pd.DataFrame | str | PathLike[str],
        target: str | None = None,
        classes: Iterable[str] = (),
        labels: str | PathLike[str] | None = None,
        *,
        ask: str = DEFAULT,
        kernel: str | None = None,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        text: Sequence[str] = (),
        categorical: Sequence[str] = (),
        reading: dict[str, Any] | None = None,
    ) -> None:
        if ask not in ASKING:
            raise UserError(f"Unknown {ref('ask', text=ask)}; choose {', '.join(ASKING)}.")
        columns = {"drop": drop, "keep": keep, "text": text, "categorical": categorical}
        # What a fit of the answers has to be told, too.
        self.options = {k: v for k, v in (reading or {}).items() if v is not None}
        self.options |= {name: list(value) for name, value in columns.items() if value}
        source = source_of(data, **(reading or {}))
        path = Path(labels) if labels is not None else default_file(source)
        check_folder(path)
        is_new = not path.exists()
        about = {
            "target": target or TARGET,
            "classes": check_names(classes),
            "seed": secrets.token_hex(8),
            "data": str(source),
        }
        self.file = AnswerFile(path, about)
        try:
            self.target = self.file.about["target"]
            if target is not None and target != self.target:
                self._change_target(path, target, about)
            self.rows = SessionRows(source, self.target, self.file.about["seed"], **columns)
            self.lock = threading.Condition(lock_of(self))  # a fork waits for it, too
            self.notes, self.trouble = list(self.rows.notes), ""
            self._place = {key: row for row, key in enumerate(self.rows.keys)}
            self._leases: dict[str, tuple[int, str, float]] = {}
            self._workers: list[threading.Thread] = []
            self._closing = False
            self._read(classes)
            self.learner = Learner(self.rows.X, self._codes(), kernel, hunts=ASKING[ask].hunts)
            settings = dict(
                missing_label=UNKNOWN, random_state=int(self.file.about["seed"][:8], 16)
            )
            self._strategy = ASKING[ask].make(querying, settings, sp.issparse(self.rows.X))
            self._past: deque[IntArray | None] = deque(maxlen=_BACK)
            self.curve: list[dict[str, Any]] = []
        except BaseException:
            self.file.close()
            if is_new:  # it would hold the classes that were refused
                path.unlink(missing_ok=True)
            raise

    def _change_target(self, path: Path, target: str, about: dict[str, Any]) -> None:
        """Take another column; refused where answers are about the one before."""
        if self.file.standing():
            raise UserError(
                f"{path} holds labels of the column '{self.target}', not of '{target}'; omit "
                f"{ref('target')}, or pass another file as {ref('labels')}."
            )
        self.file.describe(target=target, classes=about["classes"])
        self.target = target

    def _read(self, classes: Iterable[str]) -> None:
        """Read the classes and the answers from the file and from the column of the data."""
        standing, about = self.file.standing(), self.file.about
        given = [] if self.rows.given is None else sorted({g for g in self.rows.given if g})
        answered = [one.label for one in standing if one.kind == "label"]
        before = about["classes"]
        new = check_names(classes)
        for name in dict.fromkeys([*before, *given, *answered]):
            if not reads_as_blank(name):
                check_class_names([name], new)
        self.classes = list(dict.fromkeys([*before, *new, *given, *answered]))
        if lost := sorted({name for name in answered if reads_as_blank(name)}):
            self.notes.append(
                f"tables read labels of {listing(lost)} as blanks: 'fewlabels label --export' "
                "writes them to a table, where the class can be renamed"
            )
        if len(self.classes) == 1:
            self.classes.append(f"not {self.classes[0]}")
        if about["classes"] != self.classes:
            self.file.describe(classes=self.classes)
        lost = [one for one in standing if one.row_key not in self._place]
        if lost:
            self.notes.append(
                f"{len(lost)} of {len(standing)} labels belong to rows that are no longer in "
                f"{self.rows.source}; they are kept but not used"
            )
        before = about.get("fingerprint")
        if before not in (None, self.rows.fingerprint):
            self.notes.append(
                "the data have changed since the last labelling; labels were "
                "matched to rows by their cells"
            )
        if before != self.rows.fingerprint:
            self.file.describe(fingerprint=self.rows.fingerprint)
        self.standing = [one for one in standing if one.row_key in self._place]

    def _codes(self) -> IntArray:
        codes = np.full(len(self.rows), UNKNOWN)
        number = {name: code for code, name in enumerate(self.classes)}
        if self.rows.given is not None:
            codes[:] = [number.get(value, UNKNOWN) for value in self.rows.given]
        self._given = codes.copy()
        self._order = self.rows.order[codes[self.rows.order] == UNKNOWN]
        self._rank = np.full(len(codes), -1)
        self._rank[self._order] = np.arange(len(self._order))
        for one in self.standing:
            if one.kind == "label":
                codes[self._place[one.row_key]] = number[one.label]
        return codes

    # -- what comes next --------------------------------------------------------------------------

    def card(self, annotator: str) -> dict[str, Any] | None:
        """Return the row to show to somebody next, as plain values; None when all have answers."""
        with self.lock:
            row, why = self._next(annotator)
            if row is None:
                return None
            return self.shown(row, why)

    def shown(self, row: int, why: str = "") -> dict[str, Any]:
        """Return a row as a card."""
        with self.lock:
            said = [one for one in self.standing if self._place[one.row_key] == row]
            return {
                "row": row,
                "cells": self.rows.card(row),
                "why": why,
                "drivers": self.learner.drivers(row, self.rows.columns),
                "said": [
                    {"annotator": a.annotator, "kind": a.kind, "label": a.label} for a in said
                ],
            }

    def _next(self, annotator: str) -> tuple[int | None, str]:
        now, held = time.monotonic(), self._leases.get(annotator)
        taken = self._taken(annotator, now)
        if held is not None and not taken[held[0]]:
            return held[0], held[1]  # after a reload the same one again
        candidates = np.flatnonzero(~taken)
        if not len(candidates):
            self._leases.pop(annotator, None)
            return None, ""
        strategy = self._strategy.turn(int(np.sum(self.learner.codes != UNKNOWN)))
        if isinstance(strategy, Random):
            row, why = self._next_random(taken), strategy.why
        else:
            row, why = self._chosen(strategy, candidates)
        self._leases[annotator] = (row, why, now)
        return row, why

    def _chosen(self, strategy: Strategy, candidates: IntArray) -> tuple[int, str]:
        """Return the row that a strategy chooses, and why."""
        learner, hunts = self.learner, strategy.needs == "decisions"
        if learner.kind == "s3vm" and (not hunts or 0 in learner.classes):
            decisions = learner.decisions if hunts else learner.doubts
        elif learner.decisions is None or strategy.needs == "nothing":
            decisions = None
        elif learner.kind == "svdd" and not hunts:
            decisions = None
        else:
            known = learner.kind == "pusvm" and hunts and learner.classes[0] == 0
            values = learner.decisions if known else -_one_number(learner.decisions)
            row = int(candidates[np.argmax(values[candidates])])
            return row, strategy.why if known else _UNLIKE[learner.kind]
        (row,), (why,) = strategy.query(
            self.rows.X,
            learner.codes,
            None if decisions is None else learner.machine,
            candidates=candidates,
            decisions=decisions,
            return_reasons=True,
        )
        return int(row), why

    def _next_random(self, taken: BoolArray) -> int:
        return int(next(row for row in self.rows.order if not taken[row]))

    def _taken(self, annotator: str, now: float) -> BoolArray:
        """Return a mask of rows that are not for somebody; skipped ones come last."""
        taken = self.learner.codes != UNKNOWN
        for one in self.standing:
            if one.kind == "unknown":
                taken[self._place[one.row_key]] = True
        for who, (row, _, since) in self._leases.items():
            if who != annotator and now - since < _LEASE:
                taken[row] = True
        with_skipped = taken.copy()
        with_skipped[[self._place[a.row_key] for a in self.standing if a.kind == "skip"]] = True
        return taken if with_skipped.all() else with_skipped

    @property
    def random_rows(self) -> list[int]:
        """Return the labelled rows at the start of the random order, a random sample of all rows.

        It ends with the last row that was queried as a random one; rows in between may have been
        requested another reason.
        """
        asked = [self._place[a.row_key] for a in self.standing if a.asked == Random.why]
        last = self._rank[asked].max(initial=-1)
        first = self._order[: last + 1]
        return first[self.learner.codes[first] != UNKNOWN].tolist()

    # -- answers ----------------------------------------------------------------------------------

    def answer(
        self, *, id: str, annotator: str, row: int, kind: str, label: str | None = None
    ) -> AnswerEntry:
        """Take an answer; it is on the disk when this returns."""
        with self.lock:
            label = cell_text(label) if isinstance(label, str) else label
            self._check(id, annotator, row, kind, label)
            why = (
                self._leases[annotator][1]
                if self._leases.get(annotator, (-1, "", 0.0))[0] == row
                else ""
            )
            known = len(self.file.answers)
            answer = self.file.add(
                AnswerEntry(id, annotator, kind, self.rows.keys[row], row, label, asked=why)
            )
            if len(self.file.answers) == known:
                return answer  # sent twice
            self.standing.append(answer)
            self._leases.pop(annotator, None)
            if kind == "label":
                self.learner.tell(row, self.classes.index(label))
                self._told()
            return answer

    def undo(self, *, id: str, annotator: str) -> AnswerEntry | None:
        """Take back the newest answer of somebody; its row comes again. None without any."""
        with self.lock:
            check_text("id", id)
            check_text("annotator", annotator)
            last = undo_of(self.standing, annotator)
            if last is None:
                return None
            known = len(self.file.answers)
            self.file.add(
                AnswerEntry(id, annotator, "undo", last.row_key, last.row, undoes=last.number)
            )
            if len(self.file.answers) == known:
                return None
            self.standing.remove(last)
            row = self._place[last.row_key]
            self._leases[annotator] = (row, last.asked, time.monotonic())
            if last.kind == "label":
                self.learner.take_back(row, self._code(row))
                self._told()
            return last

    def _code(self, row: int) -> int:
        """Return the code of a row by the current answers."""
        key = self.rows.keys[row]
        labels = [a.label for a in self.standing if a.row_key == key and a.kind == "label"]
        return self.classes.index(labels[-1]) if labels else int(self._given[row])

    def _told(self) -> None:
        """Note what is known by now, and let the model follow; wait for it, if not for long."""
        random = self.random_rows
        self.learner.first_left_out = tuple(random)
        if len(random) >= 8:
            counts = np.bincount(self.learner.codes[random], minlength=len(self.classes))
            present = np.unique(self.learner.codes[self.learner.codes >= 0]).tolist()
            shares = (counts[present] + 1.0) / (counts[present] + 1.0).sum()
            self.learner.share(dict(zip(present, shares.tolist(), strict=True)))
        self._past.append(self.learner.predictions)
        error = overview(self, lists=False)["error"]
        while self.curve and self.curve[-1]["answers"] >= self.n_labels:
            self.curve.pop()  # an undo
        self.curve.append({"answers": self.n_labels, "changed": None, "error": error})
        if self._workers:
            self.lock.notify_all()
            self.lock.wait_for(lambda: self.learner.up_to_date, timeout=_PATIENCE)
        else:
            self._follow_now()

    def _check(
        self, id: object, annotator: object, row: object, kind: object, label: object
    ) -> None:
        check_text("id", id)
        check_text("annotator", annotator)
        if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < len(self.rows):
            raise Refused(f"There is no row {row!r:.40}; rows are 0 to {len(self.rows) - 1}.")
        if kind not in KINDS[:-1]:
            raise Refused(
                f"An answer of the kind {kind!r:.40} is not valid; choose {', '.join(KINDS[:-1])}."
            )
        if kind == "label" and label not in self.classes:
            raise Refused(f"{label!r:.80} is not one of the classes: {listing(self.classes)}.")
        if kind == "label":
            check_class_names([str(label)], self.classes)
        elif label is not None:
            raise Refused(f"An answer of the kind '{kind}' has no label; omit it.")

    def add_class(self, name: str) -> None:
        """Let there be one class more."""
        with self.lock:
            (name,) = check_names([name], self.classes)
            if name not in self.classes:
                self.file.describe(classes=[*self.classes, name])
                self.classes.append(name)

    # -- what is known ----------------------------------------------------------------------------

    @property
    def n_labels(self) -> int:
        """Return the number of rows with a label that somebody gave."""
        return len({one.row_key for one in self.standing if one.kind == "label"})

    @property
    def labels(self) -> dict[int, str]:
        """Return labels by the position of the row: answers, and what the column held before."""
        codes = self.learner.codes
        return {int(row): self.classes[codes[row]] for row in np.flatnonzero(codes != UNKNOWN)}

    @property
    def changed_since(self) -> float | None:
        """Return the share of predictions that twenty answers have changed; None if unknown."""
        now = self.learner.predictions
        if len(self._past) < _BACK or self._past[0] is None or now is None:
            return None
        return float(np.mean(self._past[0] != now))

    # -- work beside ------------------------------------------------------------------------------

    def start(self) -> None:
        """Let models follow in a thread of their own, and heavier work run in another."""
        learner = self.learner
        warm_up(self.rows.X, learner.kernel, self.rows.columns)
        for work in (lambda: learner.undoing() or learner.following(), learner.plan):
            thread = threading.Thread(target=self._work, args=(work,), daemon=True)
            self._workers.append(thread)
        for thread in self._workers:
            thread.start()

    def _work(self, work: Callable[[], Work | None]) -> None:
        while True:
            with self.lock:
                while not self._closing and (plan := work()) is None:
                    self.lock.wait()
                if self._closing:
                    return
            assert plan is not None
            self.run(plan, refit=work != self.learner.plan)

    def run(self, plan: Work, refit: bool = False) -> None:
        """Do a piece of work and store its result; ``refit``: whether a fit can replace it."""
        try:
            result, trouble = plan(), ""
        except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
            result, trouble = None, f"the model could not be trained on these labels: {error}"
        with self.lock:
            self.trouble = trouble
            before = self.learner.predictions
            if result is None:
                self.learner.give_up(refit=refit)
            else:
                self.learner.take(result)
                self._note_change(result[0], before, self.learner.predictions)
            self.lock.notify_all()
        if not self._workers:
            self._follow_now()

    def _note_change(self, what: str, before: IntArray | None, now: IntArray | None) -> None:
        """Record the share of the predictions that the last answer has changed."""
        known = before is not None and now is not None
        if what in ("followed", "undone") and known and self.curve:
            self.curve[-1]["changed"] = float(np.mean(before != now))

    def _follow_now(self) -> None:
        while (plan := self.learner.following()) is not None:
            self.run(plan, refit=True)

    def catch_up(self, leave_out: bool = True) -> None:
        """Do all work that is due, here and now; ``leave_out``: estimates of errors, too."""
        while True:
            with self.lock:
                undoing = self.learner.undoing()
                plan = undoing or self.learner.following() or self.learner.plan(leave_out)
            if plan is None:
                return
            self.run(plan)

    def close(self) -> None:
        """End the work, and let go of the file."""
        with self.lock:
            self._closing = True
            self.lock.notify_all()
        for thread in self._workers:
            thread.join(timeout=5)  # what they give is not wanted any more
        with self.lock:
            self.file.close()


def _one_number(decisions: FloatArray) -> FloatArray:
    """Return one decision per row: the greatest, or the distance from the boundary."""
    return decisions if decisions.ndim == 1 else decisions.max(axis=1)


def default_file(source: Source | InMemory) -> Path:
    """Return the default file of the answers to a table, next to the table."""
    if isinstance(source, InMemory):
        raise UserError("A data frame needs a file for its labels; pass labels=.")
    table = "" if not source.table else "." + re.sub(r"[^\w.-]", "_", source.table)
    return Path(f"{os.fspath(source).rstrip('/')}{table}.labels")


def check_folder(path: Path) -> None:
    """Refuse a place where nothing can be written."""
    folder = resolved(path).parent
    if not folder.is_dir():
        raise UserError(f"The folder {path.parent} does not exist; create it first.")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UserError(
            f"Labels can't be written to {path}; pass another file as {ref('labels')}, in a "
            "writable folder."
        )
