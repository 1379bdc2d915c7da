"""Which library is loaded, and what its functions refuse."""

import os
import subprocess
import sys

import numpy as np
import pytest

import fewlabels
from fewlabels._core import LEVEL, library
from fewlabels._core import functions as core
from fewlabels.problem import Penalty

LEVELS = sorted(
    path.name.removeprefix("fewlabels-").rpartition(".")[0]
    for path in library.get_library_path(LEVEL).parent.iterdir()
    if path.name.startswith("fewlabels-") and not path.name.endswith(".new")
)
SCORES = """
import numpy as np
from fewlabels import OneClassSVM, S3VM
X = np.random.default_rng(0).normal(size=(400, 3))
y = np.where(np.arange(400) < 20, X[:, 0] > 0, -1).astype(int)
scores = np.append(OneClassSVM(nu=0.2).fit(X).decision_function(X),
                   S3VM().fit(X, y).partial_fit(X[:2]).decision_function(X))
print(scores.astype(float).tobytes().hex())
"""


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, env={**os.environ, **environment},
    )  # fmt: skip


def test_every_level_gives_the_same_scores():
    assert LEVEL in LEVELS
    best = LEVELS[: LEVELS.index(LEVEL) + 1]
    runs = [python(SCORES, FEWLABELS_CORE_LEVEL=level) for level in best]
    assert not any(run.returncode for run in runs), runs[-1].stderr
    scores = [np.frombuffer(bytes.fromhex(run.stdout.strip())) for run in runs]
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], rtol=0, atol=1e-6 * np.ptp(scores[0]))


def test_an_unknown_level_is_refused():
    run = python("import fewlabels._core", FEWLABELS_CORE_LEVEL="x86-64-v9")
    assert run.returncode and "choose one of" in run.stderr and LEVEL in run.stderr


@pytest.mark.parametrize("level", ["", "x86-64-v2"])
def test_a_missing_library_says_what_to_do(level, tmp_path):
    folder = {"FEWLABELS_CORE_FOLDER": str(tmp_path), "FEWLABELS_CORE_LEVEL": level}
    run = python("import fewlabels._core", **folder)
    assert run.returncode and "Reinstall fewlabels" in run.stderr


def test_versions_name_the_level(capsys):
    fewlabels.show_versions()
    printed = capsys.readouterr().out
    assert LEVEL in printed and fewlabels.__version__ in printed


def test_every_function_is_declared():
    declared = [name for name, _, _ in library.read_prototypes()]
    assert len(declared) > 20 and len(set(declared)) == len(declared)
    assert all(hasattr(library.lib, name) for name in declared)
    assert library.lib.fl_version() == library.VERSION == library.CONSTANTS["VERSION"]


def arrays(n=3):
    return Penalty.linear(0.0, 1.0, 0.0, n).pieces, np.zeros(n), np.zeros(n), np.empty((2, n))


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(4),
        np.zeros(3, np.float32),
        np.zeros(3, np.int64),
        np.zeros(6)[::2],
        np.zeros(3, ">f8"),
    ],
)
def test_wrong_arrays_never_reach_the_library(wrong):
    pieces, a, g, rates = arrays()
    totals = np.empty(core.N_TOTALS)
    core.survey(pieces, np.ones(3), a, g, rates, totals)
    for call in (
        lambda: core.survey(pieces, wrong, a, g, rates, totals),
        lambda: core.survey(pieces, np.ones(3), a, wrong, rates, totals),
        lambda: core.add_products(np.eye(3), np.ones(3), wrong),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()


def test_read_only_arrays_may_be_read_but_not_written():
    pieces, a, g, rates = arrays()
    totals = np.empty(core.N_TOTALS)
    for array in (a, g):
        array.flags.writeable = False
    core.survey(pieces, np.ones(3), a, g, rates, totals)
    with pytest.raises(TypeError, match="writ"):
        core.add_products(np.eye(3), np.ones(3), g)
