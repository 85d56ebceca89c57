"""Lists along lines: without time of flight, with too little of it, or of modules that differ in theirs."""
import dataclasses
import math

import numpy

from ..lines import EventList
from ..pet import PET
from ._scan import DRAFT, Scan

#: Where nothing is told along lines, what is counted beside what attenuates, and randoms, are put within so many ps of the middle.
_MIDDLE = 100.0
#: The width in ps with which scatter is spread along lines before it is added up along them.
_SPREAD = 300.0
#: Of the largest factor: with less, next to nothing of a direction is measured.
_LEAST = 1e-3
#: Of Newton's method, at most.
_STEPS = 30
#: Scatter is smooth: voxels of its lattice across the scanner, and mm along it.
_ACROSS, _ALONG = 28, 12.0


class Lines(Scan):
    """By sums along the line of each event."""

    def _begin(self, count):
        self._parts = [[] for _ in range(count)]

    def _count(self, k, part, chosen, first):
        times = part.times[chosen] if self.scanner.has_times else None
        self._parts[k].append((part.crystals[chosen], times, None if part.widths is None else part.widths[chosen]))
        return self.pet.line_factors(EventList(part.crystals[chosen], times))[1]

    def _counted(self, k, prompts, dropped):
        return int(prompts) - dropped.events

    def _list(self, k):
        crystals, times, widths = (None if columns[0] is None else numpy.concatenate(columns) for columns in zip(*self._parts[k]))
        return EventList(crystals, times, tof_fwhm=widths)

    def sensitivity(self, unit):
        """Counts of each voxel a Bq/ml."""
        return self.pet.line_sensitivity(self.scanner.efficiencies, None if self.map is None else self.map.image, directions=32, **unit, **self.place)

    def image(self, k, unit, scatter, algorithm, iterations, smoothness):
        """Of frame k, in Bq/ml before calibration."""
        pet, of, list = self.pet, self.found[k], self._list(k)
        attenuation = None if self.map is None else self.map.image
        efficiencies = self.scanner.efficiencies
        factors = pet.line_factors(list, efficiencies, attenuation, **unit, **self.place)[0]
        sensitivity = self.sensitivity(unit)
        randoms, window = None, self.scanner.window or (0.0 if self.scanner.time_edges is None else float(numpy.abs(self.scanner.time_edges).max()))
        singles = self._singles(k, window)
        if singles is not None:
            with self._of_randoms(pet):
                randoms = pet.line_randoms(list, singles, of.duration, window=window)
                # All pairs' in the field of view.
                of.randoms = float(_randoms_in_the_middle(pet, singles, of.duration, window).sum(dtype=float) if self.recorded else self.sums[k].sum() / 2)
        additive = randoms
        if attenuation is not None and scatter:
            wide, sides = self._wide()
            measured, middle = self._in_the_middle(wide, list, singles, of.duration, window)
            # Of what crystals measure in each direction, and of lines.
            whole, of_lines = wide.factors(efficiencies, None, **unit), pet.line_factors(list, efficiencies, None, **unit)[0]
            least = _LEAST * float(whole.max())
            pet.set_options(**DRAFT)
            for _ in range(scatter):
                image = pet.reconstruct_lines(list, sensitivity, factors, additive)[0]
                histo, found = wide.scatter(_coarse(image, self.lattice.voxel, wide.image_shape, sides), attenuation, efficiencies, measured, middle, tof_fwhm=self.lattice.tof_fwhm or _SPREAD, **self.window, **unit, **self.place)
                if middle is not None:
                    histo -= middle
                numpy.divide(histo, whole, out=histo, where=whole > least)
                histo[whole <= least] = 0
                scattered = of_lines * wide.sample_lines(list, numpy.maximum(histo, 0, out=histo))[0]
                additive = scattered if randoms is None else randoms + scattered
            of.scatter, of.scale, of.scale_error, of.tails = (float(v) for v in (found.scatter * found.scale, found.scale, found.scale_error, found.tails))
        self._prior(of, sensitivity, algorithm, iterations, smoothness)
        image = pet.reconstruct_lines(list, sensitivity, factors, additive)[0]

        def restored():
            expected = factors * pet.forward_lines(list, image)[0]
            hit = expected > 0
            return _restored(expected[hit].astype(float), 0.0 if additive is None else additive[hit].astype(float), float((sensitivity * image).sum(dtype=float)))

        return self._finish(of, image, restored)

    def _wide(self):
        """A plan whose lattice reaches to the crystals: scattered photons seem to come from beside what they were scattered in."""
        place = self.scanner.positions - numpy.array(self.lattice.centre)
        across, along = 2 * float(numpy.hypot(place[:, 0], place[:, 1]).max()), 2 * float(numpy.abs(place[:, 2]).max()) + self.scanner.crystal_height
        count = max(1, math.ceil(along / _ALONG))
        wide = PET(self.pet.context, nx=_ACROSS, ny=_ACROSS, nz=count, voxel_x=across / _ACROSS, voxel_z=along / count, azimuths=self.lattice.azimuths, tilts=self.lattice.tilts,
                   max_tilt=self.lattice.max_tilt)
        wide.set_response(tof_fwhm=self.lattice.tof_fwhm, radial_fwhm=self.lattice.width, axial_fwhm=self.lattice.width)
        self.scanner.set_on(wide, self.lattice.centre)
        return wide, (across / _ACROSS, across / _ACROSS, along / count)

    def _in_the_middle(self, wide, list, singles, duration, window):
        """Histo-images of counts and randoms that are as many on each line, about its middle: scatter is scaled where lines miss what attenuates, wherever along them."""
        bin = dataclasses.replace(self.scanner, time_edges=numpy.array([-_MIDDLE, _MIDDLE]))
        bin.set_on(wide, self.lattice.centre)
        measured = numpy.zeros(wide.histo_images_shape, numpy.uint32)
        wide.deposit_crystals(list.crystals, numpy.zeros(len(list), numpy.uint8), histo_images=measured)
        with self._of_randoms(wide):
            middle = None if singles is None else _randoms_in_the_middle(wide, singles, duration, window)
        self.scanner.set_on(wide, self.lattice.centre)
        return measured, middle


def _restored(own, other, total):
    """The factor of an image with which it explains events best, of what it and what else expects of each, and all that it expects."""
    factor = 1.0
    # The likelihood's slope falls, and bends upwards: from below Newton's steps do not go too far, and from above half the way at most.
    for _ in range(_STEPS if total > 0 else 0):
        part = own / (factor * own + other)
        step = (part.sum() - total) / (part * part).sum()
        factor = max(factor + step, factor / 2)
        if abs(step) < 1e-6 * factor:
            break
    return float(factor)


def _coarse(image, voxel, shape, sides):
    """Means of an image over the voxels of another lattice (nz, ny, nx) with the same centre; `sides` x, y, z, mm."""
    for axis, (count, side) in enumerate(zip(shape, sides[::-1])):
        own = image.shape[axis]
        edges, others = (numpy.arange(own + 1) - own / 2) * voxel, (numpy.arange(count + 1) - count / 2) * side
        overlap = numpy.minimum(edges[None, 1:], others[1:, None]) - numpy.maximum(edges[None, :-1], others[:-1, None])
        image = numpy.moveaxis(numpy.tensordot(numpy.maximum(overlap, 0) / side, image, axes=(1, axis)), 0, axis)
    return numpy.ascontiguousarray(image, numpy.float32)


def _randoms_in_the_middle(pet, singles, duration, window):
    """Histo-images of as many randoms on each line, about its middle."""
    return pet.randoms(singles, duration * window / _MIDDLE, window=_MIDDLE)
