"""The exceptions that reach the user as a sentence."""


class UserError(Exception):
    """What was given cannot be used; the message says what is wrong and what to do."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a sentence on what it left behind."""


def quoted(name, most=100):
    """A name or cell in quotes, cut where it is long."""
    name = str(name)
    return f"'{name}'" if len(name) <= most else f"'{name[: most - 3]}...'"


def listing(names, limit=8):
    """Quote names, only the first few: a wide table must not flood the terminal."""
    names = list(names)
    shown = ", ".join(map(quoted, names[:limit]))
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def plural(count, noun):
    """``1 row``, ``2 rows``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"
