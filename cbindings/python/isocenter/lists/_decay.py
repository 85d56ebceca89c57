"""What decays in a frame."""
import numpy


def correction(blocks, isotope, delay):
    """What brings the mean activity of blocks of time to that at a time before the scan."""
    begins, ends = numpy.array(blocks).T
    rate, measured = numpy.log(2) / isotope.half_life, float((ends - begins).sum())
    left = -numpy.expm1(-rate * (ends - begins)) * numpy.exp(-rate * begins)
    return float(numpy.exp(rate * delay) * rate * measured / left.sum())
