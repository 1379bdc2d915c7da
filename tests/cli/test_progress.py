"""How long a job will go on, in words."""

import io
import math

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress

from fewlabels import SVDD
from fewlabels.cli import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_of_a_share(clock):
    job = progress.TimeLeftByShare()
    assert job.words(0.0) == ""
    clock[0] += 1.0
    assert job.words(0.5) == ""  # too early
    clock[0] += 59.0
    assert job.words(0.01) == ""
    assert job.words(0.25) == ", about 3 min left"
    assert job.words(0.8) == ", about 15 s left"
    assert job.words(0.99) == ""


@pytest.mark.parametrize(("factor", "rounds"), [(0.1, 5), (0.5, 12)])
def test_of_rounds_whose_violation_falls_geometrically(factor, rounds):
    job, tolerance = progress.TimeLeftByRounds(), factor**rounds * 1.0001
    for k in range(rounds):
        entry = {"round": k + 1, "violation": factor**k, "tolerance": tolerance,
                 "seconds": 60.0 * (k + 1)}  # fmt: skip
        to_come = rounds - k - 1
        told = f", about {to_come} min left" if k and to_come else ""
        assert job.words(entry) == told
    # Another problem begins anew.
    assert job.words({**entry, "round": 1, "seconds": 2000.0}) == ""


def test_what_cannot_be_told():
    job = progress.TimeLeftByRounds()
    for k, violation in enumerate([1.0, 2.0, 3.0, 0.0, math.nan]):
        entry = {"round": k + 1, "violation": violation, "tolerance": 1e-3, "seconds": 100.0 * k}
        assert job.words(entry) == ""
    assert job.words({"round": 7}) == "" == progress.describe_time_left(math.nan)


def test_of_a_fit(rng):
    """The time that is told is that which remains, but for a factor."""
    job, told = progress.TimeLeftByRounds(), []
    machine = SVDD(tol=1e-8, slack="linear", nu=0.3)
    machine.fit(rng.normal(size=(4000, 5)), callback=lambda entry: told.append(dict(entry)))
    last, known = told[-1]["round"], []
    for entry in told:  # as if each round took a minute
        words = job.words({**entry, "seconds": 60.0 * entry["round"]})
        if "min" in words:
            known.append((int(words.split()[2]), last - entry["round"]))
    assert len(known) >= 3
    assert np.median([abs(math.log((said + 1) / (rest + 1))) for said, rest in known]) < math.log(
        2
    )


def test_what_a_terminal_shows(clock):
    bar = Progress(*progress._columns(False), console=Console(file=io.StringIO(), width=150))
    line = progress._LineObserver(bar, bar.add_task("reading", total=1.0), False)

    def shown():
        return bar.tasks[0].description

    line.report_stage("encoding")
    clock[0] += 60.0
    line.rows(1000, 0.5, 2000, "encoded")
    assert shown() == "1,000 of 2,000 rows encoded, about 1 min left"
    line.report_stage("learning")
    line.passes(0.1)
    clock[0] += 60.0
    line.passes(0.5)
    assert shown() == "pass 1 over the rows, 50 %, about 1 min left of it"
    line.passes(1.0)
    assert shown() == "pass 2 over the rows, 0 %"
    for k in range(2):
        line.round({"round": k + 1, "violation": 10.0**-k, "tolerance": 1e-3,
                    "seconds": 60.0 * k})  # fmt: skip
    assert shown() == "round 2, violation 1.00e-01, 60.0 s, about 1 min left"
    line.passes(1.25)
    assert shown().endswith("1 min left; pass 2 over the rows, 25 %")
