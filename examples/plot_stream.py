"""
Update a model with new rows and labels
=======================================

Images of threes and eights arrive one at a time, and one in twenty has a label. Each update
takes milliseconds and ends exactly at a local minimum for all rows so far. At the end, a label
is removed and a hundred rows are forgotten, just as exactly.

Left: the time per update. Right: the accuracy on images that never arrive.
"""

import time

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from fewlabels import S3VM
from fewlabels.inspection import LatencyDisplay

X, digit = load_digits(return_X_y=True)
chosen = np.isin(digit, (3, 8))
X, truth = X[chosen] / 16.0, (digit[chosen] == 8).astype(int)
order = np.random.default_rng(1).permutation(len(truth))
X, truth = X[order], truth[order]
begin, arriving, new = slice(0, 20), range(20, 240), slice(240, None)

y = np.full(len(truth), -1)
y[::20] = truth[::20]
for kind in (0, 1):
    y[np.flatnonzero(truth[begin] == kind)[:2]] = kind

model = S3VM().fit(X[begin], y[begin])
seconds, held, right = [], [], []
for row in arriving:
    started = time.perf_counter()
    model.partial_fit(X[row : row + 1], y[row : row + 1])
    seconds.append(time.perf_counter() - started)
    held.append(row + 1)
    right.append(np.mean(model.predict(X[new]) == truth[new]))
print(f"{len(held)} updates, median {1e3 * np.median(seconds):.2f} ms")
print(f"accuracy on other images: {right[0]:.1%} at first, {right[-1]:.1%} at the end")

model.relabel([20], None).forget(range(100))
print(f"{model.shape_fit_[0]} rows left, largest KKT violation {model.kkt_violation_:.1e}")

figure, (left, middle) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
LatencyDisplay(held, seconds).plot(ax=left)
middle.plot(held, 100.0 * np.array(right))
middle.set(xlabel="rows in the model", ylabel="accuracy in %")
plt.show()
