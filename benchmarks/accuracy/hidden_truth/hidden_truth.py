"""Compare what a fit reports with a truth that is hidden from it, from no signal to a strong one.

prior      ``estimate_prior`` alone: the class prior's interval.
positives  Positives and unlabelled rows: prior, precision and recall of the rows predicted
           positive, held-out ROC AUC.
classes    A few labels of two classes: accuracy. Labels are drawn at random, in equal numbers per
           class, or 60 and 5, and rows may be repeated.
one-class  Normal rows with or without a few anomalies among them: the false alarm rate.

Tables are Gaussian, with two classes that a linear score separates with a known ROC AUC.
Everything about a case follows from its key. The two halves of the settings differ in every
number: columns, ROC AUCs, shares, labels. Rules are chosen on one half and reported on the other.
Five draws of a half take 40 minutes on two cores.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from shared.threads import limit_threads
from study import Case, Results, Setting, Study

from . import cases as settings
from .runs import RUNS
from .summary import SIGNALS, by_signal


def cases(options: Namespace) -> Iterator[Case]:
    limit_threads(1)  # processes share the cores
    chosen = settings.cases(options.parts, options.halves, options.draws)
    for one in chosen[:: 60 if options.quick else 1]:
        yield Case(asdict(one), RUNS[one.part], (one, options.budget), apart=True)


def entries(results: Results) -> list[Any]:
    title = "Intervals of 90 % (held-out AUC: 99 %) that hold the truth, and their mean width"
    return [results.entry("hidden-truth", [f"{signal} signal" for signal in SIGNALS],
                          by_signal(results.records), unit=title,
                          label="quantity, labels")]  # fmt: skip


STUDY = Study(
    __doc__ or "", cases, entries=entries,
    choices={"parts": list(RUNS), "halves": list(settings.HALVES)},
    settings={
        "draws": Setting(5, "draws of a case"), "budget": Setting(5.0, "seconds of a fit"),
        "jobs": Setting(2, "processes at a time"),
    },
    quick={"halves": ["shown"], "draws": 1, "budget": 1.0},
)  # fmt: skip
