"""PETSIRD files as lists."""
from ..lists._list import List
from ..lists._unpacked import Plain
from . import _exam, _file
from ._events import Events


class PETSIRD(List):
    """A PETSIRD file.

    Parameters
    ----------
    path : path
    depth : float, optional
        See `read_scanner`.
    """

    OPTIONS = ("depth",)

    def __init__(self, path, depth=None):
        self.path, self._plain = path, Plain(path)
        with _file.open_file(self._plain.path) as reader, reader.understood():
            header = reader.read_header()
            self.scanner, self.said = _file.scanner_of(header, depth), _exam.said_by(header)
            self.has_prompts, self.has_delays = (_file.stored(header.scanner, kind) for kind in ("prompt", "delayed"))
            self.kind = f"PETSIRD {reader.version or 'of a version that is not known'}"

    def read(self, frames=None, delays=True):
        return Events(self._plain.path, frames, delays)

    def close(self):
        self._plain.close()
