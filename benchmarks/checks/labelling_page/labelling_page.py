"""Labelling as people do it: by keys, in headless Chromium, on real tables.

    python benchmarks labelling_page drive --data FOLDER --out OUT   three sets, pictures
    python benchmarks labelling_page kill --out OUT  kill -9 at fifty random moments
    python benchmarks labelling_page latency --out OUT --rows 10000  from a key to the next card
    python benchmarks labelling_page work --out OUT --rows 10000  the same in CPU time

For latency on a quiet machine, two minutes each:

    python benchmarks labelling_page latency --out OUT --rows 10000 --answers 100
    python benchmarks labelling_page latency --out OUT --rows 100000 --answers 60 --kernels linear

It takes Chromium and ``pip install websockets``. What was measured is
printed as JSON.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from checks.labelling_page.chromium import Chromium
from sklearn.datasets import load_breast_cancer

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


def drive_one(name, folder, out, n_answers, pause):
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
    standing = [(a.row, a.label or a.kind) for a in read_answers(f"{data}.labels").standing()
                if a.annotator != OTHER]  # fmt: skip
    origin = urlsplit(url).netloc
    return {
        "set": name, "rows": len(truth), "answers": len(pressed),
        "answers are those pressed": standing == pressed,
        "requests elsewhere": [r for r in page.requests if urlsplit(r).netloc not in (origin, "")],
        "console errors": page.errors, "widest": wide, "finished": finished,
        **told(waits),
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


def told(waits):
    waits = np.array(waits, dtype=float)
    return {"ms p50": round(float(np.median(waits)), 1), "ms p99": round(
        float(np.quantile(waits, 0.99)), 1), "ms worst": round(float(waits.max()), 1)}  # fmt: skip


def drive(args):
    return [drive_one(name, args.data, args.out, args.answers, args.pause) for name in args.sets]


# -- kill -9 ----------------------------------------------------------------------------------


def kill(args):
    """Answers over HTTP and kill -9 at random moments; the file is looked at after each.

    What was confirmed has to be there, nothing that was not sent, and the next server has to know
    it: it never asks for a row that has a confirmed answer.
    """
    rng = np.random.default_rng(args.seed)
    X = rng.normal(size=(5000, 4))
    data = write_table(args.out / "killed.csv", pd.DataFrame(X, columns=list("abcd")))
    command = [sys.executable, str(Path(__file__).parent / "presser.py")]
    confirmed, sent, kills = {}, {}, []
    for number in range(args.times):
        server, url = serve(data, ["yes", "no"])
        presser = subprocess.Popen([*command, url, str(number)], stdout=subprocess.PIPE, text=True)
        first = presser.stdout.readline()
        time.sleep(1.5 * rng.random())
        server.kill()
        server.wait()
        before = {row for row, _ in confirmed.values()}
        for line in [first, *presser.communicate()[0].splitlines()]:
            what, id, row, label = line.split()
            sent[id] = int(row), label
            if what == "confirmed":
                confirmed[id] = int(row), label
        kept = {a.id: (a.row, a.label) for a in read_answers(f"{data}.labels").answers}
        kills.append({
            "kept": len(kept), "lost": sum(kept.get(id) != one for id, one in confirmed.items()),
            "invented": sum(sent.get(id) != one for id, one in kept.items()),
            "asked again": sum(one[0] in before for id, one in sent.items()
                               if id.split(".")[0] == str(number)),
        })  # fmt: skip
        print(number + 1, kills[-1], flush=True)
    return {
        "kills": args.times, "sent": len(sent), "confirmed": len(confirmed),
        "kept": kills[-1]["kept"],
        **{what: sum(one[what] for one in kills) for what in ("lost", "invented", "asked again")},
    }  # fmt: skip


# -- latency ----------------------------------------------------------------------------------


def numbers(args, kernel):
    """A table of numbers in two classes that overlap, and the class of each row."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, args.rows)
    X = rng.normal(size=(args.rows, 20)) + truth[:, None] - 0.5
    frame = pd.DataFrame(X.round(4)).add_prefix("x")
    return write_table(args.out / f"numbers-{kernel}.csv", frame), truth


def latency(args):
    """From a key to the next card, in Chromium, once a machine of two classes is there."""
    found = []
    for kernel in args.kernels:
        data, truth = numbers(args, kernel)
        server, url = serve(data, ["a", "b"], "--kernel", kernel)
        page, waits, since = Chromium(), [], time.monotonic()
        try:
            page.open(url)
            for number in range(_FIRST + args.answers):
                waits.append(page.timed(str(truth[page.run("row")] + 1)))
                if number == _FIRST:
                    page.until(_READY, seconds=400)
                    since = time.monotonic()
                time.sleep(args.pause)
            seconds, memory = time.monotonic() - since, peak_memory(server.pid)
        finally:
            page.close()
            server.send_signal(signal.SIGINT)
            server.wait(timeout=120)
        found.append({"rows": args.rows, "kernel": kernel, "before": told(waits[:_FIRST]),
                      "with an S3VM": told(waits[_FIRST:]), "seconds": round(seconds),
                      "MB": memory})  # fmt: skip
    return found


def work(args):
    """CPU time of a request and of what follows it, where wall times of a busy machine mislead."""
    found = []
    for kernel in args.kernels:
        data, truth = numbers(args, kernel)
        session = Session(data, classes=["a", "b"], kernel=kernel)
        requests, following = [], []
        try:
            for number in range(args.answers):
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
        found.append({"rows": args.rows, "kernel": kernel, "answer and update": told(following),
                      "next card": told(requests), "MB": peak_memory("self")})  # fmt: skip
    return found


def peak_memory(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return round(int(line.split()[1]) / 1e3)
    return None


PROGRAMS = {"drive": drive, "kill": kill, "latency": latency, "work": work}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=list(PROGRAMS))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--kernels", nargs="*", default=["linear", "rbf"])
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between keys")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    args = parser.parse_args()
    if args.what == "drive" and shutil.which("chromium") is None:
        raise SystemExit("Chromium is not installed.")
    args.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(PROGRAMS[args.what](args), indent=1))


if __name__ == "__main__":
    main()
