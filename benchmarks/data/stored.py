"""The arrays of a data set in a folder, and their checksums."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from formats import Arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse, load_npz, save_npz

CHECKSUMS = Path(__file__).with_name("checksums.json")
# A sparse matrix X has a checksum for each of its arrays, with these ends of the key.
SPARSE_PARTS = ("data", "indices", "indptr", "shape")


class Checksum(NamedTuple):
    """Type, shape and SHA-256 of an array's bytes (little-endian, row by row)."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str


def checksum(array: NDArray[Any]) -> Checksum:
    """Return type, shape and hash of an array."""
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return Checksum(array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).hexdigest())


def read_checksums() -> dict[str, dict[str, Checksum]]:
    """Return the recorded checksums: for each set, one per array."""
    recorded = json.loads(CHECKSUMS.read_text(encoding="utf-8"))
    return {
        name: {key: Checksum(d, tuple(shape), sha) for key, (d, shape, sha) in arrays.items()}
        for name, arrays in recorded.items()
    }


def write_checksums(checksums: dict[str, dict[str, Checksum]]) -> None:
    """Record checksums, an array per line."""
    sets = []
    for name, arrays in sorted(checksums.items()):
        lines = [f"  {json.dumps(key)}: {json.dumps(arrays[key])}" for key in sorted(arrays)]
        sets.append(f' "{name}": {{\n' + ",\n".join(lines) + "\n }")
    CHECKSUMS.write_text("{\n" + ",\n".join(sets) + "\n}\n", encoding="utf-8")


# -- files -----------------------------------------------------------------------------------


def is_stored(folder: Path, name: str) -> bool:
    """Whether a folder has a data set."""
    names = f"{name}.npz", f"{name}_X.npz"
    return any((folder / file).is_file() for file in names)


def load_arrays(folder: Path, name: str) -> Arrays:
    """Return the arrays of a data set: ``NAME.npz``, or ``NAME_X.npz`` and ``NAME_y.npz``."""
    is_dense = (folder / f"{name}.npz").is_file()
    with np.load(folder / (f"{name}.npz" if is_dense else f"{name}_y.npz")) as stored:
        arrays: Arrays = {key: stored[key] for key in stored.files}
    if not is_dense:
        arrays["X"] = csr_array(load_npz(folder / f"{name}_X.npz"))
    return arrays


def save_arrays(folder: Path, name: str, arrays: Arrays) -> list[Path]:
    """Store the arrays of a data set, a sparse X in a file of its own; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    if not issparse(arrays["X"]):
        np.savez_compressed(folder / f"{name}.npz", **arrays)
        return [folder / f"{name}.npz"]
    others = {key: array for key, array in arrays.items() if key != "X"}
    save_npz(folder / f"{name}_X.npz", csr_matrix(arrays["X"]))
    np.savez_compressed(folder / f"{name}_y.npz", **others)
    return [folder / f"{name}_X.npz", folder / f"{name}_y.npz"]


# -- comparison --------------------------------------------------------------------------------


def flattened(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return arrays with a sparse X as its parts."""
    if not issparse(arrays["X"]):
        return arrays
    flat = {key: array for key, array in arrays.items() if key != "X"}
    return flat | {f"X.{part}": np.asarray(getattr(arrays["X"], part)) for part in SPARSE_PARTS}


def with_types(arrays: Arrays, expected: dict[str, Checksum]) -> Arrays:
    """Return arrays with the expected types; integers may not lose anything."""
    typed: Arrays = {}
    for key, array in flattened(arrays).items():
        dtype = np.dtype(expected[key].dtype) if key in expected else array.dtype
        typed[key] = array.astype(dtype)
        if dtype.kind in "iub" and not np.array_equal(typed[key], array):
            raise ValueError(f"{key} has values that {dtype} can't hold.")
    if issparse(arrays["X"]):
        data, indices, indptr, shape = (typed.pop(f"X.{part}") for part in SPARSE_PARTS)
        typed["X"] = csr_array((data, indices, indptr), shape=tuple(shape))
    return typed


def differences(arrays: Arrays, expected: dict[str, Checksum]) -> list[str]:
    """Return a sentence for each array that isn't as recorded."""
    actual = {key: checksum(array) for key, array in flattened(arrays).items()}
    sentences = []
    for key in sorted(actual.keys() | expected.keys()):
        if key not in actual:
            sentences.append(f"{key} is missing.")
        elif key not in expected:
            sentences.append(f"{key} isn't in the catalogue.")
        elif actual[key] != expected[key]:
            have, want = actual[key], expected[key]
            form = (
                f"is {have.dtype} {have.shape}, expected {want.dtype} {want.shape}"
                if have[:2] != want[:2]
                else "has other values"
            )
            sentences.append(f"{key} {form}.")
    return sentences
