"""How often monitors alarm on streams that don't change, and how soon on streams that do.

Part "unchanged": streams of Gaussian rows, of counts with ties, and of rows drawn with
replacement from six real sets, after 50, 200 or 1000 calibration rows. The scores are those of an
isolation forest fitted to other rows (real sets), or the numbers themselves. Reported is the share
of streams that ever alarm at alpha = 0.01 and 0.05, with 95 % intervals (Clopper and Pearson).

Part "lengths": run lengths of the charts that begin anew, on the same sources.

Part "changed": 1000 unchanged rows, then 1000 rows with a shift of the mean, the spread, a
correlation, the class prior, or with a new cluster. Models are an SVDD, and a logistic
regression for the prior.
Rivals get the same scores: river's ADWIN, KSWIN and Page-Hinkley, the jumper of MAPIE, the
restarted jumper of nonconform (Python 3.12), and alibi-detect's online MMD (the rows themselves),
where installed. All are compared at their own thresholds.

Part "alerts": LORD and SAFFRON at 5 and 10 %, on real sets with 1 % anomalies, scored by an
SVDDEnsemble and by an isolation forest.

Part "dates": how often the interval for the beginning of a change holds it.
"""

from study import Setting, Study

from . import alerts, changed, dates, rates
from .detectors import DETECTORS

PARTS = ["unchanged", "lengths", "changed", "alerts", "dates"]
QUESTIONS = (rates, changed, alerts, dates)


def cases(options):
    for question in QUESTIONS:
        yield from question.cases(options)


def entries(results):
    return [
        results.entry(name, columns, rows, **about)
        for question in QUESTIONS
        for name, columns, rows, about in question.tables(results)
    ]


STUDY = Study(
    __doc__, cases, entries=entries, data="optional",
    choices={"parts": PARTS, "detectors": list(DETECTORS)},
    settings={"runs": Setting(1000, "unchanged streams of every kind"),
              "rows": Setting(10_000, "rows of an unchanged stream")},
    quick={"runs": 2, "detectors": ["fewlabels", "fewlabels, cusum", "ADWIN"]},
)  # fmt: skip
