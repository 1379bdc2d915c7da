"""Fixtures shared by all tests; nothing here imports the package."""

import faulthandler
import os
import platform
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

# Processes that tests start read the package's bytecode, where each would compile all of it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Workers share the cores: each computes on its part of them, unless a test passes ``n_jobs``.
if "PYTEST_XDIST_WORKER_COUNT" in os.environ:
    workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))

# ``from reference import ...`` works from every test file.
sys.path.insert(0, str(Path(__file__).parent))

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
import seconds  # noqa: E402

hypothesis.settings.register_profile(
    "fewlabels",
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.filter_too_much,
        hypothesis.HealthCheck.function_scoped_fixture,
    ],
)
hypothesis.settings.load_profile("fewlabels")


def pytest_addoption(parser):
    parser.addoption("--record-seconds", action="store_true", help="update tests/seconds.json")


def pytest_configure(config):
    is_worker = hasattr(config, "workerinput")
    if config.getoption("--record-seconds") and not is_worker:
        config.pluginmanager.register(seconds.Recorder())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Where several workers run the tests, give each as much to do, and slow tests first."""
    if hasattr(config, "workerinput"):
        n_workers = config.workerinput["workercount"]
        nodeids = [item.nodeid for item in items]
        order = seconds.arranged(nodeids, n_workers, seconds.recorded())
        items[:] = [items[place] for place in order]


# Python can't interrupt compiled code that never ends: no single test may take longer than this
# (a test takes seconds, many times that on a busy machine), or the run dies with a traceback.
_HANG_SECONDS = 900


@pytest.fixture(autouse=True)
def _no_hang():
    faulthandler.dump_traceback_later(_HANG_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def seed():
    """Seed of the random data: 0, or FEWLABELS_TEST_SEED."""
    return int(os.environ.get("FEWLABELS_TEST_SEED", "0"))


@pytest.fixture
def rng(seed):
    """A fresh generator from ``seed``."""
    return np.random.default_rng(seed)


@pytest.fixture
def few_trees(monkeypatch):
    """Forests of 20 trees for tests that compare or deliver them, whatever they are worth.

    Forests of the usual size take most of the time of a comparison, of label shares and of a fit.
    """
    from fewlabels.baselines import methods
    from fewlabels.class_prior import class_ratio
    from fewlabels.class_prior.methods import _scores
    from fewlabels.kernels import TREES_FOR_CLASSES

    def smaller(known):
        return known._replace(make=lambda seed: known.make(seed).set_params(n_estimators=20))

    tables = methods.ONE_CLASS_METHODS, methods.POSITIVE_UNLABELLED_METHODS
    for table in (*tables, methods.SEMI_SUPERVISED_METHODS):
        for name, known in list(table.items()):
            if "n_estimators" in known.make(0).get_params():
                monkeypatch.setitem(table, name, smaller(known))
    monkeypatch.setattr(methods, "_N_TREES_FOR_TUNING", 10)
    monkeypatch.setattr(class_ratio, "_TREES", 20)
    monkeypatch.setattr(_scores, "_TREES", 30)
    monkeypatch.setattr(TREES_FOR_CLASSES, "n_trees", 60)


_IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
_LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"] if _IS_X86 else ["aarch64"]


@pytest.fixture(params=_LEVELS)
def core_level(request, monkeypatch):
    """Let kernel values come from the core for an instruction level that this processor has."""
    from fewlabels._core import LEVEL, functions, library

    level = request.param
    if level > LEVEL or not library.get_library_path(level).exists():
        pytest.skip(f"{level} is not built, or beyond this processor.")
    monkeypatch.setattr(functions, "lib", library.open_library(level))
    return level
