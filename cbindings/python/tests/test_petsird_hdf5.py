"""PETSIRD files in HDF5, of which all is as of the same scan in the binary form."""
import gzip
import os
import random
import shutil
import tempfile
import types
import unittest
from unittest import mock

import numpy as np

import petsird_files
from petsird_files import petsird

try:
    import h5py

    import petsird_hdf5
except ImportError:
    h5py = None

EDGES = np.array([-60.0, -20.0, 0.0, 30.0, 60.0], np.float32)


def events(many, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([*np.sort(rng.integers(0, 120, (2, many)), axis=0)[::-1], rng.integers(0, 4, many)], axis=1)


@unittest.skipIf(petsird is None or h5py is None, "petsird or h5py is not installed")
class Trees(unittest.TestCase):
    def setUp(self):
        import isocenter.lists
        from isocenter.petsird import _bytes, _events, _heap, _yardl
        self.lists, self.events, self.yardl, self.heap, self.damaged = isocenter.lists, _events, _yardl, _heap, _bytes.Damaged
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path, self.tree = (os.path.join(folder.name, name) for name in ("scan.petsird", "scan.h5"))

    def write(self, blocks=3, **words):
        """A file of blocks of all kinds, and of a scanner of which all is said, in both forms."""
        interval = petsird.TimeInterval(start=0, stop=100)
        dead = petsird.AliveTimeFractions(singles_alive_time_fractions=[np.full(3, 0.9, np.float32)], module_pair_alive_time_fractions=[])
        others = [petsird.TimeBlock.DeadTimeTimeBlock(petsird.DeadTimeTimeBlock(time_interval=interval, alive_time_fractions=dead)),
                  petsird.TimeBlock.BedMovementTimeBlock(petsird.BedMovementTimeBlock(time_interval=interval)),
                  petsird.TimeBlock.GantryMovementTimeBlock(petsird.GantryMovementTimeBlock(time_interval=interval, transforms=[petsird_files.rotation(0.0)])),
                  petsird.TimeBlock.ExternalSignalTimeBlock(petsird.ExternalSignalTimeBlock(time_interval=interval, signal_id=1, signal_values=[1.0, 2.0]))]
        described = petsird_files.scanner(EDGES, efficiencies=np.linspace(0.5, 1, 120))
        found = described.detection_efficiencies
        found.module_pair_sgidlut = [[[[-1 if k == m else (k + m) % 2 for m in range(k + 1)] for k in range(10)]]]
        found.module_pair_efficiencies_vectors = [[[petsird.ModulePairEfficiencies(values=np.full((12, 12), 0.5 + k, np.float32).tolist(), sgid=k) for k in (0, 1)]]]
        petsird_files.write(self.path, described, [(k * 100, events(300 * k, k), events(100, k + 9)) for k in range(blocks)], nuclide="^68^Gallium", others=others)
        petsird_hdf5.convert(self.path, self.tree, **words)

    def same(self, a, b, where=""):
        self.assertIs(type(a), type(b), where)
        if isinstance(a, types.SimpleNamespace):
            self.assertEqual(a.__dict__.keys(), b.__dict__.keys(), where)
            for name in a.__dict__:
                self.same(a.__dict__[name], b.__dict__[name], f"{where}.{name}")
        elif isinstance(a, np.ndarray) and a.dtype != object:
            self.assertEqual((a.dtype, a.shape, a.tobytes()), (b.dtype, b.shape, b.tobytes()), where)
        elif isinstance(a, (list, tuple, np.ndarray)):
            self.assertEqual(len(a), len(b), where)
            for k, pair in enumerate(zip(a, b)):
                self.same(*pair, f"{where}[{k}]")
        else:
            self.assertEqual(a, b, where)

    def says(self, words, kind=ValueError):
        with self.subTest(words), self.assertRaisesRegex(kind, words):
            list(self.lists.open_list(self.tree).read())

    def test_all_values_are_those_of_the_binary_form(self):
        self.write()
        with self.yardl.File(self.path) as one, self.yardl.File(self.tree) as other:
            self.assertEqual(one.schema, other.schema)
            self.same(one.read(0), other.read(0))
            blocks = [list(file.read(1)) for file in (one, other)]
        self.assertEqual(len(blocks[0]), 7)
        self.same(*blocks)

    def test_events_are_those_of_the_binary_form(self):
        self.write()
        frames = np.array([[0.0, 0.15], [0.15, 0.3]])
        one, other = (self.events.Events(path, frames) for path in (self.path, self.tree))
        self.same([tuple(part) for part in one], [tuple(part) for part in other])
        self.assertEqual((one.doubts, one.moves, one.alive is None, one.singles is None, one.blocks), (other.doubts, other.moves, other.alive is None, other.singles is None, other.blocks))

    def test_lists_are_told_by_what_is_in_them(self):
        self.write()
        self.assertEqual(self.lists.open_list(self.tree).kind, self.lists.open_list(self.path).kind)
        with open(self.tree, "rb") as file, gzip.open(self.tree + ".gz", "wb") as to:
            shutil.copyfileobj(file, to)
        opened = self.lists.open_list(self.tree + ".gz")
        self.assertEqual(sum(len(part.kinds) for part in opened.read()), 1200)
        opened.close()
        with h5py.File(self.tree, "w") as file:
            file["HeaderData/ListHeader"] = [1, 2]
        self.says("is an HDF5 file without PETSIRD's group, as lists of GE's scanners are")
        with self.assertRaisesRegex(ValueError, "no PETSIRD file that can be read: it is an HDF5 file without a group of yardl's"):
            self.events.Events(self.tree)

    def test_blocks_of_the_index_are_read(self):
        """Of a file that was not closed."""
        self.write(indexed=6)
        read = self.events.Events(self.tree)
        self.assertEqual(sum(len(part.kinds) for part in read), 500)
        self.assertRegex(read.doubts[0], r"is not whole \(3 of EventTimeBlock were written, and 2 of them are in the index\): 2 blocks of events to 0.2 s are in the image")
        self.write(indexed=0)
        self.says("is not whole, and no block of events of it is")

    def test_other_files(self):
        self.write(version=2)
        self.says("version 2 of yardl's HDF5 format")
        self.write(schema='{"protocol":{"name":"PETSIRD","sequence":[]},"types":[]}')
        self.says("it is a file of yardl, of nothing")
        self.write()
        with mock.patch.dict("sys.modules", {"h5py": None}):
            self.says("scan.h5 is an HDF5 file, which needs the package h5py: pip install h5py; the program isocenter pet reads", ImportError)
        with h5py.File(self.tree, "a") as file:
            index = file["PETSIRD/timeBlocks/$index"]
            kind, values = index.id.get_type(), index[()]
            del file["PETSIRD/timeBlocks/$index"]
            made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            made.set_chunk((4,))
            made.set_deflate(1)
            dataset = h5py.h5d.create(file["PETSIRD/timeBlocks"].id, b"$index", kind, h5py.h5s.create_simple(values.shape), made)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
        self.says(r"scan.h5 has no blocks of time that can be read: its /PETSIRD/timeBlocks/\$index is compressed, or stored in another way than yardl does: h5repack")
        self.write()
        with open(self.tree, "r+b") as file:
            file.truncate(os.path.getsize(self.tree) // 2)
        self.says("no PETSIRD file that can be read: it cannot be read as HDF5 .*truncated file")
        self.write()
        with h5py.File(self.tree, "a") as file:
            file.move("PETSIRD/header", "elsewhere")
        self.says(r"a PETSIRD file whose header is not whole: it has no header in its /PETSIRD")

    def test_nothing_is_taken_twice(self):
        """Else a few bytes that refer to the same ones again and again would make values without end."""
        self.write()
        with open(self.tree, "rb") as file:
            heaps = self.heap.Heaps(file)
            heaps.bytes(0, os.path.getsize(self.tree))
            with self.assertRaisesRegex(self.damaged, "more values than a file of its size has"):
                heaps.bytes(0, 1)

    def test_other_bytes(self):
        """Whatever heaps and what they hold are: a result, or a sentence. What HDF5 reads itself, which is before them, stays as it is."""
        self.write(blocks=2)
        with open(self.tree, "rb") as file:
            data = file.read()
        heaps = [at for at in range(len(data)) if data[at:at + 4] == b"GCOL"][1:]  # the schema is in the first
        rng, ends = random.Random(0), [0, 0]
        for _ in range(300):
            other = bytearray(data)
            for _ in range(rng.choice((1, 1, 2, 4))):
                at, size = rng.choice(heaps) + rng.randrange(1200), rng.choice((1, 1, 4, 8))
                other[at:at + size] = bytes([rng.choice((rng.randrange(256), 0, 1, 127, 255))]) * len(other[at:at + size])
            with open(self.tree, "wb") as file:
                file.write(other)
            try:
                list(self.events.Events(self.tree))
                ends[0] += 1
            except ValueError as e:
                self.assertIs(type(e), ValueError, e)
                ends[1] += 1
        self.assertTrue(min(ends) > 10, ends)


if __name__ == "__main__":
    unittest.main()
