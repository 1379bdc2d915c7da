"""Formats are declared once, and everything that names them follows from that."""

import dataclasses
import inspect
import re

import numpy as np
import pandas as pd
import pytest

from fewlabels._util.messages import UserError
from fewlabels.cli.options import FILES
from fewlabels.tables.formats.registry import (
    FORMATS,
    formats_of,
    matrices,
    table_writer,
    tables,
    writable,
)
from fewlabels.tables.paths import output_format
from fewlabels.tables.reading.options import ReadingOptions
from fewlabels.tables.reading.read import read_table
from fewlabels.tables.sources import Source

FILES_OF = [*tables(), *matrices()]
EXTENSIONS = [(each, extension) for each in FILES_OF for extension in each.all_extensions]
# Functions that every module of a table or of a matrix has, and those that some have.
HAS = {True: {"names", "pieces"}, False: {"read", "memory", "pieces"}}
MAY_HAVE = {True: {"remark", "parts", "size", "writer"}, False: set()}


def every(formats):
    return {extension for each in formats for extension in each.all_extensions}


def named(text):
    """The extensions that a text names."""
    return set(re.findall(r"\.[a-z0-9]+(?:\.gz)?", text))


@pytest.mark.parametrize(("form", "extension"), EXTENSIONS, ids=lambda x: getattr(x, "name", x))
def test_each_extension_is_accepted(tmp_path, form, extension):
    start, mark = form.signature or (0, b"1")
    for path in (tmp_path / f"rows{extension}", tmp_path / f"rows.of.all{extension.upper()}"):
        assert form in formats_of(path)
        path.write_bytes(b" " * start + mark)
        assert Source(path).format is form
        path.write_bytes(b"")
        with pytest.raises(UserError, match=r"is empty; it needs (.* )?rows"):
            Source(path).format  # noqa: B018


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_a_module_has_the_functions_of_its_format(form):
    module, table = form.load(), form.is_table
    functions = {name for name, value in vars(module).items() if inspect.isfunction(value)}
    assert functions >= HAS[table]
    assert ("writer" in functions) == form.writable
    assert ("parts" in functions) == ("size" in functions) == hasattr(module, "PART")
    asked = {"names": 1, "pieces": 4 if table else 3, "remark": 1, "parts": 2, "size": 1,
             "writer": 4, "read": 2, "memory": 1}  # fmt: skip
    for name in functions & (HAS[table] | MAY_HAVE[table]):
        assert len(inspect.signature(getattr(module, name)).parameters) == asked[name]


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_options_exist(form):
    assert form.options <= {f.name for f in dataclasses.fields(ReadingOptions)} | {"table"}
    assert ("sep" in form.options) == (form.separator is not None)
    assert form.is_table or not form.options


def test_messages_list_what_is_declared(tmp_path):
    (tmp_path / "rows.odt").write_text("x")
    with pytest.raises(UserError) as unknown:
        Source(tmp_path / "rows.odt").format  # noqa: B018
    assert named(str(unknown.value).split("data can be")[1]) == every(FILES_OF)
    with pytest.raises(UserError) as refused:
        output_format("scores.odt")
    assert named(str(refused.value).split("use")[1]) == every(writable())
    assert named(FILES) == {each.extensions[0] for each in FILES_OF}


@pytest.mark.parametrize("extension", sorted(every(writable())))
def test_what_is_written_can_be_read(tmp_path, extension):
    import pyarrow as pa

    path = tmp_path / f"rows{extension}"
    frame = pd.DataFrame({"a": np.arange(5) / 4, "b": ["x", 'y "z"', "ü,;", "", "\t"]})
    with table_writer(path, output_format(path), extension.endswith(".gz")) as append:
        for part in (frame[:2], frame[2:]):
            append(pa.table(part))
    read = read_table(path).to_pandas()
    assert read["a"].astype(float).tolist() == frame["a"].tolist()
    assert read["b"].fillna("").tolist() == frame["b"].tolist()
