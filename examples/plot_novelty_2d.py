"""
Novelty detection in two dimensions
===================================

Rows of one class lie in two groups, a ring and a cloud. The ball of the support vector
data description lives in the kernel's feature space; in the plane of the rows its
surface is a boundary that follows their shape.

Three settings are compared. `nu` is the share of training rows that may lie outside.
`gamma` is the width of the kernel: a narrow one (large gamma) follows every row, a wide
one (small gamma) sees only the rough outline.

Run it with `python examples/plot_novelty_2d.py [PICTURE.png]`.
"""

import sys

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fewlabels import SVDD


def two_groups(n, rng):
    """Half the rows on a ring, half in a cloud beside it."""
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

x, y = np.meshgrid(np.linspace(-3.4, 6.4, 240), np.linspace(-4.2, 3.4, 190))
grid = np.column_stack([x.ravel(), y.ravel()])

figure = Figure(figsize=(14, 4.7), layout="constrained")
FigureCanvasAgg(figure)
for axes, (title, parameters) in zip(figure.subplots(1, 3), settings.items(), strict=True):
    machine = SVDD(slack="linear", **parameters).fit(normal)
    score = machine.decision_function(grid).reshape(x.shape)
    largest = np.abs(score).max()
    axes.contourf(x, y, score, levels=np.linspace(-largest, largest, 25), cmap="RdBu", alpha=0.6)
    axes.contour(x, y, score, levels=[0.0], colors="black", linewidths=1.5)
    axes.scatter(*normal.T, s=7, color="0.25", label="training rows")
    axes.scatter(
        *machine.support_vectors_.T,
        s=38,
        facecolors="none",
        edgecolors="black",
        label=f"support vectors ({len(machine.support_)})",
    )
    outside = new[machine.predict(new) < 0]
    axes.scatter(*outside.T, s=30, marker="x", color="#c1121f", label="new rows outside")
    share = np.mean(machine.predict(normal) < 0)
    axes.set_title(f"{title}\nradius {machine.radius_:.3f}, {share:.0%} of training rows outside")
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(loc="lower center", ncols=3, fontsize=8, handletextpad=0.2, columnspacing=1.0)
    print(
        f"{title}: {len(machine.support_)} support vectors, radius {machine.radius_:.3f}, "
        f"duality gap {max(0.0, machine.duality_gap_):.1e}"
    )

picture = sys.argv[1] if len(sys.argv) > 1 else "novelty_2d.png"
figure.savefig(picture, dpi=110)
print(f"saved {picture}")
