"""Load the C++ core: the library for this processor's instruction level.

``FEWLABELS_CORE_LEVEL`` forces a level, for tests: ``x86-64-v2``, ``x86-64-v3`` or ``x86-64-v4``;
on other processors there is only ``baseline``. ``FEWLABELS_CORE_FOLDER`` loads libraries from
another folder, such as those with run-time checks (``make sanitize``).
"""

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).parent
#: The version of the C interface that this package was written for.
VERSION = 4

_FOLDER = Path(os.environ.get("FEWLABELS_CORE_FOLDER", HERE / "lib"))
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_X86 = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
_PROTOTYPE = re.compile(r"^FL_API\s+(\w+)\s+(fl_\w+)\s*\(([^;]*)\)\s*;", re.MULTILINE)
_CONSTANT = re.compile(
    r"^\s*(?:#define\s+)?FL_(\w+)\s*=?\s*([0-9][0-9.e+-]*|FL_\w+(?: \+ \w+)+),?\s*$", re.MULTILINE
)
CType: TypeAlias = (
    type[ctypes.c_double] | type[ctypes.c_int32] | type[ctypes.c_int64] | type[ctypes.c_void_p]
)
_TYPES: dict[str, CType | None] = {
    "void": None,
    "double": ctypes.c_double,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
}


@cache
def _read_header() -> str:
    """Return the header without comments."""
    text = (HERE / "fewlabels.h").read_text("utf-8")
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def _read_constants() -> dict[str, Any]:
    """Return the numbers that the header defines, without their prefix ``FL_``."""
    found: dict[str, Any] = {}
    for name, value in _CONSTANT.findall(_read_header()):
        if value.startswith("FL_"):  # a sum of numbers and of constants above
            terms = (term.removeprefix("FL_") for term in value.split(" + "))
            found[name] = sum(found[term] if term in found else int(term) for term in terms)
        else:
            found[name] = float(value) if "." in value or "e" in value else int(value)
    return found


def read_prototypes() -> Iterator[tuple[str, CType | None, list[CType | None]]]:
    """Yield name, result and argument types of every function in the header."""
    for result, name, arguments in _PROTOTYPE.findall(_read_header()):
        words = [word.strip() for word in arguments.split(",")]
        types = [] if words == ["void"] else [_argument_type(word) for word in words]
        yield name, _TYPES[result], types


def _argument_type(declared: str) -> CType | None:
    return ctypes.c_void_p if "*" in declared else _TYPES[declared.split()[0]]


def get_library_path(level: str) -> Path:
    return _FOLDER / f"fewlabels-{level}{_SUFFIX}"


def open_library(level: str) -> ctypes.CDLL:
    """Return the library for an instruction level, with its functions declared."""
    try:
        library = ctypes.CDLL(str(get_library_path(level)))
    except OSError as error:
        raise ImportError(
            f"The compiled core of fewlabels could not be loaded for {level}: {error}. "
            "Reinstall fewlabels; from a checkout, run `pip install -e .`."
        ) from error
    for name, result, arguments in read_prototypes():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.fl_version() != VERSION:
        raise ImportError(
            f"The compiled core of fewlabels has interface version {library.fl_version()}, "
            f"but this package needs {VERSION}. Reinstall fewlabels."
        )
    return library


def _load() -> tuple[ctypes.CDLL, str]:
    forced = os.environ.get("FEWLABELS_CORE_LEVEL")
    if forced:
        built = sorted(
            p.name[len("fewlabels-") : -len(_SUFFIX)] for p in _FOLDER.glob(f"*{_SUFFIX}")
        )
        if built and forced not in built:
            raise ImportError(
                f"FEWLABELS_CORE_LEVEL={forced} is not an instruction level of this installation; "
                f"choose one of {', '.join(built)}."
            )
        return open_library(forced), forced
    lowest = _X86[0] if get_library_path(_X86[0]).exists() else "baseline"
    library = open_library(lowest)
    best = library.fl_level()
    if best > 2:
        lowest = _X86[best - 2]
        library = open_library(lowest)
    return library, lowest


#: What the header defines, such as ``{"DONE": 0, ...}``.
CONSTANTS = _read_constants()
#: The loaded library and its instruction level.
lib, LEVEL = _load()
