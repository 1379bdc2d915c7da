"""Make the benchmarks' data sets from public files, and check them.

    python benchmarks/data/convert.py --list                        # all sets
    python benchmarks/data/convert.py NAME                          # what to download for one
    python benchmarks/data/convert.py NAME FILE ... -o FOLDER       # make NAME.npz and check it
    python benchmarks/data/convert.py --check FOLDER                # check all sets of a folder

The command downloads nothing. Files may be compressed with gzip or bzip2.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from catalogue import VERIFIED, DataSet, read_catalogue
from stored import (
    checksum,
    differences,
    flattened,
    is_stored,
    load_arrays,
    save_arrays,
    write_checksums,
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 if something differs from the catalogue."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", help="a data set of the catalogue")
    parser.add_argument("files", nargs="*", type=Path, help="its public files, in this order")
    parser.add_argument("-o", "--out", type=Path, metavar="FOLDER", help="folder to write to")
    parser.add_argument("--list", action="store_true", help="print the catalogue as a table")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="check all sets in a folder")
    parser.add_argument(
        "--record", type=Path, metavar="FOLDER", help="write the checksums of a folder's sets"
    )
    args = parser.parse_args(arguments)
    catalogue = read_catalogue()
    if args.list:
        print(table(catalogue))
        return 0
    if args.check:
        return check(catalogue, args.check)
    if args.record:
        return record(catalogue, args.record)
    if args.name not in catalogue:
        parser.error(f"pass the name of a data set: {', '.join(catalogue)}.")
    data_set = catalogue[args.name]
    if not args.files:
        print(description(data_set))
        return 0
    if args.out is None:
        parser.error("pass the folder to write to: -o FOLDER.")
    try:
        arrays = data_set.convert(args.files)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"{args.name} can't be made from these files: {error}")
    for path in save_arrays(args.out, args.name, arrays):
        print(f"wrote {path}")
    return report(data_set, args.out)


def check(catalogue: dict[str, DataSet], folder: Path) -> int:
    """Compare all sets of a folder with the catalogue; return 1 if one differs."""
    present = [data_set for name, data_set in catalogue.items() if is_stored(folder, name)]
    missing = [name for name in catalogue if not is_stored(folder, name)]
    n_different = sum(report(data_set, folder) for data_set in present)
    print(f"{len(present) - n_different} sets as in the catalogue, {n_different} different.")
    if missing:
        print(f"Missing: {', '.join(missing)}.")
    return int(n_different > 0)


def report(data_set: DataSet, folder: Path) -> int:
    """Print whether a stored set has the checksums of the catalogue; return 1 if it hasn't."""
    sentences = differences(load_arrays(folder, data_set.name), data_set.arrays)
    outcome = " ".join(["differs from the catalogue:", *sentences]) if sentences else "matches."
    print(f"{data_set.name}: {outcome}")
    return int(bool(sentences))


def record(catalogue: dict[str, DataSet], folder: Path) -> int:
    """Write the checksums of a folder's sets, and keep the checksums of all others."""
    checksums = {name: data_set.arrays for name, data_set in catalogue.items()}
    for name in catalogue:
        if is_stored(folder, name):
            arrays = flattened(load_arrays(folder, name))
            checksums[name] = {key: checksum(array) for key, array in arrays.items()}
    write_checksums(checksums)
    return 0


def table(catalogue: dict[str, DataSet]) -> str:
    """Return the catalogue as a Markdown table."""
    rows = [["set", "source", "files", "format", "licence", "verified with"]]
    rows.append(["---"] * len(rows[0]))
    for name, data_set in catalogue.items():
        source = f"{data_set.source}, {data_set.address}"
        files = ", ".join(data_set.files)
        licence, verified = data_set.licence, data_set.verified
        rows.append([name, source, files, data_set.format, licence, verified])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", *(f"{key}: {text}." for key, text in VERIFIED.items())])


def description(data_set: DataSet) -> str:
    """Return an entry of the catalogue in full."""
    shapes = [f"{k}: {c.dtype} {c.shape}" for k, c in data_set.arrays.items()]
    lines = {
        "set": data_set.name,
        "source": data_set.source,
        "address": f"{data_set.address} (not tried)",
        "version": data_set.version,
        "files": ", ".join(data_set.files),
        "citation": data_set.citation,
        "licence": data_set.licence,
        "format": f"{data_set.format} {data_set.options or ''}",
        "arrays": "; ".join(shapes),
        "verified": VERIFIED[data_set.verified],
        "note": data_set.note,
    }
    return "\n".join(f"{key + ':':10}{text}" for key, text in lines.items() if text)


if __name__ == "__main__":
    sys.exit(main())
