"""Lists of Siemens' scanners: words of 32 bits that name bins of a sinogram (PETLINK), and an Interfile header."""
import dataclasses

import numpy

from .. import _isotopes, images
from ..errors import wrong
from . import _siemens_files, _siemens_norm, _siemens_scanner
from ._list import List, Said
from ._reading import TimedReading

_WORD, _AT_ONCE = 4, 1 << 20
#: Bits of a word: that of words that are no events; of events that of prompts, and the bin; of others the kind, which of times is the following, and their ms.
_TAG, _PROMPT, _BIN, _KIND, _IS_TIME, _TIME = 31, 30, (1 << 30) - 1, 29, 0b100, (1 << 29) - 1
#: A header's half-life over the table's, and times of the list against the header's, s, differ by no more without a word.
_ALIKE, _SECONDS = 0.02, 1.0
#: Of crystals' faces from the axis, and of one ring from the next, mm, at most.
_FARTHEST, _SPACED = 1e4, 100.0


class Siemens(List):
    """A list of a Siemens scanner without time of flight.

    Parameters
    ----------
    path : path
        Of the header (.l.hdr), of the list beside it (.l), or of DICOM that has both, or a header and the list beside it (.bf) or before it (.ptd).
    depth : float, optional
        How far behind their faces crystals detect photons on average, mm; None: the scanner's.
    duration : float, optional
        s. None: from the first of its times to the last.
    norm : path, optional
        The header (.n.hdr) of the scanner's norm, of which efficiencies of crystals are taken.
    """
    OPTIONS = ("depth", "duration", "norm")
    kind, has_delays = "Siemens", True

    def __init__(self, path, depth=None, duration=None, norm=None):
        self.path, self._depth, self._duration, self._norm, self._made = path, depth, duration, norm, None
        if duration is not None and not 0 < duration < numpy.inf:
            raise wrong(ValueError, f"duration is {duration}; it must be above 0")
        if depth is not None and not 0 <= depth < _SPACED:
            raise wrong(ValueError, f"depth is {depth}; it must be 0 or more, and less than {_SPACED:g} mm")
        self._found = _siemens_files.Found(path)
        try:
            _check(self._found.keys)
            self.said = _said(self._found.keys)
            self._count = self._found.size // _WORD
            if not self._count:
                raise wrong(ValueError, f"{path} is of a list without any words")
        except BaseException:
            self.close()
            raise
        self.remarks = [f"{self._count} words"]

    @property
    def scanner(self):
        if self._made is None:
            keys = self._found.keys
            design = _siemens_scanner.design(self.path, keys.text("originating system"))
            bins = _siemens_scanner.Bins(keys, design)
            radius, spacing = (_length(keys, key, most) for key, most in (("gantry crystal radius (cm)", _FARTHEST), ("distance between rings (cm)", _SPACED)))
            lower, upper = (keys.number(f"%energy window {level} level (keV) [1]", default=0.0) for level in ("lower", "upper"))
            window = dict(energy_lower=lower, energy_upper=upper) if 0 < lower < upper else {}
            made = _siemens_scanner.read(design, radius, spacing, bins.farthest, self._depth, **window)
            if self._norm is not None:
                values, others = _siemens_norm.read(self._norm, design)
                doubts = [f"of the norm crystals' efficiencies are used, and what it has besides is not: {others}"] if others else []
                doubts.append("the norm's efficiencies of crystals are relative ones, which have no part of photons that crystals detect: values are in Bq/ml but for a factor, pass calibration, "
                              "the activity of a phantom over what this makes of its scan")
                made = dataclasses.replace(made, efficiencies=values, doubts=tuple(doubts))
            self._made = made, bins
        return self._made[0]

    def read(self, frames=None, delays=True):
        self.scanner  # before the words
        starts = range(0, self._count, _AT_ONCE)
        first, last = self._time(starts, 0), self._time(reversed(starts), -1)
        timed = first is not None and last > first
        if not timed and self._duration is None:
            raise wrong(ValueError, f"{self.path} has no words of time, or those of one time alone, which do not tell how long the scan was: pass duration")
        duration = self._duration or (last - first) / 1e3
        doubts, keys = self._doubts(first or 0, duration), self._found.keys
        reading = TimedReading(self.path, (0.0, duration), self._chunks(first, timed, delays, doubts), frames, doubts)
        reading.moves = keys.number("start horizontal bed position (mm)", default=0.0) != keys.number("end horizontal bed position (mm)", "start horizontal bed position (mm)", default=0.0)
        return reading

    def close(self):
        self._found.close()

    def _words(self, first):
        with open(self._found.data, "rb") as file:
            file.seek(self._found.first + _WORD * first)
            return numpy.fromfile(file, "<u4", min(_AT_ONCE, self._count - first))

    def _time(self, starts, which):
        """The first or last time, ms; None of a list without any."""
        for start in starts:
            words = self._words(start)
            times = words[words >> _KIND == _IS_TIME]
            if len(times):
                return int(times[which] & _TIME)
        return None

    def _chunks(self, first, timed, delays, doubts):
        now, all_beyond, all_gaps, number = first or 0, 0, 0, 0
        for start in range(0, self._count, _AT_ONCE):
            words = self._words(start)
            # Of each word the last one of time before it, or what came before these.
            before = numpy.maximum.accumulate(numpy.where(words >> _KIND == _IS_TIME, numpy.arange(1, len(words) + 1), 0))
            times = numpy.concatenate([[now], (words & _TIME).astype(numpy.int64)])[before]
            now = int(times[-1])
            chosen = words >> _TAG == 0
            if not delays:
                chosen &= words >> _PROMPT == 1
            events, seconds = words[chosen], (times[chosen] - (first or 0)) / 1e3
            crystals, beyond, gaps = self._made[1].crystals(events & _BIN)
            all_beyond, all_gaps, number = all_beyond + int(beyond.sum()), all_gaps + int(gaps.sum()), number + len(events)
            yield crystals, numpy.zeros(len(events), numpy.uint32), 1 - (events >> _PROMPT).astype(int), seconds if timed else None
        if all_beyond:
            doubts.append(f"{all_beyond} of {number} events are of bins beyond the header's {self._made[1].count}: the list may be of another header, or damaged")
        if all_gaps:
            doubts.append(f"{all_gaps} of {number} events are of gaps between blocks, where a {self._made[0].model} has no crystals: the list may be of another header, or damaged")

    def _doubts(self, first, duration):
        keys, told = self._found.keys, []
        count, seconds, bed = (keys.number(key, default=0.0) for key in ("%total listmode word counts", "image duration (sec)", "start horizontal bed position (mm)"))
        rest, missing = self._found.size % _WORD, self._found.missing
        if rest or missing:
            told.append(f"the list is not whole: after {self._count} words there are {rest} bytes" + (f", and {missing} are missing" if missing else ""))
        if count > 0 and count != self._count:
            told.append(f"the header tells of {count:.0f} words, and the list has {self._count}")
        if first > 1e3 * _SECONDS:
            told.append(f"the first time in the list is {first / 1e3:g} s, which is taken for the start of the scan")
        if seconds > 0 and self._duration is None and abs(seconds - duration) > _SECONDS:
            told.append(f"the header tells of {seconds:g} s, and times in the list are of {duration:g} s, which are taken: pass duration for others")
        half_life, isotope = keys.number("isotope gamma halflife (sec)", default=0.0), self.said.isotope
        if isotope and half_life > 0 and not abs(half_life / isotope.half_life - 1) <= _ALIKE:
            told.append(f"the header has a half-life of {half_life:g} s, and {isotope.name} has {isotope.half_life:g} s, which is taken: pass half_life for another")
        if keys.whole("%total number of singles blocks", default=0.0) > 0:
            told.append("the list has words of single photons' rates, by which dead times would be known, and which are not used: pass live, the part of the time in which the scanner was ready")
        if bed:
            told.append(f"the bed was at {bed:g} mm, which is not in the image's place: its centre is in the scanner's frame")
        return told


def is_header(begin):
    """Whether a file that begins so is a header of a list of Siemens'."""
    begin = begin[:4096].lower()
    return b"!interfile" in begin and b"petlink" in begin


def is_wrapped(path, begin):
    """Whether a file is DICOM, which may have such a list, one that DICOM follows, or the list whose header lies beside it."""
    return begin[128:132] == b"DICM" or _siemens_files.is_tailed(path) or _siemens_files.is_data(path)


def _check(keys):
    if keys.text("data format", default="CoincidenceList").lower() != "coincidencelist" or keys.text("PET data type", default="Emission").lower() != "emission":
        raise wrong(ValueError, f"{keys.path} has 'data format:= {keys.text('data format', default='')}' and 'PET data type:= {keys.text('PET data type', default='')}'; they must be CoincidenceList and Emission")
    bits, times = keys.whole("%LM event and tag words format (bits)"), keys.whole("%number of TOF time bins", default=1.0)
    if bits != 8 * _WORD:
        raise wrong(ValueError, f"{keys.path} has words of {bits} bits, which name blocks and crystals whose places in the scanner are not known here: words of 32 bits can be read")
    if times > 1:
        raise wrong(ValueError, f"{keys.path} has {times} time bins: of which widths and sign they are, and which crystals bins with time of flight stand for, is not known here; STIR2PETSIRD "
                                "(github.com/ETSIhackers/STIR2PETSIRD) makes PETSIRD of what STIR reads")
    if keys.number("gantry tilt angle (degrees)", default=0.0):
        raise wrong(ValueError, f"{keys.path} has a gantry that is tilted, by {keys.number('gantry tilt angle (degrees)'):g} degrees, and images are along its axis")


def _said(keys):
    name, half_life, branching = keys.text("isotope name", default=""), *(keys.number(f"isotope {key}", default=0.0) for key in ("gamma halflife (sec)", "branching factor"))
    isotope = _isotopes.known(name)
    if isotope is None and name and half_life > 0 and 0 < branching <= 1:
        isotope = _isotopes.Isotope(name, half_life, branching)
    lies = keys.text("%patient orientation", default="")
    return Said(isotope=isotope, nuclide=name, position=lies.upper() if lies.upper() in images.POSITIONS else None, lies=lies)


def _length(keys, key, most):
    """mm."""
    found = 10 * keys.number(key)
    if not 0 < found < most:
        raise wrong(ValueError, f"{keys.path} has '{key}:= {found / 10:g}'; it must be above 0, and less than {most / 10:g}")
    return found
