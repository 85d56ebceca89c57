"""Total variation against CVXPY's optimum on small slices and volumes: objectives, and whether the gap holds in f64.

usage: ct_optimum.py [SIDE]    (default 32)

Needs cvxpy, scipy, and the isocenter package on a built library.
"""
import sys

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import isocenter

side = int(sys.argv[1]) if len(sys.argv) > 1 else 32
views, bins = 30, int(1.5 * side)
angles = np.linspace(0, np.pi, views, endpoint=False) + 0.02
# The matrix, by its definition.
rows, columns, values = [], [], []
i, j = (v.ravel() for v in np.mgrid[:side, :side])
for v, t in enumerate(angles):
    place = (bins - 1) / 2 + (j - (side - 1) / 2) * np.cos(t) - (i - (side - 1) / 2) * np.sin(t)
    m = max(abs(np.cos(t)), abs(np.sin(t)))
    for d in range(-1, 3):
        k = np.floor(place).astype(int) + d
        w = np.maximum(0, 1 - np.abs(k - place) / m) / m
        there = (k >= 0) & (k < bins) & (w > 0)
        rows.append(v * bins + k[there]), columns.append((i * side + j)[there]), values.append(w[there])
A = sp.csr_matrix(tuple([np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))]), (views * bins, side * side))


def differences(n):
    return sp.vstack([sp.diags([-np.ones(n - 1), np.ones(n - 1)], [0, 1], (n - 1, n)), sp.csr_matrix((1, n))])


def data(slices, rings):
    """Slices whose ellipses grow, with noise and, where offsets are looked for, a few of them."""
    scan = isocenter.CT(angles=angles, bins=bins, nx=side, ny=side)
    truth = [scan.phantom_volume(isocenter.CT.shepp_logan(side / 2) * [1, *4 * [1 - 0.1 * z], 1]).ravel() for z in range(slices)]
    b = np.stack([A @ x for x in truth])
    random = np.random.default_rng(0)
    b += random.normal(0, 0.01 * b.max(), b.shape)
    if rings:
        b += np.tile(0.05 * b.max() * (random.random((slices, bins)) < 0.1), views)
    return b.astype("float32")


def objective(x, r, b, weight, huber, rings, D):
    length = np.sqrt(sum((d @ x)**2 for d in D))
    penalty = np.where(length < huber, length**2 / (2 * huber), length - huber / 2) if huber else length
    left = x.reshape(len(b), -1) @ A.T + np.tile(r, views) - b
    return 0.5 * np.sum(left**2) + weight * penalty.sum() + rings * np.abs(r).sum()


def check(weight, huber, upper, rings=0.0, slices=1):
    b, n = data(slices, rings), side * side
    one, own = sp.eye(slices), sp.eye(side)
    D = [sp.kron(one, sp.kron(own, differences(side))), sp.kron(one, sp.kron(differences(side), own))]
    D += [sp.kron(differences(slices), sp.eye(n))] if slices > 1 else []
    D = [d.tocsr() for d in D]
    x, r = cp.Variable(slices * n), cp.Variable((slices, bins))
    length = cp.norm(cp.vstack([d @ x for d in D]), 2, axis=0)
    penalty = cp.sum(cp.huber(length, huber)) / (2 * huber) if huber else cp.sum(length)
    bounds = [x >= 0] + ([x <= upper] if np.isfinite(upper) else []) + ([] if rings else [r == 0])
    left = [A @ x[z * n:(z + 1) * n] + cp.hstack(views * [r[z]]) - b[z] for z in range(slices)]
    problem = cp.Problem(cp.Minimize(0.5 * sum(cp.sum_squares(v) for v in left) + weight * penalty + rings * cp.sum(cp.abs(r))), bounds)
    problem.solve(solver=cp.CLARABEL)
    best = objective(x.value, r.value, b, weight, huber, rings, D)
    plan = isocenter.CT(angles=angles, bins=bins, nx=side, ny=side, rows=slices, order="sinograms")
    plan.set_options(algorithm="total_variation")
    plan.set_iterative(5000, regularisation=weight, huber=huber, bounds="box", lower=0.0, upper=upper, ring_weight=rings,
                       variation="volume" if slices > 1 else "slices", tolerance=1e-5)
    seen = plan.reconstruct(b.reshape(slices, views, bins)).ravel().astype(float)
    # The best offsets of that image: soft thresholds of what it leaves.
    mean = (b - seen.reshape(slices, -1) @ A.T).reshape(slices, views, bins).mean(axis=1)
    offsets = np.sign(mean) * np.maximum(np.abs(mean) - rings / views, 0) if rings else np.zeros((slices, bins))
    found = plan.history()[-1]
    ours = objective(seen, offsets, b, weight, huber, rings, D)
    print(f"weight {weight} huber {huber} upper {upper} rings {rings} slices {slices}: optimum {best:.6f}, ours {ours:.6f} "
          f"({(ours - best) / best:.1e} above), told {found.objective:.6f} with a gap of {found.gap / found.objective:.1e} after "
          f"{found.iteration} iterations; gap holds: {found.objective - found.gap <= best * (1 + 1e-7)}", flush=True)


for case in [(0.3, 0, 1), (0.03, 0, 1), (3, 0, 1), (0.3, 0, np.inf), (0.3, 0.05, 1), (0.3, 0, 1, 1.0), (0.3, 0, 1, 0.0, 4), (3, 0.05, 1, 0.0, 4),
             (0.3, 0, 1, 1.0, 3)]:
    check(*case)
