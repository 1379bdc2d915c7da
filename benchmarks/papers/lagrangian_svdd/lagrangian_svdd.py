"""Lagrangian SVDD: Tables 1-11 and Figures 1-3 of Zheng (2018) on CBCL faces and USPS digits.

RBF kernel exp(-|x - z|^2 / (2 sigma^2)) with sigma = 8, C = 2, rho = 200, Algorithm 1 to
|a_k - a_(k-1)| <= 1e-5 within 3000 iterations, gamma = 0.95 / C. The data folder holds
cbcl_faces.npz and usps.npz. A few minutes on two cores. Run it with nothing else on the machine:
it compares seconds.
"""

from __future__ import annotations

from study import Case, Study

from . import experiments, published, report

PARTS = ["faces", "sizes", "parameters", "digits"]


def cases(options):
    quick, folder = options.quick, options.data
    budget = 0.2 if quick else 4.0
    if "faces" in options.parts:
        yield Case({"part": "faces"}, experiments.face_detection,
                   (folder, budget, 600 if quick else None))  # fmt: skip
    if "sizes" in options.parts:
        yield Case({"part": "sizes"}, experiments.sizes, (folder, budget / 2, quick))
    if "parameters" in options.parts:
        yield Case({"part": "parameters"}, experiments.parameters, (folder, quick))
    for label in range(10) if "digits" in options.parts else ():
        if not quick or label == published.BASELINE_DIGIT:
            yield Case({"part": "digits", "digit": label}, experiments.digits,
                       (folder, budget / 4, label))  # fmt: skip


STUDY = Study(
    __doc__, cases, report.report, report.entries, data="required",
    files=lambda options: ["cbcl_faces", "usps"], choices={"parts": PARTS},
    quick={"parts": ["sizes"]},
)  # fmt: skip
