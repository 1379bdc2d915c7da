"""tune: the rule without labels, the searches with some, budgets, Ctrl-C, the account."""

import pickle
import warnings

import joblib
import matplotlib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, tune
from fewlabels.kernels import Trees
from fewlabels.metrics import make_pu_scorer
from fewlabels.model_selection import (
    LabeledKFold,
    PUKFold,
    far_from_neighbors,
    neighbor_gamma,
    shuffled_columns_score,
)
from fewlabels.model_selection.one_class import tuning as tuning_one_class
from fewlabels.model_selection.positive_unlabelled import tuning as tuning_pu
from fewlabels.model_selection.semi_supervised import labelled_rows
from fewlabels.model_selection.tune import tune_within
from fewlabels.model_selection.tuning import search as tuning_search
from fewlabels.rows import neighbors as tuning_neighbors

pytestmark = pytest.mark.usefixtures("few_trees")

matplotlib.use("Agg")


@pytest.fixture
def rows(rng):
    """A ring, and a few rows inside it and far away."""
    angle = rng.uniform(0, 2 * np.pi, 140)
    ring = np.c_[np.cos(angle), np.sin(angle)] + rng.normal(0, 0.05, (140, 2))
    return np.concatenate([ring, rng.normal(0, 0.05, (6, 2)), rng.normal(4, 0.2, (6, 2))])


@pytest.fixture
def pu_data(rng):
    truth = np.r_[np.ones(40), rng.random(120) < 0.4]
    X = rng.normal(0, 1, (160, 3)) + 2.0 * truth[:, None]
    return X, np.r_[np.ones(40), np.zeros(120)], truth


@pytest.fixture
def semi_data(rng, monkeypatch):
    """Two clouds, nine labels of each, as strings and missing ones; folds are not repeated."""
    monkeypatch.setattr(labelled_rows, "_MAX_REPEATS", 1)
    truth = np.repeat([0, 1], 30)
    X = rng.normal(0, 1, (60, 2)) + 2.5 * truth[:, None]
    y = np.full(60, None, dtype=object)
    y[:9], y[30:39] = "no", "yes"
    return X, y, truth


# -- distances to neighbours -----------------------------------------------------------------


def test_gamma_and_trim_are_those_of_the_distance_matrix(rows):
    distance = np.sort(euclidean_distances(rows), axis=1)  # column 0 is the row itself
    q = round(np.sqrt(len(rows)))
    assert neighbor_gamma(rows, 3.0) == pytest.approx(3.0 / np.median(distance[:, q]) ** 2)
    assert neighbor_gamma(sp.csr_array(rows)) == pytest.approx(neighbor_gamma(rows))
    far = far_from_neighbors(rows, 0.25)
    assert far.sum() == int(0.25 * len(rows))
    assert distance[far, q].min() >= distance[~far, q].max()
    assert far[-12:].all()  # the few rows apart from the ring


def test_rows_that_are_equal(rng):
    assert neighbor_gamma(np.ones((9, 3))) == 1.0
    mostly = np.r_[np.full((20, 1), 1e6), [[1e6 + 0.5], [1e6 + 2.0]]]
    distance = np.sort(euclidean_distances(mostly - 1e6), axis=1)[:, 5]
    assert neighbor_gamma(mostly) == pytest.approx(4.0 / distance[distance > 0].min() ** 2)
    with pytest.raises(ValueError, match="2 rows at least"):
        neighbor_gamma([[1.0]])
    with pytest.raises(ValueError, match=r"share=1\.0 is not allowed"):
        far_from_neighbors(rng.normal(size=(9, 2)), 1.0)


def test_a_sample_stands_for_many_rows(rng, monkeypatch):
    X = rng.normal(size=(1200, 3))
    exact = neighbor_gamma(X), far_from_neighbors(X, 0.3)
    monkeypatch.setattr(tuning_neighbors, "_REFERENCES", 400)
    assert neighbor_gamma(X) == pytest.approx(exact[0], rel=0.2)
    assert np.mean(far_from_neighbors(X, 0.3) == exact[1]) > 0.85


def test_reach_keeps_kernel_values_visible(rng):
    rows = np.r_[rng.normal(0, 0.1, (80, 2)), rng.normal(0, 3.0, (20, 2))]
    far = np.arange(100) >= 80
    gamma = tuning_neighbors.gamma_for_reach(rows, far, 0.05)
    mean = rbf_kernel(rows[far], rows[~far], gamma=gamma).mean(axis=1)
    assert np.sum(mean < 1e-16) <= 5
    assert np.sum(rbf_kernel(rows[far], rows[~far], gamma=20 * gamma).mean(axis=1) < 1e-16) > 5
    # Rows at the end of the world do not make the kernel flat.
    rows[80:] *= 1e4
    core = rows[:80]
    spread = np.mean(euclidean_distances(core, squared=True))
    assert tuning_neighbors.gamma_for_reach(rows, far, 0.05) == pytest.approx(1e-4 / spread)


# -- without labels --------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [SVDD(), OneClassSVM(), SVDD(slack="linear")])
def test_rule_without_labels(estimator, rows):
    before = estimator.get_params()
    model = tune(estimator, rows)
    assert estimator.get_params() == before and not hasattr(estimator, "support_")
    far = far_from_neighbors(rows, 0.4)
    # The rows far off lie beyond the reach of the narrow kernel; more of them than half a target.
    gamma = min(neighbor_gamma(rows[~far]), tuning_neighbors.gamma_for_reach(rows, far, 0.025))
    price = {"C": 0.1} if estimator.get_params().get("slack") == "squared" else {"nu": 0.1}
    assert model.tuning_.chosen == {"gamma": gamma, **price, "target_fpr": 0.05}
    assert model.gamma_ == gamma and not far[model.support_].any()
    # What was left out of training still takes part in the threshold.
    assert len(model.calibration_scores_) == len(rows)
    assert 0.0 < np.mean(model.predict(rows) == -1) < 0.15
    assert model.predict([[9.0, 9.0]]) == -1


def test_account_of_the_rule(rows):
    result = tune(SVDD(), rows).tuning_
    table = result.candidates
    assert len(table) in (9, 10) and table["chosen"].sum() == 1 and table["chosen"][0]
    assert set(table["trim"]) == {0.0, 0.3, 0.4}
    assert result.fits == len(table) + 1
    assert result.kernel_values > result.fit_kernel_values > 0
    assert result.seconds >= result.fit_seconds > 0 and result.stopped == ""
    assert table["rank_correlation"][0] == pytest.approx(1.0)
    assert table["auc_shuffled"].between(0.3, 1.0).all()
    assert "for information only" in result.reason and "60 of 152 rows" in result.reason
    assert result.reason in repr(result)


def test_clean_rows_all_train(rows):
    model = tune(OneClassSVM(target_fpr=0.1), rows[:140], contaminated=False)
    assert "all rows are used" in model.tuning_.reason
    assert model.tuning_.chosen.keys() == {"gamma", "nu"} and model.target_fpr == 0.1
    assert model.tuning_.candidates["dropped"][0] == 0
    assert model.gamma_ == pytest.approx(neighbor_gamma(rows[:140]))
    # The middle of the ring is told from the ring, which the default width cannot.
    test = np.r_[rows[:140], rows[140:146]]
    inside = np.arange(146) < 140
    assert roc_auc_score(inside, model.score_samples(test)) > 0.99
    assert roc_auc_score(inside, OneClassSVM().fit(rows[:140]).score_samples(test)) < 0.5


def test_weights_without_labels(rows):
    weight = np.ones(len(rows))
    weight[:30] = 0.0
    model = tune(SVDD(), rows, sample_weight=weight)
    alone = tune(SVDD(), rows[30:])
    assert model.tuning_.chosen == alone.tuning_.chosen
    assert np.array_equal(model.support_, alone.support_ + 30)


@pytest.mark.filterwarnings("ignore:the radius is 0")
def test_few_rows_and_a_budget_of_nothing(rng):
    with pytest.warns(UserWarning, match="needs at least 19 calibration rows"):
        few = tune(SVDD(), rng.normal(size=(6, 2)), contaminated=False)
    assert len(few.tuning_.candidates) == 1 and few.tuning_.candidates["chosen"][0]
    short = tune(SVDD(), rng.normal(size=(60, 2)), time_budget=1e-9).tuning_
    assert short.stopped == "time budget" and "ended early by its time budget" in short.reason
    assert short.fits == 1


def test_sparse_rows(rng):
    X = sp.random(80, 30, 0.2, format="csr", random_state=0)
    model = tune(OneClassSVM(), X)
    assert model.tuning_.candidates["auc_shuffled"].notna().all()
    broken = tuning_one_class.shuffled_columns(X, 0)
    assert np.allclose(np.sort(broken.toarray(), axis=0), np.sort(X.toarray(), axis=0))
    assert not np.array_equal(broken.toarray(), X.toarray())


# -- positive and unlabelled rows ------------------------------------------------------------


def test_pusvm_scores_are_those_of_a_grid_search(pu_data):
    X, y, truth = pu_data
    model = tune(PUSVM(prior=0.4, tol=1e-6), X, y, random_state=3)
    table = model.tuning_.candidates
    seed = tuning_search.Search(60, False, 3).seed
    some = table.iloc[[0, 9, 20]]
    for line in some.itertuples():
        grid = GridSearchCV(
            PUSVM(prior=0.4, tol=1e-6),
            {"gamma": [line.gamma], "lam": [line.lam]},
            scoring=make_pu_scorer("auc-risk", prior=0.4),
            cv=PUKFold(5, shuffle=True, random_state=seed),
            refit=False,
        ).fit(X, y)
        assert line.score == pytest.approx(grid.cv_results_["mean_test_score"][0], abs=1e-6)
    chosen = table[table["chosen"]].iloc[0]
    assert chosen["score"] == pytest.approx(table["score"].max())
    assert model.lam_ == pytest.approx(chosen["lam"])
    assert model.gamma_ == pytest.approx(chosen["gamma"])
    same = clone(model).fit(X, y)
    assert np.allclose(same.decision_function(X), model.decision_function(X))
    assert np.mean((model.predict(X) == 1) == truth) > 0.8
    assert model.tuning_.fits == 5 * len(table) + 1


def test_of_equal_scores_the_nearest_to_those_given():
    table = pd.DataFrame({"lam": [1.0, 0.1, 0.01, 0.1], "gamma": [1.0, 1.0, 1.0, 4.0]})
    choose = tuning_pu._choose_nearest_of_best
    assert choose(table.assign(score=[0.9, 0.9, 0.8, 0.9]), 2) == 1
    assert choose(table.assign(score=[0.9, 0.8, 0.8, 0.9]), 2) == 3
    assert choose(table.assign(score=[0.9, 0.9, 0.9, 0.9], gamma=0.0), 2) == 2
    assert choose(table.assign(score=[np.nan, 0.1, 0.2, 0.3]), 2) == 3


def test_pusvm_estimates_its_prior_once(pu_data):
    X, y, _ = pu_data
    model = tune(PUSVM(), pd.DataFrame(X, columns=list("abc")), y)
    assert model.prior == "estimate" and 0 < model.prior_ < 1
    assert list(model.feature_names_in_) == list("abc")
    assert f"prior {model.prior_:.3g}" in model.tuning_.reason


def test_pusvm_with_a_matrix_has_no_width(pu_data):
    X, y, _ = pu_data
    model = tune(PUSVM(prior=0.4, kernel="precomputed"), rbf_kernel(X, gamma=0.2), y)
    assert set(model.tuning_.chosen) <= {"lam"}
    assert len(model.tuning_.candidates) == 8


def test_pusvm_counts_the_kernel_values_that_its_folds_share(pu_data):
    X, y, _ = pu_data
    model = PUSVM(prior=0.4, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.2))
    result = tune(model, X, y).tuning_
    assert result.fits > 5 and result.kernel_values == result.fit_kernel_values + 160**2
    with joblib.parallel_config("threading", n_jobs=2):
        several = tune(PUSVM(prior=0.4), X, y).tuning_
    assert several.kernel_values == tune(PUSVM(prior=0.4), X, y).tuning_.kernel_values


def test_puensemble_searches_its_width(pu_data):
    X, y, _ = pu_data
    model = tune(PUEnsemble(prior=0.4, n_bags=3), X, y)
    table = model.tuning_.candidates
    assert len(table) == 3 and table["score"].notna().all()
    assert table["gamma"].to_numpy() == pytest.approx(table["gamma"][0] * np.array([1, 0.25, 4]))
    assert model.gamma_ == pytest.approx(table.loc[table["chosen"], "gamma"].item())
    plain = tune(PUEnsemble(prior=0.4, n_bags=3, kernel="linear"), X, y)
    assert "no settings to choose" in plain.tuning_.reason


def test_a_budget_keeps_what_was_finished(pu_data, monkeypatch):
    X, y, _ = pu_data
    steps = iter(range(1000))
    monkeypatch.setattr(tuning_search.Search, "seconds", property(lambda self: float(next(steps))))
    # Two looks at the clock per fold: the first width is finished, the others are not.
    result = tune(PUSVM(prior=0.4), X, y, time_budget=8).tuning_
    assert result.stopped == "time budget"
    table = result.candidates
    assert table["score"].notna().sum() == 8 and (table["folds"] == 0).any()
    assert table.loc[table["chosen"], "score"].item() == pytest.approx(table["score"].max())


def test_time_is_left_for_the_fits_that_have_to_come(semi_data):
    X, y, _ = semi_data
    whole, short = (
        tune_within(
            tuning_search.Search(6000, False, 0, total_seconds=total), S3VM(), X, y
        ).tuning_
        for total in (6000.0, 1e-3)
    )
    assert not whole.stopped and short.stopped == "time budget"
    assert short.fits < whole.fits


# -- a few labels ------------------------------------------------------------------------------


def test_s3vm_accuracy_is_that_of_cross_validation(semi_data):
    X, y, truth = semi_data
    model = tune(S3VM(), X, y, random_state=1, graph=False)
    table = model.tuning_.candidates
    seed = tuning_search.Search(60, False, 1).seed
    cv = LabeledKFold(5, shuffle=True, random_state=seed)
    for place in (0, 4):
        line = table.iloc[place]
        right = np.zeros(60)
        for train, test in cv.split(X, y):
            fold = S3VM(gamma=line["gamma"]).fit(X[train], y[train])
            right[test] += fold.predict(X[test]) == y[test]
        labelled = right[[*range(9), *range(30, 39)]]
        assert line["accuracy"] == pytest.approx(labelled.mean())
    assert (table["folds"] == 5).all() and table["chosen"].sum() == 1
    assert table["C_star"].iloc[-1] == pytest.approx(0.02 * 5.0)
    assert set(table["kernel"]) == {"rbf", "linear"}
    assert np.mean((model.transduction_ == "yes") == truth) > 0.9
    assert "labels only" in model.tuning_.reason


def test_s3vm_leaves_a_bad_width(semi_data):
    X, y, _ = semi_data
    scaled = S3VM(gamma=300.0)
    model = tune(scaled, X, y, graph=False)
    result = model.tuning_
    assert result.chosen and "above the given settings" in result.reason
    taken = result.candidates[result.candidates["chosen"]].iloc[0]
    assert taken["gain"] > 1.5 * taken["gain_error"]
    assert taken["clear"] and "perhaps by chance" not in result.reason
    # Best of so many: beyond what the best of as many worthless ones would be ahead by.
    beyond = 2.2 * result.candidates["gain_error"]
    assert (result.candidates["gain"] > beyond)[result.candidates["clear"]].all()
    assert clone(model).get_params() == {**scaled.get_params(), **result.chosen}


def test_s3vm_keeps_good_settings(semi_data):
    X, y, _ = semi_data
    X = X * [3.0, 1.0]
    X[30:, 0] += 20.0  # anything is right
    result = tune(S3VM(), X, y).tuning_
    assert result.chosen == {} and "settings are kept" in result.reason
    assert "Unlabelled rows may help or not" in result.reason
    told = result.unlabeled_rows
    assert told.used and told.gain == 0.0 and told.low < 0.0 < told.high


def test_s3vm_with_too_few_labels_says_so(semi_data):
    X, y, _ = semi_data
    y[3:9] = None
    with pytest.warns(UserWarning, match=r"only 3 labelled row\(s\), too few"):
        model = tune(S3VM(), X, y, graph=False)
    assert model.tuning_.chosen == {} and model.tuning_.fits == 1
    assert model.get_params() == S3VM().get_params()


def test_s3vm_counts_kernel_values(semi_data):
    """A kernel of one's own is asked once per pair for all folds, and what it was asked counts."""
    X, y, _ = semi_data
    asked = []

    def kernel(A, B):
        asked.append(len(A) * len(B))
        return rbf_kernel(A, B, gamma=0.2)

    result = tune(S3VM(kernel=kernel), X, y, graph=False).tuning_
    assert result.fits > 10 and result.fit_kernel_values >= 60**2
    # What was asked besides are diagonals.
    assert result.kernel_values <= sum(asked) <= result.kernel_values + 2 * 64 * 60 + 60**2
    assert result.kernel_values < 3 * 60**2 + 2 * 64 * 60
    # Where memory is short, every fit evaluates its own.
    one, two = (tune(S3VM(cache_size=size), X, y, graph=False).tuning_ for size in (200, 1e-6))
    assert two.kernel_values > 5 * one.kernel_values
    assert one.candidates["accuracy"].equals(two.candidates["accuracy"])


def test_s3vm_weights_and_matrices(semi_data):
    X, y, _ = semi_data
    weight = np.ones(60)
    weight[[0, 30, 50]] = 0.0
    kept = weight > 0
    one = tune(S3VM(), X, y, sample_weight=weight)
    two = tune(S3VM(), X[kept], y[kept])
    assert one.tuning_.chosen == two.tuning_.chosen
    assert one.tuning_.candidates["accuracy"].equals(two.tuning_.candidates["accuracy"])
    matrix = tune(S3VM(kernel="precomputed"), rbf_kernel(X, gamma=0.2), y)
    assert set(matrix.tuning_.chosen) <= {"C_star"}
    assert matrix.tuning_.candidates["accuracy"].notna().all()


# -- all of them -------------------------------------------------------------------------------


def test_ctrl_c_ends_the_search_and_not_the_call(semi_data, monkeypatch):
    X, y, _ = semi_data
    fits = []
    plain = S3VM.fit

    def fit(self, *args, **kwargs):
        fits.append(1)
        if len(fits) == 30:
            raise KeyboardInterrupt
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(S3VM, "fit", fit)
    result = tune(S3VM(), X, y, progress=True, graph=False).tuning_
    assert result.stopped == "Ctrl-C" and "ended early by Ctrl-C" in result.reason
    assert len(fits) == 31 and (result.candidates["folds"].between(2, 3)).all()


def test_pipelines(rows, semi_data):
    pipeline = make_pipeline(StandardScaler(), SVDD())
    scale = np.array([1.0, 1000.0])
    found = tune(pipeline, rows * scale)
    standard = StandardScaler().fit_transform(rows)
    alone = tune(SVDD(), standard)
    assert found.tuning_.chosen == pytest.approx(alone.tuning_.chosen)
    assert np.array_equal(
        found.predict(rows * scale), alone.predict(StandardScaler().fit_transform(rows))
    )
    assert pipeline[-1].gamma == "scale" and not hasattr(pipeline[0], "mean_")
    X, y, _ = semi_data
    semi = tune(make_pipeline(StandardScaler(), S3VM()), X, y, time_budget=0.2)
    assert set(semi.predict(X)) == {"no", "yes"}


def test_pictures_and_files(rows, semi_data, pu_data, tmp_path):
    X, y, _ = semi_data
    found = [
        tune(SVDD(), rows),
        tune(S3VM(), X, y, time_budget=0.3),
        tune(PUSVM(prior=0.4), *pu_data[:2], time_budget=0.3),
        tune(PUSVM(prior=0.4), *pu_data[:2], time_budget=1e-9),
    ]
    for model in found:
        stored = skops.io.dumps(model)
        types = skops.io.get_untrusted_types(data=stored)
        assert not [name for name in types if not name.startswith("fewlabels.")]
        joblib.dump(model, tmp_path / "model.joblib")
        for again in (
            pickle.loads(pickle.dumps(model)),
            joblib.load(tmp_path / "model.joblib"),
            skops.io.loads(stored, trusted=types),
        ):
            result = again.tuning_
            assert result.candidates.equals(model.tuning_.candidates)
            assert repr(result) == repr(model.tuning_) and result.curve == model.tuning_.curve
        ax = result.plot()
        assert ax.get_children()
        assert result.plot(ax) is ax
        matplotlib.pyplot.close(ax.figure)


def test_candidates_do_not_warn_and_the_choice_does(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tune(SVDD(), rows)
    with pytest.warns(ConvergenceWarning) as caught:
        model = tune(OneClassSVM(max_iter=1), rows)
    assert len(caught) == 1
    assert not model.tuning_.candidates["converged"].all()


def test_same_seed_same_answer(pu_data):
    X, y, _ = pu_data
    tables = [
        tune(PUSVM(prior=0.4), X, y, random_state=state).tuning_.candidates for state in (5, 5, 6)
    ]
    assert tables[0].equals(tables[1]) and not tables[0].equals(tables[2])


@pytest.mark.parametrize(
    ("estimator", "options", "message"),
    [
        (LogisticRegression(), {}, "tune accepts SVDD.*it is LogisticRegression"),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            {},
            "the last step of the pipeline is LogisticRegression",
        ),
        (SVDD(kernel="linear"), {}, "SVDD has kernel='linear'"),
        (S3VM(), {}, "S3VM needs labels; pass y"),
        (PUSVM(), {}, "PUSVM needs labels; pass y"),
        (S3VM(), {"y": np.zeros(9), "contaminated": False}, "contaminated=False is for SVDD"),
        (SVDD(), {"time_budget": 0}, "time_budget=0 is not allowed"),
        (SVDD(C=-1), {}, "'C' parameter"),
    ],
)
def test_errors_say_what_to_do(estimator, options, message):
    with pytest.raises(ValueError, match=message):
        tune(estimator, np.arange(18.0).reshape(9, 2), **options)


def test_shuffled_columns_in_a_grid_search(rng):
    x = rng.normal(size=(150, 1))
    X = np.hstack([x, x + 0.1 * rng.normal(size=(150, 1))])
    grid = GridSearchCV(
        SVDD(),
        {"gamma": [neighbor_gamma(X, c) for c in (1e-4, 1.0)]},
        scoring=shuffled_columns_score,
        cv=KFold(3, shuffle=True, random_state=0),
    ).fit(X)
    assert grid.best_index_ == 1 and grid.best_score_ > 0.8


@pytest.mark.parametrize("ratio", [{"no": 0.4, "yes": 0.6}, "estimate"])
def test_s3vm_with_trees_and_a_class_ratio(semi_data, ratio):
    X, y, truth = semi_data
    kernel = Trees(n_trees=20, min_samples_leaf=1, max_samples=1.0, splits="random")
    model = tune(S3VM(kernel=kernel, class_ratio=ratio), X, y, time_budget=20)
    assert model.class_ratio == ratio and model.class_ratio_.shape == (2,)
    assert model.tuning_.candidates["accuracy"].max() > 0.7
    assert np.mean(model.predict(X) == np.array(["no", "yes"])[truth]) > 0.8


@pytest.mark.parametrize(
    ("of_trees", "folds", "chosen"),
    [
        ([0.02, 0.03, 0.02, 0.01, 0.02], 5, {"kernel": "trees"}),
        ([0.02, -0.03, 0.02, -0.01, 0.02], 5, {}),  # within a standard error
        ([0.02, 0.03, 0.02, 0.01, 0.02], 2, {}),  # too few folds to know one
        ([-0.1] * 5, 5, {}),
    ],
)
def test_kernels_of_a_puensemble(monkeypatch, rng, of_trees, folds, chosen):
    X = rng.normal(size=(400, 3)) * [1.0, 10.0, 100.0]
    y = (np.arange(400) < 60).astype(int)

    def scores(estimator, settings, *data):
        kernels = [one.get("kernel", "mixture") for one in settings]
        assert kernels == ["mixture", "trees", "rbf", "rbf", "rbf"] and settings[0] == {}
        found = np.full((5, 5), 0.8)
        found[1] += of_trees
        found[2:] -= 0.05
        found[:, folds:] = np.nan
        return found

    monkeypatch.setattr(tuning_pu, "_score_ensemble_settings", scores)
    model = tune(PUEnsemble(prior=0.3, n_bags=1), X, y)
    assert model.tuning_.chosen == chosen
    assert model.kernel_ == chosen.get("kernel", "mixture")
    table = model.tuning_.candidates
    assert table.loc[table["chosen"], "kernel"].item() == model.kernel_
    assert "standard error" in model.tuning_.reason or chosen
    model.tuning_.plot()


def test_rows_of_one_unit_begin_with_gaussian_kernels(monkeypatch, rng):
    seen = []
    monkeypatch.setattr(
        tuning_pu, "_score_ensemble_settings",
        lambda estimator, settings, *data: (
            seen.append([one.get("kernel", "rbf") for one in settings]),
            np.zeros((len(settings), 5)),
        )[1],
    )  # fmt: skip
    y = (np.arange(400) < 60).astype(int)
    X = (rng.random((400, 20)) < 0.4).astype(float)
    for rows in (X, sp.csr_array(X), X[:200]):
        assert tune(PUEnsemble(prior=0.3, n_bags=1), rows, y[: rows.shape[0]]).kernel_ == "rbf"
    assert seen == [["rbf", "rbf", "rbf", "mixture", "trees"], ["rbf"] * 3, ["rbf"] * 3]
