#!/usr/bin/env python3
"""Draws the plots of docs/choosing.md. Each figure is a string that stands in the file of benches/results that the plot names;
test_figures.py of the Python package looks.

usage: plots.py [FOLDER]    by default beside this file
"""
import math

from svg import BLUE, FAINT, GREEN, INK, ORANGE, RED, Figure, write_all

H200, H200_MRI, H200_PET = "2026-11-21-nvidia-h200.md", "2026-11-21-nvidia-h200-mri.md", "2026-11-21-nvidia-h200-pet.md"
EPYC, EPYC_MRI, EPYC_PET = "2026-11-21-amd-epyc-25-17.md", "2026-11-21-amd-epyc-25-17-mri.md", "2026-11-21-amd-epyc-25-17-pet.md"
ON_H200 = "one NVIDIA H200, 2026-11-21"

SOURCES = {
    "ct_kernels": (H200, [
        ("texture standard f32 x1", ["1013"]), ("texture f32 x2", ["2022"]), ("texture f16 x4", ["4031"]), ("alu f32 x1", ["3549"]),
        ("alu f32 x4", ["5997"]), ("tensor split x32", ["5365"]), ("alu f16 x8", ["6109"]), ("tensor f16 x64", ["18483"])]),
    "ct_sizes": (H200, [
        ("size", ["256", "512", "1000", "1024", "1999", "2048", "2049", "3000", "4096"]),
        ("texture f16 x4", ["2738", "3647", "3833", "3900", "4025", "4027", "3966", "3568", "3395"]),
        ("alu f32 x1", ["622", "1954", "3005", "3150", "3367", "3544", "3148", "3665", "3663"]),
        ("alu f32 x4", ["1281", "4143", "5552", "5791", "5702", "5997", "5258", "6058", "6040"]),
        ("tensor f16 x64", ["9228", "14389", "16275", "17087", "17757", "18540", "17724", "18318", "18467"])]),
    "mri_methods": (H200_MRI, [
        ("fast, f32, 1e-3", ["0.293", "0.204"]), ("fast, f32, 1e-5", ["0.392", "0.268"]), ("fast, f64, 1e-9", ["1.67", "1.57"]),
        ("exact, on the grid", ["23.9", "18.3"]), ("exact, anywhere, hardware sines", ["332", "338"]),
        ("exact, anywhere, precise sines", ["523", "529"])]),
    "pet_projectors": (EPYC_PET, [
        ("4 mm, no tilt: gather", ["2.9", "4.4"]), ("Fourier", ["1.8", "2.5"]),
        ("4 mm, tilted: gather", ["7.8", "10.5"]), ("Fourier", ["2.1", "3.2"]),
        ("2 mm, no tilt: gather", ["103", "140"]), ("Fourier", ["22", "26"]),
        ("2 mm, tilted: gather", ["590", "740"]), ("Fourier", ["25", "37"])]),
}
# Errors that the same file gives, relative to the largest value or, for MRI, in the l2 norm.
ERRORS = {
    "ct_kernels": {"alu f32 x4": "3.4e-6", "tensor f16 x64": "3.0e-4"},
    "mri_methods": {"fast, f32, 1e-5": "1.8e-6", "exact, on the grid": "9.8e-7", "exact, anywhere, hardware sines": "1.1e-6",
                    "exact, anywhere, precise sines": "1.0e-6"},
}


def frame(title, below, height):
    figure = Figure(820, height, title)
    figure.text((20, 28), title, weight="bold")
    figure.text((20, 48), below, FAINT, 12)
    return figure


def scale(low, high, left=250, right=640):
    """Places on a logarithmic axis, and the powers of ten on it."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))

    def at(value):
        return left + (right - left) * (math.log10(value) - first) / (last - first)

    return at, [10.0 ** k for k in range(first, last + 1)]


def axis(figure, at, ticks, top, bottom, unit):
    for tick in ticks:
        figure.line((at(tick), top), (at(tick), bottom), "#dddddd", 1)
        figure.text((at(tick), bottom + 18), f"{tick:g}", INK, 12, "middle")
    figure.text((at(ticks[-1]) + 28, bottom + 18), unit, INK, 12)


def ct_kernels():
    _, rows = SOURCES["ct_kernels"]
    figure = frame("Back projection on a GPU, GU/s: higher is faster", f"2048 x 2048 pixels from 2048 views, linear, {ON_H200}; "
                   "x N: slices summed in one launch", 330)
    for line, (name, (value,)) in enumerate(rows):
        y = 70 + 29 * line
        figure.text((240, y + 15), name, anchor="end")
        width = 400 * float(value) / 18483
        color = GREEN if "f32" in name and "texture" not in name or "split" in name else ORANGE if "texture" in name else BLUE
        figure.rect(250, y, width, 20, color, color)
        error = ERRORS["ct_kernels"].get(name)
        figure.text((258 + width, y + 15), value + (f"  (error {error})" if error else ""), size=13)
    for k, (words, color) in enumerate((("f32 grade", GREEN), ("half-precision data", BLUE), ("texture units: 8-bit weights", ORANGE))):
        figure.rect(250 + 150 * k, 308, 12, 12, color, color)
        figure.text((268 + 150 * k, 319), words, size=12)
    return figure


def ct_sizes():
    _, ((_, sizes), *rows) = SOURCES["ct_sizes"]
    figure = frame("Back projection on a GPU by size, GU/s", f"N x N pixels from N views, linear, {ON_H200}; few slices, so small sizes "
                   "do not fill the GPU", 390)
    left, right, top, bottom = 80, 640, 70, 340

    def x(size):
        return left + (right - left) * math.log2(float(size) / 256) / 4

    def y(value):
        return bottom - (bottom - top) * (math.log10(float(value)) - 2.5) / 2

    for tick in (500, 1000, 2000, 5000, 10000, 20000):
        figure.line((left, y(tick)), (right, y(tick)), "#dddddd", 1)
        figure.text((left - 8, y(tick) + 4), str(tick), INK, 12, "end")
    for tick in (256, 512, 1024, 2048, 4096):
        figure.text((x(tick), bottom + 18), str(tick), INK, 12, "middle")
    figure.text((right + 28, bottom + 18), "N", INK, 12)
    for (name, values), color, shift in zip(rows, (ORANGE, RED, GREEN, BLUE), (10, -2, 4, 4)):
        points = [(x(size), y(value)) for size, value in zip(sizes, values)]
        figure.lines(points, color, 2)
        for point in points:
            figure.dot(point, 3, color)
        figure.text((right + 10, points[-1][1] + shift), name, color, 13)
    return figure


def mri_methods():
    _, rows = SOURCES["mri_methods"]
    figure = frame("One Fourier sum on a GPU, ms: lower is faster", f"128^3 voxels, 284,592 radial samples, one coil, {ON_H200}; "
                   "adjoint (dark), forward (light)", 330)
    at, ticks = scale(0.2, 529)
    axis(figure, at, ticks, 62, 292, "ms")
    for line, (name, values) in enumerate(rows):
        for k, (value, color) in enumerate(zip(values, (BLUE, "#8fb4dd"))):
            figure.rect(at(ticks[0]), 66 + 38 * line + 14 * k, at(float(value)) - at(ticks[0]), 13, color, color)
        figure.text((240, 84 + 38 * line), name, anchor="end")
        error = ERRORS["mri_methods"].get(name)
        figure.text((at(max(map(float, values))) + 8, 84 + 38 * line),
                    " / ".join(values) + (f"  (error {error})" if error else ""), size=13)
    return figure


def pet_projectors():
    _, rows = SOURCES["pet_projectors"]
    figure = frame("One projection of PET on the processor, ms: lower is faster", f"processor time / 2; 144 x 144 x 48 voxels of 4 mm, or "
                   f"288 x 288 x 96 of 2 mm; AMD EPYC, 2026-11-21, busy: least, most", 340)
    at, ticks = scale(1.8, 740)
    axis(figure, at, ticks, 62, 300, "ms")
    for line, (name, (least, most)) in enumerate(rows):
        y = 68 + 24 * line + 8 * (line // 2)
        color = BLUE if "gather" in name else GREEN
        figure.rect(at(1.0), y, at(float(least)) - at(1.0), 18, color, color)
        figure.line((at(float(least)), y + 9), (at(float(most)), y + 9), color, 3)
        figure.text((240, y + 14), name, anchor="end")
        figure.text((at(float(most)) + 8, y + 14), f"{least} to {most}", size=13)
    return figure


FIGURES = {f.__name__: f for f in (ct_kernels, ct_sizes, mri_methods, pet_projectors)}


if __name__ == "__main__":
    write_all(FIGURES)
