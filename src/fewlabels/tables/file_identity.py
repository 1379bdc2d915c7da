"""Whether a file that is read in several steps is still the file of the first one."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple, TypeAlias, TypeVar

from .._util.messages import UserError

T = TypeVar("T")
StrPath: TypeAlias = str | os.PathLike[str]
# Files that are held open at a time for one table.
_MOST_OPEN = 8


class Identity(NamedTuple):
    """Marks that identify a file: another file of the same name has others."""

    device: int
    inode: int
    size: int
    modified: int

    @property
    def device_and_inode(self) -> tuple[int, int]:
        """Device and number, which stay the same while somebody writes into the file."""
        return self.device, self.inode


def identity_of(file: StrPath | int) -> Identity:
    """Return the identity of a path, or of an open file by its number."""
    found = os.stat(file)
    return Identity(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def identity_if_any(path: StrPath) -> Identity | None:
    """Return the identity of a path, or None if there is no file."""
    try:
        return identity_of(path)
    except OSError:
        return None


def changed_error(path: object) -> UserError:
    """Return the error for a file that isn't the one of the first step."""
    return UserError(
        f"{path} was changed or replaced while it was read; run the command again when nothing "
        "writes to it."
    )


class FirstLook:
    """Record of a file when it was first read, for all later steps.

    A file that ``grows`` may get longer. Its number is held open, so that the system can't give
    it to another file. What is read once for all steps is kept by name. A pickle takes nothing
    along: another computer has other numbers.
    """

    def __init__(self) -> None:
        self.grows = False
        self._identities: dict[str, Identity | None] = {}
        self._kept: dict[str, Any] = {}
        # Bare numbers: a file object would warn if it is collected before this one.
        self._open: list[int] = []

    def get_or_make(self, name: str, make: Callable[[], T]) -> T:
        """Return a value by name, which ``make()`` computes the first time."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def check(self, path: StrPath, files: Iterable[StrPath] | None = None) -> None:
        """Refuse ``path`` if it, or a file of those it consists of, is another than before."""
        for file in [path] if files is None else files:
            name, now = os.fspath(file), identity_if_any(file)
            if name not in self._identities:
                self._keep_open(name)
                self._identities[name] = now
                continue
            before = self._identities[name]
            if before == now:
                continue
            if self.grows and before and now and before.device_and_inode == now.device_and_inode:
                if now.size >= before.size:
                    continue
            raise changed_error(path)

    def _keep_open(self, name: str) -> None:
        """Hold a file open on POSIX. Windows doesn't replace open files anyway."""
        if os.name == "posix" and len(self._open) < _MOST_OPEN:
            with contextlib.suppress(OSError):
                self._open.append(os.open(name, os.O_RDONLY))

    def __del__(self) -> None:
        for number in self._open:
            os.close(number)

    def __reduce__(self) -> tuple[Any, ...]:
        return FirstLook, ()


@contextlib.contextmanager
def unchanged(path: StrPath, files: Iterable[StrPath] | None = None) -> Iterator[None]:
    """Refuse a path, or files that it consists of, if they change within the block."""
    look, files = FirstLook(), None if files is None else list(files)
    look.check(path, files)
    with _check_after(lambda: look.check(path, files)):
        yield


@contextlib.contextmanager
def refuse_writes(path: object, file: IO[bytes]) -> Iterator[None]:
    """Refuse an open file if somebody writes into it within the block.

    Another file that takes its name does no harm.
    """
    before = identity_of(file.fileno())

    def check() -> None:
        if identity_of(file.fileno()) != before:
            raise changed_error(path)

    with _check_after(check):
        yield


@contextlib.contextmanager
def _check_after(check: Callable[[], None]) -> Iterator[None]:
    """Check a file after a block, also where it fails: then the change may be the cause."""
    try:
        yield
    except Exception as error:
        try:
            check()
        except UserError as change:
            raise change from error
        raise
    check()


def read_whole(path: StrPath) -> tuple[bytes, Identity]:
    """Return the bytes and identity of a file; refuse one that changes meanwhile."""
    with open(path, "rb") as file:
        before = identity_of(file.fileno())
        content = file.read()
        if identity_of(file.fileno()) != before or len(content) != before.size:
            raise changed_error(path)
    return content, before
