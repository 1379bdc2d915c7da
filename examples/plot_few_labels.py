"""
Six labels, two moons
=====================

Three labels of each class do not say where the boundary runs. An SVM of the labels draws it
halfway between them. ``S3VM`` looks at the unlabelled rows too and leads the boundary through
the gap: first softly, at a small price ``C_star``, then more and more firmly.

The last panel follows the minimum from ``C_star = 0.001`` to 100 with ``reprice``, a
regularisation path.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_moons

from fewlabels import S3VM
from fewlabels.inspection import BoundaryDisplay, RegularizationPathDisplay

X, truth = make_moons(300, noise=0.1, random_state=0)
y = np.full(len(truth), -1)
rng = np.random.default_rng(3)
for kind in (0, 1):
    told = rng.choice(np.flatnonzero(truth == kind), 3, replace=False)
    y[told] = kind

figure, panels = plt.subplots(1, 3, figsize=(17, 4.8), layout="constrained")
for ax, C_star in zip(panels, (1e-6, 5.0), strict=False):
    model = S3VM(C_star=C_star, gamma=2.0).fit(X, y)
    right = np.mean((model.transduction_ == truth)[y == -1])
    BoundaryDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(f"C_star = {C_star:g}: {right:.0%} of the unlabelled rows right")
    print(f"C_star = {C_star:g}: {right:.1%}, largest KKT violation {model.kkt_violation_:.1e}")
RegularizationPathDisplay.from_estimator(
    S3VM(gamma=2.0), X, y, parameter="C_star", values=np.logspace(-3, 2, 16), ax=panels[2]
)
panels[2].set_title("one minimum, followed")
plt.show()
