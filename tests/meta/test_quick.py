"""`make quick` finds the tests of what changed, and workers share the tests evenly."""

import json
from itertools import groupby

import pytest
import quick
import seconds


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/fewlabels/querying/uncertainty.py", "tests/querying/test_strategies.py"),
        ("src/fewlabels/one_class/svdd.py", "tests/one_class/test_svdd.py"),
        ("src/fewlabels/solvers/path/__init__.py", "tests/path/test_one_less.py"),
        ("src/fewlabels/model_selection/splitters.py", "tests/model_selection/test_splitters.py"),
        ("tests/reference/usmo.py", "tests/solvers_reference/test_usmo.py"),
        ("tests/path/programs.py", "tests/path/test_programs.py"),
        ("tests/cli/conftest.py", "tests/cli/test_fit.py"),
        ("core/src/block.cpp", "tests/core/test_tiles.py"),
        ("changelog.d/quick.added.md", "tests/meta/test_changelog.py"),
    ],
)
def test_tests_of_a_file_are_found(changed, tests):
    found = quick.ranked([changed])
    assert 0 < found[tests] <= 1 and set(quick.ALWAYS) <= found.keys()


def test_documents_and_examples_are_run_themselves():
    example = quick.examples()[0]
    found = quick.ranked(["docs/guides/labelling.md", "docs/guides/gpu.md", f"examples/{example}"])
    of_code = [test for test in found if test.startswith(quick.CODE)]
    assert of_code == [
        f"{quick.CODE}::test_code_of_documents_runs[docs/guides/labelling.md]",
        f"{quick.CODE}::test_examples_run_and_draw[{example}]",
    ]
    assert set(quick.PROSE) <= found.keys()


def test_a_changed_test_comes_first_and_distant_ones_later():
    changed = ["src/fewlabels/kernels/rbf.py", "tests/tables/test_files.py"]
    found = quick.ranked(changed)
    assert found["tests/tables/test_files.py"] == 0
    assert found["tests/kernels/test_kernel_values.py"] < found["tests/cli/test_fit.py"]


def test_the_time_limits_what_runs_except_what_changed():
    found = {"a": 0, "b": 1, "c": 1, "d": 2, "e": 2}
    record = {"a": 100.0, "b": 3.0, "c": 30.0, "d": 4.0}
    taken, left_out = quick.selected(found, 110.0, record)
    assert taken == ["a", "b", "d"] and left_out == ["c", "e"]
    assert quick.selected(found, 1e4, record) == (["a", "b", "c", "d", "e"], [])


def test_the_fixed_selection_exists():
    there = set(quick.test_files())
    assert set(quick.SMOKE) | set(quick.ALWAYS) | set(quick.PROSE) | {quick.CODE} <= there
    for tests in quick.OTHERS.values():
        for test in tests:
            assert any(name.startswith(test) for name in there), test


def test_what_changed_is_style_checked():
    commands = quick.style_checks(["src/fewlabels/tasks/words.py", "README.md", "tests/quick.py"])
    text = [" ".join(words[2:]) for words in commands]
    assert "ruff check tests/quick.py" in text and "mypy" not in text
    assert "codespell_lib README.md tests/quick.py" in text
    checks = quick.style_checks(["src/fewlabels/__init__.py"])
    assert "mypy" in [words[2] for words in checks]
    assert quick.style_checks(["gone.py"]) == []


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_workers_get_equally_much_and_files_stay_together(n_workers):
    record = {f"f{k}.py": float(k) for k in range(1, 21)}
    nodeids = [f"f{k}.py::test[{j}]" for k in range(1, 21) for j in range(3)] + ["new.py::test"]
    order = seconds.arranged(nodeids, n_workers, record)
    assert sorted(order) == list(range(len(nodeids)))
    files = [file for file, _ in groupby(order, key=lambda k: seconds.file_of(nodeids[k]))]
    assert len(files) == 21  # each in one piece
    for file in record:
        own = [place for place in order if seconds.file_of(nodeids[place]) == file]
        assert own == sorted(own)
    groups = seconds.shared_out(record, n_workers)
    totals = [sum(record[file] for file in group) for group in groups]
    assert len(groups) == n_workers and max(totals) - min(totals) <= 5.0


def test_slow_tests_come_first():
    record = {"many.py": 20.0, "slow.py": 9.0, "quick.py": 1.0}
    nodeids = ["quick.py::a", *(f"many.py::{k}" for k in range(10)), "slow.py::a"]
    files = [seconds.file_of(nodeids[k]) for k in seconds.arranged(nodeids, 1, record)]
    assert files == ["slow.py", *["many.py"] * 10, "quick.py"]


def test_the_record_is_updated_with_the_files_that_ran(tmp_path, monkeypatch):
    monkeypatch.setattr(seconds, "RECORD", tmp_path / "seconds.json")
    kept, ran = "tests/quick.py", "tests/seconds.py"
    seconds.RECORD.write_text(json.dumps({kept: 2.0, ran: 5.0, "tests/gone.py": 1.0}))
    recorder = seconds.Recorder()
    for duration in (0.25, 0.5):
        report = type("Report", (), {"nodeid": f"{ran}::test", "duration": duration})
        recorder.pytest_runtest_logreport(report)
    recorder.pytest_sessionfinish()
    assert seconds.recorded() == {kept: 2.0, ran: 0.8}
