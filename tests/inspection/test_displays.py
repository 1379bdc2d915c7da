import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM
from fewlabels.inspection import (
    BiasSensitivityDisplay,
    BoundaryDisplay,
    ConvergenceDisplay,
    LatencyDisplay,
    PriorSensitivityDisplay,
    RegularizationPathDisplay,
    ScoreDisplay,
)

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def no_open_figures():
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def rows(rng):
    truth = np.repeat([0, 1], 60)
    return rng.normal(size=(120, 2)) + 3.0 * truth[:, None], truth


def few_labels(truth):
    return np.where(np.isin(np.arange(len(truth)), [0, 1, 2, 60, 61, 62]), truth, -1)


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_boundary_is_the_decision_function_and_names_the_rows(rows):
    X, truth = rows
    y = few_labels(truth)
    model = S3VM().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, n_grid=30)
    at = np.column_stack([display.grid.first.ravel(), display.grid.second.ravel()])
    assert np.array_equal(display.grid.decision.ravel(), model.decision_function(at))
    assert texts(display.ax_) == [
        "labelled 1", "labelled 0", "unlabelled", f"support vectors ({len(model.support_)})",
    ]  # fmt: skip
    drawn = display.ax_.collections[-1].get_offsets()
    assert np.array_equal(np.asarray(drawn), X[model.support_])


def test_boundary_of_positive_and_unlabelled_rows_in_a_pipeline_with_names(rows):
    X, truth = rows
    frame = pd.DataFrame(X, columns=["length", "width"])
    y = (truth == 1) & (np.arange(120) % 2 == 0)
    model = make_pipeline(StandardScaler(), PUSVM(prior=1 / 3)).fit(frame, y)
    display = BoundaryDisplay.from_estimator(model, frame, y, n_grid=20)
    assert texts(display.ax_)[:2] == ["labelled True", "unlabelled"]
    assert display.ax_.get_xlabel() == "length"


def test_boundary_refuses_what_is_no_plane(rng):
    X = rng.normal(size=(20, 3))
    model = SVDD().fit(X)
    with pytest.raises(ValueError, match="two columns"):
        BoundaryDisplay.from_estimator(model, X)
    model = SVDD().fit(X[:, :2])
    with pytest.raises(ValueError, match=r"X has 19 rows, but SVDD was fitted to\s+20"):
        BoundaryDisplay.from_estimator(model, X[:19, :2])


def test_boundary_refuses_a_threshold_that_is_none(rng):
    X = rng.normal(size=(20, 2))
    with pytest.warns(UserWarning, match="no row will be rejected"):
        model = SVDD(target_fpr=0.01).fit(X)
    with pytest.raises(ValueError, match="no boundary to draw"):
        BoundaryDisplay.from_estimator(model, X)


def test_scores_are_shares_of_each_kind(rows):
    X, truth = rows
    model = OneClassSVM(nu=0.1).fit(X[truth == 0])
    display = ScoreDisplay.from_estimator(model, X, truth, bins=20)
    assert {name: len(scores) for name, scores in display.groups.items()} == {"0": 60, "1": 60}
    heights = [sum(bar.get_height() for bar in group) for group in display.ax_.containers]
    np.testing.assert_allclose(heights, 100.0)
    assert display.ax_.lines[0].get_xdata()[0] == 0.0


def test_convergence_shows_every_round(rng):
    X = rng.normal(size=(3000, 2))
    model = SVDD(C=0.01).fit(X)
    display = ConvergenceDisplay.from_estimator(model, against="kernel_values")
    cost, violation = display.curves["SVDD"]
    assert len(cost) == len(model.history_)
    assert (np.diff(cost) >= 0).all() and violation[0] > violation[-1]
    assert display.ax_.lines[-1].get_ydata()[0] == model.tol
    both = ConvergenceDisplay.from_estimator(model, OneClassSVM().fit(X), names=["ball", "plane"])
    assert list(both.curves) == ["ball", "plane"]
    with pytest.raises(ValueError, match="kernel_values"):
        ConvergenceDisplay.from_estimator(model, against="time")


def test_latency_counts_the_rows(rows, rng):
    X, truth = rows
    model = S3VM().fit(X, few_labels(truth))
    display = LatencyDisplay.from_stream(model, rng.normal(size=(12, 2)), block=5)
    assert display.rows.tolist() == [125, 130, 132]
    assert (display.seconds > 0).all()


def test_prior_sensitivity_draws_its_table(rows):
    X, truth = rows
    y = (truth == 1) & (np.arange(120) % 2 == 0)
    display = PriorSensitivityDisplay.from_estimator(PUSVM(prior=0.3), X, y, [0.2, 0.4])
    assert display.table["prior"].tolist() == [0.2, 0.3, 0.4]
    shares = display.ax_.lines[1].get_ydata()
    assert np.array_equal(shares, display.table["share_positive"])


def test_bias_sensitivity_draws_its_table(rows):
    X, truth = rows
    y = (truth == 1) & (np.arange(120) % 2 == 0)
    display = BiasSensitivityDisplay.from_estimator(PUSVM(prior=0.3), X, y, [1.5, 3.0])
    assert display.table["bias"].tolist() == [1.0, 1.5, 3.0]
    low, high = (line.get_ydata() for line in display.ax_.lines)
    assert np.array_equal(low, display.table["prior_low"])
    assert np.array_equal(high, display.table["prior_high"])
    assert display.ax_.get_xlim() == (1.0, 3.0)


@pytest.mark.parametrize(
    "machine, parameter",
    [(PUSVM(prior=1 / 3), "lam"), (S3VM(), "C_star"), (S3VM(), "C"), (SVDD(), "C")],
)
def test_regularisation_path_has_the_machines_of_separate_fits(rows, machine, parameter):
    X, truth = rows
    y = truth == 1 if isinstance(machine, PUSVM) else few_labels(truth)
    y = None if isinstance(machine, SVDD) else y
    if isinstance(machine, PUSVM):
        y &= np.arange(120) % 2 == 0
    values = [1.0, 0.3, 0.1]
    display = RegularizationPathDisplay.from_estimator(
        machine, X, y, parameter=parameter, values=values
    )
    assert display.table[parameter].tolist() == values
    assert not hasattr(machine, "support_")
    if not isinstance(machine, S3VM):  # whose path follows one of many minima
        for value, share in zip(values, display.table["share_positive"], strict=True):
            alone = machine.__class__(**{**machine.get_params(), parameter: value}).fit(X, y)
            assert abs(np.mean(alone.decision_function(X) > 0) - share) <= 1 / 120
    with pytest.raises(ValueError, match="no parameter 'price'"):
        RegularizationPathDisplay.from_estimator(machine, X, y, parameter="price", values=values)


def test_scikit_learns_displays_draw_where_truth_exists(rows):
    X, truth = rows
    model = S3VM().fit(X, few_labels(truth))
    assert RocCurveDisplay.from_estimator(model, X, truth).roc_auc > 0.9
    assert PrecisionRecallDisplay.from_estimator(model, X, truth).average_precision > 0.9
