"""CASToR's lists: a header (.Cdh) and the events (.Cdf)."""
import dataclasses
import os

import numpy

from .. import _isotopes
from ..errors import wrong
from . import _castor_scanner
from ._castor_records import Records
from ._keys import Keys
from ._list import List, Said
from ._pairs import Pairs
from ._reading import UNKNOWN, TimedReading
from ._unpacked import Plain

#: Names of files' beginnings.
_HEADERS, _DATA = (".Cdh", ".cdh", ".CDH"), (".cdf", ".cdf.gz")
_MODES = ("list", "listmode", "list-mode", "0")
#: Numbers of kinds of events: scattered in what is between the detectors, and random.
_KINDS = {"scatter": (2, 3), "randoms": (4,)}
_NOT_USED = {"attenuation": "attenuation is of the map", "normalisation": "what crystals detect is of their efficiencies", "scatter": "scatter is made of an image",
             "randoms": "randoms are made of delays"}


class CASToR(List):
    """A list of CASToR's.

    Parameters
    ----------
    path : path
        Of the header, or of the data beside which the header lies.
    scanner : path, optional
        Its .hscan, .geom or .lut. None: by the name in the header, beside the list or in the folder scanner of $CASTOR_CONFIG.
    depth : float, optional
        How far behind their inner faces crystals detect photons on average, mm; None: the scanner's, else in their middles.
    duration : float, optional
        s. None: the header's.
    exclude : sequence of str
        What is left out by the events' kinds.
    """
    OPTIONS = ("scanner", "depth", "duration", "exclude")

    def __init__(self, path, scanner=None, depth=None, duration=None, exclude=()):
        self.path, self._given, self._depth, self.excluded = path, scanner, depth, tuple(exclude)
        keys = Keys(_header_of(path), ":", "#")
        _check(keys)
        self._name, self._farthest = keys.text("Scanner name"), keys.number("Maximum axial difference mm", default=-1.0)
        if self.excluded and not keys.flag("Coincidence kind flag"):
            raise wrong(ValueError, f"{path} has no kinds of its events, by which {' and '.join(self.excluded)} could be left out")
        self._data = Plain(keys.file("Data filename"))
        self._records = Records(keys, self._data.path)
        self._start = keys.number("Start time (s)")
        self._duration = _duration(keys, duration)
        self._tof = keys.flag("TOF information flag")
        self._times = [keys.number(key, default=0.0) for key in ("TOF resolution (ps)", "List TOF measurement range (ps)", "List TOF quantization bin size (ps)")]
        self.said, self._bed = _said(keys), keys.number("Horizontal bed relative position (mm)", default=0.0)
        self.kind, self._scanner = "CASToR", None
        self.remarks = [f"{self._records.count} events", f"{self._duration:g} s" + (f" from {self._start:g} s" if self._start else "")]

    @property
    def scanner(self):
        if self._scanner is None:
            self._scanner = self._found()
        return self._scanner

    def read(self, frames=None, delays=True):
        doubts = list(self._records.doubts)
        for name, instead in _NOT_USED.items():
            if self._records.has(name):
                doubts.append(f"the events' values of {name} are not used: {instead}")
        if self._bed:
            doubts.append(f"the bed was at {self._bed:g} mm, which is not in the image's place: its centre is in the scanner's frame")
        return TimedReading(self.path, (0.0, self._duration), self._chunks(doubts), frames, doubts)

    def close(self):
        self._data.close()

    def _found(self):
        path = self._given or _castor_scanner.find(self._name, self.path)
        if path is None:
            raise wrong(ValueError, f"{self.path} names its scanner {self._name}, and there is no {self._name}.hscan or {self._name}.geom beside it, nor in the folder scanner of "
                                    "$CASTOR_CONFIG: pass scanner, its file (.hscan, .geom or .lut)")
        found = _castor_scanner.read(path, self._depth)
        resolution, wide, step = self._times
        if self._tof:
            return dataclasses.replace(found, tof_fwhm=max(resolution, 0.0), window=max(wide, 0.0) / 2, time_step=max(step, 0.0), pairs=self._pairs(found))
        return dataclasses.replace(found.without_times(), pairs=self._pairs(found))

    def _pairs(self, scanner):
        if self._farthest <= 0:
            return None
        modules, groups = _castor_scanner.rings(scanner, self._farthest)
        return None if groups.all() else Pairs(modules, groups, None)

    def _chunks(self, doubts):
        crystals_there, beyond, lowest = len(self.scanner.positions), 0, 0
        for records in self._records.read():
            if self.excluded:
                records = records[~numpy.isin(records["kind"], [k for name in self.excluded for k in _KINDS[name]])]
            crystals = numpy.ascontiguousarray(records["crystals"])
            beyond, lowest = beyond + int((crystals == crystals_there).sum()), lowest + int((crystals == 0).sum())
            crystals[crystals >= crystals_there] = UNKNOWN
            with numpy.errstate(invalid="ignore", over="ignore"):  # of numbers that are none, which are dropped
                # A file's times are t1 - t2.
                times = -records["tof"].astype(numpy.float32) if self._tof else numpy.zeros(len(records), numpy.uint32)
            yield crystals, times, numpy.zeros(len(records), int), records["time"] / 1e3 - self._start if self._records.has_times else None
        if beyond and not lowest:
            doubts.append(f"crystals seem to be counted from 1, and CASToR counts from 0: {beyond} are number {crystals_there}, which there is not, and none is 0")


def is_header(begin):
    """Whether a file that begins so is a header of CASToR's."""
    keys = {line.partition(b":")[0].strip().lower() for line in begin.splitlines()}
    return b"data filename" in keys or {b"data mode", b"scanner name"} <= keys


def is_data(path):
    return os.fspath(path).lower().endswith(_DATA)


def _header_of(path):
    if not is_data(path):
        return path
    stem = os.fspath(path)[:os.fspath(path).lower().rindex(".cdf")]
    for ending in _HEADERS:
        if os.path.isfile(stem + ending):
            return stem + ending
    raise wrong(ValueError, f"{path} is CASToR's list without its header, which says what is in it: there is no {os.path.basename(stem)}.Cdh beside it")


def _check(keys):
    mode, kind = keys.text("Data mode"), keys.text("Data type")
    if mode.lower() not in _MODES:
        raise wrong(ValueError, f"{keys.path} has 'Data mode: {mode}'; it must be list-mode: histograms have no events")
    if kind.lower() not in ("pet", "0"):
        raise wrong(ValueError, f"{keys.path} has 'Data type: {kind}'; it must be PET")


def _duration(keys, given):
    if given is None:
        given = keys.number("Duration (s)")
        if not given > 0:
            raise wrong(ValueError, f"{keys.path} has 'Duration (s): {given:g}', in which there is no activity a second: pass duration")
    elif not 0 < given < numpy.inf:
        raise wrong(ValueError, f"duration is {given}; it must be above 0")
    return float(given)


def _said(keys):
    name = keys.text("Isotope", default="unknown")
    name = "" if name.lower() in ("unknown", "inf", "none") else name
    return Said(isotope=_isotopes.known(name), nuclide=name, calibration=keys.number("Calibration factor", default=1.0) or 1.0)
