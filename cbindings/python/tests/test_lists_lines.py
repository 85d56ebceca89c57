"""Lists along lines to images in Bq/ml: no time of flight, and modules of several time bins and sizes."""
import copy
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

import isocenter
import isocenter.lists
import petsird_files
from isocenter.images import Volume
from petsird_files import HALF_LIGHT, Simulated, petsird

#: Crystals of the first twelve blocks, of the first type where there are two.
FIRST = 12 * 8 * 16


@unittest.skipIf(petsird is None, "petsird cannot be imported")
class AlongLines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = str(Path(cls.folder.name) / "scan.petsird")
        # Few randoms: what scatter is multiplied by is known to 0.1 by its tails, a fiftieth of the trues.
        cls.scan = Simulated(cls.path, 150_000, blocks=36, along=16, randoms=0.05)
        cls.map = Volume(cls.scan.map, (cls.scan.VOXEL,) * 3, (0.0, 0.0, 0.0), "1/mm")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, **words):
        """The command's image in the warm cylinder and the hot one: some 30,000 and 10,000 counts about them, of which chance leaves 1 % and randoms and scatter as much; and where it is."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = isocenter.lists.quantify(self.path, self.map, voxel=5.0, size=44, slices=18, azimuths=8, tilts=3, isotope="F-18", algorithm="osem", scatter=2, context=isocenter.Context(log=lambda *_: None), **words)
        truth, image = self.scan.truth[4:14], made.image[4:14]
        level = np.median(truth[truth > 0])
        for name, region in (("warm", abs(truth - level) < 0.1 * level), ("hot", truth > 0.97 * truth.max())):
            self.assertAlmostEqual(image[region].mean() / truth[region].mean(), 1, delta=0.04, msg=name)
        x, y, z = (5.0 * (np.arange(n) - (n - 1) / 2) for n in self.scan.truth.shape[::-1])
        for axis, at in ((0, z), (1, y), (2, x)):
            profile = lambda of: of.sum(axis=tuple(a for a in range(3) if a != axis))
            centre = [float((profile(of) * at).sum() / of.sum()) for of in (made.image, self.scan.truth)]
            self.assertAlmostEqual(*centre, delta=1.5)
        return made

    def test_without_time_of_flight(self):
        described = copy.deepcopy(self.scan.described)
        described.tof_bin_edges = [[petsird.BinEdges(edges=(np.array([-900.0, 900.0]) * HALF_LIGHT).astype(np.float32))]]
        alike = lambda rows: np.column_stack([rows[:, :2], np.zeros(len(rows), int)])
        petsird_files.write(self.path, described, [(0, alike(self.scan.prompts), alike(self.scan.delays))], length=600_000)
        made = self.check()
        self.assertEqual((made.settings["projector"], made.found[0].dropped.outside_tilts < 0.02 * made.found[0].prompts), ("lines", True))
        self.assertIn("no time of flight", made.settings["response"])

    def test_types_of_modules(self):
        """Two types, whose pairs have time bins of their own: wider ones of one with the other."""
        described, modules = copy.deepcopy(self.scan.described), self.scan.described.scanner_geometry.replicated_modules[0]
        split = lambda transforms: petsird.ReplicatedDetectorModule(object=modules.object, transforms=transforms)
        described.scanner_geometry = petsird.ScannerGeometry(replicated_modules=[split(modules.transforms[:12]), split(modules.transforms[12:])])
        edges, width = np.linspace(-900, 900, 37).astype(np.float32) * np.float32(HALF_LIGHT), float(300 * HALF_LIGHT)
        fine, coarse = petsird.BinEdges(edges=edges), petsird.BinEdges(edges=edges[::2])
        described.tof_bin_edges, described.tof_resolution = [[fine], [coarse, fine]], [[width], [width, width]]
        described.event_energy_bin_edges, described.energy_resolution_at_511 = described.event_energy_bin_edges * 2, [0.11, 0.11]
        described.detection_efficiencies = petsird.DetectionEfficiencies(detection_bin_efficiencies=[self.scan.efficiencies[:FIRST].astype(np.float32), self.scan.efficiencies[FIRST:].astype(np.float32)])

        def events(rows):
            lists = [[[]], [[], []]]
            for p, q, t in rows.tolist():
                a, b = int(p >= FIRST), int(q >= FIRST)
                lists[a][b].append(petsird.CoincidenceEvent(detection_bins=[p - FIRST * a, q - FIRST * b], tof_idx=t if a == b else t // 2))
            return lists

        block = petsird.EventTimeBlock(time_interval=petsird.TimeInterval(start=0, stop=600_000), prompt_events=events(self.scan.prompts), delayed_events=events(self.scan.delays))
        with petsird.BinaryPETSIRDWriter(self.path) as writer:
            writer.write_header(petsird.Header(scanner=described))
            writer.write_time_blocks([petsird.TimeBlock.EventTimeBlock(block)])
        made = self.check()
        self.assertEqual(made.settings["projector"], "lines")
        with self.assertRaisesRegex(ValueError, "differ in how exact they are"):
            self.check(projector="histo-images")


if __name__ == "__main__":
    unittest.main()
