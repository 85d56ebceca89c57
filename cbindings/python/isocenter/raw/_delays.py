"""Delays of gradients: found, judged, and brought into trajectories."""
import logging

import numpy

from .._call import quietly
from ..coils import coil_apply
from ..context import Context
from ..errors import OutOfRangeError, wrong
from ..mri import MRI, MRIDelays

# Delays that move no sample by more cycles per field of view change an image by less than 1 %.
EFFECT = 0.01
# Corrected by themselves are those of which one image explains so much, and whose errors move no sample by more.
CONFIDENCE, CERTAIN = 0.9, 0.1
SEEN = 3  # standard errors

AXES = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}

_log = logging.getLogger("isocenter")


def checked(delays):
    """A caller's, as `MRI.delayed_trajectory` takes them, or None."""
    if delays is None or isinstance(delays, MRIDelays):
        return delays
    values = numpy.asarray(delays)
    if values.dtype.kind not in "fiu" or values.shape not in ((2,), (3,)) or not numpy.isfinite(values).all():
        raise wrong(ValueError, f"delays is {delays!r}; it must be two or three numbers of samples, along x, y and z, or what find_delays gives")
    return tuple(float(v) for v in values)


def parsed(text):
    """What `reconstruct` takes, of a text: auto, keep, or numbers such as 1.5,1.4."""
    return text if text in ("auto", "keep") else checked([float(part) for part in text.split(",")])


def _edges(space):
    """Of a voxel, in the words of the library."""
    return dict(zip(("voxel_z", "voxel_y", "voxel_x"), space.voxel))


def found(samples, places, space, whitening=None, context=None):
    """Delays of samples (coils, readouts, n) at places (readouts, n, 3) in cycles per voxel of the space."""
    coils, (readouts, length) = len(samples), samples.shape[1:]
    samples = numpy.ascontiguousarray(samples.reshape(coils, -1))
    if whitening is not None:
        samples = coil_apply(whitening, samples, context=context)
    nz, ny, nx = space.shape
    # What is beyond the range is far from the middle of k-space.
    places = numpy.clip(places.reshape(readouts * length, 3)[:, :3 if nz > 1 else 2], -0.5, 0.5)
    with quietly(), MRI(context, trajectory=places, unit="cycles_per_voxel", nx=nx, ny=ny, nz=nz, coils=coils) as plan:
        return plan.find_delays(samples, length, **_edges(space))


def moved(places, delays, space):
    """Places (n, 3) of each readout, in cycles per voxel, as they are with delays."""
    out, lengths = list(places), [len(k) for k in places]
    with Context(device="cpu") as context:
        for length in sorted(set(lengths)):
            alike = [i for i, n in enumerate(lengths) if n == length]
            k = numpy.concatenate([places[i] for i in alike])
            # Delays do not know the scale, and a plan takes what is within its range.
            scale = max(2 * numpy.abs(k).max(), 1e-9)
            with quietly(), MRI(context, trajectory=k / scale, unit="cycles_per_voxel", nx=2, ny=2, nz=2) as plan:
                late = plan.delayed_trajectory(length, delays, **_edges(space)) * scale
            for i, part in zip(alike, numpy.split(late, len(alike))):
                out[i] = part
    return out


def steps(places, space):
    """The largest step from sample to sample, in cycles per field of view."""
    cycles = places * numpy.array(space.shape[::-1])
    return float(numpy.linalg.norm(numpy.diff(cycles, axis=1), axis=2).max(initial=0))


def told(delays):
    """Delays with their errors, in words."""
    along = [(name, getattr(delays, name), getattr(delays, f"{name}_error")) for name in AXES]
    return ", ".join(f"{value:.2f} +- {error:.2g} samples " + (f"along {name[0]}" if name[0] == name[1] else f"of {name[0]} by {name[1]}")
                     for name, value, error in along if error > 0 and (name[0] == name[1] or abs(value) > max(SEEN * error, 0.005)))


def judged(delays, step):
    """"none", "certain" or "doubtful" delays of readouts with so large a step."""
    pairs = [(abs(getattr(delays, name)), getattr(delays, f"{name}_error")) for name in AXES]
    if not any(value > SEEN * error and value * step > EFFECT for value, error in pairs):
        return "none"
    sure = delays.confidence >= CONFIDENCE and max(error for _, error in pairs) * step <= CERTAIN
    return "certain" if sure else "doubtful"


class Corrections:
    """What `reconstruct` does about delays, by the caller's word."""

    def __init__(self, raw, wish, unit, trajectory, context):
        if isinstance(wish, str) and wish not in ("auto", "keep"):
            raise wrong(ValueError, f"delays is {wish!r}; it must be 'auto', 'keep', or numbers of samples along x, y and z")
        self.raw, self.unit, self.trajectory, self.context = raw, unit, trajectory, context
        self.fixed = None if isinstance(wish, str) else checked(wish)
        self.looks = isinstance(wish, str) and wish == "auto"
        self.known, self.said = {}, set()

    def of(self, slice, frame, whitening):
        """For `Raw.select`: of the first frame of a slice and contrast."""
        if not self.looks:
            return self.fixed
        key = (slice, frame["contrast"])
        if key not in self.known:
            self.known[key] = self._look(slice, frame, whitening)
        return self.known[key]

    def _look(self, slice, frame, whitening):
        whole = self.raw._sampling.whole(self.raw._rows({"slice": slice, **frame}, False), self.unit, self.trajectory)
        if whole is None:
            return None
        samples, places = whole
        try:
            delays = found(samples, places, self.raw.encoded, whitening, self.context)
        except OutOfRangeError as e:  # it has nothing that was seen
            _log.info("delays of the gradients were not found: %s", e)
            return None
        verdict = judged(delays, steps(places, self.raw.encoded))
        if verdict == "none":
            return None
        if verdict not in self.said:
            self.said.add(verdict)
            if verdict == "certain":
                _log.warning("gradients come late: %s. The trajectory is corrected, here of slice %d, contrast %d; delays='keep' leaves it as it is",
                             told(delays), slice, frame["contrast"])
            else:
                _log.warning("gradients seem to come late: %s, with a confidence of %.2f, which is not certain enough to correct the trajectory (slice %d, "
                             "contrast %d): pass delays=, numbers along x, y and z, where you know them, or delays='keep'", told(delays),
                             delays.confidence, slice, frame["contrast"])
        return delays if verdict == "certain" else None
