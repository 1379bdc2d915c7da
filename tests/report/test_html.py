"""The page: whole, escaped, without any request, with every section and every warning."""

import html.parser
import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fewlabels.model_selection import tune
from fewlabels.report import collect, is_report, write_report
from fewlabels.report.contents import Ranking, Rate
from fewlabels.report.page.elements import Html, prose, tag
from fewlabels.report.page.html import REPORT_START, page
from fewlabels.report.page.style import STYLE
from fewlabels.tables.columns.profile import ColumnProfile

EVIL = "<script>alert('x')</script>\"&\x00"
_VOID = {"meta", "line", "rect", "circle", "path", "br"}


class Reader(html.parser.HTMLParser):
    """Elements, their attributes and the text of a page; refuses what is not nested."""

    def __init__(self):
        super().__init__()
        self.elements, self.text, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    def named(self, *names):
        return [attributes for name, attributes in self.elements if name in names]


def read(text):
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def headings(reader):
    return [int(name[1]) for name, _ in reader.elements if re.fullmatch("h[1-6]", name)]


# -- the file ------------------------------------------------------------------------------------


def test_file(contents, tmp_path):
    path = tmp_path / "report.html"
    write_report(path, contents)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>\n<!-- fewlabels report -->\n") and text == page(
        contents
    )
    assert is_report(path)
    other = tmp_path / "other.html"
    other.write_text("<!doctype html>\n<p>mine</p>")
    assert not is_report(other)
    other.write_text("")
    assert not is_report(other)


def test_a_failure_leaves_the_old_report(contents, tmp_path):
    path = tmp_path / "report.html"
    write_report(path, contents)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_report(path, replace(contents, history=None))
    assert path.read_bytes() == before and list(tmp_path.glob("*.tmp")) == []


def test_convergence_is_drawn_for_one_solution(contents):
    rounds = [{"violation": 0.1**k, "seconds": 0.1 * k} for k in range(5)]
    assert "Violation of the optimality conditions" in page(replace(contents, history=rounds))
    # The bags of an ensemble count their own seconds, so their points would form no line.
    bags = [{"violation": 0.1, "seconds": s} for s in (0.2, 0.1, 0.3)]
    assert "Violation of the optimality conditions" not in page(replace(contents, history=bags))


def test_no_request(contents):
    reader = read(page(contents))
    policy = next(a for a in reader.named("meta") if a.get("http-equiv"))
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert policy["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not reader.named("script", "link", "img", "iframe", "object", "form", "base", "image")
    for _, attributes in reader.elements:
        assert not set(attributes) & {
            "src",
            "srcset",
            "action",
            "data",
            "background",
            "xlink:href",
        }
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"@import|url\(|@font-face", page(contents))


def test_contrast():
    """Letters stand out by 4.5 to 1, lines of pictures by 3 to 1, on every ground (WCAG 2, AA)."""
    schemes = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    assert len(schemes) == 3  # light, dark, paper
    for scheme in schemes:
        colors = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", scheme))
        for ground in ("page", "soft", "warn-soft"):
            for name in ("text", "muted", "above"):
                assert contrast(colors[name], colors[ground]) >= 4.5, (name, ground)
        for name in colors:
            if name in ("below", "above", "warn") or name.startswith("series"):
                assert contrast(colors[name], colors["page"]) >= 3.0, name


def contrast(a, b):
    dark, light = sorted(luminance(color) for color in (a, b))
    return (light + 0.05) / (dark + 0.05)


def luminance(color):
    parts = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


# -- what is in it -------------------------------------------------------------------------------


def test_sections(contents):
    reader = read(page(contents))
    found = [a["id"] for a in reader.named("section")]
    assert found == [
        "answer", "rows", "scores", "rates", "bias", "notes", "data", "model",
        "certificate", "usage", "words", "made",
    ]  # fmt: skip
    links = [a["href"][1:] for a in reader.named("a")]
    assert links == found[1:]  # the list of sections follows the first one
    text = " ".join(reader.text)
    for rate in contents.findings.rates:
        assert rate.name in text
    for note in contents.notes:
        assert note.replace("--", "")[:20] in text.replace("--", "")


def test_structure(contents):
    reader = read(page(contents))
    levels = headings(reader)
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    for picture in reader.named("svg"):
        if "viewBox" in picture or "viewbox" in picture:
            continue
        assert picture["role"] == "img" and len(picture["aria-label"]) > 10
    assert all(a.get("scope") in ("col", "row") for a in reader.named("th"))
    assert all(a["role"] == "table" for a in reader.named("table"))
    names = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(names) == len(set(names))
    assert ("html", {"lang": "en"}) in reader.elements
    assert any(a.get("name") == "viewport" for a in reader.named("meta"))


def test_a_histogram_tells_its_numbers(contents):
    text = page(contents)
    for group in contents.findings.groups:
        below = int(np.sum(group.scores < 0))
        assert f"{below} of {len(group.scores)} (" in text
    start = text.index('<svg height="116"')
    picture = text[start : text.index("</svg>", start)]
    bars = [float(h) for h in re.findall('<rect [^>]*height="([0-9.]+)"', picture)]
    # The tallest bar is as tall as its rows on the scale, five of which are the least shown.
    tallest = max(np.histogram(contents.findings.groups[0].scores, 44)[0])
    assert max(bars) <= 96.0 and (tallest < 5 or max(bars) == 96.0)
    ticks = [
        (float(y), int(n))
        for y, n in re.findall(
            r'<text x="0.000%" y="([0-9.]+)" text-anchor="start">([0-9]+)</text>', picture
        )
    ]
    assert len(ticks) >= 2 and ticks == sorted(ticks, reverse=True)
    # No bar reaches over the threshold, to whose sides they are coloured.
    threshold = float(re.search('<line x1="([0-9.]+)%"[^>]*class="threshold"', picture)[1])
    for left, width, side in re.findall(
        '<rect x="([0-9.]+)%"[^>]*width="([0-9.]+)%"[^>]*class="([a-z]+)"', picture
    ):
        if side == "below":
            assert float(left) + float(width) <= threshold + 1e-6
        else:
            assert float(left) >= threshold - 1e-6


def test_scores_that_are_all_alike_or_infinite(contents):
    groups = [
        replace(contents.findings.groups[0], scores=np.zeros(5)),
        replace(contents.findings.groups[1], scores=np.array([np.inf, np.inf])),
    ]
    for chosen in (groups, groups[:1], groups[1:]):
        read(page(replace(contents, findings=contents.findings._replace(groups=chosen))))


def test_search(positive_parts):
    machine = tune(positive_parts["estimator"], positive_parts["X"], positive_parts["y"],
                   time_budget=1e-6)  # fmt: skip
    few = page(collect(**{**positive_parts, "estimator": machine, "tuning": machine.tuning_}))
    assert 'id="search"' in few
    found = machine.tuning_
    rows = pd.DataFrame(
        {
            "lam": np.repeat([0.1, 0.01, 0.001], 6),
            "gamma": np.tile([0.1, 0.2, 0.3, 0.4, 0.5, np.nan], 3),
            "score": np.linspace(0.5, 0.9, 18),
            "standard_error": 0.01,
            "folds": 5,
            "chosen": np.arange(18) == 0,
        }
    )
    found.candidates = rows
    text = page(collect(**{**positive_parts, "tuning": found}))
    assert "The best 13 of 18 settings" in text
    assert len(re.findall('<tr class="marked"', text)) == 1
    assert "circle: the chosen settings" in text


# -- warnings ------------------------------------------------------------------------------------


@pytest.fixture
def compared(contents):
    table = pd.DataFrame(
        {
            "name": ["isolation <forest>", "PUSVM", "nothing"],
            "ours": [False, True, False],
            "score": [0.9, 0.8, np.nan],
            "low": [0.85, 0.7, np.nan],
            "high": [0.95, 0.9, np.nan],
            "seconds": [0.1, 0.2, np.nan],
            "note": ["", "", "not run"],
        }
    )
    return replace(
        contents, baselines=table, measure="area", verdict="Isolation forest is ahead.",
        outcome="worse", worse_than=["isolation <forest>"], protocol="ten folds",
    )  # fmt: skip


def test_a_lost_comparison_is_at_the_top(compared):
    text = page(compared)
    assert "is better on these data. Isolation forest is ahead." in text
    assert text.index("Isolation forest is ahead.") < text.index('id="rows"')
    assert text.index('class="callout"') < text.index('id="rows"')
    assert text.count("Isolation forest is ahead.") == 1
    assert "isolation &lt;forest&gt;" in text and "PUSVM (this model)" in text
    assert "not run" in text and "nan" not in re.sub("<style>.*</style>", "", text, flags=re.S)


def test_a_comparison_that_is_not_lost(compared):
    text = page(replace(compared, outcome="better", worse_than=[], verdict="Ahead of all."))
    assert 'class="callout"' not in text and text.count("Ahead of all.") == 1


def test_agreement_where_nothing_can_be_scored(compared):
    table = compared.baselines.assign(score=np.nan, low=np.nan, high=np.nan)
    agreement = pd.DataFrame(
        {"name": ["SVDD", "forest"], "false_alarms": [0.05, 0.1], "asked": 0.05,
         "rank_correlation": [1.0, 0.876]}
    )  # fmt: skip
    text = page(replace(compared, baselines=table, agreement=agreement, worse_than=[],
                        outcome="unknown"))  # fmt: skip
    assert "0.88" in text and "isolation" not in text


def test_a_fit_that_stopped_says_so_at_the_top(contents):
    text = page(replace(contents, converged=False))
    assert text.index("The fit stopped early") < text.index('id="rows"')


# -- what comes from the file --------------------------------------------------------------------


def test_everything_from_the_file_is_escaped(contents):
    findings = contents.findings
    ranking = Ranking(
        EVIL, EVIL, pd.DataFrame({"row": [1], EVIL: [EVIL], "score": [0.5], "why": [EVIL]})
    )
    evil = replace(
        contents, source=EVIL, model=EVIL, command=EVIL, reason=EVIL, verdict=EVIL, notes=[EVIL],
        protocol=EVIL, measure=EVIL, worse_than=[EVIL], rows=[(EVIL, EVIL)],
        columns=[ColumnProfile(EVIL, EVIL, 1, 2, EVIL, EVIL)], usage=[(EVIL, EVIL)],
        settings={EVIL: EVIL}, certificate=[(EVIL, EVIL)],
        findings=findings._replace(
            headline=EVIL, answer=[(EVIL, EVIL)], sides=(EVIL, EVIL), rankings=[ranking],
            groups=[replace(group, name=EVIL, about=EVIL) for group in findings.groups],
            rates=[Rate(EVIL, 0.5, (0.4, 0.6), EVIL)], prior=Rate(EVIL, 0.5, None, EVIL),
        ),
    )  # fmt: skip
    text = page(evil)
    assert "<script" not in text and "\x00" not in text
    reader = read(text)
    assert not reader.named("script")
    assert "<script>alert('x')</script>\"&\N{REPLACEMENT CHARACTER}" in "".join(reader.text)


def test_a_column_named_script(fitted, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"<script>": rng.normal(size=60), "a&b": rng.normal(size=60)})
    table["<img src=x>"] = np.where(rng.uniform(size=60) < 0.5, "<b>", "'\"")
    table.loc[7, "<script>"] = 40.0
    table["</style>"] = np.where(np.arange(60) < 20, "<i>", "")
    text = page(collect(**fitted(table, target="</style>", prior=0.3)))
    assert not read(text).named("script", "img", "b", "i")
    assert text.count("</style>") == 1
    assert "&lt;script&gt; is " in text


def test_long_words_and_many_columns(contents):
    columns = [
        ColumnProfile(f"c{k}" + "x" * 300 * (k == 0), "number", 0, 3, "1 to 3") for k in range(130)
    ]
    text = page(replace(contents, columns=columns))
    assert "90 more columns" in text and 'class="plain loose"' in text


def test_elements():
    assert tag("p", "<", Html("<b></b>"), None, class_='"') == '<p class="&quot;">&lt;<b></b></p>'
    assert prose("pass --no-report <now>") == (
        'pass <code class="option">--no-report</code> &lt;now&gt;'
    )
    assert REPORT_START.count("\n") == 2
