"""Every figure in the prose of README and docs is a setting, arithmetic, or checked here.

Figures that were measured have to be in benchmarks/results.json, or are computed in this file. A
new figure in a sentence fails until it is listed, with what it is.
"""

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tests.meta import prose

# Shares, times and sizes, and numbers below 1.
FIGURE = re.compile(
    r"(?<![\w.,])(?:\d[\d.,]*\s?(?:%|×|times\b|-fold\b|(?:n|m|µ)?s\b|seconds?\b|minutes?\b|hours?\b"
    r"|min\b|[kMG]B\b|bytes\b)|0?\.\d+(?!\.\d))"
)

# Levels, defaults and limits of the software: phrases with figures that nobody measured.
SETTINGS = {
    "README.md": ["about 20 seconds", "Version 0.1,"],
    "docs/baselines.md": ["at 95 % (Bonferroni)"],
    "docs/benchmarks.md": [
        "with 24 GB", "most distant 40 %", "rates of 1, 5 and 10 %", "95 % interval contains",
        "in 95 % of the draws", "with 95 % intervals", "rejects at 5 %",
        "How often 90 % intervals", "the 90 % intervals",
        "ROC AUC of 0.7 or more",
    ],
    "docs/class-prior.md": [
        "resampled 500 times", "default's 90 % intervals", "between 0.001 and one",
    ],
    "docs/command-line.md": ["so that 5 % of new normal rows"],
    "docs/confirmed-anomalies.md": ["a 95 % interval"],
    "docs/error-rates.md": [
        "Reject at most 5 %", "uses 5 % unless", "a rate of 1 %", "q = 0.1",
    ],
    "docs/few-labels-selection.md": ["its 95 % interval", "a 90 % interval"],
    "docs/labelling.md": ["than 15 ms", "Clopper-Pearson 95 %", "at most 1 % of the predictions"],
    "docs/monitoring-results.md": ["so that 5 % of unchanged", "the 90 % interval"],
    "docs/monitoring.md": [
        "and a 90 % interval", "discovery rate of 5 %", "alerts 1 % of normal", "below 99 % of",
    ],
    "docs/one-class-guide.md": [
        "most distant 20 %", "default is 0.5", "rate than 5 %",
    ],
    "docs/portability.md": ["exceed 2 GB"],
    "docs/probabilities.md": ["a set of rows 30 %"],
    "docs/pu-guide.md": ["a 90 % bootstrap", "is 0.15 divided", "wider than 0.7"],
    "docs/report.md": [
        "The 99 % interval", "with 90 % intervals", "0.7 becomes 0.7 - 0.2p",
    ],
    "docs/s3vm-guide.md": ["when 5 % have changed", "grown by 5 %"],
    "docs/solvers.md": ["up to .3"],
    "docs/start.md": ["about 5 % of new"],
    "docs/tables.md": ["after 120 s", "than 256 MB", "than 1 GB"],
    "docs/tuning.md": [
        "The 40 % with", "(5 % unless", "probability of 75 %", "or 90 % (strong", "1/4 to 4 times",
        "about 10 % of cases", "From 45 % on",
    ],
    "docs/what-fit-delivers.md": ["at once (95 %"],
}  # fmt: skip
# What follows from other numbers on the page, or from the size of a number in memory.
ARITHMETIC = {
    "docs/cluster.md": ["are 800 MB", "about 200 bytes"],
    "docs/error-rates.md": ["between 3.3 % and 7.1 %", "For 5 % and 500 rows", "(0.1 * 50)"],
    "docs/more-rows-than-memory.md": ["of 4 bytes", "about 25 bytes"],
    "docs/papers.md": ["50 to 100 times slower", "objective is -0.75 there"],
    "docs/path-following.md": ["about 250 bytes"],
    "docs/portability.md": ["8 bytes per number", "about 2 kB per row"],
    "docs/s3vm-guide.md": ["about 250 bytes"],
    "docs/streams.md": ["about 250 bytes"],
}
# What the code on the page prints.
PRINTED = {"docs/what-fit-delivers.md": ["about .95", "about .75"]}


def entry(name):
    """Rows of an entry of the results file, by their first cell."""
    path = prose.ROOT / "benchmarks" / "results.json"
    (found,) = [e for e in json.loads(path.read_text())["entries"] if e["name"] == name]
    return {row[0]: row[1:] for row in found["rows"]}


def _speed():
    ratios = [row[2] for row in entry("libsvm").values()]
    return f"between {100 / min(ratios):.0f} % and {100 / max(ratios):.0f} %"


def _svc():
    X, y = load_breast_cancer(return_X_y=True)
    few = np.random.default_rng(1).choice(len(y), 10, replace=False)
    rows, others = StandardScaler().fit_transform(X), np.setdiff1d(np.arange(len(y)), few)
    return f"classifies {100 * SVC().fit(rows[few], y[few]).score(rows[others], y[others]):.0f} %"


def _hidden():
    X, y = load_breast_cancer(return_X_y=True)
    malignant = y == 0
    known = malignant & (np.random.default_rng(0).random(len(y)) < 0.3)
    rows = StandardScaler().fit_transform(X)
    assert not SVC().fit(rows, known).predict(rows[~known])[malignant[~known]].any()
    return (
        f"Of {malignant.sum()} malignant biopsies, {known.sum()} are labelled. The other "
        f"{(malignant & ~known).sum()} hide among {(~malignant).sum()} benign ones."
    )


def _dates():
    alarm, later = entry("monitoring-dates")["all"][1:3]
    return f"{100 * alarm:.0f} to {100 * later:.0f} % of intervals"


def _family():
    ours, theirs = (entry("s3vm-family")[name][0] for name in ("S3VM", "UniverSVM"))
    return f"takes {ours:.1f} s, UniverSVM {theirs:.0f} s"


def _exchanges():
    columns = zip(*entry("delivery-made").values(), strict=True)
    tables, exchanged, right = [sum(column) for column in columns][:3]
    return (
        f"On {tables} tables with a known truth, it happened {exchanged} times and was right "
        f"{right} times"
    )


def _interior():
    ratios = [row[5] for row in entry("svdd-paper-interior").values()]
    return f"{min(ratios):.1f} to {max(ratios):.1f} times as long"


def _share(phrase, rows, column):
    return phrase.format(f"{100 * entry('il-s3vm-events')[rows][column]:.0f}")


# Page, how its phrase follows from the results file.
MEASURED = [
    ("README.md", _svc),
    ("README.md", _hidden),
    ("docs/benchmarks.md", _speed),
    ("docs/benchmarks.md", _family),
    ("docs/what-fit-delivers.md", _exchanges),
    ("docs/monitoring.md", _dates),
    ("docs/papers.md", _interior),
    ("docs/papers.md", lambda: _share("{} % of them with a linear", "linear, rounded", 1)),
    ("docs/papers.md", lambda: _share("{} % with a Gaussian kernel on", "Gaussian, rounded", 1)),
    ("docs/papers.md", lambda: _share("{} % of steps with a", "linear, as drawn", 4)),
    ("docs/papers.md", lambda: _share("and {} % with a Gaussian k", "Gaussian, as drawn", 4)),
]


def sentences():
    """Page and sentences of README and docs, without code and generated tables."""
    for name, _ in prose.documents():
        if name.startswith("docs/") or name == "README.md":
            text = (prose.ROOT / name).read_text(encoding="utf-8")
            text = re.sub(r"<!-- table: .*?<!-- /table -->", "", text, flags=re.DOTALL)
            for sentence in prose.sentences(prose._NOT_PROSE.sub(prose._blank, text)):
                yield name, " ".join(sentence.split())


@pytest.fixture(scope="module")
def listed():
    """Phrases by page that are allowed to hold figures."""
    found = {}
    for kind in (SETTINGS, ARITHMETIC, PRINTED):
        for page, phrases in kind.items():
            found.setdefault(page, []).extend(phrases)
    for page, phrase in MEASURED:
        found.setdefault(page, []).append(phrase())
    return found


def test_every_figure_is_listed(listed):
    unknown = []
    for page, sentence in sentences():
        rest = sentence
        for phrase in listed.get(page, ()):
            rest = rest.replace(phrase, " ")
        unknown += [f"{page}: '{one}' in: {sentence}" for one in FIGURE.findall(rest)]
    assert not unknown, "\n".join(unknown)


def test_every_listed_phrase_is_needed(listed):
    pages = {}
    for page, sentence in sentences():
        pages[page] = f"{pages.get(page, '')} {sentence}"
    unused = [
        f"{page}: {phrase}"
        for page, phrases in listed.items()
        for phrase in phrases
        if phrase not in pages[page]
    ]
    assert not unused, "\n".join(unused)


@pytest.mark.parametrize(
    "sentence",
    [
        "It takes 3.5 s.", "It is 4 times as fast.", "The accuracy is .93.", "17 % are found.",
        "An area of 0.87 was reached.", "It reads 12 GB in 3 minutes.",
    ],
)  # fmt: skip
def test_figures_are_seen(sentence):
    assert FIGURE.search(sentence)


def test_versions_and_addresses_are_no_figures():
    assert not FIGURE.search("Python 3.11 listens on 127.0.0.1 with 20 rows.")
