"""
Choose settings without negatives: positive and unlabelled rows
===============================================================

Sixty images are labelled as an even digit, and five hundred have no label. Without negatives
you can't measure accuracy. ``tune`` holds out rows of both kinds and picks the ``lam`` and
``gamma`` with the best ROC AUC of positive against unlabelled rows minus the estimated risk.

Left: the search. Right: the true accuracy of the candidates, which the search doesn't see. The
last part does the same with ``GridSearchCV``.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from fewlabels import PUSVM, tune
from fewlabels.metrics import make_pu_scorer
from fewlabels.model_selection import PUKFold

images, digit = load_digits(return_X_y=True)
even = digit % 2 == 0
rng = np.random.default_rng(0)
known = rng.choice(np.flatnonzero(even), 60, replace=False)
rest = rng.permutation(np.setdiff1d(np.arange(len(even)), known))
unlabelled, new = rest[:500], rest[500:]
X = images[np.concatenate([known, unlabelled])] / 16.0
y = np.repeat([1, 0], [len(known), len(unlabelled)])
prior = even[unlabelled].mean()  # else PUSVM estimates it


def accuracy(estimator):
    """Accuracy by labels that the search does not see."""
    return np.mean((estimator.predict(images[new] / 16.0) == 1) == even[new])


model = tune(PUSVM(prior=prior), X, y, time_budget=20)
print(model.tuning_)
print(f"accuracy: defaults {accuracy(PUSVM(prior=prior).fit(X, y)):.3f}, {accuracy(model):.3f}")

grid = GridSearchCV(
    make_pipeline(MinMaxScaler(), PUSVM(prior=prior)),
    {"pusvm__lam": [3e-2, 3e-3, 3e-4], "pusvm__gamma": ["scale", 0.02]},
    scoring=make_pu_scorer("auc-risk", prior=prior),
    cv=PUKFold(3, shuffle=True, random_state=0),
).fit(X, y)
print(f"GridSearchCV: {grid.best_params_}, accuracy {accuracy(grid):.3f}")

figure, (search, truth) = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
model.tuning_.plot(search)
table = model.tuning_.candidates
settings = table[["lam", "gamma"]].to_dict("records")
right = [accuracy(PUSVM(prior=prior, **setting).fit(X, y)) for setting in settings]
for width, group in table.groupby("gamma", sort=False):
    truth.plot(group["score"], np.take(right, group.index), "o", label=f"gamma {width:.3g}")
chosen = int(np.argmax(table["chosen"]))
truth.plot(
    table["score"][chosen], right[chosen], "o", markersize=14, fillstyle="none", color="black",
    label="chosen",
)  # fmt: skip
truth.set(xlabel="held-out score", ylabel="accuracy on new rows", title="Was the score right?")
truth.legend()
plt.show()
