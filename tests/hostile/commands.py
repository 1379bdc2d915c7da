"""Cases over commands: where they write, and what their options may be."""

import contextlib
import functools
import os
import resource
import signal
import socket
import subprocess
import sys
import time

import numpy as np

from . import shell
from .verdict import require

_NUMBERS = [
    "0", "-1", "1", "2", "0.5", "nan", "inf", "-inf", "1e300", "-1e300", "1e-300", "1e999", "",
    " ", "x", "0x10", "1_0", "\u0663", "9" * 400, "--", "None", "true", "1,5", "1e-9", "3.0",
    "-0", "18446744073709551616", "NaN", "[1]", "\x00",
]  # fmt: skip
_FIT = [
    "--C", "--C-star", "--balance", "--nu", "--slack", "--prior", "--bags", "--lam", "--loss",
    "--threshold", "--kernel", "--gamma", "--degree", "--coef0", "--time-budget", "--tol",
    "--max-iter", "--max-time", "--cache-size", "--n-jobs", "--seed", "--target-fpr", "--target",
    "--normal", "--positive", "--unlabeled", "--drop", "--categorical", "--keep", "--missing",
    "--method", "--report",
]  # fmt: skip
OPTIONS = {
    "fit": _FIT,
    "predict": ["--prefix", "--n-jobs", "--skip-missing"],
    "explain": ["--row", "--top", "--seed", "--n-jobs", "--background"],
    "update": ["--block", "--target", "--output"],
    "prior": ["--method", "--confidence", "--convention", "--n-jobs", "--seed", "--positive"],
    "export": ["--dtype"],
}
_WORDS = ["rbf", "linear", "sigmoid", "none", "auto", "labels", "width", "colour", "good", "bad"]


@functools.cache
def _model(kind):
    with shell.folder() as place:
        shell.fit_model(place / "m", shell.table(np.random.default_rng(7)), kind, "--rows")
        return (place / "m").read_bytes()


# -- places to write to -----------------------------------------------------------------------


def _folder(place, name):
    (place / name).mkdir()
    return place / name


def _loop(place, name):
    os.symlink(place / f"b{name}", place / name)
    os.symlink(place / name, place / f"b{name}")
    return place / name


def _self_loop(place, name):
    os.symlink(name, place / name)
    return place / name


def _dangling(place, name):
    os.symlink(place / "no" / "folder" / name, place / name)
    return place / name


def _link_to_input(place, name):
    os.symlink(place / "d.csv", place / name)
    return place / name


def _hard_link_to_input(place, name):
    os.link(place / "d.csv", place / name)
    return place / name


def _below_a_file(place, name):
    return place / "d.csv" / name


def _fifo(place, name):
    os.mkfifo(place / name)
    return place / name


def _socket(place, name):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as found:
        before = os.getcwd()
        os.chdir(place)
        found.bind(name)
        os.chdir(before)
    return place / name


def _link_to(target):
    def make(place, name):
        os.symlink(target, place / name)
        return place / name

    return make


def _other_file(place, name):
    (place / name).write_bytes(b"what somebody else wrote\n")
    return place / name


PLACES = {
    "a folder": _folder,
    "a loop of links": _loop,
    "a link to itself": _self_loop,
    "a link to nowhere": _dangling,
    "a link to the input": _link_to_input,
    "a hard link to the input": _hard_link_to_input,
    "the input": lambda place, name: place / "d.csv",
    "the model": lambda place, name: place / "m",
    "below a file": _below_a_file,
    "in no folder": lambda place, name: place / "no" / name,
    "a pipe": _fifo,
    "a socket": _socket,
    "a device": lambda place, name: "/dev/null",
    "a full device": lambda place, name: "/dev/full",
    "a link to a device": _link_to("/dev/full"),
    "a link to a folder": _link_to("."),
    "another file": _other_file,
    "a name of 300 letters": lambda place, name: place / ("n" * 300 + name),
    "a name of 250 letters": lambda place, name: place / ("n" * (250 - len(name)) + name),
    "a path of 5000 letters": lambda place, name: place / "/".join(["n" * 200] * 25) / name,
    "no name": lambda place, name: "",
    "here": lambda place, name: ".",
    "the root": lambda place, name: "/",
    "a NUL in the name": lambda place, name: str(place / f"a\0{name}"),
    "a line end in the name": lambda place, name: place / f"a\n{name}",
    "a bad letter in the name": lambda place, name: str(place / f"a\udcff{name}"),
    "a hidden name": lambda place, name: place / f".{name}",
    "upper case": lambda place, name: place / name.upper(),
    "no extension": lambda place, name: place / name.partition(".")[0],
    "another extension": lambda place, name: place / f"{name}.xlsx",
    "a slash behind": lambda place, name: f"{place / name}/",
    "in proc": lambda place, name: f"/proc/self/{name}",
    "in sys": lambda place, name: f"/sys/{name}",
}


class Case:
    """A command with a hostile option, output, or end."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([13, 5, seed])
        self.kind = str(rng.choice(list(shell.TARGETS)))
        what = rng.random()
        self.values = []
        if what < 0.04:
            self.way, self.command = "killed", "fit"
        elif what < 0.12:
            self.way = "full disk"
            self.command = str(rng.choice(["fit", "predict", "update", "export", "report"]))
        elif what < 0.45:
            self.way = str(rng.choice(list(PLACES)))
            self.command = str(rng.choice(["fit", "predict", "update", "export", "report"]))
        else:
            self.way = "options"
            self.command = str(rng.choice(list(OPTIONS), p=[0.5, 0.1, 0.15, 0.1, 0.1, 0.05]))
            if self.command == "fit" and rng.random() < 0.1:
                self.values = [
                    str(v) for v in rng.choice([["--max-iter", "0"], ["--max-time", "1e-9"]])
                ]
            for _ in range(int(rng.choice([1, 1, 2])) if not self.values else 0):
                values = _NUMBERS if rng.random() < 0.8 else _WORDS
                option = str(rng.choice(OPTIONS[self.command]))
                self.values += [option, values[int(rng.integers(len(values)))]]

    def describe(self):
        values = " ".join(repr(v) if len(v) < 30 else repr(v[:30]) + "..." for v in self.values)
        return f"{self.command} ({self.kind}): {self.way} {values}".strip()

    def __call__(self):
        with shell.folder() as place:
            frame = shell.table(self.rng, 40)
            frame.to_csv(place / "d.csv", index=False)
            if self.command != "fit" and self.command != "report":
                (place / "m").write_bytes(_model(self.kind))
            if self.way == "killed":
                return self._killed(place)
            if self.way == "full disk":
                return self._full(place)
            if self.way == "options":
                return self._options(place)
            names = {"predict": "o.csv", "export": "o.onnx", "report": "o.html"}
            out = PLACES[self.way](place, names.get(self.command, "o"))
            devices = {
                d: os.stat(d).st_mode for d in ("/dev/null", "/dev/full") if os.path.exists(d)
            }
            answer = self._run(place, out)
            for name, mode in devices.items():
                require(os.stat(name).st_mode == mode, f"replaces {name}")
            return answer.verdict

    def _run(self, place, out, *more):
        model, data = place / "m", place / "d.csv"
        writes = [out, os.path.realpath(out) if "\0" not in str(out) else out]
        if self.command == "fit":
            arguments = ["fit", data, "-o", out, *shell.TARGETS[self.kind], *shell.QUICK]
        elif self.command == "report":
            arguments = ["fit", data, "-o", model, *shell.TARGETS[self.kind], "--report", out]
            arguments += ["--time-budget", 0, "--no-baselines", "--n-jobs", 1]
            writes.append(model)
        elif self.command == "predict":
            arguments = ["predict", model, data, "-o", out]
        elif self.command == "update":
            arguments = ["update", model, data, "-o", out]
        else:
            arguments = ["export", model, "-o", out]
        return shell.run(*arguments, *more, within=place, writes=writes)

    def _options(self, place):
        model, data, out = place / "m", place / "d.csv", place / "out.csv"
        first = {
            "fit": [data, "-o", model, *shell.TARGETS[self.kind]],
            "predict": [model, data, "-o", out],
            "explain": [model, data, *([] if "--row" in self.values else ["--row", "1"])],
            "update": [model, data],
            "prior": [data, "--target", "pu", "--n-jobs", "1"],
            "export": [model, "-o", place / "o.onnx"],
        }[self.command]
        if self.command == "fit":
            names = self.values[::2]
            first += [] if "--report" in names else ["--no-report"]
            first += [] if "--time-budget" in names else ["--time-budget", "0"]
        # What an option names may be written, too.
        writes = [model, out, place / "o.onnx"]
        before = os.getcwd()
        os.chdir(place)
        try:
            writes += [place / v for v in self.values[1::2] if "\0" not in v and len(v) < 200]
            answer = shell.run(self.command, *first, *self.values, within=place, writes=writes)
        finally:
            os.chdir(before)
        if self.command == "fit" and self.values[0] in ("--max-iter", "--max-time"):
            stopped = self.values[1] in ("0", "1e-9")
            require(answer.code in (2, 3) or not stopped, f"{self.values} ends with {answer.code}")
        return answer.verdict

    def _full(self, place):
        """No file may become larger than some bytes."""
        out = place / {"predict": "o.csv", "export": "o.onnx", "report": "o.html"}.get(
            self.command, "o"
        )
        limit = int(self.rng.choice([0, 1, 300, 3000]))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            answer = self._run(place, out)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        return answer.verdict

    def _killed(self, place):
        """kill -9 somewhere, and the same command again."""
        model = place / "m"
        arguments = [
            sys.executable, "-m", "fewlabels.cli", "fit", place / "d.csv", "-o", model,
            *shell.TARGETS[self.kind], *shell.QUICK,
        ]  # fmt: skip
        process = subprocess.Popen(
            [str(a) for a in arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # Where a temporary file is there, it is being written.
        until = time.monotonic() + 20.0
        while time.monotonic() < until and process.poll() is None:
            if any(name.endswith(".tmp") for name in os.listdir(place)):
                break
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        left = [name for name in os.listdir(place) if name not in ("d.csv", "m")]
        for name in left:  # as if it had happened a minute ago
            os.utime(place / name, (time.time() - 60.0,) * 2)
        answer = self._run(place, model)
        require(answer.code == 0, f"after kill -9: {answer.err[:200]}")
        still = [name for name in left if (place / name).exists()]
        require(not still, f"kill -9 leaves {still} also after the next run")
        shell.run("inspect", model, "--json", within=place)
        return None


def make(seed):
    """A case of this area."""
    case = Case(seed)
    return case.describe(), case
