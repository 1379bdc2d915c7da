"""Watch rows of files or standard input: score, rank, bet, alarm, and remember."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import is_outlier_detector
from sklearn.pipeline import Pipeline

from ..._typing import AnyArray, BoolArray, PathLike
from ..._util.messages import UserError, ref
from ...monitoring import LORD, Monitor
from ...monitoring.monitor import Update
from ...monitoring.scores import why_uncalibrated
from ...tables.columns.schema import Schema
from ...tables.columns.tally import Tally
from ...tables.models.files import ModelFile, read_model
from ...tables.paths import resolve_path
from ...tables.reading.chunks import Chunk, iterate_chunks
from ...tables.user_data import make_source
from ..observer import Observer
from ..options.fit import check
from .follower import Follower, check_can_adapt, load_adapted, read_window
from .outputs import JsonLines, closing, records, write_prometheus
from .sources import batches_of_stream, unread_rows
from .state import State, WatchProgress, check_file

if TYPE_CHECKING:
    import pandas as pd

_STDIN = "-"
# What rows are compared with where nothing is known from before them.
_STREAM = "the first rows of the stream"


class WatchSettings(NamedTuple):
    """Settings that decide about alarms; a state belongs to them."""

    model: str
    alpha: float
    run_length: int | None
    alerts: float | None
    fdr: float | None
    adapt: str | None
    seed: int
    empty_rows: str | None = None


class Calibration(NamedTuple):
    """A table with rows from before the stream, and the column with their classes, if any."""

    path: PathLike
    target: str | None
    reading: dict[str, Any]

    def rows(self, schema: Schema) -> tuple[pd.DataFrame, AnyArray | None]:
        """Return complete rows, and their classes; None without a column of them."""
        import pandas as pd

        target = self.target
        source = make_source(self.path, **self.reading)
        tally, frames, labels = Tally(source, skip_missing=True), [], []
        for chunk in iterate_chunks(source, schema, tally, None, target, target is not None):
            frames.append(chunk.frame)
            if target is not None:
                labels.append(np.asarray(chunk.target, dtype=object)[chunk.complete])
        tally.check()
        frame = pd.concat(frames, ignore_index=True)
        if target is None:
            return frame, None
        classes = ["" if value is None else str(value) for value in np.concatenate(labels)]
        return frame, np.array(classes)


class Watch:
    """A model, its monitor, the state and what was counted."""

    def __init__(
        self,
        model: ModelFile,
        settings: WatchSettings,
        state: State,
        calibration: Calibration | None = None,
    ) -> None:
        self.path, self.settings, self.state = model.path, settings, state
        known = state.read_value("settings")
        if known is not None and known != list(settings):
            raise UserError(
                f"{state.path} belongs to a watch with another model or other settings "
                f"({_differences(known, settings)}); use these, or pass another {ref('state')}."
            )
        pipeline, self.schema, metadata = model.load()
        if self.schema.layout != "table":
            raise UserError(
                f"{self.path} was fitted to a matrix without column names; 'fewlabels watch' "
                "reads tables. Use fewlabels.monitoring.Monitor from Python."
            )
        self._flags_empty = (settings.empty_rows or self.schema.empty_rows) == "alarm"
        window = None if settings.adapt is None else read_window(settings.adapt)
        if window is not None:
            check_can_adapt(self.path, metadata, pipeline[-1])
            if known is not None and (content := state.model()) is not None:
                pipeline, metadata = load_adapted(content)
        self.figures = {"rows": 0, "skipped": 0, "alerts": 0, "alarms": 0, "learned": 0}
        self.figures |= state.read_value("figures", {})
        self.rows_before = self.figures["rows"]
        self.follower, self.is_new = None, known is None
        self._why_not = why_uncalibrated(pipeline) if known is None else None
        self.monitor = self._monitor(pipeline, calibration, window)
        if window is not None:
            began, epoch = state.read_value("epoch", [0, 1])
            self.follower = Follower(pipeline, metadata, window, settings.seed, began, epoch)
        if not state.resume(self.monitor):
            with state:
                state.store("settings", list(settings))
                state.store("calibration", self._reference(pipeline, calibration))
                state.begin(self.monitor)
        self.raised = 0

    def _reference(self, pipeline: Pipeline, calibration: Calibration | None) -> str:
        """Return what rows of the stream are compared with, in words."""
        if calibration is not None:
            return f"the rows of {calibration.path}"
        if self._why_not is not None:
            return _STREAM
        if is_outlier_detector(pipeline[-1]):
            return "scores of training rows that the model was calibrated with"
        return "unlabelled training rows, scored by models fitted without them"

    @property
    def blind_spot(self) -> str | None:
        """Return the changes that can't be seen without rows from before the stream, or None."""
        if self.state.read_value("calibration") != _STREAM:
            return None
        reason = "" if self._why_not is None else f", because {self._why_not}"
        return (
            f"Rows are compared with the first rows of the stream alone{reason}: a change that "
            f"all rows share can't be seen. Pass {ref('calibration')} with rows from before."
        )

    def _monitor(
        self, pipeline: Pipeline, calibration: Calibration | None, window: int | None
    ) -> Monitor:
        rows = labels = None
        if calibration is not None:
            rows, labels = calibration.rows(self.schema)
        elif self.is_new and self._why_not is None:
            rows = "model"
        return Monitor(
            pipeline,
            rows,
            labels,
            score="decision_function",
            alpha=self.settings.alpha,
            run_length=self.settings.run_length,
            alerts=_alert_rule(self.settings),
            window=max(2000, 2 * (window or 0)),
            refits=window is not None,
            random_state=self.settings.seed,
        )

    # -- rows ------------------------------------------------------------------------------------

    def process_chunk(
        self,
        source: str,
        chunk: Chunk,
        progress: WatchProgress,
        lines: JsonLines,
        only_alerts: bool,
    ) -> tuple[WatchProgress, list[dict[str, Any]]]:
        """Process a chunk of a source; returns the progress behind it, and the alarms."""
        frame, complete = chunk.frame, chunk.complete
        alarms, start = [], 0
        while start < len(complete):
            stop = self._part_end(complete, start)
            part = complete[start:stop]
            before = int(complete[:start].sum())
            rows = frame.iloc[before : before + int(part.sum())]
            with self.state as state:
                update = self._update(rows)
                first = self.figures["rows"] + 1
                flagged = chunk.empty[start:stop] & self._flags_empty
                found = records(update, part, flagged, first, only_alerts)
                self.figures["rows"] += len(part)
                self.figures["skipped"] += int((~part).sum())
                self.figures["alerts"] += int(update.alerts.sum()) + int(flagged.sum())
                self.figures["alarms"] += int(update.alarms.sum())
                self.raised += int(update.alarms.sum())
                if self.monitor.run_length is not None and update.alarms.any():
                    state.begin(self.monitor)
                elif self.follower is not None and self._end_epoch():
                    state.begin(self.monitor)
                    state.store_model(self.follower.epoch, self.follower.content)
                    state.store("epoch", [self.follower.began, self.follower.epoch])
                else:
                    state.advance(self.monitor, [update])
                state.store("figures", self.figures)
                progress = progress.after(rows, part)
                state.count(source, progress, _points(update, part, first))
                lines.store(found, state)
            alarms += [row for row in found if row["alarm"]]
            start = stop
        return progress, alarms

    def _part_end(self, complete: BoolArray, start: int) -> int:
        """Return where a part of a chunk ends: with an epoch, if there are epochs."""
        if self.follower is None:
            return len(complete)
        left = self.follower.rows_left(self.monitor.n_rows_)
        if left <= 0:  # after an alarm nothing is learned
            return len(complete)
        ends = np.flatnonzero(np.cumsum(complete[start:]) == left)
        return start + int(ends[0]) + 1 if len(ends) else len(complete)

    def _update(self, rows: pd.DataFrame) -> Update:
        try:
            return self.monitor.update(rows) if len(rows) else _empty_update(self.monitor)
        except ValueError as error:
            raise UserError(str(error)) from error

    def _end_epoch(self) -> bool:
        """Learn the rows of an epoch that ended without an alarm; returns whether one ended."""
        if self.follower is None or self.monitor.alarm_ is not None:
            return False
        if self.follower.rows_left(self.monitor.n_rows_) > 0:
            return False
        self.figures["learned"] += self.follower.learn(self.monitor)[0]
        return True

    def accept(self) -> None:
        """Declare the change the new normal."""
        if self.monitor.alarm_ is None:
            raise UserError(f"There is no alarm to accept; omit {ref('accept', True)}.")
        with self.state as state:
            if self.follower is None:
                self.monitor.accept()
            else:
                began = self.monitor.change().began
                self.figures["learned"] += self.follower.learn(self.monitor, since=began)[0]
                state.store_model(self.follower.epoch, self.follower.content)
                state.store("epoch", [self.follower.began, self.follower.epoch])
            state.begin(self.monitor)
            state.store("figures", self.figures)

    # -- results ---------------------------------------------------------------------------------

    @property
    def threshold(self) -> float:
        """Return the base-10 logarithm of the evidence that raises an alarm."""
        return self.monitor.threshold_ / math.log(10.0)

    def summary(self) -> dict[str, Any]:
        """Return counts and the state of the alarm, as plain values."""
        monitor = self.monitor
        has_change = monitor.alarm_ is not None and monitor.explains_
        return {
            "model": str(self.path),
            **self.figures,
            "rows_before": self.rows_before,
            "raised": self.raised,
            "run_length": self.settings.run_length,
            "alarm": monitor.alarm_ is not None and monitor.run_length is None,
            "evidence": max(-300.0, monitor.log_evidence_ / math.log(10.0)),
            "threshold": self.threshold,
            "calibration": self.state.read_value("calibration"),
            "change": monitor.change() if has_change else None,
        }


def watch(
    model: PathLike,
    files: Sequence[PathLike],
    *,
    alpha: float = 0.01,
    run_length: int | None = None,
    alerts: float | None = None,
    fdr: float | None = None,
    every: int = 1000,
    state: PathLike | None = None,
    calibration: PathLike | None = None,
    target: str | None = None,
    output: PathLike | None = None,
    only_alerts: bool = False,
    report: PathLike | None = None,
    prometheus: PathLike | None = None,
    adapt: str | None = None,
    accept: bool = False,
    replay: bool = False,
    seed: int = 0,
    empty_rows: str | None = None,
    trusted: Collection[str] = (),
    form: str | None = None,
    on_start: Callable[[str], None] | None = None,
    on_alarm: Callable[[dict[str, Any]], None] | None = None,
    observer: Observer | None = None,
    **reading: Any,
) -> dict[str, Any]:
    """Watch the rows of files or standard input with a model.

    Parameters
    ----------
    model : path-like
        The model file.
    files : sequence of path-like
        Tables, or "-" for standard input.
    alpha, run_length, alerts : float, int, float
        As in :class:`fewlabels.monitoring.Monitor`.
    fdr : float, optional
        Alert with LORD at this false discovery rate.
    every : int
        Rows between two commits, and two reports.
    state : path-like, optional
        The SQLite file to continue from and to write.
    calibration : path-like, optional
        Rows from before the stream that the model was not trained on; ``target`` their classes.
    target : str, optional
        Column of ``calibration`` with two classes.
    output : path-like, optional
        The file for JSON lines; standard output otherwise.
    only_alerts : bool
        Write rows with alerts and alarms only.
    report, prometheus : path-like, optional
        The page, and the file for Prometheus.
    adapt : str, optional
        "window=N".
    accept : bool
        Declare the change of the last alarm the new normal, before any row is read.
    replay : bool
        Whether standard input begins with the rows that the state has counted already.
    seed : int
        Of the numbers that break ties.
    empty_rows : {"blank", "alarm"}, optional
        Whether rows without a value in any column are alerts; None means as the model was fitted.
        They have no p-value and are no evidence of a change.
    trusted : collection of str
        As in :func:`fewlabels.pipeline.score`.
    form : str, optional
        "csv" or "jsonl", of standard input.
    on_start : callable, optional
        Called before the first row with what can't be seen, if anything.
    on_alarm : callable, optional
        Called with the record of each row that raises an alarm.
    observer, **reading
        As in :func:`fewlabels.pipeline.score`.

    Returns
    -------
    dict
        Counts, the evidence, and the :class:`~fewlabels.monitoring.Change` after an alarm.
    """
    if not files and not accept and (state is None or not (report or prometheus)):
        raise UserError(
            "There is nothing to watch; pass files with rows, or - for standard input."
        )
    if accept and state is None:
        raise UserError(
            f"{ref('accept', True)} needs the {ref('state')} of the watch that raised the alarm."
        )
    observer = observer or Observer()
    check_file(state)
    check(empty_rows=empty_rows)
    read = read_model(model, trusted)
    settings = WatchSettings(read.digest, alpha, run_length, alerts, fdr, adapt, seed, empty_rows)
    with contextlib.closing(State(state)) as kept:
        try:
            before = None if calibration is None else Calibration(calibration, target, reading)
            watching = Watch(read, settings, kept, before)
        except ValueError as error:
            raise UserError(str(error)) from error
        if on_start is not None and watching.is_new and watching.blind_spot is not None:
            on_start(observer.words(watching.blind_spot))
        if accept:
            watching.accept()
        with closing(JsonLines(output, kept)) as lines:
            for file in files:
                source = _STDIN if str(file) == _STDIN else str(resolve_path(file))
                counted = kept.progress_of(source)
                if source == _STDIN:
                    skip = counted.rows if replay else 0
                    progress = counted
                    chunks = batches_of_stream(
                        sys.stdin.buffer, watching.schema, skip, every, reading, form
                    )
                else:
                    progress, chunks = unread_rows(file, watching.schema, counted, every, reading)
                for chunk in chunks:
                    progress, found = watching.process_chunk(
                        source, chunk, progress, lines, only_alerts
                    )
                    if on_alarm is not None:
                        for record in found:
                            on_alarm(record)
                    observer.rows(watching.figures["rows"], chunk.share, what="watched")
                    _publish(watching, report, prometheus)
        _publish(watching, report, prometheus)
        return watching.summary()


def _publish(watching: Watch, report: PathLike | None, prometheus: PathLike | None) -> None:
    """Write the page and the figures again."""
    if prometheus is not None:
        write_prometheus(prometheus, watching.summary())
    if report is not None:
        from ...report.watching import write_watch_report  # slow to import

        write_watch_report(report, watching.summary(), watching.state.points(), watching.monitor)


def _points(update: Update, complete: BoolArray, first: int) -> list[tuple[int, float]]:
    """Return up to 20 points of the evidence, for the picture: numbers of rows and logarithms."""
    places = np.flatnonzero(complete)
    if not len(places):
        return []
    chosen = np.unique(np.linspace(0, len(places) - 1, 20).astype(int))
    finite = [k for k in chosen if np.isfinite(update.log_evidence[k])]
    return [(first + int(places[k]), float(update.log_evidence[k])) for k in finite]


def _empty_update(monitor: Monitor) -> Update:
    return monitor.update_scores(np.zeros(0))


def _alert_rule(settings: WatchSettings) -> float | LORD | None:
    if settings.alerts is not None and settings.fdr is not None:
        raise UserError(
            f"{ref('alerts')} and {ref('fdr')} both choose the alerts; pass one of them."
        )
    return settings.alerts if settings.fdr is None else LORD(settings.fdr)


def _differences(known: list[object], settings: WatchSettings) -> str:
    names = zip(WatchSettings._fields, known, settings, strict=True)
    return ", ".join(f"{name.replace('_', '-')}" for name, old, new in names if old != new)
