"""Signatures and docstrings of functions that take the options of a schema."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    overload,
)

from ..._util.messages import as_arguments
from ..._util.option import Option, help_text, options_of_schema

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")
_WIDTH = 91
# The entry of a docstring whose indentation is gone: its first line and what is indented below.
_ENTRY = re.compile(r"^\*\*options\b.*(?:\n+[ \t].*)*", re.MULTILINE)


_Call: TypeAlias = Callable[..., _Result]


@overload
def takes(
    schema: Callable[_Options, object], n_data: Literal[1] = 1
) -> Callable[[_Call[_Result]], Callable[Concatenate[Any, _Options], _Result]]: ...
@overload
def takes(
    schema: Callable[_Options, object], n_data: Literal[2]
) -> Callable[[_Call[_Result]], Callable[Concatenate[Any, Any, _Options], _Result]]: ...
@overload
def takes(
    schema: Callable[_Options, object], n_data: Literal[3]
) -> Callable[[_Call[_Result]], Callable[Concatenate[Any, Any, Any, _Options], _Result]]: ...
def takes(schema: Callable[..., object], n_data: int = 1) -> Callable[[_Call[Any]], _Call[Any]]:
    """Decorate a function of data and ``**options`` with the options of a schema.

    For type checkers and editors, the options are the arguments of the schema, behind the
    ``n_data`` first arguments of the function. At run time they are in ``__signature__``, and the
    docstring's entry ``**options`` becomes an entry for each.
    """
    options_schema = cast("type[DataclassInstance]", schema)

    def decorate(function: _Call[Any]) -> _Call[Any]:
        first = [*inspect.signature(function).parameters.values()][:n_data]
        others = parameters(options_schema)
        by_place = [one.name for one in others if one.kind is one.POSITIONAL_OR_KEYWORD]
        most = n_data + len(by_place)

        @functools.wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            if len(given) > most:
                raise TypeError(f"{function.__name__}() takes at most {most} arguments by place.")
            named = dict(zip(by_place, given[n_data:], strict=False))
            return function(*given[:n_data], **named, **options)

        signature = inspect.Signature([*first, *others])
        call.__signature__ = signature  # type: ignore[attr-defined] # which inspect reads
        if function.__doc__:  # there is none under python -OO
            call.__doc__ = with_entries(function.__doc__, entries(options_schema))
        return call

    return decorate


def with_entries(doc: str, text: str) -> str:
    """Replace the entry ``**options`` of a docstring by ``text``, without indentation.

    Python 3.13 and later remove the indentation when they compile, earlier versions keep it.
    """
    doc = inspect.cleandoc(doc)
    if len(_ENTRY.findall(doc)) != 1:
        raise ValueError("The docstring needs exactly one entry **options among its parameters.")
    return _ENTRY.sub(lambda _: text, doc)


def parameters(schema: type[DataclassInstance]) -> list[inspect.Parameter]:
    """Return the options of a schema as parameters of a function."""
    fields, kind = {field.name: field for field in dataclasses.fields(schema)}, inspect.Parameter
    return [
        kind(
            name,
            kind.KEYWORD_ONLY if fields[name].kw_only else kind.POSITIONAL_OR_KEYWORD,
            default=fields[name].default,
            annotation=fields[name].type,
        )
        for name in options_of_schema(schema)
    ]


def entries(schema: type[DataclassInstance]) -> str:
    """Return the options of a schema as the entries of a docstring."""
    fields = {field.name: field for field in dataclasses.fields(schema)}
    found = []
    for name, option in options_of_schema(schema).items():
        default = fields[name].default
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        found.append(f"{name} : {accepted(option, fields[name].type)}, default={shown}")
        text = as_arguments(help_text(option))
        found += textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(found)


def accepted(option: Option, annotation: object) -> str:
    """Return what an option accepts, in words."""
    if option.accepts:
        return option.accepts
    if option.choices:
        return f"{{{', '.join(_quoted(one) for one in option.choices)}}}"
    kinds = [kind.__name__ for kind in get_args(annotation) or (annotation,)]
    kinds = [kind for kind in kinds if kind != "NoneType" and not (kind == "str" and option.words)]
    kinds += [_quoted(word) for word in option.words]
    return " or ".join(filter(None, [", ".join(kinds[:-1]), kinds[-1]]))


def _quoted(text: str) -> str:
    return f'"{text}"'
