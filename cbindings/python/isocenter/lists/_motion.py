"""Motion that is given: rigid transforms from where the patient is to the reference position, and images of several places made one."""
import collections
import os

import numpy

from .. import _resample, _tables
from ..errors import wrong

#: Matrices whose columns are off unit length and right angles by more are no rotations.
_RIGID = 1e-3

Places = collections.namedtuple("Places", "starts transforms")
Places.__doc__ = """`starts` (n,), ascending, s: each place holds until the next one; `transforms` (n, 3, 4) from there to the reference, mm, in the scanner's frame."""


def read(motion):
    """Places of a file or of an array: rows of the start and 6 or 12 numbers, or 16 of a matrix whose last row is 0, 0, 0, 1."""
    path = os.fspath(motion) if isinstance(motion, (str, os.PathLike)) else None
    name = path or "motion"
    rows = numpy.array(motion, float) if path is None else _tables.read(path)[1]
    if rows.ndim != 2 or rows.shape[1] not in (7, 13, 17) or not len(rows) or not numpy.isfinite(rows).all():
        raise wrong(ValueError, f"{name} has shape {rows.shape}; rows must be the start in s, then x, y, z in mm and angles about x, y, z in degrees, or a matrix of 3 x 4")
    starts = rows[:, 0]
    if (numpy.diff(starts) <= 0).any():
        raise wrong(ValueError, f"{name} has starts that do not ascend")
    if starts[0] > 0:
        raise wrong(ValueError, f"{name} begins at {starts[0]:g} s; it must say from 0 on where the patient is: zeros are the reference")
    if rows.shape[1] == 7:
        return Places(starts, numpy.array([_of_angles(*row[1:]) for row in rows]))
    matrices = rows[:, 1:].reshape(len(rows), -1, 4)
    for k, matrix in enumerate(matrices):
        turn = matrix[:3, :3]
        if abs(turn.T @ turn - numpy.eye(3)).max() > _RIGID or numpy.linalg.det(turn) < 0 or len(matrix) == 4 and (matrix[3] != (0, 0, 0, 1)).any():
            raise wrong(ValueError, f"{name} has a matrix from {starts[k]:g} s on that is no rotation and shift: its first three columns must be of unit length and at right angles")
    return Places(starts, matrices[:, :3])


def _of_angles(x, y, z, *angles):
    """About x, then y, then z, about the middle of the scanner, and a shift after that."""
    turn = numpy.eye(3)
    for axis, angle in enumerate(numpy.radians(angles)):
        one, other = (axis + 1) % 3, (axis + 2) % 3
        about = numpy.eye(3)
        about[[one, other], [one, other]] = numpy.cos(angle)
        about[other, one], about[one, other] = numpy.sin(angle), -numpy.sin(angle)
        turn = about @ turn
    return numpy.column_stack([turn, (x, y, z)])


class Averaged:
    """Images of parts, each of one place, made images in the reference position: moved there, and averaged by their sensitivities, which have their times.

    Parameters
    ----------
    cut : Cut
    turn : array
        (3, 3) from the file's axes to those of lattice and map.
    map : Volume or None
        In the reference position.
    lattice : Lattice
    """

    def __init__(self, cut, turn, map, lattice):
        self._cut, self._map, self._lattice = cut, map, lattice
        self._transforms = [numpy.column_stack([turn @ t[:, :3] @ turn.T, turn @ t[:, 3]]) for t in cut.transforms]
        self._counts, self._weights = (numpy.zeros((len(cut.names), *lattice.shape)) for _ in (0, 1))

    def map(self, k):
        """Where the patient is in part k."""
        map = self._map
        return map and map._replace(image=_resample.rigid(map.image, map.voxel, map.centre, self._transforms[k]))

    def add(self, k, image, sensitivity):
        voxel, back = (self._lattice.voxel,) * 3, _resample.inverse(self._transforms[k])
        self._counts[self._cut.images[k]] += _resample.rigid(sensitivity * image, voxel, self._lattice.centre, back)
        self._weights[self._cut.images[k]] += _resample.rigid(sensitivity, voxel, self._lattice.centre, back)

    def images(self):
        """NaN where nothing was measured in any part, 0 where nothing is seen."""
        measured = self._weights.any(axis=(1, 2, 3), keepdims=True)
        return numpy.where(measured, self._counts / numpy.where(self._weights > 0, self._weights, 1), numpy.nan).astype(numpy.float32)

    def found(self, parts, doubt):
        """Numbers of images, of those of their parts; `doubt` is told which have nothing."""
        made = [_together([part for part, image in zip(parts, self._cut.images) if image == k]) for k in range(len(self._cut.names))]
        for of, name in zip(made, self._cut.names):
            if not of.counted:
                doubt(f"there are no {'prompts in the lattice' if of.duration else 'events'} in {name}: its image is {'0' if of.duration else 'NaN'}")
        return made


def _together(parts):
    there = [part for part in parts if part.duration] or parts[:1]
    longest, seconds, scatter = max(there, key=lambda part: part.duration), sum(part.duration for part in there), sum(part.scatter for part in there)
    mean = lambda name, weights: sum(getattr(part, name) * w for part, w in zip(there, weights)) / (sum(weights) or 1)
    sums = {name: sum(getattr(part, name) for part in there) for name in ("prompts", "delays", "counted", "randoms", "scatter", "tails", "sensitivity", "strength")}
    return longest.__class__(**{**vars(longest), **sums, "start": min(part.start for part in there), "duration": seconds,
                                "dropped": type(longest.dropped)(*(sum(values) for values in zip(*(part.dropped for part in there)))),
                                **{name: mean(name, [part.scatter for part in there]) if scatter else none for name, none in (("scale", 1.0), ("scale_error", 0.0))},
                                "decay": seconds / sum(part.duration / part.decay for part in there) if seconds else 1.0,
                                "alive": mean("alive", [part.duration for part in there]) if seconds else 1.0,
                                "restored": mean("restored", [part.counted for part in there]) if sums["counted"] else 1.0})
