"""Build the source archive, and wheels for all platforms from it, with ``ziglang``'s compiler.

python core/wheels.py                          # all wheels, into dist/
python core/wheels.py manylinux_2_17_aarch64   # some wheels
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compile import WHEELS

REPOSITORY = Path(__file__).resolve().parents[1]


def build_archives(folder: Path, platforms: list[str]) -> None:
    """Write the source archive and one wheel per platform into a folder.

    The wheels are built from the unpacked archive, so they can't hold any other file, and the
    libraries in the source tree stay as they are.
    """
    with tempfile.TemporaryDirectory() as scratch:
        run_build("--sdist", REPOSITORY, scratch)
        (archive,) = Path(scratch).glob("*.tar.gz")
        shutil.unpack_archive(archive, scratch)
        source = archive.with_name(archive.name.removesuffix(".tar.gz"))
        for platform in platforms:
            started = time.perf_counter()
            run_build("--wheel", source, folder, FEWLABELS_WHEEL=platform)
            print(f"{platform}: {time.perf_counter() - started:.0f} s", flush=True)
        shutil.copy(archive, folder)


def run_build(kind: str, source: Path, folder: Path, **variables: str) -> None:
    """Build one archive with the packages of this environment."""
    done = subprocess.run(
        [sys.executable, "-m", "build", kind, "--no-isolation", source, "--outdir", folder],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}The archive can't be built; see above.")


def main(platforms: list[str]) -> None:
    unknown = set(platforms) - set(WHEELS)
    if unknown:
        raise SystemExit(f"unknown platform {min(unknown)}; choose from {', '.join(WHEELS)}.")
    build_archives(REPOSITORY / "dist", platforms or list(WHEELS))


if __name__ == "__main__":
    main(sys.argv[1:])
