"""Headers of lines with a key and a value."""
import os
import re

import numpy

from ..errors import wrong
from . import _unpacked

#: Bytes of a header, at most.
_MOST = 1 << 20
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")


class Keys:
    """Keys and values of a file, the first of each key; keys are the same in small letters, with one space or underscore between words.

    Parameters
    ----------
    path : path
    separator, comment : str
        What ends a key, and what begins a comment.
    data : bytes, optional
        The header, of a file that has it among other things. None: all of the file.
    """

    def __init__(self, path, separator, comment, data=None):
        data = _unpacked.begin(path, _MOST + 1) if data is None else data
        if len(data) > _MOST:
            raise wrong(ValueError, f"{path} has more than {_MOST} bytes; it is no header")
        self.path, self._found, self._separator = path, {}, separator
        for line in data.decode("utf-8", "replace").splitlines():
            key, found, value = line.partition(comment)[0].partition(separator)
            if found:
                self._found.setdefault(_spelt(key), value.strip())

    def __contains__(self, key):
        return _spelt(key) in self._found

    def text(self, *keys, default=None):
        """Of the first of these keys that is there; without a default one has to be."""
        for key in keys:
            if self._found.get(_spelt(key)):
                return self._found[_spelt(key)]
        if default is None:
            raise wrong(ValueError, f"{self.path} has no line '{keys[0]}{self._separator} ...'")
        return default

    def numbers(self, *keys, count=1, default=None):
        """(count,), or (1,) of a value that stands for all."""
        if default is not None and not any(self._found.get(_spelt(key)) for key in keys):
            return numpy.full(count, default, float)
        text = self.text(*keys)
        try:
            values = numpy.array([float(part) for part in text.strip("{} ").split(",")])
        except ValueError:
            values = numpy.zeros(0)
        if len(values) != count or not numpy.isfinite(values).all():
            raise wrong(ValueError, f"{self.path} has '{keys[0]}{self._separator} {text}'; there must be {f'{count} numbers' if count > 1 else 'a number'}")
        return values

    def number(self, *keys, default=None):
        return float(self.numbers(*keys, default=default)[0])

    def whole(self, *keys, default=None, least=0):
        value = self.number(*keys, default=default)
        if value != int(value) or value < least:
            raise wrong(ValueError, f"{self.path} has '{keys[0]}{self._separator} {value:g}'; it must be a whole number of {least} or more")
        return int(value)

    def flag(self, key):
        text = self.text(key, default="0")
        if text.lower() not in _TRUE + _FALSE:
            raise wrong(ValueError, f"{self.path} has '{key}{self._separator} {text}'; it must be 0 or 1")
        return text.lower() in _TRUE

    def file(self, *keys, default=None):
        """The path of a file that is named, beside this one, or of the same compressed by gzip; "" of the default."""
        name = self.text(*keys, default=default)
        path = os.path.join(os.path.dirname(os.fspath(self.path)), name)
        found = next((of for of in (path, path + ".gz") if os.path.isfile(of)), "") if name else ""
        if name and not found:
            raise wrong(ValueError, f"{self.path} names {name} by '{keys[0]}{self._separator} ...', and there is no such file")
        return found


def _spelt(key):
    return re.sub(r"\s*\[\s*", "[", re.sub(r"[\s_]+", " ", key.strip().lstrip("!").strip().lower()))
