"""Lists that are counted in histo-images."""
import numpy

from ._scan import DRAFT, Scan


class Histos(Scan):
    """By DIRECT's histo-images, one for each direction."""

    def _begin(self, count):
        self.measured = numpy.zeros((count, *self.pet.histo_images_shape), numpy.uint32)

    def _count(self, k, part, chosen, first):
        return self.pet.deposit_crystals(part.crystals[chosen], part.times[chosen], histo_images=self.measured[k], first_event=first)

    def _counted(self, k, prompts, dropped):
        return int(self.measured[k].sum())

    def sensitivity(self, unit):
        """Counts of each voxel a Bq/ml."""
        return self.pet.sensitivity(self._factors(unit))

    def _factors(self, unit):
        return self.pet.factors(self.scanner.efficiencies, None if self.map is None else self.map.image, **unit, **self.place)

    def image(self, k, unit, scatter, algorithm, iterations, smoothness):
        """Of frame k, in Bq/ml before calibration."""
        pet, of, measured = self.pet, self.found[k], self.measured[k]
        attenuation = None if self.map is None else self.map.image
        factors = self._factors(unit)
        randoms = None
        window = self.scanner.window  # 0 of one with bins
        singles = self._singles(k, window)
        if singles is not None:
            with self._of_randoms(pet):
                randoms = pet.randoms(singles, of.duration, window=window)
            of.randoms = float(randoms.sum(dtype=float))
        additive = randoms
        if attenuation is not None and scatter:
            pet.set_options(**DRAFT)
            for _ in range(scatter):
                image = pet.reconstruct(measured, factors, additive)
                additive, found = pet.scatter(image, attenuation, self.scanner.efficiencies, measured, randoms, **self.window, **unit, **self.place)
            of.scatter, of.scale, of.scale_error, of.tails = (float(v) for v in (found.scatter * found.scale, found.scale, found.scale_error, found.tails))
        self._prior(of, pet.sensitivity(factors), algorithm, iterations, smoothness)
        image = pet.reconstruct(measured, factors, additive)

        return self._finish(of, image, lambda: self._restored(image, measured, factors, additive))

    def _restored(self, image, measured, factors, additive):
        """The image's factor with which it explains the counts of the body, those of its places in histo-images. Beside it an image of few counts takes randoms and scatter for activity, which cannot be
        below 0 where they are fewer than is expected, and so has too many."""
        body = self._body().astype(numpy.float32)
        counts = explained = 0.0
        for k in range(len(measured)):
            of_body, of_image = (self.pet.forward(v, views=[k])[0] for v in (body, image))
            more = measured[k] if additive is None else measured[k] - additive[k]
            counts += float((of_body * more).sum(dtype=float))
            explained += float((of_body * (factors[k] * of_image)).sum(dtype=float))
        return max(counts, 0.0) / explained if explained > 0 else 1.0
