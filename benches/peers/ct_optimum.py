"""Total variation against CVXPY's optimum on small slices: objectives, and whether the gap holds in f64.

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
plan = isocenter.CT(angles=angles, bins=bins, nx=side, ny=side)
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
one = sp.diags([-np.ones(side - 1), np.ones(side - 1)], [0, 1], (side - 1, side))
last = sp.csr_matrix((1, side))
D1 = sp.vstack([one, last])
DX, DY = sp.kron(sp.eye(side), D1).tocsr(), sp.kron(D1, sp.eye(side)).tocsr()

truth = plan.phantom_volume(isocenter.CT.shepp_logan(side / 2)).ravel()
b = A @ truth
b = (b + np.random.default_rng(0).normal(0, 0.01 * b.max(), b.shape)).astype("float32")


def objective(x, weight, huber):
    length = np.hypot(DX @ x, DY @ x)
    penalty = np.where(length < huber, length**2 / (2 * huber), length - huber / 2) if huber else length
    return 0.5 * np.sum((A @ x - b)**2) + weight * penalty.sum()


for weight, huber, upper in [(0.3, 0, 1), (0.03, 0, 1), (3, 0, 1), (0.3, 0, np.inf), (0.3, 0.05, 1)]:
    x = cp.Variable(side * side)
    length = cp.norm(cp.vstack([DX @ x, DY @ x]), 2, axis=0)
    penalty = cp.sum(cp.huber(length, huber)) / (2 * huber) if huber else cp.sum(length)
    bounds = [x >= 0] + ([x <= upper] if np.isfinite(upper) else [])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(A @ x - b) + weight * penalty), bounds)
    problem.solve(solver=cp.CLARABEL)
    best = objective(x.value, weight, huber)
    plan.set_options(algorithm="total_variation")
    plan.set_iterative(5000, regularisation=weight, huber=huber, bounds="box", lower=0.0, upper=upper, tolerance=1e-5)
    seen = plan.reconstruct(b.reshape(views, bins)).ravel().astype(float)
    found = plan.history()[-1]
    ours = objective(seen, weight, huber)
    print(f"weight {weight} huber {huber} upper {upper}: optimum {best:.6f}, ours {ours:.6f} ({(ours - best) / best:.1e} above), told "
          f"{found.objective:.6f} with a gap of {found.gap / found.objective:.1e} after {found.iteration} iterations; "
          f"gap holds: {ours - found.gap <= best * (1 + 1e-9)}", flush=True)
