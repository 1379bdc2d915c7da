"""The estimators run on NumPy, SciPy and scikit-learn alone; the rest says what to install."""

import ast
import re
import subprocess
import sys
import tomllib

import pytest

from fewlabels._util.extras import EXTRAS, MissingExtra, require


def without(packages):
    """Code after which these packages can't be imported."""
    return f"""
import importlib.abc
import sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {set(packages)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


# Nothing that pyproject.toml names beside NumPy, SciPy and scikit-learn can be imported.
BARE = without(set(EXTRAS) | {"polars"})

FIT = """
import pickle
import numpy as np
import fewlabels
from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble
from fewlabels.class_prior import estimate_prior
from fewlabels.metrics import calibration_error, pu_auc

X = np.random.default_rng(0).normal(size=(80, 3))
y = np.where(np.arange(80) % 4 == 0, (X[:, 0] > 0).astype(int), -1)
known = (y == 1).astype(int)
missing = np.where(known, 1.0, np.nan)
texts = np.array(["yes" if k else None for k in known], dtype=object)
for model in (
    SVDD(target_fpr=0.1), OneClassSVM(), SVDDEnsemble(n_bags=3), PUSVM(prior=0.3),
    PUEnsemble(prior=0.3, n_bags=3), S3VM(),
):
    labels = {"S3VM": y, "PUSVM": texts, "PUEnsemble": missing}.get(type(model).__name__)
    model.fit(X, labels)
    pickle.loads(pickle.dumps(model)).predict(X)
    model.decision_function(X)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[:2]) if labels is None else model.partial_fit(X[:2], labels[:2])
        model.forget([0])
    if labels is not None:
        model.score(X, labels)
estimate_prior(X, known)
pu_auc(known, X[:, 0])
calibration_error(known, np.full(80, 0.2))
loaded = [name for name in sys.modules if name.split(".")[0] in ("pandas", "pyarrow")]
assert not loaded, loaded
"""


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=300
    )


def test_estimators_need_no_extra():
    done = run(BARE + FIT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("use", "extra"),
    [
        ("fewlabels.tune", "tables"),
        ("fewlabels.fit_table", "tables"),
        ("fewlabels.TableEncoder", "tables"),
        ("fewlabels.label", "tables"),
        ("from fewlabels.inspection import explain", "tables"),
        ("from fewlabels.report import collect", "tables"),
        ("import fewlabels.dask", "dask,tables"),
        ("import fewlabels.onnx", "tables"),
        ("fewlabels.SVDD(solver='qp').fit([[0.0], [1.0]])", "qp"),
    ],
)  # fmt: skip
def test_a_missing_package_is_named_with_its_extra(use, extra):
    done = run(f"{BARE}\nimport fewlabels\n{use}")
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("fewlabels._util.extras.MissingExtra: ")
    assert last.endswith(f"run pip install 'fewlabels[{extra}]'.")


def test_the_command_line_says_what_it_needs():
    done = run(f"{BARE}\nfrom fewlabels.__main__ import main\nmain()", "--help")
    assert done.returncode == 1
    assert done.stderr == (
        "Error: the command line needs typer and rich, which aren't installed; "
        "run pip install 'fewlabels[app]'.\n"
    )


def test_every_extra_installs_its_package(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package, extra in EXTRAS.items():
        wanted = project["optional-dependencies"][extra]
        assert any(line.startswith(package.replace("_", "-")) for line in wanted), package


def test_extras_are_for_users_only(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(project["project"]["optional-dependencies"]) == set(EXTRAS.values())
    assert set(project["dependency-groups"]) == {"test", "docs", "benchmarks", "release"}


def test_the_site_is_built_with_what_its_group_installs(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]

    def named_in(lines):
        inner = (re.match(r"fewlabels\[(.*)\]", line) for line in lines)
        return [name for found in inner if found for name in found[1].split(",")]

    wanted, there = named_in(project["dependency-groups"]["docs"]), set()
    while wanted:
        there.add(extra := wanted.pop())
        wanted += named_in(extras[extra])
    settings = ast.parse((repository / "docs" / "conf.py").read_text(encoding="utf-8"))
    (tasks,) = (
        node.value
        for node in settings.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_TASKS"
    )
    names = [name for _, entries in ast.literal_eval(tasks) for name in entries]
    missing = {package for package, extra in EXTRAS.items() if extra not in there}
    imports = f"import pkgutil\nfor name in {names}:\n    pkgutil.resolve_name(name)"
    done = run(f"{without(missing)}\n{imports}")
    assert done.returncode == 0, done.stderr


def test_several_missing_packages_are_one_sentence(monkeypatch):
    more = {"no_such_a": "tables", "no_such_b": "plots", "no_such_c": "tables"}
    monkeypatch.setattr("fewlabels._util.extras.EXTRAS", EXTRAS | more)
    require("this", "numpy")
    with pytest.raises(MissingExtra) as error:
        require("this", *more, otherwise="do without it")
    assert str(error.value) == (
        "this needs no_such_a, no_such_b and no_such_c, which aren't installed; run "
        "pip install 'fewlabels[tables,plots]', or do without it."
    )
