"""The page on the papers names what exists, leaves nothing out, and counts what it says."""

import ast
import re
from collections import Counter
from functools import cache

import pytest

HEADER = ["Paper", "Here", "Test", "Command", "Result", "Difference and reason"]
STATUSES = ["tested", "reproduced", "differs", "wrong", "context", "open"]
# What each paper numbers: how many of each kind.
NUMBERED = {
    "Zheng": {"equation": 26, "Algorithm": 1, "Proposition": 2, "Lemma": 1, "Remark": 3,
              "Table": 11, "Figure": 3},
    "Sansone": {"equation": 28, "Algorithm": 1, "Representer Theorem": 1, "Lemma": 4,
                "Definition": 1, "Table": 4, "Figure": 7},
    "Gu": {"equation": 22, "Algorithm": 1, "Definition": 2, "Remark": 4, "Theorem": 4,
           "Corollary": 3, "Table": 3, "Figure": 4},
    "Yu": {"equation": 19, "Algorithm": 3, "Theorem": 3, "Corollary": 1, "Table": 2, "Figure": 3},
}  # fmt: skip
PLURALS = {"Algorithms": "Algorithm", "Lemmas": "Lemma", "Theorems": "Theorem",
           "Definitions": "Definition", "Tables": "Table", "Figures": "Figure"}  # fmt: skip


@pytest.fixture(scope="module")
def page(repository):
    return (repository / "docs/papers.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sections(page):
    """Text of the section on each paper, by first author."""
    parts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return {name: part for part in parts for name in NUMBERED if part.startswith(f"{name}")}


def rows(text):
    """Cells of the rows of a section's table."""
    lines = [line for line in text.split("\n") if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == HEADER
    return cells[2:]


def items(cell):
    """Numbered items that a first cell names: kind and number."""
    kind = None
    for part in re.split(r", ", cell):
        numbers = re.fullmatch(r"\((\d+)\)(?:–\((\d+)\))?", part)
        if numbers:
            name, first, last = "equation", *numbers.groups()
        else:
            name, first, last = re.fullmatch(r"([A-Za-z ]+) (\d+)(?:–(\d+))?", part).groups()
        kind = PLURALS.get(name, name)
        for number in range(int(first), int(last or first) + 1):
            yield kind, number


@cache
def definitions(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = ast.ClassDef | ast.FunctionDef
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_every_paper_has_a_section(sections):
    assert list(sections) == list(NUMBERED)


@pytest.mark.parametrize("paper", NUMBERED)
def test_nothing_of_a_paper_is_missing(paper, sections):
    found = Counter(item for cells in rows(sections[paper]) for item in items(cells[0]))
    expected = {(kind, k + 1) for kind, n in NUMBERED[paper].items() for k in range(n)}
    assert set(found) == expected
    assert [item for item, n in found.items() if n > 1] == []


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_name_exists(paper, sections, repository):
    here = {
        name
        for path in (repository / "src" / "fewlabels").rglob("*.py")
        for name in definitions(path)
    }
    for _, names, tests, commands, status, _ in rows(sections[paper]):
        assert status in STATUSES
        for name in re.findall(r"`([^`]+)`", names):
            assert name in here, name
        for command in re.findall(r"`([^`]+)`", commands):
            assert (repository / command).is_file(), command
        assert (status == "tested") <= (tests != "–")
        assert (status in ("reproduced", "differs")) <= (commands != "–")
        assert all(cell for cell in (names, tests, commands))


def test_every_test_and_program_exists(page, repository):
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", page)
    assert len(named) > 50
    for module, name in named:
        paths = (repository / "tests").rglob(module)
        assert any(name in definitions(path) for path in paths), f"{module}::{name}"
    for path in re.findall(r"`(benchmarks/[\w./]+)", page):
        assert (repository / path).exists(), path


def test_every_test_of_the_papers_is_named(page, repository):
    folder = repository / "tests" / "papers"
    tests = {(path.name, name) for path in folder.glob("test_*.py") for name in definitions(path)}
    tests = {(path, name) for path, name in tests if name.startswith("test_")}
    assert tests <= set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", page))


@pytest.mark.parametrize("paper", NUMBERED)
def test_errata_are_explained(paper, sections):
    text = sections[paper]
    explained = re.findall(r"^- \*\*([A-Z]\d)\.\*\*", text, flags=re.MULTILINE)
    assert explained == [f"{paper[0]}{k + 1}" for k in range(len(explained))]
    for *_, status, reason in rows(text):
        assert (status == "wrong") <= bool(re.search(r"\b[A-Z]\d\b", reason))


def test_counts_are_those_of_the_tables(page, sections):
    text = page.split("## Counts")[1]
    lines = [line for line in text.split("\n") if line.startswith("|")][2:]
    stated = {cells[0]: [int(n) for n in cells[1:]] for line in lines
              for cells in [[c.strip() for c in line.strip("|").split("|")]]}  # fmt: skip
    counted = {}
    for paper in NUMBERED:
        found = Counter()
        for cells in rows(sections[paper]):
            found[cells[4]] += len(list(items(cells[0])))
        counted[paper] = [found[status] for status in STATUSES]
    counted["together"] = [sum(column) for column in zip(*counted.values(), strict=True)]
    assert stated == counted
