"""Figures 1 to 3."""

from __future__ import annotations

import numpy as np
from shared.common import COLOURS, figure, save_figure

from . import published
from .methods import LAGRANGIAN, OURS, QP, TITLES


def draw(results):
    """Draw every picture that the results allow."""
    inner_product = published.FACES["lagrangian"]["inner_product"]
    for faces in results.where(part="faces"):
        _roc(faces, results.picture("figure-1-roc-faces"))
        path = results.picture("figure-2-faces")
        _convergence(faces["convergence"], path, "Faces", inner_product)
    for answer in results.where(part="digits"):
        if "convergence" in answer:
            path, title = results.picture("figure-3-digit-4"), f"Digit {answer['digit']}"
            _convergence(answer["convergence"], path, title, published.FIGURE_3_INNER_PRODUCT)


def _roc(result, path):
    fig, axes = figure(1, 3, figsize=(11, 4.4), sharey=True)
    paper = {QP: published.FACES["qp"]["auc"], LAGRANGIAN: published.FACES["lagrangian"]["auc"]}
    for ax, method, letter in zip(axes, (QP, LAGRANGIAN, OURS), "abc", strict=True):
        curve, row = result["roc"][method], result["rows"][method]
        ax.plot(curve["false"], curve["true"], color=COLOURS[0], lw=1.8)
        ax.plot([0, 1], [0, 1], color="#aaaaaa", lw=0.8, ls="--")
        ax.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="false positive rate")
        ax.set_box_aspect(1)
        ax.set_title(f"{letter}  {TITLES[method]}", loc="left", fontsize=10)
        text = f"AUC {row['auc']:.4f}\nat 50 values of b {row['paper_auc']:.4f}"
        if method in paper:
            text += f"\npaper {paper[method]:.4f}"
        ax.text(0.97, 0.05, text, ha="right", va="bottom", fontsize=9)
    axes[0].set_ylabel("true positive rate")
    fig.suptitle("CBCL faces, test set (Figure 1)", x=0.01, ha="left", fontsize=11)
    save_figure(fig, path)


def _convergence(curves, path, title, paper_inner_product):
    fig, (left, right) = figure(1, 2, figsize=(9.5, 3.8))
    distance = np.array(curves["distance"])
    k = np.arange(1, len(distance) + 1)
    left.plot(k, distance, color="black", lw=1.6, label="calculated")
    left.plot(
        k,
        curves["A"] * curves["c"] ** k,
        color=COLOURS[1],
        ls="--",
        lw=1.4,
        label=f"fit {curves['A']:.3g} x {curves['c']:.4f}$^k$",
    )
    left.set(xlabel="iteration k", ylabel=r"$\|\alpha^k - \alpha_Q\|$", ylim=(0, None))
    left.set_title("a  distance to the QP solution", loc="left", fontsize=10)
    left.legend(frameon=False)
    inner = np.array(curves["inner_product"])
    right.plot(k, inner, color="black", lw=1.6)
    right.axhline(0.0, color="#aaaaaa", lw=0.8)
    right.set(xlabel="iteration k", ylabel=r"$(\alpha^k)'(Q\alpha^k - v)$")
    right.set_title("b  inner product", loc="left", fontsize=10)
    right.text(
        0.97,
        0.06,
        f"at the end {inner[-1]:.3e}\npaper {paper_inner_product:.3e}",
        transform=right.transAxes,
        ha="right",
        va="bottom",
        fontsize=9,
    )
    fig.suptitle(f"{title}: convergence of Algorithm 1", x=0.01, ha="left", fontsize=11)
    save_figure(fig, path)
