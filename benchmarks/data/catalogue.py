"""The data sets of the benchmarks: sources, licences, converters, checksums."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formats import READERS, Arrays
from stored import Checksum, read_checksums, with_types

SETS = Path(__file__).with_name("sets.toml")
# How conversions were verified, and what it means.
VERIFIED = {
    "copy": "a copy of the public file gives the arrays that we use",
    "rewritten": "their values, written in the public format, give the arrays that we use",
}


@dataclass(frozen=True)
class DataSet:
    """An entry of the catalogue.

    Attributes
    ----------
    source, address, version, citation, licence : str
        Where the public files come from, and under which terms.
    files : list of str
        Names of the public files, in the order in which the converter takes them.
    format : str
        Name of a reader in ``formats``.
    options : dict
        Options of the reader.
    parts : list of str
        End of the keys of each part, such as "_test". The files are divided equally among them.
    verified : str
        How the conversion was verified, a key of ``VERIFIED``.
    note : str
        More about the files.
    arrays : dict
        Checksum of each array.
    """

    name: str
    source: str
    address: str
    version: str
    citation: str
    licence: str
    files: list[str]
    format: str
    verified: str
    arrays: dict[str, Checksum]
    options: dict[str, Any] = field(default_factory=dict)
    parts: list[str] = field(default_factory=lambda: [""])
    note: str = ""

    def convert(self, paths: Sequence[Path]) -> Arrays:
        """Return the arrays that the public files stand for, with the types of the catalogue."""
        if len(paths) != len(self.files):
            raise ValueError(f"pass these files, in this order: {', '.join(self.files)}.")
        size = len(paths) // len(self.parts)
        arrays: Arrays = {}
        for number, end in enumerate(self.parts):
            part = READERS[self.format](paths[number * size : (number + 1) * size], **self.options)
            arrays |= {key + end: array for key, array in part.items()}
        return with_types(arrays, self.arrays)


def read_catalogue() -> dict[str, DataSet]:
    """Return all entries by name. A set has its family's fields, unless it has its own."""
    content = tomllib.loads(SETS.read_text(encoding="utf-8"))
    checksums = read_checksums()
    catalogue = {}
    for name, entry in content["sets"].items():
        family = content["families"].get(entry.pop("family", None), {})
        options = family.get("options", {}) | entry.get("options", {})
        fields = family | entry | {"options": options, "arrays": checksums.get(name, {})}
        catalogue[name] = DataSet(name=name, **fields)
    return catalogue
