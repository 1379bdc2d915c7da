"""A small table, a model of it, and a way to run commands."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fewlabels.cli import app

COLUMNS = ["width", "height", "colour", "ok"]


def make_table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"part {i:04d}" for i in range(n)],
            "width": rng.normal(10, 2, n),
            "height": rng.normal(size=n),
            "colour": rng.choice(["red", "green"], n),
            "ok": rng.choice([True, False], n),
            "class": rng.choice(["good", "bad", ""], n, p=[0.7, 0.2, 0.1]),
        }
    )


class Result:
    """What a command answered."""

    def __init__(self, result):
        self.code = result.exit_code
        self.out = result.stdout
        self.err = result.stderr
        self.exception = result.exception


@pytest.fixture(scope="session")
def run():
    """Run a command; a failure that is no exit code is passed on.

    A fit chooses no settings and writes no report unless it is told to.
    """

    def call(*arguments):
        if arguments[0] == "fit" and len(arguments) > 2:
            if "--time-budget" not in arguments:
                arguments += ("--time-budget", 0)
            if "--report" not in arguments:
                arguments += ("--no-report",)
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "\ue000" not in result.output, "an option isn't rendered"
        return Result(result)

    return call


@pytest.fixture(scope="session")
def table():
    return make_table()


@pytest.fixture
def data(tmp_path, table):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def model_bytes(run, table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    table[COLUMNS].to_csv(folder / "data.csv", index=False)
    result = run("fit", folder / "data.csv", "-o", folder / "m.skops", "--C", "0.5",
                 "--missing", "refuse", "--target-fpr", "none")  # fmt: skip
    assert result.code == 0, result.err
    return (folder / "m.skops").read_bytes()


@pytest.fixture
def model(tmp_path, model_bytes):
    """A model of the four feature columns of the table."""
    path = tmp_path / "model.skops"
    path.write_bytes(model_bytes)
    return path
