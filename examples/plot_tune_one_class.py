"""
Choose settings without labels: one class
=========================================

With the usual kernel width, ``SVDD`` loses to simple baselines. Cross-validation can't help,
because no row is known to be an anomaly. ``tune`` applies a rule based on nearest-neighbour
distances instead, and sets the threshold for a false alarm rate.

Here one in ten training rows is malignant, and the model doesn't know which. Left: how other
settings compare, for information only. Right: the ROC curve on new rows, next to a
``GridSearchCV`` over the same widths.
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
for name, fitted in (("defaults", default), ("tuned", model)):
    auc = roc_auc_score(~malignant[new], fitted.score_samples(X[new]))
    alarms = np.mean(fitted.predict(X[new][~malignant[new]]) == -1)
    print(f"{name}: AUC {auc:.3f}, {alarms:.1%} of new benign rows are rejected")

# The same with GridSearchCV: the rule's rows, its width and two others, and a score that needs
# no anomalies. On real data that score did not choose widths reliably.
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
models = {"tuned": model, "GridSearchCV": grid, "defaults": default}
for name, fitted in models.items():
    RocCurveDisplay.from_predictions(
        ~malignant[new], fitted.score_samples(X[new]), ax=curves, name=name
    )
curves.set(xlabel="malignant rows kept", ylabel="benign rows kept", title="New rows")
plt.show()
