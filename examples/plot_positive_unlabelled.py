"""
Tutorial: positive and unlabelled rows
======================================

Three in ten malignant biopsies are labelled. The others hide among the benign ones. You will
estimate how many are hidden, find them, and check how much the result depends on the class
prior. The data come with scikit-learn, and the true labels are used only to check the result.
"""

# %%
# Get the data
# ------------

import warnings

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewlabels import PUSVM, PUEnsemble
from fewlabels.inspection import PriorSensitivityDisplay, ScoreDisplay

X, y = load_breast_cancer(return_X_y=True)
malignant = y == 0
known = malignant & (np.random.default_rng(0).random(len(y)) < 0.3)
hidden = malignant & ~known
print(f"{known.sum()} labelled, {(~known).sum()} unlabelled, {hidden.sum()} of them malignant")

# %%
# Fit and compare
# ---------------
#
# An ordinary classifier treats unlabelled rows as negatives, so it learns to reject the rows
# you want. ``PUSVM`` and ``PUEnsemble`` estimate the share of hidden positives instead.

models = {"SVC": SVC(), "PUSVM": PUSVM(), "PUEnsemble": PUEnsemble()}
for name, estimator in models.items():
    models[name] = make_pipeline(StandardScaler(), estimator).fit(X, known)
    flagged = (models[name].predict(X) == 1) & ~known
    precision = malignant[flagged].mean() if flagged.any() else np.nan
    print(f"{name}: recall {flagged[hidden].mean():.2f}, precision {precision:.2f}")

model = models["PUSVM"]
low, high = model[-1].prior_interval_
truth = hidden.sum() / (~known).sum()
print(f"class prior {model[-1].prior_:.2f} (90 % CI {low:.2f} to {high:.2f}), truth {truth:.2f}")

# %%
# Check the threshold and the prior
# ---------------------------------
#
# Left: scores of the unlabelled rows, and the threshold. Right: the share of rows predicted
# positive follows the prior. If you know the prior, pass it as ``prior=``.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
kinds = np.where(malignant, "malignant", "benign")
ScoreDisplay.from_estimator(model, X[~known], kinds[~known], ax=left)
left.set_title("scores of the unlabelled rows")
PriorSensitivityDisplay.from_estimator(
    model, X, known, priors=[0.15, 0.2, 0.25, 0.3, 0.35, 0.4], ax=right
)
right.axvline(truth, color="black", linewidth=1.0)
right.set_title("with another prior (line: the truth)")
plt.show()

# %%
# When it goes wrong
# ------------------
#
# All of this assumes that the labelled positives are a random sample. Here only the largest
# tumours are labelled. The estimated prior collapses, and its interval doesn't show it.

large = malignant & (X[:, 23] > np.quantile(X[malignant, 23], 0.7))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    biased = make_pipeline(StandardScaler(), PUSVM()).fit(X, large)
print(f"Warning: {caught[0].message}")
print(f"prior {biased[-1].prior_:.3f}, truth {(malignant & ~large).sum() / (~large).sum():.2f}")

# %%
# Next steps
# ----------
#
# * The guide "Learn from positive and unlabelled rows" explains thresholds, priors and settings.
# * ``fewlabels.tune`` chooses the settings without negatives.
