"""Methods that some settings of an estimator lack."""

from functools import update_wrapper
from types import MethodType


def available_if(check):
    """Let a method exist where ``check(estimator)`` is true.

    Like scikit-learn's, but what ``check`` raises is the message of the AttributeError itself. As
    a chained exception the advice in it would be the part that people overlook.
    """
    return lambda method: _Available(method, check)


class _Available:
    def __init__(self, method, check):
        self._method, self._check = method, check
        update_wrapper(self, method)

    def __get__(self, estimator, owner=None):
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
