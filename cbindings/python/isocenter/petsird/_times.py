"""Time bins of PETSIRD files, of one kind or of several pairs of types of modules."""
import math

import numpy

from ..errors import wrong
from ..lists._scanner import FWHM, HALF_LIGHT
from ._values import numbers


class Times:
    """Bins and resolutions of pairs of types of modules: those below the diagonal and on it, whatever is written above.

    Attributes
    ----------
    edges : array or None
        Of t2 - t1, ascending, ps, where all pairs have the same. None: `of` tells places and widths of each pair's bins. Of several without time of flight, one bin that has them all.
    fwhm : float
        The resolution of all pairs, full width at half maximum in ps without what bins add; the smallest of several.
    window : float
        The largest time difference, ps; 0 where `edges` say it.
    """

    def __init__(self, scanner):
        count = len(scanner.scanner_geometry.replicated_modules)
        # A file's places are c (t1 - t2) / 2.
        self._edges = {(a, b): -_checked(pair.edges, a, b)[::-1] / HALF_LIGHT for a, b, pair in triangle(scanner.tof_bin_edges, count, "time bins")}
        rows = list(triangle(scanner.tof_resolution, count, "resolutions of time"))
        values = numbers([value for _, _, value in rows], "resolutions of time") / HALF_LIGHT
        self._fwhm = {(a, b): float(value) for (a, b, _), value in zip(rows, values)}
        kinds, first = list(self._edges.values()), self._edges[0, 0]
        self.fwhm, self.window = min(self._fwhm.values()), 0.0
        alike = all(numpy.array_equal(edges, first) for edges in kinds)
        if not any(len(edges) > 2 for edges in kinds):
            # Nothing is told by one bin but that the event was in it.
            widest = max(float(numpy.abs(edges).max()) for edges in kinds)
            self.edges = first if alike else numpy.array([-widest, widest])
        elif alike and len(set(self._fwhm.values())) == 1:
            self.edges = first
        else:
            self.edges, self.window = None, max(float(numpy.abs(edges).max()) for edges in kinds)

    def of(self, a, b, found):
        """Places in ps and widths, float32 each, of bins of a pair of types, and which of these there are."""
        edges, fwhm = self._edges[max(a, b), min(a, b)], self._fwhm[max(a, b), min(a, b)]
        there = found < len(edges) - 1
        k = numpy.where(there, len(edges) - 2 - found.astype(numpy.int64), 0)
        steps = numpy.diff(edges)
        widths = numpy.array([math.hypot(fwhm, FWHM * step / math.sqrt(12)) for step in steps], numpy.float32)
        return (edges[:-1] + steps / 2).astype(numpy.float32)[k], widths[k], there



def triangle(rows, count, what):
    """Values of pairs of types of modules: those below the diagonal and on it, whatever is written above."""
    for a in range(count):
        for b in range(a + 1):
            if a >= len(rows) or b >= len(rows[a]):
                raise wrong(ValueError, f"modules of types {a} and {b} have no {what}")
            yield a, b, rows[a][b]


def _checked(edges, a, b):
    own = numbers(edges, "edges of time bins")
    if own.ndim != 1 or len(own) < 2 or not (numpy.diff(own) > 0).all():
        raise wrong(ValueError, f"modules of types {a} and {b} have {own.size} edges of time bins; there must be 2 at least, ascending")
    return own
