"""Rows that say nothing, and what was never seen, are not normal to models of one class."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import euclidean_distances

from fewlabels import SVDD, SVDDEnsemble, TableEncoder, fit_table, load
from fewlabels._util.messages import UserError
from fewlabels.pipeline import explain, score_file, update
from fewlabels.tables.encoding.blanks import BlankColumns

RATE = 0.05


def _table(seed=0, n=200, shares=(0.5, 0.3, 0.15, 0.05)):
    rng = np.random.default_rng(seed)
    names = np.array([f"k{k}" for k in range(len(shares))], dtype=object)
    return pd.DataFrame(
        {
            "kind": rng.choice(names, n, p=shares),
            "heat": rng.normal(size=n),
            "load": rng.normal(size=n),
            "paid": rng.choice(np.array(["yes", "no"], dtype=object), n),
        }
    )


def _zipf(count):
    shares = 1.0 / np.arange(1, count + 1)
    return shares / shares.sum()


def _svdd(table, **options):
    options = {"method": "svdd", "target_fpr": RATE, "rows": True, "n_jobs": 1, **options}
    return fit_table(table, time_budget=0, report=False, **options)


@pytest.mark.parametrize(
    "shares",
    [(0.5, 0.3, 0.15, 0.05), (0.5, 0.5), (0.985, 0.015), (0.6, 0.36, 0.02, 0.02), _zipf(60)],
    ids=["four", "two", "one rare", "two rare", "long tail"],
)
def test_a_category_never_seen_is_no_nearer_to_any_row_than_the_rarest(shares):
    table = _table(shares=shares)
    encoder = TableEncoder(categorical="kind").fit(table)
    X = encoder.transform(table)
    rarest = table["kind"].value_counts().index[-1]
    others = np.flatnonzero(table["kind"] != rarest)
    known, unseen = (
        euclidean_distances(encoder.transform(table.head(20).assign(kind=kind)), X, squared=True)
        for kind in (rarest, "never seen")
    )
    assert (unseen >= known - 1e-12).all()
    if len(shares) < 5:  # nothing like it: farther from each row than most are
        assert (unseen[:, others] >= known[:, others] - 1e-12).all()
        assert np.median(unseen) > np.median(euclidean_distances(X, squared=True))


@pytest.mark.parametrize("shares", [(0.4, 0.3, 0.2, 0.1), (0.6, 0.3, 0.06, 0.04), (0.9, 0.1)])
def test_a_category_never_seen_is_the_rarest_and_as_much_farther_from_every_row(shares):
    table = _table(n=100)
    kinds = [f"k{k}" for k in range(len(shares))]
    table["kind"] = np.repeat(kinds, np.rint(100 * np.array(shares)).astype(int))
    encoder = TableEncoder(categorical="kind").fit(table)
    X = encoder.transform(table)
    rarest, unseen = (
        euclidean_distances(encoder.transform(table.head(5).assign(kind=kind)), X, squared=True)
        for kind in (kinds[-1], "never seen")
    )
    assert np.ptp(unseen - rarest) < 1e-12 and np.mean(unseen - rarest) > 1.0
    # So the nearest centres of an isolation kernel stay, too.
    model = SVDDEnsemble(n_bags=8, n_jobs=1).fit(X)
    known, new = (
        model.score_samples(encoder.transform(table.assign(kind=kind)))
        for kind in (kinds[-1], "never seen")
    )
    assert (new <= known + 1e-9).all()


@pytest.mark.parametrize("machine", ["svdd", "one-class", "svdd-ensemble"])
def test_new_blanks_are_no_more_usual_where_many_rows_have_some(machine):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(60, 8)), columns=[f"v{k}" for k in range(8)])
    for k in range(2, 8):  # a tenth of the rows have a blank that no other row has
        table.iloc[k, k] = np.nan
    new = pd.DataFrame(rng.normal(size=(300, 8)), columns=table.columns)
    options = {"method": machine, "target_fpr": RATE, "n_jobs": 1}
    found = fit_table(table, time_budget=0, report=False, **options)
    usual = found.predict(new)["p_value"].median()
    for name in ("v0", "v2"):
        assert found.predict(new.assign(**{name: np.nan}))["p_value"].median() <= usual, name


def test_what_was_never_seen_is_unusual():
    table = _table()
    found = _svdd(table)
    some, usual = table.head(40), found.predict(table.head(40))["p_value"].median()
    for new in ({"kind": "zz"}, {"kind": ""}, {"heat": np.nan}, {"paid": ""}, {"paid": "perhaps"}):
        p = found.predict(some.assign(**new))["p_value"]
        assert p.median() < 0.1 < usual, new
    both = found.predict(some.assign(heat=np.nan, load=np.nan))["p_value"]
    assert both.median() <= RATE


@pytest.mark.parametrize("count", [50, 200, 1000])
@pytest.mark.parametrize("calibration", ["leave-one-out", "split"])
def test_false_alarms_keep_their_rate_with_many_categories(count, calibration):
    shares = []
    for seed in range(4):
        table = _table(seed, 600, _zipf(count))[["kind", "paid"]]
        train, new = table[:300], table[300:]
        encoder = TableEncoder(categorical="kind").fit(train)
        model = SVDD(target_fpr=RATE, calibration=calibration, n_jobs=1, random_state=seed)
        model.fit(encoder.transform(train))
        shares.append(float((model.p_values(encoder.transform(new)) <= RATE).mean()))
    # Four standard errors of both halves; 1000 categories gave .17 when unseen ones stood apart.
    assert np.mean(shares) < RATE + 4 * np.sqrt(RATE * (1 - RATE) * (2 / 300) / 4)


def test_a_row_without_any_value_has_no_score_or_is_outside(tmp_path):
    table = _table()
    found = _svdd(table)
    rows = table.head(3).copy()
    rows.loc[1] = ["", np.nan, np.nan, ""]
    blank = found.predict(rows)
    assert blank.loc[1].isna().all() and blank.loc[[0, 2]].notna().all(axis=None)
    alarm = found.predict(rows, empty_rows="alarm")
    pd.testing.assert_frame_equal(alarm.loc[[0, 2]], blank.loc[[0, 2]])
    assert alarm.loc[1, "label"] == "outside" and np.isnan(alarm.loc[1, "score"])
    assert alarm.loc[1, "p_value"] == pytest.approx(1 / 201)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    flagging = _svdd(table, empty_rows="alarm")
    flagging.save(tmp_path / "m.fewlabels")
    told = score_file(tmp_path / "m.fewlabels", tmp_path / "rows.csv", tmp_path / "out.csv")
    assert told["empty_rows"] == {"count": 1, "are": "alarm"} and told["skipped"] == 0
    assert pd.read_csv(tmp_path / "out.csv").loc[1, "label"] == "outside"
    with pytest.raises(UserError, match="has no value in any column"):
        explain(tmp_path / "m.fewlabels", table.assign(**dict.fromkeys(table, "")), [1])
    with pytest.raises(UserError, match="empty_rows"):
        found.predict(rows, empty_rows="never")


def test_rows_without_any_value_train_nothing():
    table = _table()
    holes = pd.concat([table, pd.DataFrame({name: [""] * 30 for name in table})])
    holes[["heat", "load"]] = holes[["heat", "load"]].apply(pd.to_numeric)
    found = _svdd(holes)
    assert found.model[-1].shape_fit_[0] == len(table)
    assert any("30 rows without any value" in note for note in found.notes)
    np.testing.assert_allclose(
        found.predict(table)["score"], _svdd(table).predict(table)["score"], atol=1e-12
    )


def test_rows_of_a_matrix_without_any_number():
    X = np.random.default_rng(0).normal(size=(80, 3))
    found = fit_table(X, time_budget=0, report=False, method="svdd", target_fpr=RATE)
    new = X[:4].copy()
    new[1], new[2, 0] = np.nan, np.nan
    answers = found.predict(new)
    assert np.isnan(answers["p_value"][1]) and answers["p_value"][2] < 0.1


@pytest.mark.parametrize("scale", [None, [3.0, 0.5]])
def test_marks_of_blanks(scale):
    X = np.zeros((100, 2))
    X[:20, 0] = X[20, 1] = np.nan
    step = BlankColumns(scale).fit(X)
    unit = np.ones(2) if scale is None else np.array(scale)
    found = step.transform(X)
    np.testing.assert_allclose(found[:20], [[unit[0], 0.0]] * 20)
    np.testing.assert_allclose(found[20], [0.0, np.sqrt(2.0) * unit[1]])
    # More blanks than all rows but one have.
    many = np.full((1, 3), np.nan)
    rows = np.zeros((50, 3))
    rows[:5, 0] = rows[5:10, 1] = rows[10:15, 2] = np.nan
    assert BlankColumns().fit(rows).transform(many)[0, -1] == pytest.approx(2.0)


def test_blanks_that_are_usual_are_ordinary():
    rng = np.random.default_rng(9)
    table = _table(n=300)
    table.loc[rng.random(300) < 0.3, "heat"] = np.nan
    p = _svdd(table).predict(table.head(60).assign(heat=np.nan))["p_value"]
    assert 0.2 < p.median() < 0.9


def test_a_category_that_arrives_becomes_known(tmp_path):
    table, path = _table(), tmp_path / "m.fewlabels"
    found = _svdd(table)
    before = found.predict(table.assign(kind="zz"))["p_value"].median()
    found.save(path)
    new = table.head(30).assign(kind="zz")
    new.loc[0, "kind"] = "once"
    told = update(path, new)
    assert any("knows now: 'zz' (29) in 'kind'" in note for note in told["notes"])
    assert any("'once' (1)" in note and "knows now" not in note for note in told["notes"])
    later = load(path)
    zz, other = (later.predict(table.assign(kind=kind)) for kind in ("zz", "other"))
    assert before < RATE < zz["p_value"].median()
    assert (zz["score"] >= other["score"]).all()
    told = update(path, table.head(2).assign(kind="once"))  # which comes again
    assert any("knows now: 'once' (2)" in note for note in told["notes"])
    zz_again = load(path).predict(table.assign(kind="zz"))["p_value"]
    assert zz_again.median() == pytest.approx(zz["p_value"].median(), abs=0.1)


def test_onnx_says_the_same():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from fewlabels.onnx import to_onnx

    table = _table(shares=_zipf(40))
    table.loc[:20, "heat"] = np.nan
    table.loc[5, ["load", "paid"]] = [np.nan, ""]
    model = _svdd(table, categorical="kind").model
    rows = table.head(60).copy()
    rows.loc[:9, "kind"] = "never seen"
    rows.loc[5:14, "paid"], rows.loc[8:19, "load"] = "perhaps", np.nan
    cells = {
        name: column.to_numpy(float if name in ("heat", "load") else object)[:, None]
        for name, column in rows.items()
    }
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    (scores,) = session.run(["score"], cells)
    np.testing.assert_allclose(np.ravel(scores), model.decision_function(rows), atol=1e-12)


def test_texts_without_a_known_word_are_no_nearer_than_others():
    rng = np.random.default_rng(0)
    words = np.array("pump valve leaks works again today never oil old new".split())
    notes = [" ".join(rng.choice(words, 5)) for _ in range(120)]
    encoder = TableEncoder(text="note").fit(pd.DataFrame({"note": notes}))
    X = encoder.transform(pd.DataFrame({"note": notes}))
    new = encoder.transform(pd.DataFrame({"note": ["", "qwertz"]}))
    apart = euclidean_distances(new, X)
    assert apart.min() >= euclidean_distances(X).max() - 1e-12


def test_explanations_add_up_with_new_categories_and_blanks():
    from fewlabels.inspection import explain as explain_model

    table = _table()
    model = _svdd(table).model
    rows = table.head(2).assign(kind=["zz", "k0"], heat=[0.1, np.nan])
    found = explain_model(model, rows, background=table.tail(20))
    assert found.method == "exact"
    np.testing.assert_allclose(
        found.contributions.sum(axis=1), found.decision - found.base, atol=1e-9
    )
    assert found.frame(0)["column"][0] == "kind" and found.frame(1)["column"][0] == "heat"


def test_out_of_bag_scores_calibrate_unseen_categories():
    shares = []
    for seed in range(3):
        table = _table(seed, 600, _zipf(200))[["kind", "heat", "load"]]
        train, new = table[:300], table[300:]
        encoder = TableEncoder(categorical="kind").fit(train)
        model = SVDDEnsemble(n_jobs=1, n_bags=10).fit(encoder.transform(train))
        shares.append(float((model.p_values(encoder.transform(new)) <= RATE).mean()))
    assert np.mean(shares) < RATE + 4 * np.sqrt(RATE * (1 - RATE) * (2 / 300) / 3)
