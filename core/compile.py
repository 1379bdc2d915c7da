"""Compile the C++ core into shared libraries, one per instruction level.

    python core/compile.py              # into src/fewlabels/_core/lib, for this machine
    python core/compile.py --sanitize   # with address and undefined-behaviour sanitizers

The build backend (``backend.py``) calls :func:`build`. It needs a C++17 compiler that knows GCC's
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
INCLUDE = ROOT.parent / "src" / "fewlabels" / "_core"
LIBRARIES = INCLUDE / "lib"

# No -ffast-math anywhere: infinities carry meaning. Kernel values may contract a*b + c.
FLAGS = (
    "-std=c++17 -O3 -g0 -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-math-errno "
    "-fno-trapping-math -Wall -Wextra -Werror=return-type"
).split()
STRICT, CONTRACTED = ("-ffp-contract=off",), ("-ffp-contract=fast",)
SOURCES = {
    "block.cpp": STRICT,
    "columns.cpp": CONTRACTED,
    "games.cpp": CONTRACTED,
    "level.cpp": STRICT,
    "path.cpp": STRICT,
    "penalty.cpp": STRICT,
    "sparse.cpp": CONTRACTED,
    "tiles.cpp": CONTRACTED,
    "usmo.cpp": STRICT,
}
SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -g1 -O1".split()


@dataclass(frozen=True)
class Target:
    """What to build for: a target triple of the zig compiler (none: this machine)."""

    triple: str | None = None
    system: str = platform.system()
    machine: str = platform.machine().lower()

    @property
    def is_x86(self):
        return self.machine in ("x86_64", "amd64")

    @property
    def levels(self):
        """Instruction levels, the lowest first, and the compiler's flags for them."""
        if not self.is_x86:
            return {"aarch64": ()}
        march = "-mcpu=x86_64_{}" if self.triple else "-march=x86-64-{}"
        wide = () if self.triple else ("-mprefer-vector-width=512",)
        return {
            f"x86-64-{v}": (march.format(v), *(wide if v == "v4" else ())) for v in ("v2", "v3", "v4")
        }

    @property
    def suffix(self):
        return {"Windows": ".dll", "Darwin": ".dylib"}.get(self.system, ".so")


def find_compiler(target):
    """The compiler's command, or None."""
    if target.triple is None:
        named = os.environ.get("CXX")
        if named:
            return shlex.split(named)
        for name in ("g++", "clang++", "c++"):
            if shutil.which(name):
                return [name]
    if find_spec("ziglang"):
        command = [sys.executable, "-m", "ziglang", "c++"]
        return [*command, "-target", target.triple] if target.triple else command
    return None


def build(folder=LIBRARIES, target=None, sanitize=False):
    """Build all levels into ``folder``; returns the paths of the libraries."""
    target = target or Target()
    compiler = find_compiler(target)
    if compiler is None:
        raise SystemExit(
            "fewlabels needs a C++ compiler to build: none of g++, clang++ and c++ was found. "
            "Install one, name it with CXX, or `pip install ziglang`."
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        jobs = [
            (level, source, Path(scratch) / f"{level}-{source}.o", (*flags, *math))
            for level, flags in target.levels.items()
            for source, math in SOURCES.items()
        ]
        more = [*FLAGS, *(SANITIZE if sanitize else ()), f"-I{INCLUDE}", "-c"]

        def compile_one(job):
            _, source, output, flags = job
            run([*compiler, *more, *flags, str(ROOT / "src" / source), "-o", str(output)])

        list(pool.map(compile_one, jobs))
        paths = []
        for level in target.levels:
            path = folder / f"fewlabels-{level}{target.suffix}"
            objects = [str(output) for name, _, output, _ in jobs if name == level]
            # A running process may have the old library open: replace the file, don't write to it.
            partial = path.with_name(path.name + ".new")
            link = ["-shared", *(SANITIZE if sanitize else ())]
            if target.system == "Linux":
                link += ["-Wl,--as-needed"]
            run([*compiler, *objects, *link, "-o", str(partial), *(["-lm"] if target.system == "Linux" else [])])
            partial.replace(path)
            paths.append(path)
    return paths


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.stderr and not done.returncode:
        print(done.stderr, file=sys.stderr)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--output", type=Path, default=LIBRARIES)
    arguments = parser.parse_args()
    for path in build(arguments.output, sanitize=arguments.sanitize):
        print(f"{path} ({path.stat().st_size / 1e3:.0f} kB)")
