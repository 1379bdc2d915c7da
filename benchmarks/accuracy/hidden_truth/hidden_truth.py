"""Compare what a fit reports with a truth that is hidden from it, from no signal to a strong one.

prior      ``estimate_prior`` alone: the class prior's interval.
positives  Positives and unlabelled rows: prior, number of positives, precision and recall of the
           rows predicted positive, the verdict on signal, probabilities, rank of the model.
classes    A few labels of two classes: accuracy, the verdict, rank of the model. Labels are drawn
           at random, in equal numbers per class, or 60 and 5, and rows may be repeated.
unlike     The same with a batch and a day as columns, of which one decided who was labelled, or
           neither: whether the report names the column.
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

from shared.common import markdown_table
from shared.threads import limit_threads
from study import Case, Results, Setting, Study

from . import cases as settings
from .runs import RUNS, run
from .summary import shown, tables


def cases(options: Namespace) -> Iterator[Case]:
    limit_threads(1)  # processes share the cores
    for one in settings.cases(options.parts, options.halves, options.draws):
        yield Case(asdict(one), run, (one, options.budget), apart=True)


def report(results: Results) -> Iterator[str]:
    for _, title, label, columns, formats, rows in tables(results.records):
        if rows:
            yield f"## {title}"
            cells = [[row[0], *map(shown, row[1:], formats)] for row in rows]
            yield markdown_table([label, *columns], cells)


def entries(results: Results) -> list[Any]:
    return [
        results.entry(name, columns, rows, unit="shares and counts", label=label, formats=formats)
        for name, _, label, columns, formats, rows in tables(results.records)
        if rows and name
    ]


STUDY = Study(
    __doc__ or "", cases, report, entries,
    choices={"parts": list(RUNS), "halves": list(settings.HALVES)},
    settings={
        "draws": Setting(5, "draws of a case"), "budget": Setting(5.0, "seconds of a fit"),
        "jobs": Setting(2, "processes at a time"),
    },
    quick={"parts": ["prior", "one-class"], "halves": ["shown"], "draws": 1, "budget": 1.0},
)  # fmt: skip
