"""PETSIRD files: numbers that are to be used."""
import numpy

from ..errors import wrong


class Strange(Exception):
    """What is wrong of a block of time, in words that end a sentence."""


def numbers(values, what):
    """An array of float64, finite."""
    try:
        with numpy.errstate(invalid="ignore"):  # of numbers that are none
            made = numpy.asarray(values, float)
    except (ValueError, TypeError):
        raise wrong(ValueError, f"the file's {what} are of several lengths") from None
    if not numpy.isfinite(made).all():
        raise wrong(ValueError, f"the file's {what} are not all finite")
    return made
