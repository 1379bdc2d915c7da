"""The C interface, used from C: the header and the library are all that a program needs."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import fewlabels._core.library as library
from fewlabels import SVDD

SOURCE = Path(__file__).with_name("svdd.c")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    path = tmp_path_factory.mktemp("c") / "svdd"
    shared = library.get_library_path(library.LEVEL)
    words = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{library.HERE}"]
    subprocess.run(
        [*words, SOURCE, shared, f"-Wl,-rpath,{shared.parent}", "-lm", "-o", path], check=True
    )
    return path


@pytest.mark.parametrize("n, d", [(7, 1), (60, 2), (150, 5), (301, 3)])
def test_a_ball_fitted_from_c(program, tmp_path, n, d):
    X = np.random.default_rng(n).normal(size=(n, d))
    gamma, nu = 0.5 / d, 0.2
    X.tofile(tmp_path / "rows")
    words = [program, tmp_path / "rows", str(n), str(d), repr(gamma), repr(nu)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    model = SVDD(slack="linear", nu=nu, gamma=gamma, tol=1e-9).fit(X)
    ours = np.array(done.stdout.split(), float)
    np.testing.assert_allclose(ours, model.decision_function(X), atol=1e-7)


def test_a_program_that_asks_for_nothing(program):
    assert subprocess.run([program]).returncode == 2
