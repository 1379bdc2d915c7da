"""Build wheels for other platforms, with the compiler of the ``ziglang`` wheel.

python core/wheels.py                          # all of them, into dist/
python core/wheels.py manylinux_2_17_aarch64   # some
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from compile import WHEELS, build

REPOSITORY = Path(__file__).resolve().parents[1]


def main(platforms):
    unknown = set(platforms) - set(WHEELS)
    if unknown:
        raise SystemExit(f"unknown platform {min(unknown)}; choose from {', '.join(WHEELS)}.")
    try:
        for platform in platforms or WHEELS:
            started = time.perf_counter()
            command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", REPOSITORY]
            subprocess.run(
                [*command, "--outdir", REPOSITORY / "dist"],
                env={**os.environ, "FEWLABELS_WHEEL": platform},
                check=True,
                stdout=subprocess.DEVNULL,
            )
            print(f"{platform}: {time.perf_counter() - started:.0f} s", flush=True)
    finally:
        build(only=True)  # this machine's libraries again


if __name__ == "__main__":
    main(sys.argv[1:])
