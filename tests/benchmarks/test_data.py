"""Converters of the benchmarks' data sets: each format on a few lines, and the catalogue."""

import bz2
import gzip
import importlib
import inspect
import io
import os
import re
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix, issparse
from sklearn.datasets import dump_svmlight_file

REPOSITORY = Path(__file__).resolve().parents[2]
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(REPOSITORY / "benchmarks" / "data"))
    catalogue, convert, formats, stored = (
        importlib.import_module(name) for name in ("catalogue", "convert", "formats", "stored")
    )
CATALOGUE = catalogue.read_catalogue()
DATA = Path(os.environ.get("FEWLABELS_DATA") or "missing")


def write(path, text):
    """Write a file, compressed as its name says."""
    content = text.encode("latin-1")
    compress = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix)
    path.write_bytes(compress(content, compresslevel=1) if compress else content)
    return path


def same(array, expected):
    np.testing.assert_array_equal(array, expected)


# -- formats on a few lines --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "a.bz2", "a.gz"])
def test_svmlight(tmp_path, name):
    path = write(tmp_path / name, "-1 1:0.1 3:2\n+1 \n-1 2:-5e-3\n")
    arrays = formats.read_svmlight([path], columns=4)
    same(arrays["X"], [[0.1, 0, 2, 0], [0, 0, 0, 0], [0, -0.005, 0, 0]])
    same(arrays["y"], [-1, 1, -1])


def test_columns_of_svmlight_are_counted_from_one(tmp_path):
    with pytest.raises(ValueError, match="index 0"):
        formats.read_svmlight([write(tmp_path / "a", "1 0:1\n")])


@pytest.mark.parametrize(("name", "separator"), [("a.data", ","), ("a.gz", r"\s+"), ("b", ";")])
def test_text_of_numbers(tmp_path, name, separator):
    mark = {r"\s+": "  "}.get(separator, separator)
    path = write(tmp_path / name, "1 2.5 7\n-3 .25 8\n".replace(" ", mark))
    arrays = formats.read_text([path], separator=separator)
    same(arrays["X"], [[1, 2.5], [-3, 0.25]])
    same(arrays["y"], [7, 8])
    same(formats.read_text([path], separator=separator, label=0)["y"], [1, -3])


def test_text_with_words(tmp_path):
    lines = (
        'size;"kind";"mood";"y"\n10;"a";"unknown";"no"\n9.5;"c";"sad";"yes"\n1;"b";"sad";"no"\n'
    )
    arrays = formats.read_text(
        [write(tmp_path / "a.csv", lines)],
        separator=";",
        header=True,
        labels={"no": 0, "yes": 1},
        nominal=[1, 2],
        codes="codes",
        unknown="unknown",
    )
    same(
        arrays["X"],  # the number, then levels a, b, c, then levels sad, unknown
        [[10, 1, 0, 0, 0, 1], [9.5, 0, 0, 1, 1, 0], [1, 0, 1, 0, 1, 0]],
    )
    same(arrays["y"], [0, 1, 0])
    same(arrays["codes"], [[10, 0, 1], [9.5, 2, 0], [1, 1, 0]])
    same(arrays["unknown"], [True, False, False])


def test_one_hot_columns_of_numbers_are_in_the_order_of_size(tmp_path):
    path = write(tmp_path / "a.dat", "10 1.5 0\n9 2.5 1\n2 3.5 1\n")
    arrays = formats.read_text([path], separator=r"\s+", nominal=[0], raw="raw")
    same(arrays["X"], [[1.5, 0, 0, 1], [2.5, 0, 1, 0], [3.5, 1, 0, 0]])
    same(arrays["raw"], [[10, 1.5], [9, 2.5], [2, 3.5]])


def test_unused_columns_and_groups(tmp_path):
    path = write(tmp_path / "a.data", "\nbag-b,b1,4,1.\nbag-a,a1,5,0.\nbag-b,b2,6,1.\n")
    arrays = formats.read_text([path], skip=[0, 1], groups="bag")
    same(arrays["X"], [[4], [5], [6]])
    same(arrays["y"], [1, 0, 1])
    same(arrays["bag"], [1, 0, 1])


def test_labels_in_a_file_of_their_own(tmp_path):
    rows, labels = (
        write(tmp_path / "a.data", "1 2 \n3 4 \n"),
        write(tmp_path / "a.labels", "-1\n1\n"),
    )
    arrays = formats.read_text([rows, labels], separator=r"\s+")
    same(arrays["X"], [[1, 2], [3, 4]])
    same(arrays["y"], [-1, 1])


@pytest.mark.parametrize("options", [{}, {"nominal": [0]}])
@pytest.mark.parametrize("cell", ["?", ""])
def test_missing_cells_are_refused(tmp_path, cell, options):
    path = write(tmp_path / "a.data", f"1,2,0\n{cell},3,1\n")
    with pytest.raises(ValueError, match="missing"):
        formats.read_text([path], **options)


VOTES = """% from 1984
@relation vote
@attribute 'first' { 'n', 'y'}
@attribute 'second' { 'n', 'y'}
@attribute 'Class' { 'democrat', 'republican'}
@data
'n','y','republican'
?,'y','democrat'
'y','n','democrat'
%
"""


def test_arff_with_words(tmp_path):
    path = write(tmp_path / "vote.arff", VOTES)
    options = {"labels": {"democrat": 0, "republican": 1}, "values": {"n": 0, "y": 1}}
    arrays = formats.read_arff([path], missing=0.5, **options)
    same(arrays["X"], [[0, 1], [0.5, 1], [1, 0]])
    same(arrays["y"], [1, 0, 0])
    complete = formats.read_arff([path], missing="drop", **options)
    same(complete["X"], [[0, 1], [1, 0]])
    same(complete["y"], [1, 0])
    with pytest.raises(ValueError, match="missing"):
        formats.read_arff([path], **options)


def test_arff_with_numbers(tmp_path):
    lines = "@relation r\n@attribute y {0,1}\n@attribute b real\n@attribute k {-1,0,1}\n@data\n"
    path = write(tmp_path / "a.arff.gz", lines + "1,2.5,1\n0,-1,-1\n")
    arrays = formats.read_arff([path], label=0, nominal=[2], raw="raw")
    same(arrays["X"], [[2.5, 0, 1], [-1, 1, 0]])
    same(arrays["raw"], [[2.5, 1], [-1, -1]])
    same(arrays["y"], [1, 0])


def test_mat_with_its_own_splits(tmp_path):
    contents = {"X": np.eye(3), "y": [[1], [-1], [1]], "idxLabs": [[3], [1]]}
    savemat(tmp_path / "a.mat", contents | {"idxUnls": [[1, 2], [2, 3]]})
    arrays = formats.read_mat([tmp_path / "a.mat"], splits=[""])
    same(arrays["X"], np.eye(3))
    same(arrays["y"], [1, -1, 1])
    same(arrays["idx_labeled"], [[2], [0]])
    same(arrays["idx_unlabeled"], [[0, 1], [1, 2]])


def test_mat_with_files_of_splits(tmp_path):
    savemat(tmp_path / "a.mat", {"T": csc_matrix([[0, 2], [3, 0]]), "labels": [[0, 1]]})
    savemat(tmp_path / "1.mat", {"idxLabs": [[2]], "idxUnls": [[1]]})
    savemat(tmp_path / "2.mat", {"idxLabs": [[1, 2]], "idxUnls": [[]]})
    paths = [tmp_path / name for name in ("a.mat", "1.mat", "2.mat")]
    options = {"rows": "T", "labels": "labels", "splits": ["_1", "_2"]}
    arrays = formats.read_mat(paths, **options, unlabelled=False)
    assert issparse(arrays["X"]) and arrays.keys() == {"X", "y", "idx_labeled_1", "idx_labeled_2"}
    same(arrays["X"].toarray(), [[0, 2], [3, 0]])
    same(arrays["idx_labeled_2"], [[0, 1]])
    with pytest.raises(ValueError, match="zip"):
        formats.read_mat(paths[:2], **options)


def idx(path, array):
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    head = bytes([0, 0, 8, array.ndim]) + shape
    return write(path, (head + array.astype(np.uint8).tobytes()).decode("latin-1"))


@pytest.mark.parametrize("end", ["", ".gz"])
def test_idx(tmp_path, end):
    images = np.arange(12).reshape(2, 2, 3) + 244
    paths = [idx(tmp_path / f"i{end}", images), idx(tmp_path / f"l{end}", np.array([7, 0]))]
    arrays = formats.read_idx(paths)
    same(arrays["X"], images.reshape(2, 6))
    same(arrays["y"], [7, 0])
    with pytest.raises(ValueError, match="isn't an IDX file"):
        formats.read_idx([paths[0], write(tmp_path / "other", "1,2\n")])


def test_images(tmp_path):
    for name in ("face/b.pgm", "face/a.pgm", "other/c_10.pgm", "other/c_9.pgm", "other/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, f"P5\n2 1\n255\n{name[-6]}{name[-5]}")
    folders = [tmp_path / "face", tmp_path / "other"]
    arrays = formats.read_images(folders, labels=[1, -1], leave_out=["c_9"])
    same(arrays["X"], [[ord(c) for c in row] for row in ("/a", "/b", "10")])
    same(arrays["y"], [1, 1, -1])


def test_documents(tmp_path):
    texts = {
        "sci.med/9": "Subject: header\n\nThe Vitamin, vitamin_c and x1 \xe9tat\n\nvitamin",
        "sci.med/10": "From: me\n\nvitamin cat",
        "alt.cats/3": "a: b\n\nCAT cat the THE x",
        "alt.cats/.info": "x\n\nnothing",
    }
    folder = tmp_path / "news"
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, text)
    with tarfile.open(tmp_path / "news.tar.gz", "w:gz") as archive:
        archive.add(folder, "news")
    for path in (folder, tmp_path / "news.tar.gz"):
        arrays = formats.read_documents([path], min_documents=2)
        same(arrays["vocabulary"], ["cat", "vitamin"])
        same(arrays["X"].toarray(), [[2, 0], [1, 1], [0, 2]])  # 3, then 10 before 9
        same(arrays["y"], [0, 1, 1])
        same(arrays["groups"], ["alt.cats", "sci.med"])


def test_npz(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=[0, 1], more=3)
    arrays = formats.read_npz([tmp_path / "a.npz"])
    assert arrays.keys() == {"X", "y"}
    same(arrays["X"], np.eye(2))


# -- sets, checksums and the command -----------------------------------------------------------


def data_set(arrays, files, **fields):
    """An entry of a catalogue that expects certain arrays."""
    checksums = {key: stored.checksum(a) for key, a in stored.flattened(arrays).items()}
    texts = dict.fromkeys(("source", "address", "version", "citation", "licence"), "here")
    entry = texts | {"name": "small", "format": "text", "verified": "copy"} | fields
    return catalogue.DataSet(files=files, arrays=checksums, **entry)


@pytest.fixture
def small():
    """A set of two parts."""
    arrays = {
        "X": np.array([[0.1, 2]], np.float32),
        "y": np.array([1], np.int8),
        "X_test": np.array([[3, 4], [5, 6]], np.float32),
        "y_test": np.array([0, -1], np.int8),
    }
    return data_set(arrays, ["a", "a.t"], parts=["", "_test"])


def test_parts_and_types(tmp_path, small):
    files = [write(tmp_path / "a", "0.1,2,1\n"), write(tmp_path / "a.t", "3,4,0\n5,6,-1\n")]
    arrays = small.convert(files)
    assert arrays["X"].dtype == np.float32 and arrays["y_test"].dtype == np.int8
    assert stored.differences(arrays, small.arrays) == []
    with pytest.raises(ValueError, match=r"pass these files, in this order: a, a\.t"):
        small.convert(files[:1])
    write(tmp_path / "a", "0.1,2,1.5\n")
    with pytest.raises(ValueError, match="y has values that int8 can't hold"):
        small.convert(files)


def test_every_difference_is_named(small):
    arrays = {
        "X": np.array([[0.2, 2]], np.float32),
        "X_test": np.zeros((1, 2), np.float32),
        "y": np.array([1], np.int8),
        "more": np.array([1]),
    }
    assert stored.differences(arrays, small.arrays) == [
        "X has other values.",
        "X_test is <f4 (1, 2), expected <f4 (2, 2).",
        "more isn't in the catalogue.",
        "y_test is missing.",
    ]


def test_checksums_dont_depend_on_the_byte_order_or_on_strides():
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    for other in (array.astype(">f4"), np.asfortranarray(array)):
        assert stored.checksum(other) == stored.checksum(array)
    assert stored.checksum(array.reshape(3, 2)) != stored.checksum(array)
    assert stored.checksum(array.view("<i4")) != stored.checksum(array)


def test_checksums_are_written_and_read(monkeypatch, tmp_path, small):
    monkeypatch.setattr(stored, "CHECKSUMS", tmp_path / "checksums.json")
    stored.write_checksums({"small": small.arrays, "another": {}})
    assert stored.read_checksums() == {"small": small.arrays, "another": {}}


def test_command(monkeypatch, tmp_path, capsys, small):
    monkeypatch.setattr(convert, "read_catalogue", lambda: {"small": small})
    files = [write(tmp_path / "a", "0.1,2,1\n"), write(tmp_path / "a.t", "3,4,0\n5,6,-1\n")]
    command = ["small", *map(str, files), "-o", str(tmp_path / "out")]
    assert convert.main(command) == 0
    assert "small: matches." in capsys.readouterr().out
    assert convert.main(["--check", str(tmp_path / "out")]) == 0
    assert "1 sets as in the catalogue, 0 different." in capsys.readouterr().out
    write(files[0], "0.3,2,1\n")
    assert convert.main(command) == 1
    assert "small: differs from the catalogue: X has other values." in capsys.readouterr().out
    assert convert.main(["--check", str(tmp_path / "out")]) == 1
    assert convert.main(["--check", str(tmp_path)]) == 0
    assert "Missing: small." in capsys.readouterr().out
    assert convert.main(["small"]) == 0
    assert "files:    a, a.t" in capsys.readouterr().out
    for wrong, message in (
        (["tiny"], "pass the name of a data set: small"),
        (command[:3], "pass the folder"),
    ):
        with pytest.raises(SystemExit):
            convert.main(wrong)
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"pass these files, in this order: a, a\.t"):
        convert.main([*command[:2], *command[3:]])


def test_a_sparse_set_has_two_files(monkeypatch, tmp_path, capsys):
    savemat(tmp_path / "a.mat", {"X": csc_matrix([[0, 2.5], [3, 0]]), "y": [[0], [1]]})
    expected = {
        "X": csc_matrix(np.array([[0, 2.5], [3, 0]], np.float32)).tocsr(),
        "y": np.array([0, 1], np.int8),
    }
    entry = data_set(expected, ["a.mat"], format="mat")
    assert entry.arrays.keys() == {"X.data", "X.indices", "X.indptr", "X.shape", "y"}
    monkeypatch.setattr(convert, "read_catalogue", lambda: {"small": entry})
    assert convert.main(["small", str(tmp_path / "a.mat"), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "small_X.npz").is_file() and (tmp_path / "small_y.npz").is_file()
    assert convert.main(["--check", str(tmp_path)]) == 0


def test_record(monkeypatch, tmp_path, small):
    monkeypatch.setattr(convert, "read_catalogue", lambda: {"small": small})
    monkeypatch.setattr(stored, "CHECKSUMS", tmp_path / "checksums.json")
    stored.save_arrays(tmp_path, "small", {"X": np.eye(2), "y": np.arange(2)})
    assert convert.main(["--record", str(tmp_path)]) == 0
    assert stored.read_checksums()["small"]["X"] == stored.checksum(np.eye(2))


# -- the catalogue -----------------------------------------------------------------------------


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=list(CATALOGUE))
def test_entries_are_complete(entry):
    reader = formats.READERS[entry.format]
    inspect.signature(reader).bind([], **entry.options)
    if entry.format in ("text", "arff"):
        formats.TableOptions(**entry.options)
    assert entry.files and len(entry.files) % len(entry.parts) == 0
    assert entry.verified in catalogue.VERIFIED
    texts = (entry.source, entry.address, entry.version, entry.citation, entry.licence)
    assert all(texts) and re.match("https?://", entry.address)
    keys = {f"X{end}" for end in entry.parts} | {f"y{end}" for end in entry.parts}
    assert keys <= {key.removesuffix(".data") for key in entry.arrays}
    assert all(re.fullmatch("[0-9a-f]{64}", c.sha256) for c in entry.arrays.values())


def test_every_checksum_belongs_to_an_entry():
    assert stored.read_checksums().keys() == CATALOGUE.keys()


def test_the_table_has_a_line_per_set(capsys):
    assert convert.main(["--list"]) == 0
    lines = capsys.readouterr().out.split("\n")
    for name in CATALOGUE:
        assert sum(line.startswith(f"| {name} |") for line in lines) == 1


# -- with the data -----------------------------------------------------------------------------


def with_data(*names):
    """Parametrize a test by those sets that FEWLABELS_DATA has; skip it without any."""
    present = [name for name in names if stored.is_stored(DATA, name)]
    reason = "set FEWLABELS_DATA to the folder with the data sets"
    missing = [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return pytest.mark.parametrize("name", present or missing)


@with_data(*CATALOGUE)
def test_stored_sets_have_their_checksums(name):
    entry = CATALOGUE[name]
    assert stored.differences(stored.load_arrays(DATA, name), entry.arrays) == []


def write_svmlight(paths, X, y):
    dump_svmlight_file(X.astype(float), y, str(paths[0]), zero_based=False)


def write_mat(paths, X, y):
    savemat(paths[0], {"X": X.astype(float), "labels": y[:, None].astype(np.uint8)})


def write_table(separator, label=-1, number="%.9g"):
    """Return a function that writes rows as text, and labels as a column or into a second file."""

    def write_part(paths, X, y):
        if len(paths) == 1:
            X = np.insert(X.astype(float), label % (X.shape[1] + 1), y, axis=1)
        lines = io.StringIO()
        np.savetxt(lines, X, number, separator)
        write(paths[0], lines.getvalue())
        for path in paths[1:]:
            np.savetxt(path, y, "%d")

    return write_part


def write_arff(words, label=-1, names=None):
    """Return a function that writes rows as ARFF, with words for labels and names for numbers."""

    def write_part(paths, X, y):
        kind = "real" if names is None else "{" + ",".join({*names.values()} - {"?"}) + "}"
        place = label % (X.shape[1] + 1)
        attributes = [f"@attribute a{j} {kind}" for j in range(X.shape[1])]
        labels = words.values() if isinstance(words, dict) else words
        attributes.insert(place, "@attribute y {" + ",".join(labels) + "}")
        lines = ["@relation r", *attributes, "@data"]
        for row, of_row in zip(X.tolist(), y.tolist(), strict=True):
            cells = [repr(v) if names is None else names[v] for v in row]
            cells.insert(place, words[of_row])
            lines.append(",".join(cells))
        write(paths[0], "\n".join(lines))

    return write_part


def write_idx(paths, X, y):
    idx(paths[0], X.reshape(len(X), 28, 28))
    idx(paths[1], y)


WRITERS = {
    "a9a": write_svmlight,
    "w8a": write_svmlight,
    "mushrooms": write_svmlight,
    "shuttle": write_table(" "),
    "poker_hand_train": write_table(","),
    "liver_disorders": write_table(","),
    "madelon": write_table(" ", number="%d"),
    "usps": write_table(" ", label=0, number="%.4f"),
    "diabetes": write_arff(["tested_negative", "tested_positive"]),
    "heart_statlog": write_arff(["absent", "present"]),
    "ionosphere": write_arff(["b", "g"]),
    "spectf": write_arff(["0", "1"], label=0),
    "house": write_arff(["democrat", "republican"], names={0: "n", 1: "y"}),
    "house_votes": write_arff(["democrat", "republican"], names={0: "n", 1: "y", 0.5: "?"}),
    "usmo_ionosphere": write_mat,
    "usmo_isolet": write_mat,
    "australian": write_table(" "),
    "phishing": write_arff({-1: "-1", 1: "1"}, names={-1: "-1", 0: "0", 1: "1"}),
    "mnist": write_idx,
}


def convert_again(tmp_path, name, parts):
    """Write parts in the public format; assert that converting them gives the stored arrays."""
    entry = CATALOGUE[name]
    paths = [tmp_path / Path(file).name for file in entry.files]
    size = len(paths) // len(entry.parts)
    for k, (writer, X, y) in enumerate(parts):
        writer(paths[k * size : (k + 1) * size], X, y)
    assert stored.differences(entry.convert(paths), entry.arrays) == []


@with_data(*WRITERS)
def test_sets_written_in_the_public_format_are_converted_back(tmp_path, name):
    entry, arrays = CATALOGUE[name], stored.load_arrays(DATA, name)
    paths = [tmp_path / file for file in entry.files]
    size = len(paths) // len(entry.parts)
    rows = entry.options.get("raw", "X")
    for k, end in enumerate(entry.parts):
        part = arrays[f"{rows}{end}"], arrays[f"y{end}"]
        WRITERS[name](paths[k * size : (k + 1) * size], *part)
    assert stored.differences(entry.convert(paths), entry.arrays) == []


@with_data("chapelle_g50c", "ssl_usps", "ssl_text")
def test_splits_are_converted_back(tmp_path, name):
    entry, arrays = CATALOGUE[name], stored.load_arrays(DATA, name)
    files = {entry.files[0]: {"X": arrays["X"].astype(float), "y": arrays["y"][:, None]}}
    for end, file in zip(entry.options["splits"], entry.files[1:] or entry.files, strict=True):
        content = files.setdefault(file, {})
        for matrix, key in (("idxLabs", "labeled"), ("idxUnls", "unlabeled")):
            content[matrix] = arrays[f"idx_{key}{end}"].astype(np.uint16) + 1
    for file, content in files.items():
        savemat(tmp_path / file, content)
    converted = entry.convert([tmp_path / file for file in entry.files])
    assert stored.differences(converted, entry.arrays) == []
