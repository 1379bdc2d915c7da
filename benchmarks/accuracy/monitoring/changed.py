"""Streams that change: who sees it, and how soon, at thresholds of equal false alarms.

First every detector runs on unchanged streams. The threshold for a rate of 1 or 5 % is the one
that this share of them reaches. Then it runs on changed streams, and what is kept is the first
row that reaches each threshold, of the whole stream and from the change on.
"""

import time
from functools import lru_cache

import numpy as np
from shared.common import group
from study import Case

from .detectors import DETECTORS, detector_of
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


made = lru_cache(settings)


def measure(folder, name, setting, quick):
    """Records of unchanged streams, and then of streams that change, of a detector."""
    detector, place = detector_of(name), list(made(folder)).index(setting)
    rows = made(folder)[setting]
    records = []
    for k in range(4 if quick else detector.tuning):
        path = detector.path(Stream(rows, seed_of(0, place, k)), k)
        early = {key: float(path[:BEFORE].max() >= h) for key, h in detector.defaults}
        records.append({"change": None, "run": k, "highest": float(path.max()), "early": early})
    levels = thresholds(np.array([one["highest"] for one in records]), detector.defaults)
    for number, (title, (own, change)) in enumerate(CHANGES.items(), 1):
        for k in range(2 if quick else detector.streams) if own == setting else ():
            stream = Stream(rows, seed_of(number, k), change)
            since = time.process_time()
            path = detector.path(stream, k)
            seconds, first = time.process_time() - since, {}
            for key, level in levels.items():
                reached = np.flatnonzero(path >= level)
                later = reached[reached >= BEFORE]
                first[key] = [int(found[0]) if len(found) else None for found in (reached, later)]
            records.append({"change": title, "run": k, "first": first, "seconds": seconds})
    return records


def cases(options):
    names = ["Gaussian", "two classes"]
    names += ["satellite", "shuttle"] * (options.data is not None)
    for name in options.detectors if "changed" in options.parts else ():
        for setting in names[:1] if options.quick else names:
            if setting in getattr(DETECTORS[name], "only", names):
                yield Case({"part": "changed", "detector": name, "setting": setting}, measure,
                           (options.data, name, setting, options.quick))  # fmt: skip


def tables(results):
    """Arguments of the entries."""
    found = results.where(part="changed")
    streams = {key: some for key, some in group(found, "detector", "change").items() if key[1]}
    names = list(group(found, "detector"))
    for rate in RATES if found else ():
        key, table = f"equal {rate:.0%}", []
        for title in CHANGES:
            one = [summary(streams.get((name, title), ()), key) for name in names]
            if any(one):
                table.append([title, *map(_seen, one)])
        yield f"monitoring-changed-{100 * rate:.0f}", names, table, {
            "label": "change",
            "unit": f"changed streams seen, and median delay in rows, where {rate:.0%} of "
            "unchanged streams of 2000 rows alarm",
        }  # fmt: skip
    if found:
        head = ["alarm in 1000 unchanged rows", "changes seen", "median delay"]
        yield "monitoring-own", head, list(_own_rows(found, streams, names)), {
            "label": "at its own threshold", "unit": "see columns",
            "formats": [".1%", ".0%", ".0f"],
            "note": "changes seen: mean over all changes; delay: median over changes that most "
            "streams show",
        }  # fmt: skip


def _own_rows(found, streams, names):
    for name in names:
        tuned = [r for r in found if r["detector"] == name and r["change"] is None]
        for key in tuned[0]["early"]:
            ones = [summary(streams.get((name, title), ()), key) for title in CHANGES]
            ones = [one for one in ones if one]
            seen = float(np.mean([one["detected"] for one in ones])) if ones else None
            delays = [one["delay"] for one in ones if one["detected"] > 0.5]
            yield [f"{name}, {key}", float(np.mean([r["early"][key] for r in tuned])), seen,
                   float(np.median(delays)) if delays else None]  # fmt: skip


def _seen(one):
    if one is None:
        return None
    delay = "" if one["delay"] is None else f", {one['delay']:.0f}"
    return f"{one['detected']:.0%}{delay}"


def summary(rows, key):
    """Share of early first alarms, share detected, and the median delay."""
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
