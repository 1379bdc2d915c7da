"""scikit-learn's own tests: its estimator checks and its tests of OneClassSVM."""

import os
import re
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels import SVDD, OneClassSVM, SVDDEnsemble


@pytest.mark.filterwarnings("ignore:target_fpr=.* needs at least")
# No expected failures: every check has to pass, those for sample weights included.
@parametrize_with_checks(
    [
        OneClassSVM(),
        OneClassSVM(kernel="linear", nu=0.2),
        SVDD(),
        SVDD(slack="linear", nu=0.3),
        SVDDEnsemble(n_bags=5),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


PLUGIN = """
import sklearn.svm
import fewlabels

sklearn.svm.OneClassSVM = fewlabels.OneClassSVM
"""


@pytest.mark.parametrize("expression", ["oneclass or OneClass"])
def test_scikit_learns_own_one_class_tests(tmp_path, expression):
    (tmp_path / "swap_one_class.py").write_text(PLUGIN)
    environment = dict(os.environ, PYTHONPATH=str(tmp_path))
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "swap_one_class", "-p", "no:cacheprovider"),
            *("-q", "-k", expression, "--rootdir", str(tmp_path)),
            *("--pyargs", "sklearn.svm.tests.test_svm", "sklearn.svm.tests.test_sparse"),
        ],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=800,
    )
    report = run.stdout + run.stderr
    assert run.returncode == 0, report
    assert "failed" not in report and "error" not in report.splitlines()[-1], report
    passed = int(re.search(r"(\d+) passed", report).group(1))
    assert passed > 60, report


def test_swapped_class_is_the_one_that_is_tested(tmp_path):
    # Guards the test above: with a broken class in its place the same run has to fail.
    (tmp_path / "swap_one_class.py").write_text(
        PLUGIN + "\nfewlabels.OneClassSVM.fit = lambda self, X, y=None, sample_weight=None: self\n"
    )
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "swap_one_class", "-p", "no:cacheprovider"),
            *("-q", "-k", "test_oneclass", "--rootdir", str(tmp_path)),
            *("--pyargs", "sklearn.svm.tests.test_svm"),
        ],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(tmp_path)),
        cwd=tmp_path,
        timeout=800,
    )
    assert run.returncode == 1, run.stdout + run.stderr
