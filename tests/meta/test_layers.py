"""Imports point downward, and compiled code is reached through one door."""

import ast
import re
import tomllib

import pytest

from fewlabels.solvers.engine.partition import message_names


def test_import_contracts(repository, monkeypatch, capsys):
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    monkeypatch.chdir(repository)
    status = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_every_part_has_its_layer(repository, trees):
    # A new folder or file at the top must be given a place in the order.
    with open(repository / "pyproject.toml", "rb") as file:
        tool = tomllib.load(file)["tool"]["importlinter"]
    name = "Layers import downward only"
    (layers,) = [c["layers"] for c in tool["contracts"] if c["name"] == name]
    ordered = {name.removeprefix("fewlabels.") for layer in layers for name in layer.split(" | ")}
    parts = {path.split("/")[0].removesuffix(".py") for path in trees} - {"__init__"}
    assert parts == ordered


def test_only_the_core_loads_libraries(trees):
    for path, tree in trees.items():
        if path.startswith("_core/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            else:
                continue
            assert not {"ctypes", "numba", "llvmlite"} & {n.split(".")[0] for n in names}, path


def test_the_core_does_not_change_what_infinities_mean(repository):
    # Infinite bounds carry meaning: no flag may let the compiler assume that there are none.
    text = (repository / "core" / "compile.py").read_text(encoding="utf-8")
    for flag in ("-Ofast", "-ffinite-math-only", "-fassociative-math", "-funsafe-math"):
        assert flag not in text
    assert text.count("-ffast-math") == 1  # the comment that says so


def test_the_core_neither_allocates_nor_throws(repository):
    words = re.compile(
        r"\b(new|delete|malloc|free|throw|static [a-z_]+ [a-z_]+ =|std::)\b\s*[\[(]?"
    )
    for path in sorted((repository / "core" / "src").iterdir()):
        code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        includes = set(re.findall(r"#include <([^>]+)>", code))
        # Vector minima and conversions that the compiler doesn't find by itself, and sums of
        # products that have to round alike everywhere.
        more = {"immintrin.h", "arm_neon.h"} if path.name == "lanes.hpp" else set()
        assert includes <= {"math.h", "stdint.h", "cpuid.h", *more}, path
        for match in words.finditer(code):
            allowed = match.group(1) == "free" and not match.group(0).endswith("(")
            assert allowed, f"{path.name}: {match.group(0)}"  # `free` also names variables


def test_only_the_penalty_knows_a_slope_in_the_core(repository):
    found = set()
    for path in (repository / "core" / "src").iterdir():
        code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        # Chosen by a condition, or counted.
        if re.search(r"[?:]\s*(loadd\()?[\w.]*\bslopes\[", code) or "FL_N_KINKS" in code:
            found.add(path.name)
    assert found == {"penalty.hpp"}


@pytest.mark.parametrize("name", ["print"])
def test_the_library_prints_only_when_asked(trees, name):
    for path, tree in trees.items():
        if path.startswith("cli/") or path == "_util/versions.py":
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            prints = [
                n
                for n in ast.walk(node)
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name
            ]
            if prints and node.name != "report":
                inner = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef)]
                assert any(n.name == "report" for n in inner), f"{path}: {node.name} prints"
    # `report` is what estimators use with verbose=True.
    with_report = [p for p, t in trees.items() if "def report(" in ast.unparse(t)]
    assert with_report == ["base/status.py"]


def test_the_page_of_the_engine_lists_every_message(repository):
    text = (repository / "docs/internals/engine.md").read_text(encoding="utf-8")
    table = text.split("## Messages")[1].split("\n\n")[2]
    listed = [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row)]
    listed.remove("PUSVM")
    assert sorted(listed) == sorted(message_names())
