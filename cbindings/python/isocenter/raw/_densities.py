"""Density weights of trajectories that were seen before."""
import hashlib
import threading
from collections import OrderedDict

import numpy

MOST, LARGEST = 8, 1 << 24  # trajectories that are kept, and bytes of their weights


class Densities:
    """Weights take as long as some iterations, and slices and scans share trajectories: the latest are kept, for any thread."""

    def __init__(self):
        self._lock, self._known = threading.Lock(), OrderedDict()

    def set(self, plan, readouts):
        """Of a plan whose trajectory is that of the readouts."""
        key = readouts.grid, readouts.trajectory.shape, hashlib.sha256(numpy.ascontiguousarray(readouts.trajectory)).digest()
        with self._lock:
            weights = self._known.get(key)
        if weights is not None:
            plan.set_weights(weights)
            return
        plan.compute_weights()
        weights = plan.weights()
        if weights.nbytes <= LARGEST:
            with self._lock:
                self._known[key] = weights
                while len(self._known) > MOST:
                    self._known.popitem(last=False)
