"""Files that gzip compressed."""
import gzip
import os
import shutil
import tempfile
import weakref
import zlib

from ..errors import wrong

_MAGIC = b"\x1f\x8b"
_AT_ONCE = 1 << 20


def begin(path, count):
    """The first bytes of a file, fewer of a short one; of what is in it if it is compressed."""
    with open(path, "rb") as file:
        found = _read(file, min(count, len(_MAGIC)))
        if found != _MAGIC:
            return found + _read(file, count - len(found))
    try:
        with gzip.open(path) as file:
            return _read(file, count)
    except (OSError, EOFError, zlib.error) as e:
        raise wrong(ValueError, f"{path} is compressed by gzip, and damaged: {e}") from None


def _read(file, count):
    """So many bytes or fewer, and no more memory than for those that there are."""
    parts = []
    while count > 0 and (part := file.read(min(count, _AT_ONCE))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class Plain:
    """Where a file is without compression: it itself, or a copy that `close` takes away.

    Attributes
    ----------
    path : path
    """

    def __init__(self, path):
        self.path, self._remove = path, lambda: None
        with open(path, "rb") as file:
            if not file.read(2) == _MAGIC:
                return
        handle, self.path = tempfile.mkstemp(suffix="-" + os.path.basename(os.fspath(path)).removesuffix(".gz"))
        self._remove = weakref.finalize(self, os.remove, self.path)
        try:
            with os.fdopen(handle, "wb") as to, gzip.open(path) as file:
                shutil.copyfileobj(file, to, _AT_ONCE)
        except (OSError, EOFError, zlib.error) as e:
            self.close()
            raise wrong(ValueError, f"{path} is compressed by gzip, and cannot be unpacked: {e}") from None

    def close(self):
        self._remove()
