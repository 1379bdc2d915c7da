"""What the benchmark programs share: data, clocks, memory, child processes, tables, pictures."""

from __future__ import annotations

import ctypes
import gc
import math
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import time
import traceback
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

# The sets of ADBench in the data folder, as ``adbench_NAME``.
ADBENCH = [
    "annthyroid", "breastw", "cardio", "http", "landsat", "letter", "magic_gamma", "musk",
    "pageblocks", "satellite", "shuttle", "spambase", "vowels", "waveform", "wbc", "wdbc", "wine",
]  # fmt: skip
# Colours told apart also without colour vision; ours is always the first.
COLOURS = ["#0b63a5", "#d1641a", "#5a8f3c", "#8c6bb1", "#7f7f7f"]


# -- data ------------------------------------------------------------------------------------


def load_set(folder, name):
    """Rows (float64) and labels of a dense set."""
    with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as stored:
        return stored["X"].astype(np.float64), stored["y"]


def standardised(train, *others):
    """All arrays scaled by the mean and deviation of the first; constant columns become 0."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    deviation[deviation <= 1e-12 * np.maximum(1.0, np.abs(mean))] = np.inf
    return tuple((X - mean) / deviation for X in (train, *others))


# -- the machine ---------------------------------------------------------------------------


def machine():
    """What a number depends on: processor, memory, versions, threads, commit."""
    packages = ["numpy", "scipy", "scikit-learn", "clarabel", "pyod", "fewlabels"]
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        cores = os.cpu_count()
    limits = {k: v for k, v in os.environ.items() if k.endswith("_NUM_THREADS")}
    return {
        "processor": _processor(),
        "cores": cores,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": {p: _version(p) for p in packages},
        "commit": _commit(),
        "thread_limits": limits,
        "load_at_start": round(os.getloadavg()[0], 2),
        "date": datetime.now().astimezone().isoformat(timespec="minutes"),
    }


def machine_line(info):
    """``machine()`` as one sentence for a report."""
    versions = ", ".join(f"{k} {v}" for k, v in info["versions"].items() if v)
    return (
        f"{info['processor']}, {info['cores']} cores, {info['memory_gb']} GB; {info['system']}, "
        f"Python {info['python']}; {versions}; commit {info['commit']}; {info['date']}, "
        f"load at start {info.get('load_at_start')}."
    )


def _processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit():
    here = Path(__file__).parent
    try:
        run = lambda *a: subprocess.run(  # noqa: E731
            ["git", *a], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = run("status", "--porcelain", "--untracked-files=no", "--", ":/src")
        return run("rev-parse", "--short", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# -- clocks and memory -----------------------------------------------------------------------


def timed(function, *args, **kwargs):
    """``(seconds, result)`` of one call."""
    started = time.perf_counter()
    result = function(*args, **kwargs)
    return time.perf_counter() - started, result


def fastest(function, first=(), budget=2.0, most=7):
    """The fastest of several calls, as many as fit into ``budget`` seconds (at least one).

    Parameters
    ----------
    function : callable
        Called without arguments.
    first : sequence of float
        Seconds of calls that were made already.

    Returns
    -------
    (float, int)
        Seconds of the fastest call and the number of calls.
    """
    seconds = list(first)
    while not seconds or (sum(seconds) < budget and len(seconds) < most):
        seconds.append(timed(function)[0])
    return min(seconds), len(seconds)


class PeakMemory:
    """``with PeakMemory() as memory: ...`` then ``memory.extra``, in bytes.

    The highest resident memory of this process inside the block minus the resident
    memory before it. Linux: the kernel's high-water mark, set back at the start.
    Elsewhere: by how much the block raised the process's high-water mark. Use in a
    fresh process (``in_child``).
    """

    extra = 0

    def __enter__(self):
        gc.collect()
        _return_freed_memory()
        try:
            Path("/proc/self/clear_refs").write_text("5")  # set VmHWM back to VmRSS
            self._before = _status_bytes("VmRSS")
        except OSError:
            self._before = None
            self._mark = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return self

    def __exit__(self, *exception):
        if self._before is not None:
            self.extra = _status_bytes("VmHWM") - self._before
        else:
            unit = 1 if sys.platform == "darwin" else 1024
            mark = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            self.extra = unit * (mark - self._mark)
        self.extra = max(0, self.extra)


def _return_freed_memory():
    """Ask glibc to hand back what was freed, so that a fit cannot hide in it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        pass


def _status_bytes(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"{field} is not reported")


class ChildFailed(RuntimeError):
    """The child process raised, died, or ran past its limit; the message says which."""


def in_child(function, *args, limit=None):
    """``function(*args)`` in a fresh process; function at a module's top level.

    Parameters
    ----------
    limit : float or None
        Seconds after which the child is killed.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(sender, function, args), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            raise ChildFailed(f"over {limit:g} s")
        outcome, value = receiver.recv()
    except EOFError:
        child.join()
        raise ChildFailed(f"the process died (exit code {child.exitcode})") from None
    finally:
        child.kill()
        child.join()
        receiver.close()
    if outcome == "error":
        raise ChildFailed(value)
    return value


def _answer(sender, function, args):
    try:
        sender.send(("result", function(*args)))
    except Exception:
        sender.send(("error", traceback.format_exc()))


# -- tables and pictures -----------------------------------------------------------------------


def write_text(path, text):
    """Write a file in one step: an interrupted run leaves the old file whole."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


def plain(value):
    """Return a value as JSON holds it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)


def group(records, *fields):
    """Lists of records by the values of some fields, in the order of the first of each."""
    found = {}
    for record in records:
        key = tuple(record.get(name) for name in fields)
        found.setdefault(key if len(fields) > 1 else key[0], []).append(record)
    return found


def mean(records, name):
    """Mean of a figure over the records that have it, or None."""
    values = [record[name] for record in records if record.get(name) is not None]
    return float(np.mean(values)) if values else None


def pivot(records, rows, column, value, form=".3f"):
    """Markdown table of means: a line per value of ``rows``, a column per value of ``column``.

    Parameters
    ----------
    rows : str or tuple of str
        Fields that name a line.
    value : str or callable
        A figure, or a function of the records of a cell.
    """
    rows = (rows,) if isinstance(rows, str) else rows
    columns = list(group(records, column))
    lines = []
    for _, some in group(records, *rows).items():
        cells = group(some, column)
        line = [some[0][name] for name in rows]
        for name in columns:
            here = cells.get(name)
            found = here and (value(here) if callable(value) else mean(here, value))
            line.append(found if found is None or isinstance(found, str) else format(found, form))
        lines.append(line)
    return markdown_table([*rows, *map(str, columns)], lines)


def markdown_table(columns, rows):
    """Markdown table; ``columns`` are titles, cells are strings or numbers."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)


def cell(value):
    """A number with three significant digits; "-" for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return (
            f"{value:.3g}"
            if value == 0 or 1e-3 <= abs(value) < 1e3
            else (f"{value:.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.1e}")
        )
    return str(value)


def figure(*args, **kwargs):
    """``matplotlib.pyplot.subplots`` without a display, in the benchmarks' plain style."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#dddddd",
            "font.size": 10,
            "savefig.dpi": 140,
        }
    )
    return plt.subplots(*args, layout="constrained", **kwargs)


def plain_ticks(axis):
    """Numbers as 0.1, 1, 10 on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def save_figure(fig, path):
    """Save a picture in one step and close it."""
    import matplotlib.pyplot as plt

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.stem + ".part" + path.suffix)
    fig.savefig(draft)
    os.replace(draft, path)
    plt.close(fig)
