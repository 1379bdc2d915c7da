"""A report as one HTML file that needs no network."""

import re
from collections.abc import Iterable
from os import PathLike

from ...tables.atomic import replacing
from ..contents import Contents
from . import model, sections
from .elements import Html, tag
from .style import STYLE

# The first bytes of every report.
REPORT_START = "<!doctype html>\n<!-- fewlabels report -->\n"
# A section as it begins.
_HEADING = re.compile(r'<section id="(\w+)".*?<h2[^>]*>(.*?)</h2>', re.DOTALL)
# In the order they are read.
_SECTIONS = (
    sections.render_answer,
    sections.render_classes,
    sections.render_rankings,
    sections.render_distinctive_words,
    sections.render_scores,
    sections.render_rates,
    sections.render_bias,
    sections.render_baselines,
    sections.render_notes,
    sections.render_data,
    model.render_model,
    model.render_search,
    model.render_certificate,
    sections.render_usage,
    sections.render_glossary,
    sections.render_origin,
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render_document(title: str, parts: Iterable[Html], *below: Html | None) -> str:
    """Render a document of ``parts``, with elements ``below`` its title."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        Html(f"<style>{STYLE}</style>"),
    )
    body = tag("body", tag("header", tag("h1", title), *below), tag("main", *parts))
    return f'{REPORT_START}<html lang="en">\n{head}\n{body}\n</html>\n'


def write_report(path: str | PathLike[str], contents: Contents) -> None:
    """Write ``contents`` as an HTML file, which appears at ``path`` whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(page(contents), encoding="utf-8")


def page(contents: Contents, inline: bool = False) -> str:
    parts = [part for part in (make(contents) for make in _SECTIONS) if part is not None]
    title = f"fewlabels report: {contents.source}"
    made = ", model ".join(filter(None, (contents.created[:10], contents.model)))
    return render_document(
        title, parts, tag("p", made, class_="muted"), None if inline else _render_navigation(parts)
    )


def is_report(path: str | PathLike[str]) -> bool:
    """Return whether the file at ``path`` is a report, which a new one may replace."""
    start = REPORT_START.encode()
    with open(path, "rb") as file:
        return file.read(len(start)) == start


def _render_navigation(parts: Iterable[Html]) -> Html:
    headings = [heading for part in parts if (heading := _HEADING.match(part))]
    links = [tag("li", tag("a", Html(found[2]), href=f"#{found[1]}")) for found in headings]
    return tag("nav", tag("ul", *links), aria_label="Sections")
