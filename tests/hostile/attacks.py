"""Cases of files that somebody made to do harm: read other files, steer a terminal, never end."""

import contextlib
import inspect
import os
import sqlite3
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd

from fewlabels.cli.predict import predict

from . import shell
from .verdict import Verdict, require

_SECRET = "swordfish"
_ENDLESS = "WITH RECURSIVE q(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM q) SELECT"
# What SQL a view may hold; {} is a file that is none of the reader's business.
_VIEWS = {
    "reads a text": "SELECT content AS a, 1 AS b FROM read_text('{}')",
    "reads a table": "SELECT *, 1 AS b FROM read_csv('{}')",
    "reads by name": "SELECT *, 1 AS b FROM '{}'",
    "reads in a condition": "SELECT * FROM t WHERE (SELECT count(*) FROM read_blob('{}')) > 0",
    "lists files": "SELECT file AS a, 1 AS b FROM glob('{}*')",
    "reads by a function": "SELECT CAST(readfile('{}') AS TEXT) AS a, 1 AS b",
    "loads code": "SELECT load_extension('{}') AS a, 1 AS b",
    "shows settings": "SELECT name AS a, 1 AS b FROM duckdb_settings()",
    "shows the database": "SELECT * FROM pragma_database_list",
    "counts without end": f"{_ENDLESS} x AS a, 1 AS b FROM q",
    "finds nothing without end": f"{_ENDLESS} x AS a, 1 AS b FROM q WHERE x < 0",
    "sums without end": f"{_ENDLESS} sum(x) AS a, 1 AS b FROM q",
    "is another length each time": "WITH RECURSIVE q(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM "
    "q WHERE CAST(1000 * abs(random()) AS BIGINT) % 7 > 0) SELECT x AS a, 1 AS b FROM q",
    "makes long texts": "SELECT a, replace(hex(zeroblob(400000000)), '00', 'ab') AS b FROM t",
    "makes many rows": "SELECT x.a, y.a AS b FROM t x, t y, t z, t u, t v, t w",
    "reads itself": "SELECT * FROM v",
    "is fine": "SELECT a, b FROM t",
}  # fmt: skip
_STEERS = [
    "\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\u202e", "\r", "\x08" * 9, "\x00", "\u2028",
    "\x1bP+q544e\x1b\\", "[bold]", "\u2066", "\x1b]8;;http://x\x07",
]  # fmt: skip
_SPACE = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_ROW = b"<row><c><v>%d</v></c><c><v>%d</v></c></row>"
_SHEETS = {
    "8 million rows": lambda: (b"<row/>" * 8000 for _ in range(1000)),
    "2 million filled rows": lambda: (_ROW * 2000 % (*[1] * 4000,) for _ in range(1000)),
    "a row of a large number": lambda: [_ROW % (1, 2), b'<row r="2000000000"/>', _ROW % (3, 4)],
    "a cell far to the right": lambda: [b'<row><c r="XFD1"><v>1</v></c></row>', _ROW % (3, 4)],
    "an open row": lambda: [b"<row><c><v>1</v>"],
    "an entity": lambda: [b"<row><c><v>&lol;</v></c></row>"],
}
_PIPES = ["usual", "empty", "header only", "noise", "no end", "other columns", "closed", "full"]
# Standard input and output are for predict, once its help says so.
_HAS_PIPES = "standard input" in inspect.getdoc(predict)
WAYS = ["view", "view", "escapes", "escapes", "links", "sheet", *(["pipe"] * _HAS_PIPES)]


class Case:
    """A crafted file and a command that reads it."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([13, 6, seed])
        self.way = str(rng.choice(WAYS))
        kinds = {"view": list(_VIEWS), "sheet": list(_SHEETS), "pipe": _PIPES}
        self.kind = str(rng.choice(kinds.get(self.way, [""])))
        self.database = str(rng.choice(["sqlite", "duckdb"]))
        self.command = str(rng.choice(["fit", "predict", "prior", "update", "explain"]))
        if self.way in ("escapes", "pipe"):
            self.command = "all" if self.way == "escapes" else "predict"

    def describe(self):
        database = f" ({self.database})" if self.way == "view" else ""
        return f"{self.command}: {self.way}{database} {self.kind}".strip()

    def __call__(self):
        with shell.folder() as place, _limits():
            return getattr(self, f"_{self.way}")(place)

    def _read(self, place, data):
        """A command that reads the file, and its answer; what it says is checked."""
        model, out = place / "m", place / "o.csv"
        if self.command != "fit":
            rows = pd.DataFrame(self.rng.normal(size=(40, 2)), columns=["a", "b"])
            _fit(model, rows)
        arguments = {
            "fit": ["fit", data, "-o", model, *shell.QUICK],
            "predict": ["predict", model, data, "-o", out],
            "prior": ["prior", data, "--target", "a", "--positive", "1", "--n-jobs", 1],
            "update": ["update", model, data],
            "explain": ["explain", model, data, "--row", 1],
        }[self.command]
        answer = shell.run(*arguments, within=place, writes=[model, out])
        shown = answer.out + answer.err + (out.read_text() if out.exists() else "")
        require(_SECRET not in shown, "shows a file that a view reads")
        return answer

    def _view(self, place):
        secret, path = place / "secret.csv", place / f"d.{self.database}"
        secret.write_text(f"a,b\n{_SECRET},1\n")
        query = _VIEWS[self.kind].format(secret)
        rows = [(k % 7 / 2, k % 5) for k in range(60)]
        if self.database == "sqlite":
            connect = sqlite3.connect(path)
        else:
            import duckdb

            connect = duckdb.connect(str(path))
        with contextlib.closing(connect) as connection:
            connection.execute("CREATE TABLE t (a DOUBLE, b DOUBLE)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
            try:
                connection.execute(f"CREATE VIEW v AS {query}")
            except Exception:  # this database knows no such view
                return Verdict("refused", "the database itself")
            connection.commit()
        answer = self._read(place, f"{path}::v")
        left = {path.name, secret.name, "m", "o.csv"}
        require(set(os.listdir(place)) <= left, f"writes {os.listdir(place)}")
        require(self.kind != "is fine" or answer.code == 0 or self.command == "prior", answer.err)
        return answer.verdict

    def _escapes(self, place):
        rng, steer = self.rng, lambda: str(self.rng.choice(_STEERS))
        frame = shell.table(rng, 60)
        frame.columns = [f"{name}{steer()}" if rng.random() < 0.5 else name for name in frame]
        frame[f"kind{steer()}"] = rng.choice([f"x{steer()}", f"y{steer()}", "z"], 60)
        name = steer().replace("/", "").replace("\0", "")
        path = place / f"d{name}.csv"
        frame.to_csv(path, index=False)
        model, out = place / f"m{name}", place / f"o{name}.csv"
        writes = dict(within=place, writes=[model, out])
        answer = shell.run("fit", path, "-o", model, *shell.QUICK, **writes)
        shell.run("fit", path, "-o", model, "--target", f"n{name}", *shell.QUICK, **writes)
        shell.run("prior", path, "--target", frame.columns[-1], "--n-jobs", 1, **writes)
        if answer.code != 2:
            shell.run("inspect", model, **writes)
            shell.run("predict", model, path, "-o", out, **writes)
            shell.run("explain", model, path, "--row", 1, **writes)
            fewer = place / f"e{name}.csv"
            frame.iloc[:, 1:].to_csv(fewer, index=False)
            shell.run("predict", model, fewer, "-o", out, **writes)
        return answer.verdict

    def _links(self, place):
        inside, own = place / "d", place / "own.parquet"
        (inside / "more").mkdir(parents=True)
        frame = pd.DataFrame(self.rng.normal(size=(40, 2)), columns=["a", "b"])
        frame.to_parquet(inside / "1.parquet")
        frame.assign(a=_SECRET).to_parquet(own)
        target = self.rng.choice([str(own), "../own.parquet", "../../own.parquet", "/etc/passwd"])
        where = inside / str(self.rng.choice([".", "more"])) / "2.parquet"
        os.symlink(target, where)
        answer = self._read(place, inside)
        require(answer.code == 2 or not where.is_file(), "reads a file outside of the folder")
        return answer.verdict

    def _sheet(self, place):
        import openpyxl

        plain, path = place / "plain.xlsx", place / "d.xlsx"
        openpyxl.Workbook().save(plain)
        with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", 8, compresslevel=1) as new:
            for name in old.namelist():
                if "sheet1" not in name:
                    new.writestr(name, old.read(name))
                    continue
                with new.open(name, "w", force_zip64=True) as file:
                    file.write(b"<worksheet " + _SPACE + b"><sheetData>")
                    file.writelines(_SHEETS[self.kind]())
                    file.write(b"</sheetData></worksheet>")
        answer = self._read(place, path)
        require("million" not in self.kind or answer.code == 2, "reads more rows than Excel has")
        return answer.verdict

    def _pipe(self, place):
        """``predict MODEL - -o -`` as a process of a pipeline."""
        frame, model = pd.DataFrame(self.rng.normal(size=(40, 2)), columns=["a", "b"]), place / "m"
        _fit(model, frame)
        text = frame.to_csv(index=False)
        given = {
            "empty": "", "header only": "a,b\n", "noise": "\x00\x01" * 500, "no end": 'a,b\n"1',
            "other columns": text.replace("a,b", "c,d"),
        }.get(self.kind, text)  # fmt: skip
        command = [sys.executable, "-m", "fewlabels", "predict", model, "-", "-o", "-"]
        shown = subprocess.PIPE
        if self.kind == "full":
            shown = open("/dev/full", "w")
        elif self.kind == "closed":
            ours, shown = os.pipe()
            os.close(ours)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            command, input=given, stdout=shown, stderr=subprocess.PIPE, text=True, env=env,
            timeout=300,
        )  # fmt: skip
        require("Traceback" not in done.stderr, f"traceback: {done.stderr[-300:]}")
        require(shell.is_clean(done.stderr), "control characters in a message")
        if self.kind == "usual":
            require(done.returncode == 0, f"{done.returncode}: {done.stderr[:200]}")
            lines = done.stdout.splitlines()
            require(lines[0].startswith("a,b,score") and len(lines) == 41, f"wrote {lines[:2]}")
            return None
        if self.kind not in ("closed", "full"):
            require(done.returncode == 2, f"{self.kind}: code {done.returncode}")
            require(not done.stdout, "an error and an answer")
        require(done.returncode != 1, f"{self.kind}: {done.stderr[:200]}")
        return Verdict("refused", done.stderr[:200])


def _fit(model, rows):
    data = model.with_suffix(".csv")
    rows.to_csv(data, index=False)
    answer = shell.run("fit", data, "-o", model, "--rows", *shell.QUICK, within=model.parent,
                       writes=[model])  # fmt: skip
    require(answer.code == 0, answer.err)
    data.unlink()


@contextlib.contextmanager
def _limits():
    """A second for views, and memory as a small machine has it."""
    before = dict(os.environ)
    os.environ.update(FEWLABELS_SECONDS="1", FEWLABELS_MEMORY="600M")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def make(seed):
    """A case of this area."""
    case = Case(seed)
    return case.describe(), case
