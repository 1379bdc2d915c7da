"""HTML elements that escape whatever is not HTML already."""

import html
import re
from collections.abc import Collection, Iterable, Sequence

import pandas as pd

# Characters that are not allowed in a document.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
# Characters from which a word of a table may be broken where the line ends.
_LONG_WORD = 20
# Characters up to which a cell is never broken.
_SHORT_CELL = 12
# Options of the command line.
_OPTION = re.compile(r"(--[a-z][a-z-]*)")
_EMPTY = frozenset(("meta", "line", "rect", "circle", "path", "br"))


class Html(str):
    """Text that is HTML already; everything else is escaped."""

    __slots__ = ()


def escape(value: object) -> Html:
    if isinstance(value, Html):
        return value
    return Html(html.escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(value))))


def prose(text: str) -> Html:
    """Render a sentence with options of the command line as code, in one piece."""
    text = str(text).replace(" +- ", " \N{PLUS-MINUS SIGN} ").replace(" %", "\N{NO-BREAK SPACE}%")
    parts = _OPTION.split(text)
    return join(
        tag("code", part, class_="option") if k % 2 else part for k, part in enumerate(parts)
    )


def join(parts: Iterable[object], between: str = "") -> Html:
    """Render parts one after the other; those that are None are left out."""
    return Html(between.join(escape(part) for part in parts if part is not None))


def tag(element: str, /, *children: object, **attributes: object) -> Html:
    """Render an element with its children, escaped unless they are Html, and attributes.

    ``class_`` is "class", ``data_label`` is "data-label"; what is None is left out.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if element in _EMPTY:
        return Html(f"<{element}{shown}/>" if element != "meta" else f"<{element}{shown}>")
    return Html(f"<{element}{shown}>{join(children)}</{element}>")


def section(name: str, title: str, *children: object) -> Html:
    heading = tag("h2", title, id=f"{name}-title")
    return tag("section", heading, *children, id=name, aria_labelledby=f"{name}-title")


def facts(pairs: Iterable[tuple[str, object]], class_: str = "facts") -> Html:
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs),
        class_=class_,
    )


def table(
    caption: str | None,
    heads: Sequence[str],
    rows: Iterable[Iterable[object]],
    classes: Sequence[str] | None = None,
    marked: Collection[int] | None = None,
    class_: str = "stacked",
    label: str | None = None,
) -> Html:
    """Render a table whose rows become blocks on a narrow page.

    Of the ``classes`` of columns, "number" is aligned to the right and "wide" takes its own line
    where there is little room. Rows in ``marked`` stand out; ``label`` names a table without
    caption for those who cannot see it.
    """
    lines = [list(row) for row in rows]
    classes = [
        f"{class_} {_width_class(k, heads, lines, class_)}".strip()
        for k, class_ in enumerate(classes or [""] * len(heads))
    ]
    # A block is no row for those who cannot see it, unless it says so.
    head = tag(
        "tr",
        *(
            tag("th", name, scope="col", class_=c or None, role="columnheader")
            for name, c in zip(heads, classes, strict=True)
        ),
        role="row",
    )
    body = [
        tag(
            "tr",
            *(
                _cell(*cell, first=k == 0)
                for k, cell in enumerate(zip(heads, classes, row, strict=True))
            ),
            class_="marked" if i in (marked or ()) else None,
            role="row",
        )
        for i, row in enumerate(lines)
    ]
    return tag(
        "table",
        tag("caption", caption) if caption else None,
        tag("thead", head, role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        class_=class_,
        role="table",
        aria_label=label,
    )


def _width_class(
    k: int, heads: Sequence[str], rows: Sequence[Sequence[object]], class_: str
) -> str:
    """Return the class of a column by the length of its content."""
    cells = [str(row[k]) for row in rows if not isinstance(row[k], Html)]
    if max(len(word) for cell in [heads[k], *cells] for word in cell.split() or [""]) > _LONG_WORD:
        return "loose"
    return "short" if not class_ and max(map(len, cells), default=0) <= _SHORT_CELL else ""


def alignment(values: pd.Series) -> str:
    """Return the class of the cells of a column: numbers are aligned."""
    return "number" if pd.api.types.is_numeric_dtype(values) else ""


def _cell(head: str, class_: str, value: object, first: bool) -> Html:
    name, role = ("th", "rowheader") if first else ("td", "cell")
    return tag(
        name,
        value,
        scope="row" if first else None,
        class_=class_ or None,
        data_label=head,
        role=role,
    )


def _plain(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value
