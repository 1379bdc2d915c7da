"""
Which digits does a machine find odd?
=====================================

A machine sees images of a single digit, 8 x 8 pixels each, and nothing else. It then
ranks images that it has not seen: of its own digit, and of the nine others. The picture
shows the two ends of its ranking, and the support vectors: the images that hold the
boundary.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from fewlabels import SVDD

DIGIT = 3
COLUMNS = 12

images, labels = load_digits(return_X_y=True)
own = np.random.default_rng(0).permutation(np.flatnonzero(labels == DIGIT))
train, held_out = own[: 2 * len(own) // 3], own[2 * len(own) // 3 :]
others = np.flatnonzero(labels != DIGIT)

# Pixels have one unit, so they are not scaled column by column. nu = 0.1: a tenth of the
# training images may lie outside.
machine = SVDD(slack="linear", nu=0.1).fit(images[train])
new = np.concatenate([held_out, others])
score = machine.decision_function(images[new])
is_own = labels[new] == DIGIT

auc = roc_auc_score(is_own, score)
print(f"learnt from {len(train)} images of a {DIGIT}: {len(machine.support_)} support vectors")
print(f"AUC against {len(others)} images of other digits: {auc:.4f}")
print(f"own digit outside: {np.mean(score[is_own] < 0):.1%}")
print(f"other digits outside: {np.mean(score[~is_own] < 0):.1%}")

# support_ counts in the training rows. Largest alphas first: those at their bound lie
# outside, the others on the surface.
by_weight = train[machine.support_[np.argsort(-machine.dual_coef_[0], kind="stable")]]
order = np.argsort(score)
rows = {
    f"support vectors, {len(by_weight)} in all": by_weight[:COLUMNS],
    f"{DIGIT}s that it calls most typical": new[order[is_own[order]]][::-1][:COLUMNS],
    f"{DIGIT}s that it calls oddest": new[order[is_own[order]]][:COLUMNS],
    "other digits that it takes for its own most": new[order[~is_own[order]]][::-1][:COLUMNS],
    "other digits that are farthest away": new[order[~is_own[order]]][:COLUMNS],
}

figure = plt.figure(figsize=(COLUMNS, 1.5 * len(rows)), layout="constrained")
figure.suptitle(f"SVDD that has seen nothing but {DIGIT}s: AUC {auc:.3f}", fontsize=15)
for part, (title, chosen) in zip(figure.subfigures(len(rows), 1), rows.items(), strict=True):
    part.suptitle(title, x=0.01, ha="left", fontsize=11)
    distance = machine.decision_function(images[chosen])
    for axes, image, value in zip(
        part.subplots(1, COLUMNS), images[chosen], distance, strict=True
    ):
        axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        axes.set_title(f"{value:+.2f}", fontsize=8, color="#1d3557" if value >= 0 else "#c1121f")
        axes.axis("off")

plt.show()
