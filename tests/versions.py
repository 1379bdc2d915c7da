"""Run tests with several versions of Python, each in a fresh environment: `make versions`.

    python tests/versions.py python3.12 /opt/python3.13/bin/python -- --numprocesses 2

Not a test that pytest collects. Pythons that aren't found are left out, with a line. The wheel is
built once; the tests use it, not the source tree. What follows ``--`` is for pytest.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
# What meets the version of Python: imports, docstrings, files, processes, threads, the commands.
TESTS = [
    "tests/_util",
    "tests/pipeline/test_schema.py",
    "tests/tables",
    "tests/labelling",
    "tests/hostile/test_sample.py",
    "tests/meta",
    "--ignore=tests/meta/test_shown_code.py",
    "tests/cluster/test_machines.py",
    *(f"tests/cli/test_{name}.py" for name in ("errors", "fit", "predict", "process", "reading")),
    "tests/one_class/test_ecosystem.py",
    "tests/one_class/test_scikit_learn.py",
    "tests/base/test_two_threads.py",
]
# ensurepip: the packages of some systems come without what makes environments.
ABOUT = (
    "import sys, ensurepip; print(sys.executable, '%d.%d.%d' % sys.version_info[:3], sep='\\n')"
)
WHERE = "import fewlabels; print(fewlabels.__file__)"


class Python(NamedTuple):
    """An interpreter that makes environments."""

    path: str
    version: str


def find(name):
    """The interpreter of a name or path, also if only pyenv knows it; None if there is none."""
    found = [shutil.which(name)]
    if shutil.which("pyenv"):  # whose commands exist, and fail for versions that aren't chosen
        root = Path(output("pyenv", "root") or "/nowhere")
        found += sorted(root.glob(f"versions/*/bin/{Path(name).name}"), key=_by_numbers)[::-1]
    for path in found:
        about = path and output(path, "-c", ABOUT)
        if about:
            return Python(*about.split("\n"))
    return None


def _by_numbers(path):
    numbers = path.parts[-3].split(".")
    return [int(part) if part.isdigit() else -1 for part in numbers]


def output(*words):
    """What a command prints; nothing if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    return done.stdout.strip() if done.returncode == 0 else ""


def environment():
    """Variables without those that add folders of modules."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def call(*words, **options):
    return subprocess.run([str(word) for word in words], env=environment(), **options).returncode


def build(folder):
    """Build the wheel."""
    # From a source archive: building in the source tree takes the core away while it compiles.
    words = [sys.executable, "-m", "build", "--outdir", folder, REPOSITORY]
    if call(*words, stdout=subprocess.DEVNULL):
        raise SystemExit("versions: the wheel can't be built")


def install(python, wheels, folder):
    """A fresh environment with a wheel and what its tests need; its interpreter, or None."""
    if call(python.path, "-m", "venv", folder):
        return None
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    # This environment's pip, which knows groups.
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", inside]
    pip += ["install", "--quiet"]
    group = f"{REPOSITORY / 'pyproject.toml'}:test"
    failed = call(*pip, "--no-deps", "--no-index", "--find-links", wheels, "fewlabels")
    return None if failed or call(*pip, "fewlabels", "--group", group) else inside


def test(inside, arguments):
    """Whether the tests pass in an environment, with the package that is installed there."""
    place = subprocess.run(
        [inside, "-c", WHERE], cwd=REPOSITORY, capture_output=True, text=True, env=environment()
    ).stdout.strip()
    if not Path(place).resolve().is_relative_to(inside.parents[1].resolve()):
        say(f"not the installed package would be tested, but {place or 'none'}")
        return False
    return call(inside, "-m", "pytest", *arguments, cwd=REPOSITORY) == 0


def say(text):
    print(f"versions: {text}", flush=True)


def main(words):
    place = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pythons", nargs="+", metavar="PYTHON", help="a command or path")
    parser.add_argument("--others", action="store_true", help="leave this version of Python out")
    parser.add_argument("--all", action="store_true", help="run all tests, not a selection")
    parser.add_argument("--wheels", type=Path, help="a folder with a wheel for this computer")
    given = parser.parse_args(words[:place])
    arguments = [*words[place + 1 :], *(["tests"] if given.all else TESTS)]
    pythons = []
    for name in given.pythons:
        python = find(name)
        if python is None:
            say(f"{name} was not found and is left out")
        elif given.others and python.version.split(".")[:2] == [*map(str, sys.version_info[:2])]:
            say(f"{name} is left out: this version runs the other tests")
        else:
            pythons.append(python)
    if not pythons:
        say("nothing to test" if given.others else "no Python was found; name some with PYTHONS=")
        return 0 if given.others else 1
    return 1 if failures(pythons, arguments, given.wheels) else 0


def failures(pythons, arguments, wheels=None):
    """The versions with which tests fail, or that can't be set up."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="fewlabels-versions-") as folder:
        if wheels is None:
            build(wheels := Path(folder) / "dist")
        with ThreadPoolExecutor(1) as installing:  # the next one while the tests run
            ready = [
                installing.submit(install, python, wheels, Path(folder) / str(number))
                for number, python in enumerate(pythons)
            ]
            for number, (python, later) in enumerate(zip(pythons, ready, strict=True)):
                inside, start = later.result(), time.monotonic()
                say(f"Python {python.version} ({python.path})")
                passed = inside is not None and test(inside, arguments)
                failed += [] if passed else [python.version]
                what = "passed" if passed else "failed" if inside else "could not be set up"
                say(f"Python {python.version} {what} after {time.monotonic() - start:.0f} s")
                shutil.rmtree(Path(folder) / str(number), ignore_errors=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
