"""The runner of the benchmarks: stored cases, resumed runs, reports, and the list of programs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def study(monkeypatch):
    """Return the module of the runner."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import study

    return study


@pytest.fixture
def program(study):
    """Return a program of two sets, one of which fails at first, and the calls that it made."""
    calls = []

    def measure(name, factor):
        calls.append(name)
        if name == "b" and calls.count("b") == 1:
            raise ValueError("not yet")
        return [{"figure": factor * len(name)}, {"figure": 0}]

    def cases(options):
        for name in options.sets:
            yield study.Case({"set": name}, measure, (name, options.factor))

    def report(results):
        yield ", ".join(f"{r['set']} {r['figure']}" for r in results.records)

    def entries(results):
        return [results.entry("one", ["x"], [["a", 1]], unit="s")]

    made = study.Study(
        "Figures of names.\n\nOf two sets.", cases, report, entries,
        choices={"sets": ["a", "b"]}, settings={"factor": study.Setting(2, "a number")},
        quick={"factor": 1},
    )  # fmt: skip
    return made, calls


def test_failed_cases_are_tried_again_and_others_kept(program, tmp_path):
    made, calls = program
    with pytest.raises(SystemExit, match="1 cases failed"):
        made.main("names", ["--out", str(tmp_path)])
    assert "ValueError: not yet: 1 cases, such as b" in (tmp_path / "names.md").read_text("utf-8")
    made.main("names", ["--out", str(tmp_path), "--resume"])
    assert calls == ["a", "b", "b"]
    text = (tmp_path / "names.md").read_text("utf-8")
    assert "a 2, a 0, b 2, b 0" in text and text.startswith("# Figures of names.\n")
    (entry,) = json.loads((tmp_path / "names-entries.json").read_text("utf-8"))["entries"]
    assert entry["program"] == "python benchmarks names" and entry["rows"] == [["a", 1]]
    (tmp_path / "names.md").unlink()
    made.main("names", ["--out", str(tmp_path), "--report-only"])
    assert (tmp_path / "names.md").read_text("utf-8") == text and len(calls) == 3


def test_a_choice_replaces_its_own_cases_only(program, tmp_path):
    made, calls = program
    made.main("names", ["--out", str(tmp_path), "--sets", "a"])
    made.main("names", ["--out", str(tmp_path), "--sets", "a", "--factor", "5"])
    assert calls == ["a", "a"]
    with pytest.raises(SystemExit):
        made.main("names", ["--out", str(tmp_path), "--sets", "b"])
    assert "a 5, a 0" in (tmp_path / "names.md").read_text("utf-8")
    with pytest.raises(SystemExit):
        made.main("names", ["--sets", "c"])


def test_quick_runs_are_stored_apart_and_take_other_defaults(program, tmp_path):
    made, _ = program
    made.main("names", ["--out", str(tmp_path), "--quick", "--sets", "a"])
    assert "a 1, a 0" in (tmp_path / "names-quick.md").read_text("utf-8")
    with pytest.raises(SystemExit, match="does not exist"):
        made.main("names", ["--out", str(tmp_path), "--report-only"])


def test_later_cases_of_a_failed_series_are_left_out(study, tmp_path, capsys):
    def fail():
        raise MemoryError("too large")

    def cases(options):
        for n in (1, 2):
            yield study.Case({"n": n}, fail, series="one")

    made = study.Study("Sizes.", cases, lambda results: [])
    with pytest.raises(SystemExit):
        made.main("sizes", ["--out", str(tmp_path)])
    assert "left out: an earlier case of the series failed" in capsys.readouterr().out


def test_every_program_of_the_results_file_exists():
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS)],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {line.split()[1] for line in done.stdout.splitlines()}
    results = json.loads((BENCHMARKS / "results.json").read_text("utf-8"))
    programs = {entry["program"].split()[2] for entry in results["entries"]}
    assert programs <= names and len(names) > 30
    table = (BENCHMARKS / "README.md").read_text("utf-8")
    assert all(f"`{name}`" in table for name in names)
