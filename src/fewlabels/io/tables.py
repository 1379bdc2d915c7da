"""Reading CSV, TSV and Parquet, whole or in pieces."""

from __future__ import annotations

import contextlib
from collections import Counter

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from .errors import UserError, listing
from .paths import SEPARATORS

# A row has to fit into a block; 16 MiB holds a row of a million columns.
BLOCK_BYTES = 1 << 24


def column_names(path, form):
    """Names of the columns; duplicates are refused.

    Parameters
    ----------
    path : path-like
        A file that :func:`fewlabels.io.paths.input_format` has accepted.
    form : {"csv", "tsv", "parquet"}
        Its format.
    """
    with _readable(path):
        if form == "parquet":
            names = pq.read_schema(path).names
        else:
            with _open_text(path, form) as reader:
                names = reader.schema.names
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(
            f"Columns of {path} share a name ({listing(twice)}); rename them so that each name "
            "occurs once."
        )
    if len(names) == 1 and form != "parquet":
        for separator, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
            if separator in names[0]:
                raise UserError(
                    f"{path} seems to be separated by {word}; write .csv files with commas and "
                    ".tsv files with tabs."
                )
    return names


def read_table(path, form):
    """Read the whole table; cells of delimited text stay text."""
    names = column_names(path, form)
    with _readable(path):
        if form == "parquet":
            table = pq.ParquetFile(path).read()
        else:
            table = pacsv.read_csv(path, **_options(form, names))
    if not table.num_rows:
        raise UserError(f"{path} has column names but no rows; add rows of data.")
    return table


def iterate_tables(path, form, rows):
    """Pieces of the table of at most ``rows`` rows, read one after the other.

    Yields
    ------
    pyarrow.Table
    """
    names = column_names(path, form)
    empty = True
    with _readable(path), contextlib.ExitStack() as stack:
        if form == "parquet":
            batches = stack.enter_context(pq.ParquetFile(path)).iter_batches(batch_size=rows)
        else:
            batches = stack.enter_context(_open_text(path, form, names))
        for batch in batches:
            table = pa.Table.from_batches([batch])
            for start in range(0, table.num_rows, rows):
                empty = False
                yield table.slice(start, rows)
    if empty:
        raise UserError(f"{path} has column names but no rows; add rows of data.")


def _open_text(path, form, names=()):
    return pacsv.open_csv(path, **_options(form, names))


def _options(form, names):
    return {
        "read_options": pacsv.ReadOptions(block_size=BLOCK_BYTES),
        "parse_options": pacsv.ParseOptions(delimiter=SEPARATORS[form], newlines_in_values=True),
        "convert_options": pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    }


@contextlib.contextmanager
def _readable(path):
    """Turn what the readers say into one sentence."""
    try:
        yield
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        message = str(error).removeprefix("CSV parse error: ").strip().rstrip(".")
        if message.startswith("Empty CSV file"):
            message = "it has no rows; it needs a row of column names and rows of data"
        elif "UTF8" in message or "utf-8" in message:
            message = "its text is not UTF-8; save it with that encoding"
        elif "magic bytes" in message or "Parquet" in message:
            message = "it is no Parquet file, or it was cut short"
        elif "Expected" in message:
            message = message[:160].replace("\n", " ")
            message += "; every row needs as many cells as there are column names"
        raise UserError(f"{path} cannot be read: {message}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error
