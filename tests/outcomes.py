"""Fits with all that their models were made of, which tests look into."""

from fewlabels.pipeline import Observer
from fewlabels.pipeline.options.checks import parse_options
from fewlabels.pipeline.training.fit import fit
from fewlabels.pipeline.training.fitting import Run
from fewlabels.pipeline.training.schedule import Schedule
from fewlabels.tables.user_data import make_source


def fit_outcome(data, target=None, *, has_report=False, started=None, **options):
    """Return the ``Outcome`` of a fit, without files."""
    asked = parse_options({"target": target, **options})
    schedule = Schedule(
        asked.time_budget, started=started, baselines=asked.baselines, has_report=has_report
    )
    return fit(make_source(data, **asked.reading), asked, Run(Observer(), schedule))
