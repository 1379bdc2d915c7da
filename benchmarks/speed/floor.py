"""Fits beside their floor: the time that the kernel columns of the support vectors take alone.

    python benchmarks floor [--only NAME ...] [--seconds 3]

A fit that knew its support vectors would still evaluate n x n_SV kernel values, once. What that
takes is the floor: the support vectors' sum of kernel values over all training rows. The table has
the medians of both, in turn in one process, and the kernel values that the fit evaluated.
"""

import argparse
import statistics
import time
import warnings
from functools import partial

from speed.before_after import WORK


def model_and_rows(name):
    """The fitted model that a piece of work fits again and again, and its rows."""
    make, *args = WORK[name]
    once, _ = make(*args)
    cells = dict(
        zip(once.__code__.co_freevars, (c.cell_contents for c in once.__closure__), strict=True)
    )
    return once, cells["model"], cells["X"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    names = [name for name in WORK if name.startswith(("small", "one-class-", "svdd"))]
    names.remove("one-class-one-row-5k")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| fit | rows | support vectors | ms | floor, ms | ratio | values over the floor's |")
    print("|---" * 7 + "|")
    for name in asked.only:
        once, model, X = model_and_rows(name)
        once()
        fits, floors, until = [], [], time.perf_counter() + asked.seconds
        while not fits or time.perf_counter() < until:
            for times, call in ((fits, once), (floors, partial(model.decision_function, X))):
                started = time.perf_counter()
                call()
                times.append(time.perf_counter() - started)
        n, n_sv = len(X), len(model.support_)
        fit, floor = statistics.median(fits), statistics.median(floors)
        values = model.history_[-1]["kernel_values"] / (n * n_sv)
        print(
            f"| {name} | {n:,} | {n_sv} | {1e3 * fit:.2f} | {1e3 * floor:.2f} | "
            f"{fit / floor:.1f} | {values:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
