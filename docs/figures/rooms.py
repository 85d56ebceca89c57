#!/usr/bin/env python3
"""Draws the picture of docs/code.md: the layers of the code and the rooms in them.

usage: rooms.py [FOLDER]    by default beside this file
"""

from svg import BLUE, FAINT, GREEN, INK, ORANGE, PAPER, RED, Figure, write_all

LEFT, WIDTH, GAP = 200, 630, 10
MODALITIES = (("ct", "parallel-beam CT", BLUE), ("mri", "non-Cartesian MRI", GREEN), ("pet", "time-of-flight PET", ORANGE))
# Rooms of a modality besides plan, operators and engine.
OWN = {"ct": "slab, rows/", "mri": "trajectory, density", "pet": "views, simulation/"}


def band(figure, top, height, name, promise):
    figure.rect(LEFT - GAP, top, WIDTH + 2 * GAP, height, FAINT, PAPER)
    figure.text((20, top + 22), name, weight="bold")
    for line, words in enumerate(promise):
        figure.text((20, top + 42 + 16 * line), words, INK, 12)


def room(figure, x, top, width, height, name, inside=(), color=FAINT):
    figure.rect(x, top, width, height, color, "#ffffff", 1.2)
    figure.text((x + width / 2, top + (18 if inside else height / 2 + 5)), name, INK, 13, "middle", "bold" if inside else None)
    for line, words in enumerate(inside):
        figure.text((x + width / 2, top + 35 + 15 * line), words, INK, 12, "middle")


def row(figure, top, height, rooms):
    """Rooms of equal width beside each other: a name, or a name and lines."""
    width = (WIDTH - GAP * (len(rooms) - 1)) / len(rooms)
    for k, (name, *inside) in enumerate(rooms):
        room(figure, LEFT + k * (width + GAP), top, width, height, name, inside)


def down(figure, top, bottom, color=INK):
    figure.arrow((LEFT + WIDTH / 2, top), (LEFT + WIDTH / 2, bottom), color)


def code_layers():
    figure = Figure(850, 748, "Layers of the code")
    figure.text((20, 28), "Which crate uses which: arrows point to what is used, and none points up or sideways", weight="bold")

    band(figure, 46, 62, "programs", ["C, C++, Python, MATLAB"])
    row(figure, 60, 34, [("include/isocenter.h, made from src/ffi",), ("isocenter.hpp, cbindings/",)])
    down(figure, 108, 130)

    band(figure, 130, 62, "src/ffi", ["checks, handles, messages;", "no algorithms"])
    row(figure, 144, 34, [("boundary",), ("context",), ("tensor",), ("ct",), ("mri",), ("pet",)])
    down(figure, 192, 214)

    band(figure, 214, 206, "modalities", ["crates/ct, mri, pet:", "one shape for all,", "none knows another"])
    width = (WIDTH - 2 * GAP) / 3
    for k, (name, words, color) in enumerate(MODALITIES):
        x = LEFT + k * (width + GAP)
        figure.rect(x, 226, width, 182, color, "#ffffff", 1.5)
        figure.text((x + 10, 244), name, color, 14, weight="bold")
        figure.text((x + width - 10, 244), words, color, 11, "end")
        for line, (part, meaning) in enumerate((
                ("plan", "configuration"), ("operators", "what is asked"), ("engine", "trait of both sides"))):
            figure.text((x + 10, 264 + 17 * line), part, INK, 13)
            figure.text((x + width - 10, 264 + 17 * line), meaning, FAINT, 12, "end")
        figure.text((x + 10, 317), OWN[name], INK, 13)
        for side, x0 in (("cpu/", x + 10), ("gpu/", x + width / 2 + 3)):
            room(figure, x0, 330, width / 2 - 13, 68, side, ("engine", "SIMD kernels" if side == "cpu/" else "launchers"))
    down(figure, 420, 442)

    band(figure, 442, 62, "shared numerics", ["serve several modalities"])
    row(figure, 456, 34, [("crates/nufft",), ("crates/solve",)])
    down(figure, 504, 526)

    band(figure, 526, 78, "crates/base", ["never names a modality"])
    row(figure, 538, 54, [("error, context", "array, phantom"), ("cpu", "SIMD levels, FFT, buffers"), ("gpu", "driver, memory, streams, FFT")])
    figure.arrow((LEFT + WIDTH * 0.75, 604), (LEFT + WIDTH * 0.75, 626), RED, dash="5 3")
    figure.text((LEFT + WIDTH * 0.75 + 10, 619), "by name, no import", RED, 12)

    band(figure, 626, 62, "kernels", ["CUDA C++, built for the", "crate that launches them"])
    row(figure, 640, 34, [("common",), ("ct",), ("nufft",), ("mri",), ("pet",)])

    figure.text((20, 716), "context (threads, memory cap, progress, log) and error (status, message) serve every crate.", INK, 12)
    figure.text((20, 733), "A launcher crates/…/src/gpu/NAME.rs and its kernel kernels/…/NAME.cu share a name.", INK, 12)
    return figure


FIGURES = {"code_layers": code_layers}


if __name__ == "__main__":
    write_all(FIGURES)
