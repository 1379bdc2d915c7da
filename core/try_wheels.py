"""Run a C program on the libraries of every wheel in dist, under emulators where it takes one.

    make wheels && python core/try_wheels.py

The program (tests/core/svdd.c) fits a ball through the C interface. It is compiled for each
platform, and its results are compared with this machine's. What runs programs of other platforms,
from Debian: qemu-user and libc6-arm64-cross (aarch64), musl-tools (musl on x86-64), wine64
(Windows). Nothing runs those of macOS and of musl on aarch64: they are linked only.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from compile import PACKAGE, WHEELS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tests" / "core" / "svdd.c"
ARM = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
# What runs a program, by platform; None where nothing does.
RUNNERS = {
    "manylinux_2_17_x86_64": [],
    "manylinux_2_17_aarch64": ARM,
    "musllinux_1_2_x86_64": [],
    "musllinux_1_2_aarch64": None,
    "macosx_11_0_x86_64": None,
    "macosx_11_0_arm64": None,
    "win_amd64": ["wine"],
}


def fit(platform, library, folder, rows):
    """What the program prints, or the reason why it wasn't run."""
    target = WHEELS[platform]
    # Windows looks for the library beside the program, by its name.
    shutil.copy(library, folder)
    shared = folder / library.name
    program = folder / ("program.exe" if target.system == "Windows" else "program")
    runner = RUNNERS[platform]
    can_run = runner is not None and all(map(shutil.which, runner[:1]))
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target.triple]
    if platform == "musllinux_1_2_x86_64":  # zig's musl may be newer than the system's loader
        can_run = shutil.which("musl-gcc") is not None
        command = ["musl-gcc"] if can_run else command
    link = [] if target.system == "Windows" else [f"-Wl,-rpath,{folder}", "-lm"]
    subprocess.run(
        [*command, "-std=c99", f"-I{PACKAGE}", SOURCE, shared, *link, "-o", program],
        check=True, cwd=folder, capture_output=True,
    )  # fmt: skip
    if not can_run:
        return "linked, not run"
    n, d = rows.shape
    rows.tofile(folder / "rows")
    words = [*runner, program, "rows", str(n), str(d), "0.2", "0.2"]
    environment = {**os.environ, "WINEDEBUG": "-all"}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{platform}: the program ended with {done.returncode}: {done.stderr}")
    return np.array(done.stdout.split(), float)


def main():
    rows = np.random.default_rng(0).normal(size=(301, 3))
    expected = None
    for platform in WHEELS:
        found = sorted((ROOT / "dist").glob(f"fewlabels-*-{platform}.whl"))
        if not found:
            print(f"{platform}: no wheel in dist")
            continue
        with tempfile.TemporaryDirectory() as unpacked:
            with zipfile.ZipFile(found[-1]) as wheel:
                names = [name for name in wheel.namelist() if "/_core/lib/fewlabels-" in name]
                wheel.extractall(unpacked, names)
            for name in sorted(names):
                with tempfile.TemporaryDirectory() as folder:
                    result = fit(platform, Path(unpacked) / name, Path(folder), rows)
                if not isinstance(result, str):
                    expected = result if expected is None else expected
                    apart = np.abs(result - expected).max()
                    result = f"differs from the first by {apart:.0e} at most"
                    if not apart < 1e-12:
                        raise SystemExit(f"{platform}, {Path(name).name}: {result}")
                print(f"{platform}, {Path(name).name}: {result}", flush=True)


if __name__ == "__main__":
    main()
