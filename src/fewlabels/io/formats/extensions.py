"""Formats of files by their extensions."""

from pathlib import Path

_PLAIN = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet"}
_COMPRESSED = {".csv.gz": "csv", ".tsv.gz": "tsv"}
_EXCEL = {".xlsx": "xlsx", ".xlsm": "xlsx"}
_JSON = dict.fromkeys([".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"], "jsonl")
_DATABASES = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
_SVMLIGHT = dict.fromkeys([".svm", ".svmlight", ".libsvm", ".txt"], "svmlight")
OUTPUTS = {**_PLAIN, **_COMPRESSED}
INPUTS = {**_PLAIN, **_EXCEL, **_JSON, **_DATABASES}
INPUTS |= {".npz": "npz", ".npy": "npy", **_SVMLIGHT, **_COMPRESSED}
TABLES = frozenset({*_PLAIN.values(), "xlsx", "jsonl", "sqlite", "duckdb", "folder", "frame"})
# Formats in which a row of names may be missing, of text in some encoding, and of many tables.
WITH_HEADER = frozenset({"csv", "tsv", "xlsx"})
ENCODED = frozenset({"csv", "tsv", "jsonl"})
OF_TABLES = frozenset({"xlsx", "sqlite", "duckdb"})
SEPARATORS = {"csv": ",", "tsv": "\t"}


def format_of(path, known):
    """The format of a path among those known by their extensions (None: none), and its own."""
    suffix = "".join(path.suffixes[-2:]) if is_compressed(path) else path.suffix
    return known.get(suffix.lower()), suffix


def extensions(known):
    """Extensions in words."""
    *names, last = known
    return ", ".join(names) + f" or {last}"


def separator_of(path):
    """The separator that the name of a file promises."""
    return SEPARATORS[format_of(Path(path), INPUTS)[0] or "csv"]


def is_compressed(path):
    """Whether a file is compressed, by its extension."""
    return Path(path).suffix.lower() == ".gz"
