"""Messages that count rows say "1 row": counts are written by ``plural``."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import fewlabels

SOURCE = Path(fewlabels.__file__).parent
# Whose messages are for people, and count rows that may be a single one.
FOLDERS = ["cli", "data", "labelling", "pipeline", "querying", "report", "rows", "tables"]
# Numbers that are greater than one, or stand in for several.
MANY = re.compile(
    r"[A-Z_]+|all_rows|sample\.size|monitor\.run_length|which|high|of|name|source"
    r"|words\..*|ref\(.*|n_rows|len\(split.*"
)


def counts_of_rows(path):
    for node in ast.walk(ast.parse(path.read_text())):
        parts = node.values if isinstance(node, ast.JoinedStr) else ()
        for number, text in pairwise(parts):
            if isinstance(number, ast.FormattedValue) and isinstance(text, ast.Constant):
                written = ast.unparse(number.value)
                if re.match(r" ([a-z]+ )?rows\b", text.value) and not MANY.fullmatch(written):
                    yield f"{path.name}:{number.lineno}: {{{written}}}{text.value[:30]}"


def test_a_single_row_is_no_rows():
    found = [
        hit
        for folder in FOLDERS
        for path in sorted((SOURCE / folder).rglob("*.py"))
        for hit in counts_of_rows(path)
    ]
    assert found == []
