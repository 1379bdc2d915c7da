"""A table that people label: their answers, the model that learns from them, the next row."""

import os
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .. import querying
from .._typing import BoolArray, FloatArray, IntArray
from .._util.messages import UserError, listing, ref
from .._util.paths import is_folder, path_exists, resolve_path
from ..base.locking import lock_of
from ..data.labels.blanks import reads_as_blank
from ..querying import Random, Strategy
from ..tables.answers.file import KINDS, AnswerEntry, AnswerFile, find_undoable_answer
from ..tables.names import cell_text, check_class_names
from ..tables.reading.options import DEFAULT_COLUMN_OPTIONS, ColumnOptions
from ..tables.sources import InMemory, Source
from ..tables.user_data import make_source
from .learner import UNKNOWN, Learner, Work, warm_up
from .overview import overview
from .query_options import DEFAULT, QUERY_OPTIONS
from .requests import InvalidAnswer, check_names, check_text
from .rows import SessionRows

TARGET = "label"
_N_RECENT_ANSWERS = 20
_REASONS_UNLIKE = {
    "svdd": "it is unlike most rows",
    "pusvm": "it looks least like the only class that has labels",
    "s3vm": "it looks least like the classes that have labels",
}
# Seconds for which a card waits for the model to be updated; then the previous one chooses it.
_MAX_WAIT_SECONDS = 0.015
_LEASE_SECONDS = 900.0  # seconds for which a row that somebody sees is shown to nobody else


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
        Which rows come next, a name in ``fewlabels.labelling.query_options.QUERY_OPTIONS``.
    kernel : {"trees", "linear", "rbf"}, default=None
        Kernel of the model; by default linear where there are texts, else trees.
    columns : ColumnOptions
        The columns to drop and to keep, and those that are texts or categories.
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
        columns: ColumnOptions = DEFAULT_COLUMN_OPTIONS,
        reading: dict[str, Any] | None = None,
    ) -> None:
        if ask not in QUERY_OPTIONS:
            raise UserError(f"Unknown {ref('ask', text=ask)}; choose {', '.join(QUERY_OPTIONS)}.")
        # Options that a fit to the answers needs, too.
        self.options = {k: v for k, v in (reading or {}).items() if v is not None}
        for name in ("drop", "keep", "text", "categorical"):
            if getattr(columns, name):
                self.options[name] = list(getattr(columns, name))
        source = make_source(data, **(reading or {}))
        path = Path(labels) if labels is not None else default_file(source)
        check_folder(path)
        is_new = not path_exists(path)
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
            self.rows = SessionRows(source, self.target, self.file.about["seed"], columns)
            self.lock = threading.Condition(lock_of(self))  # a fork waits for it, too
            self.notes, self.trouble = list(self.rows.notes), ""
            self._row_of_key = {key: row for row, key in enumerate(self.rows.keys)}
            self._leases: dict[str, tuple[int, str, float]] = {}
            self._workers: list[threading.Thread] = []
            self._closing = False
            self._read_classes(classes)
            self.learner = Learner(
                self.rows.X,
                self._initial_codes(),
                kernel,
                targets_rare_class=QUERY_OPTIONS[ask].targets_rare_class,
            )
            settings = dict(
                missing_label=UNKNOWN, random_state=int(self.file.about["seed"][:8], 16)
            )
            self._strategy = QUERY_OPTIONS[ask].make(querying, settings, sp.issparse(self.rows.X))
            self._past_predictions: deque[IntArray | None] = deque(maxlen=_N_RECENT_ANSWERS)
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

    def _read_classes(self, classes: Iterable[str]) -> None:
        """Read the classes and the answers from the file and from the column of the data."""
        standing, about = self.file.standing(), self.file.about
        column_classes = (
            [] if self.rows.given is None else sorted({g for g in self.rows.given if g})
        )
        answered = [
            entry.label for entry in standing if entry.kind == "label" and entry.label is not None
        ]
        earlier = about["classes"]
        new = check_names(classes)
        for name in dict.fromkeys([*earlier, *column_classes, *answered]):
            if not reads_as_blank(name):
                check_class_names([name], new)
        self.classes = list(dict.fromkeys([*earlier, *new, *column_classes, *answered]))
        if dropped := sorted({name for name in answered if reads_as_blank(name)}):
            self.notes.append(
                f"tables read labels of {listing(dropped)} as blanks: 'fewlabels label --export' "
                "writes them to a table, where the class can be renamed"
            )
        if len(self.classes) == 1:
            self.classes.append(f"not {self.classes[0]}")
        if about["classes"] != self.classes:
            self.file.describe(classes=self.classes)
        unmatched = [entry for entry in standing if entry.row_key not in self._row_of_key]
        if unmatched:
            self.notes.append(
                f"{len(unmatched)} of {len(standing)} labels belong to rows that are no longer in "
                f"{self.rows.source}; they are kept but not used"
            )
        earlier = about.get("fingerprint")
        if earlier not in (None, self.rows.fingerprint):
            self.notes.append(
                "the data have changed since the last labelling; labels were "
                "matched to rows by their cells"
            )
        if earlier != self.rows.fingerprint:
            self.file.describe(fingerprint=self.rows.fingerprint)
        self.current_answers = [entry for entry in standing if entry.row_key in self._row_of_key]

    def _initial_codes(self) -> IntArray:
        codes = np.full(len(self.rows), UNKNOWN)
        number = {name: code for code, name in enumerate(self.classes)}
        if self.rows.given is not None:
            codes[:] = [number.get(value, UNKNOWN) for value in self.rows.given]
        self._given = codes.copy()
        self._order = self.rows.order[codes[self.rows.order] == UNKNOWN]
        self._rank = np.full(len(codes), -1)
        self._rank[self._order] = np.arange(len(self._order))
        for entry in self.current_answers:
            if entry.kind == "label":
                codes[self._row_of_key[entry.row_key]] = number[entry.label]
        return codes

    # -- what comes next --------------------------------------------------------------------------

    def card(self, annotator: str) -> dict[str, Any] | None:
        """Return the row to show to somebody next, as plain values; None when all have answers."""
        with self.lock:
            row, why = self._next_row(annotator)
            if row is None:
                return None
            return self.make_card(row, why)

    def make_card(self, row: int, why: str = "") -> dict[str, Any]:
        """Return a row as a card."""
        with self.lock:
            answers = [
                entry for entry in self.current_answers if self._row_of_key[entry.row_key] == row
            ]
            return {
                "row": row,
                "cells": self.rows.card(row),
                "why": why,
                "drivers": self.learner.find_drivers(row, self.rows.columns),
                "said": [
                    {"annotator": entry.annotator, "kind": entry.kind, "label": entry.label}
                    for entry in answers
                ],
            }

    def _next_row(self, annotator: str) -> tuple[int | None, str]:
        current, lease = time.monotonic(), self._leases.get(annotator)
        unavailable = self._find_unavailable(annotator, current)
        if lease is not None and not unavailable[lease[0]]:
            return lease[0], lease[1]  # after a reload the same one again
        candidates = np.flatnonzero(~unavailable)
        if not len(candidates):
            self._leases.pop(annotator, None)
            return None, ""
        strategy = self._strategy.choose_strategy(int(np.sum(self.learner.codes != UNKNOWN)))
        if isinstance(strategy, Random):
            row, why = self._choose_random(unavailable), strategy.why
        else:
            row, why = self._choose_row(strategy, candidates)
        self._leases[annotator] = (row, why, current)
        return row, why

    def _choose_row(self, strategy: Strategy, candidates: IntArray) -> tuple[int, str]:
        """Return the row that a strategy chooses, and why."""
        learner, needs_decisions = self.learner, strategy.needs == "decisions"
        if learner.kind == "s3vm" and (not needs_decisions or 0 in learner.classes):
            decisions = learner.decisions if needs_decisions else learner.doubts
        elif learner.decisions is None or strategy.needs == "nothing":
            decisions = None
        elif learner.kind == "svdd" and not needs_decisions:
            decisions = None
        else:
            is_wanted = learner.kind == "pusvm" and needs_decisions and learner.classes[0] == 0
            values = learner.decisions if is_wanted else -_largest_decision(learner.decisions)
            row = int(candidates[np.argmax(values[candidates])])
            return row, strategy.why if is_wanted else _REASONS_UNLIKE[learner.kind]
        (row,), (why,) = strategy.query(
            self.rows.X,
            learner.codes,
            None if decisions is None else learner.model,
            candidates=candidates,
            decisions=decisions,
            return_reasons=True,
        )
        return int(row), why

    def _choose_random(self, unavailable: BoolArray) -> int:
        return int(next(row for row in self.rows.order if not unavailable[row]))

    def _find_unavailable(self, annotator: str, current: float) -> BoolArray:
        """Return a mask of rows that are not for somebody; skipped ones come last."""
        unavailable = self.learner.codes != UNKNOWN
        for entry in self.current_answers:
            if entry.kind == "unknown":
                unavailable[self._row_of_key[entry.row_key]] = True
        for person, (row, _, leased_at) in self._leases.items():
            if person != annotator and current - leased_at < _LEASE_SECONDS:
                unavailable[row] = True
        with_skipped = unavailable.copy()
        with_skipped[
            [
                self._row_of_key[entry.row_key]
                for entry in self.current_answers
                if entry.kind == "skip"
            ]
        ] = True
        return unavailable if with_skipped.all() else with_skipped

    @property
    def random_rows(self) -> list[int]:
        """Return the labelled rows at the start of the random order, a random sample of all rows.

        It ends with the last row that was queried as a random one; rows in between may have been
        requested another reason.
        """
        asked = [
            self._row_of_key[entry.row_key]
            for entry in self.current_answers
            if entry.asked == Random.why
        ]
        last = self._rank[asked].max(initial=-1)
        first = self._order[: last + 1]
        return first[self.learner.codes[first] != UNKNOWN].tolist()

    # -- answers ----------------------------------------------------------------------------------

    def answer(
        self, *, id: str, annotator: str, row: int, kind: str, label: str | None = None
    ) -> AnswerEntry:
        """Record an answer; it is on the disk when this returns."""
        with self.lock:
            label = cell_text(label) if isinstance(label, str) else label
            self._check(id, annotator, row, kind, label)
            why = (
                self._leases[annotator][1]
                if self._leases.get(annotator, (-1, "", 0.0))[0] == row
                else ""
            )
            n_answers = len(self.file.answers)
            answer = self.file.add(
                AnswerEntry(id, annotator, kind, self.rows.keys[row], row, label, asked=why)
            )
            if len(self.file.answers) == n_answers:
                return answer  # sent twice
            self.current_answers.append(answer)
            self._leases.pop(annotator, None)
            if kind == "label":
                self.learner.record_answer(row, self.classes.index(label))
                self._follow_answers()
            return answer

    def undo(self, *, id: str, annotator: str) -> AnswerEntry | None:
        """Take back the newest answer of somebody; its row comes again. None without any."""
        with self.lock:
            check_text("id", id)
            check_text("annotator", annotator)
            last = find_undoable_answer(self.current_answers, annotator)
            if last is None:
                return None
            n_answers = len(self.file.answers)
            self.file.add(
                AnswerEntry(id, annotator, "undo", last.row_key, last.row, undoes=last.number)
            )
            if len(self.file.answers) == n_answers:
                return None
            self.current_answers.remove(last)
            row = self._row_of_key[last.row_key]
            self._leases[annotator] = (row, last.asked, time.monotonic())
            if last.kind == "label":
                self.learner.undo_answer(row, self._current_code(row))
                self._follow_answers()
            return last

    def _current_code(self, row: int) -> int:
        """Return the code of a row by the current answers."""
        key = self.rows.keys[row]
        labels = [
            entry.label
            for entry in self.current_answers
            if entry.row_key == key and entry.kind == "label"
        ]
        return self.classes.index(labels[-1]) if labels else int(self._given[row])

    def _follow_answers(self) -> None:
        """Record what is known by now and update the model; wait for it, but not for long."""
        random = self.random_rows
        self.learner.left_out_first = tuple(random)
        if len(random) >= 8:
            counts = np.bincount(self.learner.codes[random], minlength=len(self.classes))
            present = np.unique(self.learner.codes[self.learner.codes >= 0]).tolist()
            shares = (counts[present] + 1.0) / (counts[present] + 1.0).sum()
            self.learner.set_class_shares(dict(zip(present, shares.tolist(), strict=True)))
        self._past_predictions.append(self.learner.predictions)
        error = overview(self, lists=False)["error"]
        while self.curve and self.curve[-1]["answers"] >= self.n_labels:
            self.curve.pop()  # an undo
        self.curve.append({"answers": self.n_labels, "changed": None, "error": error})
        if self._workers:
            self.lock.notify_all()
            self.lock.wait_for(lambda: self.learner.is_up_to_date, timeout=_MAX_WAIT_SECONDS)
        else:
            self._update_now()

    def _check(
        self, id: object, annotator: object, row: object, kind: object, label: object
    ) -> None:
        check_text("id", id)
        check_text("annotator", annotator)
        if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < len(self.rows):
            raise InvalidAnswer(
                f"There is no row {row!r:.40}; rows are 0 to {len(self.rows) - 1}."
            )
        if kind not in KINDS[:-1]:
            raise InvalidAnswer(
                f"An answer of the kind {kind!r:.40} is not valid; choose {', '.join(KINDS[:-1])}."
            )
        if kind == "label" and label not in self.classes:
            raise InvalidAnswer(
                f"{label!r:.80} is not one of the classes: {listing(self.classes)}."
            )
        if kind == "label":
            check_class_names([str(label)], self.classes)
        elif label is not None:
            raise InvalidAnswer(f"An answer of the kind '{kind}' has no label; omit it.")

    def add_class(self, name: str) -> None:
        """Add a class."""
        with self.lock:
            (name,) = check_names([name], self.classes)
            if name not in self.classes:
                self.file.describe(classes=[*self.classes, name])
                self.classes.append(name)

    # -- figures ----------------------------------------------------------------------------------

    @property
    def n_labels(self) -> int:
        """Return the number of rows with a label that somebody gave."""
        return len({entry.row_key for entry in self.current_answers if entry.kind == "label"})

    @property
    def labels(self) -> dict[int, str]:
        """Return labels by the position of the row: answers, and what the column held before."""
        codes = self.learner.codes
        return {int(row): self.classes[codes[row]] for row in np.flatnonzero(codes != UNKNOWN)}

    @property
    def changed_since(self) -> float | None:
        """Return the share of predictions that twenty answers have changed; None if unknown."""
        current = self.learner.predictions
        if (
            len(self._past_predictions) < _N_RECENT_ANSWERS
            or self._past_predictions[0] is None
            or current is None
        ):
            return None
        return float(np.mean(self._past_predictions[0] != current))

    # -- work in threads --------------------------------------------------------------------------

    def start(self) -> None:
        """Start a thread that updates models, and another one for heavier work."""
        learner = self.learner
        warm_up(self.rows.X, learner.kernel, self.rows.columns)
        for work in (
            lambda: learner.plan_undo() or learner.plan_update(),
            learner.plan_heavy_work,
        ):
            thread = threading.Thread(target=self._work_until_closed, args=(work,), daemon=True)
            self._workers.append(thread)
        for thread in self._workers:
            thread.start()

    def _work_until_closed(self, work: Callable[[], Work | None]) -> None:
        while True:
            with self.lock:
                while not self._closing and (plan := work()) is None:
                    self.lock.wait()
                if self._closing:
                    return
            assert plan is not None
            self.run(plan, refit=work != self.learner.plan_heavy_work)

    def run(self, plan: Work, refit: bool = False) -> None:
        """Do a piece of work and store its result; ``refit``: whether a fit can replace it."""
        try:
            result, trouble = plan(), ""
        except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
            result, trouble = None, f"the model could not be trained on these labels: {error}"
        with self.lock:
            self.trouble = trouble
            earlier = self.learner.predictions
            if result is None:
                self.learner.discard_work(refit=refit)
            else:
                self.learner.store_result(result)
                self._record_change(result[0], earlier, self.learner.predictions)
            self.lock.notify_all()
        if not self._workers:
            self._update_now()

    def _record_change(
        self, kind: str, earlier: IntArray | None, current: IntArray | None
    ) -> None:
        """Record the share of the predictions that the last answer has changed."""
        is_known = earlier is not None and current is not None
        if kind in ("followed", "undone") and is_known and self.curve:
            self.curve[-1]["changed"] = float(np.mean(earlier != current))

    def _update_now(self) -> None:
        while (plan := self.learner.plan_update()) is not None:
            self.run(plan, refit=True)

    def catch_up(self, leave_out: bool = True) -> None:
        """Do all work that is due, here and now; ``leave_out``: estimates of errors, too."""
        while True:
            with self.lock:
                plan = (
                    self.learner.plan_undo()
                    or self.learner.plan_update()
                    or self.learner.plan_heavy_work(leave_out)
                )
            if plan is None:
                return
            self.run(plan)

    def close(self) -> None:
        """End the work, and close the file."""
        with self.lock:
            self._closing = True
            self.lock.notify_all()
        for thread in self._workers:
            thread.join(timeout=5)  # their results are not needed any more
        with self.lock:
            self.file.close()


def _largest_decision(decisions: FloatArray) -> FloatArray:
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
    folder = resolve_path(path).parent
    if not is_folder(folder):
        raise UserError(f"The folder {path.parent} does not exist; create it first.")
    if not os.access(folder, os.W_OK) or (path_exists(path) and not os.access(path, os.W_OK)):
        raise UserError(
            f"Labels can't be written to {path}; pass another file as {ref('labels')}, in a "
            "writable folder."
        )
