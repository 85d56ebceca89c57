"""Lists of SAFIR and NeuroLF as STIR reads them: records of 64 bits, and places of crystals in a text file."""
import os

import numpy

from ..errors import wrong
from . import _crystal_map
from ._keys import Keys
from ._list import List
from ._reading import UNKNOWN, TimedReading
from ._unpacked import Plain, begin

#: Signatures of what comes before the records, and bits of a layer's number.
_LAYER_BITS = {b"SAFIR CListModeData\0": 4, b"MUPET CListModeData\0": 4, b"NeuroLF CListModeData\0"[:20]: 3}
_SIGNATURE, _BEFORE, _RECORD = 20, 32, 8
_AT_ONCE = 1 << 20
_PARAMETERS = "clistmodedatasafir parameters"
#: Lowest bit of each photon's fields; the layers follow one another.
_RINGS, _PLACES, _LAYERS = (0, 8), (16, 32), 48
_DELAYED, _IS_TIME, _TIME = 62, 63, (1 << 48) - 1


class SAFIR(List):
    """A list of SAFIR's, MUPET's or NeuroLF's, whose events have no time of flight.

    Parameters
    ----------
    path : path
        Of the list, or of STIR's parameters of it, which name the list and its crystals.
    scanner : path, optional
        Its crystals: a text file of ring, detector, layer or not, x, y and z, or STIR's header that names one. None: as the parameters say.
    duration : float, optional
        s. None: to the last of its times.
    """
    OPTIONS = ("scanner", "duration")

    def __init__(self, path, scanner=None, duration=None):
        self.path, listed, self._map = path, path, scanner
        if is_parameters(begin(path, 4096)):
            keys = Keys(path, ":=", ";")
            listed = keys.file("listmode data filename")
            self._map = scanner or next((keys.file(key) for key in ("crystal map filename", "template projection data filename") if key in keys), None)
        if duration is not None and not 0 < duration < numpy.inf:
            raise wrong(ValueError, f"duration is {duration}; it must be above 0")
        self._data = Plain(listed)
        with open(self._data.path, "rb") as file:
            signature = file.read(_BEFORE)
        self._bits = _LAYER_BITS.get(signature[:_SIGNATURE])
        if self._bits is None:
            raise wrong(ValueError, f"{listed} does not begin as lists of SAFIR, MUPET and NeuroLF do")
        size = os.path.getsize(self._data.path) - _BEFORE
        self._count, self._rest = size // _RECORD, size % _RECORD
        if self._count < 1:
            raise wrong(ValueError, f"{listed} has no events")
        self._duration, self._found = duration, None
        self.has_delays = True
        self.kind = signature[:_SIGNATURE].split(b" ")[0].decode()
        self.remarks = [f"{self._count} records"]

    @property
    def scanner(self):
        if self._found is None:
            if not self._map:
                raise wrong(ValueError, f"{self.path} has no places of its crystals: pass scanner, the text file of ring, detector, layer, x, y and z that STIR calls crystal map")
            self._found = _crystal_map.read(self._map)
        return self._found.scanner

    def read(self, frames=None, delays=True):
        self.scanner  # before the records
        last = self._last()
        if last is None and self._duration is None:
            raise wrong(ValueError, f"{self.path} has no records of time: pass duration")
        doubts = []
        if self._rest:
            doubts.append(f"the list is not whole: after {self._count} records of {_RECORD} bytes there are {self._rest} bytes")
        return TimedReading(self.path, (0.0, self._duration or last), self._chunks(delays, last is not None, doubts), frames, doubts)

    def close(self):
        self._data.close()

    def _records(self):
        with open(self._data.path, "rb") as file:
            file.seek(_BEFORE)
            for first in range(0, self._count, _AT_ONCE):
                yield numpy.fromfile(file, "<u8", min(_AT_ONCE, self._count - first))

    def _chunks(self, delays, timed, doubts):
        now, lost = 0, 0
        for records in self._records():
            is_time = _field(records, _IS_TIME, 1) == 1
            times = numpy.maximum.accumulate(numpy.where(is_time, records & numpy.uint64(_TIME), numpy.uint64(now)))
            now = int(times[-1])
            events, seconds = records[~is_time], times[~is_time] / 1e3
            kinds = _field(events, _DELAYED, 1).astype(int)
            if not delays:
                events, seconds, kinds = (of[kinds == 0] for of in (events, seconds, kinds))
            crystals = numpy.stack([self._numbered(events, k) for k in (0, 1)], axis=1)
            lost += int((crystals == UNKNOWN).any(axis=1).sum())
            yield crystals, numpy.zeros(len(events), numpy.uint32), kinds, seconds if timed else None
        if lost:
            doubts.append(f"{lost} events are of crystals that {self._map} does not have: it may be of another scanner, or count from 1")

    def _numbered(self, events, photon):
        ring, place = _field(events, _RINGS[photon], 8), _field(events, _PLACES[photon], 16)
        return self._found.numbers(ring, place, _field(events, _LAYERS + self._bits * photon, self._bits))

    def _last(self):
        """The last time, s; None of a list without any."""
        with open(self._data.path, "rb") as file:
            for end in range(self._count, 0, -_AT_ONCE):
                first = max(0, end - _AT_ONCE)
                file.seek(_BEFORE + _RECORD * first)
                records = numpy.fromfile(file, "<u8", end - first)
                times = records[_field(records, _IS_TIME, 1) == 1] & numpy.uint64(_TIME)
                if len(times) and times.max() > 0:
                    return float(times.max()) / 1e3
        return None


def is_list(begun):
    return begun[:_SIGNATURE] in _LAYER_BITS


def is_parameters(begun):
    return begun.partition(b":")[0].strip().lower().decode("latin-1") == _PARAMETERS


def _field(records, low, bits):
    return records >> numpy.uint64(low) & numpy.uint64((1 << bits) - 1)
