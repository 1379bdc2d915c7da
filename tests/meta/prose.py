"""Text that people read: documents, messages, help and public docstrings; and how long it is.

Run ``python -m tests.meta.prose`` for a table of words per page and words per sentence.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_DOCUMENTS = (
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "SECURITY.md", "llms.txt",
    "benchmarks/README.md", "changelog.d/*.md", "docs/**/*.md", ".github/*.md",
    ".github/ISSUE_TEMPLATE/*.yml", "examples/*.py", "examples/*.rst",
)  # fmt: skip
# Folders of docs that building the site writes.
GENERATED = ("_build", "api", "gallery")
_PAGES = ("labelling/page/*.html", "labelling/page/*.js")
# Code, links' targets, formulas and comments of Markdown are not prose.
_NOT_PROSE = re.compile(
    r"```.*?```|~~~.*?~~~|``[^`]+``|`[^`\n]+`|\]\([^)\s]*\)|<!--.*?-->|\$\$.*?\$\$|\$[^$\n]+\$"
    r"|^ {4,}\S.*?$|https?://\S+",
    re.DOTALL | re.MULTILINE,
)


def pages():
    """Paths of the pages of documentation that people wrote."""
    return sorted(path for path in (ROOT / "docs").rglob("*.md") if not _is_generated(path))


def _is_generated(path):
    """Return whether building the site wrote a page."""
    return any(path.is_relative_to(ROOT / "docs" / folder) for folder in GENERATED)


def documents():
    """Names and texts of the documents, in which code is blanked out; lines keep their numbers."""
    for pattern in _DOCUMENTS:
        for path in sorted(ROOT.glob(pattern)):
            if _is_generated(path):
                continue
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".py":
                text = _comments(text)
            yield path.relative_to(ROOT).as_posix(), _NOT_PROSE.sub(_blank, text)


def _blank(found):
    """Spaces of the same length; inline code leaves an X, which counts as a word."""
    blank = re.sub(r"[^\n]", " ", found.group())
    is_inline = found.group()[0] == "`" and not found.group().startswith("```")
    return f"X{blank[1:]}" if is_inline else blank


def _comments(source):
    """Lines of an example that a reader of the gallery sees as text."""
    docstring = ast.parse(source).body[0].end_lineno
    lines = source.split("\n")
    return "\n".join(
        line if i < docstring or line.startswith("#") else "" for i, line in enumerate(lines)
    )


def messages():
    """Places and texts of string literals that are sentences, and of the labelling page."""
    package = ROOT / "src" / "fewlabels"
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known = set(_docstrings(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                known.update(id(part) for part in ast.walk(node) if part is not node)
                text = "".join(
                    part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if id(node) not in known and " " in text.strip():
                yield f"{path.relative_to(ROOT).as_posix()}:{node.lineno}", text
    for pattern in _PAGES:
        for path in sorted(package.glob(pattern)):
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                for text in re.findall(r'"[^"\n]* [^"\n]*"|`[^`\n]* [^`\n]*`|>[^<>\n]+<', line):
                    yield f"{path.relative_to(ROOT).as_posix()}:{number}", text


def _docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield id(first.value)


def inner_docstrings():
    """Places and texts of all docstrings, also of private things."""
    for path in sorted((ROOT / "src" / "fewlabels").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ):
                text = ast.get_docstring(node)
                if text:
                    name = getattr(node, "name", "module")
                    yield f"{path.relative_to(ROOT).as_posix()}: {name}", _text(text)


def docstrings():
    """Names and docstrings of everything public, without code."""
    import fewlabels

    seen = set()
    for found in pkgutil.walk_packages(fewlabels.__path__, "fewlabels."):
        if any(part.startswith("_") for part in found.name.split(".")[1:]):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:  # an optional package is missing
            continue
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isfunction(value)) or id(value) in seen:
                continue
            seen.add(id(value))
            yield f"{found.name}.{name}", _text(value.__doc__)
            for method, function in vars(value).items() if inspect.isclass(value) else ():
                if not method.startswith("_") and getattr(function, "__doc__", None):
                    yield f"{found.name}.{name}.{method}", _text(function.__doc__)


def _text(docstring):
    text = re.sub(r"^\s*(>>>|\.\.\. ).*$", "", docstring or "", flags=re.MULTILINE)
    return re.sub(r"``[^`]+``|`[^`\n]+`|https?://\S+", " ", text)


def words(text):
    """Words of a document, tables included, without its code blocks."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return sum(1 for word in prose.split() if re.search(r"\w", word))


def sentences(text):
    """Sentences of running text: no headings, tables, or lines without a full stop."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |\|))", text)
    for block in blocks:
        block = " ".join(block.split())
        if not block or block[0] in "#|" or not re.search(r"[.?!:]$", block.rstrip("*_)")):
            continue
        for sentence in re.split(r"(?<=[.?!])\s+(?=[A-Z*_\"'(])", block):
            if len(sentence.split()) > 2:
                yield sentence


def main():
    """Print the length of every page and of its sentences."""
    total, lengths = 0, []
    print(f"{'page':34s} {'lines':>5s} {'words':>6s} {'per sentence':>12s} {'longest':>7s}")
    for name, prose in documents():
        text = (ROOT / name).read_text(encoding="utf-8")
        counts = [len(sentence.split()) for sentence in sentences(prose)]
        lengths += counts
        mean = sum(counts) / len(counts) if counts else 0
        n_words = words(text)
        if name.startswith("docs/") and name != "docs/benchmarks.md":
            total += n_words
        print(f"{name:34s} {text.count(chr(10)):5d} {n_words:6d} {mean:12.1f} "
              f"{max(counts, default=0):7d}")  # fmt: skip
    print(f"{total} words in docs, without code and benchmarks.md; "
          f"{sum(lengths) / len(lengths):.1f} words per sentence")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
