"""The table of a scan's readouts, wherever it comes from: heads at once, samples on demand."""
import numpy

from ..errors import wrong

# ISMRMRD's flags of acquisitions that images are told by, which count from 1.
FLAGS = {"IS_NOISE_MEASUREMENT": 19, "IS_PARALLEL_CALIBRATION": 20, "IS_PARALLEL_CALIBRATION_AND_IMAGING": 21, "IS_NAVIGATION_DATA": 23, "IS_PHASECORR_DATA": 24,
         "IS_HPFEEDBACK_DATA": 26, "IS_DUMMYSCAN_DATA": 27, "IS_RTFEEDBACK_DATA": 28, "IS_SURFACECOILCORRECTIONSCAN_DATA": 29,
         "IS_PHASE_STABILIZATION_REFERENCE": 30, "IS_PHASE_STABILIZATION": 31}


class Acquisitions:
    """`path` is what messages call the scan, `xml` its header as bytes, `heads` all heads. With `conjugate` samples are taken as their complex
    conjugates. Where they come from has `_at(rows)`: (row, float32 samples, float32 trajectory) of each, as they were written."""

    def __init__(self, path, xml, heads):
        self.path, self.xml, self.heads, self.conjugate = path, xml, heads, False

    def flagged(self, name):
        """Which acquisitions have a flag."""
        return (self.heads["flags"].astype(numpy.uint64) >> numpy.uint64(FLAGS[name] - 1) & numpy.uint64(1)).astype(bool)

    def records(self, rows, coils, channels):
        """(number, samples (channels, n), trajectory (n, dims)) of acquisitions of so many coils, those in `channels`, checked; in the
        order of the scan."""
        for row, data, traj in self._at(numpy.sort(rows)):
            yield self._record(row, data, traj, coils, channels)

    def _record(self, row, data, traj, coils, channels):
        head = self.heads[row]
        n, seen, dims = (int(head[name]) for name in ("number_of_samples", "active_channels", "trajectory_dimensions"))
        for name, size, wanted in (("data", data.size, 2 * seen * n), ("trajectory", traj.size, dims * n)):
            if size != wanted:
                raise wrong(ValueError, f"{self.path}: {name} of acquisition {row} has {size} numbers; its header, of {n} samples, "
                                        f"{seen} coils and {dims} dimensions, makes {wanted}")
        if seen != coils:
            raise wrong(ValueError, f"{self.path}: acquisition {row} has {seen} coils; others have {coils}")
        samples = data.astype(numpy.float32, copy=False).view(numpy.complex64).reshape(coils, n)[channels]
        return row, samples.conj() if self.conjugate else samples, traj.reshape(n, dims)

    def kept(self, row):
        """The samples of a readout that are not to be discarded."""
        head = self.heads[row]
        n, pre, post = (int(head[name]) for name in ("number_of_samples", "discard_pre", "discard_post"))
        if pre + post >= n:
            raise wrong(ValueError, f"{self.path}: acquisition {row} has {n} samples, of which {pre} + {post} are to be discarded")
        return slice(pre, n - post)

    def times(self, row):
        """Seconds since a readout's first sample."""
        head = self.heads[row]
        return numpy.arange(int(head["number_of_samples"])) * (float(head["sample_time_us"]) * 1e-6)
