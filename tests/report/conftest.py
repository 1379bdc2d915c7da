"""Small fits of the three tasks, as the command line makes them."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest

from fewlabels.pipeline.options.fit import FitOptions
from fewlabels.pipeline.tasks.steps import steps_of
from fewlabels.pipeline.training.figures import collect_figures, count_labels
from fewlabels.pipeline.training.method import choose_method
from fewlabels.report import collect
from fewlabels.tables.encoding.fit import fit_encoder
from fewlabels.tables.models.files import describe_model
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training
from fewlabels.tasks import estimator_class, task_of

SEED = int(os.environ.get("FEWLABELS_TEST_SEED", "0"))


def people(n, seed):
    """Numbers, a category, gaps, an identifier that is not in order, and two true classes."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(size=n) < 0.4
    age = rng.normal(40, 5, n) + 20 * truth
    weight = rng.normal(70, 8, n)
    weight[rng.uniform(size=n) < 0.05] = np.nan
    table = pd.DataFrame(
        {
            "case": [f"C{k:04d}" for k in rng.permutation(n)],
            "age": age.round(2),
            "weight": weight.round(2),
            "town": np.where(truth, rng.choice(["a", "b"], n), rng.choice(["b", "c"], n)),
        }
    )
    return table, truth


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Fit a table; gives what ``collect`` asks for."""

    def fit(table, method=None, target=None, normal=None, name="people.csv", **settings):
        folder = tmp_path_factory.mktemp("fit")
        path = folder / name
        if isinstance(table, pd.DataFrame):
            table.to_csv(path, index=False)
        else:
            np.savez(path, **table)
        file = read_training(path, ColumnOptions(target=target))
        options = FitOptions(method=method, normal=normal)
        choice = choose_method(file.labels, options)
        roles = steps_of(task_of(choice.method)).roles(file, choice.method, options)
        found = file.choose(roles)
        encoder, X, schema = fit_encoder(schema=found.schema, rows=found.rows, source=path)
        estimator = estimator_class(choice.method)(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(X, found.y)
        training = {
            "data": path.name,
            "choice": choice.why,
            "rows_read": file.n_rows,
            "rows": X.shape[0],
            "features": X.shape[1],
            "rows_held": choice.method == "s3vm",
            "target": target,
            **roles.facts,
            **collect_figures(estimator, X, count_labels(roles.facts, found.y)),
            "seconds": 0.5,
            "notes": found.notes,
        }
        return {
            "file": file,
            "found": found,
            "encoder": encoder,
            "estimator": estimator,
            "X": X,
            "y": found.y,
            "metadata": describe_model(choice.method, estimator.get_params(), schema, training),
            "profile": found.profile,
            "model_path": folder / "people.fewlabels",
        }

    return fit


@pytest.fixture(scope="module")
def normal_parts(fitted):
    """One class among others, some of them without a label."""
    table, truth = people(260, SEED)
    rng = np.random.default_rng(SEED + 1)
    label = np.where(truth, "ill", "well").astype(object)
    label[rng.uniform(size=len(table)) < 0.3] = ""
    table["state"] = label
    return fitted(table, target="state", normal="well", target_fpr=0.05)


@pytest.fixture(scope="module")
def positive_parts(fitted):
    """One class and blanks."""
    table, truth = people(300, SEED)
    rng = np.random.default_rng(SEED + 1)
    table["state"] = np.where(truth & (rng.uniform(size=len(table)) < 0.5), "ill", "")
    return fitted(table, target="state")


@pytest.fixture(scope="module")
def class_parts(fitted):
    """Two classes, ten rows of each, and blanks."""
    table, truth = people(200, SEED)
    rng = np.random.default_rng(SEED + 1)
    label = np.full(len(table), "", dtype=object)
    for value, name in ((False, "well"), (True, "ill")):
        label[rng.choice(np.flatnonzero(truth == value), 10, replace=False)] = name
    table["state"] = label
    return fitted(table, target="state")


@pytest.fixture(scope="module")
def contents(positive_parts):
    """What a report of positive and unlabelled rows says."""
    return collect(**positive_parts)
