"""Values that are computed when somebody asks for them."""

import threading


class Late:
    """Values by name, each computed at most once for every version of what it follows from.

    One thread computes and the others wait, so that reading a value is safe from many threads
    and never sets an attribute of the object that owns this one.
    """

    def __init__(self, values=None):
        self._found = dict(values or {})  # (version, value) by name
        self._lock = threading.RLock()

    def get(self, name, version, make):
        """The value of that name at a version; ``make()`` computes it if need be."""
        found = self._found.get(name)
        if found is None or found[0] != version:
            with self._lock:
                found = self._found.get(name)
                if found is None or found[0] != version:
                    found = self._found[name] = (version, make())
        return found[1]

    def put(self, name, version, value):
        """Store a value that is known already."""
        with self._lock:
            self._found[name] = (version, value)

    def known(self, name, version):
        """The value of that name if it is there for that version, else None."""
        found = self._found.get(name)
        return None if found is None or found[0] != version else found[1]

    def last(self, name):
        """The newest value of that name, of whatever version; None without any."""
        found = self._found.get(name)
        return None if found is None else found[1]

    def with_value(self, name, value):
        """A copy with another value of that name, at the version that it has."""
        found = dict(self._found)
        return Late({**found, name: (found[name][0], value)})

    def locked(self):
        """Context in which no other thread computes."""
        return self._lock

    def __getstate__(self):
        return {"found": dict(self._found)}

    def __setstate__(self, state):
        self.__init__(state["found"])
