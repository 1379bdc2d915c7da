"""USMO as the paper writes it, every f from the definition: the slow twin."""

import numpy as np

# Violations closer than this are equal: after a step two samples have the same f.
_TIE = 1e-9


def follow_usmo(K, linear, c2, sigma, tol, pairs):
    """Run the algorithm, taking among equally violating pairs the one that ``pairs`` names.

    Sets and conditions are those of (13) and (14), with the condition on two samples of
    D3 that the paper leaves out. Samples with c2 = 0 are not supported.

    Parameters
    ----------
    pairs : list of set
        The two samples of every step of the run to be followed.

    Returns
    -------
    sigma : ndarray
    steps : int
        Smaller than ``len(pairs)`` if the run went on at a tau-optimal point.

    Raises
    ------
    AssertionError
        If the paper's algorithm could not have chosen a pair, or would go on.
    """
    sigma, steps = np.array(sigma, float), 0
    n = len(sigma)

    def groups(u):
        delta = min(2 * sigma[u], 2 * (c2[u] - sigma[u]))
        d1 = 0 <= delta < c2[u] and sigma[u] == delta / 2
        d2 = 0 <= delta < c2[u] and not d1
        return d1, d2, delta > 0

    def violation(F, i, j):
        """By how much (14) is violated, sigma_i to rise and sigma_j to fall."""
        d1_i, _, d3_i = groups(i)
        _, d2_j, d3_j = groups(j)
        found = [-np.inf]
        if (d1_i and d3_j) or (d3_i and d2_j):
            found.append(F[i] - F[j])
        if d1_i and d2_j:
            found.append(F[i] - F[j] + 2)
        if d3_i and d3_j:
            found.append(F[i] - F[j] - 2)
        return max(found)

    def take_most_violating(candidates):
        """One step, or None if no candidate violates."""
        nonlocal steps
        F = -(K @ sigma) - linear
        found = [(violation(F, i, j), i, j) for i, j in candidates if i != j]
        worst = max(found, default=(-np.inf,))[0]
        if worst <= tol:
            return None
        assert steps < len(pairs), f"a pair violates by {worst} after the last step"
        allowed = [(i, j) for v, i, j in found if v >= worst - _TIE and {i, j} == pairs[steps]]
        assert allowed, f"step {steps} should not be {pairs[steps]}"
        i, j = allowed[0]
        sigma[[i, j]] = best_of_four(K, F, sigma, c2, i, j)
        steps += 1
        return i, j

    def non_bound():
        return [u for u in range(n) if 0 < sigma[u] < c2[u] and sigma[u] != c2[u] / 2]

    while True:
        inside = non_bound()
        while take_most_violating([(i, j) for i in inside for j in inside]):
            inside = non_bound()
        before = steps
        known = set(inside)
        for u in range(n):
            known.add(u)
            pair = take_most_violating([(u, v) for v in known] + [(v, u) for v in known])
            if pair:
                known = set(non_bound()) | set(pair)
        if steps == before:
            return sigma, steps


def best_of_four(K, F, sigma, c2, i, j):
    """Table 1 as printed (case 1 divided by eta, as its derivation gives)."""
    S, both = K[np.ix_([i, j], [i, j])], [i, j]
    eta = S[0, 0] + S[1, 1] - 2 * S[0, 1]
    a = sigma[i] + sigma[j]
    e = -F[both] - S @ sigma[both]
    best = None
    for shift, i_above, j_above in [(0, 1, 1), (2, 1, 0), (-2, 0, 1), (0, 0, 0)]:
        low_i, high_i = (c2[i] / 2, c2[i]) if i_above else (0.0, c2[i] / 2)
        low_j, high_j = (c2[j] / 2, c2[j]) if j_above else (0.0, c2[j] / 2)
        low, high = max(low_j, a - high_i), min(high_j, a - low_i)
        if low > high:
            continue
        x = min(max((a * (S[0, 0] - S[0, 1]) + e[0] - e[1] + shift) / eta, low), high)
        pair = np.array([a - x, x])
        for k, u in enumerate(both):
            for end in (0.0, c2[u] / 2, c2[u]):
                if abs(pair[k] - end) < 1e-13 * c2[u]:
                    pair[k] = end
        delta = np.minimum(2 * pair, 2 * (c2[both] - pair))
        value = 0.5 * pair @ S @ pair + e @ pair - 0.5 * delta.sum()
        if best is None or value < best[0]:
            best = (value, pair)
    return best[1]
