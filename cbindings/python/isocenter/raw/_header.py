"""The header of an ISMRMRD file: the few elements that images need, whatever the format's schema thinks of the others."""
import logging
import math
import xml.etree.ElementTree as ElementTree
from collections import namedtuple
from xml.parsers import expat

LEAST_FIELD = 5.0  # mm; below, a field of view is more likely in m or cm


class Space(namedtuple("Space", "shape field_of_view")):
    """A grid: `shape` in voxels and `field_of_view` in mm, both z, y, x."""
    __slots__ = ()

    @property
    def voxel(self):
        """Sides of a voxel in mm, z, y, x."""
        return tuple(f / n for f, n in zip(self.field_of_view, self.shape))


Encoding = namedtuple("Encoding", "kind encoded recon centres described", defaults=[None])
Encoding.__doc__ = """One of a file's encodings: the word for its trajectory in lower case, "" without one; two `Space`; and the steps of phase encoding at
frequency 0 along y and z; and the numbers of the trajectory's description, by their names in lower case."""

Header = namedtuple("Header", "encodings vendor noise_bandwidth")


class Unreadable(ValueError):
    """What cannot be read, for whoever asked for it, who says of which file or option that is."""


def parsed(text):
    """Of the header's XML; Unreadable names what is missing in it."""
    text = text.strip(b"\0 \t\r\n")
    _refuse_entities(text)
    root = ElementTree.fromstring(text)
    system = _child(root, "acquisitionSystemInformation")
    bandwidth = _text(system, "relativeReceiverNoiseBandwidth")
    encodings = [_encoding(element, f"encoding {number}") for number, element in enumerate(_children(root, "encoding"))]
    if not encodings:
        raise Unreadable("it has no element encoding")
    return Header(encodings, _text(system, "systemVendor"), _number(bandwidth, "relativeReceiverNoiseBandwidth") if bandwidth else 1.0)


def _refuse_entities(text):
    """A document type may have entities, which make gigabytes of a few bytes; the format has none."""
    def refuse(*_):
        raise Unreadable("it has a document type, which ISMRMRD headers do not have")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as e:
        raise Unreadable(f"it is no XML: {e}") from None


def doubt(encoding):
    """Warns of a field of view that is not likely to be in mm."""
    least = min(f for space in (encoding.encoded, encoding.recon) for f in space.field_of_view[1:])
    if least < LEAST_FIELD:
        logging.getLogger("isocenter").warning(
            "the header's field of view is %.4g mm: is it in m or cm? Voxels and the affine map are as it says", least)


def _encoding(element, where):
    encoded = _space(element, "encodedSpace", where)
    recon = encoded if _child(element, "reconSpace") is None else _space(element, "reconSpace", where)
    limits = _child(element, "encodingLimits")
    centres = [_text(_child(limits, f"kspace_encoding_step_{n}"), "center") for n in (1, 2)]
    centres = tuple(shape // 2 if not text else int(_number(text, "center")) for text, shape in zip(centres, encoded.shape[1::-1]))
    return Encoding(_text(element, "trajectory").lower(), encoded, recon, centres, _described(_child(element, "trajectoryDescription")))


def _described(element):
    found = {}
    for kind in ("userParameterLong", "userParameterDouble"):
        for parameter in _children(element, kind):
            try:
                found[_text(parameter, "name").lower()] = float(_text(parameter, "value"))
            except ValueError:  # of whoever needs it
                continue
    return found


def _space(element, name, where):
    space = _child(element, name)
    sizes = []
    for part in ("matrixSize", "fieldOfView_mm"):
        of = _child(space, part)
        for axis in "zyx":
            text = _text(of, axis)
            if not text:
                raise Unreadable(f"{where} has no {name}/{part}/{axis}")
            sizes.append(_number(text, f"{where}: {name}/{part}/{axis}"))
    return Space(tuple(int(n) for n in sizes[:3]), tuple(sizes[3:]))


def _number(text, where):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Unreadable(f"{where} is {text!r}, which is no number")
    return value


def _children(element, name):
    """With the name, in any namespace and any case of letters."""
    found = [] if element is None else element
    return [child for child in found if isinstance(child.tag, str) and child.tag.rpartition("}")[2].lower() == name.lower()]


def _child(element, name):
    return next(iter(_children(element, name)), None)


def _text(element, name):
    child = _child(element, name)
    return "" if child is None else (child.text or "").strip()
