"""Images that were made before, known again by what they are made of."""
import hashlib
from collections import namedtuple

import numpy

Kept = namedtuple("Kept", "image residual weight coils energy region")


class Memory:
    """Of one scan and one set of options: images of its first readouts, for when all are there. `room` is the most bytes that images take;
    `recalled` how many were asked for and there."""

    def __init__(self, room):
        self._room, self._kept, self.recalled = room, {}, 0

    def __len__(self):
        return len(self._kept)

    def get(self, key):
        kept = self._kept.get(key)
        self.recalled += kept is not None
        return kept

    def close(self):
        """Keeps no more images; those that are here can be asked for."""
        self._room, self.recalled = 0, 0

    def keep(self, key, kept):
        if kept.image.nbytes <= self._room:
            self._room -= kept.image.nbytes
            self._kept[key] = kept


def digest(*parts):
    """Of arrays and of what has a `repr` of its own, in tuples or not: alike where all of it is."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, numpy.ndarray):
            found.update(f"{part.dtype}{part.shape}".encode())
            found.update(numpy.ascontiguousarray(part))
        elif isinstance(part, tuple):
            found.update(b"(" + digest(*part) + b")")
        else:
            found.update(repr(part).encode() + b";")
    return found.digest()
