"""
Settings without labels: one class
==================================

The usual width of the kernel makes ``SVDD`` lose to ten-line baselines, and cross-validation
cannot help: nothing tells which rows are anomalies. ``tune`` applies a rule from the distances
between neighbours instead, and sets a threshold for a rate of false alarms.

Here one in ten training rows is malignant and nobody knows which. Left: what the account of the
choice says about other settings, which describes and does not decide. Right: new rows, by the
truth, with the same widths in a ``GridSearchCV`` over a pipeline beside.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import RocCurveDisplay, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import SVDD, tune
from fewlabels.model_selection import far_from_neighbors, neighbor_gamma, shuffled_columns_score

X, y = load_breast_cancer(return_X_y=True)
malignant = y == 0
rng = np.random.default_rng(0)
benign = rng.permutation(np.flatnonzero(~malignant))
train = np.concatenate([benign[:200], rng.choice(np.flatnonzero(malignant), 22, replace=False)])
new = np.setdiff1d(np.arange(len(y)), train)

model = tune(make_pipeline(StandardScaler(), SVDD()), X[train])
print(model.tuning_)
default = make_pipeline(StandardScaler(), SVDD()).fit(X[train])
for name, machine in (("defaults", default), ("tuned", model)):
    auc = roc_auc_score(~malignant[new], machine.score_samples(X[new]))
    alarms = np.mean(machine.predict(X[new][~malignant[new]]) == -1)
    print(f"{name}: AUC {auc:.3f}, {alarms:.1%} of new benign rows are rejected")

# The same in scikit-learn's words: the rows of the rule, its width and others, and a score that
# needs no anomalies. On real sets that score did not choose widths reliably.
rows = StandardScaler().fit_transform(X[train])
core = ~far_from_neighbors(rows, 0.4)
widths = [neighbor_gamma(rows[core], factor) for factor in (1.0, 4.0, 16.0)]
grid = GridSearchCV(
    make_pipeline(StandardScaler(), SVDD(C=0.1)), {"svdd__gamma": widths},
    scoring=shuffled_columns_score, cv=KFold(5, shuffle=True, random_state=0),
).fit(X[train][core])  # fmt: skip
auc = roc_auc_score(~malignant[new], grid.score_samples(X[new]))
print(f"GridSearchCV: {grid.best_params_}, AUC {auc:.3f}")

figure, (search, curves) = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
model.tuning_.plot(search)
machines = {"tuned": model, "GridSearchCV": grid, "defaults": default}
for name, machine in machines.items():
    RocCurveDisplay.from_predictions(
        ~malignant[new], machine.score_samples(X[new]), ax=curves, name=name
    )
curves.set(xlabel="malignant rows kept", ylabel="benign rows kept", title="New rows")
plt.show()
