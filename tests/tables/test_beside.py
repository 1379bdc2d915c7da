"""Numbers beside a table, and dates that are learnt from."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

from fewlabels import fit_table
from fewlabels._util.messages import UserError
from fewlabels.tables.columns.column import expand_dates
from fewlabels.tables.reading.read import column_names, iterate_tables
from fewlabels.tables.user_data import make_source

N = 120


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    sought = np.arange(N) % 3 == 0
    when = pd.Timestamp("2026-01-05") + pd.to_timedelta(np.arange(N) * 5, unit="h")
    pd.DataFrame(
        {
            "image": [f"pictures/{k:03d}.png" for k in range(N)],
            "when": when.strftime("%d.%m.%Y %H:%M"),
            "size": rng.normal(size=N).round(3),
            "kind": np.where(sought & (np.arange(N) < 75), "cat", ""),
        }
    ).to_csv(tmp_path / "d.csv", index=False)
    vectors = rng.normal(size=(N, 6)).astype(np.float32) + 1.5 * sought[:, None]
    np.save(tmp_path / "e.npy", vectors)
    np.save(tmp_path / "narrow.npy", vectors[:, :4])
    np.save(tmp_path / "short.npy", vectors[:-1])
    np.save(tmp_path / "long.npy", np.vstack([vectors, vectors]))
    return tmp_path


def test_pieces_have_their_rows_of_numbers(folder):
    source = make_source(folder / "d.csv", features=folder / "e.npy")
    names = [f"features[{k}]" for k in range(6)]
    assert column_names(source)[-6:] == names
    pieces = [piece for piece, _, _ in iterate_tables(source, 7)]
    found = pa.concat_tables(pieces).select(names).to_pandas().to_numpy()
    np.testing.assert_array_equal(found, np.load(folder / "e.npy"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("short.npy", "short.npy has 119 rows but .*d.csv has more; it needs one row of numbers"),
        ("long.npy", "long.npy has 240 rows but .*d.csv has 120"),
        ("d.csv", "features needs an .npy file, and .*d.csv isn't one"),
        ("no.npy", "no.npy does not exist"),
    ],
)
def test_numbers_that_do_not_fit(folder, name, message):
    source = make_source(folder / "d.csv", features=folder / name)
    with pytest.raises(UserError, match=message):
        list(iterate_tables(source))


def fit(folder, **options):
    options = dict(features=folder / "e.npy", prior=0.2, time_budget=0, report=False) | options
    return fit_table(folder / "d.csv", "kind", **options)


def test_a_model_takes_them_and_nothing_else(folder):
    found = fit(folder)
    assert found.schema.n_columns == 7
    profile = found.profile.set_index("name")
    assert profile.loc["features", "shown"] == "6 columns of numbers"
    assert profile.loc["image", "kind"] == "left out"
    scores = found.predict(folder / "d.csv", features=folder / "e.npy")
    assert list(scores.columns) == ["score", "label", "positive", "probability"]
    frame = pd.read_csv(folder / "d.csv")
    same = found.predict(frame, features=np.load(folder / "e.npy"))
    pd.testing.assert_frame_equal(scores, same)
    # They are learnt from: 25 of 40 are labelled, and the others are found.
    hidden = (np.arange(N) % 3 == 0) & (np.arange(N) >= 75)
    unknown = np.arange(N) >= 75
    assert roc_auc_score(hidden[unknown], scores["score"][unknown]) > 0.9
    without = fit(folder, features=None).predict(folder / "d.csv")
    assert roc_auc_score(hidden[unknown], without["score"][unknown]) < 0.75
    with pytest.raises(
        UserError,
        match=r"with features of 6 columns, but .* comes without them; "
        r"pass features=FILE, an .npy file with 6 numbers .* made as 'e.npy' was",
    ):
        found.predict(folder / "d.csv")
    with pytest.raises(UserError, match=r"of 6 columns, but .*d.csv comes with 4 of these"):
        found.predict(folder / "d.csv", features=folder / "narrow.npy")
    plain = fit(folder, features=None)
    with pytest.raises(UserError, match=r"without features, but .*d.csv comes with 6"):
        plain.predict(folder / "d.csv", features=folder / "e.npy")
    with pytest.raises(UserError, match="features and labels need a table"):
        fit_table(np.zeros((4, 2)), features=np.zeros((4, 2)))
    assert fit_table(frame, "kind", features=np.load(folder / "e.npy"), prior=0.2, time_budget=0,
                     report=False).schema == found.schema  # fmt: skip


def test_parts_of_dates():
    cells = ["2026-11-22 13:45", None, "1969-12-31", "2000-02-29T23:59:59"]
    table = expand_dates(pa.table({"a": [1] * 4, "t": cells}), ["t"], "f")
    days = (datetime.date(2026, 11, 22) - datetime.date(1970, 1, 1)).days
    found = table.to_pydict()
    assert found.pop("t: days")[0] == pytest.approx(days + 13.75 / 24)
    assert found == {
        "a": [1] * 4, "t: weekday": ["Sun", None, "Wed", "Tue"],
        "t: month": [11, None, 12, 2], "t: hour": [13, None, 0, 23],
    }  # fmt: skip
    typed = pa.array([datetime.datetime(2026, 11, 22, h) for h in range(24)])
    hours = expand_dates(pa.table({"t": typed}), ["t"], "f")["t: hour"].to_pylist()
    assert hours == list(range(24))
    with pytest.raises(UserError, match=r"Column 't' of f has 'x'|is declared as dates"):
        expand_dates(pa.table({"t": ["x"]}), ["t"], "f")
    with pytest.raises(UserError, match="holds int64 values, not dates"):
        expand_dates(pa.table({"t": [1]}), ["t"], "f")


def test_dates_are_learnt_from_when_asked(folder, tmp_path):
    found = fit(folder, features=None, dates="when")
    names = [column.name for column in found.schema.columns]
    assert names == ["size", "when: days", "when: weekday", "when: hour"]  # one month only
    assert found.schema.dates == ("when",)
    scores = found.predict(folder / "d.csv")
    frame = pd.read_csv(folder / "d.csv")
    frame["when"] = pd.to_datetime(frame["when"], format="%d.%m.%Y %H:%M")
    frame.drop(columns="kind").to_parquet(tmp_path / "typed.parquet")
    pd.testing.assert_frame_equal(found.predict(tmp_path / "typed.parquet"), scores)
    with pytest.raises(UserError, match="lacks the column 'when' that the model was fitted to"):
        found.predict(frame.drop(columns="when"))


def test_from_the_command_line(folder, monkeypatch):
    from typer.testing import CliRunner

    from fewlabels.cli import app

    monkeypatch.chdir(folder)

    def run(*arguments):
        found = CliRunner().invoke(app, [*arguments])
        assert found.exit_code == 0, found.stderr
        return found.stdout

    run("fit", "d.csv", "--target", "kind", "--features", "e.npy", "--dates", "when", "-o", "m",
        "--time-budget", "0", "--no-report", "--rows", "--prior", "0.2")  # fmt: skip
    run("predict", "m", "d.csv", "--features", "e.npy", "-o", "o.csv")
    frame = pd.read_csv("o.csv", float_precision="round_trip")
    assert list(frame.columns)[:4] == ["image", "when", "size", "kind"]
    assert list(frame.columns)[4:6] == ["score", "label"]
    run("predict", "m", "d.csv", "--features", "e.npy", "-o", "o.parquet")
    typed = pd.read_parquet("o.parquet")
    assert list(typed.columns) == list(frame.columns)
    np.testing.assert_array_equal(typed["score"], frame["score"])
    assert "features[" in run("explain", "m", "d.csv", "--features", "e.npy", "--row", "1")
    assert "120 before, 240 now" in run("update", "m", "d.csv", "--features", "e.npy")
    with_them = run("prior", "d.csv", "--target", "kind", "--features", "e.npy", "--json")
    assert with_them != run("prior", "d.csv", "--target", "kind", "--json")
