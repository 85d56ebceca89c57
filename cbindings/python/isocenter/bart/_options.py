"""Options as BART's commands take them: -r0.01, -r 0.01, -eS, and --name value. What is not here is an error that says what to do instead."""
import getopt
import math
import shlex
from collections import namedtuple

from .._words import Wanted
from ..raw._header import Unreadable

Term = namedtuple("Term", "kind flags joint weight text")
Term.__doc__ = """A penalty: its letter, the dimensions that it looks along, those that it takes together, its weight, and how it was asked for."""

KINDS = {"W": "W:flags:joint:lambda", "T": "T:flags:joint:lambda", "L": "L:flags:joint:lambda", "I": "I:joint:lambda", "Q": "Q:lambda"}
OTHER_KINDS = {
    "G": "total generalized variation", "C": "infimal convolution", "F": "l1 of Fourier coefficients", "N": "iterative hard thresholding", "H": "iterative hard thresholding of wavelets",
    "M": "multi-scale low rank", "P": "the Laplace operator", "R1": "l1 of imaginary parts", "R2": "l2 of imaginary parts", "S": "the non-negative constraint", "TF": "TensorFlow"}


def words(options):
    """A list of words of what may be one text."""
    return shlex.split(options) if isinstance(options, str) else [str(word) for word in options]


class Spec:
    """The options of a command. `taken` maps those with a value to a function of it, and flags to None; `left` maps those that are BART's, and not done, to
    what to do; `valued` are those of these that have a value."""

    def __init__(self, command, taken, left, valued):
        self.command, self.taken, self.left = command, taken, left
        short = [n for n in (*taken, *left) if len(n) == 1]
        self._short = "".join(n + ":" * self._has_value(n, valued) for n in short)
        self._long = [n + "=" * self._has_value(n, valued) for n in (*taken, *left) if len(n) > 1]

    def _has_value(self, name, valued):
        return name in valued if name in self.left else self.taken[name] is not None

    def parse(self, arguments):
        """(option, value) in order, and the words that follow."""
        try:
            found, rest = getopt.getopt(arguments, self._short, self._long)
        except getopt.GetoptError as e:
            raise Unreadable(f"{e}; these are known: {', '.join(map(dashed, self.taken))}") from None
        given = []
        for option, value in found:
            name = option.lstrip("-")
            if name in self.left:
                raise Unreadable(f"{option} of BART's {self.command} is not done here: {self.left[name]}")
            of_value = self.taken[name]
            try:
                given.append((name, True if of_value is None else of_value(value)))
            except ValueError as e:
                raise Unreadable(f"{option} is {value!r}; it must be {e}") from None
        return given, rest


def dashed(name):
    return "-" * (1 + (len(name) > 1)) + name


def number(least=-math.inf, above=False):
    """Of a finite number in decimals."""
    wanted = "a number" + ("" if least == -math.inf else f" above {least:g}" if above else f" of {least:g} and more")

    def read(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < least or above and value == least:
            raise Wanted(wanted)
        return value
    return read


def integer(least, most=1 << 31):
    def read(text):
        digits = text.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) < 12 and least <= int(digits) < most):
            raise Wanted(f"an integer of {least} and more")
        return int(digits)
    return read


def one_of(*names):
    def read(text):
        if text not in names:
            raise Wanted(" or ".join(names))
        return text
    return read


def term(text):
    """Of -R."""
    kind, *parts = text.split(":")
    if kind in OTHER_KINDS:
        raise Wanted(f"one of {', '.join(KINDS.values())}; {OTHER_KINDS[kind]} is not done here")
    if kind not in KINDS or len(parts) != KINDS[kind].count(":"):
        raise Wanted(KINDS.get(kind, f"one of {', '.join(KINDS.values())}"))
    try:
        flags = [integer(0, 1 << 16)(part) for part in parts[:-1]]
        weight = number(0)(parts[-1])
    except ValueError as e:
        raise Wanted(f"{KINDS[kind]}, of which one is not {e}") from None
    flags = [0] * (2 - len(flags)) + flags
    return Term(kind, *flags, weight, text)


def sizes(text):
    """Of x:y:z."""
    parts = text.split(":")
    if len(parts) != 3:
        raise Wanted("x:y:z")
    return tuple(integer(1)(part) for part in parts)
