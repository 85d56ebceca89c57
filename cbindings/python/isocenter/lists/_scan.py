"""Counts of all frames of a list, read in one pass."""
import contextlib

import numpy

from ..errors import wrong
from ..pet import Dropped
from . import _attenuation
from ._quantified import Found

#: Passes of "svrg" and "bsrem" end when one has changed the image by no more; if the last one changed it by more than the second it is told.
SETTLED, UNSETTLED = 1e-3, 0.02
#: What a prior may take of the counts, or make of them, without a word: given back, means of regions are within 2 percent.
_TAKEN = 0.06
#: Which have a prior.
CLIMBS = ("svrg", "bsrem")
#: What scatter is made of: images that have the activity, which may be noisy.
DRAFT = dict(algorithm="osem", iterations=3)


class Scan:
    """What was counted, and the image of each frame; how events are counted is for those that it is made for: `_begin` them, `_count` a part of a frame, `_counted` of all, and `image`."""

    def __init__(self, pet, scanner, lattice, map, events, randoms, doubt):
        self.pet, self.scanner, self.lattice, self.map, self.doubt = pet, scanner, lattice, map, doubt
        count = len(events.measured)
        self._begin(count)
        self.sums = numpy.zeros((count, len(scanner.positions)), numpy.uint32) if randoms else None
        self.window = {name: getattr(scanner, name) for name in ("energy_resolution", "energy_lower", "energy_upper")}
        self.place = {} if map is None else dict(map_voxel=map.voxel, map_centre=tuple(a - b for a, b in zip(map.centre, lattice.centre)))
        self.found = self._read(events, count)
        for words in events.doubts:
            doubt(words)
        for k, of in enumerate(self.found):
            if of.dropped.not_measured:
                doubt(f"{of.dropped.not_measured} of {of.prompts} prompts{f' of {events.names[k]}' if count > 1 else ''} are of pairs of crystals that the file says are not measured: they are dropped")
        # Delays go before rates of single photons.
        self.recorded = events.singles if randoms and not any(of.delays for of in self.found) else None
        _check_counts(self.found, events, self.sums, self.recorded, doubt)
        if self.recorded:
            for words in self.recorded.doubts([block for blocks in events.blocks for block in blocks], scanner):
                doubt(words)
        self._events, self._own = events, None

    def use(self, own):
        """What there is of the frame of the next image (`_dead.Own`)."""
        if own.scanner.pairs is not self.scanner.pairs:
            self.pet.set_pairs(*own.scanner.pairs or ())
        self.scanner, self._own = own.scanner, own

    def _singles(self, k, window):
        """Photons a second that crystals count: of the delays, or else as the file has them; None without any."""
        if self.recorded:
            found, doubt = self.recorded.of(self._events.blocks[k], self.scanner, self._events.names[k])
            if doubt:
                self.doubt(doubt)
            # These are counted before coincidences are made of them.
            return (found * self._own.ready ** 0.5).astype(numpy.float32)
        if self.sums is None or not self.sums[k].any():
            return None
        return self.pet.singles(self.sums[k], self.found[k].duration, window=window)

    @contextlib.contextmanager
    def _of_randoms(self, pet):
        """Within it a plan's pairs are those of randoms: of single photons that the file has they do not have trues' efficiencies."""
        own = self.recorded and self.scanner.pairs is not None
        if own:
            pet.set_pairs(*self._own.randoms)
        yield
        if own:
            pet.set_pairs(*self.scanner.pairs)

    def _read(self, events, count):
        numbers, dropped, first = numpy.zeros((2, count), int), [None] * count, [0] * count
        for part in events:
            for k in range(count):
                for kind in (0, 1):
                    numbers[kind, k] += int(((part.kinds == kind) & (part.frames == k)).sum())
                chosen = (part.kinds == 0) & (part.frames == k)
                if chosen.any():
                    # Of parts that come by turns each counts its own events, so that their numbers do not depend on how many are read at a time.
                    more = self._count(k, part, chosen, sum(first) if events.in_order else first[k])
                    dropped[k] = more if dropped[k] is None else type(more)(*(a + b for a, b in zip(dropped[k], more)))
                    first[k] += int(chosen.sum())
            delayed = (part.kinds == 1) & (part.frames >= 0)
            if self.sums is not None and delayed.any():
                self.pet.fan_sums(part.crystals[delayed], part.frames[delayed].astype(numpy.uint32), self.sums)
        # Of a frame without blocks, the time that was asked for.
        starts = numpy.where(numpy.isfinite(events.starts), events.starts, events.asked[:, 0])
        none = Dropped(*[0] * len(Dropped._fields))
        return [Found(float(starts[k]), float(events.measured[k]), int(numbers[0, k]), int(numbers[1, k]), self._counted(k, numbers[0, k], dropped[k] or none), dropped[k] or none)
                for k in range(count)]

    def _prior(self, of, sensitivity, algorithm, iterations, smoothness):
        """Sets the algorithm, with a prior by the mean sensitivity in the body."""
        inside = (sensitivity > 0) & self._body()
        of.sensitivity = float((sensitivity[inside] if inside.any() else sensitivity).mean(dtype=float))
        climbs = algorithm in CLIMBS
        of.strength = smoothness * of.sensitivity if climbs else 0.0
        self.pet.set_prior(strength=of.strength or None)
        self.pet.set_options(algorithm=algorithm, iterations=iterations, stop_change=SETTLED if climbs else 0.0)

    def _body(self):
        """Which voxels attenuate as a body does; without a map, all."""
        if self.map is None:
            return numpy.ones(self.lattice.shape, bool)
        return _attenuation.body(self.map, self.lattice.shape, (self.lattice.voxel,) * 3, self.lattice.centre)

    def _finish(self, of, image, restored):
        """What the prior took is given back, and what may be wrong is told. `restored` finds the image's factor."""
        of.history = self.pet.history()
        if of.strength:
            of.restored = restored()
            image *= numpy.float32(of.restored)
            if of.restored > 1 + _TAKEN:
                self.doubt(f"the prior took {100 * (1 - 1 / of.restored):.0f} % of the counts, and the image was multiplied by {of.restored:.3f} for them: means of regions may be some percent "
                           "off; a smaller smoothness takes fewer, algorithm='mlem' none")
            elif of.restored < 1 - _TAKEN:
                self.doubt(f"of few counts the image took randoms and scatter for activity, and was multiplied by {of.restored:.3f} for them: means of regions may be some "
                           "percent off")
        if not image.any() and of.counted > of.randoms:
            self.doubt(f"the image is 0 everywhere, though there are {of.counted} counts")
        if of.history[-1].change > UNSETTLED:
            self.doubt(f"the last of {len(of.history)} passes changed the image by {of.history[-1].change:.2g} of it: it has not settled")
        return image


def _check_counts(found, events, sums, recorded, doubt):
    """What no image at all can be made of is an error; of single frames it is told."""
    prompts, delays = sum(of.prompts for of in found), sum(of.delays for of in found)
    frames = len(found) > 1
    if not prompts and not delays:
        raise wrong(ValueError, f"there are no events{' in any frame' if frames else ''}")
    if not prompts:
        raise wrong(ValueError, f"there are delays without prompts: {delays} delayed coincidences, of which alone no image can be made")
    if sums is not None and not delays and not recorded:
        raise wrong(ValueError, "there are prompts without delays, and without rates of single photons, of which randoms are made: pass randoms=False (--no-randoms) if there are none, or they were taken off")
    if not sum(of.counted for of in found):
        raise wrong(ValueError, f"none of {prompts} prompts are in the lattice: {found[0].dropped}")
    for k, of in enumerate(found):
        if of.counted and not of.duration > 0:
            raise wrong(ValueError, f"blocks of events{f' of {events.names[k]}' if frames else ''} last 0 s, so that there is no activity a second")
        if events.whole and not events.blocks[k]:
            doubt(f"no block of events begins in {events.names[k]}: its image is NaN")
        elif events.whole and not of.counted:
            doubt(f"there are no {'prompts in the lattice' if of.prompts else 'prompts'} in {events.names[k]}: its image is 0")
        elif of.counted and sums is not None and not recorded and not sums[k].any():
            doubt(f"there are prompts without delays in the field of view{f' in {events.names[k]}' if frames else ''}: there are taken to be no randoms")
