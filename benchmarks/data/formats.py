"""Readers of public file formats. Each makes the arrays of one part of a data set.

A part has rows ``X``, labels ``y`` and sometimes further arrays. Their numbers are as exact as
the file's; the types that are stored come from the catalogue.
"""

from __future__ import annotations

import bz2
import gzip
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from scipy.io import arff, loadmat
from scipy.sparse import csr_array, issparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

# Dense arrays and sparse matrices by their keys.
Arrays = dict[str, Any]
Paths = Sequence[Path]
_MISSING = "cells are missing, and the catalogue doesn't expect it."


@dataclass(frozen=True)
class TableOptions:
    """How to read a table's columns and cells. Columns are counted from 0.

    Attributes
    ----------
    separator : str
        Regular expression between the cells of a text file.
    header : bool
        Whether the first line of a text file names the columns.
    label : int
        Column of the labels. The columns of a second file follow those of the first.
    labels : dict
        Integer of each label. Labels that are numbers already need none.
    skip : list of int
        Unused columns.
    nominal : list of int
        Columns for one-hot coding. Their columns follow the numbers, with levels in sorted order.
    values : dict
        Number of each word in a cell.
    missing : float, "drop" or None
        Number in place of a missing cell ("?" or nothing). "drop" removes such rows, and None
        refuses them.
    raw : str
        Key of an array with all columns as numbers.
    codes : str
        Key of an array with all columns, where nominal columns are ranks of levels.
    unknown : str
        Key of an array with True for rows that have a cell "unknown".
    groups : str
        Key of an array with the ranks of the values in column 0.
    """

    separator: str = ","
    header: bool = False
    label: int = -1
    labels: dict[str, int] = field(default_factory=dict)
    skip: list[int] = field(default_factory=list)
    nominal: list[int] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    missing: float | str | None = None
    raw: str = ""
    codes: str = ""
    unknown: str = ""
    groups: str = ""


# -- tables ----------------------------------------------------------------------------------


def read_text(paths: Paths, **options: Any) -> Arrays:
    """Read a table from a text file, or from two with the columns of each."""
    table = TableOptions(**options)
    frames = [
        pd.read_csv(
            path,
            sep=table.separator,
            header=0 if table.header else None,
            dtype=str,
            na_values=["", "?"],
            keep_default_na=False,
            skipinitialspace=True,
        )
        for path in paths
    ]
    return table_arrays(pd.concat(frames, axis=1), table)


def read_arff(paths: Paths, **options: Any) -> Arrays:
    """Read a table in the format of Weka and OpenML."""
    (path,) = paths
    records, _ = arff.loadarff(io.StringIO(_decompressed(path).decode("utf-8", "replace")))
    frame = pd.DataFrame(records)
    for name in frame.select_dtypes("object"):
        words = frame[name].str.decode("utf-8")
        frame[name] = words.mask(words == "?")
    return table_arrays(frame, TableOptions(**options))


def table_arrays(frame: pd.DataFrame, table: TableOptions) -> Arrays:
    """Return rows, labels and further arrays of a table, as its options describe them."""
    frame = frame.set_axis(range(frame.shape[1]), axis=1)
    if table.missing == "drop":
        frame = frame.dropna()
    label = frame.columns[table.label]
    cells = frame.drop(columns=[label, *table.skip])
    ranks = {column: _ranks(cells[column]) for column in table.nominal}
    numbers = _numbers(cells.drop(columns=table.nominal), table.values, table.missing)
    one_hot = [rank[:, None] == np.arange(rank.max() + 1) for rank in ranks.values()]
    arrays = {"X": np.hstack([numbers, *one_hot])}
    arrays["y"] = _numbers(frame[[label]], table.labels)[:, 0]
    if table.raw:
        arrays[table.raw] = _numbers(cells, table.values, table.missing)
    if table.codes:
        arrays[table.codes] = _with_ranks(cells, ranks)
    if table.unknown:
        arrays[table.unknown] = (cells == "unknown").any(axis=1).to_numpy()
    if table.groups:
        arrays[table.groups] = _ranks(frame[0])
    return arrays


def _numbers(
    cells: pd.DataFrame, words: dict[str, Any], missing: float | str | None = None
) -> NDArray[np.float64]:
    """Return cells as numbers, with the numbers that are given for words and missing cells."""
    if words:
        cells = cells.map(lambda cell: words.get(cell, cell))
    numbers = np.array(cells.to_numpy(dtype=object), dtype=np.float64)
    if isinstance(missing, int | float):
        numbers[np.isnan(numbers)] = missing
    if np.isnan(numbers).any():
        raise ValueError(_MISSING)
    return numbers


def _ranks(column: pd.Series) -> NDArray[np.intp]:
    """Return the rank of each cell's level: numbers by size, words by letter."""
    if column.isna().any():
        raise ValueError(_MISSING)
    levels = column.to_numpy(dtype=object)
    try:
        levels = levels.astype(np.float64)
    except ValueError:
        levels = levels.astype(str)
    return np.unique(levels, return_inverse=True)[1]


def _with_ranks(cells: pd.DataFrame, ranks: dict[int, NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return cells as numbers, with ranks in place of nominal columns."""
    columns = [ranks[column] if column in ranks else cells[column] for column in cells]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def read_svmlight(paths: Paths, columns: int | None = None) -> Arrays:
    """Read the format of LIBSVM and SVM-light, whose columns are counted from 1."""
    (path,) = paths
    X, y = load_svmlight_file(str(path), n_features=columns, zero_based=False)
    return {"X": X.toarray(), "y": y}


# -- arrays ----------------------------------------------------------------------------------


def read_mat(
    paths: Paths,
    rows: str = "X",
    labels: str = "y",
    splits: Sequence[str] = (),
    unlabelled: bool = True,
) -> Arrays:
    """Read matrices of MATLAB 5.

    Parameters
    ----------
    rows, labels : str
        Names of the matrices.
    splits : sequence of str
        Ends of the keys ``idx_labeled`` and ``idx_unlabeled``, one per file of splits. A single
        file holds its splits itself.
    unlabelled : bool
        Whether to keep the indices of unlabelled rows.
    """
    contents = [loadmat(str(path)) for path in paths]
    X = contents[0][rows]
    arrays = {"X": csr_array(X) if issparse(X) else X, "y": contents[0][labels].ravel()}
    for end, content in zip(splits, contents[1:] or contents[: len(splits)], strict=True):
        arrays[f"idx_labeled{end}"] = content["idxLabs"].astype(np.int64) - 1
        if unlabelled:
            arrays[f"idx_unlabeled{end}"] = content["idxUnls"].astype(np.int64) - 1
    return arrays


def read_npz(paths: Paths) -> Arrays:
    """Read the arrays ``X`` and ``y`` of ADBench."""
    (path,) = paths
    with np.load(path, allow_pickle=False) as stored:
        return {"X": stored["X"], "y": stored["y"]}


def read_idx(paths: Paths) -> Arrays:
    """Read images and labels in MNIST's format."""
    images, labels = map(_idx_array, paths)
    return {"X": images.reshape(len(images), -1), "y": labels}


def _idx_array(path: Path) -> NDArray[np.uint8]:
    """Return the array of an IDX file of bytes."""
    content = _decompressed(path)
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path} isn't an IDX file of bytes.")
    dimensions = content[3]
    shape = np.frombuffer(content, ">u4", dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


# -- folders -----------------------------------------------------------------------------------


def read_images(paths: Paths, labels: Sequence[int], leave_out: Sequence[str] = ()) -> Arrays:
    """Read grey images from a folder per label, in the order of their names.

    Parameters
    ----------
    labels : sequence of int
        Label of each folder.
    leave_out : sequence of str
        Names without suffix of images that aren't used.
    """
    rows, y = [], []
    for folder, label in zip(paths, labels, strict=True):
        for path in sorted(folder.iterdir()):
            if path.suffix.lower() in (".pgm", ".png") and path.stem not in leave_out:
                with Image.open(path) as image:
                    rows.append(np.asarray(image.convert("L")).ravel())
                y.append(label)
    return {"X": np.array(rows), "y": np.array(y)}


def read_documents(paths: Paths, min_documents: int) -> Arrays:
    """Count the words of messages in a folder per newsgroup, or in an archive of such folders.

    A message begins after its first blank line. Words are two or more letters of the English
    alphabet. scikit-learn's English stop words and words of fewer than ``min_documents`` messages
    aren't counted.
    """
    (path,) = paths
    with _folder(path) as folder:
        files = [file for file in folder.rglob("*") if file.name.isdigit() and file.is_file()]
        files.sort(key=lambda file: (file.parent.name, file.name))
        texts = [file.read_bytes().decode("latin-1").split("\n\n", 1)[-1] for file in files]
    groups, y = np.unique([file.parent.name for file in files], return_inverse=True)
    counter = CountVectorizer(
        token_pattern=r"\b[a-z][a-z]+\b", stop_words="english", min_df=min_documents
    )
    X = csr_array(counter.fit_transform(texts))
    X.sort_indices()
    return {"X": X, "y": y, "groups": groups, "vocabulary": counter.get_feature_names_out()}


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """Give a folder, or the contents of an archive in a folder that is removed afterwards."""
    if path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(path, folder, filter="data")
        yield Path(folder)


def _decompressed(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if its name says that it is compressed."""
    content = path.read_bytes()
    decompress: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.decompress,
        ".bz2": bz2.decompress,
    }
    return decompress.get(path.suffix, bytes)(content)


READERS: dict[str, Callable[..., Arrays]] = {
    "arff": read_arff,
    "documents": read_documents,
    "idx": read_idx,
    "images": read_images,
    "mat": read_mat,
    "npz": read_npz,
    "svmlight": read_svmlight,
    "text": read_text,
}
