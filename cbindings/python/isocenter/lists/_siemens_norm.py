"""Norms of Siemens' scanners: what each crystal detects."""
import numpy

from ..errors import wrong
from . import _siemens_files, _siemens_scanner

_COMPONENT = "crystal efficiencies"
#: Components of a norm, at most.
_MOST = 64


def read(path, design):
    """Efficiencies of a design's crystals, whose scale is not one of photons, and in words what the norm has besides."""
    found = _siemens_files.Found(path)
    try:
        keys = found.keys
        count = keys.whole("%number of normalization components", least=1)
        system = keys.text("originating system")
        if system.lower() not in design.systems:
            raise wrong(ValueError, f"{path} is the norm of originating system {system}, and the list is of {design.systems[0]} ({design.model})")
        names = [keys.text(f"%normalization component [{k}]", default="").lower() for k in range(1, min(count, _MOST) + 1)]
        if _COMPONENT not in names:
            raise wrong(ValueError, f"{path} has no line '%normalization component [k]:= {_COMPONENT}'")
        k = names.index(_COMPONENT) + 1
        shape = design.rings, design.blocks * (design.across + 1)
        if keys.numbers(f"%matrix size [{k}]", count=2).tolist() != [shape[1], shape[0]]:
            raise wrong(ValueError, f"{path} has {_COMPONENT} of size {keys.text(f'%matrix size [{k}]')}; those of a {design.model} are {{{shape[1]},{shape[0]}}}")
        table = _table(path, found, keys.whole(f"data offset in bytes [{k}]"), shape)
    finally:
        found.close()
    return _siemens_scanner.efficiencies(design, table), ", ".join(name for name in names if name and name != _COMPONENT)


def _table(path, found, offset, shape):
    size = 4 * shape[0] * shape[1]
    if offset + size > found.size:
        raise wrong(ValueError, f"{path} has {_COMPONENT} in bytes {offset} to {offset + size} of its data, which have {found.size}: they may be cut")
    with open(found.data, "rb") as file:
        file.seek(found.first + offset)
        table = numpy.fromfile(file, "<f4", shape[0] * shape[1]).reshape(shape)
    if not numpy.isfinite(table).all() or (table < 0).any() or not table.any():
        raise wrong(ValueError, f"{path} has {_COMPONENT} that are not numbers of 0 or more: they may be of another order of bytes, or at another place")
    return table
