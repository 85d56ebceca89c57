"""The table of an ISMRMRD file's readouts: heads at once, samples on demand."""
import os

import numpy

from ..errors import wrong

BLOCK = 1024  # acquisitions that are read at a time


def packages():
    """The packages h5py and ismrmrd, which only this module needs."""
    try:
        import h5py
        import ismrmrd
        import ismrmrd.xsd
    except ImportError as e:
        raise wrong(ImportError, f"ISMRMRD files need the package ismrmrd ({e}): pip install isocenter[ismrmrd], or pip install ismrmrd") from e
    return h5py, ismrmrd


class Acquisitions:
    """`heads` are all headers, `xml` the file's header as bytes. With `conjugate` samples are taken as their complex conjugates."""

    def __init__(self, path, group):
        self.path, self.group, self.conjugate = os.fspath(path), group, False
        self._flags = packages()[1]
        table = self._open()
        with table.file:
            if "xml" not in table.parent:
                raise wrong(ValueError, f"{self.path} has no header, {group}/xml: matrix and field of view are there")
            text = numpy.ravel(table.parent["xml"][()])[0]
            self.xml = text if isinstance(text, bytes) else str(text).encode()
            self.heads = table.fields("head")[:] if table.size else numpy.zeros(0, table.dtype["head"])

    def _open(self):
        h5py = packages()[0]
        if not os.path.exists(self.path):
            raise wrong(FileNotFoundError, f"{self.path} is not there")
        try:
            file = h5py.File(self.path, "r")
        except OSError as e:
            raise wrong(ValueError, f"{self.path} is no ISMRMRD file, which is HDF5 ({e}): convert the scanner's own format first, by "
                                    "siemens_to_ismrmrd, philips_to_ismrmrd or ge_to_ismrmrd") from None
        table = file.get(f"{self.group}/data")
        if table is None or "head" not in (getattr(table, "dtype", numpy.dtype(float)).names or ()):
            seen = ", ".join(sorted(file)) or "nothing"
            file.close()
            raise wrong(ValueError, f"{self.path} has no acquisitions in {self.group}/data, where ISMRMRD files have them; it has {seen}. If "
                                    "one of these is the data set, pass group=")
        return table

    def flagged(self, name):
        """Which acquisitions have a flag; flags count from 1."""
        bit = getattr(self._flags, "ACQ_" + name) - 1
        return (self.heads["flags"].astype(numpy.uint64) >> numpy.uint64(bit) & numpy.uint64(1)).astype(bool)

    def records(self, rows, coils, channels):
        """(number, samples (channels, n), trajectory (n, dims)) of acquisitions of so many coils, those in `channels`, checked; in the
        order of the file."""
        rows = numpy.sort(rows)
        with self._open().file as file:
            table = file[f"{self.group}/data"]
            for first in range(int(rows[0]), int(rows[-1]) + 1, BLOCK):
                here = rows[(rows >= first) & (rows < first + BLOCK)]
                if not len(here):
                    continue
                block = table[int(here[0]):int(here[-1]) + 1]
                for row in here:
                    yield self._record(int(row), block[row - here[0]], coils, channels)

    def _record(self, row, record, coils, channels):
        head, traj, data = (record[name] for name in ("head", "traj", "data"))
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
