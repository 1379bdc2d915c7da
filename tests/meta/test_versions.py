"""Every supported version of Python is tried, and this one finds what others would."""

import ast
import importlib.abc
import importlib.machinery
import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import versions

# -- docstrings without their indentation -------------------------------------------------------


def strip_docstrings(tree):
    """Remove what Python's compiler removes from docstrings since version 3.13."""
    for node in ast.walk(tree):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            node.body[0].value.value = stripped(node.body[0].value.value)
    return tree


def stripped(doc):
    first, *rest = doc.expandtabs(8).split("\n")
    margin = min((len(line) - len(line.lstrip(" ")) for line in rest if line.strip()), default=0)
    return "\n".join([first.lstrip(" "), *(line[margin:] for line in rest)])


class Stripping(importlib.machinery.SourceFileLoader):
    """Loads a module as Python 3.13 and later do."""

    def get_code(self, fullname):
        tree = ast.parse(self.get_data(self.path))
        return compile(strip_docstrings(tree), self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the package's modules for :class:`Stripping`."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] != "fewlabels":
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if isinstance(found.loader, importlib.machinery.SourceFileLoader):
            found.loader = Stripping(found.loader.name, found.loader.path)
        return found


def import_everything():
    """Import the modules; return the docstrings of public names, and the help of commands."""
    import pkgutil

    import typer.main

    import fewlabels
    from fewlabels.cli import app

    found = {name: inspect.getdoc(getattr(fewlabels, name)) for name in fewlabels.__all__}
    for info in pkgutil.walk_packages(fewlabels.__path__, "fewlabels."):
        if info.name.startswith("fewlabels.adapters") or info.name.endswith("__main__"):
            continue  # for packages that may be missing, and the command itself
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            found[f"{info.name}.{name}"] = inspect.getdoc(getattr(module, name))
    for name, command in typer.main.get_command(app).commands.items():
        found[f"command {name}"] = command.help
    return found


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the compiler does it itself")
def test_docstrings_may_lose_their_indentation():
    # What fills docstrings in fills in the same without it.
    code = f"""
import sys
sys.path[:0] = {[str(folder) for folder in Path(__file__).parents[:2]]}
import test_versions
assert "fewlabels" not in sys.modules
sys.meta_path.insert(0, test_versions.Finder())
print(repr(test_versions.import_everything()))
"""
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found, expected = ast.literal_eval(done.stdout), import_everything()
    assert "\nmethod : " in expected["fit_table"] and "**options" not in expected["fit_table"]
    assert {name for name in expected if found[name] != expected[name]} == set()


@pytest.mark.parametrize("spaces", [0, 4, 8])
@pytest.mark.parametrize("rest", ["", "\n\nReturns\n-------\nint", "\nlast : int\n    More."])
@pytest.mark.parametrize("entry", ["", "\n{}One.", "\n{}One.\n\n{}Two.", "\n{}One.\n{}  Two."])
def test_an_entry_is_filled_in_wherever_it_stands(spaces, rest, entry):
    from fewlabels.pipeline.options.documentation import with_entries

    start = "Do.\n\nParameters\n----------\nX : array\n    Rows.\n"
    doc = f"{start}**options{entry.replace('{}', ' ' * 4)}{rest}"
    first, *lines = doc.split("\n")
    given = "\n".join([first, *(" " * spaces * bool(line) + line for line in lines)])
    assert with_entries(given + f"\n{' ' * spaces}", "a : int\n    A.") == (
        f"{start}a : int\n    A.{rest}"
    )


def test_an_entry_that_is_missing_is_said():
    from fewlabels.pipeline.options.documentation import with_entries

    with pytest.raises(ValueError, match=r"needs exactly one entry \*\*options"):
        with_entries("Do.\n\n    **option\n        One.\n", "")


# -- the versions -------------------------------------------------------------------------------


def project(repository):
    return tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def declared_versions(repository):
    return [
        text.removeprefix("Programming Language :: Python :: ")
        for text in project(repository)["classifiers"]
        if re.search(r":: 3\.\d+$", text)
    ]


def test_every_version_is_declared_and_tried(repository):
    declared = declared_versions(repository)
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    (tried,) = re.findall(r"^PYTHONS \?= (.*)$", makefile, re.MULTILINE)
    assert tried.split() == [f"python{version}" for version in declared]
    assert project(repository)["requires-python"] == f">={declared[0]}"
    assert declared == [f"3.{11 + k}" for k in range(len(declared))]


def test_workflows_try_every_version_and_run_files_that_exist(repository):
    yaml = pytest.importorskip("yaml")
    jobs = {}
    for path in (repository / ".github" / "workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {"contents": "read"} and workflow["concurrency"]
        jobs |= workflow["jobs"]
    declared = declared_versions(repository)
    (linux,) = (step["with"] for step in jobs["linux"]["steps"] if "with" in step
                if "python-version" in step["with"])  # fmt: skip
    assert sorted(linux["python-version"].split()) == declared
    assert jobs["platforms"]["strategy"]["matrix"]["python"] == declared
    assert all(job["timeout-minutes"] <= 90 for job in jobs.values())
    runs = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    files = re.findall(r"[\w./]+\.py|\.ci/run", runs)
    assert {".ci/run", "tests/versions.py", "tests/packaging/try_package.py"} == set(files)
    assert all((repository / name).is_file() for name in files)


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(os.name == "nt", reason="commands are shell scripts here")
def test_pythons_are_found_by_path_by_command_and_by_pyenv(tmp_path, monkeypatch):
    answers = "echo {0}; echo 3.98.{1}"
    plain = script(tmp_path / "bin" / "python3.98", answers.format("/plain", 1))
    monkeypatch.setenv("PATH", f"{plain.parent}{os.pathsep}{os.environ['PATH']}")
    script(tmp_path / "bin" / "pyenv", f"echo {tmp_path}/pyenv")
    assert versions.find("python3.98") == versions.find(str(plain)) == ("/plain", "3.98.1")
    # A command of pyenv fails unless its version is chosen.
    script(plain, "exit 127")
    assert versions.find("python3.98") is None
    for number in (9, 10):
        name = tmp_path / "pyenv" / "versions" / f"3.98.{number}" / "bin" / "python3.98"
        script(name, answers.format("/own", number))
    assert versions.find("python3.98") == ("/own", "3.98.10")
    assert versions.find("python3.97") is None


def test_what_is_left_out_is_said(capsys):
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert versions.find(sys.executable).version.startswith(f"{own}.")
    assert versions.main(["python3.97", "--", "tests"]) == 1
    assert versions.main(["--others", "python3.97", sys.executable]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "versions: python3.97 was not found and is left out",
        "versions: no Python was found; name some with PYTHONS=",
        "versions: python3.97 was not found and is left out",
        f"versions: {sys.executable} is left out: this version runs the other tests",
        "versions: nothing to test",
    ]
