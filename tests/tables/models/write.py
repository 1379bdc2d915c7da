"""Write the stored model files again: ``python tests/tables/models/write.py``.

The files in this folder are small models of every kind, and ``answers.json`` has their answers at
``ROWS`` and ``TABLE``. Tests load the files and expect these answers. A file names the modules of
the classes that it holds, so run this script after modules have moved or classes have changed
their names.

The script fits the same models to the same rows every time. It stops without writing anything if
an answer isn't the stored one, up to rounding. If answers are meant to change, pass ``--answers``
to write ``answers.json`` too.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble, fit_table
from fewlabels.kernels import Isolation
from fewlabels.pipeline import score
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model

FOLDER = Path(__file__).parent
ANSWERS = FOLDER / "answers.json"
# Rows to answer: near, far, and beyond the kernel's reach.
ROWS = np.array([[0.5, -0.25], [-1.5, -1.0], [1.25, 2.0], [9.0, -7.5], [4e3, 0.0]])
# Labels with which the first three of them are added to a model that keeps its rows.
LABELS = {"pusvm": [[1, 0, 1]], "s3vm": [[-1, 0, 1]]}
# With missing numbers and dates, unknown categories, a later date, and an empty text.
TABLE = pd.DataFrame(
    {
        "size": [0.5, None, -3.0, 2.0],
        "colour": ["red", "green", "violet", ""],
        "day": ["2026-01-10", "2026-03-05", "2030-01-01", "2026-02-01"],
        "since": ["2025-06-01", "", "2025-01-01", "2025-12-24"],
        "note": ["the pump leaks oil again", "all quiet at night", "", "the pump hums"],
        "tested": ["yes", "no", "no", "yes"],
    }
)
# Answers of the same fit differ by rounding only, of kernel values in single precision with S3VM.
_NEAR = 1e-5


def _rows(seed, n=40):
    """Rows around (0, 0) and (1.5, 1.5), and which of these a row belongs to."""
    rng = np.random.default_rng(seed)
    side = np.arange(n) % 2
    return np.round(rng.normal(size=(n, 2)) + 1.5 * side[:, None], 3), side


def _svdd():
    return SVDD(slack="linear", nu=0.2).fit(_rows(0)[0])


def _svdd_sparse():
    return SVDD(kernel="linear").fit(sp.csr_array(np.maximum(_rows(1)[0], 0.0)))


def _one_class_calibrated():
    return OneClassSVM(nu=0.2, target_fpr=0.1).fit(_rows(2)[0])


def _svdd_ensemble():
    isolation = Isolation(n_points=4, n_draws=8, random_state=0)
    settings = {"n_bags": 4, "bag_size": 16, "trim": 0.1, "random_state": 0}
    return SVDDEnsemble(isolation=isolation, **settings).fit(_rows(3)[0])


def _pusvm():
    X, side = _rows(4)
    return PUSVM(0.4, probability="isotonic").fit(X, (side == 1) & (np.arange(40) < 24))


def _pu_ensemble():
    X, side = _rows(5)
    y = (side == 1) & (np.arange(40) < 24)
    return PUEnsemble(prior=0.4, kernel="rbf", n_bags=3, tol=1e-8, random_state=0).fit(X, y)


def _s3vm():
    X, side = _rows(6)
    return S3VM(probability="sigmoid").fit(X, np.where(np.arange(40) < 12, side, -1))


def _s3vm_several():
    X, side = _rows(7)
    kind = side + (np.arange(40) % 4 == 3)
    X = X + [0.0, 3.0] * (kind == 2)[:, None]
    return S3VM(probability="sigmoid").fit(X, np.where(np.arange(40) < 20, kind, -1))


# Name of a file: the method's name, whether the file keeps the rows, and who makes the model.
MODELS = {
    "svdd": ("svdd", True, _svdd),
    "svdd-sparse": ("svdd", False, _svdd_sparse),
    "one-class-calibrated": ("one-class", True, _one_class_calibrated),
    "svdd-ensemble": ("svdd-ensemble", True, _svdd_ensemble),
    "pusvm": ("pusvm", True, _pusvm),
    "pu-ensemble": ("pu-ensemble", False, _pu_ensemble),
    "s3vm": ("s3vm", True, _s3vm),
    "s3vm-three-classes": ("s3vm", True, _s3vm_several),
}


def _table():
    """A table of columns of every kind, and a target that a model is fitted to."""
    rng, n = np.random.default_rng(8), 60
    side = np.arange(n) % 2
    notes = np.array(["all quiet in the yard at night", "the pump leaks oil on the floor"])
    days, since = (
        (pd.Timestamp(first) + pd.to_timedelta(rng.integers(0, 60, n), unit="D")).strftime("%F")
        for first in ("2026-01-01", "2025-05-01")
    )
    return pd.DataFrame(
        {
            "size": np.where(np.arange(n) % 10 == 9, np.nan, rng.normal(size=n).round(2) + side),
            "colour": rng.choice(["red", "green", "blue"], n),
            "day": days,
            "since": since,
            "note": notes[side],
            "tested": np.where(rng.random(n) < 0.5, "yes", "no"),
            "state": np.where((side == 1) & (np.arange(n) < 40), "broken", ""),
        }
    )


def write(folder):
    """Write the model files into a folder."""
    for name, (method, keeps_rows, make) in MODELS.items():
        layout = "sparse" if name.endswith("sparse") else "dense"
        metadata = describe_model(method, {}, Schema(layout, 2), {"rows_held": keeps_rows})
        save_model(folder / f"{name}.skops", Pipeline([("model", make())]), metadata)
    found = fit_table(
        _table(), target="state", method="pusvm", prior=0.25, text=["note"], dates=["day"],
        keep=["since"], missing="impute", time_budget=0, baselines=False, report=False, n_jobs=1,
    )  # fmt: skip
    found.save(folder / "table.skops")


def answers_of(model, rows):
    """Answers of a model at rows, by the name of the method."""
    names = ["decision_function", "predict", "p_values", "predict_proba"]
    if getattr(model, "target_fpr", None) is None:
        names.remove("p_values")
    return {name: getattr(model, name)(rows) for name in names if hasattr(model, name)}


def updated(model, method):
    """The decisions of a model once the first three rows have come and the second has gone."""
    model.partial_fit(ROWS[:3], *LABELS.get(method, [])).forget([1])
    return model.decision_function(ROWS)


def stored(folder):
    """Answers of the files in a folder, by file and method."""
    found = {}
    for name, (method, keeps_rows, _) in MODELS.items():
        pipeline, schema, _ = load_model(folder / f"{name}.skops")
        model = pipeline[-1]
        found[name] = answers_of(model, sp.csr_array(ROWS) if schema.layout == "sparse" else ROWS)
        if keeps_rows:
            found[name]["updated"] = updated(model, method)
    found["table"] = dict(score(folder / "table.skops", TABLE).drop(columns="label"))
    return {
        name: {key: np.asarray(value).tolist() for key, value in answers.items()}
        for name, answers in found.items()
    }


def differences(found, wanted):
    """The answers that aren't the wanted ones, as texts."""
    different = [f"{name} is new or gone" for name in found.keys() ^ wanted.keys()]
    for name in found.keys() & wanted.keys():
        if found[name].keys() != wanted[name].keys():
            different.append(f"{name} answers {sorted(found[name])}, not {sorted(wanted[name])}")
            continue
        for key, value in found[name].items():
            ours, theirs = np.asarray(value), np.asarray(wanted[name][key])
            if ours.dtype.kind == theirs.dtype.kind == "f" and ours.shape == theirs.shape:
                same = np.allclose(ours, theirs, rtol=_NEAR, atol=_NEAR)
            else:
                same = np.array_equal(ours, theirs)
            if not same:
                different.append(f"{name}: {key} is {value}, not {wanted[name][key]}")
    return sorted(different)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--answers", action="store_true", help="write answers.json too")
    new_answers = parser.parse_args().answers
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        write(place)
        found = stored(place)
        if not new_answers:
            different = differences(found, json.loads(ANSWERS.read_text()))
            if different:
                raise SystemExit("\n".join([*different, "Nothing was written; see --answers."]))
        for path in place.iterdir():
            (FOLDER / path.name).write_bytes(path.read_bytes())
    if new_answers:
        ANSWERS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
