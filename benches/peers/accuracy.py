"""Error of each package's reconstruction of the modified Shepp-Logan phantom against the exact pixel means."""
import numpy as np

import isocenter
import others
from scans import parallel

# A package might mirror a slice against our convention; nobody is marked down for it.
FLIPS = {"as is": lambda s: s, "rows mirrored": lambda s: s[::-1], "columns mirrored": lambda s: s[:, ::-1],
         "turned by 180 degrees": lambda s: s[::-1, ::-1]}


def inside(side, shift):
    """The field of view less a pixel at its border: pixels whose whole neighbourhood every view sees."""
    x = np.arange(side) - ((side - 1) / 2 + shift)
    return x[:, None] ** 2 + x[None, :] ** 2 <= (side / 2 - 2) ** 2


def rms(seen, truth, where):
    return float(np.sqrt(np.mean((seen.astype(np.float64) - truth)[where] ** 2)))


def ours(side, views, shift):
    """Line integrals, truth, and our slice, for a rotation axis at (side - 1) / 2 + shift."""
    ct = isocenter.CT(isocenter.Context(device="cpu"), **parallel(side, views, shift=shift))
    phantom = ct.shepp_logan(side / 2)
    projections, truth = ct.phantom_projections(phantom), ct.phantom_volume(phantom)
    return projections[:, 0], truth[0], ct.reconstruct(projections)[0]


def measure(side, views):
    """Rows (name, rms error, ours on the same line integrals, remark)."""
    rows = []
    for package in others.available(side, views):
        sinogram, truth, mine = ours(side, views, package.shift)
        where = inside(side, package.shift)
        package.load(sinogram)
        package.run()
        slice_ = package.result()
        errors = {name: rms(flip(slice_), truth, where) for name, flip in FLIPS.items()}
        flip = min(errors, key=errors.get)
        best = FLIPS[flip](slice_)[where].astype(np.float64)
        scale = float(best @ truth[where] / (best @ best))
        scaled = float(np.sqrt(np.mean((scale * best - truth[where]) ** 2)))
        remark = f"{flip}; with its values times {scale:.5f}, the best factor: {scaled:.5f}"
        rows.append((package.name, errors[flip], scaled, rms(mine, truth, where), remark))
    return rows
