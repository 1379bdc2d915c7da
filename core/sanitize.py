"""Run the core's tests and fuzz programs on libraries with run-time checks: ``make sanitize``.

Addresses and undefined behaviour are checked (GCC on Linux). Python itself isn't instrumented, so
the sanitizer's library is loaded before it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from compile import build

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = "core path problem gram solvers_reference".split()
PROGRAMS = "2000"


def main():
    with tempfile.TemporaryDirectory() as folder:
        build(folder, sanitize=True)
        libraries = [
            subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()
            for name in ("libasan.so", "libubsan.so")
        ]
        environment = {
            **os.environ,
            "FEWLABELS_CORE_FOLDER": folder,
            "LD_PRELOAD": ":".join(libraries),
            "ASAN_OPTIONS": "detect_leaks=0",  # Python's own
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        tests = [str(REPOSITORY / "tests" / name) for name in TESTS]
        fuzz = [str(REPOSITORY / "tests/path/fuzz.py"), "--programs", PROGRAMS]
        for command in (["-m", "pytest", "-q", "-x", *tests], fuzz):
            subprocess.run([sys.executable, *command], env=environment, check=True, cwd=REPOSITORY)


if __name__ == "__main__":
    main()
