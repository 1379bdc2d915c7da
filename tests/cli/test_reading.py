"""Tables as other programs write them, through every command."""

import csv
import itertools
import json

import numpy as np
import pytest

HEADER = ["größe", "gewicht", "anteil", "preis", "art", "status"]


def make_rows(n=90):
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        sought = k % 3 == 0
        rows.append([rng.normal() + 2 * sought, abs(rng.normal(70 + 20 * sought, 5)),
                     int(rng.integers(0, 100)), rng.uniform(1e3, 1e5), rng.choice(["grün", "rot"]),
                     "Betrug" if sought and k < 60 else ""])  # fmt: skip
    return rows


ROWS = make_rows()


def german(row):
    size, weight, share, price, kind, status = row
    price = f"{price:,.2f} €".replace(",", "T").replace(".", ",").replace("T", ".")
    return [f"{size:.2f}".replace(".", ","), f"{weight:.1f} kg".replace(".", ","), f"{share} %",
            price, kind, status]  # fmt: skip


def english(row):
    size, weight, share, price, kind, status = row
    return [f"{size:.2f}", f"{weight:.1f} kg", f"{share}%", f"€{price:,.2f}", kind, status]


def plain(row):
    return [f"{row[0]:.2f}", f"{row[1]:.1f}", row[2], f"{row[3]:.2f}", *row[4:]]


def write(path, form=german, sep=";", encoding="cp1252", header=HEADER, rows=ROWS):
    with open(path, "w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=sep)
        writer.writerows(([header] if header else []) + [form(row) for row in rows])
    return path


@pytest.fixture(scope="module")
def model(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    result = run("fit", write(folder / "de.csv"), "-o", folder / "m", "--target", "status",
                 "--prior", "0.2", "--rows")  # fmt: skip
    assert result.code == 0, result.err
    assert "de.csv has semicolons between its cells and its text in cp1252, as a" in result.err
    assert "'preis' (in €, with decimal commas)" in result.err
    assert "4 of numbers, 1 of categories" in result.out
    return folder / "m"


def scores(run, model, path, *options):
    out = path.parent / "out.csv"
    result = run("predict", model, path, "-o", out, *options)
    assert result.code == 0, result.err
    with open(out, newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    return [float(row["score"]) for row in found], found, result


WRITTEN = {
    "as in training": dict(),
    "utf-16": dict(encoding="utf-16"),
    "commas": dict(sep=",", encoding="utf-8"),
    "tabs": dict(sep="\t", encoding="utf-8-sig"),
    "english": dict(form=english, sep=",", encoding="utf-8"),
    "without units": dict(form=plain, sep=",", encoding="utf-8"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_model_takes_files_written_otherwise(run, model, tmp_path, name):
    first, _, _ = scores(run, model, write(tmp_path / "a.csv"))
    path = write(tmp_path / "b.csv", **WRITTEN[name])
    again, found, result = scores(run, model, path)
    assert again == first
    assert len(set(first)) > 80
    # Cells come out as they are, in a file of commas.
    form = WRITTEN[name].get("form", german)
    assert [[row[n] for n in HEADER] for row in found] == [[*map(str, form(r))] for r in ROWS]
    assert ("no unit; assuming the model's unit" in result.err) == (name == "without units")
    told = run("explain", model, path, "--row", 2)
    assert told.code == 0, told.err
    assert f"{ROWS[1][1]:.1f}" in told.out


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda row: [c.replace("kg", "g") for c in german(row)], [],
         "is in 'g', but the model was fitted to numbers in 'kg'; convert"),
        (lambda row: [c.replace("kg", "g" if row is ROWS[7] else "kg") for c in german(row)], [],
         r"holds numbers in kg in the model but row 8 of b.csv has '[\d,]+ g'"),
        (german, ["--decimal", "."], "row 1 of b.csv has '"),
        (german, ["--sep", ","], "seems to be separated by semicolons"),
        (german, ["--encoding", "utf-8"], "text is not UTF-8"),
        (german, ["--no-header"], r"lacks the columns 'größe'.*; it has 'column_1'"),
    ],
)  # fmt: skip
def test_other_files_are_refused(run, model, tmp_path, monkeypatch, change, options, message):
    import re

    monkeypatch.chdir(tmp_path)
    write(tmp_path / "b.csv", change)
    result = run("predict", model, "b.csv", "-o", "out.csv", *options)
    assert result.code == 2
    assert re.search(message, result.err), result.err
    assert not (tmp_path / "out.csv").exists()


def test_prior_and_update(run, tmp_path):
    path = write(tmp_path / "de.csv")
    told = run("prior", path, "--target", "status", "--json", "--sep", ";", "--encoding", "cp1252",
               "--decimal", ",")  # fmt: skip
    other = run("prior", write(tmp_path / "en.csv", english, ",", "utf-8"), "--target", "status",
                "--json")  # fmt: skip
    assert json.loads(told.out)["prior"] == json.loads(other.out)["prior"]
    run("fit", path, "-o", tmp_path / "m", "--C", "1", "--rows", "--drop", "status")
    done = run("update", tmp_path / "m", write(tmp_path / "more.csv", english, ",", "utf-8"))
    assert done.code == 0, done.err
    assert "90 before, 180 now" in done.out
    assert "'preis' (in €)" in done.err


def test_without_a_header(run, tmp_path):
    path = write(tmp_path / "n.csv", header=None)
    said = run("fit", path, "-o", tmp_path / "x", "--C", "1")
    assert "is used as column names but looks like data; if it is data, pass --no-h" in said.err
    done = run("fit", path, "-o", tmp_path / "m", "--target", "column_6", "--no-header",
               "--prior", "0.2")  # fmt: skip
    assert done.code == 0, done.err
    assert "looks like data" not in done.err
    first, found, _ = scores(run, tmp_path / "m", path)  # the model remembers
    assert list(found[0])[:2] == ["column_1", "column_2"]
    named = write(tmp_path / "h.csv", header=[f"column_{k}" for k in range(6, 0, -1)],
                  form=lambda row: german(row)[::-1])  # fmt: skip
    assert scores(run, tmp_path / "m", named, "--header")[0] == first


def test_classes_written_in_two_ways(run, tmp_path):
    count = itertools.count()

    def mixed(row):
        cells = german(row)
        how = [str.lower, str.upper, lambda text: f"{text} "][next(count) // 3 % 3]
        return [*cells[:-1], how(cells[-1]) if cells[-1] else ""]

    path = write(tmp_path / "c.csv", mixed)
    fit = ["fit", path, "-o", tmp_path / "m", "--target", "status", "--prior", "0.2"]
    refused = run(*fit)
    assert refused.code == 2
    assert "differ only in case, spaces or Unicode form: " in refused.err
    assert "pass --merge-case if they are one class, or --no-merge-case" in refused.err
    merged = run(*fit, "--merge-case")
    assert "20 rows labelled 'betrug'" in merged.out
    more = write(tmp_path / "more.csv", lambda row: [*german(row)[:-1], "bEtRuG"])
    three = run(*fit, "--no-merge-case")
    assert three.code == 2
    assert "holds three classes, 'BETRUG', 'Betrug', 'betrug', and blanks" in three.err
    run(*fit[:4], "--target", "status", "--merge-case", "--prior", "0.2", "--rows")
    assert "90 labelled (90 'betrug')" in run("update", tmp_path / "m", more).out


def test_names_of_output_columns_are_noticed(run, tmp_path):
    path = write(tmp_path / "d.csv", header=["score", *HEADER[1:-1], "label"])
    fit = ["fit", path, "-o", tmp_path / "m", "--target", "label", "--prior", "0.2"]
    said = run(*fit)
    assert said.code == 0
    assert "'label', 'score': 'predict' adds columns with these names; for files that" in said.err
    assert run("predict", tmp_path / "m", path, "-o", tmp_path / "o.csv").code == 2
    assert (
        run("predict", tmp_path / "m", path, "-o", tmp_path / "o.csv", "--prefix", "x").code == 0
    )


def test_from_a_notebook(tmp_path):
    import pandas as pd

    from fewlabels import fit_table
    from fewlabels._util.messages import UserError

    path = write(tmp_path / "de.csv")
    options = dict(target="status", prior=0.2, time_budget=0, report=False)
    found = fit_table(path, sep=";", decimal=",", encoding="cp1252", **options)
    same = fit_table(pd.read_csv(write(tmp_path / "en.csv", english, ",", "utf-8")), **options)
    one, other = found.predict(path, decimal=","), same.predict(path)
    assert one["score"].tolist() == other["score"].tolist()
    assert any("'gewicht' (in kg)" in note for note in same.notes)
    with pytest.raises(UserError, match="sep: these options are for reading text files"):
        fit_table(pd.DataFrame({"a": [1, 2]}), sep=";")
