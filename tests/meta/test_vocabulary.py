"""Words that a reader would stumble over don't occur where people read: plain English instead."""

import re

import pytest
from tests.meta import prose

# What not to write, as a pattern of whole words, and what to write.
AVOID = {
    r"piles?": "unlabelled rows, unlabelled set",
    r"(?<!vector )(?<!virtual )machines?(?!\s+learning)": "model, estimator; computer",
    r"told|tells|telling|hears?|heard": "report, return, message, result",
    r"(?:is|are|was|were|been) asked|asked for|asked": "requested, needed, passed",
    r"odd(?: rows?| values?| ones?)": "anomalies, outliers",
    r"rows elsewhere": "out-of-core, distributed or on-device data",
    r"prices?|reprices?|repriced": "cost, set_costs",
    r"learns_from|find_signal|sums_without|standing\(\)": "names that no longer exist",
    r"left out one by one|one by one": "leave-one-out; one at a time",
    r"right answers?|answers that are right": "accuracy",
    r"that (?:is|are) found|rows that are '": "recall; precision",
    r"areas? (?:that|under)": "PU-corrected ROC AUC, ROC AUC",
    r"by (?:the|their) columns": "from the features",
    r"all in all": "total",
    r"beside": "comparison; next to, together with",
    r"go on|goes on|going on|went on": "continue",
    r"stands?|stood|standing": "is, exists",
    r"(?:is|are) there(?=[,.;)])": "exists",
    r"learnt": "trained on, uses, used",
    r"anew": "again, re-",
    r"at most that far|that far": "an upper bound on",
    r"what was (?:worse|better) than hoped": "Limitations",
    r"thereby|whence|whereof|for want of": "ordinary words",
}
# Habits of style, in documents and messages. Numpydoc sections use them for lists of fields.
HABITS = {r"those of|that of|of which|of whose": "repeat the noun, or split the sentence"}


def _compiled(words):
    return {
        re.compile(rf"(?<![\w.-])(?:{pattern})(?![\w-])", re.IGNORECASE): instead
        for pattern, instead in words.items()
    }


PATTERNS = {kind: _compiled(AVOID | HABITS) for kind in ("documents", "messages")}
PATTERNS["docstrings"] = _compiled(AVOID)
# Docstrings of private things have fewer rules.
PATTERNS["inner_docstrings"] = _compiled({r"those of|that of": "repeat the noun"})
# Quotations and data that may have such a word: where, what, why.
ALLOWED = [
    ("docs/learn/probabilities.md", "SV machines", "the title of a paper"),
    ("src/fewlabels/tables/answers/file.py", "asked TEXT", "a column of label files"),
]


def _violations(parts, kind="documents"):
    found = []
    for where, text in parts:
        for name, quotation, _ in ALLOWED:
            if where.startswith(name):
                text = text.replace(quotation, " " * len(quotation))
        for pattern, instead in PATTERNS[kind].items():
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                around = " ".join(text[max(0, match.start() - 40) : match.end() + 30].split())
                found.append(f"{where}:{line}: '{match.group()}' (use: {instead}) in: {around}")
    return found


@pytest.mark.parametrize("kind", list(PATTERNS))
def test_plain_words(kind):
    parts = list(getattr(prose, kind)())
    assert len(parts) > 30
    found = _violations(parts, kind)
    assert not found, f"{len(found)} places:\n" + "\n".join(found)


def test_what_is_found():
    for text in (
        "rows in the pile",
        "The machine tells",
        "one by one",
        "scores are those of rows",
    ):
        assert _violations([("somewhere", text)]), text
    for text in ("a support vector machine", "--method svdd", "machine learning", "compiled"):
        assert not _violations([("somewhere", text)]), text
    assert not _violations([("docs/learn/probabilities.md", "Probabilities for SV machines.")])


def test_every_exception_is_needed():
    texts = dict(prose.documents()) | dict(prose.messages()) | dict(prose.docstrings())
    for name, quotation, reason in ALLOWED:
        assert reason
        assert any(quotation in text for where, text in texts.items() if where.startswith(name))


def test_the_documentation_is_short(repository):
    short = [path for path in prose.pages() if path.name != "benchmarks.md"]
    assert sum(prose.words(page.read_text(encoding="utf-8")) for page in short) <= 30_000
    assert (
        prose.words((repository / "docs" / "benchmarks.md").read_text(encoding="utf-8")) <= 3_000
    )


def test_sentences_are_short():
    counts = [len(s.split()) for _, text in prose.documents() for s in prose.sentences(text)]
    assert sum(counts) / len(counts) < 17
    long = {
        name: s
        for name, text in prose.documents()
        if not name.startswith("benchmarks/")
        for s in prose.sentences(text)
        if len(s.split()) > 50
    }
    assert long == {}
