"""Readouts of an ISMRMRD file, which is HDF5."""
import os

import numpy

from ..errors import wrong
from ._acquisitions import Acquisitions

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


class File(Acquisitions):
    """The data set `group` of a file, whose samples stay there until they are asked for."""

    def __init__(self, path, group):
        self.path, self.group = os.fspath(path), group
        table = self._open()
        with table.file:
            if "xml" not in table.parent:
                raise wrong(ValueError, f"{self.path} has no header, {group}/xml: matrix and field of view are there")
            text = numpy.ravel(table.parent["xml"][()])[0]
            super().__init__(self.path, text if isinstance(text, bytes) else str(text).encode(),
                             table.fields("head")[:] if table.size else numpy.zeros(0, table.dtype["head"]))

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

    def _at(self, rows):
        with self._open().file as file:
            table = file[f"{self.group}/data"]
            for first in range(int(rows[0]), int(rows[-1]) + 1, BLOCK):
                here = rows[(rows >= first) & (rows < first + BLOCK)]
                if not len(here):
                    continue
                block = table[int(here[0]):int(here[-1]) + 1]
                for row in here:
                    record = block[row - here[0]]
                    yield int(row), record["data"], record["traj"]
