"""BART's `pics`: parallel imaging and compressed sensing."""
import sys
import time
from contextlib import closing
from types import SimpleNamespace

import numpy

from ..context import Context
from ..raw._header import Unreadable
from . import _iterations, _options, _random, _scale
from ._model import Model, said, spread
from ._options import Term, integer, number, one_of, term, words
from ._penalties import Details, Lengths, LowRank, Squares, Variation
from ._wavelets import FILTERS

FILES = {"t": "trajectory", "p": "pattern", "B": "basis", "W": "start"}
STEP = 0.95
QUIET, LOUD, LOUDEST = 2, 3, 5  # of -d: what is found out, the scale, each iteration
HELP = """usage: pics [options] kspace sensitivities output

Parallel imaging and compressed sensing as BART's pics has it. Files are named without .hdr and .cfl.

-t FILE          trajectory, 3 x samples x spokes, in 1 / field of view; without it samples are Cartesian, and those of 0 were not measured
-p FILE          pattern or weights of the samples
-B FILE          basis: dimension 5 times, 6 coefficients
-W FILE          image to start with
-l1, -l2         wavelets along dimensions 0 to 2, or the l2 norm, with the weight of the -r before it, or of the last one
-r LAMBDA        the weight; alone it is that of the l2 norm
-R W:A:B:LAMBDA  wavelets along the dimensions of A, a bit for each: 7 is 0 to 2; with B their lengths are those over its dimensions
-R T:A:B:LAMBDA  total variation
-R L:A:B:LAMBDA  locally low rank: rows along A, blocks along B
-R I:B:LAMBDA    l1 norm of the image
-R Q:LAMBDA      l2 norm of the image
-i COUNT         iterations (30); with ADMM those of conjugate gradient in all
-s STEP          of FISTA and iterative thresholding (0.95)
-e               the step is divided by the largest eigenvalue: without it trajectories need a -s of their own
-w SCALE         by which data are divided, in place of the one that is found
-S               the image is multiplied by it
-u RHO, -C COUNT ADMM's penalty parameter (0.5), and iterations of conjugate gradient in each step (10)
-m, -I           ADMM, or iterative thresholding, instead of what the penalties suggest
-n               wavelets and blocks stay where they are
-b SIZE          of blocks (8)
--wavelet NAME   dau2 (default), haar or cdf44
-c               the image is real
-g, -G NUMBER    on a GPU, or that GPU
-d LEVEL         what is told: 0 nothing, 2 (default), 3 the scale, 5 each iteration
"""

_MEMORY, _PSF = "leave it out: memory stays within the machine's", "leave it out: it is made anew in the time of a few iterations"
_LEFT = {
    "N": "blocks are moved at random, or stay with -n", "a": "leave it out, or take -m", "P": "take a penalty with a weight", "M": "reconstruct slices one by one",
    "f": "set the sensitivities to 0 outside of that field of view", "L": "run pics once for each", "K": "leave it out: it hides errors of gridding, which are below 1e-5 here",
    "U": _MEMORY, "lowmem": _MEMORY, "psf_export": _PSF, "psf_import": _PSF, "H": "leave it out", "D": "leave it out", "F": "leave it out", "J": "leave it out",
    "T": "compare images afterwards", "O": "leave it out", "o": "leave it out", "q": "take -R Q:lambda"}
SPEC = _options.Spec("pics", {
    "t": str, "p": str, "B": str, "W": str, "l": one_of("1", "2"), "r": number(0), "R": term, "i": integer(1), "s": number(0, above=True), "w": number(0),
    "u": number(0, above=True), "C": integer(1), "b": integer(1), "d": integer(0), "G": integer(0), "wavelet": one_of(*sorted(FILTERS)),
    "e": None, "S": None, "m": None, "I": None, "n": None, "c": None, "g": None, "h": None}, _LEFT, {"P", "f", "L", "T", "O", "o", "q", "psf_export", "psf_import"})


def pics(options, kspace, sensitivities, *, trajectory=None, pattern=None, basis=None, start=None, told=None):
    """The image that BART's `pics` makes, with the same options and as many iterations.

    Parameters
    ----------
    options : str or sequence of str
        As for the command, `python -m isocenter.bart pics -h`; without files, which are arguments here, and without output.
    kspace : array
        Complex, of BART's dimensions: 1 x samples x spokes x coils, or x x y x z x coils, and more of them.
    sensitivities : array
        x x y x z x coils, x sets of maps.
    trajectory, pattern, basis, start : array, optional
        Of -t, -p, -B and -W.
    told : callable, optional
        Takes lines of text; None leaves them out.

    Returns
    -------
    numpy.ndarray
        complex64, x x y x z, and more dimensions as in BART.

    Raises
    ------
    ValueError
        The message names option, value and what is allowed.
    """
    asked, rest = parsed(words(options))
    if rest:
        raise Unreadable(f"{rest[0]!r} is no option; kspace, sensitivities and the image are arrays here")
    for name, argument in FILES.items():
        if getattr(asked, argument):
            raise Unreadable(f"-{name} names a file; give the array as {argument}= instead")
    return made(asked, kspace, sensitivities, told, trajectory=trajectory, pattern=pattern, basis=basis, start=start)


def parsed(arguments):
    """What was asked for, and the words that follow."""
    given, rest = SPEC.parse(arguments)
    asked = SimpleNamespace(terms=[], weight=-1.0, trajectory=None, pattern=None, basis=None, start=None, iterations=30, step=None, eigen=False,
                            scale=0.0, rescale=False, rho=0.5, inner=10, algorithm=None, moves=True, block=8, wavelet="dau2", real=False, gpu=None, level=QUIET, help=False)
    places = {"i": "iterations", "s": "step", "w": "scale", "u": "rho", "C": "inner", "b": "block", "d": "level", "wavelet": "wavelet", "e": "eigen",
              "S": "rescale", "c": "real", "h": "help", **FILES}
    for name, value in given:
        if name in places:
            setattr(asked, places[name], value)
        elif name == "r":
            asked.weight = value
        elif name == "R":
            asked.terms.append(value)
        elif name == "l":
            asked.terms.append(Term("W" if value == "1" else "Q", 7 if value == "1" else 0, 0, asked.weight, f"-l{value}"))
            asked.weight = -1.0
        elif name in "mI":
            asked.algorithm = {"m": "ADMM", "I": "IST"}[name]
        elif name == "n":
            asked.moves = False
        else:
            asked.gpu = value if name == "G" else asked.gpu or "any"
    weight = max(asked.weight, 0.0)
    asked.terms = [t._replace(weight=weight) if t.weight == -1 else t for t in asked.terms]
    if not asked.terms and weight > 0:
        asked.terms = [Term("Q", 0, 0, weight, f"-r {weight:g}")]
    asked.algorithm = asked.algorithm or _algorithm(asked.terms)
    if asked.algorithm == "IST" and len(asked.terms) != 1:
        raise Unreadable(f"-I takes one penalty; there are {len(asked.terms)}")
    if asked.algorithm == "ADMM" and not asked.terms:
        raise Unreadable("-m takes a penalty; there is none: -R names it")
    if asked.algorithm in ("IST", "FISTA") and any(t.kind == "T" for t in asked.terms):
        raise Unreadable("-I does not go with total variation: leave it out")
    _check_used(asked, {name for name, _ in given})
    return asked, rest


def _check_used(asked, names):
    """No option is without an effect."""
    steps, multipliers, kinds = asked.algorithm in ("IST", "FISTA"), asked.algorithm == "ADMM", {t.kind for t in asked.terms}
    weighed = not asked.terms or any(t.text.startswith(("-l", "-r")) for t in asked.terms)
    of_steps = "of steps along the gradient"
    for name, used, of in (("s", steps, of_steps), ("e", steps, of_steps), ("u", multipliers, "of ADMM"), ("C", multipliers, "of ADMM"), ("b", "L" in kinds, "of -R L"),
                           ("n", kinds & {"W", "L"}, "of -R W and -R L"), ("wavelet", "W" in kinds, "of -R W"), ("r", weighed, "of -l1 and -l2; -R has its own weight")):
        if name in names and not used:
            wanted = f"with {', '.join(t.text for t in asked.terms)}" if asked.terms else "without a penalty"
            raise Unreadable(f"{_options.dashed(name)} is {of}, and what was asked for is {asked.algorithm} {wanted}: leave it out")


def _algorithm(terms):
    if all(t.kind == "Q" for t in terms):
        if len(terms) > 1:
            raise Unreadable("there are several l2 penalties; add their weights up in one")
        return "CG"
    return "ADMM" if len(terms) > 1 or terms[0].kind == "T" else "FISTA"


def made(asked, kspace, sensitivities, told=None, *, trajectory=None, pattern=None, basis=None, start=None):
    """The image of what was asked for."""
    def tell(level, text):
        if told and asked.level >= level:
            told(text)

    kspace, maps = spread(kspace, "kspace"), spread(sensitivities, "sensitivities")
    others = {name: None if array is None else spread(array, name) for name, array in (("trajectory", trajectory), ("pattern", pattern), ("basis", basis))}
    device = "cpu" if asked.gpu is None else "gpu"
    context = Context(device=device, gpus=[asked.gpu] if isinstance(asked.gpu, int) else None)
    with closing(Model(kspace, maps, maps.shape[-3:], context, **others)) as model:
        right = model.right()
        scale = asked.scale or (_scale.of_lines(kspace) if trajectory is None else _scale.of_values(right)) or 1.0
        tell(LOUD, f"scale {scale:g}, by which data are divided")
        right /= numpy.float32(scale)
        image = _start(start, model.shape, scale if asked.rescale else 1.0)
        image = _solved(asked, model, right, image, start is not None, tell, trajectory is None)
    if asked.rescale:
        image = image * numpy.float32(scale)
    return image.T


def _start(start, shape, scale):
    if start is None:
        return numpy.zeros(shape, "complex64")
    start = spread(start, "start")
    if start.shape != shape:
        raise Unreadable(f"the image to start with is {said(start)}; the result has other dimensions: {' x '.join(map(str, shape[::-1]))}")
    return start / numpy.float32(scale)


def _solved(asked, model, right, image, warm, tell, lines):
    def normal(x):
        found = model.normal(x.real.astype("complex64") if asked.real else x)
        return found.real.astype("complex64") if asked.real else found

    def told(k, residual):
        tell(LOUDEST, f"iteration {k}: {residual:.6g}")

    if asked.real:
        right = right.real.astype("complex64")
    if not right.any():
        raise Unreadable("kspace has no sample that counts: all of them are 0, or have a pattern of 0")
    tell(QUIET, f"{asked.algorithm}, {', '.join(t.text for t in asked.terms) or 'without penalty'}, at most {asked.iterations} iterations")
    if asked.algorithm == "CG":
        squares = asked.terms[0].weight if asked.terms else 0.0
        return _iterations.conjugate_gradient(normal, right, image, asked.iterations, told, squares=squares)[0]
    penalties = [_penalty(asked, t, image.shape) for t in asked.terms]
    if asked.algorithm == "ADMM":
        return _iterations.multipliers(normal, right, image, asked.iterations, asked.rho, asked.inner, penalties, told, warm=warm)
    step = asked.step or STEP
    if asked.eigen:
        most = _iterations.largest(model.normal_without_pattern if lines else model.normal, _random.gaussian(image.size).reshape(image.shape))
        tell(QUIET, f"largest eigenvalue {most:.4g}")
        step /= most
    elif asked.step is None and not lines:
        tell(QUIET - 1, "a trajectory, and neither -e nor -s: the step 0.95 may be too long")
    image = _iterations.thresholding(normal, right, image, asked.iterations, step, penalties[0], told, accelerated=asked.algorithm == "FISTA")
    if image is None:
        raise Unreadable(f"iterations with steps of {step:g} went beyond all bounds: -e finds steps that are short enough")
    return image


def _penalty(asked, t, shape):
    return {"W": lambda: Details(t, shape, asked.wavelet, asked.moves), "T": lambda: Variation(t, shape), "L": lambda: LowRank(t, shape, asked.block, asked.moves),
            "I": lambda: Lengths(t, shape), "Q": lambda: Squares(t)}[t.kind]()


def run(arguments, read, write):
    """The command."""
    asked, files = parsed(arguments)
    if asked.help:
        print(HELP, end="")
        return
    if len(files) != 3:
        raise Unreadable(f"there are {len(files)} files; pics takes three: kspace, sensitivities and output")
    begin = time.perf_counter()
    arrays = {name: None if getattr(asked, name) is None else read(getattr(asked, name)) for name in FILES.values()}
    image = made(asked, read(files[0]), read(files[1]), lambda text: print(text, file=sys.stderr), **arrays)
    write(files[2], image)
    if asked.level >= QUIET:
        print(f"{files[2]}: {said(image.T)}, {time.perf_counter() - begin:.3f} s", file=sys.stderr)
