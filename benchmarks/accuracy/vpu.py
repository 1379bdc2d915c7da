"""VPU: a variational approach for learning from positive and unlabelled rows.

H. Chen, F. Liu, Y. Wang, L. Zhao, H. Wu. A variational approach for learning from positive and
unlabeled data. NeurIPS 2020. Written from the paper, in NumPy: a network phi(x) in (0, 1) with two
hidden layers minimises ``log mean_U phi - mean_P log phi`` and the MixUp penalty on log phi. After
training, phi is divided by its largest value, and rows above 1/2 are positive. A fifth of the rows
is held out to choose the epoch by the first two terms.
"""

from __future__ import annotations

import itertools

import numpy as np

# The paper's MixUp: parameters of the beta distribution, and weight of the penalty.
ALPHA, PENALTY = 0.3, 0.03
HIDDEN, BATCH, EPOCHS, STEPS_PER_EPOCH = 100, 256, 20, 30
RATE = 1e-3


class Network:
    """log phi by two hidden layers, with Adam."""

    def __init__(self, n_features, rng):
        sizes = (n_features, HIDDEN, HIDDEN, 1)
        self.weights = []
        for before, after in itertools.pairwise(sizes):
            scale = np.sqrt(2.0 / before)
            self.weights += [rng.normal(0.0, scale, (before, after)), np.zeros(after)]
        self.steps = 0
        self.moments = [[np.zeros_like(w), np.zeros_like(w)] for w in self.weights]

    def forward(self, X):
        """log phi, and what the gradient needs."""
        kept = [X]
        for k in (0, 2):
            kept.append(np.maximum(kept[-1] @ self.weights[k] + self.weights[k + 1], 0.0))
        z = (kept[-1] @ self.weights[4] + self.weights[5])[:, 0]
        return -np.logaddexp(0.0, -z), kept

    def gradients(self, log_phi, kept, slope):
        """Of all weights, from the loss's derivative with respect to log phi."""
        error = (slope * -np.expm1(log_phi))[:, None]
        found = []
        for k in (4, 2, 0):
            rows = kept[k // 2]
            found = [rows.T @ error, error.sum(axis=0), *found]
            if k:
                error = (error @ self.weights[k].T) * (rows > 0.0)
        return found

    def step(self, gradients):
        self.steps += 1
        for w, g, (first, second) in zip(self.weights, gradients, self.moments, strict=True):
            first += 0.1 * (g - first)
            second += 1e-3 * (g * g - second)
            size = np.sqrt(second / (1.0 - 0.999**self.steps)) + 1e-8
            w -= RATE * first / (1.0 - 0.9**self.steps) / size


def loss(log_unlabelled, log_positive):
    """The variational loss."""
    largest = log_unlabelled.max()
    mean = np.mean(np.exp(log_unlabelled - largest))
    return float(largest + np.log(mean) - log_positive.mean())


def loss_and_slopes(log_phi, n_u, n_p, share):
    """Loss with the MixUp penalty, and its derivative with respect to log phi of a batch.

    The batch has ``n_u`` unlabelled rows, ``n_p`` positive ones, and ``n_u`` mixed rows: ``share``
    of an unlabelled row and the rest of a positive one.
    """
    log_u, log_p, log_mixed = np.split(log_phi, [n_u, n_u + n_p])
    phi = np.exp(log_u)
    target = share * phi + 1.0 - share
    off = np.log(target) - log_mixed
    slope_u = phi / phi.sum() + PENALTY * 2.0 * off / (n_u * target) * share * phi
    slope_p = np.full(n_p, -1.0 / n_p)
    slope_mixed = -PENALTY * 2.0 * off / n_u
    value = loss(log_u, log_p) + PENALTY * float(np.mean(off**2))
    return value, np.concatenate([slope_u, slope_p, slope_mixed])


def _trained(X, positive, held, rng):
    """The network with the smallest held-out loss."""
    network = Network(X.shape[1], rng)
    ours, others = np.flatnonzero(positive & ~held), np.flatnonzero(~positive & ~held)
    best = np.inf, None
    for _ in range(EPOCHS):
        for _ in range(STEPS_PER_EPOCH):
            u = X[rng.choice(others, min(BATCH, len(others)), replace=False)]
            p = X[rng.choice(ours, min(BATCH, len(ours)), replace=False)]
            share = rng.beta(ALPHA, ALPHA)
            mixed = share * u + (1.0 - share) * p[rng.integers(len(p), size=len(u))]
            log_phi, kept = network.forward(np.concatenate([u, p, mixed]))
            _, slope = loss_and_slopes(log_phi, len(u), len(p), share)
            network.step(network.gradients(log_phi, kept, slope))
        log_phi = network.forward(X)[0]
        found = loss(log_phi[held & ~positive], log_phi[held & positive])
        if found < best[0]:
            best = found, [w.copy() for w in network.weights]
    network.weights = best[1]
    return network


def fit(X, y, seed=0):
    """A function that returns log of the normalised phi; positive above ``log(1/2)``."""
    rng = np.random.default_rng(seed)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation < 1e-9] = 1.0
    rows, positive = (X - mean) / deviation, y == 1
    held = np.zeros(len(y), dtype=bool)
    for kind in (positive, ~positive):
        places = rng.permutation(np.flatnonzero(kind))
        held[places[: max(1, len(places) // 5)]] = True
    network = _trained(rows, positive, held, rng)
    largest = float(network.forward(rows)[0].max())
    return lambda Z: network.forward((Z - mean) / deviation)[0] - largest
