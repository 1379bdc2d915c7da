"""Build, check and try everything that a release publishes: `make release`.

    python core/release.py            # before the version is tagged
    python core/release.py --tagged   # in the workflow that the tag starts

The archives and their checksums are written into dist/. Nothing is published.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from compile import WHEELS
from wheels import REPOSITORY, build_archives

NEXT_STEPS = """
To publish fewlabels {version}, push the tag:

    git tag v{version}
    git push origin v{version}

The workflow .github/workflows/publish.yml then builds the same archives, uploads them, installs
what was published and tries it. To upload the archives in {folder} yourself instead:

    .venv/bin/twine upload {folder}/*.tar.gz {folder}/*.whl
"""


def find_problems(repository: Path, version: str, tagged: bool) -> list[str]:
    """Return the reasons why this checkout can't be released."""
    problems = []
    if git(repository, "status", "--porcelain"):
        problems.append("The working tree has changes. Commit or remove them.")
    tag = f"v{version}"
    if tagged and tag not in git(repository, "tag", "--points-at", "HEAD"):
        problems.append(f"This commit doesn't have the tag {tag}. Correct the version or the tag.")
    if not tagged and git(repository, "tag", "--list", tag):
        problems.append(f"The tag {tag} exists. Set a new version in pyproject.toml.")
    changelog = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (.*)", changelog, flags=re.MULTILINE)
    expected = rf"\[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d"
    advice = f"Begin it with '## [{version}] - ' and the day of the release, as YYYY-MM-DD."
    if newest is None:
        problems.append(f"CHANGELOG.md has no entry. {advice}")
    elif not re.fullmatch(expected, newest[1]):
        problems.append(f"The first entry of CHANGELOG.md is '{newest[1]}'. {advice}")
    if list((repository / "changelog.d").glob("*.*.md")):
        problems.append(
            "changelog.d has fragments. Move them into CHANGELOG.md: "
            f"towncrier build --version {version}"
        )
    return problems


def git(repository: Path, *words: str) -> list[str]:
    """Return the lines that git prints."""
    done = subprocess.run(
        ["git", *words], cwd=repository, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def run_python(*words: str | Path) -> None:
    """Run a program that prints what is wrong, and end with it if it fails."""
    code = subprocess.run([sys.executable, *words]).returncode
    if code:
        raise SystemExit(code)


def write_checksums(folder: Path) -> None:
    """Write SHA256SUMS, which `sha256sum --check` reads."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"
        for path in sorted(folder.iterdir())
    ]
    (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tagged", action="store_true", help="require that HEAD has the tag")
    tagged = parser.parse_args().tagged
    with open(REPOSITORY / "pyproject.toml", "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    problems = find_problems(REPOSITORY, version, tagged)
    if problems:
        raise SystemExit("\n".join([f"fewlabels {version} can't be released:", *problems]))
    folder = REPOSITORY / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    build_archives(folder, list(WHEELS))
    run_python("-m", "twine", "check", "--strict", *sorted(folder.iterdir()))
    run_python(REPOSITORY / "tests" / "packaging" / "try_package.py", folder)
    write_checksums(folder)
    if not tagged:
        print(NEXT_STEPS.format(version=version, folder=folder.name))


if __name__ == "__main__":
    main()
