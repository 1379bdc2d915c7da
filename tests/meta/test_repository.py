"""What may not be in a tracked file."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch

import pytest

# Places of one machine; and folders outside the repository.
MACHINE_PATHS = re.compile(
    r"/(?:home|root|Users|work|tmp)/\w|\b[A-Z]:\\\\?Users|(?:\.\./)+shared\b|site-packages/"
)
BINARY = (".png", ".npz", ".npy", ".parquet", ".skops", ".ico")


@pytest.fixture(scope="module")
def tracked(repository):
    """Files of the repository; without git, everything that is not generated."""
    try:
        out = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=repository,
            capture_output=True,
            check=True,
        ).stdout.decode()
        names = [name for name in out.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        generated = {"build", "dist", "results", "demo-output"}
        names = [
            path.relative_to(repository).as_posix()
            for path in repository.rglob("*")
            if path.is_file()
            and not generated & set(path.relative_to(repository).parts)
            and "__pycache__" not in path.parts
            and not any(part.endswith(".egg-info") for part in path.parts)
            and not {p for p in path.relative_to(repository).parts[:-1] if p[0] == "."} - {".ci"}
        ]
    return [repository / name for name in names if (repository / name).is_file()]


def test_no_paths_of_a_machine(tracked, repository):
    found = []
    for path in tracked:
        if path.suffix in BINARY or path.name == "test_repository.py":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if MACHINE_PATHS.search(line):
                found.append(f"{path.relative_to(repository)}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)


def test_no_merge_conflicts(tracked, repository):
    """Marks of either side, as git writes them at the beginning of a line."""
    mark = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
    found = [
        path.relative_to(repository)
        for path in tracked
        if path.suffix not in BINARY and mark.search(path.read_text(encoding="utf-8"))
    ]
    assert not found, found


def test_no_large_files(tracked, repository):
    large = [p.relative_to(repository) for p in tracked if p.stat().st_size > 600_000]
    assert not large, large


def test_a_source_file_holds_one_idea(tracked, repository):
    """A thousand lines are a sign that it has two."""
    long = [
        f"{path.relative_to(repository)}: {lines} lines"
        for path in tracked
        if path.suffix == ".py" and "src" in path.relative_to(repository).parts
        if (lines := path.read_text(encoding="utf-8").count("\n")) > 1000
    ]
    assert not long, long


def test_spelling_is_not_checked_in_what_commands_write(repository):
    """`make demo` before `make test` must not fail it."""
    skipped = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    skipped = skipped["tool"]["codespell"]["skip"].split(",")
    lines = (repository / ".gitignore").read_text(encoding="utf-8").split()
    folders = [line.rstrip("/") for line in lines if line.endswith("/")]
    hold_text = [f for f in folders if not f.startswith(".") and f != "__pycache__"]
    hold_text.remove("src/fewlabels/_core/lib")  # binary
    assert len(hold_text) >= 6
    for folder in hold_text:
        names = (f"./{folder}", *folder.split("/"))
        assert any(fnmatch(name, skip) for name in names for skip in skipped), folder
