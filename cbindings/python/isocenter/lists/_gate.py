"""Coincidences of GATE's simulations, in ROOT files: positions and times of both photons."""
import collections
import dataclasses

import numpy

from ..context import Context
from ..errors import wrong
from ..pet import PET
from . import _castor_scanner
from ._list import List
from ._reading import UNKNOWN, TimedReading
from ._root import Root
from ._unpacked import Plain

#: Part of the coincidences whose lines pass between crystals, without a word.
_LOST = 0.2
_TREE, _DELAYS = "Coincidences", ("delay", "Delay", "delays", "Delays")

Names = collections.namedtuple("Names", "places time scale event scattered energy")
Names.__doc__ = """Branches of one of both photons: of x, y and z in mm, of the time, that in s, of the decay, how often the photon was scattered in the phantom, and of the energy in MeV."""
#: Of GATE to version 9, and from 10 on as either of its sorters writes them.
_SPELLINGS = (Names([f"globalPos{axis}{{}}" for axis in "XYZ"], "time{}", 1.0, "eventID{}", ("comptonPhantom{}", "RayleighPhantom{}"), "energy{}"),
              Names([f"PostPosition_{axis}{{}}" for axis in "XYZ"], "GlobalTime{}", 1e-9, "EventID{}", (), "TotalEnergyDeposit{}"),
              Names([f"PostPosition{{}}_{axis}" for axis in "XYZ"], "GlobalTime{}", 1e-9, "EventID{}", (), "TotalEnergyDeposit{}"))

Coincidences = collections.namedtuple("Coincidences", "first second times kinds seconds")
Coincidences.__doc__ = """As `PET.deposit` takes them: `first` and `second` float32 (events, 3), mm, `times` t2 - t1 in ps, float32; `kinds` 0 of prompts and 1 of delays; `seconds` of the
first photons."""


class GATE(List):
    """A ROOT file of GATE's.

    Parameters
    ----------
    path : path
    scanner : path, optional
        CASToR's .geom or .hscan of the crystals, which photons' lines are given to. None: events have positions alone.
    depth : float, optional
        How far behind their inner faces crystals detect photons on average, mm; None: the scanner's, else in their middles.
    duration : float, optional
        s, from the simulation's 0 on. None: from the first event to the last.
    exclude : sequence of str
        "randoms", of two decays, and "scatter", of a photon that was scattered in the phantom.
    tree, delays : str, optional
        Names of the trees of prompts and of delayed coincidences. None: Coincidences, and delay if there is one.
    energies : (float, float), optional
        keV: coincidences are left out of which a photon has less or more. None: all are taken.
    """
    OPTIONS = ("scanner", "depth", "duration", "exclude", "tree", "delays")

    def __init__(self, path, scanner=None, depth=None, duration=None, exclude=(), tree=None, delays=None, energies=None):
        self.path, self._given, self._depth, self.excluded, self._window, self._scanner = path, scanner, depth, tuple(exclude), energies, None
        if duration is not None and not 0 < duration < numpy.inf:
            raise wrong(ValueError, f"duration is {duration}; it must be above 0")
        self._duration = duration
        self._plain = Plain(path)
        self._file = Root(self._plain.path, path)
        self._trees = [tree or _TREE, delays or next((name for name in _DELAYS if name in self._file.trees), None)]
        for name, word in zip(self._trees, ("tree", "delays")):
            if name and name not in self._file.trees:
                raise wrong(ValueError, f"{path} has no tree {name}: pass {word}, one of {', '.join(self._file.trees) or 'none'}")
        self._names = [name and self._spelt(name, k) for k, name in enumerate(self._trees)]
        self._count = self._file.count(self._trees[0])
        self.has_delays = self._trees[1] is not None
        self.kind, self.remarks = "GATE", [f"{self._count} coincidences", f"{'delays of the tree ' + self._trees[1] if self.has_delays else 'no delays'}"]

    @property
    def scanner(self):
        if self._scanner is None:
            self._scanner = self._found()
        return self._scanner

    def read(self, frames=None, delays=True):
        self.scanner  # before the events
        doubts = []
        return TimedReading(self.path, self._span(), self._chunks(delays, doubts), frames, doubts)

    def positions(self, delays=True):
        """Coincidences in parts, without a scanner; those that are excluded are left out."""
        for kind, (tree, names) in enumerate(zip(self._trees, self._names)):
            if tree is not None and (delays or not kind):
                for part in self._file.parts(tree, [name.format(k) for name in self._read(names, kind) for k in (1, 2)]):
                    yield self._coincidences(part, names, kind)

    def close(self):
        self._file.close()
        self._plain.close()

    def _found(self):
        if not self._given:
            raise wrong(ValueError, f"{self.path} has no scanner: pass scanner, CASToR's .geom or .hscan of it, which castor-GATEMacToGeom makes of the simulation's macro")
        return _castor_scanner.read(self._given, self._depth)

    def _read(self, names, kind):
        """Branches that are needed; delays have nothing to exclude but by their energies."""
        yield from names.places
        yield names.time
        if self._window:
            yield names.energy
        if not kind and "randoms" in self.excluded:
            yield names.event
        if not kind and "scatter" in self.excluded:
            yield from names.scattered

    def _coincidences(self, part, names, kind):
        kept = numpy.ones(len(part[names.time.format(1)]), bool)
        if not kind and "randoms" in self.excluded:
            kept &= part[names.event.format(1)] == part[names.event.format(2)]
        if not kind and "scatter" in self.excluded:
            for name in names.scattered:
                kept &= (part[name.format(1)] <= 0) & (part[name.format(2)] <= 0)
        if self._window:
            for k in (1, 2):
                kev = 1e3 * part[names.energy.format(k)].astype(float)
                kept &= (kev >= self._window[0]) & (kev <= self._window[1])
        first, second = (numpy.stack([part[name.format(k)][kept] for name in names.places], axis=1).astype(numpy.float32) for k in (1, 2))
        begins, ends = (names.scale * part[names.time.format(k)][kept].astype(float) for k in (1, 2))
        return Coincidences(first, second, (1e12 * (ends - begins)).astype(numpy.float32), numpy.full(len(begins), kind), begins)

    def _chunks(self, delays, doubts):
        lost = number = 0
        # Of which crystals photons' lines are; no lattice is needed for it.
        with Context(device="cpu", log=lambda *_: None) as context, PET(context, nx=1, ny=1, nz=1, voxel_x=1.0, azimuths=1, max_tilt=0.1) as pet:
            # Also of one without time of flight, whose bin has no room for random coincidences.
            dataclasses.replace(self.scanner, time_edges=None).set_on(pet)
            for part in self.positions(delays):
                if not len(part.kinds):
                    continue
                crystals, times, _ = pet.detect(part.first, part.second, part.times, bins=False)
                lost, number = lost + int((crystals[:, 0] == UNKNOWN).sum()), number + len(crystals)
                yield crystals, times if self.scanner.has_times else numpy.zeros(len(crystals), numpy.uint32), part.kinds, part.seconds
        if lost > _LOST * number:
            doubts.append(f"lines of {lost} of {number} coincidences meet no crystals of the scanner: it may be another one, turned, or shifted along its axis")

    def _span(self):
        name, lowest, highest = self._names[0].time.format(1), numpy.inf, -numpy.inf
        for part in self._file.parts(self._trees[0], [name]):
            seconds = self._names[0].scale * part[name].astype(float)
            lowest, highest = min(lowest, float(seconds.min(initial=numpy.inf))), max(highest, float(seconds.max(initial=-numpy.inf)))
        if self._duration:
            return 0.0, self._duration
        if not highest > lowest:
            raise wrong(ValueError, f"{self.path} has {self._count} coincidences, which do not tell how long the simulation was: pass duration")
        return lowest, highest

    def _spelt(self, tree, kind):
        """The Names of a tree's branches; those that are needed are there."""
        there = self._file.branches(tree)
        missing = lambda names: [name.format(k) for name in names for k in (1, 2) if name.format(k) not in there]
        names = next((names for names in _SPELLINGS if not missing([*names.places, names.time])), None)
        if names is None:
            raise wrong(ValueError, f"the tree {tree} of {self.path} has no places and times of two photons, such as globalPosX1 and time1: it has {', '.join(sorted(there)[:6]) or 'nothing'}")
        names = names._replace(scattered=[name for name in names.scattered if not missing([name])])
        if self._window and missing([names.energy]):
            raise wrong(ValueError, f"the tree {tree} of {self.path} has no {names.energy.format(1)}, by which photons beyond {self._window[0]:g} to {self._window[1]:g} keV could be left out")
        if not kind and "randoms" in self.excluded and missing([names.event]):
            raise wrong(ValueError, f"the tree {tree} of {self.path} has no {names.event.format(1)}, by which randoms could be left out")
        if not kind and "scatter" in self.excluded and not names.scattered:
            raise wrong(ValueError, f"the tree {tree} of {self.path} has no comptonPhantom1, by which scatter could be left out")
        return names
