"""`make release` refuses a checkout that isn't ready, and says why."""

import hashlib
import importlib
import shutil
import subprocess

import pytest

ENTRY = "# Changelog\n\n## [1.2.0] - 2026-03-01\n"


@pytest.fixture
def release(monkeypatch, request):
    monkeypatch.syspath_prepend(request.config.rootpath / "core")
    return importlib.import_module("release")


@pytest.fixture
def checkout(tmp_path):
    """A repository whose version 1.2.0 can be released, and a function that calls git there."""
    if shutil.which("git") is None:
        pytest.skip("needs git")

    def git(*words):
        settings = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *settings, *words], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "README.md").write_text("How to name fragments.")
    (tmp_path / "CHANGELOG.md").write_text(ENTRY)
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "Release")
    return tmp_path, git


def test_a_checkout_is_ready_before_and_after_its_tag(release, checkout):
    folder, git = checkout
    assert release.find_problems(folder, "1.2.0", tagged=False) == []
    (problem,) = release.find_problems(folder, "1.2.0", tagged=True)
    assert problem.startswith("This commit doesn't have the tag v1.2.0.")
    git("tag", "v1.2.0")
    assert release.find_problems(folder, "1.2.0", tagged=True) == []
    (problem,) = release.find_problems(folder, "1.2.0", tagged=False)
    assert problem.startswith("The tag v1.2.0 exists.")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("new.py", "", "The working tree has changes."),
        ("CHANGELOG.md", ENTRY.replace("1.2.0", "1.1.9"), "The first entry of CHANGELOG.md is"),
        ("CHANGELOG.md", ENTRY.replace("2026-03-01", "unreleased"), "The first entry of"),
        ("CHANGELOG.md", "# Changelog\n", "CHANGELOG.md has no entry."),
        ("changelog.d/kernel.added.md", "A kernel.", "changelog.d has fragments."),
    ],
)
def test_what_is_missing_is_said(release, checkout, name, text, problem):
    folder, git = checkout
    (folder / name).write_text(text)
    if name != "new.py":
        git("add", ".")
        git("commit", "--quiet", "--message", "Change")
    (found,) = release.find_problems(folder, "1.2.0", tagged=False)
    assert found.startswith(problem)


def test_checksums_are_those_of_the_archives(release, tmp_path, capsys):
    (tmp_path / "b.whl").write_bytes(b"wheel")
    (tmp_path / "a.tar.gz").write_bytes(b"archive")
    release.write_checksums(tmp_path)
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert lines == [
        f"{hashlib.sha256(b'archive').hexdigest()}  a.tar.gz",
        f"{hashlib.sha256(b'wheel').hexdigest()}  b.whl",
    ]
