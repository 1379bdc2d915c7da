"""Changelog fragments have a known type and are short."""

import re
import subprocess
import sys
import tomllib

import pytest


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
        if not re.fullmatch(rf"\+?[\w-]+\.({'|'.join(types)})(\.\d+)?\.md", path.name):
            wrong.append(f"{path.name}: name it NAME.TYPE.md, with a type of {types}")
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


def test_towncrier_writes_the_fragments(repository):
    pytest.importorskip("towncrier")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "## [9.9.9] - " in done.stdout
    for path in (repository / "changelog.d").glob("*.*.md"):
        first = path.read_text(encoding="utf-8").split("\n")[0]
        assert f"- {first}" in done.stdout, path.name
