"""Sections of the page, except those on the model; each is None if it has nothing to say."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..._util.messages import ref
from ...tables.columns.profile import ColumnProfile
from ..contents import Contents, Excerpt, Ranking
from . import words
from .elements import Html, alignment, facts, join, prose, section, table, tag
from .pictures.drawing import draw_legend
from .pictures.histograms import draw_histograms
from .pictures.overview import draw_overview
from .pictures.rates import draw_interval, draw_shares

# Columns shown before the rest is folded away.
_MAX_COLUMNS = 40


def render_answer(contents: Contents) -> Html:
    findings = contents.findings
    against = []
    if not contents.converged:
        against.append(
            "The fit stopped early, so a better model exists for these settings. Fit again with "
            f"a larger {ref('max_time')} or {ref('max_iter')}."
        )
    if contents.worse_than:
        clearly = "A simpler method is better on these data. "
        against.append((clearly if contents.outcome == "worse" else "") + contents.verdict)
    parts: list[Html | None] = [tag("p", findings.headline, class_="lead")]
    if against:
        parts.append(_make_callout(*against))
    if contents.replacement:
        parts.append(tag("p", prose(f"Delivered: {contents.replacement}.")))
    parts.append(draw_overview(findings))
    parts.append(facts(findings.answer, class_="facts answer"))
    parts += [tag("p", prose(note)) for note in contents.notes if _is_about_columns(note)]
    return section("answer", "In short", *parts)


def _is_about_columns(note: str) -> bool:
    """Return whether a note says which columns were not learned from; it goes to the top."""
    return note.startswith(("Column left out", "Columns left out"))


def _make_callout(*sentences: str) -> Html:
    return tag(
        "div",
        *(tag("p", prose(sentence)) for sentence in sentences),
        class_="callout",
        role="note",
    )


def render_notes(contents: Contents) -> Html | None:
    listed = [note for note in contents.notes if not _is_about_columns(note)]
    if not listed:
        return None
    items = (tag("li", prose(note)) for note in listed)
    return section("notes", "What to know", tag("ul", *items, class_="notes"))


def render_rankings(contents: Contents) -> Html | None:
    rankings = [ranking for ranking in contents.findings.rankings if len(ranking.rows)]
    if not rankings:
        return None
    sentence = "Rows are counted from 1, the first with data."
    if any("why" in ranking.rows for ranking in rankings):
        sentence += (
            " Why: the columns that change the score most, with the row's value and the usual "
            "value."
        )
    return section(
        "rows",
        "Look at these first",
        tag("p", sentence),
        *(_render_ranking(ranking) for ranking in rankings),
    )


def render_classes(contents: Contents) -> Html | None:
    classes = contents.findings.classes
    if not classes:
        return None
    heads = ["class", "labelled", "predicted rows", "expected share", "precision", "recall"]
    rows = [
        (
            c.name,
            words.count(c.labelled),
            words.count(c.predicted),
            *("" if rate is None else words.rate(rate) for rate in c.rates),
        )
        for c in classes
    ]
    return section(
        "classes",
        "The classes",
        tag(
            "p",
            "For each class: labelled rows, unlabelled rows predicted as this class, and the "
            "expected share of the class, by the probabilities or, if the labels seem to have "
            "another class ratio, by an estimate from the rows. The interval of the share by "
            "probabilities is based on the number of labelled rows. Precision and recall are "
            "measured on labelled rows that the models weren't trained on.",
        ),
        table(
            None,
            heads,
            rows,
            ["" if name == "class" else "number" for name in heads],
            label="The classes",
        ),
    )


def _render_ranking(ranking: Ranking) -> Html:
    heads = list(ranking.rows.columns)
    rows = zip(*(_write_column(name, ranking.rows[name]) for name in heads), strict=True)
    classes = [
        "wide"
        if name == "why" or _holds_texts(ranking.rows[name])
        else alignment(ranking.rows[name])
        for name in heads
    ]
    return join(
        [
            tag("h3", ranking.title),
            tag("p", ranking.text),
            table(None, heads, rows, classes, label=ranking.title),
        ]
    )


def _holds_texts(values: pd.Series) -> bool:
    return bool(len(values)) and isinstance(values.iloc[0], Excerpt)


def _write_column(name: str, values: pd.Series) -> list[str]:
    if name == "row":
        return [words.count(value) for value in values]
    if name == "score":
        return words.column(values)
    if _holds_texts(values):
        return [_render_excerpt(value) for value in values]
    if pd.api.types.is_float_dtype(values):
        return [f"{value:.4f}" if name == "p-value" else words.percent(value) for value in values]
    return list(values)


def _render_excerpt(excerpt: Excerpt) -> Html:
    """Render a text with the words marked that move the score."""
    sides = {1: "up", -1: "down"}
    return join(
        tag("mark", piece, class_=sides[side], title=f"changes the score {sides[side]}")
        if side
        else piece
        for piece, side in excerpt.pieces
    )


def render_distinctive_words(contents: Contents) -> Html | None:
    if not contents.distinctive_words:
        return None
    return section(
        "telling",
        "Words that distinguish the rows",
        tag(
            "p",
            "Words and word pairs that are clearly more frequent in rows of one kind, the "
            "clearest first.",
        ),
        facts(contents.distinctive_words),
    )


def render_scores(contents: Contents) -> Html | None:
    findings = contents.findings
    if not findings.groups:
        return None
    low, high = findings.sides
    return section(
        "scores",
        "Scores",
        tag(
            "p",
            "Distribution of the scores. The dashed line is the threshold, 0: rows below it "
            f"are {low}, rows above it {high}. Each picture has its own scale of row counts. "
            "Extreme scores are drawn at the edge.",
        ),
        draw_histograms(findings.groups, findings.sides),
    )


def render_rates(contents: Contents) -> Html | None:
    findings = contents.findings
    shown = [*findings.rates, *([findings.prior] if findings.prior else [])]
    if not shown:
        return None
    rows = []
    for rate in shown:
        value, ends = words.value(rate), ""
        name = f"{rate.name}: {value}"
        if rate.interval is not None:
            ends = words.span(rate.interval)
            name += f", interval {ends}"
        point = rate.value if rate.is_determined else None
        picture = draw_interval(point, rate.interval, name=name)
        rows.append((rate.name, value, ends, picture, prose(rate.source)))
    return section(
        "rates",
        "Expected errors",
        tag("p", "Error rates to expect on new rows that resemble the file."),
        table(
            "Rates with 90 % confidence intervals, on a scale from 0 to 100 %. The last column "
            "names the assumptions.",
            ["rate", "expected", "interval", "0 to 100 %", "how it was estimated"],
            rows,
            ["wide plain", "number", "number", "picture plain", "wide plain"],
        ),
    )


_NOT_RANDOM = "If the labels aren't random"


def render_bias(contents: Contents) -> Html | None:
    result = contents.findings.bias
    if result is None:
        return None
    if result.table is None:
        return section("bias", _NOT_RANDOM, tag("p", result.text))
    total = int(result.table.iloc[0][["positive", "negative"]].sum())
    rows = []
    for line in result.table.itertuples(index=False):
        marked, most = int(line.positive), int(line.positive + line.undecided)
        prior = (line.prior_low, line.prior_high)
        rows.append(
            (
                f"{line.bias:g}",
                words.percent(prior[0]) if prior[0] == prior[1] else words.span(prior),
                words.count(marked) if marked == most else f"{words.count(marked)} to {most:,}",
                words.count(marked),
                words.count(int(line.undecided)),
                draw_shares(marked / total, most / total, prior, f"B = {line.bias:g}"),
            )
        )
    return section(
        "bias",
        _NOT_RANDOM,
        tag("p", result.text),
        draw_legend(
            ("above", "always positive"),
            ("open", "undecided"),
            ("below", "never positive"),
        ),
        table(
            f"Of {words.rows(total)} without a label. The black line is the range of the expected "
            "share.",
            ["B", "expected share", "positive rows", "always positive", "undecided", "0 to 100 %"],
            rows,
            ["number", "number", "number", "number", "number", "picture plain"],
        ),
        None if result.ranking is None else _render_ranking(result.ranking),
    )


def render_baselines(contents: Contents) -> Html | None:
    if not contents.verdict:
        return None
    # What speaks against the model stands at the top.
    parts = [] if contents.worse_than else [tag("p", prose(contents.verdict))]
    result = contents.baselines
    if result is not None and result["score"].notna().sum() > 1:
        parts.append(_render_comparison(result, contents.measure))
    elif contents.agreement is not None and len(contents.agreement) > 1:
        parts.append(_render_agreement(contents.agreement))
    if contents.protocol:
        parts.append(tag("p", contents.protocol, class_="muted"))
    return section("baselines", "Comparison with other methods", *parts)


def _render_comparison(result: pd.DataFrame, measure: str) -> Html:
    ends = result[["score", "low", "high"]].to_numpy(float)
    ends = ends[np.isfinite(ends)]
    low, high = float(ends.min()), float(ends.max())
    rows: list[tuple[str, ...]] = []
    marked = set()
    for i, row in enumerate(result.itertuples(index=False)):
        known = math.isfinite(row.score)
        interval = (row.low, row.high) if math.isfinite(row.low + row.high) else None
        if row.ours:
            marked.add(i)
        picture = ""
        if known:
            name = f"{row.name}: {row.score:.3f}"
            picture = draw_interval(row.score, interval, low, high, bool(row.ours), name)
        rows.append(
            (
                f"{row.name} (this model)" if row.ours else row.name,
                f"{row.score:.3f}" if known else "",
                f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "",
                picture,
                words.seconds(row.seconds) if math.isfinite(row.seconds) else "",
                row.note or "",
            )
        )
    heads = ["method", "score", "interval", f"{low:.2f} to {high:.2f}", "time of a fit", "note"]
    classes = ["plain", "number", "number", "picture plain", "number", "wide plain"]
    if not any(row[-1] for row in rows):
        rows, heads, classes = [row[:-1] for row in rows], heads[:-1], classes[:-1]
    return table(f"Score: {measure.rstrip('.')}. Best first.", heads, rows, classes, marked)


def _render_agreement(result: pd.DataFrame) -> Html:
    rows = [
        (row.name, words.percent(row.false_alarms), f"{row.rank_correlation:.2f}")
        for row in result.itertuples(index=False)
    ]
    return table(
        "Share of held-out rows flagged, and rank correlation with this model (1: same ranking, "
        "0: unrelated).",
        ["method", "flagged", "alike"],
        rows,
        ["plain", "number", "number"],
    )


def render_data(contents: Contents) -> Html:
    parts = [facts([("File", contents.source), *contents.rows])]
    if contents.columns:
        first, rest = contents.columns[:_MAX_COLUMNS], contents.columns[_MAX_COLUMNS:]
        parts.append(_render_columns("The columns of the file and how they were used.", first))
        if rest:
            parts.append(
                tag(
                    "details",
                    tag("summary", f"{words.count(len(rest))} more columns"),
                    _render_columns("The other columns.", rest),
                )
            )
    return section("data", "Training data", *parts)


def _render_columns(caption: str, columns: Sequence[ColumnProfile]) -> Html:
    rows: list[tuple[str, ...]] = [
        (
            c.name,
            c.kind,
            words.count(c.missing) if c.missing else "",
            words.count(c.distinct),
            c.shown,
            c.note,
        )
        for c in columns
    ]
    heads = ["column", "taken as", "missing", "different", "values", "note"]
    classes = ["plain", "", "number", "number", "wide plain", "wide plain"]
    if not any(c.missing for c in columns):
        rows = [(*row[:2], *row[3:]) for row in rows]
        heads.remove("missing")
        classes.remove("number")
    if not any(c.note for c in columns):
        rows = [row[:-1] for row in rows]
        heads, classes = heads[:-1], classes[:-1]
    return table(caption, heads, rows, classes)


def render_usage(contents: Contents) -> Html | None:
    if not contents.usage:
        return None
    parts = [
        join([tag("h3", head), tag("pre", tag("code", code))]) for head, code in contents.usage
    ]
    return section("usage", "How to use the model", *parts)


def render_glossary(contents: Contents) -> Html:
    return section("words", "Glossary", facts(contents.task.glossary, class_="terms"))


def render_origin(contents: Contents) -> Html:
    lines = [("Data", contents.source)]
    if contents.model:
        lines.append(("Model", contents.model))
    if contents.command:
        lines.append(("Command", tag("code", contents.command)))
    lines += [("Made", contents.created), ("By", f"fewlabels {contents.version}")]
    return section("made", "How this was made", facts(lines))
