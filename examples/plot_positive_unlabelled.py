"""
A few known positives and a pile
================================

Of 212 malignant biopsies three in ten are known; the others hide among the benign ones,
without a mark. A classifier that takes the pile for negatives is told that they are benign.
``PUSVM`` is told that they are unknown, and estimates how many of them are malignant.

Left: where the scores of both kinds lie, and the threshold. Right: what changes if the class
prior is another one than estimated. The data come with scikit-learn, and the true labels are
used for the pictures only.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewlabels import PUSVM
from fewlabels.inspection import PriorSensitivityDisplay, ScoreDisplay

X, y = load_breast_cancer(return_X_y=True)
malignant = y == 0
rng = np.random.default_rng(0)
known = malignant & (rng.random(len(y)) < 0.3)
hidden = malignant & ~known

model = make_pipeline(StandardScaler(), PUSVM()).fit(X, known)
naive = make_pipeline(StandardScaler(), SVC()).fit(X, known)

low, high = model[-1].prior_interval_
print(f"malignant in the pile: {model[-1].prior_:.2f} ({low:.2f} to {high:.2f}), truth "
      f"{hidden.sum() / (~known).sum():.2f}")  # fmt: skip
for name, machine in (("PUSVM", model), ("SVC, pile as negatives", naive)):
    found = machine.predict(X) == 1
    print(f"{name}: {found[hidden].sum()} of {hidden.sum()} hidden ones found, "
          f"{found[~malignant].sum()} false alarms")  # fmt: skip

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
kinds = np.where(malignant, "malignant, not known", "benign")
ScoreDisplay.from_estimator(model, X[~known], kinds[~known], ax=left)
left.set_title("scores of the pile")
PriorSensitivityDisplay.from_estimator(
    model, X, known, priors=[0.15, 0.2, 0.25, 0.3, 0.35, 0.4], ax=right
)
right.axvline(hidden.sum() / (~known).sum(), color="black", linewidth=1.0)
right.set_title("if the prior were another one (line: the truth)")
plt.show()
