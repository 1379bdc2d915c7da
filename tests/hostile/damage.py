"""Cases over model files: damaged, swapped, blown up, and from other times."""

import functools
import io
import json
import struct
import zipfile
import zlib

import numpy as np
import pandas as pd

from fewlabels.tables.models.files import MEMBER, members_digest

from . import shell
from .verdict import require

_BOMB = 3 * 10**9  # bytes that a member says or is


@functools.cache
def _model(kind):
    rng = np.random.default_rng(7)
    with shell.folder() as place:
        shell.fit_model(place / "m", shell.table(rng), kind, "--missing", "refuse", "--rows")
        return (place / "m").read_bytes()


def _members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def _archive(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


# -- bytes ------------------------------------------------------------------------------------


def _flip(rng, data):
    data = bytearray(data)
    for place in rng.integers(0, len(data), int(rng.choice([1, 1, 3, 30]))):
        data[place] ^= 1 << int(rng.integers(8))
    return bytes(data)


def _flip_end(rng, data):
    data = bytearray(data)
    data[-int(rng.integers(1, min(400, len(data))))] ^= 1 << int(rng.integers(8))
    return bytes(data)


def _cut(rng, data):
    return data[: int(rng.integers(0, len(data)))]


def _inner_cut(rng, data):
    start = int(rng.integers(0, len(data) - 50))
    return data[:start] + data[start + int(rng.integers(1, 50)) :]


def _put_before(rng, data):
    return rng.bytes(int(rng.integers(1, 100))) + data


def _put_behind(rng, data):
    return data + rng.bytes(int(rng.integers(1, 100)))


def _noise(rng, data):
    return rng.bytes(int(rng.integers(0, 5000)))


def _noise_in_zip(rng, data):
    return b"PK\x03\x04" + rng.bytes(2000)


# -- members ----------------------------------------------------------------------------------


def _without_member(rng, data):
    members = _members(data)
    members.pop(str(rng.choice(list(members))))
    return _archive(members)


def _empty_member(rng, data):
    members = _members(data)
    members[str(rng.choice(list(members)))] = b""
    return _archive(members)


def _swapped_members(rng, data):
    members = _members(data)
    one, two = (str(v) for v in rng.choice(list(members), 2, replace=False))
    members[one], members[two] = members[two], members[one]
    return _archive(members)


def _members_of_another(rng, data):
    members, others = _members(data), _members(_model("one-class"))
    name = str(rng.choice(["fewlabels.json", "schema.json"]))
    members[name] = others[name]
    return _archive(members)


def _other_numbers(rng, data):
    """An array of another length, shape or type, or with NaN."""
    members = _members(data)
    name = str(rng.choice([n for n in list(members) if n.endswith(".npy")]))
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    if array.dtype.kind == "O" or not array.size:
        return _flip(rng, data)
    changes = [
        lambda a: a.ravel()[:-1], lambda a: np.append(a.ravel(), a.ravel()[-1]), lambda a: a[None],
        lambda a: np.zeros((0, *a.shape[1:]), a.dtype), lambda a: a.astype(complex),
        lambda a: a.astype(str), lambda a: np.full(a.shape, np.nan), lambda a: a.astype("S3"),
        lambda a: np.full(a.shape, 1e308), lambda a: -a.astype(float) - 5,
        lambda a: np.full(a.shape, 2**40), lambda a: a.T.copy()[..., None],
        lambda a: a.astype(float) + 0.5, lambda a: a.astype(np.uint8), lambda a: a.astype(bool),
        lambda a: np.where(np.arange(a.size).reshape(a.shape) == 0, np.nan, a.astype(float)),
        lambda a: a.astype(float) + np.inf, lambda a: a.astype("datetime64[s]"),
    ]  # fmt: skip
    out = io.BytesIO()
    with np.errstate(all="ignore"):
        np.save(out, changes[int(rng.integers(len(changes)))](array))
    members[name] = out.getvalue()
    return _archive(members)


def _declared_shape(rng, data):
    """An array that says it is huge."""
    members = _members(data)
    name = str(rng.choice([n for n in list(members) if n.endswith(".npy")]))
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % 10 ** int(
        rng.integers(9, 16)
    )
    header += b" " * (118 - len(header)) + b"\n"
    members[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 64
    return _archive(members)


def _bomb(rng, data):
    """A member that unpacks to 300 megabytes."""
    members = _members(data)
    members[str(rng.choice([*list(members), "more.npy"]))] = bytes(300_000_000)
    return _archive(members)


def _false_size(rng, data):
    """The directory says that a member is larger, or smaller, than it is."""
    data = bytearray(data)
    places = [i for i in range(len(data) - 4) if data[i : i + 4] == b"PK\x01\x02"]
    start = places[int(rng.integers(len(places)))] + int(rng.choice([20, 24]))
    size = int(rng.choice([0, 10, _BOMB]))
    data[start : start + 4] = struct.pack("<I", size)
    return bytes(data)


def _encrypted(rng, data):
    data = bytearray(data)
    for i in range(len(data) - 4):
        if data[i : i + 4] == b"PK\x01\x02":
            data[i + 8] |= 1
    return bytes(data)


def _odd_names(rng, data):
    members = _members(data)
    return _archive({**members, "../../escaped": b"x", "/etc/escaped": b"x", "a\0b": b"x"})


def _stored(rng, data):
    return _archive(_members(data), zipfile.ZIP_STORED)


def _compressed_otherwise(rng, data):
    return _archive(_members(data), [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA][int(rng.integers(2))])


# -- what a file says of itself ---------------------------------------------------------------


def _edited(member, *edits):
    def change(rng, data):
        members = _members(data)
        facts = json.loads(members[member])
        facts = edits[int(rng.integers(len(edits)))](facts)
        members[member] = facts if isinstance(facts, bytes) else json.dumps(facts)
        return _archive(members)

    return change


def _with(facts, **changes):
    return {**facts, **changes}


def _schema(facts, **changes):
    return _with(facts, schema=_with(facts["schema"], **changes))


_SAYS = _edited(
    "fewlabels.json",
    lambda f: _with(f, format_version=2),
    lambda f: _with(f, format_version=99),
    lambda f: _with(f, format_version=0),
    lambda f: _with(f, format_version=-3),
    lambda f: _with(f, format_version="5"),
    lambda f: _with(f, format_version=None),
    lambda f: _with(f, format_version=10**400),
    lambda f: _with(f, format_version=True),
    lambda f: _with(f, format="another"),
    lambda f: _with(f, method="tree"),
    lambda f: _with(f, method="pu-ensemble"),
    lambda f: _with(f, method=["svdd"]),
    lambda f: _with(f, versions=None),
    lambda f: _with(f, versions={}),
    lambda f: _with(f, versions={"fewlabels": "99.1", "scikit-learn": 3, "skops": None}),
    lambda f: _with(f, created=17),
    lambda f: _with(f, training=None),
    lambda f: _with(f, training={}),
    lambda f: _with(f, training=[1]),
    lambda f: _with(f, parameters="many"),
    lambda f: {k: v for k, v in f.items() if k != "schema"},
    lambda f: {k: v for k, v in f.items() if k != "training"},
    lambda f: [f],
    lambda f: "a model",
    lambda f: None,
    lambda f: b"{" + b'"a":{' * 100_000,
    lambda f: b"[" * 100_000,
    lambda f: b"\xff\xfe not json",
    lambda f: b"NaN",
    lambda f: b"",
    lambda f: json.dumps(f).encode("utf-16"),
)
_SCHEMA = _edited(
    "fewlabels.json",
    lambda f: _schema(f, columns=[]),
    lambda f: _schema(f, columns=None),
    lambda f: _schema(f, columns=f["schema"]["columns"][:-1]),
    lambda f: _schema(f, columns=f["schema"]["columns"] * 2),
    lambda f: _schema(f, columns=f["schema"]["columns"][::-1]),
    lambda f: _schema(f, columns=[{"name": "width"}]),
    lambda f: _schema(f, columns=[{"name": 3, "kind": "number"}]),
    lambda f: _schema(f, columns=[{**c, "kind": "rainbow"} for c in f["schema"]["columns"]]),
    lambda f: _schema(f, n_columns=10**9),
    lambda f: _schema(f, n_columns=-1),
    lambda f: _schema(f, layout="sparse"),
    lambda f: _schema(f, layout=7),
    lambda f: _schema(f, zero_based="maybe"),
    lambda f: _with(f, schema={}),
    lambda f: _with(f, schema=[]),
)
_OBJECTS = _edited(
    "schema.json",
    lambda s: {},
    lambda s: [],
    lambda s: None,
    lambda s: _with(s, __class__="Popen", __module__="subprocess"),
    lambda s: _with(s, __class__="Ridge", __module__="sklearn.linear_model"),
    lambda s: _with(s, __loader__="NoSuchNode"),
    lambda s: _with(s, content=None),
    lambda s: _with(s, protocol=99),
    lambda s: _with(s, __id__=None),
    lambda s: json.dumps(s).replace("SVDD", "OneClassSVM").encode(),
    lambda s: json.dumps(s).replace("S3VM", "PUSVM").encode(),
    lambda s: json.dumps(s).replace('"steps"', '"stops"').encode(),
    lambda s: json.dumps(s).replace('"_cache"', '"_later"').encode(),
    lambda s: json.dumps(s).replace('"gamma_"', '"gamma"').encode(),
    lambda s: b'{"a":' * 50_000,
    lambda s: b"nonsense",
)

# -- invented contents, with a digest that fits ------------------------------------------------

_INVENTED = [
    float("nan"), float("inf"), 10**400, -(10**400), 10**30, None, -1, 0, 1, 0.5, 1e308, True,
    "x", "", "\ud800", "\x1b[2J", [], [1], ["x"], [None], {}, {"a": 1}, {"a": None}, [[]],
]  # fmt: skip


def _signed(members):
    """An archive whose description has the digest of the other members."""
    facts = json.loads(members[MEMBER])
    facts["digest"] = members_digest(zipfile.ZipFile(io.BytesIO(_archive(members))))
    return _archive({**members, MEMBER: json.dumps(facts)})


def _places(value):
    """Every container and key of a JSON value, from the outside in."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _invent(rng, value):
    """Replace, remove or add something in a JSON value."""
    places = list(_places(value))
    holder, key = places[int(rng.integers(len(places)))]
    if rng.random() < 0.1:
        del holder[key]
    else:
        holder[key] = _INVENTED[int(rng.integers(len(_INVENTED)))]
    return value


def _invented_description(rng, data):
    members = _members(data)
    facts = json.loads(members[MEMBER])
    part = str(rng.choice(["training", "training", "schema", "parameters", "all"]))
    _invent(rng, facts if part == "all" else facts[part])
    return _archive({**members, MEMBER: json.dumps(facts)})


def _invented_object(rng, data):
    members = _members(data)
    members["schema.json"] = json.dumps(_invent(rng, json.loads(members["schema.json"])))
    return _signed(members)


def _invented_numbers(rng, data):
    changed = _other_numbers(rng, data)
    try:
        return _signed(_members(changed))
    except (zlib.error, zipfile.BadZipFile):  # it had no numbers, so a bit was flipped
        return changed


CHANGES = {
    "a bit flips": (_flip, 40),
    "a bit flips near the end": (_flip_end, 10),
    "cut": (_cut, 8),
    "some bytes missing": (_inner_cut, 8),
    "bytes before": (_put_before, 2),
    "bytes behind": (_put_behind, 2),
    "noise": (_noise, 2),
    "noise like an archive": (_noise_in_zip, 1),
    "a member less": (_without_member, 8),
    "an empty member": (_empty_member, 6),
    "two members swapped": (_swapped_members, 12),
    "a member of another model": (_members_of_another, 6),
    "other numbers": (_other_numbers, 40),
    "an array that says it is huge": (_declared_shape, 8),
    "a bomb": (_bomb, 4),
    "a false size": (_false_size, 8),
    "encrypted": (_encrypted, 2),
    "odd names": (_odd_names, 2),
    "stored": (_stored, 2),
    "compressed otherwise": (_compressed_otherwise, 3),
    "another description": (_SAYS, 40),
    "another schema": (_SCHEMA, 25),
    "other objects": (_OBJECTS, 25),
    "an invented description": (_invented_description, 80),
    "invented objects": (_invented_object, 60),
    "invented numbers": (_invented_numbers, 80),
}


class Case:
    """A changed model file and a command."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([13, 3, seed])
        self.kind = str(rng.choice(list(shell.TARGETS)))
        names = list(CHANGES)
        shares = np.array([CHANGES[name][1] for name in names], float)
        self.change = str(rng.choice(names, p=shares / shares.sum()))
        self.command = str(
            rng.choice(["predict", "predict", "inspect", "inspect", "update", "explain", "export"])
        )

    def describe(self):
        return f"{self.command} with a model ({self.kind}): {self.change}"

    def __call__(self):
        good = _model(self.kind)
        bad = CHANGES[self.change][0](self.rng, good)
        with shell.folder() as place:
            (place / "good").write_bytes(good)
            (place / "bad").write_bytes(bad)
            shell.table(self.rng, 12).drop(columns=["pu", "two"]).to_csv(
                place / "d.csv", index=False
            )
            answer = self._run(place, "bad", "bad.csv")
            if answer.code == 2 or self.command != "predict":
                return answer.verdict
            self._run(place, "good", "good.csv")
            ours, theirs = (pd.read_csv(place / f"{name}.csv") for name in ("bad", "good"))
            require(np.isfinite(ours["score"]).all(), "scores of a damaged model are not finite")
            meant = self.change in (
                "other numbers", "two members swapped", "another schema", "other objects",
                "another description", "a member of another model", "an invented description",
                "invented objects", "invented numbers",
            )  # fmt: skip
            require(
                meant or np.array_equal(ours["score"], theirs["score"]),
                "a damaged model is taken and scores otherwise",
            )
            return answer.verdict

    def _run(self, place, model, out):
        model, data, out = place / model, place / "d.csv", place / out
        if self.command == "predict":
            return shell.run("predict", model, data, "-o", out, within=place, writes=[out])
        if self.command == "inspect":
            return shell.run("inspect", model, within=place)
        if self.command == "update":
            out = place / "updated"
            return shell.run("update", model, data, "-o", out, within=place, writes=[out])
        if self.command == "explain":
            return shell.run("explain", model, data, "--row", 2, within=place)
        out = place / "m.onnx"
        return shell.run("export", model, "-o", out, within=place, writes=[out])


def make(seed):
    """A case of this area."""
    case = Case(seed)
    return case.describe(), case
