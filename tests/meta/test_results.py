"""Every figure in a table of README and docs/benchmarks.md comes from the results file."""

import importlib.util
import re

import pytest
from tests.meta import prose


@pytest.fixture(scope="module")
def program(repository):
    path = repository / "benchmarks" / "results.py"
    spec = importlib.util.spec_from_file_location("results_of_benchmarks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_are_those_of_the_results_file(program, repository):
    for document in program.DOCUMENTS:
        text = (repository / document).read_text(encoding="utf-8")
        assert program.filled(text, program.load()) == text, "run `make tables`"


@pytest.mark.parametrize("document", ["README.md", "docs/benchmarks.md"])
def test_no_table_is_written_by_hand(repository, document):
    text = (repository / document).read_text(encoding="utf-8")
    # No table is written by hand: outside of the markers no line begins with a bar.
    rest = re.sub(r"<!-- table: .*?<!-- /table -->", "", text, flags=re.DOTALL)
    assert not re.search(r"^\|", rest, flags=re.MULTILINE)


def test_other_pages_have_no_measurements_of_their_own(repository):
    """Guides link to measurements: no scores in their tables, no figures in what was measured."""
    cue = re.compile(
        r"\b(?:took|mean (?:absolute )?error|in simulations|contained the truth)\b", re.I
    )
    found = []
    for name, text in prose.documents():
        if not name.startswith("docs/") or name == "docs/benchmarks.md":
            continue
        source = (prose.ROOT / name).read_text(encoding="utf-8")
        rest = re.sub(r"<!-- table: .*?<!-- /table -->|^```.*?^```", "", source,
                      flags=re.DOTALL | re.MULTILINE)  # fmt: skip
        found += re.findall(r"^\|.*\|\s*0?\.\d{3}\s*\|.*$", rest, flags=re.MULTILINE)
        measured = (s for s in prose.sentences(text) if cue.search(s))
        found += [
            f"{name}: {s}" for s in measured if re.search(r"\d ?(?:%|s|ms|GB|min)\b|\.\d", s)
        ]
    assert found == []


def test_entries_say_where_they_come_from(program):
    entries = program.load()["entries"]
    names = [program.check(one)["name"] for one in entries]
    assert names == sorted(set(names))


def test_a_new_entry_replaces_the_old_one(program):
    results = program.load()
    old = results["entries"][0]
    new = {**old, "note": "measured again"}
    assert program.add(results, [new])["entries"][0] == new
    with pytest.raises(SystemExit, match="missing"):
        program.add(results, [{"name": "x"}])


def test_the_page_and_the_readme_are_short(repository):
    def words(document):
        text = (repository / document).read_text(encoding="utf-8")
        return len([word for word in text.split() if re.search(r"\w", word)])

    assert words("docs/benchmarks.md") <= 3000
    assert words("README.md") <= 1200
    assert len((repository / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
