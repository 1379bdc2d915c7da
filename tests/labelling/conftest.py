"""A small table, and a session over it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fewlabels.labelling import session as sessions
from fewlabels.labelling.session import Session


@pytest.fixture(autouse=True)
def _one_seed(monkeypatch):
    """The random rows of every session here are the same ones each time that a test runs."""
    drawn = SimpleNamespace(token_hex=lambda n: "5eed" * (n // 2))
    monkeypatch.setattr(sessions, "secrets", drawn)


@pytest.fixture
def table(tmp_path):
    """A file with two clouds of rows, and the class of each."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 60)
    frame = pd.DataFrame(rng.normal(3.0 * truth[:, None], 1.0, (120, 2)), columns=["a", "b"])
    frame["town"] = rng.choice(["x", "y"], 120)
    frame["note"] = "<script>alert('no')</script>"
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    return path, np.array(["ham", "spam"])[truth]


@pytest.fixture
def session(table):
    found = Session(table[0], classes=["ham", "spam"])
    yield found
    found.close()


class Person:
    """Somebody who answers as the truth is."""

    def __init__(self, session, truth, name="me"):
        self.session, self.truth, self.name, self.n = session, truth, name, 0

    def answer(self, times=1, kind="label", wrong=False):
        rows = []
        for _ in range(times):
            row = self.session.card(self.name)["row"]
            label = self.truth[row]
            if wrong:
                label = {"ham": "spam", "spam": "ham"}[label]
            self.n += 1
            self.session.answer(
                id=f"{self.name}{self.n}", annotator=self.name, row=row, kind=kind,
                label=label if kind == "label" else None,
            )  # fmt: skip
            self.session.catch_up(leave_out=False)
            rows.append(row)
        return rows

    def undo(self):
        self.n += 1
        undone = self.session.undo(id=f"{self.name}{self.n}", annotator=self.name)
        self.session.catch_up(leave_out=False)
        return undone


@pytest.fixture
def person(session, table):
    return Person(session, table[1])


@pytest.fixture
def people(session, table):
    return [Person(session, table[1], name) for name in ("ann", "bob")]
