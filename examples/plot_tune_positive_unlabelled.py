"""
Settings without negatives: positive and unlabelled rows
========================================================

Sixty images are known to show an even digit; five hundred more show anything. Accuracy cannot
be measured without negatives. ``tune`` holds out rows of both kinds and takes the penalty
``lam`` and the width ``gamma`` with the best area of positive against unlabelled rows, less the
risk that the class prior lets one estimate.

Left: the search. Right: what the truth, which the search has not seen, says about its
candidates. The same in a ``GridSearchCV`` over a pipeline comes last.
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
pile, new = rest[:500], rest[500:]
X = images[np.concatenate([known, pile])] / 16.0
y = np.repeat([1, 0], [len(known), len(pile)])
prior = even[pile].mean()  # else PUSVM estimates it


def accuracy(machine):
    """By labels that the search does not have."""
    return np.mean((machine.predict(images[new] / 16.0) == 1) == even[new])


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
