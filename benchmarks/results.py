"""The results file: record figures, and render tables in the documents from it.

    python benchmarks/results.py add FILE     add or replace the entries of another JSON file
    python benchmarks/results.py tables       rewrite the tables between markers
    python benchmarks/results.py list         names of all entries

``results.json`` has "entries", each a small table of figures with how it came about, and "views",
tables of the README whose cells refer to entries. A document shows either by markers:

    <!-- table: NAME -->
    <!-- /table -->
"""

import argparse
import datetime
import json
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results.json"
DOCUMENTS = (
    "README.md",
    "docs/benchmarks.md",
    "docs/guides/gpu.md",
    "docs/guides/monitoring.md",
    "docs/guides/positive-unlabelled.md",
)
# What every entry has; "columns" name the cells of a row after its label.
REQUIRED = ("name", "unit", "columns", "rows", "commit", "date", "hardware", "versions", "program")
OPTIONAL = ("label", "formats", "note")
_MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- /table -->)", re.DOTALL)


def load(path=RESULTS):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def save(results, path=RESULTS):
    Path(path).write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")


def entry(name, columns, rows, *, unit, program, hardware, label="", formats=None, note=""):
    """An entry of figures taken now.

    Parameters
    ----------
    name : str
        Its name in documents.
    columns : list of str
        Names of the cells after the label.
    rows : list of list
        A label and cells: numbers, texts, or None where there is no figure.
    unit, program, hardware, label, note : str
        The figures' unit, the command that took them, the machine, the heading of the first
        column, and a remark.
    formats : list of str, optional
        A format for each column, such as ".3f"; "3g" gives three digits.
    """
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True
    ).stdout.strip()
    libraries = ("fewlabels", "numpy", "scipy", "scikit-learn")
    return check({
        "name": name, "label": label, "unit": unit, "columns": list(columns),
        "formats": formats, "rows": [list(row) for row in rows], "commit": commit,
        "date": datetime.date.today().isoformat(), "hardware": hardware,
        "versions": {"python": platform.python_version()} | {n: _version(n) for n in libraries},
        "program": program, "note": note,
    })  # fmt: skip


def write(entries, folder, name, *, quick=False):
    """Write entries to a file that ``add`` takes; quick results are kept apart."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{'-quick' * quick}.json"
    path.write_text(json.dumps({"entries": entries}, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path}")


def _version(library):
    try:
        return version(library)
    except PackageNotFoundError:  # imported from its folder
        return __import__(library).__version__


def check(one):
    """Refuse an entry that lacks something."""
    missing = [name for name in REQUIRED if name not in one]
    extra = sorted(set(one) - {*REQUIRED, *OPTIONAL})
    if missing or extra:
        raise SystemExit(f"{one.get('name', 'an entry')}: missing {missing}, unknown {extra}.")
    width = len(one["columns"]) + 1
    if not one["rows"] or any(len(row) != width for row in one["rows"]):
        raise SystemExit(f"{one['name']}: each row needs a label and {width - 1} cells.")
    formats = one.get("formats")
    if formats and len(formats) != width - 1:
        raise SystemExit(f"{one['name']}: formats must be {width - 1}, one for each column.")
    return one


def add(results, others):
    """Results with the entries of others, which replace entries of the same name."""
    known = {one["name"]: one for one in results["entries"]}
    given = others["entries"] if isinstance(others, dict) else others
    known |= {one["name"]: check(one) for one in given}
    return {**results, "entries": sorted(known.values(), key=lambda one: one["name"])}


# -- tables ------------------------------------------------------------------------------------


def written(value, form=""):
    """A cell as a document shows it."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if form == "3g":
        digits = f"{value:#.3g}"
        return f"{value:,.0f}" if "e" in digits or value >= 100 else digits.rstrip(".")
    return format(value, form or ",")


def cell(results, name, row, column):
    """A figure of an entry as a document shows it."""
    (one,) = (one for one in results["entries"] if one["name"] == name)
    (cells,) = (cells for cells in one["rows"] if cells[0] == row)
    k = one["columns"].index(column)
    return written(cells[k + 1], (one.get("formats") or [""] * len(one["columns"]))[k])


def table(results, name):
    """An entry or a view as a Markdown table."""
    for view in results["views"]:
        if view["name"] == name:
            rows = [[r["label"], *(_shown(results, c) for c in r["cells"])] for r in view["rows"]]
            return _markdown([view["label"], *view["columns"]], rows)
    (one,) = (one for one in results["entries"] if one["name"] == name)
    forms = one.get("formats") or [""] * len(one["columns"])
    rows = [
        [row[0], *(written(value, form) for value, form in zip(row[1:], forms, strict=True))]
        for row in one["rows"]
    ]
    return _markdown([one.get("label", ""), *one["columns"]], rows)


def _shown(results, reference):
    """A text as it is; a figure by the entry, the row, the column and the unit behind it."""
    if isinstance(reference, str):
        return reference
    name, row, column, *unit = reference
    return cell(results, name, row, column) + "".join(f" {word}" for word in unit)


def _markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def filled(text, results):
    """A document with its tables as they follow from the results."""
    return _MARKED.sub(lambda found: found[1] + table(results, found[2]) + found[3], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("add", help="add entries").add_argument("file", nargs="+")
    commands.add_parser("tables", help="rewrite the tables of the documents")
    commands.add_parser("list", help="names of all entries")
    given = parser.parse_args()
    results = load()
    if given.command == "list":
        for one in results["entries"]:
            print(f"{one['name']:<28} {one['date']} {one['commit']:<9} {one['program']}")
        return
    for file in given.file if given.command == "add" else ():
        results = add(results, load(file))
    if given.command == "add":
        save(results)
    for name in DOCUMENTS:
        path = REPOSITORY / name
        text = path.read_text(encoding="utf-8")
        if text != filled(text, results):
            path.write_text(filled(text, results), encoding="utf-8")
            print(f"{name} rewritten")


if __name__ == "__main__":
    main()
