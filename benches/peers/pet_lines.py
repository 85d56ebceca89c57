"""Lists along lines on the processor, beside the C library of parallelproj (PARALLELPROJ: its path, built with OpenMP): forward and back projection of the same events, and a pass of MLEM, which has both."""
import argparse
import ctypes
import os

import numpy as np

import isocenter
from timing import Load, Runs, in_turns, processor, table

FWHM, LIGHT, BIN = 300.0, 0.149896229, 10.0


def events(count, seed=0):
    """Ends of events in a cylinder of 120 mm radius and 160 mm in a scanner of 780 mm, to tilts of 0.2, and where they are towards the first, mm."""
    rng = np.random.default_rng(seed)
    azimuth, radius, turn = rng.uniform(0, 2 * np.pi, count), 120 * np.sqrt(rng.uniform(size=count)), rng.uniform(0, 2 * np.pi, count)
    place = np.stack([radius * np.cos(turn), radius * np.sin(turn), rng.uniform(-80, 80, count)], axis=1)
    sine = rng.uniform(-0.2, 0.2, count)
    way = np.stack([np.cos(azimuth), np.sin(azimuth), sine / np.sqrt(1 - sine ** 2)], axis=1)
    along = (place[:, :2] * way[:, :2]).sum(axis=1)
    root = np.sqrt(along ** 2 - (place[:, :2] ** 2).sum(axis=1) + 390.0 ** 2)
    first, second = place + (root - along)[:, None] * way, place - (root + along)[:, None] * way
    length, near = np.linalg.norm(first - second, axis=1), np.linalg.norm(first - place, axis=1)
    return first.astype(np.float32), second.astype(np.float32), length / 2 - near + rng.normal(0, FWHM * LIGHT / 2.3548, count)


class Peer:
    def __init__(self, path, first, second, places, image, voxel):
        self.library, self.image, self.first, self.second = ctypes.CDLL(path), image, first, second
        self.values, self.back = np.zeros(len(first), np.float32), np.zeros_like(image)
        self.dim = np.array(image.shape, np.int32)
        self.voxel = np.full(3, voxel, np.float32)
        self.origin = (-(self.dim - 1) / 2 * voxel).astype(np.float32)
        self.bins = np.round(-places / BIN).astype(np.int16)
        self.sigma, self.offset = np.array([FWHM * LIGHT / 2.3548], np.float32), np.zeros(1, np.float32)

    def run(self, name, image, timed):
        at = lambda array: ctypes.c_void_p(array.ctypes.data)
        arguments = [at(self.first), at(self.second), at(image), at(self.origin), at(self.voxel), at(self.values), ctypes.c_longlong(len(self.first)), at(self.dim)]
        if timed:
            arguments += [ctypes.c_float(BIN), at(self.sigma), at(self.offset), ctypes.c_float(3.0), at(self.bins), ctypes.c_ubyte(0), ctypes.c_ubyte(0)]
        getattr(self.library, f"joseph3d_{name}{'_tof_lm' if timed else ''}")(*arguments)


def compared(count, side, voxel, rounds):
    first, second, places = events(count)
    image = np.random.default_rng(1).uniform(0.5, 1.5, (side, side, side // 2)).astype(np.float32)
    peer = Peer(os.environ["PARALLELPROJ"], first, second, places, image, voxel)
    pet = isocenter.PET(nx=side, ny=side, nz=side // 2, voxel_x=voxel, azimuths=4, max_tilt=1.0)
    own = np.ascontiguousarray(image.transpose(2, 1, 0))
    seen, values, back = np.ones_like(own), np.zeros(count, np.float32), np.zeros_like(own)
    pet.set_options(algorithm="mlem", iterations=1)
    for timed in (False, True):
        words = dict(times=(places / LIGHT).astype(np.float32), tof_fwhm=np.full(count, FWHM, np.float32)) if timed else {}
        list = isocenter.EventList(first_positions=first, second_positions=second, **words)
        cases = in_turns([
            Runs("parallelproj forward", lambda: peer.run("fwd", peer.image, timed), rounds), Runs("forward", lambda: pet.forward_lines(list, own, values), rounds),
            Runs("parallelproj back", lambda: peer.run("back", peer.back, timed), rounds), Runs("back", lambda: pet.adjoint_lines(list, values, back), rounds),
            Runs("MLEM, one pass and all before it", lambda: pet.reconstruct_lines(list, seen, out=back), rounds)])
        theirs, ours = [c.seconds for c in cases[0:3:2]], [c.seconds for c in cases[1:4:2]]
        if not timed:
            peer.run("fwd", peer.image, False)
            off = np.abs(peer.values - pet.forward_lines(list, own)[0]).max() / peer.values.max()
        rate = lambda seconds: f"{count / seconds / 1e6:.2f}"
        yield [f"{side}^2 x {side // 2}, {voxel:g} mm", "yes" if timed else "no", *map(rate, theirs), *map(rate, ours), rate(cases[4].seconds), f"{theirs[0] / ours[0]:.1f}", f"{theirs[1] / ours[1]:.1f}",
               f"{sum(theirs) / cases[4].seconds:.1f}", "" if timed else f"{off:.1e}"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    load = Load()
    rows = [row for side, voxel in ((100, 4.0), (200, 2.0)) for row in compared(given.events, side, voxel, given.rounds)]
    print(f"{processor()[0]}; millions of events a second, medians of {given.rounds} in turns. {load.remark()}\n")
    print(table(["image", "times", "parallelproj forward", "back", "forward", "back", "MLEM", "forward, times", "back, times", "MLEM, times both", "largest difference"], rows))
