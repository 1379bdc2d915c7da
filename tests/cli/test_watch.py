"""``fewlabels watch``: alarms, exit codes, a state that survives kill -9, adaptation."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table


def rows_of(n, seed, hotter=0.0, leaks=0.02):
    rng = np.random.default_rng(seed)
    notes = [
        " ".join(rng.choice(["pump", "valve", "motor", "is", "running", "fine"], 5))
        + (" leaking" if rng.random() < leaks else "")
        for _ in range(n)
    ]
    return pd.DataFrame(
        {
            "temperature": rng.normal(60.0 + hotter, 3.0, n),
            "vibration": rng.normal(0.5, 0.1, n),
            "kind": rng.choice(["A", "B"], n),
            "note": notes,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watch")
    rows_of(250, 1).to_csv(folder / "calm.csv", index=False)
    rows_of(200, 2, 6.0, 0.5).to_csv(folder / "changed.csv", index=False)
    rows_of(200, 3).to_csv(folder / "before.csv", index=False)
    model = fit_table(
        rows_of(150, 0), method="svdd", time_budget=0, report=False, rows=True, baselines=False
    )
    model.save(folder / "model")
    return folder


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_watches_files_and_goes_on_where_it_stopped(folder, run, tmp_path):
    state, out = tmp_path / "watch.db", tmp_path / "out.jsonl"
    options = ("--state", state, "-o", out, "--calibration", folder / "before.csv")
    calm, changed = folder / "calm.csv", folder / "changed.csv"
    first = run("watch", folder / "model", calm, *options)
    assert first.code == 0 and "250 rows watched" in first.err
    again = run("watch", folder / "model", calm, *options)
    assert again.code == 0 and len(lines(out.read_text())) == 250
    assert "0 rows watched, after 250 in earlier calls" in again.err
    found = run(
        "watch", folder / "model", calm, changed, *options, "--every", 30,
        "--report", tmp_path / "page.html", "--prometheus", tmp_path / "watch.prom",
    )  # fmt: skip
    assert found.code == 3 and "Alarm at row" in found.err and "temperature" in found.err
    records = lines(out.read_text())
    assert [record["row"] for record in records] == list(range(1, 451))
    (alarm,) = [record["row"] for record in records if record["alarm"]]
    assert 251 < alarm < 330
    assert re.search(
        r"^fewlabels_watch_rows_total 450$", (tmp_path / "watch.prom").read_text(), re.M
    )
    page = (tmp_path / "page.html").read_text()
    assert "What changed" in page and "leaking" in page and "<script" not in page
    # In one go the same rows give the same lines.
    whole = run("watch", folder / "model", calm, changed, *options[4:])
    assert whole.code == 3 and lines(whole.out) == records
    # The alarm stays until somebody accepts the change.
    assert run("watch", folder / "model", calm, *options).code == 3
    assert run("watch", folder / "model", "--accept", *options).code == 0
    rows_of(300, 5, 6.0, 0.5).to_csv(tmp_path / "later.csv", index=False)
    assert run("watch", folder / "model", tmp_path / "later.csv", *options).code == 0


def command(*arguments):
    return [sys.executable, "-m", "fewlabels.cli", "watch", *map(str, arguments)]


def test_a_file_of_the_same_name_with_other_rows_is_another_file(folder, run, tmp_path):
    state, out, today = tmp_path / "watch.db", tmp_path / "out.jsonl", tmp_path / "today.csv"
    options = ("--state", state, "-o", out, "--calibration", folder / "before.csv", "--every", 40)

    def watched(table):
        table.to_csv(today, index=False)
        assert run("watch", folder / "model", today, *options).code == 0
        return [row["score"] for row in lines(out.read_text())]

    first = rows_of(100, 20)
    first.loc[5, "temperature"] = None
    assert len(watched(first)) == 100
    grown = pd.concat([first, rows_of(30, 21)])  # more rows behind those counted
    assert len(watched(grown)) == 130
    assert len(watched(grown)) == 130
    other = rows_of(150, 22)  # as long, longer and shorter than what was counted
    assert len(watched(other)) == 280
    assert len(watched(rows_of(150, 23))) == 430
    shorter = watched(rows_of(60, 24))
    assert len(shorter) == 490
    # The same first row: only the hash of all rows shows it.
    changed = rows_of(60, 24)
    changed.loc[30, "temperature"] += 1.0
    again = watched(changed)
    assert len(again) == 550
    assert again[490:520] == shorter[430:460] and again[520] != shorter[460]


def test_reads_standard_input_as_it_comes(folder, tmp_path):
    text = (folder / "calm.csv").read_bytes() + b"".join(
        (folder / "changed.csv").read_bytes().splitlines(keepends=True)[1:]
    )
    rows = pd.read_csv(folder / "changed.csv")
    objects = "\n".join(json.dumps(row) for row in rows.to_dict("records")).encode()
    options = ("--calibration", folder / "before.csv")
    csv = subprocess.run(
        command(folder / "model", "-", *options, "--only-alerts", "--alerts", "0.05"),
        input=text, capture_output=True, timeout=120,
    )  # fmt: skip
    assert csv.returncode == 3, csv.stderr
    assert all(record["alert"] or record["alarm"] for record in lines(csv.stdout.decode()))
    jsonl = subprocess.run(
        command(folder / "model", "-", *options, "--quiet"), input=objects, capture_output=True,
        timeout=120,
    )  # fmt: skip
    assert jsonl.returncode == 3 and not jsonl.stderr
    assert len(lines(jsonl.stdout.decode())) == 200


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_survives_kill_9_at_any_moment(folder, run, tmp_path):
    state, out = tmp_path / "watch.db", tmp_path / "out.jsonl"
    long = tmp_path / "long.csv"
    pd.concat([rows_of(700, 7), rows_of(300, 8, 1.5)]).to_csv(long, index=False)
    arguments = (
        folder / "model", long, "--state", state, "-o", out, "--every", 10,
        "--calibration", folder / "before.csv",
    )  # fmt: skip
    rng, counted = np.random.default_rng(0), [0]
    for _ in range(3):
        process = subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        before = out.stat().st_size if out.exists() else 0
        while process.poll() is None and time.monotonic() < deadline:
            if out.exists() and out.stat().st_size > before:
                break
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.wait()
        with closing(sqlite3.connect(state)) as base:
            (value,) = base.execute("SELECT value FROM facts WHERE name = 'figures'").fetchone()
        counted.append(json.loads(value)["rows"])
    assert counted == sorted(counted) and counted[-1] > 0
    run("watch", *arguments)
    assert [record["row"] for record in lines(out.read_text())] == list(range(1, 1001))
    whole = run("watch", *arguments[:2], *arguments[-2:], "--every", 5)
    assert lines(whole.out) == lines(out.read_text())


def test_adapts_to_the_last_rows(folder, run, tmp_path):
    state = tmp_path / "watch.db"
    rows_of(450, 9).to_csv(tmp_path / "slow.csv", index=False)
    options = ("--state", state, "--adapt", "window=100", "--calibration", folder / "before.csv")
    assert run("watch", folder / "model", tmp_path / "slow.csv", *options).code == 0
    with closing(sqlite3.connect(state)) as base:
        (value,) = base.execute("SELECT value FROM facts WHERE name = 'figures'").fetchone()
        assert base.execute("SELECT COUNT(*) FROM models").fetchone() == (1,)
    assert 200 < json.loads(value)["learned"] < 400
    assert run("watch", folder / "model", folder / "changed.csv", *options).code == 3
    assert run("watch", folder / "model", "--accept", *options).code == 0
    rows_of(300, 11, 6.0, 0.5).to_csv(tmp_path / "later.csv", index=False)
    assert run("watch", folder / "model", tmp_path / "later.csv", *options).code == 0


def test_what_cannot_be_done_is_said(folder, run, tmp_path):
    model, calm, state = folder / "model", folder / "calm.csv", tmp_path / "watch.db"
    assert run("watch", model, calm, "--state", state, "-q").code == 0
    text = tmp_path / "text.db"
    text.write_text("no data base, but long enough to be taken for one" * 40)
    short = tmp_path / "short.csv"
    short.write_text("".join((folder / "calm.csv").read_text().splitlines(keepends=True)[:50]))
    odd = tmp_path / "odd.csv"
    odd.write_text("temperature,vibration,kind,note\nhot,1,A,x y z\n")
    ring = tmp_path / "ring.csv"
    ring.symlink_to(ring)
    for arguments, words in (
        ((model,), "nothing to watch"),
        ((model, "--accept"), "--accept needs the --state"),
        ((model, "--accept", "--state", state), "no alarm to accept"),
        ((model, calm, "--state", state, "--alpha", 0.1), "other settings"),
        ((model, calm, "--state", text), "can't be used as a state"),
        ((model, calm, "--state", tmp_path / "none" / "s.db"), "folder doesn't exist"),
        ((model, calm, "--alpha", 2), "alpha=2.0 is not allowed"),
        ((model, calm, "--alerts", 0.1, "--fdr", 0.1), "pass one of them"),
        ((model, calm, "--adapt", "rows=3"), "must be window=N"),
        ((calm, calm), "not a fewlabels model"),
        ((model, odd), "Column 'temperature' holds numbers"),
        ((model, tmp_path / "nowhere.csv"), "nowhere.csv"),
        ((model, ring), "is a link to itself"),
    ):
        result = run("watch", *arguments)
        assert result.code == 2 and words in result.err, (arguments, result.err)
    os.replace(short, calm.with_name("was-longer.csv"))
    longer = folder / "was-longer.csv"
    longer.write_text(calm.read_text())
    assert run("watch", model, longer, "--state", tmp_path / "t.db", "-q").code == 0
    longer.write_text("".join(calm.read_text().splitlines(keepends=True)[:50]))
    result = run("watch", model, longer, "--state", tmp_path / "t.db")
    assert result.code == 2 and "rows were removed" in result.err


def test_rows_without_a_score_are_passed_over(folder, run, tmp_path):
    rows = rows_of(40, 12)
    rows.loc[3, "temperature"] = np.nan
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    result = run("watch", folder / "model", tmp_path / "gaps.csv", "-q")
    records = lines(result.out)
    assert len(records) == 40 and (records[3]["score"] is None) == (records[3]["p_value"] is None)


def test_a_device_may_be_the_output(folder, run):
    result = run("watch", folder / "model", folder / "calm.csv", "-o", os.devnull)
    assert result.code == 0, result.err


def test_rows_of_the_page_show_the_columns_that_changed(run, tmp_path):
    def numbers(n, seed, site):
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
        return rows.assign(site=rng.choice(["north", "south"], n, p=site))

    fit_table(
        numbers(300, 0, [0.95, 0.05]), method="svdd", time_budget=0, report=False,
        baselines=False,
    ).save(tmp_path / "model")  # fmt: skip
    numbers(200, 1, [0.95, 0.05]).to_csv(tmp_path / "before.csv", index=False)
    calm, changed = numbers(100, 2, [0.95, 0.05]), numbers(300, 3, [0.05, 0.95])
    pd.concat([calm, changed]).to_csv(tmp_path / "rows.csv", index=False)
    found = run(
        "watch", tmp_path / "model", tmp_path / "rows.csv", "--calibration",
        tmp_path / "before.csv", "--report", tmp_path / "page.html", "-o", tmp_path / "o.jsonl",
    )  # fmt: skip
    assert found.code == 3, found.err
    page = (tmp_path / "page.html").read_text()
    rows = page[page.index("Rows since the change") :]
    heads = re.findall(r"<th[^>]*>([^<]+)</th>", rows)[:8]
    assert heads[:4] == ["Row", "Score", "P-value", "site"]
    assert {*heads[4:]} < {*"abcdef"} and "south" in rows
