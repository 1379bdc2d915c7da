"""
Fit a table and get a report
============================

569 biopsies: some malignant ones are labelled, the others have no label. ``fit_table`` encodes the
columns, picks a method from the labels, chooses its settings, compares it with simpler methods and
makes a report. A notebook shows the report if ``result`` is the last line of a cell.

Left: scores of the unlabelled biopsies, coloured by the true label. Right: the comparison. The
data come with scikit-learn.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer

from fewlabels import fit_table

table = load_breast_cancer(as_frame=True).frame
malignant = table.pop("target") == 0
known = malignant & (np.random.default_rng(0).random(len(table)) < 0.3)
table["diagnosis"] = np.where(known, "malignant", None)

result = fit_table(table, target="diagnosis", time_budget=20, baselines=True, random_state=0)
print(result)

answers = result.predict(table)
flagged = answers["positive"] & ~known
print(f"{(flagged & malignant).sum()} of {(malignant & ~known).sum()} hidden positives found, "
      f"{(flagged & ~malignant).sum()} false alarms")  # fmt: skip

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
bins = np.linspace(answers["score"].min(), answers["score"].max(), 40)
for rows, name in ((~known & malignant, "malignant"), (~malignant, "benign")):
    left.hist(answers["score"][rows], bins, alpha=0.65, label=f"{name}: {rows.sum()}")
left.axvline(0.0, color="black", linewidth=1.0)
left.set(xlabel="score", ylabel="biopsies", title="unlabelled biopsies")
left.legend(frameon=False)
result.comparison.plot(right)
plt.show()

# %%
# The report.

result
