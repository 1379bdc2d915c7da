"""The end of labelling: the table with its labels, or a model made while the page stays open."""

import json
import shlex
import subprocess
import sys
import threading
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from .._util.messages import UserError
from ..pipeline.options.flags import flags
from ..tables.answers.file import AnswerFile
from ..tables.atomic import replacing
from ..tables.formats.registry import is_compressed, table_writer
from ..tables.paths import check_output, output_format
from ..tables.sources import InMemory, Source

_NOT_CONVERGED = 3  # the model is written all the same
_COLUMNS = ("drop", "keep", "text", "categorical")


class RowsWithLabels(Protocol):
    """Rows of a table that can be written with a column of labels."""

    source: Source | InMemory

    def with_labels(self, target: str, labels: dict[int, str]) -> pa.Table: ...


class LabelledTable(Protocol):
    """A table, the labels that people gave its rows, and the file of these."""

    file: AnswerFile
    options: dict[str, Any]
    target: str

    @property
    def rows(self) -> RowsWithLabels: ...

    @property
    def labels(self) -> dict[int, str]: ...


def make_fit_arguments(session: LabelledTable, model: str | PathLike[str]) -> list[str]:
    """Return the arguments of ``fewlabels`` that fit a model to a session's answers."""
    arguments = [
        "fit",
        str(session.rows.source),
        "--labels",
        str(session.file.path),
        "-o",
        str(model),
    ]
    for name, value in session.options.items():
        option, without = flags(name)
        if isinstance(value, bool):
            arguments.append(option if value else without)
        else:
            for item in value if name in _COLUMNS else [value]:
                arguments += [option, str(item)]
    return arguments


def make_fit_command(session: LabelledTable, model: str | PathLike[str]) -> str:
    """Return the command that fits a model to a session's answers, as a user would type it."""
    return shlex.join(["fewlabels", *make_fit_arguments(session, model)])


class ModelFit:
    """Fits to the answers of a session: ``fewlabels fit DATA --labels FILE``, in another process.

    ``model`` and ``report`` are the files that it writes, next to the answers; ``state`` is "",
    "running", "done" or "failed", and ``message`` is the model's name, or why there is none.
    """

    def __init__(self, session: LabelledTable) -> None:
        self.session, self.state, self.message, self.n_labels = session, "", "", 0
        self.model = Path(f"{str(session.file.path).removesuffix('.labels')}.fewlabels")
        self.report = self.model.with_suffix(".html")
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the fit, or refuse it in a sentence."""
        with self._lock:
            if self.state == "running":
                raise UserError("The model is already being fitted; wait for it.")
            if isinstance(self.session.rows.source, InMemory):
                raise UserError(
                    "A model can't be fitted here from a data frame without a file; call "
                    f"fewlabels.fit_table(frame, labels={str(self.session.file.path)!r})."
                )
            self.n_labels = len(self.session.labels)
            if not self.n_labels:
                raise UserError("No row has a label yet; label some rows first.")
            command = [sys.executable, "-m", "fewlabels.cli"]
            self._process = subprocess.Popen(
                [*command, *make_fit_arguments(self.session, self.model), "--json"],
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            self.state, self.message = "running", ""
            threading.Thread(target=self._wait, args=(self._process,), daemon=True).start()

    def _wait(self, process: subprocess.Popen[str]) -> None:
        out, errors = process.communicate()
        with self._lock:
            if process.returncode in (0, _NOT_CONVERGED):
                self.state, self.message = "done", json.loads(out)["method"]
            else:
                lines = errors.strip().splitlines() or [f"exit code {process.returncode}"]
                self.state, self.message = "failed", lines[-1]

    def stop(self) -> None:
        """End the process, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def as_plain(self) -> dict[str, str | int]:
        """Return plain values for JSON."""
        with self._lock:
            return {
                "state": self.state,
                "words": self.message,
                "model": str(self.model),
                "report": str(self.report),
                "n_labels": self.n_labels,
                "command": make_fit_command(self.session, self.model),
            }


def write_labels(session: LabelledTable, path: Path) -> int:
    """Write the table of a session with a column of labels, and return how many rows have one."""
    format = output_format(path)
    check_output(path, inputs=[session.rows.source, session.file.path])
    labels = session.labels
    table = session.rows.with_labels(session.target, labels)
    with replacing(path) as name, table_writer(name, format, is_compressed(path)) as append:
        append(table)
    return len(labels)
