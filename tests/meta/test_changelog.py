"""Changelog fragments have a known type and are short."""

import re
import shutil
import subprocess
import sys
import tomllib

import pytest

import fewlabels


@pytest.fixture(scope="module")
def types(repository):
    with open(repository / "pyproject.toml", "rb") as file:
        return [kind["directory"] for kind in tomllib.load(file)["tool"]["towncrier"]["type"]]


def test_fragments_have_a_type_and_are_short(repository, types):
    files = [p for p in (repository / "changelog.d").iterdir() if not p.name.startswith(".")]
    wrong = []
    for path in files:
        if path.name in ("README.md", "template.md.jinja"):
            continue
        if not re.fullmatch(rf"[a-z]+(-[a-z0-9]+)*\.({'|'.join(types)})\.md", path.name):
            wrong.append(f"{path.name}: name it NAME.TYPE.md, words and a type of {types}")
        lines = path.read_text(encoding="utf-8").strip().split("\n")
        if len(lines) > 4 or max(map(len, lines)) > 98:
            wrong.append(f"{path.name}: at most four lines of 98 characters")
    assert wrong == []


def test_the_changelog_is_short_and_wrapped(repository):
    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "<!-- towncrier release notes start -->" in text
    assert [line for line in text.split("\n") if len(line) > 100] == []
    entries = re.findall(r"^- .*(?:\n  .*)*", text, flags=re.MULTILINE)
    assert [entry for entry in entries if len(entry.split("\n")) > 4] == []


def test_the_newest_entry_is_this_version(repository):
    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    version, day = re.search(r"^## \[(.*)\] - (.*)$", text, flags=re.MULTILINE).groups()
    assert version == fewlabels.__version__
    assert re.fullmatch(r"unreleased|\d{4}-\d\d-\d\d", day)


def test_towncrier_writes_the_fragments(repository, tmp_path):
    pytest.importorskip("towncrier")
    for name in ("pyproject.toml", "CHANGELOG.md", "src/fewlabels/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(repository / name, tmp_path / name)
    shutil.copytree(repository / "changelog.d", tmp_path / "changelog.d")
    (tmp_path / "changelog.d" / "cosine-kernel.added.md").write_text("A kernel.\n")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "## [9.9.9] - " in done.stdout
    assert "### Added\n\n- A kernel.\n" in done.stdout
    for path in (repository / "changelog.d").glob("*.*.md"):
        first = path.read_text(encoding="utf-8").split("\n")[0]
        assert f"- {first}" in done.stdout, path.name
