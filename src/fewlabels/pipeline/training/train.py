"""The training of a plan: search, fit, and confirmed anomalies where they help."""

from __future__ import annotations

from ...tasks import estimator_class
from .anomalies import use_anomalies
from .encoding import EncodedRows
from .fitting import FitData, FittedModel, Run, fit_model
from .plan import Plan
from .propensities import describe_weights, find_propensities


def train(plan: Plan, rows: EncodedRows, run: Run) -> tuple[Plan, FittedModel]:
    """Fit the method of a plan to encoded rows, with the settings that are found in time.

    The plan is another one if confirmed anomalies among the rows of other classes ask for it.
    """
    options, y = plan.options, rows.found.y
    estimator = estimator_class(plan.method)(**plan.settings)
    propensity = None
    notes: list[str] = []
    if options.weighing:
        prior = plan.settings.get("prior")  # among the unlabelled rows, however it was given
        propensity, notes = find_propensities(options, rows.found, rows.X, prior)
    data = FitData(rows.X, y, propensity, rows.groups)
    with run.spread():
        model = fit_model(estimator, data, run, options.parameters, plan)
    if options.weighing:
        model.messages.extend(notes + describe_weights(model.estimator))
    return use_anomalies(plan, rows, model, run) if y is None else (plan, model)
