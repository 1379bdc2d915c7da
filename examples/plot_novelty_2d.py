"""
Novelty detection in two dimensions
===================================

Rows of one class form two groups, a ring and a cloud. ``SVDD`` finds the smallest ball around
them in the kernel's feature space. In the plane, its surface is a boundary that follows their
shape.

Three settings are compared. ``nu`` bounds the share of training rows outside. ``gamma`` sets the
kernel width: a narrow kernel (large gamma) follows every row, and a wide one (small gamma) only
the rough outline.
"""

import numpy as np
from matplotlib import pyplot as plt

from fewlabels import SVDD
from fewlabels.inspection import BoundaryDisplay


def two_groups(n, rng):
    """Half the rows on a ring, half in a cloud next to it."""
    angle = rng.uniform(0.0, 2.0 * np.pi, n // 2)
    distance = rng.normal(2.0, 0.15, n // 2)
    ring = np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])
    cloud = rng.normal([4.2, 0.0], [0.35, 0.7], (n - n // 2, 2))
    return np.vstack([ring, cloud])


rng = np.random.default_rng(0)
normal = two_groups(400, rng)
new = np.vstack([two_groups(60, rng), rng.uniform([-3.2, -3.2], [6.2, 3.2], (40, 2))])

settings = {
    "wide: gamma = 0.2, nu = 0.05": dict(gamma=0.2, nu=0.05),
    "narrower: gamma = 1, nu = 0.05": dict(gamma=1.0, nu=0.05),
    "more rows outside: gamma = 1, nu = 0.3": dict(gamma=1.0, nu=0.3),
}

figure, panels = plt.subplots(1, 3, figsize=(14, 4.7), layout="constrained")
for axes, (title, parameters) in zip(panels, settings.items(), strict=True):
    model = SVDD(slack="linear", **parameters).fit(normal)
    BoundaryDisplay.from_estimator(model, normal, ax=axes)
    outside = new[model.predict(new) < 0]
    axes.scatter(*outside.T, s=30, marker="x", color="#c1121f", label="new rows outside")
    share = np.mean(model.predict(normal) < 0)
    axes.set_title(f"{title}\nradius {model.radius_:.3f}, {share:.0%} of training rows outside")
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(loc="lower center", ncols=3, fontsize=8, handletextpad=0.2, columnspacing=1.0)
    print(
        f"{title}: {len(model.support_)} support vectors, radius {model.radius_:.3f}, "
        f"duality gap {max(0.0, model.duality_gap_):.1e}"
    )

plt.show()
