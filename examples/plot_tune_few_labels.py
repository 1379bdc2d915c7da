"""
Choose settings with forty labels: S3VM
=======================================

Forty images are labelled as digits below or above 4.5, and two hundred are not. ``tune`` hides
a fifth of the labels at a time and keeps the unlabelled rows in training. With so few labels
the best of several settings often wins by chance, so another setting must be clearly better
than yours.

Left: the search, next to an SVM of the labels alone. Right: the true accuracy on the unlabelled
rows. The last part does the same with ``GridSearchCV``.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from fewlabels import S3VM, tune
from fewlabels.model_selection import LabeledKFold

images, digit = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
rows = rng.permutation(len(digit))[:240]
X, truth = images[rows] / 16.0, (digit[rows] > 4).astype(int)
y = np.where(np.arange(len(rows)) < 40, truth, -1)  # -1: unlabelled


def accuracy(estimator):
    """Accuracy by labels that the search does not see."""
    return np.mean(estimator.predict(X[40:]) == truth[40:])


model = tune(S3VM(), X, y, time_budget=20)
print(model.tuning_)
results = {"defaults": accuracy(S3VM().fit(X, y)), "tuned": accuracy(model)}

grid = GridSearchCV(
    make_pipeline(MinMaxScaler(), S3VM()),
    {"s3vm__kernel": ["rbf", "linear"], "s3vm__C_star": [5.0, 0.1]},
    scoring="accuracy", cv=LabeledKFold(5, shuffle=True, random_state=0),
).fit(X, y)  # fmt: skip
print("GridSearchCV:", grid.best_params_)
results["GridSearchCV"] = accuracy(grid)
results["labels only"] = accuracy(S3VM().fit(X[:40], y[:40]))
print({name: round(float(value), 3) for name, value in results.items()})

figure, (search, bars) = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
model.tuning_.plot(search)
bars.barh(list(results), list(results.values()), color="#0b63a5")
bars.invert_yaxis()
for place, value in enumerate(results.values()):
    bars.text(value, place, f" {value:.3f}", va="center")
bars.set(xlim=(0.5, 1.0), title="Accuracy on the unlabelled rows")
plt.show()
