"""scikit-learn's checks of arrays that users pass, with errors of one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from .._typing import AnyArray

# The beginning or a part of scikit-learn's messages that are several sentences long or print the
# whole array, and one sentence instead.
_SENTENCES = {
    "contains NaN.\n": (
        "Input {name} contains NaN; drop rows with missing values or fill these in, for example "
        "with scikit-learn's SimpleImputer."
    ),
    "Complex data not supported": (
        "Complex data not supported: {name} holds complex numbers; pass real ones, such as "
        "absolute values."
    ),
    "Feature names are only supported": (
        "{name} has column names of several types ({types}); make all of them texts, for example "
        "with {name}.columns = {name}.columns.astype(str)."
    ),
    "Expected 2D array": (
        "Expected 2D array, got {name} of shape {shape}: Reshape your data with "
        "{name}.reshape(1, -1) for one row, or {name}.reshape(-1, 1) for one column."
    ),
    "inhomogeneous shape": (
        "{name} has rows of different lengths; pass as many numbers for each row."
    ),
}


def check_numbers(values: Any, *, input_name: str, **options: Any) -> AnyArray:
    """Return scikit-learn's ``check_array`` of values that users call ``input_name``."""
    with single_sentences(values, input_name):
        return check_array(values, input_name=input_name, **options)


@contextmanager
def single_sentences(values: Any, name: str) -> Iterator[None]:
    """Check ``values``, which users call ``name``, and shorten scikit-learn's errors."""
    if type(values).__module__.partition(".")[0] == "sparse":
        raise TypeError(
            f"{name} is a {type(values).__name__} of the library sparse; pass an array of SciPy, "
            f"for example from {name}.to_scipy_sparse()."
        )
    try:
        yield
    except (TypeError, ValueError) as error:
        text = str(error)
        sentence = next((one for part, one in _SENTENCES.items() if part in text), None)
        if sentence is None:
            raise
        columns = getattr(values, "columns", ())
        types = ", ".join(sorted({type(column).__name__ for column in columns}))
        shape = () if "inhomogeneous" in text else np.shape(values)
        raise type(error)(sentence.format(name=name, types=types, shape=shape)) from None
