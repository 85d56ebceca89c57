"""PETSIRD files, written by the package petsird."""
import os
import tempfile
import unittest

import numpy as np

import isocenter

try:
    import petsird
except ImportError:
    petsird = None

BLOCKS, ACROSS, ALONG, PITCH, DIAMETER, DEPTH = 10, 4, 3, 6.0, 120.0, 20.0
EDGES = np.array([-60.0, -20.0, 0.0, 30.0, 60.0], np.float32)  # c (t1 - t2) / 2, mm


def rotation(azimuth):
    cos, sin = np.cos(azimuth), np.sin(azimuth)
    return petsird.RigidTransformation(matrix=np.array([[cos, -sin, 0, 0], [sin, cos, 0, 0], [0, 0, 1, 0]], np.float32))


def scanner(energies=1, kinds=1):
    """Blocks about the axis, each of 4 x 3 crystals of 5 x 6 x 20 mm, 60 mm from the axis to their faces."""
    corner = lambda x, y, z: petsird.Coordinate(c=np.array([x, y, z], np.float32))
    box = petsird.BoxShape(corners=[corner(x, y, z) for x in (0, DEPTH) for y in (0, 5) for z in (0, 6)])
    crystal = petsird.BoxSolidVolume(shape=box, material_id=1)
    move = lambda a, r: petsird.RigidTransformation(matrix=np.array(
        [[1, 0, 0, DIAMETER / 2], [0, 1, 0, (a - (ACROSS - 1) / 2) * PITCH - 2.5], [0, 0, 1, (r - (ALONG - 1) / 2) * PITCH - 3]], np.float32))
    elements = petsird.ReplicatedBoxSolidVolume(object=crystal, transforms=[move(a, r) for r in range(ALONG) for a in range(ACROSS)])
    modules = petsird.ReplicatedDetectorModule(object=petsird.DetectorModule(detecting_elements=elements),
                                               transforms=[rotation(2 * np.pi * k / BLOCKS) for k in range(BLOCKS)])
    edges = lambda a, b: petsird.BinEdges(edges=EDGES if a == b else EDGES * 2)
    return petsird.ScannerInformation(
        model_name="ten blocks", scanner_geometry=petsird.ScannerGeometry(replicated_modules=[modules] * kinds),
        tof_bin_edges=[[edges(a, b) for b in range(a + 1)] for a in range(kinds)], tof_resolution=[[40.0] * (a + 1) for a in range(kinds)],
        event_energy_bin_edges=[petsird.BinEdges(edges=np.linspace(430, 650, energies + 1, dtype=np.float32))] * kinds,
        energy_resolution_at_511=[0.11] * kinds, detection_efficiencies=petsird.DetectionEfficiencies(),
        prompt_event_policy=petsird.CoincidencePolicy.REJECT_HIGHER_MULTIPLES,
        delayed_event_policy=petsird.CoincidencePolicy.REJECT_HIGHER_MULTIPLES)


def write(path, described, blocks):
    """Blocks of (start in ms, prompts, delays), events of (bin, bin, time bin)."""
    events = lambda rows: [petsird.CoincidenceEvent(detection_bins=[int(p), int(q)], tof_idx=int(t)) for p, q, t in rows]
    with petsird.BinaryPETSIRDWriter(path) as writer:
        writer.write_header(petsird.Header(scanner=described, exam=petsird.ExamInformation()))
        writer.write_time_blocks(petsird.TimeBlock.EventTimeBlock(petsird.EventTimeBlock(
            time_interval=petsird.TimeInterval(start=start, stop=start + 100), prompt_events=[[events(prompts)]], delayed_events=[[events(delays)]]))
            for start, prompts, delays in blocks)


@unittest.skipIf(petsird is None, "petsird is not installed")
class Petsird(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "scan.petsird")
        import isocenter.petsird
        self.module = isocenter.petsird

    def plan(self):
        return isocenter.PET(nx=20, ny=20, nz=6, voxel_x=4.0, azimuths=5, tilts=2, max_tilt=0.3)

    def test_the_scanner_is_that_of_its_blocks(self):
        write(self.path, scanner(), [])
        found = self.module.read_scanner(self.path)
        # In modules of rows of crystals; block_crystals has rings of all blocks.
        positions, normals = isocenter.block_crystals(blocks=BLOCKS, across=ACROSS, along=ALONG, diameter=DIAMETER + DEPTH, pitch_across=PITCH)
        by_blocks = lambda a: a.reshape(ALONG, BLOCKS, ACROSS, 3).swapaxes(0, 1).reshape(-1, 3)
        np.testing.assert_allclose(found.positions, by_blocks(positions), atol=1e-4)
        np.testing.assert_allclose(found.normals, by_blocks(normals), atol=1e-6)
        self.assertAlmostEqual(found.crystal_width, 5, 4)
        self.assertAlmostEqual(found.crystal_height, 6, 4)
        self.assertEqual((found.first, found.energies, found.model), ((0,), (1,), "ten blocks"))
        np.testing.assert_allclose(found.time_edges * 0.149896229, [-60, -30, 0, 20, 60], rtol=1e-6)
        shallow = self.module.read_scanner(self.path, depth=8.0)
        np.testing.assert_allclose(np.linalg.norm(shallow.positions - found.positions, axis=1), 2.0, atol=1e-4)
        self.assertLess(np.linalg.norm(shallow.positions[0]), np.linalg.norm(found.positions[0]))

    def test_events_are_counted_by_kind_and_frame(self):
        rng = np.random.default_rng(1)
        for energies in (1, 3):
            bins = BLOCKS * ACROSS * ALONG * energies
            blocks = []
            for start in (0, 100, 1000, 5000):
                many = lambda n: np.stack([*np.sort(rng.integers(0, bins, (2, n)), axis=0)[::-1], rng.integers(0, 4, n)], axis=1)
                blocks.append((start, many(700), many(200)))
            write(self.path, scanner(energies), blocks)
            pet = self.plan()
            self.module.read_scanner(self.path).set_on(pet)
            counted = self.module.deposit(pet, self.path, frames=[0.05, 0.5, 2.0])
            self.assertEqual((counted.events, counted.seconds), (3600, (0.0, 5.1)))
            self.assertEqual(counted.dropped[0].unknown, 1800)  # the first block, and the last
            self.assertEqual(counted.prompts.shape, (2, *pet.histo_images_shape))
            total = int(counted.prompts.sum() + counted.delays.sum())
            self.assertEqual(total + sum(d.events for d in counted.dropped), 3600)
            # Block by block by hand; an event's number is that in the file.
            expected, number = np.zeros((4, *pet.histo_images_shape), np.uint32), 0
            for k, (_, *kinds) in enumerate(blocks):
                for kind, events in enumerate(kinds):
                    if k in (1, 2):
                        pairs, times = (events[:, :2] // energies).astype(np.uint32), (3 - events[:, 2]).astype(np.uint8)
                        pet.deposit_crystals(pairs, times, histo_images=expected[2 * kind + k - 1], first_event=number)
                    number += len(events)
            self.assertTrue((counted.prompts == expected[:2]).all() and (counted.delays == expected[2:]).all())
            whole = self.module.deposit(pet, self.path, delays=False)
            self.assertIsNone(whole.delays)
            self.assertEqual(whole.events, 2800)

    def test_the_first_detector_s_side_is_the_near_one(self):
        # Crystals of opposite blocks; time bin 0 is c (t1 - t2) / 2 of -60 to -20 mm: the first photon came first, so nearer to the first.
        first, second = 0 * 12 + 5, 5 * 12 + 5
        write(self.path, scanner(), [(0, [(second, first, 0)] * 50, [])])
        pet = self.plan()
        read = self.module.read_scanner(self.path)
        read.set_on(pet)
        counts = self.module.deposit(pet, self.path).prompts.sum(axis=(0, 1, 2, 3))
        where = (np.arange(20) - 9.5) * 4.0
        self.assertGreater(counts.sum(), 0)
        self.assertLess((counts * where).sum() / counts.sum() * np.sign(read.positions[second, 0]), 60.0)
        self.assertGreater((counts * where).sum() * np.sign(read.positions[second, 0]), 0)

    def test_what_cannot_be_read_is_refused(self):
        write(self.path, scanner(kinds=2), [])
        with self.assertRaisesRegex(ValueError, "types 1 and 0 have other time bins"):
            self.module.read_scanner(self.path)
        described = scanner()
        described.prompt_event_policy = petsird.CoincidencePolicy.NONE
        write(self.path, described, [])
        pet = self.plan()
        with self.assertRaisesRegex(ValueError, "no coincidences"):
            self.module.deposit(pet, self.path)
        for frames in ([1.0], [1.0, 1.0], [[0, 1]]):
            with self.assertRaisesRegex(ValueError, "ascending"):
                self.module.deposit(pet, self.path, frames=frames)


if __name__ == "__main__":
    unittest.main()
