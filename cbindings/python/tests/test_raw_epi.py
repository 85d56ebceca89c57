"""Echo-planar scans: lines of both directions that do not fit each other, and samples on ramps of the gradient."""
import math
import os
import unittest

import numpy as np

import isocenter
import isocenter.raw
from isocenter.raw import _echo_planar
from test_raw import N, lines, measured, noise, sensitivities
from test_raw_ways import Kinds, Ways, acquisition

SCAN = {"kind": "epi", "centres": (N // 2,)}


def uniform():
    return (np.arange(N) - N // 2) / N


BOTH = uniform(), uniform()[::-1]


def pieces(up, flat, down, delay, dwell, samples, matrix, parts=4000):
    """Places by sums over small pieces of the gradient, in cycles per field of view."""
    edges = np.linspace(0, up + flat + down, 200 * parts + 1)
    t = (edges[1:] + edges[:-1]) / 2
    gradient = np.minimum(1, np.minimum(t / max(up, 1e-30), (up + flat + down - t) / max(down, 1e-30)))
    area = np.concatenate([[0], np.cumsum(gradient) * (edges[1] - edges[0])])
    read = np.interp([delay, delay + samples * dwell], edges, area)
    return (np.interp(delay + (np.arange(samples) + 0.5) * dwell, edges, area) - area[-1] / 2) * matrix / (read[1] - read[0])


class EchoPlanar(Kinds, Ways):
    """Half of lines backwards: delayed by so many samples, which moves forwards the other way, and with a phase."""
    test_errors = None  # of the other kinds

    def train(self, places, delay, phase, drift=0.0, **words):
        """Navigators at ky = 0 (forwards, backwards, forwards), then all lines; `places` of samples in cycles per voxel, as they come forwards and backwards."""
        def line(y, echo, backwards, flags=(), drift=0.0):
            way = -1 if backwards else 1
            along = places[backwards] + way * delay / N
            k = np.stack([along, np.full(len(along), (y - N // 2) / N)], axis=-1)
            samples = measured(np.clip(k, -0.5, 0.5)) * np.exp(1j * (drift * echo - way * phase / 2))
            return acquisition(samples, kspace_encode_step_1=y, center_sample=len(along) // 2, flags=[*flags, *["IS_REVERSE"] * backwards], **words)
        navigators = [line(N // 2, echo, echo == 1, ["IS_PHASECORR_DATA"], drift) for echo in range(3)]
        return navigators + [line(y, y, y % 2 == 1) for y in range(N)]

    def test_navigators_take_ghosts_away(self):
        # Backwards less forwards: a slope of 2 x 0.4 samples, that is 2 pi 0.8 / 48 a voxel.
        made = self.train(BOTH, 0.4, 1.1, drift=0.3)
        with self.quiet():
            seen = self.image(made, **SCAN).images[0, 0]
        with self.quiet():
            left = self.image(made, **SCAN, options={"navigators": False}).images[0, 0]
        with self.warns("no navigators .flag IS_PHASECORR_DATA. tell how they differ"):
            alone = self.image(made[3:], **SCAN).images[0, 0]
        self.close_to(left, alone, 1e-6)
        error = self.error(seen)
        self.assertLess(error, 2.0)
        self.assertGreater(np.linalg.norm(np.abs(left) - np.abs(seen)) / np.linalg.norm(seen), 0.3)
        # The field of view moves with the places that lines have in the end.
        with self.quiet():
            moved = self.image(made, **SCAN, options={"shift": (-12.5, 8.0)}).images[0, 0]
        self.assertLess(self.error(moved, sensitivities(middle=(-2.5, 1.6)), middle=(-2.5, 1.6)), 2.0)
        # One direction alone has nothing to differ from.
        with self.quiet():
            self.image(lines(self.full), **SCAN)

    def test_navigators_of_each_image(self):
        """By the counters that they share with a line; where none do, those next before it."""
        for shared in (True, False):
            made, sizes = [], [(0, 0, 0.4, 1.1), (1, 0, -0.3, -0.7), (0, 1, 0.1, 2.0), (1, 1, 0.6, 0.2)]
            for slice, repetition, delay, phase in sizes:
                train = self.train(BOTH, delay, phase, slice=slice, repetition=repetition, position=(0, 0, 6 * slice), slice_dir=(0, 0, 1), read_dir=(1, 0, 0), phase_dir=(0, 1, 0))
                for a in train[:3]:
                    a.idx.slice, a.idx.repetition = (slice, repetition) if shared else (7, 9)
                made += train
            with self.quiet():
                images = self.image(made, **SCAN).images
            for repetition in (0, 1):
                for slice in (0, 1):
                    with self.subTest(shared=shared, slice=slice, repetition=repetition):
                        self.assertLess(self.error(images[repetition, slice]), 2.0)

    def test_ramps(self):
        up, flat, down, dwell, samples = 120.0, 300.0, 140.0, 8.0, 64
        delay = 24.0
        described = {"rampUpTime": up, "flatTopTime": flat, "rampDownTime": down, "acqDelayTime": delay, "dwellTime": dwell, "numSamples": samples, "etl": N}
        places = pieces(up, flat, down, delay, dwell, samples, N) / N
        made = self.train((places, -places), 0.35, -0.8)
        with self.quiet():
            seen = self.image(made, **SCAN, described=described).images[0, 0]
        error = self.error(seen)
        if os.environ.get("ISOC_TEST_FIGURES"):
            print("ramps", error)
        self.assertLess(error, 2.0)
        for change, words in (({"numSamples": 60}, "describes echo-planar lines of 60 samples, and there are lines of 64"), ({"rampUpTime": -1}, "makes no sense"),
                              ({"dwellTime": 80}, "makes no sense"), ({"flatTopTime": 0, "rampUpTime": 0, "rampDownTime": 0}, "makes no sense")):
            with self.subTest(change=change), self.warns(words):
                self.write(made, **SCAN, described={**described, **change})
                isocenter.raw.read(self.path).select()
        # Numbers that are none are as left out.
        with self.quiet():
            self.read(made, **SCAN, described={**described, "dwellTime": "fast"}).select()

    def test_places_are_areas(self):
        for sizes in ((100, 300, 100, 10, 6, 80), (0, 480, 0, 0, 6, 80), (200, 100, 150, 30, 5, 80), (150, 0, 150, 10, 2.8, 100)):
            ramp = _echo_planar.Ramps(*map(float, sizes))
            # Pieces are 800,000 of some 500: their sums are right to 1e-6 of the area.
            np.testing.assert_allclose(_echo_planar.along(ramp, sizes[5], 64), pieces(*sizes, 64), atol=1e-4)

    def test_differences(self):
        rng = np.random.default_rng(3)
        for constant, slope, drift, sigma in ((0.7, 0.05, 0.0, 0.0), (-3.0, -0.2, 0.4, 0.0), (2.9, 0.12, -0.5, 0.05)):
            x = np.arange(N) - N // 2
            body = (np.abs(x) < 15) * (1 + 0.5 * np.cos(0.3 * x))
            made = []
            for echo in range(4):
                profile = body * np.exp(1j * (drift * echo + (echo % 2) * (constant + slope * x))) * np.array([[1.0], [0.5j]])
                samples = profile @ np.exp(-2j * np.pi * np.outer(x, uniform()))
                noise = rng.standard_normal(samples.shape) + 1j * rng.standard_normal(samples.shape)
                made.append((echo % 2 == 1, samples + sigma * noise, uniform()))
            seen = _echo_planar.difference(made, N)
            turned = math.remainder(seen.constant - constant, 2 * math.pi)
            # Noise: 0.05 sqrt(48) against some 1 a voxel is 0.3 rad of one, and of 30 voxels, 2 coils and 3 pairs 0.04; the slope's is that over 9.
            self.assertLess(abs(turned), 0.1 if sigma else 1e-3)
            self.assertLess(abs(seen.slope - slope), 0.015 if sigma else 1e-4)
            self.assertGreater(seen.coherence, 0.8)
        self.assertIsNone(_echo_planar.difference(made[::2], N))
        self.assertEqual(_echo_planar.difference([(b, 0 * s, k) for b, s, k in made], N).coherence, 0)

    def test_navigators_that_tell_nothing(self):
        made = self.train(BOTH, 0.4, 1.1)
        for a in made[:3]:
            a.data[:] = noise(a.data.shape, a.scan_counter + int(a.isFlagSet(22)))
        with self.warns("differ from each other by more than a constant phase and a slope"):
            self.read(made, **SCAN).select()
        with self.warns("no navigators"):
            self.read(made[:1] + made[3:], **SCAN).select()


if __name__ == "__main__":
    unittest.main()
