"""Lists along lines: without time of flight, with too little of it, or of modules that differ in theirs."""
import numpy

from ..lines import EventList
from ._scan import DRAFT, Scan

#: Where nothing is told along lines, what is counted beside what attenuates, and randoms, are put within so many ps of the middle.
_MIDDLE = 100.0
#: The width in ps with which scatter is spread along lines before it is added up along them.
_SPREAD = 300.0


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

    def image(self, k, unit, scatter, algorithm, iterations, smoothness):
        """Of frame k, in Bq/ml before calibration."""
        pet, of, list = self.pet, self.found[k], self._list(k)
        attenuation = None if self.map is None else self.map.image
        efficiencies = self.scanner.efficiencies
        factors = pet.line_factors(list, efficiencies, attenuation, **unit, **self.place)[0]
        sensitivity = pet.line_sensitivity(efficiencies, attenuation, directions=32, **unit, **self.place)
        randoms, singles, window = None, None, self.scanner.window or (0.0 if self.scanner.time_edges is None else float(numpy.abs(self.scanner.time_edges).max()))
        if self.sums is not None and self.sums[k].any():
            singles = pet.singles(self.sums[k], of.duration, window=window)
            randoms = pet.line_randoms(list, singles, of.duration, window=window)
            # All pairs' in the field of view.
            of.randoms = float(self.sums[k].sum()) / 2
        additive = randoms
        if attenuation is not None and scatter:
            measured, middle = self._in_the_middle(list, singles, of.duration, window)
            pet.set_options(**DRAFT)
            for _ in range(scatter):
                image = pet.reconstruct_lines(list, sensitivity, factors, additive)[0]
                histo, found = pet.scatter(image, attenuation, efficiencies, measured, middle, tof_fwhm=self.lattice.tof_fwhm or _SPREAD, **self.window, **unit, **self.place)
                if middle is not None:
                    numpy.subtract(histo, middle, out=histo)
                    numpy.maximum(histo, 0, out=histo)
                scattered = pet.sample_lines(EventList(list.crystals, first_event=list.first_event) if list.times is None else list, histo)[0]
                additive = scattered if randoms is None else randoms + scattered
            of.scatter, of.scale, of.tails = float(found.scatter * found.scale), float(found.scale), float(found.tails)
        self._prior(of, sensitivity, algorithm, iterations, smoothness)
        image = pet.reconstruct_lines(list, sensitivity, factors, additive)[0]

        def explained():
            expected = factors * pet.forward_lines(list, image)[0]
            hit = expected > 0
            other = 0.0 if additive is None else additive[hit].astype(float)
            return numpy.ones(int(hit.sum())), expected[hit].astype(float), other, float((sensitivity * image).sum(dtype=float))

        return self._finish(of, image, explained)

    def _in_the_middle(self, list, singles, duration, window):
        """Histo-images of counts and randoms that are as many on each line, in its middle: scatter is scaled where lines miss what attenuates, wherever along them."""
        measured = numpy.zeros(self.pet.histo_images_shape, numpy.uint32)
        self.pet.deposit_crystals(list.crystals, numpy.zeros(len(list), numpy.float32), histo_images=measured)
        if singles is None:
            return measured, None
        return measured, self.pet.randoms(singles, duration * window / _MIDDLE, window=_MIDDLE)
