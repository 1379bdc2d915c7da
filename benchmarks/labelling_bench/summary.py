"""Tables of what ``labelling_annotators.py`` ran."""

import numpy as np
from scipy.stats import t

OURS = "mixed"
N_ANSWERS = 100


def tables(rows):
    """Text of all tables."""
    sets = list(dict.fromkeys(r["set"] for r in rows))
    asks = list(dict.fromkeys(r["ask"] for r in rows))
    curves = {(r["set"], r["ask"], r["draw"]): np.array(r["accuracy"][:N_ANSWERS]) for r in rows}
    parts = [areas(curves, sets, asks), saved(curves, sets, asks)]
    parts += [coverage(rows, ask) for ask in asks if any("looks" in r for r in rows
                                                         if r["ask"] == ask)]  # fmt: skip
    parts += [stops([r for r in rows if r["ask"] == OURS])]
    return "\n\n".join(parts)


def paired(curves, name, ask, of):
    """``of(curve of mixed, curve of another)`` over the draws that both have."""
    draws = sorted(d for s, a, d in curves if s == name and a == ask)
    return np.array([of(curves[name, OURS, d], curves[name, ask, d]) for d in draws
                     if (name, OURS, d) in curves])  # fmt: skip


def with_interval(values):
    """A mean with its interval at 95 % over draws, by Student's t."""
    if len(values) < 2:
        return f"{values.mean():.3f}" if len(values) else "-"
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.3f} ±{half:.3f}"


def areas(curves, sets, asks):
    def ahead(name, ask):
        return paired(curves, name, ask, lambda own, other: (own - other).mean())

    lines = ["Mixed minus others, mean accuracy over the first answers, intervals over sets:"]
    for ask in asks:
        known = [each.mean() for name in sets if len(each := ahead(name, ask))]
        behind = sum(value < 0 for value in known)
        if ask != OURS:
            lines.append(f"  {ask:18s} {with_interval(np.array(known))}, behind in {behind} of "
                         f"{len(known)}")  # fmt: skip
    lines += [f"Mean accuracy over the first {N_ANSWERS} answers; of others: mixed minus it."]
    for name in sets:
        own = np.array([c.mean() for (s, a, _), c in curves.items() if s == name and a == OURS])
        cells = [f"{ask} {with_interval(ahead(name, ask))}" for ask in asks if ask != OURS]
        lines.append(f"  {name:20s} {own.mean():.3f} | " + " | ".join(cells))
    return "\n".join(lines)


def first_at(curve, level):
    """Answers until an accuracy is reached; one more than all where it is not."""
    hits = np.flatnonzero(curve >= level)
    return int(hits[0]) + 1 if len(hits) else len(curve) + 1


def saved(curves, sets, asks):
    lines = ["Answers of mixed until 95 % of the best final accuracy (mean over draws) of all; of "
             "others: labels that mixed saves."]  # fmt: skip
    for name in sets:
        final = [np.mean([c[-1] for (s, a, _), c in curves.items() if s == name and a == ask])
                 for ask in asks if any((s, a) == (name, ask) for s, a, _ in curves)]  # fmt: skip
        level = 0.95 * max(final)

        def saving(own, other, level=level):
            return float(first_at(other, level) - first_at(own, level))

        own = [first_at(c, level) for (s, a, _), c in curves.items() if s == name and a == OURS]
        cells = [f"{ask} {with_interval(paired(curves, name, ask, saving))}"
                 for ask in asks if ask != OURS]  # fmt: skip
        lines.append(f"  {name:20s} {level:.3f} after {np.mean(own):.0f} | " + " | ".join(cells))
    return "\n".join(lines)


def coverage(rows, ask):
    looks = [look for r in rows if r["ask"] == ask for look in r.get("looks", [])]
    lines = [f"Interval of the error, asking by {ask}: held / all, mean shown, mean true, width"]
    for answers in sorted({look["answers"] for look in looks}):
        here = [look for look in looks if look["answers"] == answers]
        held = sum(look["low"] <= look["true"] <= look["high"] for look in here)
        above = sum(look["true"] > look["high"] for look in here)
        mean = {key: np.mean([look[key] for look in here]) for key in ("value", "true")}
        width = np.mean([look["high"] - look["low"] for look in here])
        lines.append(f"  {answers:3d} answers: {held} / {len(here)} (true one above: {above}), "
                     f"{mean['value']:.3f}, {mean['true']:.3f}, {width:.3f}")  # fmt: skip
    return "\n".join(lines)


def stops(rows):
    told = [r for r in rows if r["stopped"]]
    gained = np.array([r["accuracy"][-1] - r["accuracy"][r["stopped"] - 1] for r in told])
    soon = np.array([r["accuracy"][min(r["stopped"] + 20, len(r["accuracy"])) - 1]
                     - r["accuracy"][r["stopped"] - 1] for r in told])  # fmt: skip
    spent = np.array([len(r["accuracy"]) - r["stopped"] for r in told])
    if not len(told):
        return f"The advice to stop came in none of {len(rows)} runs."
    return (
        f"The advice to stop came in {len(told)} of {len(rows)} runs, after "
        f"{np.median([r['stopped'] for r in told]):.0f} answers (median). Answers after it: "
        f"{spent.mean():.0f}; accuracy they gained: mean {gained.mean():+.4f}, quartiles "
        f"{np.round(np.quantile(gained, [0.25, 0.5, 0.75]), 4).tolist()}, most {gained.max():+.4f}"
        f"; above one point in {np.sum(gained > 0.01)}. The next twenty: mean {soon.mean():+.4f}, "
        f"most {soon.max():+.4f}, above one point in {np.sum(soon > 0.01)}."
    )
