"""The pictures of a report: what the first one shows, in words too, and odd rows."""

import html
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from fewlabels.report import collect
from fewlabels.report.contents import ClassFindings, Group, Rate
from fewlabels.report.evidence.held_out import group_unlabelled
from fewlabels.report.fit import Fit
from fewlabels.report.page import words
from fewlabels.report.page.html import page
from fewlabels.report.page.pictures.drawing import Scale
from fewlabels.report.page.pictures.histograms import draw_histograms, draw_score_overview
from fewlabels.report.page.pictures.rates import draw_class_overview

SIDES = ("outside", "inside")
# The width of a picture on a phone, and of a digit at most, in pixels.
PHONE, LETTER = 320, 7.5


def overview(text):
    """Return the first picture of a page, which comes before all tables, and its description."""
    first = text[: text.index("<table")]
    found = re.search(
        '<figure class="overview" role="group" aria-label="(.*?)">.*?</figure>', first
    )
    return found[0], html.unescape(found[1])


def labels(picture):
    """Return words of a picture with the pixels that they take across, by line."""
    lines = {}
    for x, y, anchor, text in re.findall(
        r'<text x="([0-9.]+)%" y="([0-9.]+)" text-anchor="(\w+)">(.*?)</text>', picture
    ):
        at, width = PHONE * float(x) / 100.0, LETTER * len(text)
        start = at - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        lines.setdefault(y, []).append((start, start + width))
    return lines


def check_labels(text):
    for picture in re.findall("<svg height.*?</svg>", text):
        for line in labels(picture).values():
            for before, after in itertools.pairwise(sorted(line)):
                assert before[1] < after[0]
            assert min(line)[0] > -LETTER and max(line)[1] < PHONE + LETTER


# -- one class, positive and unlabelled ----------------------------------------------------------


def test_scores_of_one_class(normal_parts):
    contents = collect(**normal_parts)
    picture, description = overview(page(contents))
    shown = [group for group in contents.findings.groups if group.in_overview]
    assert len(shown) == len(contents.findings.groups) - 1
    for group in shown:
        outside = int(np.sum(group.scores < 0))
        sentence = f"{outside} outside, {len(group.scores) - outside} inside."
        assert f"{words.capital(group.name)}: {sentence}" in description
    # The rows that were learned from are shown by the scores that the answer counts.
    outside = int(np.sum(shown[0].scores < 0))
    assert (
        f"{words.of_all(outside, len(shown[0].scores))} lie outside" in contents.findings.headline
    )
    assert picture.count('class="threshold"') == len(shown)


def test_scores_of_positive_and_unlabelled_rows(contents):
    picture, description = overview(page(contents))
    labelled, unlabelled = contents.findings.groups
    marked = int(np.sum(unlabelled.scores >= 0))
    assert f"{words.of_all(marked, len(unlabelled.scores))}." in contents.findings.headline
    negative = len(unlabelled.scores) - marked
    assert f"Unlabelled: {negative} predicted negative, {marked} predicted 'ill'." in description
    assert f"Labelled 'ill': {np.sum(labelled.scores < 0)} predicted negative" in description
    assert len(re.findall("<svg [^>]*aria-label=", picture)) == 3


def test_predictions_are_counted_as_in_the_answer(contents):
    """Some models predict the rows of a fit by held-out scores."""
    labelled, unlabelled = contents.findings.groups
    groups = [labelled, replace(unlabelled, counts=(3, 4))]
    text = page(replace(contents, findings=contents.findings._replace(groups=groups)))
    assert "Unlabelled: 3 predicted negative, 4 predicted 'ill'." in overview(text)[1]
    assert "4 of 7 (57\N{NO-BREAK SPACE}%) predicted &#x27;ill&#x27;." in text


def test_a_difference_between_scores_and_predictions_is_mentioned(positive_parts):
    fit = Fit(**{name: part for name, part in positive_parts.items() if name != "model_path"})
    scores = fit.decisions[fit.labels != 1]
    below = int(np.sum(scores < 0))
    equal, other = (
        group_unlabelled(fit, scores, (n, len(scores) - n)) for n in (below, below - 2)
    )
    assert "held-out predictions" not in equal.about and "held-out predictions" in other.about
    assert other.sides == (below - 2, len(scores) - below + 2)


def test_without_scores_there_is_no_picture(contents):
    text = page(replace(contents, findings=contents.findings._replace(groups=[])))
    assert 'class="overview"' not in text


ODD = {
    "one row": [np.array([0.3]), np.linspace(-1, 1, 500)],
    "no row on one side": [np.array([1e-9, 2e-9])],
    "ties": [np.zeros(30), np.repeat([-1.0, 1.0], 20)],
    "an infinite score": [np.array([-np.inf, 0.5, 1.0]), np.array([np.nan, 1.0])],
    "nothing finite": [np.array([-np.inf, np.nan])],
    "heavy tails": [np.r_[np.linspace(0.5, 1, 95), -(10.0 ** np.arange(5, 10))]],
    "groups far apart": [np.linspace(-0.1, 1, 200), np.linspace(-4e6, -1e6, 9)],
    "large numbers": [np.linspace(-123456.7, 98765.4, 50)],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_scores(name):
    groups = [Group(f"group {k}", scores) for k, scores in enumerate(ODD[name])]
    for draw in (draw_score_overview, draw_histograms):
        text = draw(groups, SIDES)
        check_labels(text)
        bars = re.findall(
            '<rect x="([0-9.]+)%" y="([0-9.-]+)" width="([0-9.]+)%" height="([0-9.]+)"', text
        )
        for x, y, width, height in (map(float, bar) for bar in bars):
            assert 0.0 <= x and x + width <= 100.1 and width > 0.5
            assert y >= -0.1 and height >= 1.5
        # Every group has a bar, and no digits that are no number.
        known = [group for group in groups if np.any(~np.isnan(group.scores))]
        assert len(bars) >= len(known) and not re.search(r'"[^"]*(nan|inf)[^"a-z]*"', text)


def test_few_rows_far_away_leave_room_for_the_others():
    for name in ("heavy tails", "groups far apart"):
        groups = [Group("rows", scores) for scores in ODD[name]]
        first = re.search("<svg .*?</svg>", draw_score_overview(groups, SIDES))[0]
        assert len(re.findall("<rect", first)) >= 4, name
        assert "Extreme scores are drawn at the edge" in draw_score_overview(groups, SIDES)
    ordinary = [Group("rows", np.linspace(-1, 1, 50))]
    assert "Extreme" not in draw_score_overview(ordinary, SIDES)


# -- classes -------------------------------------------------------------------------------------


def test_rates_of_classes_are_those_of_the_table(class_parts):
    text = page(collect(**class_parts))
    picture, description = overview(text)
    table = text[text.index('<section id="classes"') :]
    table = table[: table.index("</table>")]
    cells = re.findall('data-label="([a-z ]+)"[^>]*>([^<]*)<', table)
    rates = [cell for cell in cells if cell[0] in ("expected share", "precision", "recall")]
    assert len(rates) == 2 * 3
    for head, value in rates:
        assert f"{head} {html.unescape(value) or 'unknown'}" in description
    known = [value for _, value in rates if value and "not determined" not in value]
    assert picture.count('class="above"') == len(known) > 0


def a_class(name, predicted, share=0.5, precision=0.8, interval=(0.7, 0.9)):
    rates = (Rate("", value, interval, "") for value in (share, precision, precision))
    return ClassFindings(name, 5, predicted, *rates)


def test_of_many_classes_the_most_predicted_are_drawn():
    classes = [a_class(f"class {k:02d}", predicted=(7 * k) % 15) for k in range(15)]
    text = draw_class_overview(classes)
    shown = re.findall("<strong>(class [0-9]+)</strong>", text)
    assert shown == [c.name for c in classes if c.predicted >= 3]
    assert "The 12 classes with the most predicted rows" in text and "has all 15" in text
    check_labels(text)


def test_rates_that_are_unknown_or_undetermined():
    unknown = ClassFindings("a", 1, 0, Rate("", 0.01, (0.0, 0.05), ""), None, None)
    text = draw_class_overview([unknown, a_class("b", 3, interval=(0.1, 0.95))])
    assert text.count("<span>unknown</span>") == 2 and "precision unknown" in text
    assert text.count('class="above"') == 1  # the one that is known
    assert text.count("<span>10\N{NO-BREAK SPACE}% to 95\N{NO-BREAK SPACE}%</span>") == 3


# -- scales --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [(0, 1), (-3.2, 7.7), (1e-7, 3e-7), (-5e8, 5e9), (2, 2)])
def test_ticks_are_round_and_inside(ends):
    scale = Scale(*ends)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 6 and all(ends[0] <= tick <= ends[1] for tick in ticks)
    assert [scale.at(tick) for tick in ticks] == sorted(scale.at(tick) for tick in ticks)


def test_a_logarithmic_scale():
    scale = Scale(1e-3, 1e3, is_log=True)
    assert scale.at(1.0) == pytest.approx(50.0)
    assert scale.at(1e-9) == 0.0 and scale.at(1e9) == 100.0
    assert scale.ticks() == pytest.approx([1e-3, 1e-1, 1e1, 1e3])
