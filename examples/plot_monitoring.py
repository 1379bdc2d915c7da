"""
An alarm when the rows change
=============================

The digits that come with scikit-learn were written by many people, one after the other. A model
of 400 of the first 600 images watches the later ones. When other people begin to write, their
images no longer score like earlier ones, and the monitor raises an alarm. In random order the same
images raise none.

Left: the evidence in both orders; the dashed line is where an alarm is raised. Right: the mean
score of the last 150 images.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from fewlabels import SVDD
from fewlabels.monitoring import Monitor

X, _ = load_digits(return_X_y=True)
X = X / 16.0
first = 600  # images for training and calibration


def watch(images):
    """Fit to some of the first images, calibrate with the others, watch the rest."""
    order = np.random.default_rng(0).permutation(first)
    model = SVDD().fit(images[order[:400]])
    monitor = Monitor(model, calibration=images[order[400:]], alpha=0.01)
    return monitor, monitor.update(images[first:])


monitor, as_written = watch(X)
_, shuffled = watch(X[np.random.default_rng(0).permutation(len(X))])

change = monitor.change()
low, high = (first + row for row in change.interval)
print(f"alarm at image {first + monitor.alarm_}; the change began between {low} and {high}")
print(f"in random order: {shuffled.alarms.sum()} alarms")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
rows = first + np.arange(len(X) - first)
left.plot(rows, as_written.log_evidence / np.log(10.0), label="as written")
left.plot(rows, shuffled.log_evidence / np.log(10.0), label="in random order")
left.axhline(2.0, color="black", linestyle="--", linewidth=1)
left.axvspan(low, high, alpha=0.15, label="change began here (90 %)")
left.set(xlabel="image", ylabel="evidence of a change (power of ten)")
left.legend()
for update, name in ((as_written, "as written"), (shuffled, "in random order")):
    means = np.convolve(update.scores, np.full(150, 1 / 150), mode="valid")
    right.plot(rows[149:], means, label=name)
right.set(xlabel="image", ylabel="mean score of the last 150 images")
right.legend()
plt.show()
