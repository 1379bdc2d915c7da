"""Cases of files that another process replaces, or writes into, while they are read.

Two versions of a file are put in each other's place all the time. What reads the file has to give
the answer of one of them, or to refuse it in a sentence.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd

from fewlabels import SVDD, fit_table, load, stored_rows
from fewlabels._util.messages import UserError
from fewlabels.tables.answers.file import AnswerEntry, AnswerFile
from fewlabels.tables.models.files import read_header

from . import shell
from .verdict import Verdict, Wrong, refusal, require

# Replaces a file with one of two others, or writes their bytes into it, until it is ended.
_WRITER = """
import itertools, os, sys, time
path, one, other, how, pause = sys.argv[1:6]
contents = [open(name, "rb").read() for name in (one, other)]
end = time.monotonic() + 120
print(flush=True)
for k in itertools.count():
    if time.monotonic() > end or os.getppid() != int(sys.argv[6]):
        break
    if how == "replace":
        with open(path + ".new", "wb") as file:
            file.write(contents[k % 2])
        os.replace(path + ".new", path)
    else:
        with open(path, "r+b") as file:
            file.write(contents[k % 2])
            file.truncate()
    time.sleep(float(pause))
"""
READERS = (
    "load", "predict", "inspect", "explain", "update", "update elsewhere", "export", "watch",
    "watch state", "fit csv", "fit parquet", "fit npy", "fit npz", "fit jsonl", "predict csv",
    "update csv", "fit labels", "label", "stored npy", "stored parquet", "stored svmlight",
)  # fmt: skip
_MODELS: dict = {}  # bytes of model files, which are the same in all cases
_MODEL = ("load", "predict", "inspect", "explain", "update", "update elsewhere", "export", "watch")


@contextlib.contextmanager
def writing(path, one, other, how, pause):
    """Another process writes two versions of a file in turn."""
    arguments = [path, one, other, how, pause, os.getpid()]
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, *map(str, arguments)], stdout=subprocess.PIPE
    )
    try:
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}.new")


class Case:
    """A reader, the two versions of what it reads, and how one becomes the other."""

    def __init__(self, seed, reader=None, how=None, times=3):
        self.rng = rng = np.random.default_rng([13, 8, seed])
        drawn = str(rng.choice(READERS)), str(rng.choice(["replace", "replace", "write"]))
        self.reader, self.how = reader or drawn[0], how or drawn[1]
        self.kind = str(rng.choice(["svdd", "s3vm"]))
        self.pause, self.times = float(rng.choice([0.0, 0.001, 0.003])), times

    def describe(self):
        return f"{self.reader} ({self.kind}) while others {self.how} every {self.pause:g} s"

    def __call__(self):
        with shell.folder() as place, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._run(place)

    def _run(self, place):
        versions = [place / "0", place / "1"]
        for k, version in enumerate(versions):
            version.mkdir()
            self._make(version, k)
        path = next(p for p in versions[0].iterdir() if p.stem == "it").name
        read = getattr(self, "_" + self.reader.split()[0])
        alone = []
        for version in versions:
            work = place / f"alone{version.name}"
            shutil.copytree(versions[0], work)
            shutil.copy(version / path, work / path)
            alone.append(self._answered(read, work / path))
        require(not any(isinstance(a, Verdict) for a in alone), f"no case: {alone}")
        require(alone[0] != alone[1], "no case: both versions give the same answer")
        refused = 0
        for k in range(self.times):
            work = place / f"work{k}"
            shutil.copytree(versions[0], work)
            with writing(work / path, *(v / path for v in versions), self.how, self.pause):
                found = self._answered(read, work / path)
            if isinstance(found, Verdict):
                refused += 1
                continue
            require(found in alone, f"{self.reader}: an answer of neither version: {found!r:.300}")
        return Verdict("refused", "changed while it was read") if refused else None

    def _answered(self, read, path):
        try:
            return read(path)
        except Wrong:
            raise
        except UserError as error:
            text = str(error)
            require("\n" not in text and text.endswith("."), f"no sentence: {text}")
            return Verdict("refused", text)
        except OSError as error:  # of FileSource, from Python
            require("changed while its rows were used" in str(error), f"{self.reader}: {error!r}")
            return Verdict("refused", str(error))
        except Exception as error:
            raise Wrong(f"{self.reader}: {refusal(error).text}") from error

    # -- two versions -------------------------------------------------------------------------

    def _table(self, k):
        """Rows whose columns mean the opposite in the other version."""
        rng = np.random.default_rng([13, 9, k])
        n = 60 + 20 * k
        side = np.arange(n) % 2
        a = np.round(rng.normal(size=n) + 4.0 * (side if k else -side), 4)
        b = np.round(rng.normal(size=n), 4)
        names = ["b", "a"] if k else ["a", "b"]
        frame = pd.DataFrame({names[0]: b if k else a, names[1]: a if k else b})
        if self.kind == "s3vm":
            frame["two"] = np.where(np.arange(n) < 30, np.where(side == 1, "good", "bad"), "")
        return frame

    def _save(self, k, path):
        if (self.kind, k) not in _MODELS:
            options = (
                {"target": "two"} if self.kind == "s3vm" else {"method": "svdd", "rows": True}
            )
            fit_table(self._table(k), time_budget=0, n_jobs=1, **options).save(path)
            _MODELS[self.kind, k] = path.read_bytes()
        path.write_bytes(_MODELS[self.kind, k])

    def _make(self, place, k):
        table, what = self._table(k), self.reader
        numbers = table[["a", "b"]].to_numpy()
        if what in _MODEL or what == "watch state":
            if what in ("watch", "watch state"):
                self.kind = "svdd"
            name = "m.skops" if what == "watch state" else "it.skops"
            self._save(k if what != "watch state" else 0, place / name)
            self._table(0).drop(columns="two", errors="ignore").to_csv(
                place / "d.csv", index=False
            )
            if what == "watch state":
                before = place / "before.csv"
                self._table(k).head(30 + k).to_csv(before, index=False)
                shell.invoke(
                    "watch", place / "m.skops", before, "--state", place / "it.db",
                    "--alpha", 0.01, "--seed", 3, "-o", place / "w.jsonl",
                )  # fmt: skip
        elif what in ("predict csv", "update csv"):
            self._save(0, place / "m.skops")
            (table if k else self._table(0)[:40]).to_csv(place / "it.csv", index=False)
        elif what in ("fit csv",):
            table.to_csv(place / "it.csv", index=False, sep=",;"[k])
        elif what in ("fit parquet", "stored parquet"):
            table[["a", "b"]].to_parquet(place / "it.parquet")
        elif what in ("fit npy", "stored npy"):
            np.save(place / "it.npy", numbers if k else np.asfortranarray(numbers))
        elif what == "fit npz":
            np.savez(place / "it.npz", X=numbers)
        elif what == "fit jsonl":
            table.to_json(place / "it.jsonl", orient="records", lines=True)
        elif what == "stored svmlight":
            lines = (f"{k} {j + 1}:{v}\n" for j, v in enumerate(numbers.ravel()[: 50 + 9 * k]))
            (place / "it.svmlight").write_text("".join(lines))
        else:
            self._make_labels(place, k)

    def _make_labels(self, place, k):
        import pyarrow as pa

        from fewlabels.tables.answers.row_keys import RowKeys, cells_as_text

        table = self._table(0)[["a", "b"]]
        table.to_csv(place / "d.csv", index=False)
        texts = pa.table({n: pa.array([repr(v) for v in table[n]]) for n in table})
        texts = pa.table({n: pa.array(cells_as_text(texts.column(n))) for n in texts.column_names})
        keys = RowKeys("two").make_keys(texts)
        about = {"target": "two", "classes": ["good", "bad"], "seed": "0" * 16, "data": "d.csv"}
        file = AnswerFile(place / "it.labels", about)
        for row in range(20 + 8 * k):
            label = ["good", "bad"][(row + k) % 2]
            file.add(AnswerEntry(f"{k}-{row}", "me", "label", keys[row], row, label, at="now"))
        file.close()

    # -- readers ------------------------------------------------------------------------------

    def _load(self, path):
        model = load(path)
        return _scores_of(model), _facts(model.metadata)

    def _inspect(self, path):
        metadata, size = read_header(path)
        return _facts(metadata), size

    def _command(self, path, *arguments):
        """The answer of a command, with the bytes of ``out``."""
        result = shell.invoke(*arguments)
        if result.code == 2:
            raise UserError(" ".join(result.err.removeprefix("Error: ").split()))
        return result

    def _predict(self, path):
        place = path.parent
        is_data = path.suffix == ".csv"
        model, data = (place / "m.skops", path) if is_data else (path, place / "d.csv")
        out = place / "out.csv"
        self._command(path, "predict", model, data, "-o", out)
        return out.read_text()

    def _explain(self, path):
        answer = self._command(path, "explain", path, path.parent / "d.csv", "--row", 1, "--json")
        found = json.loads(answer.out)
        return json.dumps([found["usual_score"], found["rows"]])

    def _export(self, path):
        import onnx

        out = path.parent / "out.onnx"
        self._command(path, "export", path, "-o", out)
        graph = onnx.load(out)
        facts = sorted((p.key, p.value) for p in graph.metadata_props if p.key != "model")
        return graph.graph.SerializeToString(), tuple(facts)

    def _update(self, path):
        place = path.parent
        is_data = path.suffix == ".csv"
        model, data = (place / "m.skops", path) if is_data else (path, place / "d.csv")
        out = place / "out.skops" if is_data or self.reader == "update elsewhere" else path
        found = self._command(path, "update", model, data, "-o", out, "--json")
        told = json.loads(found.out)
        if out == path:  # others may have replaced it already
            load(out)
            return told["rows_before"], told["rows_after"], told["objective"]
        model = load(out)
        rows = model.model[-1].training_rows_.X
        require(len(rows) == model.metadata["training"]["rows"], "rows and metadata of two models")
        return told["rows_before"], told["rows_after"], told["objective"]

    def _watch(self, path):
        place = path.parent
        model = path if path.suffix == ".skops" else place / "m.skops"
        state = place / "s.db" if path.suffix == ".skops" else path
        out = place / "watched.jsonl"
        self._command(
            path, "watch", model, place / "d.csv", "--state", state, "--alpha", 0.01,
            "--seed", 3, "-o", out,
        )  # fmt: skip
        return out.read_text() if out.exists() else ""

    def _fit(self, path):
        place, more = path.parent, []
        data = path
        if path.suffix == ".labels":
            data, more = place / "d.csv", ["--labels", path]
        elif self.kind == "s3vm" and path.suffix in (".csv", ".jsonl"):
            more = ["--target", "two"]
        out = place / "m"
        self._command(path, "fit", data, "-o", out, *shell.QUICK, *more)
        model = load(out)
        facts = {k: model.metadata["training"].get(k) for k in ("rows", "rows_labeled", "target")}
        columns = [c["name"] for c in model.metadata["schema"]["columns"]]
        return json.dumps([facts, columns]), _scores_of(model)

    def _label(self, path):
        from fewlabels.tables.answers.file import read_answers

        found = read_answers(path)
        return json.dumps(found.about), tuple(sorted(found.labels().items()))

    def _stored(self, path):
        with stored_rows(path) as (X, _):
            rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
            if path.suffix == ".npy":
                fitted = SVDD(gamma=0.5, cache_size=1e-4, n_jobs=1).fit(X)
                again = SVDD(gamma=0.5, n_jobs=1).fit(rows)
                off = np.abs(fitted.decision_function(rows) - again.decision_function(rows)).max()
                require(off < 1e-2, f"rows of a file are other rows: {off:g}")
            return _plain(rows.sum(axis=0)), rows.shape


def _scores_of(model):
    """Scores of a row as the machine takes it, with the columns that its encoder adds."""
    machine = model.model[-1]
    return _plain(machine.decision_function(np.ones((1, machine.n_features_in_))))


def _plain(values):
    return tuple(np.round(np.ravel(values), 6).tolist())


def _facts(metadata):
    training = metadata["training"]
    return json.dumps([metadata["schema"], training.get("rows"), training.get("objective")])


def make(seed):
    """A case of this area."""
    case = Case(seed)
    return case.describe(), case
