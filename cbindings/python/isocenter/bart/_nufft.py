"""BART's `nufft`: Fourier transforms between images and samples anywhere."""
import math
import sys
from contextlib import closing
from types import SimpleNamespace

import numpy

from ..context import Context
from ..raw._header import Unreadable
from . import _iterations, _options
from ._model import COIL, DIMENSIONS, Model, coordinates, spread
from ._options import integer, number, sizes, words

HELP = """usage: nufft [options] trajectory input output

Transforms of images of coils, x x y x z x coils, to samples, 1 x samples x spokes x coils, or back. Files are named without .hdr and .cfl.

-a         from samples to images, by the adjoint
-i         the same by conjugate gradient
-d x:y:z   the image's size; without it twice the trajectory's largest coordinate, rounded up
-l LAMBDA  weight of the l2 norm, with -i (0)
-m COUNT   iterations, with -i (50)
-t, -r     with -i: products by a convolution (default), or by pairs of transforms
-s         sums term by term
-g         on a GPU
"""
SPEC = _options.Spec("nufft", {
    "a": None, "i": None, "d": sizes, "l": number(0), "m": integer(1), "t": None, "r": None, "s": None, "g": None, "h": None}, {
    "c": "leave it out, with a few iterations more",
    "P": "samples beyond the limit are an error", "1": "leave it out", "D": "take -d", "lowmem": "leave it out: memory stays within the machine's"}, {"D"})


def nufft(options, trajectory, data, *, told=None):
    """What BART's `nufft` makes: samples of images, or with -a and -i images of samples.

    Parameters
    ----------
    options : str or sequence of str
        As for the command, `python -m isocenter.bart nufft -h`.
    trajectory : array
        3 x samples x spokes, in 1 / field of view.
    data : array
        Complex: images x x y x z x coils, or samples 1 x samples x spokes x coils.
    told : callable, optional
        Takes lines of text.

    Returns
    -------
    numpy.ndarray
        complex64.
    """
    asked, rest = parsed(words(options))
    if rest:
        raise Unreadable(f"{rest[0]!r} is no option; trajectory and data are arrays here")
    return made(asked, trajectory, data, told)


def parsed(arguments):
    given, rest = SPEC.parse(arguments)
    asked = SimpleNamespace(**{name: False for name in "aigsh"}, d=None, l=0.0, m=50, normal="toeplitz")
    for name, value in given:
        if name in "tr":
            asked.normal = "toeplitz" if name == "t" else "pair"
        else:
            setattr(asked, name, value)
    for name, _ in given:
        if name in "lmtr" and not asked.i:
            raise Unreadable(f"-{name} goes with -i")
    if asked.d and not (asked.a or asked.i):
        raise Unreadable("-d goes with -a and -i: the input has a size")
    return asked, rest


def made(asked, trajectory, data, told=None):
    trajectory, data = spread(trajectory, "the trajectory"), spread(data, "the input")
    backward = asked.a or asked.i
    if backward:
        size = asked.d or tuple(max(1, 2 * math.ceil(most)) for most in numpy.abs(coordinates(trajectory)).reshape(-1, 3).max(0))
        size, kspace = size[::-1], data
        if told and not asked.d:
            told(f"images of {' x '.join(map(str, size[::-1]))}, by the trajectory")
    else:
        size = data.shape[-3:]
        # What samples will be: of the trajectory along dimensions 1 and 2, of the images along all behind.
        kspace = numpy.zeros((*data.shape[:DIMENSIONS - COIL], *trajectory.shape[-3:-1], 1), "complex64")
    context = Context(device="gpu" if asked.g else "cpu")
    options = dict(method="exact" if asked.s else "auto", normal=asked.normal if asked.i else "auto")
    with closing(Model(kspace, None, size, context, trajectory=trajectory, **options)) as model:
        if not backward:
            found = model.forward(data)
        else:
            found = model.right()
            if asked.i:
                found = _iterations.conjugate_gradient(model.normal, found, numpy.zeros_like(found), asked.m, squares=asked.l)[0]
    return found.T


def run(arguments, read, write):
    """The command."""
    asked, files = parsed(arguments)
    if asked.h:
        print(HELP, end="")
        return
    if len(files) != 3:
        raise Unreadable(f"there are {len(files)} files; nufft takes three: trajectory, input and output")
    write(files[2], made(asked, read(files[0]), read(files[1]), lambda text: print(text, file=sys.stderr)))
