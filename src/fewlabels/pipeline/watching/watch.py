"""Watch rows of files or standard input: score, rank, bet, alarm, and remember."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_outlier_detector
from sklearn.pipeline import Pipeline

from ..._typing import AnyArray, BoolArray, PathLike
from ..._util.messages import UserError, ref
from ..._util.paths import resolve_path
from ...monitoring import LORD, Monitor
from ...monitoring.monitor import Update
from ...monitoring.scores import why_uncalibrated
from ...tables.columns.schema import Schema
from ...tables.columns.tally import Tally
from ...tables.models.files import ModelFile, read_model
from ...tables.reading.chunks import Chunk, iterate_chunks
from ...tables.user_data import make_source
from ..observer import Observer
from ..options.documentation import takes
from ..options.watch import WatchOptions
from .follower import Follower, check_can_adapt, load_adapted, read_window
from .outputs import JsonLines, closing, records, write_prometheus
from .sources import batches_of_stream, unread_rows
from .state import State, WatchProgress, check_file

if TYPE_CHECKING:
    import pandas as pd

_STDIN = "-"
# What rows are compared with where nothing is known from before them.
_STREAM = "the first rows of the stream"
# Options that decide about alarms: a state belongs to a model and these.
_ALARM_OPTIONS = ("alpha", "run_length", "alerts", "fdr", "adapt", "seed", "empty_rows")


class Watch:
    """A model, its monitor, the state and what was counted."""

    def __init__(self, model: ModelFile, options: WatchOptions, state: State) -> None:
        self.path, self.options, self.state = model.path, options, state
        settings: dict[str, object] = {"model": model.digest}
        settings |= {name: getattr(options, name) for name in _ALARM_OPTIONS}
        known = state.read_value("settings")
        if known is not None and known != [*settings.values()]:
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
        self._flags_empty = (options.empty_rows or self.schema.empty_rows) == "alarm"
        window = None if options.adapt is None else read_window(options.adapt)
        if window is not None:
            check_can_adapt(self.path, metadata, pipeline[-1])
            if known is not None and (content := state.model()) is not None:
                pipeline, metadata = load_adapted(content)
        self.figures = {"rows": 0, "skipped": 0, "alerts": 0, "alarms": 0, "learned": 0}
        self.figures |= state.read_value("figures", {})
        self.rows_before = self.figures["rows"]
        self.follower, self.is_new = None, known is None
        self._why_not = why_uncalibrated(pipeline) if known is None else None
        self.monitor = self._monitor(pipeline, window)
        if window is not None:
            began, epoch = state.read_value("epoch", [0, 1])
            self.follower = Follower(pipeline, metadata, window, options.seed, began, epoch)
        if not state.resume(self.monitor):
            with state:
                state.store("settings", [*settings.values()])
                state.store("calibration", self._reference(pipeline))
                state.begin(self.monitor)
        self.raised = 0

    def _reference(self, pipeline: Pipeline) -> str:
        """Return what rows of the stream are compared with, in words."""
        if self.options.calibration is not None:
            return f"the rows of {self.options.calibration}"
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

    def _monitor(self, pipeline: Pipeline, window: int | None) -> Monitor:
        options = self.options
        rows: pd.DataFrame | str | None = None
        labels = None
        if options.calibration is not None:
            rows, labels = _calibration_rows(options, self.schema)
        elif self.is_new and self._why_not is None:
            rows = "model"
        return Monitor(
            pipeline,
            rows,
            labels,
            score="decision_function",
            alpha=options.alpha,
            run_length=options.run_length,
            alerts=_alert_rule(options),
            window=max(2000, 2 * (window or 0)),
            refits=window is not None,
            random_state=options.seed,
        )

    # -- rows ------------------------------------------------------------------------------------

    def process_chunk(
        self, source: str, chunk: Chunk, progress: WatchProgress, lines: JsonLines
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
                found = records(update, part, flagged, first, self.options.only_alerts)
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
            "run_length": self.options.run_length,
            "alarm": monitor.alarm_ is not None and monitor.run_length is None,
            "evidence": max(-300.0, monitor.log_evidence_ / math.log(10.0)),
            "threshold": self.threshold,
            "calibration": self.state.read_value("calibration"),
            "change": monitor.change() if has_change else None,
        }


@takes(WatchOptions)
def watch(model: PathLike, **options: Any) -> dict[str, Any]:
    """Watch the rows of files or standard input with a model.

    Parameters
    ----------
    model : path-like
        The model file.
    **options
        The fields of ``fewlabels.pipeline.options.watch.WatchOptions``. Rows without a value in
        any column have no p-value and are no evidence of a change.

    Returns
    -------
    dict
        Counts, the evidence, and the :class:`~fewlabels.monitoring.Change` after an alarm.
    """
    asked = WatchOptions.from_given(options)
    _check_request(asked)
    observer = asked.observer or Observer()
    check_file(asked.state)
    read = read_model(model, asked.trusted)
    with contextlib.closing(State(asked.state)) as state:
        try:
            watching = Watch(read, asked, state)
        except ValueError as error:
            raise UserError(str(error)) from error
        if asked.on_start is not None and watching.is_new and watching.blind_spot is not None:
            asked.on_start(observer.words(watching.blind_spot))
        if asked.accept:
            watching.accept()
        with closing(JsonLines(asked.output, state)) as lines:
            for file in asked.files:
                _watch_file(watching, file, asked, lines, observer)
        _publish(watching, asked)
        return watching.summary()


def _check_request(asked: WatchOptions) -> None:
    """Refuse options that leave nothing to do."""
    has_page = asked.report is not None or asked.prometheus is not None
    if not asked.files and not asked.accept and (asked.state is None or not has_page):
        raise UserError(
            "There is nothing to watch; pass files with rows, or - for standard input."
        )
    if asked.accept and asked.state is None:
        raise UserError(
            f"{ref('accept', True)} needs the {ref('state')} of the watch that raised the alarm."
        )


def _watch_file(
    watching: Watch, file: str, asked: WatchOptions, lines: JsonLines, observer: Observer
) -> None:
    """Watch the rows of a file, or of standard input, that aren't counted yet."""
    source = _STDIN if file == _STDIN else str(resolve_path(file))
    counted = watching.state.progress_of(source)
    if source == _STDIN:
        skip = counted.rows if asked.replay else 0
        progress = counted
        chunks = batches_of_stream(
            sys.stdin.buffer, watching.schema, skip, asked.every, asked.reading, asked.form
        )
    else:
        progress, chunks = unread_rows(file, watching.schema, counted, asked.every, asked.reading)
    for chunk in chunks:
        progress, alarms = watching.process_chunk(source, chunk, progress, lines)
        if asked.on_alarm is not None:
            for record in alarms:
                asked.on_alarm(record)
        observer.rows(watching.figures["rows"], chunk.share, what="watched")
        _publish(watching, asked)


def _publish(watching: Watch, asked: WatchOptions) -> None:
    """Write the page and the figures again."""
    if asked.prometheus is not None:
        write_prometheus(asked.prometheus, watching.summary())
    if asked.report is not None:
        from ...report.watching import write_watch_report  # slow to import

        points, monitor = watching.state.points(), watching.monitor
        write_watch_report(asked.report, watching.summary(), points, monitor)


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


def _calibration_rows(
    options: WatchOptions, schema: Schema
) -> tuple[pd.DataFrame, AnyArray | None]:
    """Return complete rows from before the stream, and their classes; None without a target."""
    import pandas as pd

    target = options.target
    source = make_source(options.calibration, **options.reading)
    tally, frames, labels = Tally(source, skip_missing=True), [], []
    for chunk in iterate_chunks(source, schema, tally, None, target, target is not None):
        frames.append(chunk.frame)
        if target is not None:
            labels.append(np.asarray(chunk.target, dtype=object)[chunk.complete])
    frame = pd.concat(frames, ignore_index=True)
    if target is None:
        return frame, None
    classes = ["" if value is None else str(value) for value in np.concatenate(labels)]
    return frame, np.array(classes)


def _alert_rule(options: WatchOptions) -> float | LORD | None:
    if options.alerts is not None and options.fdr is not None:
        raise UserError(
            f"{ref('alerts')} and {ref('fdr')} both choose the alerts; pass one of them."
        )
    return options.alerts if options.fdr is None else LORD(options.fdr)


def _differences(known: list[object], settings: dict[str, object]) -> str:
    names = zip(settings, known, settings.values(), strict=True)
    return ", ".join(f"{name.replace('_', '-')}" for name, old, new in names if old != new)
