"""The papers are cited as CITATION.cff lists them, with the numbers of equations they have."""

import re

import pytest

# Numbers of the last equation of each paper, by first author.
LAST_EQUATION = {"Zheng": 26, "Sansone": 28, "Gu": 22, "Yu": 19}
# The balancing constraint has no number; (2) of Yu et al. is the problem without it.
NOT_CITED = {"Yu": {2}}
SOURCES = [
    "*.md", "llms.txt", "docs/**/*.md", "src/**/*.py", "benchmarks/**/*.py", "benchmarks/*.md",
    "examples/*.*", "tests/reference/*.py", "core/src/*.*", "changelog.d/*.md",
]  # fmt: skip


@pytest.fixture(scope="module")
def papers(repository):
    """Authors (family and given names), year and title of every reference, by first author."""
    text = (repository / "CITATION.cff").read_text(encoding="utf-8").split("references:")[1]
    found = {}
    for part in re.split(r"^  - type: ", text, flags=re.M)[1:]:
        family = re.findall(r"family-names: (.+)", part)
        given = re.findall(r"given-names: (.+)", part)
        year = int(re.search(r"^    year: (\d+)", part, flags=re.M)[1])
        title = re.search(r"^    title: (.+)", part, flags=re.M)[1]
        found[family[0]] = {
            "authors": list(zip(family, given, strict=True)), "year": year, "title": title,
        }  # fmt: skip
    return found


@pytest.fixture(scope="module")
def texts(repository):
    """Every source with its lines joined, so that citations aren't broken."""
    paths = {path for pattern in SOURCES for path in repository.glob(pattern) if path.is_file()}
    paths = {p for p in paths if p.name != "test_citations.py" and p.suffix not in (".png", ".gz")}
    read = {p.relative_to(repository): p.read_text(encoding="utf-8") for p in sorted(paths)}
    return {
        path: re.sub(r"\s+", " ", re.sub(r'"\s*\n\s*f?"|\n\s*(?:#|//)', " ", text))
        for path, text in read.items()
        if re.search("Zheng|Sansone|Gu|Yu", text)
    }


def initials(given):
    return " ".join(re.sub(r"(\w)[\w.]*", r"\1.", part) for part in given.split())


def test_all_four_papers_are_listed(papers):
    assert set(papers) == set(LAST_EQUATION)


@pytest.mark.parametrize("page", ["README.md", "llms.txt"])
def test_pages_list_all_papers(papers, texts, page):
    (text,) = (text for path, text in texts.items() if path.as_posix() == page)
    for paper in papers.values():
        names = ", ".join(family for family, _ in paper["authors"])
        assert f"{names} ({paper['year']}), {paper['title']}" in text


def test_short_citations_have_the_right_form_and_year(papers, texts):
    wrong = []
    for first, paper in papers.items():
        several = len(paper["authors"]) > 1
        names = ", ".join(family for family, _ in paper["authors"])
        allowed = {f"{first} et al."} if several else {first}
        allowed |= {names, re.sub(r", (?=[^,]*$)", " & ", names)}
        citation = re.compile(
            rf"(?<!, )(?<!& )\b({first}(?: et al\.|(?:, | & )[A-Z][\w& ,]*?)?) \(?(20\d\d)\b"
        )
        for path, text in texts.items():
            wrong += [
                f"{path}: {found[0]}"
                for found in citation.finditer(text)
                if found[1] not in allowed or int(found[2]) != paper["year"]
            ]
    assert not wrong, "\n".join(wrong)


def test_reference_lists_name_all_authors(papers, texts):
    n_found = 0
    for paper in papers.values():
        names = ", ".join(f"{family}, {initials(given)}" for family, given in paper["authors"])
        start = paper["title"].split()[0:3]
        pattern = re.compile(
            r"((?:(?:De )?[A-Z]\w+, (?:[A-Z]\.[- ]?)+,? ?)+|[A-Z]\w+, [A-Z]\. et al\. )"
            rf"\((\d{{4}})\)\. {' '.join(start)}"
        )
        for path, text in texts.items():
            for found in pattern.finditer(text):
                n_found += 1
                assert found[1].strip() == names, path
                assert int(found[2]) == paper["year"], path
    assert n_found >= 4


def test_cited_equations_exist(papers, texts):
    n_found = 0
    for first, last in LAST_EQUATION.items():
        year = papers[first]["year"]
        cited = re.compile(
            rf"\b{first}(?: et al\.)? \(?{year}\)?, eqs?\. \((\d+)\)(?:-\((\d+)\))?"
        )
        for path, text in texts.items():
            for found in cited.finditer(text):
                numbers = {int(n) for n in found.groups() if n}
                n_found += 1
                assert max(numbers) <= last, f"{path}: {found[0]}"
                assert not numbers & NOT_CITED.get(first, set()), f"{path}: {found[0]}"
    assert n_found >= 8
