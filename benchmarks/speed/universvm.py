"""UniverSVM, a program of its own in C++.

It isn't packaged, and its licence is the GPL: compile its four sources apart from this repository
with ``g++ -std=gnu++98 -O3``, and name the program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

_UNLABELED = -3  # UniverSVM's mark


@dataclass
class UniverSVMModel:
    """What UniverSVM found: coefficients of the training rows, bias, seconds, memory.

    ``coef`` includes the virtual row's, spread over the unlabelled rows.
    """

    coef: np.ndarray
    bias: float
    seconds: float
    peak_mb: float


def run_universvm(program, X, y, *, options, limit=None):
    """Train UniverSVM on rows with y in (-1, 1) and -3 for unlabelled ones.

    Parameters
    ----------
    program : path
        The binary.
    options : dict
        Its own options: ``{"t": 2, "g": 0.02}`` for ``-t 2 -g 0.02``.
    limit : float or None
        Seconds.

    Returns
    -------
    UniverSVMModel
        Seconds are those of the whole process: reading the file and training.
    """
    if not program or not Path(program).is_file():
        raise ImportError(f"no UniverSVM program ({program}); name one with --universvm")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_rows(folder / "train", X, y)
        command = [str(Path(program).resolve())]
        for key, value in options.items():
            command += [f"-{key}", f"{value:.17g}"]
        command.append("train")
        command.append("model")
        seconds, peak_mb = _watched(command, folder, limit)
        coef, bias = _read_model(folder / "model", X, y == _UNLABELED)
    return UniverSVMModel(coef, bias, seconds, peak_mb)


def write_rows(path, X, y):
    """LIBSVM's text format."""
    X = sparse.csr_matrix(X)
    with open(path, "w") as file:
        for label, first, last in zip(y, X.indptr, X.indptr[1:], strict=False):
            entries = zip(X.indices[first:last], X.data[first:last], strict=True)
            row = " ".join(f"{column + 1}:{value:.17g}" for column, value in entries)
            file.write(f"{int(label)} {row}\n")


def _watched(command, folder, limit):
    """Seconds and peak memory of a process; an error or a late end raises."""
    started = time.perf_counter()
    with open(folder / "printed", "w") as printed:
        process = subprocess.Popen(command, cwd=folder, stdout=printed, stderr=printed)
    timer = threading.Timer(limit, process.kill) if limit else None
    if timer:
        timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        if timer:
            timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if limit and seconds >= limit:
        raise TimeoutError(f"over {limit:g} s")
    if process.returncode != 0:
        last = (folder / "printed").read_text().strip().splitlines()[-1:] or [""]
        raise RuntimeError(f"exit code {process.returncode}: {last[0][:200]}")
    return seconds, usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _read_model(path, X, unlabeled):
    """Coefficients of all training rows and the bias of a dense model file."""
    lines = path.read_text().splitlines()
    header = dict(line.split(" ", 1) for line in lines[: lines.index("SV")])
    coef = np.zeros(X.shape[0])
    row = 0
    for line in lines[lines.index("SV") + 1 :][: int(header["total_sv"])]:
        alpha, *entries = line.split()
        values = np.zeros(X.shape[1])
        for entry in entries:
            column, value = entry.split(":")
            values[int(column) - 1] = float(value)
        # Support vectors are printed in the order of the rows, kept in single precision.
        while not np.allclose(X[row], values, rtol=1e-5, atol=1e-7):
            row += 1
        coef[row] = float(alpha)
        row += 1
    coef[unlabeled] += float(header.get("alpha0", 0.0)) / unlabeled.sum()
    return coef, float(header["b0"])
