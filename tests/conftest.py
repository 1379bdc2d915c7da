"""Fixtures shared by all tests; nothing here imports the package."""

import faulthandler
import os
import platform
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

# Processes that tests start read the package's bytecode, where each would compile all of it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# ``from reference import ...`` works from every test file.
sys.path.insert(0, str(Path(__file__).parent))

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

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


_IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
_LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"] if _IS_X86 else ["aarch64"]


@pytest.fixture(params=_LEVELS)
def core_level(request, monkeypatch):
    """Let kernel values come from the core for an instruction level that this processor has."""
    from fewlabels._core import LEVEL, columns, library, tiles

    level = request.param
    if level > LEVEL or not library.library_path(level).exists():
        pytest.skip(f"{level} is not built, or beyond this processor.")
    for module in (columns, tiles):
        monkeypatch.setattr(module, "lib", library.open_library(level))
    return level
