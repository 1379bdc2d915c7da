"""One fit that takes scikit-learn seconds, side by side."""

import time

import numpy as np

from ...tasks.machines import machine_class
from ..terminal.show import say


def moved_images():
    """All digits and their copies moved by one pixel in the eight directions."""
    from sklearn.datasets import load_digits

    images = load_digits().images
    moves = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    return np.concatenate(
        [np.roll(images, move, axis=(1, 2)).reshape(len(images), -1) for move in moves]
    )


def side_by_side(rows, nu=0.5):
    """Fit and score with both libraries, printing as they finish; figures by library."""
    from sklearn.svm import OneClassSVM as Peer

    ours = machine_class("one-class")
    found = {}
    say(f"{'':<22}{'fit, s':>10}{'score, s':>10}{'objective':>14}{'duality gap':>13}")
    for title, machine in (("fewlabels", ours(nu=nu)), ("scikit-learn", Peer(nu=nu))):
        started = time.perf_counter()
        machine.fit(rows)
        fitted = time.perf_counter()
        inner = machine.score_samples(rows)
        scored = time.perf_counter()
        objective = float(0.5 * np.sum(machine.dual_coef_ * inner[machine.support_]))
        gap = getattr(machine, "duality_gap_", None)
        found[title] = {
            "fit_seconds": fitted - started,
            "score_seconds": scored - fitted,
            "objective": objective,
            "duality_gap": gap,
        }
        shown = "-" if gap is None else f"{gap:.3g}"
        say(
            f"{title:<22}{fitted - started:>10.2f}{scored - fitted:>10.2f}{objective:>14.7g}"
            f"{shown:>13}"
        )
    return found
