"""The training rows of a model, for whoever looks at them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that a model holds. Not to be written to."""

    X: np.ndarray  # or CSR array, as they were given
    weight: np.ndarray  # 0 for rows that have no part in the fit
    # +1, -1, 0 for none. Of one class: -1 for confirmed anomalies, None where there are none.
    label: np.ndarray | None = None
