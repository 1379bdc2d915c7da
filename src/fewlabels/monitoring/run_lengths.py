"""Thresholds of the charts for a mean run length, calibrated by simulation.

While nothing changes, p-values are independent and uniform, whatever the data and the model. So
one simulation serves all data: ``benchmarks/chart_thresholds.py`` made these tables, with each
threshold raised by one standard error (at most 4 %). Outside of the tables the proven bound
holds: a threshold of n gives a mean run length of at least n.
"""

from math import log

import numpy as np

# fmt: off
RUN_LENGTHS = (
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000,
    1000000,
)
# Natural logarithms of thresholds.
LOG_THRESHOLDS = {
    "cusum": (
        0.2517, 0.4235, 0.664, 0.8478, 1.0569, 1.3923, 1.7197, 2.1164, 2.7418, 3.3002, 3.9209,
        4.7797, 5.4486, 6.1464, 7.0486, 7.7366,
    ),
    "shiryaev-roberts": (
        2.1236, 2.8528, 3.8007, 4.5105, 5.2234, 6.1329, 6.7919, 7.4274, 8.2924, 8.9471, 9.6164,
        10.5256, 11.219, 11.9184, 12.853, 13.593,
    ),
}
# fmt: on


def log_threshold(chart: str, run_length: int) -> float:
    """Return the log threshold at which a chart alarms once in ``run_length`` rows."""
    if not RUN_LENGTHS[0] <= run_length <= RUN_LENGTHS[-1]:
        return log(run_length)
    return float(np.interp(log(run_length), np.log(RUN_LENGTHS), LOG_THRESHOLDS[chart]))
