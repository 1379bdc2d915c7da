"""Model files.

A model file is a zip archive that skops writes: a fitted scikit-learn Pipeline without any pickle.
The pipeline is an encoder of columns, where there is one, and a model. A model is its parameters
and what its fit found: immutable values (the function with its kernel, calibration, curve), and
the stream of its rows if these are kept, so that rows can be added.

One more member, ``fewlabels.json``, describes the model:

- ``format`` and ``format_version``: "fewlabels-model" and 1;
- ``created`` and ``versions``: the time, and the versions of the libraries;
- ``method`` and ``parameters``: the method's name on the command line, and its parameters;
- ``schema``: the input columns, see ``Schema``;
- ``training``: data, counts, figures of the fit and notes. ``rows_held`` says whether the model
  keeps its rows;
- ``digest``: of names, sizes and checksums of the other members, so that parts of two models
  don't pass for one.

The description is read first. Reading it needs no scikit-learn, and a file of another format is
refused before anything else in it is interpreted. Keys that aren't known are passed over, so a
new one needs no new format.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import platform
import zipfile
import zlib
from collections.abc import Collection
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ..._util.extras import require
from ..._util.messages import UserError
from ...tasks import METHODS, candidate_facts, estimator_class, method_of
from ..atomic import replacing
from ..columns.schema import Schema
from ..file_identity import Identity, StrPath, changed_error, identity_of, read_whole
from ..limits import check_memory
from ..sources import existing_file
from .description import check_description
from .trust import check_storable, check_trust, package_version, trusted_types

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator
    from sklearn.pipeline import Pipeline

FORMAT, FORMAT_VERSION = "fewlabels-model", 1
MEMBER = "fewlabels.json"
# Bytes that any model file may fill; larger ones must not be packed more than so many times, as
# files made to fill memory are.
_MAX_UNCHECKED_BYTES = 1e9
_MAX_COMPRESSION = 100
# Rows that a model must score before it is accepted.
_TRIAL_ROWS = 7
_LIBRARIES = ("fewlabels", "scikit-learn", "skops")


def describe_model(
    method: str, parameters: dict[str, Any], schema: Schema, training: dict[str, Any]
) -> dict[str, Any]:
    """Describe a model about to be saved, in plain values only."""
    # skops comes with an extra, which saving asks for.
    there = [name for name in (*_LIBRARIES, "numpy") if name != "skops" or find_spec(name)]
    versions = {name: version(name) for name in there}
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {**versions, "python": platform.python_version()},
        "method": method,
        "parameters": parameters,
        "schema": schema.to_dict(),
        "training": training,
    }


def save_model(
    path: StrPath,
    pipeline: BaseEstimator,
    metadata: dict[str, Any],
    in_place_of: Identity | None = None,
) -> int:
    """Write a fitted encoder and model; the file appears whole or not at all.

    The rows of the model are held if ``metadata`` from :func:`describe_model` says so. If the file
    has been read to be changed, ``in_place_of`` is the ``Identity`` that it had, and no other file
    is replaced. Returns the bytes written.
    """
    content = model_bytes(pipeline, metadata)
    with replacing(path, in_place_of) as temporary:
        temporary.write_bytes(content)
    return len(content)


def model_bytes(pipeline: BaseEstimator, metadata: dict[str, Any]) -> bytes:
    """Return the content of a model file."""
    require("saving a model file", "skops")
    import skops.io
    from sklearn.pipeline import Pipeline

    if isinstance(pipeline, Pipeline):
        *before, (name, model) = pipeline.steps
        keep_rows = bool(metadata["training"].get("rows_held"))
        pipeline = Pipeline([*before, (name, _prepare_to_save(model, keep_rows))])
    if candidate_facts(metadata) is not None:
        check_storable(pipeline)
    buffer = io.BytesIO(skops.io.dumps(pipeline, compression=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        metadata = {**metadata, "digest": members_digest(archive)}
        archive.writestr(MEMBER, json.dumps(metadata, allow_nan=False))
    return buffer.getvalue()


def members_digest(archive: zipfile.ZipFile) -> str:
    """Return a digest of a model's members, so that parts of two models don't pass for one."""
    found = sorted((i.filename, i.file_size, i.CRC) for i in archive.infolist())
    found = [member for member in found if member[0] != MEMBER]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def _prepare_to_save(model: BaseEstimator, keep_rows: bool) -> BaseEstimator:
    model = copy.copy(model)  # which no other thread updates
    if not getattr(model, "is_caught_up_", True):
        raise ValueError("a model with an unfinished update can't be saved; call resume() first.")
    if not keep_rows and getattr(model, "holds_rows_", False):
        model.release_rows()
    if hasattr(model, "tuning_"):  # files hold what their metadata says of a search
        del model.tuning_
    return model


class ModelFile(NamedTuple):
    """A model file, read once: its bytes, what it says of itself, and which file it was.

    ``trusted`` are foreign types that the user trusts.
    """

    path: StrPath
    content: bytes
    metadata: dict[str, Any]
    identity: Identity
    trusted: Collection[str] = ()

    @property
    def digest(self) -> str:
        """Digest of its bytes, 16 letters."""
        return hashlib.sha256(self.content).hexdigest()[:16]

    def load(self) -> LoadedModel:
        """Load the model of the file."""
        return _load(self.path, self.content, self.metadata, self.trusted)


def read_model(path: StrPath, trusted: Collection[str] = ()) -> ModelFile:
    """Read a model file, so that replacing it later changes nothing."""
    existing_file(path, "model")
    try:
        with open(path, "rb") as file:
            # Refuse other files before their content fills memory.
            _read_metadata(path, file, whole=False)
        content, identity = read_whole(path)
    except OSError as error:
        raise damaged_model_error(path) from error
    metadata = _read_metadata(path, io.BytesIO(content))
    return ModelFile(path, content, metadata, identity, trusted)


def read_metadata(path: StrPath) -> dict[str, Any]:
    """Read what a model file says about itself, without loading the model."""
    return read_header(path)[0]


def read_header(path: StrPath) -> tuple[dict[str, Any], int]:
    """Return the description in a model file, and the size of the file."""
    existing_file(path, "model")
    try:
        with open(path, "rb") as file:
            before = identity_of(file.fileno())
            try:
                metadata = _read_metadata(path, file)
            finally:
                if identity_of(file.fileno()) != before:
                    raise changed_error(path)
    except OSError as error:
        raise damaged_model_error(path) from error
    return metadata, before.size


def _read_metadata(path: StrPath, file: IO[bytes], whole: bool = True) -> dict[str, Any]:
    """Return the description in an open model file; if ``whole``, check its parts too."""
    damaged = damaged_model_error(path)
    if not zipfile.is_zipfile(file):
        # Every zip archive starts with these letters; what identifies it stands at its end.
        file.seek(0)
        raise damaged if file.read(2) == b"PK" else _not_a_model(path)
    try:
        with zipfile.ZipFile(file) as archive:
            if MEMBER not in archive.namelist():
                raise _not_a_model(path)
            # Values of JSON are larger than their text.
            members = [(i.filename, i.file_size) for i in archive.infolist()]
            unpacked = sum(n * (20 if name.endswith(".json") else 1) for name, n in members)
            most = max(_MAX_UNCHECKED_BYTES, _MAX_COMPRESSION * file.seek(0, io.SEEK_END))
            check_memory(f"The model file {path}", unpacked, "unpacked", most)
            metadata = json.loads(archive.read(MEMBER))
            if metadata["format"] != FORMAT:
                raise _not_a_model(path)
            _check_version(path, metadata)
            if not whole:
                return metadata
            if archive.testzip() or metadata["digest"] != members_digest(archive):
                raise damaged
            check_description(metadata)
            if method_of(metadata) not in METHODS:
                raise _not_a_model(path)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise damaged from error
    return metadata


def _check_version(path: StrPath, metadata: dict[str, Any]) -> None:
    """Refuse a file of another format than the one that is read."""
    number = metadata["format_version"]
    if type(number) is int and number == FORMAT_VERSION:  # True equals 1
        return
    is_newer = type(number) is int and number > FORMAT_VERSION
    advice = "update fewlabels" if is_newer else "fit the model again"
    raise UserError(
        f"{path} was written by fewlabels {_writing_version(metadata)} in model format "
        f"{number!s:.20}, but this is fewlabels {version('fewlabels')}, which reads "
        f"format {FORMAT_VERSION} only; {advice}."
    )


class LoadedModel(NamedTuple):
    """The content of a model file: the fitted pipeline, its schema and its description."""

    pipeline: Pipeline
    schema: Schema
    metadata: dict[str, Any]


def load_model(path: StrPath, trusted: Collection[str] = ()) -> LoadedModel:
    """Load the model of a file; ``trusted`` are types of a candidate."""
    return read_model(path, trusted).load()


def load_model_bytes(content: bytes, name: str = "the model") -> LoadedModel:
    """Load the model of the bytes of a file."""
    return _load(name, content, _read_metadata(name, io.BytesIO(content)))


def _load(
    path: StrPath, data: bytes, metadata: dict[str, Any], trusted: Collection[str] = ()
) -> LoadedModel:
    require("loading a model file", "skops")
    import skops.io
    from sklearn.pipeline import Pipeline

    try:
        found = skops.io.get_untrusted_types(data=data)
        types = [*trusted_types(), *check_trust(path, metadata, found, trusted)]
        _check_arrays(data)
        pipeline = skops.io.loads(data, trusted=types)
        schema = Schema.from_dict(metadata["schema"])
        kind = estimator_class(method_of(metadata))
        if not isinstance(pipeline, Pipeline) or not isinstance(pipeline.steps[-1][1], kind):
            raise _not_a_model(path)
        # What another version left out or named otherwise shows here and not midway.
        _check_scoring(pipeline, schema)
    except UserError:
        raise
    except Exception as error:
        written = ", ".join(f"{name} {_writing_version(metadata, name)}" for name in _LIBRARIES)
        here = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
        if (candidate := candidate_facts(metadata)) is not None:
            written += f", {candidate['package']} {candidate['version']}"
            here += f", {candidate['package']} {package_version(candidate['package'])}"
        if written == here:
            raise damaged_model_error(path) from error
        raise UserError(
            f"{path} can't be loaded with these versions: it was written with {written}, and "
            f"this is {here}; fit the model again."
        ) from error
    return LoadedModel(pipeline, schema, metadata)


def _check_arrays(data: bytes) -> None:
    """Raise where an array of a model file holds complex numbers or times, as no model does."""
    from numpy.lib import format as npy  # slow to import

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if not name.endswith(".npy"):
                continue
            with archive.open(name) as member:
                read = {(1, 0): npy.read_array_header_1_0}
                _, _, dtype = read.get(npy.read_magic(member), npy.read_array_header_2_0)(member)
            if dtype.kind in "cmM":
                raise TypeError(f"{name} holds {dtype}")


def _check_scoring(pipeline: Pipeline, schema: Schema) -> None:
    """Raise where parts of a model do not fit together, by scoring rows and one of its own."""
    import numpy as np

    from ..encoding.fit import known_categories, text_encoders  # slow to import

    model = pipeline[-1]
    known_categories(pipeline[0], schema)
    text_encoders(pipeline[0], schema)
    rows = np.zeros((_TRIAL_ROWS, model.n_features_in_))
    if len(pipeline) > 1:
        rows = pipeline[:-1].transform(schema.blank_rows(_TRIAL_ROWS))
    if rows.shape != (_TRIAL_ROWS, model.n_features_in_):
        raise ValueError("columns")
    own = getattr(model, "support_vectors_", rows[:0])[:1]
    for X in (rows, own) if own.shape[0] else (rows,):
        scores = model.decision_function(X)
        if getattr(model, "has_curve_", False):
            model.curve_(scores)
        if getattr(model, "target_fpr", None) is not None:
            model.p_values(X)
        if X is own and np.isnan(scores).any():
            raise ValueError("scores")


def is_model(path: StrPath) -> bool:
    """Return whether a file is a model, of whatever format."""
    try:
        with zipfile.ZipFile(path) as archive:
            return MEMBER in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


def damaged_model_error(path: StrPath) -> UserError:
    """Return the error for a model file that is damaged."""
    return UserError(
        f"The model file {path} is damaged or truncated; fit the model again, or copy the file "
        "again."
    )


def _not_a_model(path: StrPath) -> UserError:
    return UserError(f"{path} is not a fewlabels model; pass a file that 'fewlabels fit' wrote.")


def _writing_version(metadata: dict[str, Any], name: str = "fewlabels") -> str:
    versions = metadata.get("versions")
    return versions.get(name, "?") if isinstance(versions, dict) else "?"
