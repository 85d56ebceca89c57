"""Tables of numbers: texts with a line for each row, and NumPy files."""
import os
import re

import numpy

from .errors import wrong

#: Bytes of a text, at most.
_MOST = 1 << 24


def read(path):
    """Names of the columns, [] where there are none, and rows, float64 (rows, columns).

    Numbers of a text are separated by commas, semicolons, tabs or spaces; what follows a # is a comment, and the first line may be names.
    """
    if os.fspath(path).endswith(".npy"):
        return [], _numpy(path)
    if os.path.getsize(path) > _MOST:
        raise wrong(ValueError, f"{path} has more than {_MOST} bytes; it is no table")
    with open(path, "rb") as file:
        text = file.read()
    if b"\0" in text:
        raise wrong(ValueError, f"{path} is no text of numbers: it has bytes that are 0")
    names, rows = [], []
    for k, line in enumerate(text.decode("utf-8-sig", "replace").splitlines(), 1):
        words = _words(line.partition("#")[0])
        if not words:
            continue
        try:
            rows.append([float(word) for word in words])
        except ValueError:
            if rows or names:
                raise wrong(ValueError, f"{path} has '{line.strip()[:60]}' in line {k}; there must be numbers") from None
            names = words
    return names, _even(path, rows)


def _words(line):
    """A line's parts: names may have spaces where something else separates them."""
    separator = next((one for one in (";", "\t", ",") if one in line), None)
    parts = line.split() if separator is None else line.split(separator)
    parts = [part.strip() for part in parts]
    while parts and not parts[-1]:  # a separator ends the line
        parts.pop()
    # Of "1, 2 3" and the like.
    return parts if any(re.search("[A-Za-z]", part) for part in parts) else [word for part in parts for word in (part.split() or [""])]


def _numpy(path):
    try:
        found = numpy.load(path, allow_pickle=False)
    except (ValueError, EOFError) as e:
        raise wrong(ValueError, f"{path} is no NumPy file (.npy): {e}") from None
    if found.ndim not in (1, 2) or found.dtype.kind not in "fiu" or not found.size:
        raise wrong(ValueError, f"{path} is {found.dtype} of shape {found.shape}; it must be numbers, (rows, columns)")
    return _finite(path, found.astype(float).reshape(len(found), -1))


def _even(path, rows):
    if not rows:
        raise wrong(ValueError, f"{path} has no numbers")
    for row in rows:
        if len(row) != len(rows[0]):
            raise wrong(ValueError, f"{path} has rows of {len(rows[0])} and of {len(row)} numbers; all must have as many")
    return _finite(path, numpy.array(rows))


def _finite(path, rows):
    if not numpy.isfinite(rows).all():
        raise wrong(ValueError, f"{path} has numbers that are not finite")
    return rows
