"""Compile the C++ core into shared libraries, one per instruction level.

    python core/compile.py                 # into src/fewlabels/_core/lib, for this machine
    python core/compile.py --debug         # for a debugger: names of lines, little optimization
    python core/compile.py --sanitize --output FOLDER   # with run-time checks, for tests

The build backend (``backend.py``) calls :func:`build`. It needs a C++17 compiler that has GCC's
vector types: GCC, Clang, or the one in the ``ziglang`` wheel. ``CXX`` names another one.
"""

import argparse
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT.parent / "src" / "fewlabels" / "_core"
LIBRARIES = PACKAGE / "lib"

# No -ffast-math anywhere: infinities carry meaning. Kernel values may contract a*b + c.
FLAGS = (
    "-std=c++17 -O3 -g0 -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-math-errno "
    "-fno-trapping-math -Wall -Wextra"
).split()
STRICT, CONTRACTED = "-ffp-contract=off", "-ffp-contract=fast"
SOURCES = {
    "block.cpp": STRICT,
    "columns.cpp": CONTRACTED,
    "distances.cpp": CONTRACTED,
    "forest.cpp": STRICT,
    "games.cpp": CONTRACTED,
    "level.cpp": STRICT,
    "path.cpp": STRICT,
    "penalty.cpp": STRICT,
    "sparse.cpp": CONTRACTED,
    "tiles.cpp": CONTRACTED,
    "usmo.cpp": STRICT,
}
DEBUG = "-g3 -O1".split()
# Checks of addresses and of undefined behaviour at run time.
SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -g1 -O1".split()


@dataclass(frozen=True)
class Target:
    """What to build for: a target of the zig compiler, or this machine (``triple`` None)."""

    triple: str | None = None
    system: str = platform.system()
    machine: str = platform.machine().lower()

    def levels(self, compiler):
        """Flags for each instruction level; Python's loader knows the names."""
        if self.machine not in ("x86_64", "amd64"):
            return {"baseline": []}
        flag = "-mcpu=x86_64_{}" if "ziglang" in compiler else "-march=x86-64-{}"
        return {f"x86-64-{v}": [flag.format(v)] for v in ("v2", "v3", "v4")}

    @property
    def suffix(self):
        return {"Windows": ".dll", "Darwin": ".dylib"}.get(self.system, ".so")


#: Platforms that wheels are built for. The numbers are the oldest glibc, musl or macOS.
WHEELS = {
    "manylinux_2_17_x86_64": Target("x86_64-linux-gnu.2.17", "Linux", "x86_64"),
    "manylinux_2_17_aarch64": Target("aarch64-linux-gnu.2.17", "Linux", "aarch64"),
    "musllinux_1_2_x86_64": Target("x86_64-linux-musl", "Linux", "x86_64"),
    "musllinux_1_2_aarch64": Target("aarch64-linux-musl", "Linux", "aarch64"),
    "macosx_11_0_x86_64": Target("x86_64-macos.11.0", "Darwin", "x86_64"),
    "macosx_11_0_arm64": Target("aarch64-macos.11.0", "Darwin", "arm64"),
    "win_amd64": Target("x86_64-windows-gnu", "Windows", "amd64"),
}


def find_compiler(target):
    """The command of a compiler for ``target``, or None."""
    if target.triple is None:
        if os.environ.get("CXX"):
            return shlex.split(os.environ["CXX"])
        for name in ("g++", "clang++"):
            if shutil.which(name):
                return [name]
    if find_spec("ziglang") is None:
        return None
    # Without the standard library, which zig would build from source.
    command = [sys.executable, "-m", "ziglang", "c++", "-nostdlib++", "-fno-sanitize=undefined"]
    return [*command, "-target", target.triple] if target.triple else command


def build(folder=LIBRARIES, target=None, sanitize=False, debug=False, only=False):
    """Build all levels into ``folder``; ``only``: remove what else is there. Returns the paths."""
    folder, target = Path(folder), target or Target()
    compiler = find_compiler(target)
    if compiler is None:
        raise SystemExit(
            "fewlabels needs a C++ compiler to build, and neither g++ nor clang++ was found. "
            "Install one, name it with CXX, or run `pip install ziglang`."
        )
    folder.mkdir(parents=True, exist_ok=True)
    if only:
        for path in folder.iterdir():
            path.unlink()
    checks = SANITIZE if sanitize else DEBUG if debug else []
    linux = target.system == "Linux"
    link = ["-shared", *checks, *(["-Wl,--as-needed", "-lm"] if linux else [])]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:

        def compile_one(level, flags, source, rule):
            output = Path(scratch) / f"{level}-{source}.o"
            words = [*FLAGS, *flags, rule, *checks, f"-I{PACKAGE}", "-c", ROOT / "src" / source]
            _run([*compiler, *words, "-o", output])
            return output

        futures = {
            level: [pool.submit(compile_one, level, flags, *item) for item in SOURCES.items()]
            for level, flags in target.levels(compiler).items()
        }
        paths = []
        for level, objects in futures.items():
            path = folder / f"fewlabels-{level}{target.suffix}"
            linked = Path(scratch) / path.name
            _run([*compiler, *(future.result() for future in objects), *link, "-o", linked])
            # In place of the old file, which a running process may have open.
            fresh = path.with_name(path.name + ".new")
            shutil.copy(linked, fresh)
            fresh.replace(path)
            paths.append(path)
    return paths


def _run(command):
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    if done.stderr:
        print(done.stderr, file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sanitize", action="store_true", help="with run-time checks, for tests")
    parser.add_argument("--debug", action="store_true", help="for a debugger")
    parser.add_argument("--output", type=Path, default=LIBRARIES, help="a folder")
    arguments = parser.parse_args()
    for path in build(arguments.output, sanitize=arguments.sanitize, debug=arguments.debug):
        print(f"{path} ({path.stat().st_size / 1e3:.0f} kB)")
