"""STIR's headers of GATE's ROOT files: what of them is read, and an image."""
import unittest

import numpy as np

import isocenter
import isocenter.lists
import list_files
from list_files import DEPTH, PITCH, RADIUS, uproot
from test_images import nibabel
from test_lists import Files, Phantom

#: Of rings of 192 crystals, as those that the phantom is simulated in, which are a cylinder.
KEYS = {"ROOT header": "", "originating system": "User_defined_scanner", "Number of rings": 16, "Number of detectors per ring": 192, "Inner ring diameter (cm)": RADIUS / 5,
        "Average depth of interaction (cm)": DEPTH / 20, "Distance between rings (cm)": PITCH / 10, "View offset (degrees)\t\t": 0, "Maximum number of (unmashed) TOF time bins": 9,
        "Size of unmashed TOF time bins (ps)": 200.0, "TOF timing resolution (ps)": 300.0, "GATE scanner type": "GATE_Cylindrical_PET", "GATE_Cylindrical_PET Parameters": "",
        "name of data file": "scan.root", "name of input TChain": "Coincidences", "number of Rsectors": 24, "number of modules_Y": 1, "number of submodules_Y": 2, "number of crystals_Y": 4}


def hroot(folder, **keys):
    """A header; of the keys None is left out."""
    path = f"{folder}/scan.hroot"
    list_files.text(path, {**KEYS, **keys, "end ROOT header": ""}, " := ")
    return path


@unittest.skipIf(uproot is None, "uproot is not installed")
class Headers(Files):
    def setUp(self):
        super().setUp()
        self.many = 2000
        angle, along = self.rng.uniform(0, 2 * np.pi, self.many), self.rng.uniform(-40, 40, (2, self.many))
        self.first, self.second = (np.stack([sign * 185 * np.cos(angle), sign * 185 * np.sin(angle), z], axis=1) for sign, z in zip((1, -1), along))
        self.times, self.seconds = self.rng.normal(0, 300, self.many), np.sort(self.rng.uniform(0, 60, self.many))
        self.energies = self.rng.uniform(0.3, 0.7, (2, self.many)).astype(np.float32)
        self.random, self.scattered = self.rng.random(self.many) < 0.2, self.rng.random(self.many) < 0.3

    def write(self, tree="Coincidences", energies=True, **keys):
        branches = dict(eventID1=np.arange(self.many), eventID2=np.arange(self.many) + self.random, comptonPhantom1=self.scattered.astype(int), comptonPhantom2=0 * self.scattered.astype(int))
        if energies:
            branches.update(energy1=self.energies[0], energy2=self.energies[1])
        list_files.root(self.path("scan.root"), {tree: list_files.gate(self.first, self.second, self.times, self.seconds, **branches)})
        return hroot(self.folder, **keys)

    def scanner(self, **keys):
        with isocenter.lists.open_list(self.write(**keys)) as listed:
            return listed.scanner

    def test_the_scanner(self):
        """By hand: the first crystal at y, 18.5 cm from the axis, the next ones towards -x, 360 / 192 degrees each; rings along z."""
        scanner = self.scanner()
        step = 2 * np.pi / 192
        self.assertEqual(len(scanner.positions), 16 * 192)
        np.testing.assert_allclose(scanner.positions[[0, 1, 48, 192]], [[0, 185, -41.25], [-185 * np.sin(step), 185 * np.cos(step), -41.25], [-185, 0, -41.25], [0, 185, -35.75]], atol=1e-9)
        np.testing.assert_allclose(scanner.normals, scanner.positions / 185 * [1, 1, 0], atol=1e-12)
        self.assertEqual((round(scanner.crystal_width, 3), scanner.crystal_height, scanner.tof_fwhm, scanner.window), (6.054, 5.5, 300.0, 900.0))
        self.assertEqual((scanner.energy_resolution, scanner.energy_upper, scanner.has_times), (0, 0, True))
        old = self.scanner(**{name: None for name in list(KEYS)[8:11]}, **{"Number of TOF time bins": 9, "Size of timing bin (ps)": 200, "Timing resolution (ps)": 300, "energy resolution": 0.12, "low energy window (keV)": 425,
                                                                           "upper energy window (keV)": 650, "View offset (degrees)\t\t": 90})
        np.testing.assert_allclose(old.positions[0], [-185, 0, -41.25], atol=1e-9)
        self.assertEqual((old.tof_fwhm, old.window, old.energy_resolution, old.energy_lower, old.energy_upper), (300, 900, 0.12, 425, 650))
        # Blocks of three crystals and a place for a gap.
        self.assertEqual([len(self.scanner(**{"number of crystals_Y": k}).positions) for k in (3, 4)], [16 * 144, 16 * 192])
        ecat = {name: None for name in list(KEYS)[15:18]}
        self.assertEqual(len(self.scanner(**ecat, **{"number of blocks Y": 48}).positions), 16 * 192)
        with isocenter.lists.open_list(self.write(), depth=10.0) as listed:
            np.testing.assert_allclose(np.hypot(*listed.scanner.positions[:, :2].T), 190)
        with isocenter.lists.open_list(self.write(), scanner=list_files.geom(self.folder)) as listed:
            self.assertEqual(listed.scanner.model, "RING")

    def test_what_is_doubted(self):
        self.assertRegex(" ".join(self.scanner().doubts), "^crystals are taken for a ring of 192 at equal angles.*pass scanner")
        self.assertFalse(self.scanner(**{"number of Rsectors": 192, "number of submodules_Y": 1, "number of crystals_Y": 1}).doubts)
        self.assertRegex(self.scanner(**{"originating system": "ECAT 962"}).doubts[0], "originating system ECAT 962, for which STIR takes numbers of its own")

    def test_every_event_is_read(self):
        path = self.write()
        crystals, times, *_, reading = self.listed(path)
        self.assertFalse(reading.doubts)
        with isocenter.lists.open_list(path) as listed:
            self.assertEqual((listed.kind, listed.path, listed.excluded), ("GATE", path, ()))
            places = listed.scanner.positions[crystals.astype(int)]
        # Opposite each other across the axis, of which crystals are half a width from the events at most.
        apart = np.abs(places - np.stack([self.first, self.second], axis=1))
        self.assertLess(apart[..., 2].max(), PITCH / 2 + 1e-3)
        self.assertLess(np.hypot(apart[..., 0], apart[..., 1]).max(), 6.06 / 2 + 0.1)
        np.testing.assert_allclose(times, self.times, atol=40)  # ps, by crystals' own places: some mm
        self.assertEqual(len(self.listed(self.write(tree="late", **{"name of input TChain": "late"}))[0]), self.many)

    def test_what_is_left_out(self):
        inside = ((self.energies >= 0.425) & (self.energies <= 0.65)).all(axis=0)
        window = {"low energy window (keV)": 425, "upper energy window (keV)": 650}
        for left, keys in ((~self.random, {"exclude random events": 1}), (~self.scattered, {"exclude scattered events": 1}), (inside, window),
                           (inside & ~self.random & ~self.scattered, {"exclude random events": 1, "exclude scattered events": 1, "check energy window information": 1, **window}),
                           (inside | ~inside, {"check energy window information": 0, **window}), (inside | ~inside, {"low energy window (keV)": 0, "upper energy window (keV)": 10000})):
            with isocenter.lists.open_list(self.write(**keys)) as listed:
                np.testing.assert_allclose(np.concatenate([part.seconds for part in listed.positions()]), self.seconds[left])
        with isocenter.lists.open_list(self.write(**{"exclude random events": 1}), exclude="scatter") as listed:
            self.assertEqual(listed.excluded, ("randoms", "scatter"))
        self.says("has no energy1, by which photons beyond 425 to 650 keV could be left out", self.write(energies=False, **window))

    def test_without_time_of_flight(self):
        keys = {name: None for name in list(KEYS)[8:11]}
        crystals, times, *_ = self.listed(self.write(**keys))
        self.assertEqual((times.dtype, times.any(), (crystals < 16 * 192).all()), (np.uint32, False, True))
        scanner = self.scanner(**keys)
        self.assertFalse(scanner.has_times)
        self.assertRegex(scanner.doubts[1], "no time of flight, and the events' is not used: add the lines 'Maximum number of")

    def test_wrong_headers(self):
        for key in ("Number of rings", "Number of detectors per ring", "Inner ring diameter (cm)", "Distance between rings (cm)"):
            self.says(f"has no line '{key}:= ...', without which its crystals are not known: add it, or pass scanner".replace("(", r"\(").replace(")", r"\)"), self.write(**{key: None}))
        for words, keys in (("names none.root by 'name of data file", {"name of data file": "none.root"}), ("no line 'name of data file", {"name of data file": None}),
                            ("has no tree late: pass tree, one of Coincidences", {"name of input TChain": "late"}), ("leaves no true coincidences", {"exclude non-random events": 1}),
                            ("leaves no true coincidences", {"exclude unscattered events": 1}), ("energy window of 650 to 425 keV", {"low energy window (keV)": 650, "upper energy window (keV)": 425}),
                            ("'exclude random events:= maybe'; it must be 0 or 1", {"exclude random events": "maybe"}), ("and 48 blocks of 5 crystals around", {"number of crystals_Y": 5}),
                            ("190', and 48 blocks", {"Number of detectors per ring": 190}), ("which are no scanner", {"Inner ring diameter (cm)": -3}), ("which are no scanner", {"Number of rings": 1e6}),
                            ("'Number of rings:= 1.5'", {"Number of rings": 1.5})):
            self.says(words, self.write(**keys))


@unittest.skipIf(nibabel is None or uproot is None, "nibabel or uproot is not installed")
class Image(Phantom):
    def test_a_list_by_its_header(self):
        """Without any option about the scanner."""
        scan = self.scan
        list_files.root(self.path("scan.root"), {"Coincidences": list_files.gate(scan.first, scan.second, scan.times, scan.seconds)})
        image, doubts = self.made(hroot(self.folder.name), "--isotope", "F-18", "--duration", "600")
        self.check(image)
        self.assertIn("give --scanner for blocks as they are", doubts)


if __name__ == "__main__":
    unittest.main()
