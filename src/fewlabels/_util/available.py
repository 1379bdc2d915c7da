"""Methods that some settings of an estimator lack."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def available_if(
    check: Callable[[Any], object],
) -> Callable[[Callable[Concatenate[Any, _P], _R]], _Available[_P, _R]]:
    """Let a method exist where ``check(estimator)`` is true.

    Like scikit-learn's, but what ``check`` raises is the message of the AttributeError itself. As
    a chained exception the advice in it would be the part that people overlook.
    """
    return lambda method: _Available(method, check)


class _Available(Generic[_P, _R]):
    def __init__(
        self, method: Callable[Concatenate[Any, _P], _R], check: Callable[[Any], object]
    ) -> None:
        self._method, self._check = method, check
        update_wrapper(self, method)  # type: ignore[arg-type] # no callable, but has its name and doc

    def __get__(self, estimator: object, owner: type | None = None) -> Callable[..., _R]:
        if estimator is None:
            return self._method
        try:
            available = self._check(estimator)
        except ValueError as error:
            raise AttributeError(str(error)) from error
        if not available:
            name = self._method.__name__
            raise AttributeError(f"This {type(estimator).__name__} has no attribute {name!r}.")
        return MethodType(self._method, estimator)
