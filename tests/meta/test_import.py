"""Importing the package is cheap, compiles nothing, and works in a read-only world."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

HEAVY = ("matplotlib", "pandas", "pyarrow", "polars", "typer", "rich", "skops", "clarabel")
# Parts of scikit-learn that only some calls need.
SLOW = ("sklearn.neighbors", "sklearn.ensemble", "sklearn.decomposition", "sklearn.pipeline")


def python(code, cwd=None, **environment):
    environment = {**os.environ, **environment}
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=cwd,
        env={k: v for k, v in environment.items() if v is not None},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_import_compiles_nothing(tmp_path):
    code = """
import importlib, pkgutil
from numba.core import event
recorder = event.RecordingListener()
event.register("numba:compile", recorder)
import fewlabels
fewlabels.SVDD, fewlabels.OneClassSVM
for info in pkgutil.walk_packages(fewlabels.__path__, "fewlabels."):
    if not info.name.startswith("fewlabels.cli"):
        importlib.import_module(info.name)

import sys
from numba.core.dispatcher import Dispatcher
dispatchers = [
    value
    for name, module in list(sys.modules.items())
    if name.startswith("fewlabels")
    for value in vars(module).values()
    if isinstance(value, Dispatcher)
]
assert len(dispatchers) > 5
assert all(not d.signatures and not d.overloads for d in dispatchers)
assert not recorder.buffer, recorder.buffer
# The recorder is not deaf.
from fewlabels.gram.tiles._columns import apply_columns
import numpy as np
apply_columns(np.ones((1, 2)), np.zeros(1, np.intp), np.ones(1), np.zeros(2), 0, 2)
assert recorder.buffer
"""
    python(code, NUMBA_CACHE_DIR=str(tmp_path))
    cached = {path.name.split("-")[0] for path in tmp_path.rglob("*.nb?")}
    assert cached == {"_columns.apply_columns"}, "importing wrote compiled code"


def test_import_leaves_heavy_packages_alone():
    # scikit-learn imports some of them itself where they are installed.
    code = f"""
import sys
import sklearn.svm, sklearn.utils._param_validation, numba
before = set(sys.modules)
from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
print(*[name for name in {HEAVY + SLOW} if name in set(sys.modules) - before])
"""
    assert python(code).split() == []


def test_bare_import_waits_with_everything():
    # The command line answers --help without loading scikit-learn and Numba.
    code = """
import sys
import fewlabels
print(*[name for name in ("sklearn", "numba", "scipy", "numpy") if name in sys.modules])
"""
    assert python(code).split() == []


LIBRARIES = ("numpy", "pyarrow", "pandas", "scipy", "sklearn", "numba", "skops")
UNUSED = ("matplotlib", "onnx", "polars", "clarabel", "IPython")
ROOMS = ("fewlabels.inspection", "fewlabels.model_selection", "fewlabels.report")
# What a command has no use for; it is not imported while the command runs.
NOT_NEEDED = {
    "fit --help": LIBRARIES,
    "inspect m": (*LIBRARIES, "fewlabels.estimators"),
    "fit d.csv -o n --time-budget 0 --no-report": (*UNUSED, *ROOMS, "fewlabels.onnx"),
    "predict m d.csv -o o.csv": (*UNUSED, *ROOMS, "fewlabels.metrics", "fewlabels.onnx"),
    "update m d.csv -o u": (*UNUSED, *ROOMS, "fewlabels.metrics", "fewlabels.onnx"),
    "explain m d.csv --row 2": (*UNUSED, "fewlabels.report", "fewlabels.onnx"),
    "prior p.csv --target t": (*UNUSED, *ROOMS, "skops", "fewlabels.estimators"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table, one of positive and unlabelled rows, and a model that holds its rows."""
    import pandas as pd

    from fewlabels import fit_table

    folder = tmp_path_factory.mktemp("commands")
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    table.to_csv(folder / "d.csv", index=False)
    table.assign(t=["yes"] * 20 + [""] * 40).to_csv(folder / "p.csv", index=False)
    fit_table(table, time_budget=0, report=False, rows=True).save(folder / "m")
    return folder


@pytest.mark.parametrize("command", NOT_NEEDED)
def test_a_command_imports_what_it_needs(command, files):
    code = f"""
import sys
from typer.testing import CliRunner
from fewlabels.cli import app
result = CliRunner().invoke(app, {command.split()})
assert result.exit_code == 0, result.output
print(*[name for name in {NOT_NEEDED[command]} if name in sys.modules])
"""
    assert python(code, cwd=files).split() == []


def test_import_is_quick():
    # What fewlabels adds to scikit-learn, in seconds of a core, the best of three processes.
    code = """
import time, sklearn.svm, scipy.sparse
start = time.process_time()
from fewlabels import SVDD, OneClassSVM
print(time.process_time() - start)
"""
    assert min(float(python(code)) for _ in range(3)) < 1.5


def test_import_where_no_cache_can_be_written(tmp_path):
    # Installed read-only, home folder read-only, no cache folder named: root may write
    # everywhere, so the places Numba would try are made to refuse.
    code = """
import numba
import numba.core.caching as caching

def refuse(self):
    raise OSError("read-only file system")

caching._CacheLocator.ensure_cache_path = refuse
try:
    numba.njit(cache=True)(lambda x: x)
except RuntimeError:
    pass
else:
    raise AssertionError("a place for the cache was found: this test shows nothing")

import numpy as np
from fewlabels import SVDD
X = np.random.default_rng(0).normal(size=(60, 2))
print(SVDD().fit(X).predict([[9.0, 9.0]])[0])
"""
    assert python(code, NUMBA_CACHE_DIR=None).split() == ["-1"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to read-only folders"
)
def test_import_from_a_read_only_folder(tmp_path, repository):
    import shutil

    shutil.copytree(repository / "src", tmp_path / "site", ignore=shutil.ignore_patterns("*.pyc"))
    home = tmp_path / "home"
    home.mkdir()
    folders = [tmp_path / "site", home]
    everything = [p for folder in folders for p in (folder, *folder.rglob("*"))]
    for path in everything:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        code = "import fewlabels; print(fewlabels.__file__)"
        out = python(
            code,
            cwd=tmp_path,
            PYTHONPATH=str(tmp_path / "site"),
            HOME=str(home),
            XDG_CACHE_HOME=str(home / "cache"),
            NUMBA_CACHE_DIR=None,
        )
        assert str(tmp_path / "site") in out
    finally:
        for path in everything:
            path.chmod(path.stat().st_mode | 0o200)


def test_a_second_process_compiles_nothing(tmp_path):
    # One that has run before leaves everything the next one needs on disk.
    code = """
import sys
import numpy as np
from fewlabels import SVDD, OneClassSVM
X = np.random.default_rng(0).normal(size=(300, 3))
SVDD().fit(X).predict(X)
OneClassSVM().fit(X).predict(X)
from numba.core.dispatcher import Dispatcher
hits = misses = 0
for name, module in list(sys.modules.items()):
    if name.startswith("fewlabels"):
        for value in vars(module).values():
            if isinstance(value, Dispatcher):
                hits += sum(value.stats.cache_hits.values())
                misses += sum(value.stats.cache_misses.values())
print(hits, misses)
"""
    cache = str(tmp_path / "cache")
    start = time.perf_counter()
    hits, misses = map(int, python(code, NUMBA_CACHE_DIR=cache).split())
    cold = time.perf_counter() - start
    files = {p.name for p in (tmp_path / "cache").rglob("*.nb?")}
    assert misses >= 1 and files
    start = time.perf_counter()
    hits, misses = map(int, python(code, NUMBA_CACHE_DIR=cache).split())
    warm = time.perf_counter() - start
    assert hits >= 1 and misses == 0
    assert {p.name for p in (tmp_path / "cache").rglob("*.nb?")} == files
    assert warm < cold


def test_random_state_of_numpy_is_left_alone():
    from fewlabels import SVDD, OneClassSVM

    np.random.seed(3)  # noqa: NPY002
    expected = np.random.RandomState(3).random_sample(4)
    X = np.random.default_rng(0).normal(size=(4000, 2))
    SVDD().fit(X)
    OneClassSVM().fit(X)
    np.testing.assert_array_equal(np.random.random_sample(4), expected)  # noqa: NPY002
