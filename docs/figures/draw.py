#!/usr/bin/env python3
"""Draws the figures of docs/conventions.md. The numbers in capitals are what the figures claim; test_figures.py of the Python package holds
them against the library.

usage: draw.py [FOLDER]    by default beside this file
"""
import math

from svg import BLUE, FAINT, GREEN, INK, ORANGE, PAPER, RED, Figure, write_all

# A detector, its axis where it is given, and where a ray beside it counts half.
BINS, DEFAULT_AXIS, GIVEN_AXIS, HALF_BEYOND = 8, 3.5, 4.25, -0.5

# A slice of SIDE x SIDE pixels seen by a detector of TURN_BINS bins at an angle: the pixel is in the bin.
SIDE, TURN_BINS, TURN, PIXEL = 8, 14, math.radians(30), (1, 6)
PIXEL_XY = (2.5, 2.5)
PIXEL_BIN = 6.5 + PIXEL_XY[0] * math.cos(TURN) + PIXEL_XY[1] * math.sin(TURN)

# The bin of a ray; half a turn later it is in bin 2 x axis - this.
HALF_TURN_BIN = 6

# Columns of slices, and the column through which the axis passes.
COLUMNS = {4: 1.5, 5: 2.0}
# A region of interest of ROI_SIDE x ROI_SIDE pixels of that slice, from this row and column on.
ROI_SIDE, ROI_ROW, ROI_COLUMN = 3, 1, 5
ROI_X_OFFSET, ROI_Y_OFFSET = -2.5, 1.5

# Detector rows, and the slices made of them.
ROWS, FIRST_ROW, SLICES = 6, 2, 3

# Voxels of an axis and their positions; the ends of k-space in each unit.
POSITIONS = {8: range(-4, 4), 7: range(-3, 4)}
UNITS = {"cycles_per_voxel": 0.5, "cycles_per_field_of_view": 4.0, "radians_per_voxel": math.pi}

# Views of PET: azimuth and tilt in degrees, and a voxel's signed distance from the axis, for a place in mm.
AZIMUTH, TILT, PLACE = 30.0, 20.0, (-20.0, 60.0)
SIGNED_RADIUS = -PLACE[0] * math.sin(math.radians(AZIMUTH)) + PLACE[1] * math.cos(math.radians(AZIMUTH))

# An event: positions in mm, t2 - t1 in ps, and the voxel (row, column) of a lattice of LATTICE x LATTICE voxels of VOXEL mm.
LATTICE, VOXEL, DIFFERENCE = 8, 20.0, 400.0
FIRST = (160 * math.cos(math.radians(AZIMUTH)), 160 * math.sin(math.radians(AZIMUTH)))
SECOND = (-FIRST[0], -FIRST[1])
EVENT_VOXEL = (5, 6)
HALF_LIGHT = 0.149896229


def grid(figure, corner, cell, rows, columns, fill=PAPER):
    figure.rect(*corner, columns * cell, rows * cell, FAINT, fill)
    for k in range(1, columns):
        figure.line((corner[0] + k * cell, corner[1]), (corner[0] + k * cell, corner[1] + rows * cell), FAINT, 0.8)
    for k in range(1, rows):
        figure.line((corner[0], corner[1] + k * cell), (corner[0] + columns * cell, corner[1] + k * cell), FAINT, 0.8)


def ct_detector():
    figure = Figure(760, 300, "Where bin 0 and the rotation axis are")
    left, cell, top = 140, 60, 120

    def at(bin_):
        return left + (bin_ + 0.5) * cell

    figure.text((20, 28), "One detector row of 8 bins: bin k has its centre at k, counted from 0", weight="bold")
    for k in range(BINS):
        figure.rect(left + k * cell, top, cell, 44, INK, PAPER)
        figure.dot((at(k), top + 22), 2.5, INK)
        figure.text((at(k), top + 64), str(k), anchor="middle")
    for edge in (-0.5, BINS - 0.5):
        figure.line((at(edge), top + 44), (at(edge), top + 56), INK, 1)
        figure.text((at(edge), top + 82), f"{edge:g}".replace("-", "−"), FAINT, 12, "middle")
    figure.line((at(DEFAULT_AXIS), top - 26), (at(DEFAULT_AXIS), top + 44), RED, 2)
    figure.text((at(DEFAULT_AXIS) - 6, top - 32), "axis by default: (bins − 1) / 2 = 3.5", RED, anchor="end")
    figure.line((at(GIVEN_AXIS), top - 26), (at(GIVEN_AXIS), top + 44), BLUE, 2, "6 4")
    figure.text((at(GIVEN_AXIS) + 4, top - 32), "axis = 4.25", BLUE)
    base, high = 280, 36
    figure.line((20, base), (740, base), FAINT, 1)
    figure.lines([(at(-1.0), base), (at(0), base - high), (at(BINS - 1), base - high), (at(BINS), base)], GREEN, 2)
    figure.dot((at(HALF_BEYOND), base - high / 2), 4, GREEN)
    figure.text((at(3.6), base - 12), "interpolated row of ones: ½ at −0.5, 0 from −1 and 8 on", GREEN, 13, "middle")
    return figure


def turned(point, angle):
    return (point[0] * math.cos(angle) - point[1] * math.sin(angle), point[0] * math.sin(angle) + point[1] * math.cos(angle))


def slice_and_detector(figure, centre, cell, sample, detector, distance):
    """A slice turned by `sample`, and a detector by `detector`, both counter-clockwise, with the ray through the pixel."""
    def place(point, angle):
        x, y = turned(point, angle)
        return centre[0] + cell * x, centre[1] - cell * y

    half = SIDE / 2
    figure.polygon([place(corner, sample) for corner in ((-half, half), (half, half), (half, -half), (-half, -half))], INK, 1, PAPER)
    for k in range(1, SIDE):
        for a, b in (((-half + k, -half), (-half + k, half)), ((-half, -half + k), (half, -half + k))):
            figure.line(place(a, sample), place(b, sample), FAINT, 0.7)
    x, y = PIXEL_XY
    figure.polygon([place((x + a, y + b), sample) for a, b in ((-0.5, 0.5), (0.5, 0.5), (0.5, -0.5), (-0.5, -0.5))], RED, 1, "#f4c7c0")
    for k in range(TURN_BINS):
        left, right = k - TURN_BINS / 2, k + 1 - TURN_BINS / 2
        figure.polygon([place(corner, detector) for corner in ((left, -distance), (right, -distance), (right, -distance - 0.8),
                                                               (left, -distance - 0.8))], INK, 0.8, "#ffffff")
    for k in (0, TURN_BINS - 1):
        at = place((k - (TURN_BINS - 1) / 2, -distance - 1.7), detector)
        figure.text((at[0], at[1] + 5), f"{k}", INK, 13, "middle")
    h = PIXEL_BIN - (TURN_BINS - 1) / 2
    pixel = place(PIXEL_XY, sample)
    figure.line(place((h, half + 1.2), detector), place((h, -distance), detector), RED, 1.4, "5 4")
    figure.dot(pixel)
    figure.dot(place((h, -distance - 0.4), detector), 3.5)
    figure.line(place((0, half + 1.2), detector), place((0, -distance - 0.8), detector), FAINT, 1, "2 4")
    figure.dot(centre, 3, INK)
    return place


def ct_turn():
    figure = Figure(900, 500, "Which way angles grow")
    cell, distance = 21, 6.6
    left, right = (220, 230), (690, 230)
    figure.text((20, 28), "Sample at rest: the detector turns counter-clockwise", weight="bold")
    place = slice_and_detector(figure, left, cell, 0.0, TURN, distance)
    figure.arrow(left, (left[0] + 6.2 * cell, left[1]), BLUE)
    figure.text((left[0] + 6.3 * cell, left[1] + 5), "x", BLUE)
    figure.arrow(left, (left[0], left[1] - 6.2 * cell), BLUE)
    figure.text((left[0] - 4, left[1] - 6.4 * cell), "y", BLUE)
    figure.arrow(left, place((5.6, 0), TURN), GREEN)
    figure.arc(left, 4.7 * cell, 0, TURN, GREEN)
    figure.text((left[0] + 4.95 * cell, left[1] - 1.0 * cell), "t = 30°", GREEN)
    corner = left[0] - 4 * cell, left[1] - 4 * cell
    figure.text((corner[0] - 8, corner[1] + 15), "i = 0", INK, 12, "end")
    figure.text((corner[0] - 8, corner[1] + 7.7 * cell), "7", INK, 12, "end")
    figure.text((corner[0] + 8, corner[1] - 6), "j = 0", INK, 12, "middle")
    figure.text((corner[0] + 7.5 * cell, corner[1] - 6), "7", INK, 12, "middle")
    figure.text((480, 28), "The same data: detector at rest, the sample", weight="bold")
    figure.text((480, 46), "turns clockwise, as seen with row 0 on top", weight="bold")
    slice_and_detector(figure, right, cell, -TURN, 0.0, distance)
    figure.arc(right, 6.0 * cell, math.radians(200), math.radians(170), GREEN)
    figure.text((right[0] - 7.9 * cell, right[1] + 5), "t", GREEN)
    figure.text((20, 466), "Pixel (i, j) = (1, 6) is at x = 2.5, y = 2.5 from the axis, and in bin", RED)
    figure.text((20, 487), f"h = axis + x cos t + y sin t = 6.5 + 2.17 + 1.25 = {PIXEL_BIN:.2f}   (pixels as wide as bins)", RED)
    return figure


def ct_half_turn():
    figure = Figure(760, 330, "Views half a turn apart")
    centre, cell = (300, 165), 30
    figure.text((20, 28), "Half a turn later the same rays are met from the other side", weight="bold")
    figure.circle(centre, 2.6 * cell, FAINT)
    for side, names in ((1, range(BINS)), (-1, range(BINS - 1, -1, -1))):
        for slot, name in enumerate(names):
            x, y = centre[0] + (slot - 4) * cell, centre[1] + side * 3.4 * cell - cell / 2
            figure.rect(x, y, cell, cell, INK, PAPER)
            figure.text((x + cell / 2, y + 20), str(name), INK, 13, "middle")
    x = centre[0] + (HALF_TURN_BIN - DEFAULT_AXIS) * cell
    figure.line((x, centre[1] - 2.9 * cell), (x, centre[1] + 2.9 * cell), RED, 1.5, "5 4")
    figure.dot((x, centre[1] - 0.3 * cell))
    figure.line((centre[0], centre[1] - 2.9 * cell), (centre[0], centre[1] + 2.9 * cell), FAINT, 1, "2 4")
    figure.dot(centre, 3, INK)
    at = centre[0] + 4.6 * cell
    figure.text((centre[0] - 4.3 * cell, centre[1] + 3.5 * cell), "angle t: bin k", INK, anchor="end")
    figure.text((centre[0] - 4.3 * cell, centre[1] - 3.5 * cell), "angle t + π:", INK, anchor="end")
    figure.text((centre[0] - 4.3 * cell, centre[1] - 2.8 * cell), "bin 2 axis − k", INK, anchor="end")
    for line, words in enumerate(("Bins counted from the other end:", "add π to all angles, and take", "bins − 1 − axis for the axis.", "",
                                  "Sample turns the other way:", "−t for all angles.", "", "Rays have no direction: source and",
                                  "detector may change places.")):
        figure.text((at, centre[1] - 1.9 * cell + 19 * line), words, BLUE)
    return figure


def ct_pixels():
    figure = Figure(860, 350, "Half pixels")
    cell, top = 40, 100
    figure.text((20, 28), "The axis passes through column (n − 1) / 2: between pixels, or through the middle of one", weight="bold")
    for left, (columns, axis) in zip((40, 260), COLUMNS.items()):
        grid(figure, (left, top), cell, columns, columns)
        for j in range(columns):
            figure.text((left + (j + 0.5) * cell, top - 8), str(j), anchor="middle")
            figure.text((left - 8, top + (j + 0.5) * cell + 5), str(j), anchor="end")
            for i in range(columns):
                figure.dot((left + (j + 0.5) * cell, top + (i + 0.5) * cell), 1.5, FAINT)
        at = left + (axis + 0.5) * cell, top + (axis + 0.5) * cell
        figure.dot(at, 5)
        figure.text((left + columns * cell / 2, top - 34), f"nx = {columns}: column {axis:g}", RED, anchor="middle")
    left, small = 530, 24
    grid(figure, (left, top), small, SIDE, SIDE)
    figure.rect(left + ROI_COLUMN * small, top + ROI_ROW * small, ROI_SIDE * small, ROI_SIDE * small, BLUE, "#cfe0f3", 2)
    for k in range(1, ROI_SIDE):
        x, y = left + (ROI_COLUMN + k) * small, top + (ROI_ROW + k) * small
        figure.line((x, top + ROI_ROW * small), (x, top + (ROI_ROW + ROI_SIDE) * small), BLUE, 0.8)
        figure.line((left + ROI_COLUMN * small, y), (left + (ROI_COLUMN + ROI_SIDE) * small, y), BLUE, 0.8)
    axis = left + 4 * small, top + 4 * small
    middle = left + (ROI_COLUMN + 1.5) * small, top + (ROI_ROW + 1.5) * small
    figure.dot(axis, 5)
    figure.dot(middle, 3, BLUE)
    figure.arrow(middle, (axis[0] + 4, axis[1] - 3), BLUE)
    figure.text((left, top - 34), "A region of nx = ny = 3:", BLUE)
    figure.text((left, top - 14), "x_offset = −2.5, y_offset = 1.5", BLUE)
    figure.text((left, top + 8 * small + 24), "in its own pixels, from its middle to the axis:", BLUE, 13)
    figure.text((left, top + 8 * small + 42), "columns to the right, rows down", BLUE, 13)
    return figure


def ct_stack():
    figure = Figure(760, 330, "Slices and detector rows")
    figure.text((20, 28), "Slice z is detector row first_row + z", weight="bold")
    left, top, cell = 120, 90, 34
    for row in range(ROWS):
        chosen = FIRST_ROW <= row < FIRST_ROW + SLICES
        for k in range(BINS):
            figure.rect(left + k * 22, top + row * cell, 22, cell, INK if chosen else FAINT, "#cfe0f3" if chosen else PAPER)
        figure.text((left - 12, top + (row + 0.65) * cell), f"row {row}", BLUE if chosen else FAINT, anchor="end")
    figure.text((left + 4 * 22, top - 12), "a frame: (rows, bins)", anchor="middle")
    figure.text((left + 4 * 22, top + ROWS * cell + 22), "first_row = 2, slices = 3", BLUE, anchor="middle")
    for z in range(SLICES):
        x, y = 440, top + 20 + z * 74
        figure.polygon([(x, y + 40), (x + 60, y), (x + 200, y), (x + 140, y + 40)], INK, 1.2, "#cfe0f3")
        figure.text((x + 100, y + 25), f"z = {z}", BLUE, anchor="middle")
        figure.arrow((left + BINS * 22 + 6, top + (FIRST_ROW + z + 0.5) * cell), (x + 22, y + 20), BLUE, 1.2)
    x, y = 440, top + 20
    figure.arrow((x + 66, y - 8), (x + 150, y - 8))
    figure.text((x + 156, y - 4), "columns j")
    figure.arrow((x + 212, y + 4), (x + 166, y + 36))
    figure.text((x + 206, y + 34), "rows i")
    figure.text((440, 318), "the volume: (slices, ny, nx)")
    return figure


def mri():
    figure = Figure(820, 440, "Voxels and k-space")
    figure.text((20, 28), "Voxel j of an axis of N is at j − floor(N / 2); row i of y and slice k of z likewise", weight="bold")
    cell, middle = 56, 480
    for top, (count, positions) in zip((60, 140), POSITIONS.items()):
        figure.text((20, top + 25), f"N = {count}: voxel j", INK)
        figure.text((20, top + 58), "position", BLUE)
        for j, position in enumerate(positions):
            x = middle + (position - 0.5) * cell
            figure.rect(x, top, cell, 36, INK, "#f4c7c0" if position == 0 else PAPER)
            figure.text((x + cell / 2, top + 24), str(j), anchor="middle")
            figure.text((x + cell / 2, top + 58), f"{position}".replace("-", "−"), BLUE, anchor="middle")
    figure.text((20, 248), "The same k-space of N = 8 voxels in the three units; there is no default", weight="bold")
    names = {"cycles_per_voxel": "cycles per voxel", "cycles_per_field_of_view": "cycles per field of view",
             "radians_per_voxel": "radians per voxel"}
    marks = {"cycles_per_voxel": ("−0.5", "−0.25", "0", "0.25", "0.5"), "cycles_per_field_of_view": ("−4", "−2", "0", "2", "4"),
             "radians_per_voxel": ("−π", "−π/2", "0", "π/2", "π")}
    for line, unit in enumerate(UNITS):
        y = 280 + 46 * line
        figure.text((20, y + 5), names[unit])
        figure.arrow((middle - 4.6 * cell, y), (middle + 5 * cell, y))
        for k, mark in enumerate(marks[unit]):
            x = middle + (k - 2) * 2 * cell
            figure.line((x, y - 6), (x, y + 6))
            figure.text((x, y + 22), mark, RED if k in (0, 4) else INK, 13, "middle")
    figure.text((20, 428), "s(k) = sum over voxels of ρ exp(−2πi k · position), k in cycles per voxel", BLUE)
    return figure


def pet_view():
    figure = Figure(940, 400, "Views of PET")
    figure.text((20, 28), "Across: azimuth, radial axis, signed radius", weight="bold")
    centre, scale = (210, 220), 1.55
    azimuth, tilt = math.radians(AZIMUTH), math.radians(TILT)

    def at(x, y):
        return centre[0] + scale * x, centre[1] - scale * y

    figure.arrow(at(0, 0), at(112, 0), FAINT)
    figure.text((at(114, 0)[0], at(0, 0)[1] + 5), "x", FAINT)
    figure.arrow(at(0, 0), at(0, 104), FAINT)
    figure.text((at(0, 107)[0] - 4, at(0, 107)[1]), "y", FAINT)
    figure.text(at(6, -16), "z: towards you", FAINT, 12)
    n, r = (math.cos(azimuth), math.sin(azimuth)), (-math.sin(azimuth), math.cos(azimuth))
    figure.line(at(-100 * n[0], -100 * n[1]), at(0, 0), RED, 1.2, "5 4")
    figure.arrow(at(0, 0), at(100 * n[0], 100 * n[1]), RED)
    figure.text(at(102 * n[0], 102 * n[1]), "n", RED)
    figure.arrow(at(0, 0), at(90 * r[0], 90 * r[1]), BLUE)
    figure.text(at(98 * r[0], 98 * r[1]), "r", BLUE)
    figure.arc(centre, 50 * scale, 0, azimuth, GREEN)
    figure.text(at(53, 10), "azimuth p = 30°", GREEN)
    figure.dot(at(*PLACE))
    foot = SIGNED_RADIUS * r[0], SIGNED_RADIUS * r[1]
    figure.line(at(*PLACE), at(*foot), RED, 1, "3 3")
    figure.text((at(*PLACE)[0] + 8, at(*PLACE)[1] - 8), "voxel at (−20, 60) mm", RED, 13)
    figure.text((20, 370), f"its signed radius: place · r = {SIGNED_RADIUS:.1f} mm, above 0 on the side of r", BLUE)
    figure.text((20, 390), "n and −n are one direction: azimuths go from 0 to below 180°", RED, 13)
    figure.text((530, 28), "Along: tilt and axial axis, seen along r", weight="bold")
    centre = (660, 220)
    figure.arrow(at(0, 0), at(112, 0), FAINT)
    figure.text(at(58, -18), "n without tilt", FAINT, 12)
    figure.arrow(at(0, 0), at(0, 104), FAINT)
    figure.text((at(4, 107)[0], at(0, 107)[1]), "z", FAINT)
    figure.line(at(-100 * math.cos(tilt), -100 * math.sin(tilt)), at(0, 0), RED, 1.2, "5 4")
    figure.arrow(at(0, 0), at(100 * math.cos(tilt), 100 * math.sin(tilt)), RED)
    figure.text(at(102 * math.cos(tilt), 102 * math.sin(tilt)), "n", RED)
    figure.arrow(at(0, 0), at(-90 * math.sin(tilt), 90 * math.cos(tilt)), ORANGE)
    figure.text(at(-90 * math.sin(tilt) - 50, 90 * math.cos(tilt) + 6), "a = n × r", ORANGE)
    figure.arc(centre, 60 * scale, 0, tilt, GREEN)
    figure.text(at(64, 8), "tilt t = 20°", GREEN)
    figure.text((530, 370), "n = (cos p cos t, sin p cos t, sin t),  r = (−sin p, cos p, 0)")
    figure.text((530, 390), "t above 0: n rises towards larger z", INK, 13)
    return figure


def pet_event():
    figure = Figure(760, 420, "Where an event is counted")
    figure.text((20, 28), "t2 − t1 > 0: the photon came to p1 first, and the event lies nearer to p1", weight="bold")
    centre, scale = (230, 225), 1.05

    def at(x, y):
        return centre[0] + scale * x, centre[1] - scale * y

    cell = VOXEL * scale
    corner = at(-LATTICE / 2 * VOXEL, LATTICE / 2 * VOXEL)
    grid(figure, corner, cell, LATTICE, LATTICE)
    row, column = EVENT_VOXEL
    figure.rect(*at((column - LATTICE / 2) * VOXEL, (row + 1 - LATTICE / 2) * VOXEL), cell, cell, RED, "#f4c7c0")
    for j in (0, column, LATTICE - 1):
        figure.text((corner[0] + (j + 0.5) * cell, corner[1] + LATTICE * cell + 16), f"{j}", INK, 12, "middle")
    for i in (0, row, LATTICE - 1):
        figure.text((corner[0] - 6, corner[1] + (LATTICE - i - 0.5) * cell + 4), f"{i}", INK, 12, "end")
    figure.text((corner[0] + 3 * cell, corner[1] + LATTICE * cell + 16), "column j", INK, 12, "middle")
    figure.text((corner[0] - 20, corner[1] + LATTICE * cell - 36), "row i", INK, 12, "end")
    figure.circle(centre, 160 * scale, FAINT, 6)
    figure.line(at(*FIRST), at(*SECOND), BLUE, 1.5)
    for place, name, shift in ((FIRST, "p1", (10, -4)), (SECOND, "p2", (-32, 14))):
        figure.dot(at(*place), 5, BLUE)
        figure.text((at(*place)[0] + shift[0], at(*place)[1] + shift[1]), name, BLUE, 16)
    figure.dot(at(0, 0), 3, INK)
    length = HALF_LIGHT * DIFFERENCE
    figure.dot(at(length * FIRST[0] / 160, length * FIRST[1] / 160), 4.5)
    x = 440
    for line, (words, color) in enumerate((
            ("middle of p1 and p2", INK), ("+ (c / 2) (t2 − t1) towards p1", INK), ("", INK),
            (f"here 0.1499 mm/ps × 400 ps = {length:.1f} mm:", RED), (f"voxel (i, j) = {EVENT_VOXEL}", RED),
            ("of the histo-image whose n is along the line", RED), ("", INK),
            ("Voxel j of N is at (j − (N − 1) / 2) voxels", BLUE), ("from the centre: with N even the centre", BLUE),
            ("lies between voxels. Row i grows with y,", BLUE), ("slice k with z.", BLUE))):
        figure.text((x, 120 + 21 * line), words, color)
    return figure


FIGURES = {f.__name__: f for f in (ct_detector, ct_turn, ct_half_turn, ct_pixels, ct_stack, mri, pet_view, pet_event)}


if __name__ == "__main__":
    write_all(FIGURES)
