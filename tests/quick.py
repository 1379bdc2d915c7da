"""Checks what changed, in under a minute: `make quick`.

Changed are the files that differ from the merge base with main (or from HEAD, on main), and files
that git doesn't know yet. Their style, types and spelling are checked, and these tests run, until
the recorded times of the test files (`seconds.json`) add up to the time that is left:

1. changed test files, the documents and examples that changed, and the house rules
2. tests in the folder that is named like the changed part, and tests that import what changed
3. tests that import a module that imports what changed, and so on

Without changes, a fixed selection runs. `make test` runs all.
"""

import argparse
import ast
import functools
import importlib
import os
import re
import subprocess
import sys
from collections import deque
from pathlib import Path

import seconds
from meta.prose import pages

REPOSITORY = Path(__file__).resolve().parents[1]
ALWAYS = ["tests/meta/test_house.py", "tests/meta/test_layers.py"]
SMOKE = [
    "tests/core/test_library.py",
    "tests/problem/test_dual.py",
    "tests/one_class/test_one_class.py",
    "tests/positive_unlabelled/test_pu.py",
    "tests/semi_supervised/test_s3vm.py",
    "tests/rows/test_row_store.py",
    "tests/tables/test_files.py",
    "tests/cli/test_predict.py",
    "tests/pipeline/test_schema.py",
]
CODE = "tests/meta/test_shown_code.py"
PROSE = ["tests/meta/test_vocabulary.py", "tests/meta/test_documentation.py"]
# What other files affect: the beginning of a path, and tests.
OTHERS = {
    "core/": ["tests/core", "tests/kernels", "tests/problem", "tests/packaging"],
    "changelog.d/": ["tests/meta/test_changelog.py"],
    ".github/": ["tests/meta/test_community.py", "tests/meta/test_versions.py"],
    "pyproject.toml": [f"tests/meta/test_{name}.py" for name in ("bounds", "extras", "versions")],
    "Makefile": [f"tests/meta/test_{name}.py" for name in ("quick", "documentation", "versions")],
    "benchmarks/": ["tests/meta/test_results.py"],
    "benchmarks/data/": ["tests/benchmarks/test_data.py"],
}


# -- what changed ------------------------------------------------------------------------------


def git(*words):
    """Lines that git prints; none where it fails."""
    done = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def changed_files():
    """Paths of files that were changed, added or deleted."""
    base = git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main")
    new = git("ls-files", "--others", "--exclude-standard")
    return sorted({*git("diff", "--name-only", *(base or ["HEAD"])), *new})


# -- which tests ---------------------------------------------------------------------------------


@functools.cache
def test_files():
    return sorted(
        path.relative_to(REPOSITORY).as_posix()
        for path in (REPOSITORY / "tests").rglob("test_*.py")
    )


def module_of(path):
    """Dotted name of a source file of the package; None for another file."""
    if not path.startswith("src/fewlabels/") or not path.endswith(".py"):
        return None
    return (
        path.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    )


def home(origin, name):
    """The module that defines a name, which a package may pass on."""
    try:
        return importlib.import_module(f"{origin}.{name}").__name__
    except ImportError:
        pass
    try:
        value = getattr(importlib.import_module(origin), name)
    except (ImportError, AttributeError):
        return origin
    return getattr(value, "__module__", None) or origin


@functools.cache
def imports_of(test):
    """Modules whose names a test file imports or patches, and those that it names itself."""
    found, named = set(), set()
    for node in ast.walk(ast.parse((REPOSITORY / test).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            if node.module.split(".")[0] == "fewlabels":
                found |= {home(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"fewlabels(\.\w+)+", node.value):
                found.add(home(*node.value.rsplit(".", 1)))
    return found, named


def distances(modules):
    """Imports between changed modules and each module that needs one; fronts don't count."""
    import grimp

    graph = grimp.build_graph("fewlabels", cache_dir=None)
    found = dict.fromkeys((m for m in modules if m in graph.modules), 0)
    waiting = deque(found)
    while waiting:
        module = waiting.popleft()
        for user in sorted(graph.find_modules_that_directly_import(module) - found.keys()):
            if user != "fewlabels":
                found[user] = found[module] + 1
                waiting.append(user)
    return found


def ranked(changed):
    """Test files, or tests, that changes affect: what each is worth running for, nearest first."""
    found = dict.fromkeys(ALWAYS, 0)
    modules = {module for path in changed if (module := module_of(path))}
    for path in changed:
        if path in test_files():
            found[path] = 0
        elif path.startswith("tests/") and path.endswith(".py"):
            found |= {test: 1 for test in users_of_helper(path) if test not in found}
        elif path.endswith(".md"):
            found |= dict.fromkeys(PROSE, 0)
            if path in documents_with_code():
                found[f"{CODE}::test_code_of_documents_runs[{path}]"] = 0
        elif path.startswith("examples/") and (REPOSITORY / path).exists():
            found[f"{CODE}::test_examples_run_and_draw[{Path(path).name}]"] = 0
        for start, tests in OTHERS.items():
            if path.startswith(start):
                found |= {
                    t: 1 for t in test_files() if t.startswith(tuple(tests)) and t not in found
                }
    if modules:
        parts = {module.split(".")[1] for module in modules if "." in module}
        names = {module.rpartition(".")[2] for module in modules}
        away = distances(modules)
        for test in test_files():
            homes, named = imports_of(test)
            near = [1 + away[module] for module in homes if module in away]
            near += [1 for _ in named & modules]
            if test.split("/")[1] in parts:
                near.append(0.5 if Path(test).stem.removeprefix("test_") in names else 2)
            if near:
                found[test] = min([found.get(test, 99), *near])
    return found


def users_of_helper(path):
    """Tests that a file of helpers or fixtures serves."""
    folder, name = os.path.split(path)
    if name == "conftest.py":
        return [test for test in test_files() if test.startswith(f"{folder}/")]
    module = path.removeprefix("tests/").removesuffix(".py").replace("/", ".")
    names = {module, module.removesuffix(".__init__")}
    return [test for test in test_files() if names & imports_of(test)[1]]


# Pages whose blocks have tests of their own, and pages that quote other files.
ELSEWHERE = {"benchmarks.md", "cluster.md", "gpu.md", "core.md"}


def documents_with_code():
    """Documents whose code blocks the tests run."""
    code = re.compile(r"^```(python|pycon|sh|bash)$", re.MULTILINE)
    shown = [p for p in pages() if p.name not in ELSEWHERE]
    shown = [p for p in shown if code.search(p.read_text(encoding="utf-8"))]
    return ["README.md", *(p.relative_to(REPOSITORY).as_posix() for p in shown)]


def examples():
    """Names of the scripts in the folder of examples."""
    return sorted(path.name for path in (REPOSITORY / "examples").glob("*.py"))


def selected(found, limit, record):
    """Tests to run within ``limit`` seconds, and those that would take longer."""
    usual = sum(record.values()) / max(len(record), 1)
    taken, left_out, total = [], [], 0.0
    for test in sorted(found, key=lambda test: (found[test], record.get(test, usual), test)):
        cost = record.get(test, usual)
        if found[test] == 0 or total + cost <= limit:
            taken.append(test)
            total += cost
        else:
            left_out.append(test)
    return taken, left_out


# -- checks --------------------------------------------------------------------------------------


def style_checks(changed):
    """Commands that check style, types, layers and spelling of changed files."""
    there = [path for path in changed if (REPOSITORY / path).is_file()]
    python = [path for path in there if path.endswith(".py")]
    tool = [sys.executable, "-m"]
    commands = [[*tool, "ruff", "check", *python], [*tool, "ruff", "format", "--check", *python]]
    commands = commands if python else []
    text = [path for path in there if path.endswith((".py", ".md", ".toml", ".cpp", ".hpp"))]
    if text:
        commands.append([*tool, "codespell_lib", *text])
    if any(path.startswith("src/") for path in python):
        commands.append([*tool, "mypy", "--disable-error-code=annotation-unchecked"])
    return commands


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests, on all cores")
    parser.add_argument("--list", action="store_true", help="show the tests and run nothing")
    given, pytest_args = parser.parse_known_args(arguments)
    changed = changed_files()
    found = ranked(changed) if changed else dict.fromkeys([*ALWAYS, *SMOKE], 0)
    workers = min(os.cpu_count() or 1, 4)
    taken, left_out = selected(found, given.seconds * workers, seconds.recorded())
    print(f"quick: {len(changed)} changed files, {len(taken)} test files", flush=True)
    if left_out:
        print(f"quick: left out for time: {len(left_out)} files (make test runs all)", flush=True)
    if given.list:
        print("\n".join(taken))
        return 0
    running = [subprocess.Popen(words, cwd=REPOSITORY) for words in style_checks(changed)]
    tests = [sys.executable, "-m", "pytest", "-q", "--numprocesses", str(workers), *pytest_args]
    running.append(subprocess.Popen([*tests, *taken], cwd=REPOSITORY))
    return max(done.wait() for done in running)


if __name__ == "__main__":
    sys.exit(main())
