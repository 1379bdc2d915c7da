"""What is given in the page, in JSON and in the printed text is one figure of each quantity."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from fewlabels.pipeline.training import schedule
from fewlabels.report.page import words

pytestmark = pytest.mark.usefixtures("few_trees")

N = 90


def table(kind):
    """Rows of ``kind``: "one" class, a "pile", "two" or "three" classes, these with texts."""
    rng = np.random.default_rng(1)
    classes = np.arange(N) % (3 if kind == "three" else 2)
    X = rng.normal(size=(N, 3)) + 2.5 * classes[:, None]
    frame = pd.DataFrame(X.round(3), columns=["load", "heat", "size"])
    if kind == "one":
        return frame
    names = np.array(["red", "green" if kind != "pile" else "", "blue"])
    frame["state"] = np.where(np.arange(N) < N // 3, names[classes], "")
    if kind == "three":
        said = (["please refund my money", "the parcel is late", "my login fails"][c]
                for c in classes)  # fmt: skip
        frame["message"] = [f"{text}, {rng.integers(1e6)} and so on" for text in said]
    return frame


@pytest.fixture(params=["one", "pile", "two", "three"])
def told(request, tmp_path, monkeypatch, run):
    """What a fit prints, its JSON, and the words of its page."""
    monkeypatch.chdir(tmp_path)
    # All rows are held out, on slow machines too.
    monkeypatch.setattr(schedule, "_SECONDS_AFTER_FIT", 60.0)
    table(request.param).to_csv("t.csv", index=False)
    target = [] if request.param == "one" else ["--target", "state"]
    fitted = run("fit", "t.csv", *target, "-o", "m", "--report", "r.html", "--no-baselines")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    page = re.sub(r"<(style|script|svg).*?</\1>", " ", page, flags=re.S)
    page = html.unescape(re.sub(r"<[^>]+>", " ", page))
    page = " ".join(page.replace("\N{NO-BREAK SPACE}", " ").split())
    facts = json.loads(run("inspect", "m", "--json").out)["training"]
    return request.param, " ".join(fitted.out.split()), facts, page


def shown(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_one_figure_of_each_quantity(told):
    kind, printed, facts, page = told
    assert f"rows {facts['rows']:,}" in printed and f"Training rows {facts['rows']:,}" in page
    if kind == "one":
        outside = facts["rows_outside"]
        assert f"training rows outside {outside} ({100 * outside / N:.1f} %)" in printed
    elif kind == "pile":
        prior, marked = facts["prior"], facts["unlabeled_predicted_positive"]
        ends = facts["prior_low"], facts["prior_high"]
        n = facts["rows_unlabeled"]
        assert f"class prior {prior:.3g} of the unlabelled rows" in printed
        counts = f"{ends[0] * n:,.0f} to {ends[1] * n:,.0f} rows"
        assert f"90 % CI {ends[0]:.3g} to {ends[1]:.3g}, {counts}" in printed
        assert shown(f"90 % CI {words.span(ends)}, or {counts})") in page
        noted = re.findall(r"prior is uncertain: (\S+), 90% interval \[(\S+), (\S+)\]", page)
        assert all(one == tuple(f"{v:.3g}" for v in (prior, *ends)) for one in noted)
        assert f"Expected share of 'red' {shown(words.estimate(prior, ends))}" in page
        expected = f"About {shown(words.percent(prior))} of {shown(words.rows(n))} without a label"
        assert f"{expected} are expected to be 'red'" in page
        assert f"predicted positive {marked}" in printed
        assert f"predicts 'red' for {shown(words.of_all(marked, n))}" in page
        assert f"Rows predicted 'red' {shown(words.of_all(marked, n))}" in page
        # So few labels leave the precision open: its interval is wider than .7.
        found = {*re.findall(r"expected precision is between (\S+ % and \S+ %) \(90 % CI;", page)}
        between = r"Precision of 'red' between (\S+ % and \S+ %): the data don't determine it"
        assert found == {*re.findall(between, page)} != set()
        found = {*re.findall(r"the expected recall (\S+ %) \(90 % CI", page)}
        assert found == {*re.findall(r"Recall of 'red' (\S+ %)", page)} != set()
    else:
        counts = facts["unlabeled_predicted"]
        for name, count in counts.items():
            assert f"'{name}' {count} ({100 * count / sum(counts.values()):.1f} %)" in printed
            assert f"{count} '{name}'" in page
        right = {*re.findall(r"expected accuracy is (\S+ %) \(90 % CI", page)}
        assert right == {*re.findall(r"Accuracy (\S+ %)", page)} != set()
        # Where all rows of the classes were held out their counts give it too.
        hits, n = map(
            int, re.search(r"(\d+) of (\d+) labelled rows are classified", page).groups()
        )
        assert right == {shown(words.percent(hits / n))} and n == sum(
            facts["rows_labeled"].values()
        )
