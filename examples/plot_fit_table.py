"""
A table in, a model and a report out
====================================

The whole job in one call, from a data frame: 569 biopsies, of which some malignant ones are known
and nothing is said of the others. ``fit_table`` looks at the columns, takes the machine that fits
the labels, chooses its settings, compares it with simpler methods and makes a report, which a
notebook shows when ``found`` is the last line of a cell.

Left: scores of the biopsies of which nothing was said; the truth is used for the colours only.
Right: the other methods that were tried. The data come with scikit-learn.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer

from fewlabels import fit_table

table = load_breast_cancer(as_frame=True).frame
malignant = table.pop("target") == 0
known = malignant & (np.random.default_rng(0).random(len(table)) < 0.3)
table["diagnosis"] = np.where(known, "malignant", None)

found = fit_table(table, target="diagnosis", time_budget=5, random_state=0)
print(found)

answers = found.predict(table)
marked = answers["positive"] & ~known
print(f"{(marked & malignant).sum()} of {(malignant & ~known).sum()} hidden ones found, "
      f"{(marked & ~malignant).sum()} false alarms")  # fmt: skip

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
bins = np.linspace(answers["score"].min(), answers["score"].max(), 40)
for rows, name in ((~known & malignant, "malignant"), (~malignant, "benign")):
    left.hist(answers["score"][rows], bins, alpha=0.65, label=f"{name}: {rows.sum()}")
left.axvline(0.0, color="black", linewidth=1.0)
left.set(xlabel="score", ylabel="biopsies", title="of which nothing was said")
left.legend(frameon=False)
found.comparison.plot(right)
plt.show()

# %%
# The report.

found
