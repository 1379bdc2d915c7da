"""A report as one HTML file that needs no network."""

from .elements import Html, tag
from .sections import PARTS, navigation
from .style import STYLE

# The first bytes of every report.
START = "<!doctype html>\n<!-- fewlabels report -->\n"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_report(path, contents):
    """Write ``contents`` as an HTML file, which appears at ``path`` whole or not at all."""
    from ...io.atomic import replacing

    with replacing(path) as temporary:
        temporary.write_text(page(contents), encoding="utf-8")


def page(contents, inline=False):
    parts = [part for part in (make(contents) for make in PARTS) if part is not None]
    title = f"What fewlabels learnt from {contents.source}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        Html(f"<style>{STYLE}</style>"),
    )
    made = contents.created[:10]
    header = tag(
        "header",
        tag("h1", title),
        tag("p", ", model ".join(filter(None, (made, contents.model))), class_="muted"),
        None if inline else navigation(parts),
    )
    body = tag("body", header, tag("main", *parts))
    return f'{START}<html lang="en">\n{head}\n{body}\n</html>\n'


def is_report(path):
    """Whether the file at ``path`` is a report, which a new one may replace."""
    start = START.encode()
    with open(path, "rb") as file:
        return file.read(len(start)) == start
