"""A page of sections: the head, the title, the parts."""

from .elements import Html, tag
from .html import POLICY, START
from .style import STYLE


def document(title, parts):
    """An HTML document that needs no network."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        Html(f"<style>{STYLE}</style>"),
    )
    body = tag("body", tag("header", tag("h1", title)), tag("main", *parts))
    return f'{START}<html lang="en">\n{head}\n{body}\n</html>\n'
