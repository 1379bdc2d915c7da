"""Values that are computed when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class VersionedCache:
    """Values by name, each computed at most once for every version of what it follows from.

    Whoever owns it holds its own lock while a value is computed. Reading one that is known needs
    no lock.
    """

    def __init__(self, values: Mapping[str, tuple[int, Any]] | None = None) -> None:
        self._solution_now = dict(values or {})  # (version, value) by name

    def get(self, name: str, version: int, make: Callable[[], T]) -> T:
        """Return the value of that name at a version; ``make()`` computes it if need be."""
        found = self._solution_now.get(name)
        if found is None or found[0] != version:
            found = self._solution_now[name] = (version, make())
        return found[1]

    def store(self, name: str, version: int, value: object) -> None:
        """Store a value that is known already."""
        self._solution_now[name] = (version, value)

    def peek(self, name: str, version: int) -> Any:
        """Return the value of that name if it is known for that version, else None."""
        found = self._solution_now.get(name)
        return None if found is None or found[0] != version else found[1]

    def latest(self, name: str) -> Any:
        """Return the newest value of that name, of whatever version; None without any."""
        found = self._solution_now.get(name)
        return None if found is None else found[1]

    def copy(self) -> VersionedCache:
        """Return a copy, to which other values may be added."""
        return VersionedCache(self._solution_now)

    def with_value(self, name: str, value: object) -> VersionedCache:
        """Return a copy with another value of that name, at the version that it has."""
        found = dict(self._solution_now)
        return VersionedCache({**found, name: (found[name][0], value)})

    def __getstate__(self) -> dict[str, dict[str, tuple[int, Any]]]:
        return {"found": dict(self._solution_now)}

    def __setstate__(self, state: dict[str, dict[str, tuple[int, Any]]]) -> None:
        self._solution_now = dict(state["found"])
