#!/usr/bin/env python3
"""Draws stripes.png of docs/frames.md: two measured scans without and with the removal of stripes.

usage: stripes.py TOOTH.h5 NEUTRON.tif [FILE]    tomopy's tooth (Data Exchange), sarepy's sinogram_360_neutron; needs h5py, tifffile, Pillow
"""
import sys
from pathlib import Path

import h5py
import isocenter
import numpy as np
import tifffile
from PIL import Image

METHODS = ("", "significant", "vo")
SIDE = 400


def slices(ct, projections, crop):
    """The first slice by each method, in the grey values of the first."""
    made = []
    for method in METHODS:
        if method:
            ct.set_stripes(method)
        else:
            ct.leave_stripes()
        made.append(np.asarray(ct.reconstruct(projections))[0][crop])
    low, high = np.percentile(made[0], (1, 99.5))
    return [np.uint8(np.clip((v - low) / (high - low), 0, 1) * 255) for v in made]


def tooth(context, path):
    """Counts of 181 views over half a turn, the axis near bin 296."""
    with h5py.File(path) as file:
        data, flats, darks, degrees = (file[f"/exchange/{name}"][()] for name in ("data", "data_white", "data_dark", "theta"))
    ct = isocenter.CT(context, angles=np.deg2rad(degrees), bins=data.shape[2], rows=data.shape[1], axis=296.0)
    ct.set_options(input="counts")
    ct.set_flat_field(flats, darks)
    return slices(ct, data, np.s_[110:510, 110:510])


def neutron(context, path):
    """Transmissions of 459 views over a turn, both ends in."""
    sinogram = tifffile.imread(path).astype(np.float32)[:-1] / 65535
    views, bins = sinogram.shape
    ct = isocenter.CT(context, angles=np.arange(views) * 2 * np.pi / views, bins=bins)
    ct.set_options(input="transmission", minimum_transmission=1e-3)
    return slices(ct, np.ascontiguousarray(sinogram[:, None]), np.s_[:, :])


def main():
    """Two rows of three slices."""
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    context = isocenter.Context(device="cpu")
    rows = []
    for images in (tooth(context, sys.argv[1]), neutron(context, sys.argv[2])):
        rows.append(np.hstack([np.asarray(Image.fromarray(i).resize((SIDE, SIDE), Image.LANCZOS)) for i in images]))
    Image.fromarray(np.vstack(rows)).save(sys.argv[3] if len(sys.argv) > 3 else Path(__file__).with_name("stripes.png"), optimize=True)


if __name__ == "__main__":
    main()
