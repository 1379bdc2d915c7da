"""
Tutorial: a few labels of three classes
=======================================

Five images each of the digits 4, 7 and 9 are labelled. More than five hundred are not. You will
train on all of them, choose a kernel, and add labels where they help most. The data come with
scikit-learn, and the true labels are used only to check the result.
"""

# %%
# Get the data
# ------------
#
# The label -1 marks unlabelled rows.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from fewlabels import S3VM
from fewlabels.kernels import Manifold
from fewlabels.querying import Uncertain

images, digit = load_digits(return_X_y=True)
chosen = np.isin(digit, (4, 7, 9))
X, truth = images[chosen] / 16.0, digit[chosen]

labels = np.full(len(truth), -1)
rng = np.random.default_rng(0)
for kind in (4, 7, 9):
    labels[rng.choice(np.flatnonzero(truth == kind), 5, replace=False)] = kind
unlabelled = labels == -1
print(f"{(~unlabelled).sum()} labelled and {unlabelled.sum()} unlabelled images")

# %%
# Compare with the labels alone
# -----------------------------
#
# ``S3VM`` keeps its boundary out of dense regions. With the manifold kernel it also uses the
# neighbour graph of all rows, which suits handwriting.

models = {
    "SVC, labels only": SVC().fit(X[~unlabelled], labels[~unlabelled]),
    "S3VM": S3VM().fit(X, labels),
    "S3VM, manifold kernel": S3VM(kernel=Manifold(r=100)).fit(X, labels),
}
accuracy = {
    name: np.mean(model.predict(X[unlabelled]) == truth[unlabelled])
    for name, model in models.items()
}
for name, value in accuracy.items():
    print(f"{name}: accuracy {value:.1%}")

# %%
# Unlabelled rows don't always help. On your own data, check with ``compare_with_baselines``.
#
# Ask for labels
# --------------
#
# ``Uncertain`` picks the rows with the smallest margin. ``relabel`` updates the model exactly,
# without training again.

model = models["S3VM"]
current = labels.copy()
history = [accuracy["S3VM"]]
for _ in range(20):
    (row,) = Uncertain(missing_label=-1).query(X, current, model)
    current[row] = truth[row]  # the expert answers
    model.relabel([row], [truth[row]])
    history.append(np.mean(model.predict(X[unlabelled]) == truth[unlabelled]))
print(f"after {len(history) - 1} more labels: accuracy {history[-1]:.1%}")

# %%
# Look at the result
# ------------------
#
# Left: accuracy on the images without a label at the start. Right: the images the model is
# least sure about, with its prediction.

figure = plt.figure(figsize=(12, 3.8), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.1))
ax = left.subplots()
ax.plot(100.0 * np.array(history), label="S3VM, one label at a time")
for style, name in zip((":", "--"), ("SVC, labels only", "S3VM, manifold kernel"), strict=True):
    ax.axhline(
        100.0 * accuracy[name], color="#6c757d", linestyle=style, label=f"{name}, 15 labels"
    )
ax.set(xlabel="additional labels", ylabel="accuracy in %")
ax.legend(frameon=False, loc="center right")

decisions = np.sort(model.decision_function(X), axis=1)
least_sure = np.argsort(decisions[:, -1] - decisions[:, -2])[:12]
for axes, row, predicted in zip(
    right.subplots(2, 6).ravel(), least_sure, model.predict(X[least_sure]), strict=True
):
    axes.imshow(X[row].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    right_answer = predicted == truth[row]
    axes.set_title(f"{predicted}", color="#1d3557" if right_answer else "#c1121f")
    axes.axis("off")
plt.show()

# %%
# Next steps
# ----------
#
# * ``fewlabels label`` asks for labels in the browser.
# * The guide "Learn from a few labels" covers new classes, class ratios and streams.
