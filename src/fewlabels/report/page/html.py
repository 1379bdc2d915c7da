"""A report as one HTML file that needs no network."""

import re
from collections.abc import Iterable
from importlib.resources import files
from os import PathLike
from string import Template

from ...tables.atomic import replacing
from ..contents import Contents
from . import model, sections
from .elements import Html, escape, join, tag
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


def render_document(title: str, parts: Iterable[Html], about: str = "") -> str:
    """Render a document of ``parts``, with a line ``about`` it below its title."""
    template = Template(files(__package__).joinpath("document.html").read_text(encoding="utf-8"))
    return template.substitute(
        start=REPORT_START,
        title=escape(title),
        policy=escape(POLICY),
        style=STYLE,
        about=tag("p", about, class_="muted") if about else "",
        main=join(parts, "\n"),
    )


def write_report(path: str | PathLike[str], contents: Contents) -> None:
    """Write ``contents`` as an HTML file, which appears at ``path`` whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(page(contents), encoding="utf-8")


def page(contents: Contents, inline: bool = False) -> str:
    """Render a report; one ``inline`` in a notebook has no list of its sections."""
    answer, *others = (part for make in _SECTIONS if (part := make(contents)) is not None)
    # The answer with its picture comes first, so that a screen shows it.
    parts = [answer, *others] if inline else [answer, _render_navigation(others), *others]
    made = ", model ".join(filter(None, (contents.created[:10], contents.model)))
    return render_document(f"fewlabels report: {contents.source}", parts, made)


def is_report(path: str | PathLike[str]) -> bool:
    """Return whether the file at ``path`` is a report, which a new one may replace."""
    start = REPORT_START.encode()
    with open(path, "rb") as file:
        return file.read(len(start)) == start


def _render_navigation(parts: Iterable[Html]) -> Html:
    headings = [heading for part in parts if (heading := _HEADING.match(part))]
    links = [tag("li", tag("a", Html(found[2]), href=f"#{found[1]}")) for found in headings]
    return tag("nav", tag("ul", *links), aria_label="Sections")
