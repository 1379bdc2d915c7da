"""Labelling as people do it: by keys, in headless Chromium, on real tables.

drive    Three sets (--data): keys, undo, skipped rows; whether the file holds the answers that
         were pressed, requests to other servers, errors of the console, pictures of every view.
latency  Milliseconds from a key to the next card, in Chromium, once a model of two classes is
         there. Use an idle computer.
work     The same in CPU time, in one process, where wall times of a busy computer mislead.

drive and latency need Chromium and ``pip install websockets``.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from shared.common import group, markdown_table
from sklearn.datasets import load_breast_cancer
from study import Case, Setting, Study

from fewlabels.labelling.session import Session
from fewlabels.tables.answers.file import read_answers

WIDE, PHONE = 1280, 390
OTHER = "somebody-else"
# Keys before those that are timed with an S3VM, and what says that it is there.
_FIRST = 12
_READY = "call('overview').then((o) => o.machine.includes('S3VM') && !o.busy)"


def serve(data, classes, *options):
    """A server over a table, and the address that it prints."""
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "fewlabels.cli", "label", str(data), "--classes",
         ",".join(classes), "--no-browser", *options],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    line = server.stdout.readline()
    if " at " not in line:
        raise SystemExit(f"the server said {line!r}")
    return server, line.split(" at ")[1].strip()


def write_table(path, frame):
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.labels").unlink(missing_ok=True)
    frame.to_csv(path, index=False)
    return path


# -- three real sets --------------------------------------------------------------------------


def hunt(folder, out):
    """Odd heart beats of foetuses: a hunt."""
    found = np.load(folder / "adbench_cardio.npz")
    frame = pd.DataFrame(found["X"]).add_prefix("sensor ")
    return write_table(out / "hunt.csv", frame.round(4)), ["odd", "usual"], 1 - found["y"], []


def two(folder, out):
    """Breast cells: two classes."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return write_table(out / "two.csv", X), ["malignant", "benign"], y.to_numpy(), []


def five(folder, out):
    """Five newsgroups, by their words."""
    import scipy.sparse as sp

    X, y = sp.load_npz(folder / "mini_newsgroups_X.npz").tocsr(), np.load(
        folder / "mini_newsgroups_y.npz", allow_pickle=False
    )  # fmt: skip
    names = y["vocabulary"]
    target = y["y"]
    groups = np.unique(target)[::4][:5]
    rows = np.flatnonzero(np.isin(target, groups))
    texts = []
    for row in rows:
        words = X.indices[X.indptr[row] : X.indptr[row + 1]]
        texts.append(" ".join(names[k] for k in words[:200]))
    truth = np.searchsorted(groups, target[rows])
    classes = [str(y["groups"][g]) for g in groups]
    frame = pd.DataFrame({"text": texts})
    return write_table(out / "five.csv", frame), classes, truth, ["--text", "text"]


SETS = {"hunt": hunt, "two": two, "five": five}


def drive(name, folder, out, n_answers, pause):
    """Answer rows of a set by keys, and compare the file with the keys."""
    from .chromium import Chromium

    out.mkdir(parents=True, exist_ok=True)
    data, classes, truth, options = SETS[name](folder, out)
    server, url = serve(data, classes, *options)
    page, rng, pressed, waits = Chromium(), random.Random(0), [], []
    finished = None
    try:
        page.size(WIDE)
        page.open(url)
        while len(pressed) < n_answers:
            time.sleep(pause)
            row = page.run("row")
            chance = rng.random()
            if chance < 0.04 and pressed:
                waits.append(page.timed("u"))
                pressed.pop()
                continue
            key = "d" if chance < 0.06 else "s" if chance < 0.08 else str(truth[row] + 1)
            waits.append(page.timed(key))
            what = {"d": "unknown", "s": "skip"}.get(key) or classes[truth[row]]
            pressed.append((row, what))
        if name == "two":
            disagree(page, pressed[-1][0], classes, truth)
            finished = finish(page, out)
        pictures(page, out, name)
        if name == "five":
            page.run("location.reload(); 0")
            time.sleep(2.0)
            page.until("typeof state !== 'undefined' && state !== null")
        wide = page.run("document.documentElement.scrollWidth")
    finally:
        page.close()
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)
    kept = [(a.row, a.label or a.kind) for a in read_answers(f"{data}.labels").standing()
            if a.annotator != OTHER]  # fmt: skip
    origin = urlsplit(url).netloc
    return {
        "rows": len(truth), "answers": len(pressed), "answers are those pressed": kept == pressed,
        "requests elsewhere": [r for r in page.requests if urlsplit(r).netloc not in (origin, "")],
        "console errors": page.errors, "widest": wide, "finished": finished, **quantiles(waits),
    }  # fmt: skip


def disagree(page, row, classes, truth):
    """Somebody else says something else of a row, which the list of rows then shows."""
    label = classes[1 - truth[row]]
    given = {"id": "other", "annotator": OTHER, "row": row, "kind": "label", "label": label}
    page.run(f"call('answer', {json.dumps(given)})")
    page.run("show('rows')")
    page.until(f"el('view-rows').textContent.includes('{OTHER}: {label}')")


def finish(page, out):
    """Press the button that ends with a model and its report; what the page says then."""
    page.run("show('progress')")
    page.until("document.querySelector('#finish button')")
    page.run("document.querySelector('#finish button').click(); 0")
    page.until("document.querySelector('#finish a')", seconds=500)
    page.picture(out / "finished.png")
    report = page.run("fetch(document.querySelector('#finish a').href).then((r) => r.text())")
    return {"said": page.run("el('finish').textContent"), "report": report[:40]}


def pictures(page, out, name):
    """Every view, wide and on a phone, light and dark."""
    for view in ("label", "progress", "rows", "search"):
        page.run(f"show('{view}'); 0")
        time.sleep(1.5)
        for width, dark in ((WIDE, False), (PHONE, False), (WIDE, True), (PHONE, True)):
            page.size(width, 900 if width == WIDE else 844, dark)
            time.sleep(0.2)
            page.picture(out / f"{name}-{view}-{width}{'-dark' if dark else ''}.png")
            broad = page.run("document.documentElement.scrollWidth")
            if broad > width:
                print(f"{name}, {view}: {broad} wide on a page of {width}")
    page.size(WIDE)
    page.run("show('label'); 0")


def quantiles(waits):
    waits = np.array(waits, dtype=float)
    return {"ms p50": round(float(np.median(waits)), 1), "ms p99": round(
        float(np.quantile(waits, 0.99)), 1), "ms worst": round(float(waits.max()), 1)}  # fmt: skip


# -- latency ----------------------------------------------------------------------------------


def numbers(folder, n):
    """A table of numbers in two classes that overlap, and the class of each row."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 20)) + truth[:, None] - 0.5
    frame = pd.DataFrame(X.round(4)).add_prefix("x")
    return write_table(Path(folder) / "numbers.csv", frame), truth


def latency(kernel, n, n_answers, pause):
    """Milliseconds from a key to the next card."""
    from .chromium import Chromium

    with tempfile.TemporaryDirectory() as folder:
        data, truth = numbers(folder, n)
        server, url = serve(data, ["a", "b"], "--kernel", kernel)
        page, waits, since = Chromium(), [], time.monotonic()
        try:
            page.open(url)
            for number in range(_FIRST + n_answers):
                waits.append(page.timed(str(truth[page.run("row")] + 1)))
                if number == _FIRST:
                    page.until(_READY, seconds=400)
                    since = time.monotonic()
                time.sleep(pause)
            seconds, memory = time.monotonic() - since, peak_memory(server.pid)
        finally:
            page.close()
            server.send_signal(signal.SIGINT)
            server.wait(timeout=120)
    return {**quantiles(waits[_FIRST:]), "before the model": quantiles(waits[:_FIRST]),
            "seconds": round(seconds), "MB": memory}  # fmt: skip


def work(kernel, n, n_answers):
    """CPU milliseconds of the next card, and of an answer and the update that follows it."""
    with tempfile.TemporaryDirectory() as folder:
        data, truth = numbers(folder, n)
        session = Session(data, classes=["a", "b"], kernel=kernel)
        requests, following = [], []
        try:
            for number in range(n_answers):
                row = session.card("me")["row"]
                since = time.process_time()
                session.answer(id=str(number), annotator="me", row=row, kind="label",
                               label="ab"[truth[row]])  # fmt: skip
                following.append(1e3 * (time.process_time() - since))
                since = time.process_time()
                session.card("me")
                requests.append(1e3 * (time.process_time() - since))
                session.catch_up(leave_out=False)
        finally:
            session.close()
    return {**quantiles(requests), "answer and update": quantiles(following),
            "MB": peak_memory("self")}  # fmt: skip


def peak_memory(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return round(int(line.split()[1]) / 1e3)
    return None


def cases(options):
    if "drive" in options.parts and options.data is not None:
        for name in options.sets:
            yield Case(
                {"part": "drive", "set": name},
                drive,
                (name, options.data, options.out, options.answers, options.pause),
            )
    for part, function, more in (("latency", latency, (options.pause,)), ("work", work, ())):
        for kernel in options.kernels if part in options.parts else ():
            for n in options.rows:
                yield Case(
                    {"part": part, "rows": n, "kernel": kernel},
                    function,
                    (kernel, n, options.answers, *more),
                    apart=True,
                )


def report(results):
    for part, some in group(results.records, "part").items():
        yield f"## {part}"
        columns = list(some[0])[1:]
        yield markdown_table(columns, [[r.get(key) for key in columns] for r in some])


STUDY = Study(
    __doc__,
    cases,
    report,
    data="optional",
    choices={
        "parts": ["drive", "latency", "work"],
        "sets": list(SETS),
        "kernels": ["linear", "rbf"],
    },
    settings={
        "answers": Setting(100, "answers of a set or table"),
        "rows": Setting([10_000], "rows of tables for latency and work"),
        "pause": Setting(0.3, "seconds between keys"),
    },
    quick={"parts": ["work"], "rows": [1000], "answers": 20},
)
