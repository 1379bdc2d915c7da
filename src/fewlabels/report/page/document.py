"""The shell of every page: an HTML document that needs no network."""

from .elements import Html, tag
from .style import STYLE

# The first bytes of every report.
START = "<!doctype html>\n<!-- fewlabels report -->\n"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def document(title, parts, *below):
    """A document of ``parts``, with elements ``below`` its title."""
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
    return f'{START}<html lang="en">\n{head}\n{body}\n</html>\n'
