"""What becomes of a case: a right answer, a warning with advice, a sentence, or a fault.

A sentence is an exception that somebody raised on purpose, here or in scikit-learn's checks of
what users pass; what numpy, scipy or Python itself say from inside is a fault, and so are
warnings of theirs.
"""

import linecache
import re
import traceback
import warnings
from collections import namedtuple
from pathlib import Path

import numpy as np

Verdict = namedtuple("Verdict", "kind text")
KINDS = ("right", "warned", "refused", "wrong")

_SENTENCES = (ValueError, TypeError, AttributeError, NotImplementedError, OverflowError)
_CHECKS = (
    "check_array",
    "column_or_1d",
    "check_consistent_length",
    "_num_samples",
    "type_of_target",
)
_FROM_INSIDE = (RuntimeWarning, DeprecationWarning, FutureWarning, ResourceWarning, SyntaxWarning)


class Wrong(AssertionError):
    """What a case found to be wrong."""


class UsersError(Exception):
    """What a function of the user raises; it passes through."""


def require(condition, what):
    """Stop a case at what is wrong."""
    if not condition:
        raise Wrong(what)


def judge(case):
    """The verdict on a function without arguments that raises, or returns None or a verdict."""
    heeded = dict.fromkeys(("divide", "over", "invalid"), "warn")  # whatever ran before
    with warnings.catch_warnings(record=True) as heard, np.errstate(**heeded):
        warnings.simplefilter("always")
        state = np.geterr()
        try:
            found = case() or Verdict("right", "")
        except Wrong as error:
            return Verdict("wrong", str(error))
        except Exception as error:
            found = refusal(error)
        if found.kind != "wrong" and np.geterr() != state:
            return Verdict("wrong", f"numpy's warnings were left as {np.geterr()}")
    if found.kind == "wrong":
        return found
    for warning in heard:
        text = str(warning.message)
        if issubclass(warning.category, _FROM_INSIDE) or not issubclass(
            warning.category, UserWarning
        ):
            place = _shortened(warning.filename)
            return Verdict("wrong", f"{warning.category.__name__}: {text} ({place})")
    if found.kind == "right" and heard:
        return Verdict("warned", str(heard[0].message))
    return found


def refusal(error):
    """Whether an exception is a sentence for the user, or came from inside."""
    frames = traceback.extract_tb(error.__traceback__)
    text = " ".join(str(error).split())
    if isinstance(error, UsersError):
        return Verdict("refused", text)
    if isinstance(error, _SENTENCES) and _is_meant(frames) and len(text) >= 15:
        return Verdict("refused", f"{type(error).__name__}: {text}")
    ours = [f for f in frames if "fewlabels" in f.filename] or frames
    place = f"{_shortened(ours[-1].filename)}:{ours[-1].name}" if ours else "?"
    return Verdict("wrong", f"{type(error).__name__} in {place}: {text[:300]}")


def _is_meant(frames):
    if not frames:
        return False
    last = frames[-1]
    line = linecache.getline(last.filename, last.lineno).strip()
    ours = "fewlabels" in last.filename or "sklearn" in last.filename
    if ours and line.startswith("raise"):
        return True
    # numpy says what scikit-learn's checks cannot convert: every estimator answers like that.
    return any(f.name in _CHECKS and "sklearn" in f.filename for f in frames)


def _shortened(name):
    parts = Path(name).parts
    for root in ("fewlabels", "sklearn", "numpy", "scipy", "pandas"):
        if root in parts[:-1]:
            return "/".join(parts[len(parts) - 1 - parts[::-1].index(root) :])
    return "/".join(parts[-2:])


def signature(text):
    """One line for faults that are one: without names of files and numbers."""
    text = re.sub(r"[^ '\"]*(/tmp|\.tmp)[^ '\"]*", "FILE", text)
    return re.sub(r"[-+]?\d[\d.,e+-]*", "#", text)[:140]
