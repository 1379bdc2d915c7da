"""Looking at a table: what is learnt from, what is left out, and what is said of it."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fewlabels._util.messages import UserError, as_arguments
from fewlabels.tables.columns.column import days_since_epoch, format_day
from fewlabels.tables.columns.profile import (
    decide_columns,
    describe_sentinels,
    is_identifier_name,
)
from fewlabels.tables.columns.target import choose_all_rows, choose_normal_rows
from fewlabels.tables.columns.values import ColumnValues, table_columns
from fewlabels.tables.encoding.fit import fit_encoder
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training, select_encoder_rows

N = 60
RNG = np.random.default_rng(0)
MEASURED = RNG.integers(0, 1000, N)
MEASURED[:2] = 7  # a value twice, as measurements have


def _why(name, cells, **options):
    table = pa.table({name: cells})
    training = options.pop("training", np.ones(table.num_rows, dtype=bool))
    verdicts = decide_columns(table_columns(table), training, **options)
    return (verdicts[name].kind, verdicts[name].why) if name in verdicts else None


LEFT_OUT = {
    "constant text": ("a", ["x"] * N, "constant"),
    "constant number": ("a", ["1.0"] * N, "constant"),
    "constant flag": ("a", [True] * N, "constant"),
    "blank": ("a", ["", "NA", None] * 20, "blank"),
    "null": ("a", pa.nulls(N), "blank"),
    "counter": ("a", list(range(5, 5 + N)), "counts the rows"),
    "counter backwards by tens": ("a", list(range(600, 0, -10)), "counts the rows"),
    "shuffled counter": ("a", RNG.permutation(2 * N)[:N], "an identifier: a different number"),
    "numbers of customers": (
        "customerId",
        RNG.permutation(10**7)[:N],
        "an identifier: a different number in every row",
    ),
    "codes": ("a", [f"{i:04d}" for i in range(N)], "an identifier: a different text"),
    "names": ("a", [f"part {i}" for i in range(N)], "an identifier: a different text"),
    "a few names twice": ("a", [f"p{i}" for i in range(N - 5)] + ["p0"] * 5, "55 different texts"),
    "id by its name": (
        "user_id",
        [i % 55 for i in range(3 * N)],
        "an identifier, judging by its name",
    ),
    "iso dates": ("a", ["2024-02-03", "2024-02-04 10:00:00", ""] * 20, "dates"),
    "german dates": ("a", ["3.2.2024", "14.12.2023"] * 30, "dates"),
    "american dates": ("a", ["2/13/2024 1:30 PM"] * N, "dates"),
    "dates in two formats": (
        "a",
        ["2024-02-03", "3.2.2024", "4.2.2024 10:00"] * 20,
        "dates in several formats",
    ),
    "different dates and texts": (
        "a",
        [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(2 * N)] + ["unknown"] * 3,
        f"{2 * N} dates, and texts such as 'unknown'",
    ),
    "typed dates": ("a", [datetime.date(2024, 1, 1)] * N, "dates"),
    "lists": ("a", [[1, 2]] * N, "list<"),
    "no name": (" ", MEASURED, "no name"),
}


@pytest.mark.parametrize("case", LEFT_OUT, ids=str)
def test_left_out(case):
    name, cells, why = LEFT_OUT[case]
    kind, words = _why(name, cells)
    assert kind == "left out"
    assert words.startswith(why), words
    # Names that are kept are not one column each.
    kept = _why(name, cells, requested=[name])
    assert kept is None or kept == ("text", f"{len(set(cells))} different texts")
    assert (kept is not None) == case.startswith(("codes", "names", "a few names", "different"))


TEXTS = {
    "sentences": [f"the part no {i} broke again" for i in range(N)],
    "sentences, some twice": [f"the part no {i % 55} broke again" for i in range(N)],
    "sentences, many times": [
        f"the part no {i % 55} broke once again today" for i in range(5 * N)
    ],
    "blanks": ["", *(f"the part no {i} broke again" for i in range(N))],
    "greek": [f"το τμήμα {i} έσπασε πάλι" for i in range(N)],
    "hindi": [f"हिस्सा संख्या {i} फिर टूट गया" for i in range(N)],
    "chinese": [f"第{i}个零件昨天晚上又坏了" for i in range(N)],
    "thai": [f"ชิ้นส่วนที่{i}พังอีกครั้ง" for i in range(N)],
}


@pytest.mark.parametrize("case", TEXTS, ids=str)
def test_sentences_are_texts(case):
    assert _why("a", TEXTS[case]) == ("text", "sentences")
    assert _why("a", TEXTS[case], requested=["a"])[0] == "text"
    training = np.arange(len(TEXTS[case])) < 1
    if case == "blanks":
        assert _why("a", TEXTS[case], training=training)[0] == "left out"


TAKEN = {
    "measured": ("a", MEASURED),
    "all different and far apart": ("a", RNG.permutation(10**7)[:N]),
    "decimals": ("a", RNG.normal(size=N)),
    "decimals named id": ("id", RNG.normal(size=N).round(2)),
    "few rows": ("a", list(range(10))),
    "few names": ("a", [f"p{i}" for i in range(10)]),
    "many categories": ("a", [f"p{i % 30}" for i in range(N)]),
    "flag or blank": ("a", ["yes", ""] * 30),
    "one or blank": ("a", [1, None] * 30),
    "times in a text": ("a", ["at 2024-02-03", "never"] * 30),
    "few sentences": ("a", [f"the part no {i % 20} broke again" for i in range(N)]),
    "long categories": ("a", [f"part no {i % 55} of it" for i in range(5 * N)]),
    "ratios": ("a", ["1/2", "2/3"] * 30),
}


@pytest.mark.parametrize("case", TAKEN, ids=str)
def test_taken_as_it_is(case):
    name, cells = TAKEN[case]
    assert _why(name, cells) is None


def test_numbers_of_things_are_categories():
    assert _why("shop_id", [k % 7 for k in range(N)])[0] == "category"
    assert _why("shop_id", [k % 7 for k in range(N)], requested=["shop_id"]) is None
    assert _why("shop", [k % 7 for k in range(N)]) is None


def test_all_rows_of_the_file_say_what_is_constant():
    """What the normal rows share may be what the others differ in."""
    training = np.arange(N) < 40
    assert _why("a", [0] * 40 + [1] * 20, training=training) is None
    kind, words = _why("a", [""] * 40 + ["1", "2"] * 10, training=training)
    assert (kind, words) == ("left out", "blank in the training rows")


@pytest.mark.parametrize("text", [False, True])
def test_text_and_typed_columns_are_judged_alike(text):
    for cells in (MEASURED, np.arange(N), RNG.normal(size=N)):
        found = _why("a", [str(value) for value in cells] if text else cells)
        assert found == _why("a", cells)


def test_names_of_identifiers():
    names = ["id", "ID", "user_id", "userId", "order-ID", "uuid", "row.guid"]
    assert all(is_identifier_name(name) for name in names)
    assert not any(is_identifier_name(name) for name in ["valid", "fluid", "idle", "humid", "x"])


def test_dates_as_days():
    points = ["2.1.1970", "29.02.2024 12:00"]  # day, month and year
    np.testing.assert_allclose(days_since_epoch(pa.array(points)), [1, 19_782.5])
    texts = ["1970-01-02", "2024-02-29T12:00:00", "2024-02-29 12:00:00+01:00", "", None]
    values = days_since_epoch(pa.array(texts))
    eleven = (datetime.date(2024, 2, 29) - datetime.date(1970, 1, 1)).days + 11 / 24
    np.testing.assert_allclose(values, [1, eleven + 1 / 24, eleven, np.nan, np.nan])
    for kind in (pa.date32(), pa.date64(), pa.timestamp("ms"), pa.timestamp("ns", "UTC")):
        cells = pa.array([datetime.datetime(1970, 1, 3), None]).cast(kind)
        assert ColumnValues(cells).are_dates()
        np.testing.assert_allclose(days_since_epoch(cells), [2, np.nan])
    assert format_day(19_782.4) == "2024-02-29"
    with pytest.raises(UserError, match=r"'when' of f.csv .* but has '3-2-2024'; write them as"):
        days_since_epoch(pa.array(["2024-02-03", "3-2-2024"]), "when", "f.csv")
    with pytest.raises(UserError, match=r"'when' of f.csv has '2023-02-30', which isn't a date"):
        days_since_epoch(pa.array(["2024-02-03", "", "2023-02-30"]), "when", "f.csv")
    with pytest.raises(UserError, match="holds dates in the model but double values"):
        days_since_epoch(pa.array([1.0]), "when", "f.csv")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "id": range(1, N + 1),
            "when": pd.date_range("2024-01-01", periods=N).astype(str),
            "width": rng.normal(size=N),
            "gap": np.where(np.arange(N) % 10 == 3, np.nan, rng.normal(size=N)),
            "shop_id": np.arange(N) % 3,
            "state": np.where(np.arange(N) < 50, "ok", "broken"),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_a_file_is_described(table):
    found = read_training(table).choose(choose_all_rows(N))
    kinds = {column.name: column.kind for column in found.profile}
    assert kinds == {
        "id": "left out",
        "when": "left out",
        "width": "number",
        "gap": "number",
        "shop_id": "category",
        "state": "category",
    }
    gap, state = found.profile[3], found.profile[5]
    assert (gap.missing, gap.distinct) == (6, 54)
    assert state.shown == "'ok' (50), 'broken' (10)"
    assert [*map(as_arguments, found.notes)] == [
        "6 missing numbers filled in with the median ('gap': 6), and marked with extra "
        "columns; missing='skip' drops these rows",
        "columns left out: 'id' (counts the rows), 'when' (dates); keep=[COLUMN] keeps one, "
        "dates=[COLUMN] learns from weekday, month and hour",
        "taken as categories: 'shop_id' (the name suggests a running number); keep=[COLUMN] "
        "keeps the numbers",
    ]
    assert found.numbers.tolist() == list(range(1, N + 1))


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (lambda k: f"{k},5" if k % 3 else f"{k}.5", "left out"),
        (lambda k: f"{k}.50 €" if k % 2 else f"$ {k}", "left out"),
        (lambda k: f"{k % 7} %" if k % 2 else f"{k % 7} €", "category"),
    ],
)
def test_numbers_that_are_not_read_are_spoken_of(write, kind):
    cells = [write(k) for k in range(10, 10 + N)]
    found = _why("price", cells)
    assert found[0] == kind
    assert f"numbers such as '{cells[0]}' in mixed notations" in found[1]


@pytest.mark.parametrize("write", [lambda k: f"0{k % 7}", lambda k: f"A {k % 7},000"])
def test_codes_are_not_taken_for_numbers_that_are_not_read(write):
    assert _why("code", [write(k) for k in range(N)]) is None


def test_ranges_are_shown_without_exponents(tmp_path):
    path = tmp_path / "prices.csv"
    pd.DataFrame({"price": np.linspace(0.25, 123456.4, N)}).to_csv(path, index=False)
    found = read_training(path).choose(choose_all_rows(N))
    assert found.profile[0].shown.startswith("0.25 to 123,456, median ")


def test_kept_dates_are_numbers_of_days(table):
    options = ColumnOptions(keep=["when", "shop_id"])
    found = read_training(table, options).choose(choose_all_rows(N))
    assert found.schema.names("date") == ["when"]
    assert found.schema.names("number") == ["width", "gap", "shop_id"]
    np.testing.assert_array_equal(np.diff(found.rows["when"]), 1.0)
    _encoder, X, _schema = fit_encoder(found.schema, found.rows, table)
    assert abs(X[:, 0].mean()) < 1e-12


def test_gaps_are_filled_and_marked(table):
    options = ColumnOptions(drop=["state", "shop_id"])
    found = read_training(table, options).choose(choose_all_rows(N))
    encoder, X, _ = fit_encoder(found.schema, found.rows, table)
    missing = found.rows["gap"].isna().to_numpy()
    assert X.shape == (N, 3)
    np.testing.assert_array_equal(X[:, 2], missing)
    values = found.rows["gap"].fillna(found.rows["gap"].median())
    np.testing.assert_allclose(X[:, 1], (values - values.mean()) / values.std(ddof=0))
    new = pd.DataFrame({"width": [np.nan], "gap": [0.0]})
    expected = (found.rows["width"].median() - found.rows["width"].mean()) / found.rows[
        "width"
    ].std(ddof=0)
    np.testing.assert_allclose(encoder.transform(new)[0, 0], expected)


@pytest.mark.parametrize(("missing", "rows"), [("impute", 4), ("skip", 2)])
def test_matrices_with_gaps(tmp_path, missing, rows):
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [2.0, np.nan], [5.0, 1.0]])
    np.save(tmp_path / "d.npy", X)
    found = read_training(tmp_path / "d.npy").choose(choose_all_rows(4), missing)
    encoder, encoded, schema = fit_encoder(found.schema, found.rows, "d")
    assert encoded.shape == (rows, 4 if missing == "impute" else 2)
    assert schema.missing == ("impute" if missing == "impute" else "refuse")
    if missing == "impute":
        np.testing.assert_array_equal(encoded[:, 2:], np.isnan(X))
        assert np.isfinite(encoder.transform(X)).all()


def test_rows_of_other_classes(table):
    file = read_training(table, ColumnOptions(target="state"))
    roles = choose_normal_rows(file.labels, "ok")
    found = file.choose(roles)
    assert found.numbers.tolist() == list(range(1, 51))
    encoder, X, schema = fit_encoder(found.schema, found.rows, table)
    inputs, numbers = select_encoder_rows(file, schema, np.arange(50, N))
    np.testing.assert_array_equal(numbers, np.arange(51, N + 1))
    others = encoder.transform(inputs)
    assert others.shape == (10, X.shape[1])
    assert np.isfinite(others).all()


@pytest.mark.parametrize("value", [-99, -999, -9999, -99999.0, 99, 999, 9999, 999999])
@pytest.mark.parametrize("kind", [float, str])
def test_numbers_that_mark_missing_values(value, kind):
    numbers = [1, 2.5, 3, 4, 7, 9, value, value]
    column = ColumnValues(pa.array([kind(number) for number in numbers]))
    (note,) = describe_sentinels({"a": column})
    assert note.startswith(f"'a' has {value:g} in 2 rows; if this marks a missing value")


@pytest.mark.parametrize(
    "numbers",
    [
        [1, 2, 3, 4, 5, 6, -999],  # once
        [-998, -500, 1, 2, 3, 4, -999, -999],  # one among others
        [1, 2, 3, 4, 5, 6, 1000, 1000],
        [1, 99, 99],  # hardly any others
        [],
    ],
)
def test_numbers_that_mark_nothing(numbers):
    assert describe_sentinels({"a": ColumnValues(pa.array(numbers, pa.float64()))}) == []
