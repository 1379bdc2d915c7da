"""Streams that change: who sees it, and how soon, at thresholds of equal false alarms.

First every detector runs on unchanged streams. The threshold for a rate of 1 or 5 % is the one
that this share of them reaches. Then it runs on changed streams, and what is kept is the first
row that reaches each threshold, of the whole stream and from the change on.
"""

import time

import numpy as np

from .detectors import all_detectors
from .streams import BEFORE, CHANGES, Stream, settings

RATES = (0.01, 0.05)


def seed_of(*parts):
    """Numbers that differ between unchanged streams (0) and changes (1 and more)."""
    return [7, *parts]


def thresholds(maxima, defaults):
    """Thresholds by name: the tool's own, and those that a share of the maxima reaches."""
    found, high = dict(defaults), np.sort(maxima)[::-1]
    for rate in RATES:
        k = int(rate * len(high))
        above = np.unique(high[np.cumsum(np.ones(len(high))) <= k])
        # With ties, the next value that no more than k of them reach.
        fits = [v for v in above if np.sum(high >= v) <= k]
        found[f"equal {rate:.0%}"] = float(fits[0]) if fits else np.nextafter(high[0], np.inf)
    return found


def run(tuning, changed, folder, names, quick):
    """Fill both files of lines."""
    made = settings(folder)
    detectors, missing = all_detectors(names)
    if missing:
        print("not installed:", *missing, flush=True)
    for detector in detectors:
        n_tuning = 4 if quick else detector.tuning
        for place, (name, setting) in enumerate(made.items()):
            for k in range(n_tuning if name in _settings_of(detector, made) else 0):
                if tuning.has(detector=detector.name, setting=name, run=k):
                    continue
                path = detector.path(Stream(setting, seed_of(0, place, k)), k)
                early = {key: float(path[:BEFORE].max() >= h) for key, h in detector.defaults}
                tuning.add(
                    detector=detector.name, setting=name, run=k, highest=path.max(), early=early
                )
        print("tuned", detector.name, flush=True)
    for detector in detectors:
        _changed(tuning, changed, made, detector, quick)


def _settings_of(detector, made):
    """Names of the settings that a detector runs on."""
    return [name for name in made if name in getattr(detector, "only", made)]


def _changed(tuning, changed, made, detector, quick):
    for place, (title, (name, change)) in enumerate(CHANGES.items(), 1):
        if name not in _settings_of(detector, made):
            continue
        maxima = [row["highest"] for row in tuning.where(detector=detector.name, setting=name)]
        levels = thresholds(np.array(maxima), detector.defaults)
        for k in range(2 if quick else detector.streams):
            if changed.has(detector=detector.name, change=title, run=k):
                continue
            stream = Stream(made[name], seed_of(place, k), change)
            since = time.process_time()
            path = detector.path(stream, k)
            seconds = time.process_time() - since
            first = {}
            for key, level in levels.items():
                reached = np.flatnonzero(path >= level)
                later = reached[reached >= BEFORE]
                first[key] = [int(rows[0]) if len(rows) else None for rows in (reached, later)]
            changed.add(detector=detector.name, change=title, run=k, first=first, seconds=seconds)
    print("changed", detector.name, flush=True)


def summary(changed, detector, title, key):
    """Share of early first alarms, share detected, and the median delay."""
    rows = changed.where(detector=detector, change=title)
    pairs = [row["first"][key] for row in rows if key in row["first"]]
    if not pairs:
        return None
    early = np.mean([first is not None and first < BEFORE for first, _ in pairs])
    # At equal rates only a first alarm counts; where a tool repeats alarms also a later one.
    repeats = key == "default" or key.endswith(" rows")
    seen = [later if repeats else first for first, later in pairs]
    delays = [row - BEFORE for row in seen if row is not None and row >= BEFORE]
    return {
        "streams": len(pairs), "early": float(early), "detected": len(delays) / len(pairs),
        "delay": float(np.median(delays)) if delays else None,
    }  # fmt: skip
