"""Output of a watch: JSON lines, and figures for Prometheus."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from ..._typing import BoolArray, PathLike
from ..._util.messages import UserError
from ..._util.paths import is_regular_file, resolve_path
from ...monitoring.monitor import Update
from ...tables.atomic import replacing
from .state import State


class JsonLines:
    """JSON lines for standard output, or for a file that holds each row exactly once.

    The state has the length of the file at the last commit. What a killed process wrote after it
    is cut off.
    """

    def __init__(self, path: PathLike | None, state: State) -> None:
        self.path = path
        if path is None:
            stdout: Any = sys.stdout  # which may be replaced, without a buffer
            self._file: BinaryIO = getattr(stdout, "buffer", stdout)
            return
        self._name = str(resolve_path(path))
        known, length = state.read_value("output", [None, None])
        try:
            self._file = open(path, "ab")
            size = self._file.seek(0, os.SEEK_END)
            if known == self._name and size < length:
                raise UserError(
                    f"{path} is shorter than when it was last written; pass another -o, or "
                    "restore the file."
                )
            if known == self._name:
                self._file.truncate(length)
        except OSError as error:
            raise UserError(f"{path} can't be written: {error.strerror}.") from error
        if known != self._name:
            with state:
                state.store("output", [self._name, size])

    def store(self, records: list[dict[str, Any]], state: State) -> None:
        """Write records as a part of the state's transaction."""
        text = "".join(f"{json.dumps(r, ensure_ascii=False, allow_nan=False)}\n" for r in records)
        self._file.write(text.encode())
        self._file.flush()
        if self.path is not None:
            if is_regular_file(self.path):  # a device or a pipe can't be synchronised
                os.fsync(self._file.fileno())
            state.store("output", [self._name, self._file.seek(0, os.SEEK_END)])

    def close(self) -> None:
        if self.path is not None:
            self._file.close()


def records(
    update: Update, complete: BoolArray, flagged: BoolArray, first: int, only_alerts: bool
) -> list[dict[str, Any]]:
    """Return a record for every row of a batch; rows that are not ``complete`` have no score.

    Of these, rows that are ``flagged`` are alerts. ``first`` is the number of the first row, from
    1, among all rows read.
    """
    found: list[dict[str, Any]] = []
    k = -1
    for place, is_complete in enumerate(complete):
        row: dict[str, Any] = {"row": first + place}
        if not is_complete:
            alert = bool(flagged[place])
            row |= {"score": None, "p_value": None, "alert": alert, "alarm": False}
        else:
            k += 1
            row |= {
                "score": finite(update.scores[k]),
                "p_value": finite(update.p_values[k]),
                "evidence": finite(min(update.log_evidence[k] / math.log(10.0), 1e300)),
                "alert": bool(update.alerts[k]),
                "alarm": bool(update.alarms[k]),
            }
        if not only_alerts or row["alert"] or row["alarm"]:
            found.append(row)
    return found


def finite(value: float) -> float | None:
    """Return a number for JSON, None for one that is infinite."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


_FIGURES = (
    ("fewlabels_watch_rows_total", "counter", "Rows read.", "rows"),
    ("fewlabels_watch_rows_skipped_total", "counter", "Rows without a score.", "skipped"),
    ("fewlabels_watch_alerts_total", "counter", "Rows alerted.", "alerts"),
    ("fewlabels_watch_alarms_total", "counter", "Alarms raised.", "alarms"),
    ("fewlabels_watch_alarm", "gauge", "1 while an alarm isn't accepted.", "alarm"),
    ("fewlabels_watch_evidence_log10", "gauge", "Evidence of a change, log10.", "evidence"),
    (
        "fewlabels_watch_threshold_log10",
        "gauge",
        "Evidence that raises an alarm, log10.",
        "threshold",
    ),
)


def write_prometheus(path: PathLike, figures: dict[str, Any]) -> None:
    """Write figures in Prometheus' text format; readers see an old file or a new one."""
    lines = []
    for name, kind, about, key in _FIGURES:
        lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
        lines += [f"{name} {float(figures[key]):.12g}"]
    with replacing(path) as temporary:
        temporary.write_text("\n".join([*lines, ""]), encoding="utf-8")


@contextlib.contextmanager
def closing(lines: JsonLines) -> Iterator[JsonLines]:
    try:
        yield lines
    finally:
        lines.close()
