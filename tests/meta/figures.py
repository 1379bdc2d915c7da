"""Figures in the comments of shown code, compared with what the code prints.

A comment behind ``print(...)`` says what the line prints: its figures are those printed, in their
order, rounded to the digits that are written. "About 0.5" is right within a third, and "more
than", "less than" and "at most" are what they say. Numbers of other comments must stand in the
code. So a result that a comment states is printed:

    print(model.prior_, model.prior_interval_)  # 0.24 (0.13 to 0.31)
    print(found.sum(), truth[found].mean())     # 121 rows, 99 % of them malignant

A block ``output`` beneath code or commands is what they print. Words and their order are exact,
spaces are not. Numbers may differ by 2 %, and seconds by any factor. A line ``...`` stands for any
lines, and ``...`` within a line for any text.
"""

import ast
import io
import math
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

# Not the 3 of S3VM or x3, of 1e-3 before it ends, of 2.0.1 and of a name with a hyphen.
_NUMBER = r"(?<![\w.^-])-?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e-?\d+)?(?!\.?[\w^])"
_FIGURE = re.compile(rf"({_NUMBER})(?: / (\d+))?( ?%)?")
_RANGE = re.compile(rf"({_NUMBER})(?= to {_NUMBER} ?%)")
_ABOUT = re.compile(r"\b(?:about|near)\b", flags=re.IGNORECASE)
_NEAR = 1 / 3
_BOUND = re.compile(r"\b(more|less) than $|\bat (most) $")
# The level of an interval is a setting.
_LEVEL = re.compile(r"\d+ % (?:confidence )?intervals?")


# Shown output: a number, the rest of a line, and units of numbers that computers don't share.
_PRINTED_NUMBER = r"(-?(?:\d+(?:,\d{3})*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)"
_VARIES = re.compile(r" ?(?:m?s|seconds)\b")
_TOLERANCE, _TINY = 0.02, 1e-6


class Figure(NamedTuple):
    """A number as it is written: the values that agree with it, from ``low`` to ``high``."""

    value: float
    low: float
    high: float
    text: str

    def agrees(self, value: float) -> bool:
        """Whether a value is the figure, as precisely as that is written."""
        slack = 1e-9 * abs(self.value)
        return self.low - slack <= value <= self.high + slack


def figures(text: str) -> list[Figure]:
    """The numbers in a text; those behind "about" and the ones that follow are rough."""
    found = []
    text = _LEVEL.sub("interval", _RANGE.sub(r"\1 %", text))
    about = _ABOUT.search(text)
    for match in _FIGURE.finditer(text):
        number, divisor, percent = match.groups()
        number = number.replace(",", "")
        value, digits = float(number), len(number.partition("e")[0].partition(".")[2])
        # A number without decimals is a count, which is exact.
        within = 0.5 * 10.0**-digits if "." in number or percent else 0.0
        if "e" in number:
            within *= 10.0 ** int(number.partition("e")[2])
        if divisor:
            value /= float(divisor)
            within = 1e-5 * abs(value)
        if percent:
            value, within = value / 100, within / 100
        low, high = value - within, value + within
        if about and about.start() < match.start():
            within = max(within, _NEAR * abs(value))
            low, high = value - within, value + within
            if "e" in number:  # so small that its magnitude is meant
                low, high = value / 10, value * 10
        if bound := _BOUND.search(text[: match.start()]):
            low, high = (value, math.inf) if bound[1] == "more" else (-math.inf, value)
        found.append(Figure(value, low, high, match.group().strip()))
    return found


@dataclass
class Comment:
    """A comment of a block: its line, its figures, and the lines of its statement (none)."""

    line: int
    text: str
    figures: list[Figure]
    first: int
    last: int
    prints: bool


class Printed:
    """Output of shown code, by line and in full; stands for ``print`` in its namespace."""

    def __init__(self) -> None:
        self.lines: dict[int, list[str]] = defaultdict(list)
        self.text = ""

    def __call__(self, *values: Any, sep: str = " ", end: str = "\n", **other: Any) -> None:
        """Note what is printed, and print it."""
        text = sep.join(map(str, values))
        self.lines[sys._getframe(1).f_lineno].append(text)
        self.text += text + end
        print(*values, sep=sep, end=end, **other)


def check(document: str, code: str, start: int, earlier: str, printed: Printed) -> list[str]:
    """Say which figures in the comments of a block are wrong, after it ran.

    ``start`` is the line before the block, ``earlier`` the code of the blocks before it, and
    ``printed`` what the block printed.
    """
    wrong, own = [], _numbers(f"{earlier}\n{code}")
    for comment in comments(code):
        lines = range(comment.first + start, comment.last + start + 1)
        text = " ".join(text for line in lines for text in printed.lines.get(line, ()))
        if comment.prints:
            is_right, why = _in_order(comment.figures, text), f"prints {' '.join(text.split())}"
        else:
            is_right = all(any(one.agrees(v) for v in own) for one in comment.figures)
            why = "nothing here prints or holds that; print it, or say it without the figure"
        if not is_right:
            says = ", ".join(one.text for one in comment.figures)
            wrong.append(
                f"{document}:{comment.line + start}: '{comment.text}' ({says}), but {why}"
            )
    return wrong


def check_command(document: str, comment: str, printed: str) -> list[str]:
    """Say which figures of a comment behind a command its output lacks; values of options may."""
    said = figures(re.sub(r"--[\w-]+ \S+", "", comment))
    if _in_order(said, printed):
        return []
    return [f"{document}: '{comment.strip()}', but the command prints {printed}"]


def check_output(document: str, start: int, shown: str, printed: str) -> list[str]:
    """Say that shown output is not what was printed, if so."""
    pattern, numbers = _output_pattern(shown)
    found = re.fullmatch(pattern, printed.strip() + "\n")
    if found and all(map(_agrees, numbers, found.groups())):
        return []
    return [f"{document}:{start}: the output is\n{printed}"]


def _output_pattern(shown: str) -> tuple[str, list[str]]:
    """Return a pattern of printed text, and the shown numbers in its groups ("": any number)."""
    pattern, numbers = "", []
    for line in shown.strip().split("\n"):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
            continue
        place = 0
        for match in re.finditer(rf"\.\.\.|(?<![\w.]){_PRINTED_NUMBER}(?!\w)", line):
            pattern += _words(line[place : match.start()])
            place = match.end()
            if match[1]:
                pattern += rf"\s*{_PRINTED_NUMBER}\s*"
                numbers.append("" if _VARIES.match(line, place) else match[1])
            else:
                pattern += ".*?"
        pattern += _words(line[place:]) + r"\s*?\n"
    return pattern, numbers


def _words(text: str) -> str:
    """Return a pattern of a text in which spaces are of any width."""
    return r"\s*".join(map(re.escape, re.split(r"\s+", text)))


def _agrees(shown: str, printed: str) -> bool:
    """Return whether a printed number is the shown one, to its digits or the tolerance."""
    if not shown:
        return True
    (figure,) = figures(shown)
    value = float(printed.replace(",", ""))
    if max(abs(value), abs(figure.value)) < _TINY:
        return True
    return figure.agrees(value) or abs(value - figure.value) <= _TOLERANCE * abs(figure.value)


def _in_order(said: list[Figure], text: str) -> bool:
    """Whether a text holds the figures that are said, in this order, perhaps between others."""
    # A figure that follows a name, as in np.float64(0.5), is a number for people.
    values = iter([one.value for one in figures(re.sub(r"[A-Za-z_.]+\d*\(", "(", text))])
    return all(any(one.agrees(value) for value in values) for one in said)


def _numbers(code: str) -> set[float]:
    """All numbers that stand in code, also those in its texts."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            found.add(float(node.value))
    return found | {-value for value in found} | {1 - value for value in found if 0 < value < 1}


def comments(code: str) -> Iterator[Comment]:
    """Comments of a block that hold figures."""
    statements = [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.stmt) and not hasattr(node, "body")
    ]
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        said = figures(token.string) if token.type == tokenize.COMMENT else []
        if not said:
            continue
        line = token.start[0]
        own = [node for node in statements if node.lineno <= line <= (node.end_lineno or 0)]
        prints = bool(own) and ast.unparse(own[0]).startswith("print(")
        first, last = (own[0].lineno, own[0].end_lineno or line) if own else (line, line)
        yield Comment(line, token.string.strip("# "), said, first, last, prints)
