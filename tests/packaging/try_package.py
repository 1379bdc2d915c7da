"""Install the package in a fresh environment without a compiler, and use it.

    python tests/packaging/try_package.py                # build both archives, check and try them
    python tests/packaging/try_package.py dist           # check a folder's archives, try a wheel
    python tests/packaging/try_package.py --published    # try this version as it was published

Not a test that pytest collects: it takes a minute and the network. `make package` runs the first
command, `make release` the second, and the workflow that publishes runs the third.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

USE = """
import onnxruntime
import numpy as np
import fewlabels
from importlib.metadata import version

assert "site-packages" in fewlabels.__file__, fewlabels.__file__
assert fewlabels.__version__ == version("fewlabels")
session = onnxruntime.InferenceSession("m.onnx")
rows = {i.name: np.zeros((1, 1)) for i in session.get_inputs()}
assert np.isfinite(session.run(["score"], rows)[0]).all()
"""

# What the estimators don't need.
OF_APP = {"pandas", "pyarrow", "skops", "typer", "rich", "matplotlib"}
ESTIMATE = """
import numpy as np
from fewlabels import SVDD

X = np.random.default_rng(0).normal(size=(60, 2))
assert SVDD(target_fpr=0.1).fit(X).predict(X).sum() > 0
"""

COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cl", "zig")
# A published version may take some minutes to appear in the index.
TRIES, SECONDS_BETWEEN_TRIES = 20, 30


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("archives", nargs="?", type=Path, help="a folder of archives")
    parser.add_argument("--published", action="store_true", help="install from the index")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if given.published:
            with open(REPOSITORY / "pyproject.toml", "rb") as file:
                version = tomllib.load(file)["project"]["version"]
            use(folder, f"fewlabels=={version}", "--only-binary", "fewlabels", tries=TRIES)
            return
        archives = given.archives or folder / "dist"
        if not given.archives:
            run(sys.executable, "-m", "build", "--outdir", archives, REPOSITORY)
        check(archives)
        use(folder, "fewlabels", "--no-index", "--find-links", archives.resolve())


def check(archives):
    """The source archive and the wheels hold what belongs in them and nothing else."""
    sources = {
        path.relative_to(REPOSITORY / "src").as_posix()
        for path in (REPOSITORY / "src" / "fewlabels").rglob("*")
        if path.is_file() and not {"__pycache__", "lib"} & {*path.parts}
    }
    (archive,) = archives.glob("*.tar.gz")
    check_archive(archive, sources)
    for wheel in sorted(archives.glob("*.whl")):
        check_wheel(wheel, sources)


def check_wheel(wheel, sources):
    names = set(zipfile.ZipFile(wheel).namelist())
    in_package = {name for name in names if name.startswith("fewlabels/")}
    libraries = {name for name in in_package if name.startswith("fewlabels/_core/lib/")}
    expect(libraries, f"{wheel.name} lacks the compiled core")
    both = in_package - libraries
    expect(both == sources, f"in one of wheel and sources: {both ^ sources}")
    expect("fewlabels/py.typed" in names, "the wheel lacks py.typed")
    expect("-py3-none-" in wheel.name and "-any" not in wheel.name, f"its tag: {wheel.name}")
    rest = {name for name in names if not name.startswith("fewlabels/")}
    info = {name.split("/", 1)[1] for name in rest}
    expect(all(".dist-info/" in name for name in rest), f"the wheel holds {sorted(rest)}")
    expect({"licenses/LICENSE", "entry_points.txt", "METADATA"} <= info, f"metadata: {info}")
    say(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1e3:.0f} kB")


def check_archive(archive, sources):
    with tarfile.open(archive) as file:
        inside = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
    needed = {"LICENSE", "README.md", "pyproject.toml", *(f"src/{name}" for name in sources)}
    needed |= {"setup.py", "core/backend.py", "core/compile.py", "core/src/block.cpp"}
    expect(needed <= inside, f"the sdist lacks {sorted(needed - inside)}")
    expect(
        not any(name.endswith((".so", ".dylib", ".dll")) for name in inside),
        "libraries in the sdist",
    )
    say(f"{archive.name}: {len(inside)} files, {archive.stat().st_size / 1e3:.0f} kB")


def use(folder, requirement, *source, tries=1):
    """Install the wheel for this computer, and do what a first user does."""
    home = folder / "venv"
    venv.create(home, with_pip=True)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    python, command = scripts / "python", scripts / "fewlabels"
    os.environ["PATH"] = str(scripts)
    expect(not any(map(shutil.which, COMPILERS)), f"there is a compiler in {scripts}")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    install(*pip, "--no-deps", *source, requirement, tries=tries)
    run(*pip, "fewlabels")
    run(python, "-m", "pip", "check")
    there = {line.split("=")[0] for line in run(*pip[:-2], "freeze").split()}
    expect(not there & OF_APP, f"the core brings {sorted(there & OF_APP)}")
    run(python, "-c", ESTIMATE)
    refused = run(command, "--help", code=1)
    expect("pip install 'fewlabels[app" in refused, refused)
    run(*pip, "fewlabels[app]")
    run(python, "-m", "pip", "check")
    work = folder / "work"
    work.mkdir()
    table = "\n".join(f"{i % 7},{(i * i) % 11},{i % 3}" for i in range(60))
    (work / "rows.csv").write_text(f"a,b,c\n{table}\n", encoding="utf-8")
    run(command, "--version", cwd=work)
    started = time.perf_counter()
    run(command, "--help", cwd=work)
    say(f"fewlabels --help: {time.perf_counter() - started:.2f} s")
    run(command, "fit", "rows.csv", "-o", "m.skops", cwd=work)
    run(command, "predict", "m.skops", "rows.csv", "-o", "scores.csv", cwd=work)
    lines = (work / "scores.csv").read_text(encoding="utf-8").splitlines()
    expect(len(lines) == 61 and "score" in lines[0], lines[0])
    refused = run(command, "export", "m.skops", "-o", "m.onnx", cwd=work, code=2)
    expect("pip install 'fewlabels[onnx]'" in " ".join(refused.split()), refused)
    run(*pip, "fewlabels[onnx]", "onnxruntime")
    run(command, "export", "m.skops", "-o", "m.onnx", cwd=work)
    run(python, "-c", USE, cwd=work)
    say("installed, fitted, predicted and exported in a fresh environment")


def install(*words, tries):
    """Run a command of pip, again while the index lacks the version."""
    for _ in range(tries - 1):
        if subprocess.run([str(word) for word in words], env=environment()).returncode == 0:
            return
        time.sleep(SECONDS_BETWEEN_TRIES)
    run(*words)


def environment():
    """Variables without those that add folders of modules or name a compiler."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") and name not in ("CC", "CXX")
    }


def run(*words, cwd=None, code=0):
    """Output of a command that has to end with ``code``."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd, capture_output=True, text=True, env=environment(),
    )  # fmt: skip
    output = done.stdout + done.stderr
    expect(done.returncode == code, f"{words}: exit code {done.returncode}\n{output}")
    return output


def expect(holds, otherwise):
    if not holds:
        raise SystemExit(f"package: {otherwise}")


def say(text):
    print(f"package: {text}", flush=True)


if __name__ == "__main__":
    main()
