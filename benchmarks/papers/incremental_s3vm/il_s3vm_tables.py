"""Steps of path following per added row: Tables 2 and 3 of Gu et al., Table 2 of Yu et al.

For every set, size and kernel: a local minimum on that many rows, then 20 rows, each added to a
copy of it, once labelled and once unlabelled; without the balancing constraint (IL-S3VM), with it
kept in the problem, and with it taken out and put back as in Yu et al. Steps and sign changes,
mean and standard deviation, next to the papers' figures. w8a stands in for w6a; data.py says what
else is assumed. Only counts are reported, so that several problems run at once (--jobs).

By default the papers' sizes up to 10 000 rows; --largest 40000 takes all. A problem that is out of
time (--limit) has the rows that were added until then.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from shared.common import markdown_table
from shared.threads import limit_threads
from study import Case, Setting, Study

from . import data, steps
from .data import KERNELS
from .published import ADDED_LABELLED, ADDED_UNLABELLED, BALANCED

KERNEL_TITLES = {"linear": "linear", "poly": "polynomial", "rbf": "Gaussian"}
KINDS = ("labelled", "unlabelled")
VARIANTS = {
    "off": "no balancing", "keep": "balancing, virtual row kept", "paper": "as in Yu et al.",
}  # fmt: skip


def cases(options):
    limit_threads(1)
    found = []
    for balanced, table in ((False, ADDED_LABELLED), (True, BALANCED)):
        for name in table:
            if name in options.sets and data.is_present(options.data, name):
                sizes = [size for size in table[name] if size <= options.largest]
                found += product([balanced], [name], sizes, options.kernels)
    for balanced, name, size, kernel in sorted(found, key=lambda one: one[2]):
        key = {"set": name, "size": size, "kernel": kernel, "balanced": balanced}
        # The limit is kept between rows; a solution or a row that takes longer is ended.
        yield Case(
            key, steps.count, (options.data, *key.values(), options.trials, options.paper_trials,
                               options.seed, options.limit),
            apart=True, limit=2.0 * options.limit,
        )  # fmt: skip


# -- the report ----------------------------------------------------------------------------------


def paper_steps(name, size, kernel, balanced, kind):
    """The paper's steps per added row, (mean, standard deviation)."""
    column = list(KERNELS).index(kernel)
    if balanced:
        return BALANCED[name][size][column + 3 * KINDS.index(kind)]
    return (ADDED_LABELLED, ADDED_UNLABELLED)[KINDS.index(kind)][name][size][column]


def paper_changes(name, size, kernel, kind):
    """The paper's "Changing-mu" per added row, (mean, standard deviation)."""
    table = (ADDED_LABELLED, ADDED_UNLABELLED)[KINDS.index(kind)]
    return table[name][size][3 + list(KERNELS).index(kernel)]


class Counts:
    """Records, looked up by problem, variant and kind of row."""

    def __init__(self, records):
        self.found = {}
        for r in records:
            key = r["set"], r["size"], r["kernel"], r["balance"], r["added"]
            self.found.setdefault(key, []).append(r)

    def values(self, name, size, kernel, balance, kind, what="steps"):
        """One number per row added."""
        return np.array([r[what] for r in self.found.get((name, size, kernel, balance, kind), [])])

    def problems(self, balanced):
        """(set, size) in the papers' order."""
        ran = {key[:2] for key in self.found if (key[3] != "off") == balanced}
        table = BALANCED if balanced else ADDED_LABELLED
        return [(name, size) for name in table for size in table[name] if (name, size) in ran]


def report(results):
    counts = Counts(results.records)
    yield "## In short"
    yield _summary(counts)


def _summary(counts):
    rows = []
    for variant, kind in product(VARIANTS, KINDS):
        balanced = variant != "off"
        found = [
            (values, paper_steps(name, size, kernel, balanced, kind))
            for name, size in counts.problems(balanced)
            for kernel in KERNELS
            if len(values := counts.values(name, size, kernel, variant, kind))
        ]
        if found:
            mean, median = (np.array([f(v) for v, _ in found]) for f in (np.mean, np.median))
            paper, spread = (np.array([printed[k] for _, printed in found]) for k in (0, 1))
            rows.append([
                VARIANTS[variant], kind, len(found), int(np.sum(mean <= paper)),
                int(np.sum(mean <= paper + spread)), int(np.sum(median <= paper + spread)),
                f"{paper.mean():.1f}", f"{mean.mean():.1f}", f"{np.median(paper):.1f}",
                f"{np.median(mean):.1f}",
            ])  # fmt: skip
    return markdown_table(
        ["variant", "row", "problems", "our mean <= paper's", "<= mean + sd",
         "our median <= mean + sd", "mean of means, paper", "here", "median of means, paper",
         "here"], rows,
    )  # fmt: skip


def entries(results):
    counts, plain, balanced = Counts(results.records), [], []
    for kind, kernel in product(KINDS, KERNELS):
        for name, size in counts.problems(False):
            found = [counts.values(name, size, kernel, "off", kind, w) for w in ("steps", "flips")]
            if len(found[0]):
                title = f"{name}, {size} rows, {KERNEL_TITLES[kernel]}, {kind}"
                printed = (paper_steps(name, size, kernel, False, kind)[0],
                           paper_changes(name, size, kernel, kind)[0])  # fmt: skip
                here = (float(values.mean()) for values in found)
                plain.append([title, *printed, *here, len(found[0])])
        for name, size in counts.problems(True):
            found = [counts.values(name, size, kernel, v, kind) for v in ("keep", "paper")]
            if all(len(values) for values in found):
                title = f"{name}, {size} rows, {KERNEL_TITLES[kernel]}, {kind}"
                here = (float(values.mean()) for values in found)
                balanced.append([title, paper_steps(name, size, kernel, True, kind)[0], *here])
    about = {"label": "set, rows, kernel, added row", "unit": "mean per added row"}
    columns = ["steps, paper", "Changing-mu, paper", "steps, here", "sign changes, here",
               "rows added"]  # fmt: skip
    made = []
    if plain:
        made.append(results.entry("il-s3vm-tables", columns, plain, **about,
                                  formats=[".1f"] * 4 + [""]))  # fmt: skip
    if balanced:
        columns = ["steps, paper", "virtual row kept", "taken out and put back"]
        made.append(results.entry("il-bcs3vm-tables", columns, balanced, **about,
                                  formats=[".1f"] * 3))  # fmt: skip
    return made


STUDY = Study(
    __doc__,
    cases,
    report,
    entries,
    data="required",
    choices={"sets": list(data.SETS), "kernels": list(KERNELS)},
    settings={
        "largest": Setting(10_000, "largest size (rows)"),
        "trials": Setting(20, "rows added per problem"),
        "paper_trials": Setting(5, "of these with the balancing of Yu et al."),
        "seed": Setting(0, "of the choice and order of rows"),
        "limit": Setting(40.0, "seconds per problem"),
        "jobs": Setting(2, "problems at a time"),
    },
    quick={"sets": ["madelon"], "largest": 400, "trials": 2, "paper_trials": 1},
)
