"""Events of CASToR's lists: records that the header describes, of a build with float32 or float64."""
import os

import numpy

from ..errors import wrong

#: Bytes that are read at a time, about, and records by which builds are told.
_AT_ONCE, _LOOKED_AT = 1 << 24, 1 << 12
_HOUR = 3_600_000


class Records:
    """The records of a file.

    Parameters
    ----------
    keys : Keys
        Of the header.
    path : path
        Of the data, which are not compressed.

    Attributes
    ----------
    count : int
        Of whole records.
    has_times : bool
        Whether they are not all 0.
    doubts : list of str
    """

    def __init__(self, keys, path):
        if keys.whole("Maximum number of lines per event", default=1.0, least=1) > 1:
            raise wrong(ValueError, f"{keys.path} has several lines of response for each event, which are mashed: write the list without compression, with one line for each event")
        self._path, self.doubts = path, []
        size, told = os.path.getsize(path), keys.whole("Number of events")
        if not size:
            raise wrong(ValueError, f"{keys.text('Data filename')} is empty, the data of {keys.path}")
        builds = [numpy.dtype(list(_fields(keys, kind))) for kind in ("<f4", "<f8")]
        self._kind = self._likely(builds, told, keys)
        if self._kind.itemsize * told != size:
            self.doubts.append(f"the header tells of {told} events, which have {told * self._kind.itemsize} bytes, and the data has {size} bytes: "
                               f"{size // self._kind.itemsize} events are whole, and are used")
        self.count = size // self._kind.itemsize
        if not self.count:
            raise wrong(ValueError, f"{keys.text('Data filename')} has {size} bytes, and an event of {keys.path} has {self._kind.itemsize}: none is whole")
        with open(path, "rb") as file:
            file.seek((self.count - 1) * self._kind.itemsize)
            last = numpy.fromfile(file, self._kind, 1)
        self.has_times = bool(self._begin(self._kind)["time"].any() or last["time"].any())

    def has(self, field):
        return field in self._kind.names

    def read(self):
        with open(self._path, "rb") as file:
            left = self.count
            while left:
                records = numpy.fromfile(file, self._kind, min(left, max(1, _AT_ONCE // self._kind.itemsize)))
                if not len(records):
                    raise wrong(ValueError, f"{self._path} became shorter while it was read")
                left -= len(records)
                yield records

    def _begin(self, kind):
        with open(self._path, "rb") as file:
            return numpy.fromfile(file, kind, _LOOKED_AT)

    def _likely(self, builds, told, keys):
        """The build by the file's size, or by what is in the records of a file that is not as long as its header says."""
        if builds[0] == builds[1]:
            return builds[0]
        size = os.path.getsize(self._path)
        fit = [kind for kind in builds if _sensible(self._begin(kind))]
        exact = [kind for kind in builds if kind.itemsize * told == size]
        # A list of one build may be as long as a header with another number of events says of the other.
        found = exact if exact and (not fit or exact[0] in fit) else fit
        if len(found) != 1:
            sizes = " or ".join(str(kind.itemsize * told) for kind in builds)
            raise wrong(ValueError, f"{keys.path} tells of {told} events, which have {sizes} bytes with float32 or float64, and its data has {size}: which of them it is cannot be told")
        return found[0]


def _fields(keys, real):
    """Of a record, in their order."""
    yield "time", "<u4"
    for key, name, kind in (("Attenuation correction flag", "attenuation", real), ("Coincidence kind flag", "kind", "u1"), ("Scatter correction flag", "scatter", real),
                            ("Random correction flag", "randoms", real), ("Normalization correction flag", "normalisation", real), ("TOF information flag", "tof", real)):
        if keys.flag(key):
            yield name, kind
    # Both photons' places in their crystals, each way that is measured; and where the decay was.
    flags = keys.text("POI correction flag", default="0")
    for way, resolution in enumerate(keys.numbers("POI capability", count=3, default=-1.0) if flags.strip("0, ") else ()):
        if resolution >= 0:
            yield f"place {way}", real, 2
    if keys.flag("Emission point flag"):
        yield "emission", real, 6
    yield "crystals", "<u4", 2


def _sensible(records):
    """Whether these can be events: real numbers, times that ascend but for a few, and within an hour of each other but for jumps."""
    if not len(records):
        return False
    reals = [records[name] for name in records.dtype.names if records[name].dtype.kind == "f"]
    if not all(numpy.isfinite(values).all() and (numpy.abs(values) < 1e12).all() for values in reals):
        return False
    steps = numpy.diff(records["time"].astype(numpy.int64))
    return not len(steps) or float(((steps >= 0) & (steps < _HOUR)).mean()) > 0.9
