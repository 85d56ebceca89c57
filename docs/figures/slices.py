#!/usr/bin/env python3
"""Draws the figure of docs/choosing.md that shows slices: the library reconstructs a phantom by linear and by band-limited interpolation.
test_figures.py of the Python package does so again, and compares pixels and errors.

usage: slices.py [FOLDER]    by default beside this file; needs the Python package and its library
"""
import math
import struct
import zlib

import numpy as np

import isocenter
from svg import INK, Figure, write_all

SIZE = VIEWS = 256
# Rays that make up a bin: a detector measures the mean over a bin's width.
RAYS = 8
RADIUS = 105
# Rows and columns of the enlarged part, and the values that are black and white.
ROWS, COLUMNS = slice(58, 138), slice(146, 226)
BLACK, WHITE = 0.4, 1.8
METHODS = {
    "linear, Ram-Lak": {},
    "linear, Shepp-Logan": {"filter": "shepp_logan"},
    "band-limited, Ram-Lak": {"interpolation": "band_limited"},
    "band-limited, Shepp-Logan": {"interpolation": "band_limited", "filter": "shepp_logan"},
}
SHOWN = ("linear, Ram-Lak", "band-limited, Ram-Lak", "band-limited, Shepp-Logan")
# Root mean square errors against the phantom's means over pixels, within RADIUS: the detail of the figure; Shepp-Logan's modified
# phantom; the same with rays at the bins' centres alone. They stand in the page, too.
ERRORS = {case: dict(zip(METHODS, values)) for case, values in (
    ("detail", ("0.0178", "0.0219", "0.0125", "0.0136")),
    ("shepp_logan", ("0.0225", "0.0262", "0.0217", "0.0211")),
    ("rays", ("0.0235", "0.0242", "0.0341", "0.0266")))}


def detail():
    """A disk with bars of 1.25 to 3 pixels, disks of 1 to 3 pixels' radius, and a hole."""
    ellipses = [[1.0, 0.0, 0.0, RADIUS, RADIUS, 0.0], [-0.5, 78.0, 8.0, 8.0, 8.0, 0.0]]
    turn = 0.4
    for k, width in enumerate((1.25, 1.5, 2.0, 3.0)):
        for bar in range(4):
            along, across = 22.0 * (k % 2), 2 * width * (bar - 1.5) + 24.0 * (k // 2)
            ellipses.append([0.6, 34.0 + across * math.cos(turn) + along * math.sin(turn), 22.0 + across * math.sin(turn) +
                             along * -math.cos(turn) + 24.0, width / 2, 9.0, turn])
    for k in range(5):
        ellipses.append([0.6, 34.0 + 8.0 * k, -2.0 + 0.3 * k, 1.0 + k / 2, 1.0 + k / 2, 0.0])
    return np.array(ellipses)


def slices(ellipses, rays):
    """The phantom's means over pixels, and its slice by each of the methods, from bins of so many rays."""
    angles = np.arange(VIEWS) * math.pi / VIEWS
    size = {"angles": angles, "nx": SIZE, "ny": SIZE, "pixel_size": 1.0}
    with isocenter.Context(device="cpu", log=lambda *_: None) as context:
        with isocenter.CT(context, bins=SIZE * rays, bin_pitch=1 / rays, **size) as ct:
            sinogram = ct.phantom_projections(ellipses).reshape(VIEWS, SIZE, rays).mean(2)
        with isocenter.CT(context, bins=SIZE, **size) as ct:
            truth, found = ct.phantom_volume(ellipses)[0], {}
            for name, options in METHODS.items():
                ct.set_options(**options)
                found[name] = ct.reconstruct(sinogram)
    return truth, found


def errors(truth, found):
    """The root mean square error of each slice within RADIUS."""
    inside = np.hypot(*(np.indices(truth.shape) - (SIZE - 1) / 2)) < RADIUS
    return {name: math.sqrt(np.mean((s - truth)[inside] ** 2.0)) for name, s in found.items()}


def grey(part):
    """Levels of a picture, 0 to 255."""
    return np.rint(255 * np.clip((part - BLACK) / (WHITE - BLACK), 0, 1)).astype(np.uint8)


def png(levels):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = levels.shape
    rows = np.insert(levels, 0, 0, axis=1).tobytes()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def ct_band_limited():
    truth, found = slices(detail(), RAYS)
    cell, gap = 232, 14
    figure = Figure(4 * cell + 5 * gap, cell + 84, "Linear and band-limited interpolation")
    figure.text((gap, 24), f"A part of one slice, {SIZE} x {SIZE} pixels from {VIEWS} views without noise", weight="bold")
    for k, name in enumerate(("the phantom", *SHOWN)):
        x = gap + k * (cell + gap)
        levels = grey(found.get(name, truth)[ROWS, COLUMNS])
        figure.image((x, 40), cell, cell, png(levels))
        figure.text((x, cell + 58), name, size=13)
        if name in found:
            figure.text((x, cell + 75), f"rms error {ERRORS['detail'][name]}", INK, 12)
    return figure


FIGURES = {"ct_band_limited": ct_band_limited}


if __name__ == "__main__":
    write_all(FIGURES)
