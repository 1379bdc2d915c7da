"""What every reader of labels begins with."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.utils.validation import column_or_1d


def with_missing(y):
    """``y`` as a one-dimensional array, and which of its values are missing.

    Nullable columns keep their missing values apart.
    """
    extension = isinstance(getattr(y, "dtype", None), pd.api.extensions.ExtensionDtype)
    y = column_or_1d(np.asarray(y, dtype=object) if extension else np.asarray(y), warn=True)
    return y, np.asarray(pd.isna(y), dtype=bool)
