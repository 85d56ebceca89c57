"""Readouts that came over a connection."""
import numpy

from .._acquisitions import Acquisitions
from ._messages import ACQUISITION_HEAD


class Received(Acquisitions):
    """A scan of a header and of `Acquisition` messages."""

    def __init__(self, xml, readouts):
        self._readouts = readouts
        super().__init__("the scan", xml, numpy.frombuffer(b"".join(r.head for r in readouts), ACQUISITION_HEAD))

    def _at(self, rows):
        for row in rows:
            readout = self._readouts[row]
            yield int(row), numpy.frombuffer(readout.data, "<f4"), numpy.frombuffer(readout.trajectory, "<f4")
