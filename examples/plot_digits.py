"""
Tutorial: one class
===================

Train on images of a single digit, then rank images the model hasn't seen: of the same digit,
and of the nine others. You will fit a model, set its false alarm rate, and look at the images
it finds most typical and most anomalous. The data come with scikit-learn.
"""

# %%
# Get the data
# ------------
#
# Two thirds of the threes are for training. The other threes and all other digits are new rows.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from fewlabels import SVDD, tune

images, labels = load_digits(return_X_y=True)
threes = np.random.default_rng(0).permutation(np.flatnonzero(labels == 3))
train, held_out = threes[:122], threes[122:]
new = np.concatenate([held_out, np.flatnonzero(labels != 3)])
is_three = labels[new] == 3

# %%
# Fit
# ---
#
# All training images are threes, so ``contaminated=False``. Pixels share one unit, so they need
# no scaling. ``target_fpr=0.05`` asks for 5 % false alarms among new threes.

model = tune(SVDD(target_fpr=0.05), images[train], contaminated=False)
score = model.decision_function(images[new])  # positive inside

print(model.tuning_.reason)
print(f"ROC AUC against other digits: {roc_auc_score(is_three, score):.4f}")
print(f"threes flagged: {np.mean(score[is_three] < 0):.1%}")
print(f"other digits flagged: {np.mean(score[~is_three] < 0):.1%}")

# %%
# Seven of 61 new threes are flagged, where three would be expected. With so few rows, such a
# deviation happens by chance. See "Error rates that hold" in the documentation.
#
# Look at the p-values
# --------------------
#
# The p-value of a row is the share of threes that are at least as anomalous. For new threes it is
# spread evenly between 0 and 1. For other digits it is close to 0.

p = model.p_values(images[new])

figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
bins = np.linspace(0.0, 1.0, 21)
for chosen, name in ((is_three, "threes"), (~is_three, "other digits")):
    ax.hist(
        p[chosen], bins, alpha=0.65, weights=np.full(chosen.sum(), 100 / chosen.sum()), label=name
    )
ax.axvline(0.05, color="black", linewidth=1.0)
ax.set(xlabel="p-value", ylabel="% of images")
ax.legend(frameon=False)
plt.show()

# %%
# Look at the images
# ------------------
#
# The numbers are p-values. Red ones are flagged.

order = np.argsort(score)
rows = {
    "most typical threes": order[is_three[order]][::-1][:12],
    "most anomalous threes": order[is_three[order]][:12],
    "other digits most like a three": order[~is_three[order]][::-1][:12],
    "most anomalous other digits": order[~is_three[order]][:12],
}

figure = plt.figure(figsize=(12, 6), layout="constrained")
for part, (title, chosen) in zip(figure.subfigures(len(rows), 1), rows.items(), strict=True):
    part.suptitle(title, x=0.01, ha="left", fontsize=11)
    for axes, row in zip(part.subplots(1, 12), chosen, strict=True):
        axes.imshow(images[new[row]].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        axes.set_title(
            f"{p[row]:.2f}", fontsize=8, color="#c1121f" if p[row] <= 0.05 else "#1d3557"
        )
        axes.axis("off")
plt.show()

# %%
# Next steps
# ----------
#
# * If your training rows may contain anomalies, use ``SVDDEnsemble``.
# * The guide "Learn from one class" explains kernels, thresholds and attributes.
