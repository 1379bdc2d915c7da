"""Cases over labels and blanks: what counts as no label, and names that tables would lose.

Every row with a label keeps it, on each way to a model, or somebody is told in a sentence.
"""

import functools
import json
import unicodedata
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa

from fewlabels import PUSVM, S3VM, fit_table
from fewlabels._util.messages import UserError
from fewlabels.baselines import SemiSupervisedBaseline
from fewlabels.class_prior import split_labels
from fewlabels.data.labels.semi_supervised import is_labelled, read_semi_labels
from fewlabels.labelling.session import Session
from fewlabels.model_selection import LabeledKFold
from fewlabels.querying import Random
from fewlabels.tables.answers.file import AnswerEntry, AnswerFile
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training
from fewlabels.tables.user_data import make_source

from . import shell
from .verdict import Verdict, require

# Names that nobody could mistake, and those that programs take for something else.
_PLAIN = ["good", "bad", "refund", "login", "Straße", "café", "größe", "Ω", "日本", "x y", "a-b"]
_ODD = [
    "NA", "nan", "NaN", "null", "NULL", "None", "none", "N/A", "n/a", "<NA>", "?", "#N/A", " ", "",
    "-nan", "+NaN", "nAn", "NONE", "Na", "NaT", "nil", "true", "TRUE", "True", "false", "0", "1",
    "1.0", "01", "007", "1e0", "-1", "inf", "Infinity", "1_0", "１", "yes", "no", "=1+1", "-", "u",
    "good ", " good", "GOOD", "Good", "ｇｏｏｄ", "bad\u00a0", "x  y", "STRASSE", "Cafe\u0301",
    "ﬁn", "K", "\u212a", "unknown", "not good", "'", '"', "a,b", "a;b", "\t", "x" * 81, "\u200b",
]  # fmt: skip
_WAYS = [
    str, str.upper, str.lower, str.title, str.swapcase,
    lambda name: f" {name}", lambda name: f"{name} ",
    functools.partial(unicodedata.normalize, "NFD"),
    functools.partial(unicodedata.normalize, "NFC"),
    functools.partial(unicodedata.normalize, "NFKC"),
    lambda name: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in name),
]  # fmt: skip


def _name(rng):
    name = str(rng.choice(_ODD if rng.random() < 0.6 else _PLAIN))
    return _WAYS[rng.integers(len(_WAYS))](name) if rng.random() < 0.5 else name


# -- in memory --------------------------------------------------------------------------------

_CLASSES = {
    "texts": ["a", "b", "c"],
    "marks as texts": ["-1", "0", "1"],
    "numbers": [0, 1, 2],
    "numbers with -1": [-1, 0, 1],
    "floats": [0.0, 1.0, 2.0],
    "floats with -1": [-1.0, 1.0, 2.0],
    "bools": [False, True],
    "two": [-1, 1],
}
_BLANKS = {
    "None": None, "NaN": float("nan"), "NA": pd.NA, "NaT": pd.NaT, "empty": "", "space": "  ",
    "tab": "\t", "masked": np.ma.masked, "mark": -1, "mark as float": -1.0,
}  # fmt: skip


def _array(values):
    y = np.empty(len(values), dtype=object)
    y[:] = values
    return y


def _masked(values):
    mask = [value is np.ma.masked or value is None for value in values]
    other = next(v for v, m in zip(values, mask, strict=True) if not m)
    return np.ma.masked_array([other if m else v for v, m in zip(values, mask, strict=True)], mask)


_HOLDERS = {
    "a list": list,
    "a tuple": tuple,
    "an array": np.array,
    "objects": _array,
    "a series": lambda v: pd.Series(_array(v)),
    "categories": lambda v: pd.Categorical(v),
    "a nullable series": lambda v: pd.Series(v).convert_dtypes(),
    "Arrow in pandas": lambda v: pd.Series(v).convert_dtypes(dtype_backend="pyarrow"),
    "Arrow": pa.array,
    "a masked array": _masked,
    "a data frame": lambda v: pd.DataFrame({"y": _array(v)}),
}


def _memory(rng):
    classes, kinds = (list(part) for part in (_CLASSES, _BLANKS))
    chosen = str(rng.choice(classes))
    blanks = [str(kind) for kind in rng.choice(kinds, rng.integers(1, 3), replace=False)]
    holder, values = str(rng.choice(list(_HOLDERS))), _CLASSES[chosen]
    n = 30
    place, known = rng.integers(0, len(values), n), rng.random(n) < 0.5
    known[:6], known[6:8], place[:6] = True, False, np.arange(6) % len(values)
    given = [
        values[k] if is_known else _BLANKS[blanks[rng.integers(len(blanks))]]
        for k, is_known in zip(place, known, strict=True)
    ]
    X = rng.normal(size=(n, 2)) + 3.0 * np.eye(3)[place, :2]

    def case():
        try:
            y = _HOLDERS[holder](given)
        except (TypeError, ValueError, pa.ArrowException):
            return Verdict("refused", "pandas, NumPy or Arrow can't hold these")
        if not _still_held(y, given):
            return Verdict("refused", "NumPy or pandas made other values of these")
        wanted = np.where(known, place, -1)
        marked = np.array([v == -1 if isinstance(v, int | float) else False for v in given])
        if marked[~known].all() and -1 in values:  # the mark and a class are one value
            wanted[marked] = -1 if len(values) > 2 else values.index(-1)
        code, found, _ = read_semi_labels(y, -1)
        require(len(found) == len(set(wanted) - {-1}), f"{len(found)} classes: {found}")
        got = _places(code, len(found), found, values)
        require(np.array_equal(got, wanted), f"read as {got}, not {wanted}")
        labelled = wanted >= 0
        if labelled.all():
            return None
        require(np.array_equal(is_labelled(y, -1), labelled), "is_labelled differs")
        asked = Random(missing_label=-1).query(X, y, batch_size=n)
        require(not labelled[asked].any(), "a labelled row is queried")
        folds = LabeledKFold(2)
        try:
            tested = np.concatenate([test for _, test in folds.split(X, y)])
            require(set(tested) == set(np.flatnonzero(labelled)), "folds hold other rows")
        except ValueError as error:
            require("folds" in str(error), str(error))
        for model in (S3VM(), SemiSupervisedBaseline("logistic")):
            model.fit(X, y)
            require(list(model.classes_) == list(found), f"{model} has {model.classes_}")
        return None

    return f"{chosen} and {' and '.join(blanks)} in {holder}", case


def _still_held(y, given):
    """Whether a holder kept values apart from the texts that programs write for them."""
    shown = np.asarray(y, dtype=object).ravel()
    return all(
        isinstance(one, str) == isinstance(other, str)
        for one, other in zip(shown, given, strict=True)
        if isinstance(one, str) or other is not np.ma.masked
    )


def _places(code, n_classes, found, values):
    if n_classes == 2:
        place = np.where(code == 0, -1, code > 0).astype(int)
    else:
        place = code.astype(int) - 1
    of_found = [values.index(v) for v in found]
    return np.array([-1 if k < 0 else of_found[k] for k in place])


def _positives(rng):
    label = [1, 1.0, "x", "yes", True, "1", "spam"][rng.integers(7)]
    kinds = [kind for kind in _BLANKS if not kind.startswith("mark")]
    blanks = [str(kind) for kind in rng.choice(kinds, rng.integers(1, 3), replace=False)]
    holder = str(rng.choice(["a list", "objects", "a series", "Arrow", "a masked array"]))
    n = 24
    positive = rng.random(n) < 0.4
    positive[:3], positive[3:6] = True, False
    given = [
        label if is_positive else _BLANKS[blanks[rng.integers(len(blanks))]]
        for is_positive in positive
    ]
    X = rng.normal(size=(n, 2)) + 2.0 * positive[:, None]

    def case():
        try:
            y = _HOLDERS[holder](given)
        except (TypeError, ValueError, pa.ArrowException):
            return Verdict("refused", "pandas, NumPy or Arrow can't hold these")
        if not _still_held(y, given):
            return Verdict("refused", "NumPy or pandas made other values of these")
        found, classes = split_labels(y)
        require(np.array_equal(found, positive), f"{found} are positive, not {positive}")
        require(classes[1] == label, f"the positive class is {classes[1]!r}")
        model = PUSVM(prior=0.3).fit(X, y)
        require(np.array_equal(model.training_rows_.label > 0, positive), "fitted to others")
        return None

    return f"{label!r} and {' and '.join(blanks)} in {holder}", case


# -- names that people give -------------------------------------------------------------------


def _rows(rng, n):
    place = np.arange(n) % 3
    X = np.round(rng.normal(size=(n, 2)) + 3.0 * np.eye(3)[place, :2], 4)
    return pd.DataFrame(X, columns=["a", "b"])


def _read_back(path, labels, n):
    """The labels that a fit reads, by row; "" for none."""
    file = read_training(make_source(path, labels=labels), ColumnOptions(target="label"))
    found = file.labels
    require(len(found.index) == n, "rows are lost")
    return np.array([*found.names, ""], dtype=object)[found.index]


def _page(rng):
    names = list(dict.fromkeys(_name(rng) for _ in range(rng.integers(2, 7))))
    n_first = int(rng.integers(0, len(names) + 1))
    first = [name for name in names[:n_first] if "," not in name]
    column = [_name(rng) for _ in range(rng.integers(0, 3))] if rng.random() < 0.5 else []
    whole, seed = rng.random() < 0.04, int(rng.integers(1 << 30))

    def case():
        with shell.folder() as place:
            return _labelled_and_read(place, first, names, column, whole, seed)

    return f"classes {first}, then {names} on the page, {column} in the column", case


def _labelled_and_read(place, first, names, column, whole, seed):
    rng, n, path = np.random.default_rng(seed), 36, place / "t.csv"
    frame = _rows(rng, n)
    if column:
        frame["label"] = [""] * (n - 6) + [column[k % len(column)] for k in range(6)]
    frame.to_csv(path, index=False)
    try:
        session = Session(path, "label", first, kernel="linear")
    except UserError as error:
        require(len(str(error)) > 20, f"refused without a sentence: {error}")
        require(not path.with_name("t.csv.labels").exists(), "a refused session leaves its file")
        plain = not column and len(first) == len({*first} & {*_PLAIN})
        require(not plain, f"plain names {first} are refused: {error}")
        return Verdict("refused", str(error))
    refused = []
    with closing(session):
        for name in names:
            try:
                session.add_class(name)
            except UserError as error:
                refused.append(str(error))
        answered, row = {}, 0
        for name in [*names, *session.classes]:
            for _ in range(2):
                try:
                    session.answer(id=f"{row}", annotator="me", row=row, kind="label", label=name)
                    answered[row] = session.labels[row]
                    row += row < n - 8
                except UserError as error:
                    refused.append(str(error))
        labels, path_of_labels = session.labels, session.file.path
    require(set(answered.items()) <= set(labels.items()), "answers are lost on the page")
    if not labels:
        return Verdict("refused", refused[0]) if refused else None
    read = _read_back(path, path_of_labels, n)
    got = {k: name for k, name in enumerate(read) if name}
    require(got == labels, f"a fit reads {got}, but the answers are {labels}")
    if whole and len(set(labels.values())) > 1:
        fitted = fit_table(path, labels=path_of_labels, time_budget=0)
        predicted = set(fitted.predict(path)["label"].dropna())
        require(predicted <= set(labels.values()), f"predicts {predicted}, answered {labels}")
    return Verdict("warned", refused[0]) if refused else None


def _by_hand(rng):
    """Answers that another program has written."""
    names = [_name(rng) for _ in range(rng.integers(2, 5))]
    seed = int(rng.integers(1 << 30))

    def case():
        with shell.folder() as place:
            rng, n, path = np.random.default_rng(seed), 24, place / "t.csv"
            _rows(rng, n).to_csv(path, index=False)
            with closing(Session(path, "label", ["one", "two"], kernel="linear")) as session:
                keys = session.rows.keys
            file = AnswerFile(place / "t.csv.labels", {})
            with closing(file):
                for row in range(12):
                    name = names[row % len(names)]
                    file.add(AnswerEntry(f"{row}", "me", "label", keys[row], row, name))
            try:
                read = _read_back(path, place / "t.csv.labels", n)
            except UserError as error:
                found = Verdict("refused", str(error))
            else:
                for row in range(12):
                    alike = read[row].casefold() == names[row % len(names)].strip().casefold()
                    require(alike, f"{names[row % len(names)]!r} is read as {read[row]!r}")
                require(len(set(read[:12])) == len(set(names)), f"{names} read as {set(read)}")
                found = None
            # Whatever is in the file can be written to a table, and so none is lost.
            with closing(Session(path, "label", kernel="linear")) as session:
                require(len(session.labels) == 12, "the page has lost answers")
            return found

    return f"answers {names} in the file", case


def _column(rng):
    """Labels in a file, blank in several ways."""
    names = list(dict.fromkeys(_name(rng) for _ in range(rng.integers(2, 5))))
    blanks = [str(b) for b in rng.choice(["", "NA", "nan", "null", "None", " ", "?", "-nan"], 2)]
    unlabeled = str(rng.choice([*names, *blanks])) if rng.random() < 0.4 else None
    n, seed = 24, int(rng.integers(1 << 30))

    def case():
        with shell.folder() as place:
            path, frame = place / "t.csv", _rows(np.random.default_rng(seed), n)
            frame["label"] = [names[k % len(names)] if k < 12 else blanks[k % 2] for k in range(n)]
            frame.to_csv(path, index=False)
            try:
                labels = read_training(
                    make_source(path), ColumnOptions(target="label", unlabeled=unlabeled)
                ).labels
            except UserError as error:
                return Verdict("refused", str(error))
            require((labels.index[12:] < 0).all(), f"{blanks} are no blanks: {labels.names}")
            with closing(Session(path, "label", kernel="linear")) as session:
                given = [name for name in session.rows.given if name]
            if unlabeled is None:
                counted = dict(zip(labels.names, labels.counts, strict=True))
                require(counted == pd.Series(given).value_counts().to_dict(), f"page: {given}")
            return None

    return f"{names} and {blanks} in a column, unlabeled={unlabeled!r}", case


@functools.cache
def _model():
    with shell.folder() as place:
        rows = shell.table(np.random.default_rng(7))
        shell.fit_model(place / "m", rows, "s3vm", "--rows")
        return (place / "m").read_bytes()


def _update(rng):
    """A new class of a model, by the command line."""
    name, seed = _name(rng), int(rng.integers(1 << 30))

    def case():
        with shell.folder() as place:
            (place / "m").write_bytes(_model())
            rows = shell.table(np.random.default_rng(seed), 12).drop(columns="pu")
            rows["two"] = [name] * 4 + ["good", "bad", "", "NA", "nan", "None", " ", ""]
            rows.to_csv(place / "d.csv", index=False)
            words = ["update", "m", "d.csv", f"--new-class={name}", "--block", "12"]
            paths = [place / word if word in ("m", "d.csv") else word for word in words]
            answer = shell.run(*paths, within=place, writes=[place / "m"])
            if answer.code != 2:
                require("4" in answer.out or "4" in answer.err, "four labels are new")
                again = shell.run("inspect", place / "m", "--json", within=place)
                counted = json.loads(again.out)["training"]["rows_labeled"]
                require(4 in counted.values(), f"{name!r} counts {counted}")
            return answer.verdict

    return f"the new class {name!r}", case


_AREAS = [(_memory, 0.35), (_positives, 0.1), (_page, 0.3), (_by_hand, 0.1), (_column, 0.13)]
_AREAS += [(_update, 0.02)]


def make(seed):
    """A description and a function without arguments."""
    rng = np.random.default_rng([seed, 47])
    kinds, shares = zip(*_AREAS, strict=True)
    return kinds[rng.choice(len(kinds), p=shares)](rng)
