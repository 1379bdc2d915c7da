"""A report as one HTML file that needs no network."""

from .document import START, document
from .elements import tag
from .sections import PARTS, navigation


def write_report(path, contents):
    """Write ``contents`` as an HTML file, which appears at ``path`` whole or not at all."""
    from ...io.atomic import replacing

    with replacing(path) as temporary:
        temporary.write_text(page(contents), encoding="utf-8")


def page(contents, inline=False):
    parts = [part for part in (make(contents) for make in PARTS) if part is not None]
    title = f"fewlabels report: {contents.source}"
    made = ", model ".join(filter(None, (contents.created[:10], contents.model)))
    return document(
        title, parts, tag("p", made, class_="muted"), None if inline else navigation(parts)
    )


def is_report(path):
    """Whether the file at ``path`` is a report, which a new one may replace."""
    start = START.encode()
    with open(path, "rb") as file:
        return file.read(len(start)) == start
