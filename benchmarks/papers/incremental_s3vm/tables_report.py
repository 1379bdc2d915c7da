"""Markdown, CSV and picture of the steps per added row."""

from __future__ import annotations

import csv
import io

import numpy as np
from shared.common import COLOURS, figure, machine_line, markdown_table, save_figure

from .data import KERNELS
from .published import ADDED_LABELLED, ADDED_UNLABELLED, BALANCED

KERNEL_TITLES = {"linear": "linear", "poly": "polynomial", "rbf": "Gaussian"}
KINDS = ("labelled", "unlabelled")


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


def line(problem, records, error):
    """One problem in a line, for the progress."""
    name, size, kernel, balanced = problem
    counts = Counts(records)
    words = []
    for variant in ("keep", "paper") if balanced else ("off",):
        for kind in KINDS:
            found = counts.values(name, size, kernel, variant, kind)
            words.append(f"{variant} {kind} {_spread(found)}")
    found = "; ".join(words) if error is None else error.strip().splitlines()[-1]
    return f"{name} {size} {kernel}{' balanced' if balanced else ''}: {found}"


def _spread(values):
    if not len(values):
        return "-"
    return f"{values.mean():.1f} ± {values.std(ddof=min(1, len(values) - 1)):.1f}"


def report(results, stem):
    """The whole report."""
    counts = Counts(results["records"])
    parts = [
        "# Steps of path following per added row",
        "Gu, Yuan, Chen, Huang (2018), Tables 2 and 3 (IL-S3VM, no balancing constraint), and Yu, "
        "Gu, Ning, Chen, Pei, Huang (2019), Table 2 (IL-BCS3VM, with it): C = 10, C* = 5, "
        f"Gaussian kernel with kappa = 0.1. Mean ± standard deviation over {results['trials']} "
        "rows, each added to a copy of the same solution, beside the paper's; the median in "
        f"brackets. {machine_line(results['machine'])}",
    ]
    if results["quick"]:
        parts.append("**Quick run:** few sets, sizes and rows.")
    parts += [_assumed(), "## In short", _summary(counts), f"![steps]({stem}.png)"]
    if counts.problems(False):
        for number, kind in ((2, "labelled"), (3, "unlabelled")):
            parts += [f"## Gu et al., Table {number}: one {kind} row (paper / here)",
                      _steps_table(counts, kind), "Sign changes (paper's Changing-mu / here):",
                      _changes_table(counts, kind)]  # fmt: skip
    if counts.problems(True):
        for kind in KINDS:
            parts += [f"## Yu et al., Table 2: one {kind} row (paper / virtual row kept / taken "
                      "out and put back)", _balanced_table(counts, kind)]  # fmt: skip
    failed = [p for p in results["problems"] if p["error"]]
    if failed:
        rows = [[*p["problem"], p["error"].strip().splitlines()[-1]] for p in failed]
        parts += ["## Not finished",
                  markdown_table(["set", "rows", "kernel", "balanced", "why"], rows)]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _assumed():
    return (
        "w8a stands in for w6a, which could not be had (w6a and its test part together have the "
        "rows of w8a). The papers do not say how columns were scaled, how many labelled rows "
        "their smaller problems have, or where the first solution came from. Assumed: columns as "
        "LIBSVM distributes them, CodRNA and Madelon scaled to [-1, 1]; all labelled rows of "
        "their Table 1 at every size; a solution of the concave-convex procedure on the rows "
        "there were. A step here and an iteration there is the same: a direction and the way to "
        "the next event. Sign changes are not: here an unlabelled row that changes sides is one; "
        "Changing-mu is nearly the number of iterations (in places more), so that something else "
        "must have been counted, such as every iteration with a row in the set A."
    )


def _summary(counts):
    rows = []
    for balanced, variants in ((False, ("off",)), (True, ("keep", "paper"))):
        for variant in variants:
            for kind in KINDS:
                found = [
                    (values, paper_steps(name, size, kernel, balanced, kind))
                    for name, size in counts.problems(balanced)
                    for kernel in KERNELS
                    if len(values := counts.values(name, size, kernel, variant, kind))
                ]
                if not found:
                    continue
                mean = np.array([values.mean() for values, _ in found])
                paper = np.array([printed[0] for _, printed in found])
                spread = np.array([printed[1] for _, printed in found])
                median = np.array([np.median(values) for values, _ in found])
                rows.append(
                    [_variant_words(variant), kind, len(found),
                     int(np.sum(mean <= paper)), int(np.sum(mean <= paper + spread)),
                     int(np.sum(mean <= paper + np.maximum(spread, 1.0))),
                     int(np.sum(median <= paper + spread)),
                     f"{paper.mean():.1f}", f"{mean.mean():.1f}", f"{np.median(paper):.1f}",
                     f"{np.median(mean):.1f}"]
                )  # fmt: skip
    columns = ["variant", "row", "problems", "our mean <= paper's mean",
               "<= mean + sd", "<= mean + sd, or + 1 step", "our median <= mean + sd",
               "mean of means, paper", "here", "median of means, paper", "here"]  # fmt: skip
    text = markdown_table(columns, rows)
    fewer = total = 0
    ratios = []
    for name, size in counts.problems(True):
        for kernel in KERNELS:
            for kind in KINDS:
                kept = counts.values(name, size, kernel, "keep", kind)
                other = counts.values(name, size, kernel, "paper", kind)
                m = min(len(kept), len(other))
                if m:
                    total += 1
                    fewer += kept[:m].mean() < other[:m].mean()
                    ratios.append((other[:m].mean() + 1e-9) / max(kept[:m].mean(), 1.0 / m))
    if total:
        text += (
            "\n\nKeeping the virtual row takes fewer steps than taking it out and putting it back "
            f"in {fewer} of {total} problems, by a median factor of {np.median(ratios):.1f}. "
            "Out and back costs most with many margin rows. What Yu et al. print there (1 to 3 "
            "steps) would fit the middle one of their three steps alone, the new row itself."
        )
    return text


def _variant_words(variant):
    return {"off": "no balancing", "keep": "balancing, virtual row kept",
            "paper": "balancing, as Yu et al."}[variant]  # fmt: skip


def _pair(printed, values):
    paper = f"{printed[0]:g} ± {printed[1]:g}"
    return f"{paper} / {_spread(values)}" + (f" ({np.median(values):g})" if len(values) else "")


def _steps_table(counts, kind):
    rows = [
        [name, size]
        + [
            _pair(
                paper_steps(name, size, kernel, False, kind),
                counts.values(name, size, kernel, "off", kind),
            )
            for kernel in KERNELS
        ]
        for name, size in counts.problems(False)
    ]
    return markdown_table(["set", "rows", *(KERNEL_TITLES[k] for k in KERNELS)], rows)


def _changes_table(counts, kind):
    rows = []
    for name, size in counts.problems(False):
        cells = []
        for kernel in KERNELS:
            printed = paper_changes(name, size, kernel, kind)
            found = counts.values(name, size, kernel, "off", kind, "flips")
            cells.append(f"{printed[0]:g} ± {printed[1]:g} / {_spread(found)}")
        rows.append([name, size, *cells])
    return markdown_table(["set", "rows", *(KERNEL_TITLES[k] for k in KERNELS)], rows)


def _balanced_table(counts, kind):
    rows = []
    for name, size in counts.problems(True):
        cells = []
        for kernel in KERNELS:
            printed = paper_steps(name, size, kernel, True, kind)
            kept = counts.values(name, size, kernel, "keep", kind)
            other = counts.values(name, size, kernel, "paper", kind)
            cells.append(f"{_pair(printed, kept)} / {_spread(other)}")
        rows.append([name, size, *cells])
    return markdown_table(["set", "rows", *(KERNEL_TITLES[k] for k in KERNELS)], rows)


def as_csv(records):
    """All counts, one line per row added."""
    text = io.StringIO()
    if records:
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return text.getvalue()


def draw_picture(results, path):
    """Mean steps here against the paper's, one point per problem."""
    counts = Counts(results["records"])
    panels = [("off", "labelled"), ("off", "unlabelled"), ("keep", "labelled"),
              ("keep", "unlabelled")]  # fmt: skip
    fig, axes = figure(1, 4, figsize=(14, 4.4), sharex=True, sharey=True)
    for axis, (variant, kind) in zip(axes, panels, strict=True):
        balanced = variant != "off"
        for colour, kernel in zip(COLOURS, KERNELS, strict=False):
            shown = [("s", variant, "full")] + ([("o", "paper", "none")] if balanced else [])
            for marker, which, fill in shown:
                x, y = [], []
                for name, size in counts.problems(balanced):
                    values = counts.values(name, size, kernel, which, kind)
                    if len(values):
                        x.append(paper_steps(name, size, kernel, balanced, kind)[0])
                        y.append(values.mean())
                words = KERNEL_TITLES[kernel]
                if balanced:
                    words += ", out and back" if which == "paper" else ""
                axis.plot(x, y, marker, color=colour, fillstyle=fill, ms=5, ls="", label=words)
        axis.plot([0.1, 1000], [0.1, 1000], "--", color=COLOURS[4], lw=1)
        axis.set_xscale("symlog", linthresh=1.0)
        axis.set_yscale("symlog", linthresh=1.0)
        axis.set_xlim(-0.1, 500)
        axis.set_ylim(-0.1, 3000)
        axis.set_title(f"one {kind} row, {'balanced' if balanced else 'no balancing'}")
        axis.set_xlabel("mean steps, paper")
    fig.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=6,
               frameon=False, fontsize=8)  # fmt: skip
    axes[0].set_ylabel("mean steps, here")
    save_figure(fig, path)
