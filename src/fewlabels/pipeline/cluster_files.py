"""The files of a table that a cluster reads, and the cluster."""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from .._util.extras import require
from .._util.messages import UserError, listing, ref
from .._util.paths import is_folder, path_exists, resolve_path
from .._util.threads import resolve_n_jobs
from ..tables.folders import files_of_pattern, parquet_files
from ..tables.formats.registry import tables, usual_extensions
from ..tables.reading.read import cut_into_parts
from ..tables.sources import InMemory, Source

if TYPE_CHECKING:
    from distributed import Client

# Seconds until a scheduler has to answer.
_SCHEDULER_TIMEOUT = 10
# Parts of files for each worker, about.
_PARTS_PER_WORKER = 2


def list_files(data: Source | InMemory) -> list[Source]:
    """Return the files that a name means: a pattern, a folder of Parquet files, or one file."""
    if isinstance(data, InMemory):
        raise UserError(f"A cluster reads files, not {data}; omit scheduler and workers.")
    for option in ("features", "labels"):
        if getattr(data.reading, option) is not None:
            raise UserError(
                f"{ref(option)} belongs to a single file, which workers can't share; omit "
                f"{ref('scheduler')} and {ref('workers')}."
            )
    path = data.path
    if glob.has_magic(str(path)) and not path_exists(path):
        found = files_of_pattern(path)
        if not found:
            raise UserError(f"No file matches {path}; check the pattern and the folder.")
    else:
        found = parquet_files(path) if is_folder(path) else [path]
        if any("=" in part for file in found for part in file.relative_to(path).parts[:-1]):
            raise UserError(
                f"Folder names in {path} define columns (key=value), which workers can't read; "
                f"omit {ref('scheduler')} and {ref('workers')}."
            )
    files = [replace(data, path=resolve_path(file)) for file in sorted(found)] or [data]
    others = [str(file) for file in files if not file.format.memory_factor]
    if others:
        known = [each for each in tables() if each.memory_factor]
        raise UserError(
            f"{listing(others, 3)}: a cluster reads {usual_extensions(known)} files; omit "
            f"{ref('scheduler')} and {ref('workers')}."
        )
    return files


def split_files(files: list[Source], client: Client) -> list[Source]:
    """Split large files into parts, so that all workers have some."""
    found = []
    n_parts = _PARTS_PER_WORKER * len(client.nthreads())
    for _, some in groupby(files, attrgetter("format")):
        found += cut_into_parts(list(some), n_parts)
    return found


@contextlib.contextmanager
def connect_cluster(scheduler: str | None, workers: int | None) -> Iterator[Client]:
    """Connect to the cluster at an address, or start one on this computer meanwhile."""
    if scheduler is not None and workers is not None:
        raise UserError(
            f"{ref('scheduler')} uses an existing cluster and {ref('workers')} starts a local "
            "one; pass one of them."
        )
    require("computing on workers", "dask", "distributed")
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        if scheduler is None:
            assert workers is not None  # one of the two was given
            threads = max(1, resolve_n_jobs(None) // workers)
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=threads,
                dashboard_address=":0",
                silence_logs=50,
            )
            scheduler = stack.enter_context(cluster)
        try:
            client = stack.enter_context(Client(scheduler, timeout=_SCHEDULER_TIMEOUT))
        except (OSError, ValueError, TimeoutError) as error:
            raise UserError(
                f"No Dask scheduler answers at {scheduler}; give its address, such as "
                "tcp://10.0.0.1:8786."
            ) from error
        if not client.nthreads():
            raise UserError(f"The cluster at {scheduler} has no workers; start some.")
        yield client


@contextlib.contextmanager
def translate_worker_errors() -> Iterator[None]:
    """Raise what workers report as errors for users."""
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise UserError(
            "Workers kept dying while reading a file; give them more memory, or split the files."
        ) from error
    except RuntimeError as error:
        raise UserError(str(error)) from error
