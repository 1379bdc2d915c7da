"""Streams that change: who sees it, and how soon, at the thresholds that each tool comes with."""

from functools import lru_cache

import numpy as np
from shared.common import group
from study import Case

from .detectors import detector_of
from .streams import BEFORE, CHANGES, Stream, settings

made = lru_cache(settings)


def measure(folder, name, setting, quick):
    """Records of unchanged streams, and then of streams that change, of a detector."""
    detector, place = detector_of(name), list(made(folder)).index(setting)
    rows, records = made(folder)[setting], []
    for k in range(4 if quick else detector.unchanged):
        path = detector.path(Stream(rows, [7, 0, place, k]), k)
        early = {key: float(path[:BEFORE].max() >= h) for key, h in detector.defaults}
        records.append({"change": None, "run": k, "early": early})
    for number, (title, (own, change)) in enumerate(CHANGES.items(), 1):
        for k in range(2 if quick else detector.changed) if own == setting else ():
            path, first = detector.path(Stream(rows, [7, number, k], change), k), {}
            for key, level in detector.defaults:
                reached = np.flatnonzero(path >= level)
                later = reached[reached >= BEFORE]
                first[key] = [int(found[0]) if len(found) else None for found in (reached, later)]
            records.append({"change": title, "run": k, "first": first})
    return records


def cases(options):
    names = ["Gaussian", "two classes"]
    names += ["satellite", "shuttle"] * (options.data is not None)
    for name in options.detectors if "changed" in options.parts else ():
        for setting in names[:1] if options.quick else names:
            yield Case({"part": "changed", "detector": name, "setting": setting}, measure,
                       (options.data, name, setting, options.quick))  # fmt: skip


def tables(results):
    """Arguments of the entries."""
    found = results.where(part="changed")
    streams = {key: some for key, some in group(found, "detector", "change").items() if key[1]}
    names = list(group(found, "detector"))
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


def summary(rows, key):
    """Share of changes that are seen, and the median delay."""
    pairs = [row["first"][key] for row in rows]
    if not pairs:
        return None
    # A later alarm counts where a tool repeats alarms.
    repeats = key == "default" or key.endswith(" rows")
    seen = [later if repeats else first for first, later in pairs]
    delays = [row - BEFORE for row in seen if row is not None and row >= BEFORE]
    return {"detected": len(delays) / len(pairs),
            "delay": float(np.median(delays)) if delays else None}  # fmt: skip
