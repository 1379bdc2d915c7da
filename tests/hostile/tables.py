"""Cases over data files: tables and matrices as they come out of other programs, and worse."""

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from . import shell
from .verdict import require


class Text:
    """Delimited text made of a table: names, rows of cells, and how they are written."""

    def __init__(self, frame):
        self.names = [str(name) for name in frame.columns]
        self.rows = [[str(v) for v in row] for row in frame.to_numpy(object).tolist()]
        self.separator, self.end, self.encoding = ",", "\n", "utf-8"
        self.before, self.behind = b"", b""

    def bytes(self):
        lines = [self.separator.join(row) for row in [self.names, *self.rows]]
        text = self.end.join(lines) + self.end
        return self.before + text.encode(self.encoding, errors="replace") + self.behind


def _set(**changes):
    def change(rng, text):
        for name, value in changes.items():
            setattr(text, name, value)

    return change


def _cells(*values, share=0.1, column=None):
    """Some cells of a column of numbers become something else."""

    def change(rng, text):
        j = int(rng.integers(0, 3)) if column is None else column
        count = max(1, int(share * len(text.rows)))
        for i in rng.choice(len(text.rows), min(count, len(text.rows)), replace=False):
            text.rows[i][j] = values[int(rng.integers(len(values)))]

    return change


def _column(make, name="more"):
    def change(rng, text):
        text.names.append(name)
        for i, row in enumerate(text.rows):
            row.append(make(rng, i))

    return change


def _names(make):
    def change(rng, text):
        text.names = make(list(text.names))

    return change


def _ragged(longer):
    def change(rng, text):
        row = text.rows[int(rng.integers(len(text.rows)))]
        row.append("1") if longer else row.pop()

    return change


def _wide(rng, text):
    count = int(rng.choice([3000, 100_000]))
    text.rows = text.rows[:20]
    text.names += [f"c{j}" for j in range(count)]
    for row in text.rows:
        row += ["1.5" if (len(row) + j) % 7 else "2" for j in range(count)]


def _few_rows(count):
    def change(rng, text):
        text.rows = text.rows[:count]

    return change


def _often(rng, text):
    text.rows = [text.rows[i % min(5, len(text.rows))] for i in range(20_000)]


def _quotes(rng, text):
    text.rows = [[f'"{v}"' for v in row] for row in text.rows]


def _quoted_with(value):
    def change(rng, text):
        for row in text.rows:
            row[3] = value

    return change


def _header_gone(rng, text):
    text.names, text.rows = text.rows[0], text.rows[1:]


def _repeated_header(rng, text):
    text.rows.insert(len(text.rows) // 2, list(text.names))


def _shuffled_columns(rng, text):
    order = rng.permutation(len(text.names))
    text.names = [text.names[j] for j in order]
    text.rows = [[row[j] for j in order] for row in text.rows]


def _cut(rng, text):
    text.behind = text.rows[0][0].encode() + b',"open'


def _latin(rng, text):
    _quoted_with("gr\xfcn")(rng, text)
    text.encoding = "latin-1"


TEXTS = {
    "as it is": lambda rng, text: None,
    "semicolons": _set(separator=";"),
    "tabs": _set(separator="\t"),
    "bars": _set(separator="|"),
    "blanks": _set(separator="  "),
    "Windows line ends": _set(end="\r\n"),
    "old Mac line ends": _set(end="\r"),
    "mixed line ends": _set(end="\n\r\n"),
    "byte order mark": _set(before=b"\xef\xbb\xbf"),
    "UTF-16": _set(encoding="utf-16"),
    "UTF-32": _set(encoding="utf-32"),
    "Latin-1": _latin,
    "a NUL": _cells("1\x002"),
    "NULs behind": _set(behind=b"\0" * 200),
    "noise behind": lambda rng, text: _set(behind=rng.bytes(300))(rng, text),
    "no end": _cut,
    "comment before": _set(before=b"# made by a program\n"),
    "blank lines before": _set(before=b"\n\n\n"),
    "blank lines behind": _set(behind=b"\n\n \n\n"),
    "quotes": _quotes,
    "quotes inside": _quoted_with('"re""d"'),
    "line ends inside": _quoted_with('"re\nd"'),
    "separators inside": _quoted_with('"re,d"'),
    "open quote": _cells('"1', share=0.01),
    "formulas": _quoted_with('"=HYPERLINK(""http://x"",""y"")"'),
    "control characters": _quoted_with("\x1b[31mred\x07"),
    "right to left": _quoted_with("\u202ered"),
    "long cells": _quoted_with("r" * 100_000),
    "decimal commas": _cells('"1,5"', share=1.0),
    "thousands": _cells('"1,234"', '"12,345"', share=1.0),
    "units": _cells("12 kg", share=1.0),
    "percent": _cells("12%", share=1.0),
    "dates": _cells("2020-01-31", "31.01.2020", share=1.0),
    "some texts": _cells("unknown"),
    "missing": _cells("", "NA", "nan", "?", "null", "#N/A", share=0.3),
    "dashes": _cells("-", "--", share=0.3),
    "a column missing": _cells("", share=1.0),
    "infinite": _cells("inf", "-inf", "1e999", "Infinity"),
    "large": _cells("1e300", "-1e300", "1e160", share=0.05),
    "tiny": _cells("1e-300", "5e-324", share=1.0),
    "hexadecimal": _cells("0x1F", share=1.0),
    "underscores": _cells("1_000", share=1.0),
    "blanks around": _cells(" 1.5 ", "2 ", share=1.0),
    "plus": _cells("+1.5", "+.5", "-.5e+01", share=1.0),
    "other digits": _cells("\u0661\u0662", "\uff11", share=1.0),
    "long numbers": _cells("0." + "3" * 4000, "9" * 300, share=0.2),
    "big integers": _cells("123456789012345678901234567890", share=0.5),
    "true and false": _cells("true", "False", "TRUE", share=1.0),
    "one value far": _cells("1e12", share=0.01),
    "longer row": _ragged(True),
    "shorter row": _ragged(False),
    "header gone": _header_gone,
    "header again": _repeated_header,
    "header only": _few_rows(0),
    "one row": _few_rows(1),
    "two rows": _few_rows(2),
    "three rows": _few_rows(3),
    "seven rows": _few_rows(7),
    "rows often": _often,
    "equal names": _names(lambda names: ["width", *names[1:2], "width", *names[3:]]),
    "blank names": _names(lambda names: ["", *names[1:]]),
    "all names blank": _names(lambda names: [""] * len(names)),
    "quoted names": _names(lambda names: [f'"{n}, ""mm"""' for n in names[:3]] + names[3:]),
    "names with line ends": _names(lambda names: [f'"{n}\nmm"' for n in names[:3]] + names[3:]),
    "names of numbers": _names(lambda names: [str(j) for j in range(3)] + names[3:]),
    "long names": _names(lambda names: ["w" * 50_000, *names[1:]]),
    "names of the answer": _names(lambda names: ["score", "label", "p_value", *names[3:]]),
    "markup in names": _names(
        lambda names: ["<script>alert(1)</script>", "[bold]x[/]", *names[2:]]
    ),
    "other names": _names(lambda names: [n.upper() for n in names]),
    "a name less": _names(lambda names: names[:-1]),
    "a name more": _names(lambda names: [*names, "extra"]),
    "shuffled columns": _shuffled_columns,
    "many columns": _wide,
    "identifier": _column(lambda rng, i: f"part {i}", "id"),
    "counter": _column(lambda rng, i: str(i), "counter"),
    "constant": _column(lambda rng, i: "7", "constant"),
    "sentences": _column(lambda rng, i: f"row {rng.integers(10**6)} is of a kind", "sentences"),
    "many categories": _column(lambda rng, i: f"kind {rng.integers(40)}", "many categories"),
    "copy of the target": _column(lambda rng, i: "good" if i % 3 else "", "copy of the target"),
    "JSON inside": _column(lambda rng, i: '"{""a"": [1, 2]}"', "JSON inside"),
    "list of values": _column(lambda rng, i: '"[1, 2, 3]"', "list of values"),
}  # fmt: skip

# Files that nobody should have trouble with.
FINE = {
    "as it is", "Windows line ends", "byte order mark", "blank lines behind", "quotes",
    "quotes inside", "separators inside", "formulas", "decimal commas", "thousands", "units",
    "missing", "plus", "blanks around", "true and false", "one value far",
    "quoted names", "shuffled columns", "identifier", "counter", "constant", "sentences",
    "many categories", "JSON inside", "tiny", "npy", "npy of float16", "npy of int8",
    "npy of bool", "npy with NaN", "npy, big-endian", "npy, Fortran order", "npy, rows often",
    "npz", "svmlight", "csv.gz", "parquet", "parquet with dates", "parquet with categories",
}  # fmt: skip


# -- matrices ---------------------------------------------------------------------------------


def _npy(make):
    def write(rng, path):
        np.save(path.with_suffix(".npy"), make(rng), allow_pickle=True)
        return path.with_suffix(".npy")

    return write


def _npz(make):
    def write(rng, path):
        np.savez(path.with_suffix(".npz"), **make(rng))
        return path.with_suffix(".npz")

    return write


def _raw(suffix, make):
    def write(rng, path):
        path = path.with_name(path.name + suffix)
        path.write_bytes(make(rng))
        return path

    return write


def _X(rng, n=40, d=3):
    return np.round(rng.normal(size=(n, d)), 3)


def _npy_bytes(rng):
    out = io.BytesIO()
    np.save(out, _X(rng))
    return out.getvalue()


def _lines(*lines, times=20):
    return "\n".join(lines * times).encode()


def _svm_rows(rng, extra=""):
    return "\n".join(
        f"1 1:{rng.normal():.3f} 2:{rng.normal():.3f} {extra}".strip() for _ in range(40)
    ).encode()


def _declared(rng):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 4), }"
    header += b" " * (118 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 400


def _parquet(make):
    def write(rng, path):
        path = path.with_suffix(".parquet")
        pq.write_table(make(rng), path)
        return path

    return write


def _pa_columns(rng, **more):
    X = _X(rng)
    return pa.table({**{f"c{j}": X[:, j] for j in range(3)}, **more})


def _of_type(kind):
    return _parquet(lambda rng: _pa_columns(rng, d=pa.array(range(40), kind)))


MATRICES = {
    "npy": _npy(_X),
    "npy of float16": _npy(lambda rng: _X(rng).astype(np.float16)),
    "npy of int8": _npy(lambda rng: np.round(_X(rng)).astype(np.int8)),
    "npy of bool": _npy(lambda rng: _X(rng) > 0),
    "npy of complex": _npy(lambda rng: _X(rng) + 1j),
    "npy of texts": _npy(lambda rng: _X(rng).astype(str)),
    "npy of objects": _npy(lambda rng: _X(rng).astype(object)),
    "npy of dates": _npy(lambda rng: (_X(rng) * 100).astype("datetime64[s]")),
    "npy, structured": _npy(lambda rng: np.zeros(9, [("a", float), ("b", "U3")])),
    "npy of 1 dimension": _npy(lambda rng: _X(rng)[:, 0]),
    "npy of 3 dimensions": _npy(lambda rng: _X(rng)[None]),
    "npy of none": _npy(lambda rng: np.array(3.0)),
    "npy without rows": _npy(lambda rng: _X(rng)[:0]),
    "npy without columns": _npy(lambda rng: _X(rng)[:, :0]),
    "npy with NaN": _npy(lambda rng: np.where(_X(rng) > 1, np.nan, _X(rng))),
    "npy, infinite": _npy(lambda rng: np.where(_X(rng) > 1, np.inf, _X(rng))),
    "npy, huge": _npy(lambda rng: _X(rng) * 1e200),
    "npy, tiny": _npy(lambda rng: _X(rng) * 1e-300),
    "npy, constant": _npy(lambda rng: np.ones((40, 3))),
    "npy, big-endian": _npy(lambda rng: _X(rng).astype(">f8")),
    "npy, Fortran order": _npy(lambda rng: np.asfortranarray(_X(rng))),
    "npy, one row": _npy(lambda rng: _X(rng)[:1]),
    "npy, rows often": _npy(lambda rng: np.repeat(_X(rng)[:4], 2000, 0)),
    "npy, cut": _raw(".npy", lambda rng: _npy_bytes(rng)[:-50]),
    "npy that says it is huge": _raw(".npy", _declared),
    "npy of noise": _raw(".npy", lambda rng: rng.bytes(500)),
    "npz": _npz(lambda rng: {"X": _X(rng), "y": np.arange(40) % 2}),
    "npz, y too short": _npz(lambda rng: {"X": _X(rng), "y": np.arange(30) % 2}),
    "npz without X": _npz(lambda rng: {"a": _X(rng), "b": _X(rng)}),
    "npz of objects": _npz(lambda rng: {"X": _X(rng).astype(object)}),
    "npz, empty": _npz(lambda rng: {}),
    "npz like sparse": _npz(
        lambda rng: {"format": b"csr", "shape": [4, 4], "data": [1.0], "indices": [9],
                     "indptr": [0, 1, 1, 1, 1]}
    ),
    "npz like sparse, broken": _npz(
        lambda rng: {"format": b"xyz", "shape": [4], "data": [1.0], "indices": [0], "indptr": [0]}
    ),
    "npz of noise": _raw(".npz", lambda rng: b"PK\x03\x04" + rng.bytes(300)),
    "svmlight": _raw(".svm", _svm_rows),
    "svmlight, index of 2e9": _raw(".svm", lambda rng: _svm_rows(rng, "2000000000:2")),
    "svmlight, index of 2e7": _raw(".svm", lambda rng: _svm_rows(rng, "20000000:2")),
    "svmlight, index of 1e30": _raw(".svm", lambda rng: _svm_rows(rng, f"{10**30}:2")),
    "svmlight, negative index": _raw(".svm", lambda rng: _svm_rows(rng, "-3:2")),
    "svmlight, index 0": _raw(".svm", lambda rng: _lines("1 0:1 2:1.5", "1 0:2 2:0.5")),
    "svmlight, unsorted": _raw(".svm", lambda rng: _lines("1 3:1 2:1.5", "1 2:2 3:0.5")),
    "svmlight, twice": _raw(".svm", lambda rng: _lines("1 3:1 3:1.5", "1 2:2 3:0.5")),
    "svmlight, NaN": _raw(".svm", lambda rng: _lines("1 1:nan 2:1.5", "1 2:2 3:0.5")),
    "svmlight, infinite": _raw(".svm", lambda rng: _lines("1 1:inf 2:1.5", "1 2:2 3:0.5")),
    "svmlight, words": _raw(".svm", lambda rng: _lines("yes 1:1 2:1.5", "no 2:2 3:0.5")),
    "svmlight, no values": _raw(".svm", lambda rng: _lines("1", "1", "0")),
    "svmlight, comments": _raw(".svm", lambda rng: _lines("# nothing")),
    "svmlight, qid": _raw(".svm", lambda rng: _lines("1 qid:3 1:1 2:1.5", "1 qid:3 2:2 3:0.5")),
    "svmlight, several labels": _raw(".svm", lambda rng: _lines("1,2 1:1 2:1.5", "1 2:2 3:0.5")),
    "svmlight of noise": _raw(".svm", lambda rng: rng.bytes(500)),
    "svmlight like csv": _raw(".txt", lambda rng: b"a,b\n1,2\n3,4\n"),
    "empty": _raw(".csv", lambda rng: b""),
    "one line end": _raw(".csv", lambda rng: b"\n"),
    "only blanks": _raw(".csv", lambda rng: b"   \n  \n"),
    "only separators": _raw(".csv", lambda rng: b",,,\n,,,\n,,,\n"),
    "only NULs": _raw(".csv", lambda rng: b"\0" * 4000),
    "noise": _raw(".csv", lambda rng: rng.bytes(3000)),
    "one long line": _raw(".csv", lambda rng: b"a," * 1_000_000),
    "one column": _raw(".csv", lambda rng: _lines("1.5", "2.5", "1.25", "7.75")),
    "a picture": _raw(".csv", lambda rng: b"\x89PNG\r\n\x1a\n" + rng.bytes(900)),
    "csv.gz": _raw(".csv.gz", lambda rng: gzip.compress(b"a,b\n" + b"1.5,2\n2,1\n4,4.5\n" * 15)),
    "csv.gz, cut": _raw(
        ".csv.gz", lambda rng: gzip.compress(b"a,b\n" + rng.bytes(5000).hex().encode())[:-900]
    ),
    "csv.gz that is csv": _raw(".csv.gz", lambda rng: b"a,b\n1,2\n2,1\n4,4\n"),
    "csv.gz, a bomb": _raw(".csv.gz", lambda rng: gzip.compress(b"a,b\n" + b"0" * 300_000_000, 1)),
    "csv that is gzip": _raw(".csv", lambda rng: gzip.compress(b"a,b\n1,2\n2,1\n")),
    "parquet": _parquet(_pa_columns),
    "parquet with lists": _parquet(lambda rng: _pa_columns(rng, d=[[1, 2]] * 40)),
    "parquet with structs": _parquet(lambda rng: _pa_columns(rng, d=[{"a": 1}] * 40)),
    "parquet with nulls": _parquet(lambda rng: _pa_columns(rng, d=pa.nulls(40))),
    "parquet with bytes": _parquet(lambda rng: _pa_columns(rng, d=[b"\xff\x00"] * 40)),
    "parquet with times": _of_type(pa.time32("s")),
    "parquet with dates": _of_type(pa.date32()),
    "parquet with zones": _of_type(pa.timestamp("ns", "UTC")),
    "parquet with durations": _of_type(pa.duration("s")),
    "parquet with decimals": _parquet(
        lambda rng: _pa_columns(rng, d=pa.array([0.5, 1.25] * 20).cast(pa.decimal128(9, 3)))
    ),
    "parquet with categories": _parquet(
        lambda rng: _pa_columns(rng, d=pa.array(["a", "b"] * 20).dictionary_encode())
    ),
    "parquet with infinities": _parquet(lambda rng: _pa_columns(rng, d=[np.inf, *[1.0] * 39])),
    "parquet with half floats": _parquet(
        lambda rng: _pa_columns(rng, d=pa.array(np.arange(40, dtype=np.float16)))
    ),
    "parquet with large integers": _parquet(
        lambda rng: _pa_columns(rng, d=pa.array([2**63 + i * i for i in range(40)], pa.uint64()))
    ),
    "parquet without rows": _parquet(lambda rng: _pa_columns(rng).slice(0, 0)),
    "parquet without columns": _parquet(lambda rng: pa.table({})),
    "parquet with equal names": _parquet(
        lambda rng: pa.Table.from_arrays([pa.array(_X(rng)[:, 0])] * 2, ["a", "a"])
    ),
    "parquet of noise": _raw(".parquet", lambda rng: b"PAR1" + rng.bytes(400) + b"PAR1"),
    "json": _raw(".json", lambda rng: b'{"a": 1}'),
    "no extension": _raw("", lambda rng: b"a,b\n1,2\n"),
}  # fmt: skip


class Case:
    """A file and a command that reads it."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([13, 4, seed])
        self.kind = str(rng.choice(list(shell.TARGETS)))
        self.is_text = bool(rng.random() < 0.62)
        self.what = [str(rng.choice(list(TEXTS if self.is_text else MATRICES)))]
        if self.is_text and rng.random() < 0.25:
            self.what.append(str(rng.choice(list(TEXTS))))
        commands = ["fit", "fit", "fit and predict", "predict", "predict", "prior", "update"]
        self.command = str(rng.choice([*commands, "explain", "fit with a report"]))
        self.suffix = str(rng.choice([".csv", ".csv", ".csv", ".tsv", ".csv.gz"]))

    def describe(self):
        suffix = self.suffix if self.is_text else ""
        return f"{self.command} ({self.kind}) {suffix}: {', '.join(self.what)}"

    def __call__(self):
        with shell.folder() as place:
            frame = shell.table(self.rng)
            if self.command in ("predict", "update", "explain"):
                rows = frame if self.is_text else _X(self.rng)
                shell.fit_model(place / "m", rows, self.kind, "--rows")
            if not self.is_text:
                data = MATRICES[self.what[0]](self.rng, place / "data")
            else:
                text = Text(frame)
                if self.suffix == ".tsv":
                    text.separator = "\t"
                for name in self.what:
                    TEXTS[name](self.rng, text)
                data = place / f"data{self.suffix}"
                content = text.bytes()
                data.write_bytes(gzip.compress(content) if "gz" in self.suffix else content)
            verdict = self._run(place, data)
            usual = self.command.startswith("fit") and (self.is_text or self.kind in ("svdd",))
            if usual and FINE.issuperset(self.what):
                require(verdict.kind != "refused", f"refuses {self.what}: {verdict.text}")
            return verdict

    def _run(self, place, data):
        model, out = place / "m", place / "out.csv"
        if self.command == "prior":
            return shell.run("prior", data, "--target", "pu", "--n-jobs", 1, within=place).verdict
        if self.command.startswith("fit"):
            answer = self._fit(place, data, model)
            if answer.code == 2 or "predict" not in self.command:
                return answer.verdict
        if self.command == "explain":
            return shell.run("explain", model, data, "--row", 1, within=place).verdict
        if self.command == "update":
            return shell.run("update", model, data, within=place, writes=[model]).verdict
        answer = shell.run("predict", model, data, "-o", out, within=place, writes=[out])
        # A table that has columns named like the answer's: 'fit' notes it, 'predict' asks for
        # a prefix instead of writing two columns of one name.
        sentences = ("can't be written as text", "pass --prefix NAME_ to write")
        fine = self.command == "predict" or any(text in answer.err for text in sentences)
        require(answer.code != 2 or fine, f"fits, but: {answer.err[:300]}")
        if answer.code != 2:
            self._check_scores(out, answer)
        return answer.verdict

    def _fit(self, place, data, model):
        options = list(shell.TARGETS[self.kind]) if self.is_text else []
        page = place / "page.html"
        if "report" in self.command:
            options += ["--time-budget", "1", "--report", str(page), "--n-jobs", "1"]
        else:
            options += shell.QUICK
        writes = [model, page]
        answer = shell.run(
            "fit", data, "-o", model, *options, "--json", within=place, writes=writes
        )
        if answer.code != 2:
            facts = json.loads(answer.out, parse_constant=_no_number)
            require(facts["training"]["rows"] >= 2, "a model of fewer than 2 rows")
            require(Path(model).stat().st_size > 0, "an empty model")
            if page.exists():
                require(
                    "<script>alert" not in page.read_text(), "markup of the data in the report"
                )
        return answer

    def _check_scores(self, out, answer):
        scores = pd.read_csv(out, dtype=str, keep_default_na=False, encoding_errors="replace")
        name = [c for c in scores.columns if c.startswith("score")][-1]
        values = pd.to_numeric(scores[name], errors="coerce")
        require(np.isfinite(values).all(), "scores that are no finite numbers")


def _no_number(text):
    raise ValueError(f"{text} in JSON")


def make(seed):
    """A case of this area."""
    case = Case(seed)
    return case.describe(), case
