"""Scripts that tests run in a child of a server behave as in a process of their own."""

import os

import pytest
from processes import run_script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")


def test_output_exit_code_and_errors(tmp_path):
    done = run_script("import sys; print('out'); print('err', file=sys.stderr)", tmp_path)
    assert done == (0, "out\n", "err\n")
    done = run_script("import sys; sys.exit('no more')", tmp_path)
    assert done.returncode == 1 and done.stderr == "no more\n"
    done = run_script("print('first'); 1 / 0", tmp_path)
    assert done.returncode == 1 and done.stdout == "first\n"
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")


def test_each_script_starts_afresh(tmp_path):
    assert run_script("import fewlabels; fewlabels.mark = 1", tmp_path).returncode == 0
    code = "import fewlabels, os; print(hasattr(fewlabels, 'mark'), os.getpid())"
    mark, process = run_script(code, tmp_path).stdout.split()
    assert mark == "False" and int(process) != os.getpid()


def test_signals_reach_it_and_time_is_limited(tmp_path):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_script(code, tmp_path).returncode == -9
    assert run_script("import time; time.sleep(60)", tmp_path, timeout=0.5).returncode != 0
