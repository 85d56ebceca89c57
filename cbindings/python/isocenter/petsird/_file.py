"""PETSIRD files: the scanner of their header."""
import contextlib
import hashlib

import numpy

from ..errors import wrong
from ..lists import _axis
from ..lists._scanner import Scanner
from . import _yardl
from ._pairs import pairs_of
from ._times import Times
from ._values import numbers

#: Versions by the SHA-256 of the schema that their files begin with.
_VERSIONS = {"385891bc9306": "0.2", "73f3dbe27ea9": "0.3", "28d35047ffd1": "0.4", "46717d28d6f4": "0.5", "3147f1625fb2": "0.6 to 0.7.0", "1a0d24bdc1dc": "0.7.1 to 0.7.2",
             "a4f2077529e9": "0.8 to 0.9", "9783b302ea8a": "0.10", "5a76b764eabb": "0.11", "d154c83dce66": "0.12"}
_TOO_OLD, _NEWEST = ("0.2", "0.3", "0.4", "0.5"), "0.12"
#: Crystals of a scanner, and how far from the origin they are, mm, at most.
_MOST, _FARTHEST = 1 << 23, 1e5


def read_scanner(path, *, depth=None):
    """The scanner of a PETSIRD file.

    Parameters
    ----------
    path : str or path
    depth : float, optional
        How far behind their inner faces crystals detect photons on average, mm; None: in their middles.

    Returns
    -------
    Scanner

    Raises
    ------
    ValueError
        Of a scanner that is not described in full.
    """
    with open_file(path) as reader, reader.understood():
        return scanner_of(reader.read_header(), depth)


def open_file(path):
    """A file whose header is read first, and then its blocks of time."""
    try:
        return File(path)
    except OSError as e:
        raise wrong(type(e), f"{path} is no PETSIRD file that can be read: {e}") from None
    except _yardl.Damaged as e:
        raise wrong(ValueError, f"{path} is no PETSIRD file that can be read: {e}{_hint(path)}") from None


class File(_yardl.File):
    """A PETSIRD file of any version since 0.6.

    Attributes
    ----------
    path : path
    version : str
        Such as "0.12", "" of one that is not known.
    """

    def __init__(self, path):
        super().__init__(path)
        self.path, self.version = path, _VERSIONS.get(hashlib.sha256(self.schema.encode()).hexdigest()[:12], "")
        known = self.names == ["header", "time_blocks"] and not self.version.startswith(_TOO_OLD)
        if not known:
            self._file.close()
            if self.version:
                raise wrong(ValueError, f"{path} is of PETSIRD {self.version}; versions from 0.6 to {_NEWEST} can be read: write it anew with the package petsird of one of these")
            raise _yardl.Damaged(f"it is a file of yardl, of {', '.join(self.names) or 'nothing'}")

    def read_header(self):
        try:
            return self.read(0)
        except _yardl.Damaged as e:
            raise wrong(ValueError, f"{self.path} is a PETSIRD file whose header is not whole: {e}") from None

    def read_time_blocks(self):
        try:
            return self.read(1)
        except _yardl.Damaged as e:
            raise wrong(ValueError, f"{self.path} has no blocks of time that can be read: {e}") from None

    @contextlib.contextmanager
    def understood(self):
        """Files of versions that are not known may have other fields."""
        try:
            yield
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as e:
            if self.version:
                raise
            raise wrong(ValueError, f"{self.path} is of a version of PETSIRD that is not known, newer than {_NEWEST}, and cannot be read: {e}") from None


def _hint(path):
    with open(path, "rb") as file:
        begin = file.read(8)
    if begin[:2] == b"\x1f\x8b":
        return "; it is compressed by gzip: decompress it first"
    if begin[:1] == b"{":
        return "; it may be PETSIRD in JSON: convert it to the binary format"
    return ""


def stored(described, kind):
    """Whether a scanner stores "prompt" or "delayed" coincidences."""
    policy = getattr(described, f"{kind}_event_policy", None)
    flags = (f"{kind}_events_are_stored", f"{kind}_coincidences_are_stored")  # of versions before 0.10
    return (policy is None or policy.name != "NONE") and all(getattr(described, flag, True) for flag in flags)


def scanner_of(header, depth=None):
    """The Scanner of a header."""
    scanner = header.scanner
    kinds = scanner.scanner_geometry.replicated_modules
    count = len(kinds)
    if not count:
        raise wrong(ValueError, "the scanner has no modules")
    times = Times(scanner)
    boxes, first = [], [0]
    for modules in kinds:
        boxes.append(_boxes(modules, _MOST - first[-1]))
        first.append(first[-1] + len(boxes[-1]))
    turn = _axis.turn(boxes)
    positions, normals, sizes = zip(*(_faces(of @ turn.T, depth) for of in boxes))
    sizes = numpy.concatenate(sizes)
    width, height = numpy.median(sizes, axis=0)
    differ = (numpy.abs(sizes - (width, height)) > 0.01 * max(width, height)).any()
    if len(scanner.event_energy_bin_edges) < count:
        raise wrong(ValueError, f"there are {len(scanner.event_energy_bin_edges)} lists of energy bins; {count} types of modules need one each")
    of_energy = [numbers(bins.edges, "edges of energy bins") for bins in scanner.event_energy_bin_edges[:count]]
    energies = tuple(max(1, len(bins) - 1) for bins in of_energy)
    doubts = []
    windows = [(float(bins[0]), float(bins[-1])) for bins in of_energy if len(bins) > 1]
    lower, upper = _widest(windows, "energy windows", doubts, (0.0, 0.0), lambda all: (min(all)[0], max(high for _, high in all)))
    resolution = _widest(numbers(scanner.energy_resolution_at_511, "energy resolutions").tolist(), "energy resolutions", doubts, 0.0, max)
    pairs = pairs_of(scanner, energies)
    efficiencies = _efficiencies(scanner.detection_efficiencies, numpy.diff(first), energies)
    if efficiencies is None and pairs is not None and pairs.efficiencies is not None:
        # All is in those of pairs.
        efficiencies = numpy.ones(first[-1])
    return Scanner(numpy.concatenate(positions), numpy.concatenate(normals), float(width), float(height), times.edges, tuple(first[:-1]), energies, scanner.model_name,
                   times.fwhm, resolution, lower, upper, efficiencies, pairs, turn, window=times.window, crystal_sizes=sizes if differ else None,
                   has_widths=times.edges is None, doubts=tuple(doubts))


def _boxes(modules, most):
    """Corners (crystals, 8, 3) of all crystals of a type of modules."""
    elements = modules.object.detecting_elements
    corners = numbers([corner.c for corner in elements.object.shape.corners], "corners of crystals")
    of_modules, of_elements = ([_square(t) for t in transforms] for transforms in (modules.transforms, elements.transforms))
    number = len(of_modules) * len(of_elements)
    if not number:
        raise wrong(ValueError, "a type of modules has no crystals")
    if number > most:
        raise wrong(ValueError, f"there are {len(of_modules)} modules of {len(of_elements)} crystals; a scanner of {_MOST} crystals at most can be read")
    placed = numpy.einsum("mij,ejk->meik", of_modules, of_elements).reshape(number, 4, 4)
    made = numpy.einsum("nij,cj->nci", placed[:, :3, :3], corners) + placed[:, None, :3, 3]
    if made.shape[1:] != (8, 3) or not numpy.abs(made).max() < _FARTHEST:
        raise wrong(ValueError, f"crystals have no 8 corners within {_FARTHEST:g} mm")
    return made


def _widest(values, what, doubts, otherwise, join):
    """That of all types of modules; where they differ what has them all, which is doubted."""
    if len(set(values)) > 1:
        doubts.append(f"modules have several {what}, {sorted(set(values))}: scatter is made with {join(values)} of all")
        return join(values)
    return values[0] if values else otherwise


def _efficiencies(found, crystals, energies):
    """Of all crystals. A pair's efficiency is the product of two bins', so that it is a product of sums over bins of energy, too."""
    if not any(len(of_type) for of_type in (found.detection_bin_efficiencies or [])[:len(energies)]):
        return None
    return numpy.concatenate([values.sum(axis=1) for values in _of_bins(found, crystals, energies)])


def bins_of(found, crystals, energies):
    """Of each type of modules (crystals, energy bins), which part of what a crystal detects each bin does."""
    made = []
    for values in _of_bins(found, crystals, energies):
        sums = values.sum(axis=1, keepdims=True)
        made.append(numpy.where(sums > 0, values / numpy.where(sums > 0, sums, 1), 1 / values.shape[1]))
    return made


def _of_bins(found, crystals, energies):
    """Efficiencies of each type of modules (crystals, energy bins), 1 of one that has none."""
    lists, made = (found.detection_bin_efficiencies or [])[:len(energies)], []
    for kind, (count, bins) in enumerate(zip(crystals, energies)):
        values = numbers(lists[kind] if kind < len(lists) else [], "detection efficiencies")
        if not values.size:
            values = numpy.ones(count * bins)
        if values.size != count * bins:
            raise wrong(ValueError, f"modules of type {kind} have {values.size} detection efficiencies; their {count} crystals of {bins} energy bins "
                                    f"need {count * bins}")
        if (values < 0).any():
            raise wrong(ValueError, f"modules of type {kind} have detection efficiencies below 0")
        made.append(values.reshape(count, bins))
    return made


def _square(transform):
    matrix = numbers(transform.matrix, "places of modules and crystals")
    if matrix.shape != (3, 4):
        raise wrong(ValueError, f"a place of a module or crystal has shape {matrix.shape}; it must be (3, 4)")
    return numpy.vstack([matrix, [0, 0, 0, 1]])


def _faces(boxes, depth):
    """Places, normals, and widths and heights of crystals by the corners (crystals, 8, 3) of their boxes."""
    middle = boxes.mean(axis=1)
    inwards = -middle * (1, 1, 0)
    far = numpy.linalg.norm(inwards, axis=1, keepdims=True)
    if not (far > 0).all():
        raise wrong(ValueError, "crystals lie on the scanner's axis")
    inwards /= far
    # Edges of a box from its first corner: the three of the seven others whose sum is the way to one of them, and which are at right angles.
    ways = boxes[:, 1:] - boxes[:, :1]
    length = numpy.linalg.norm(ways, axis=2)
    axes = numpy.take_along_axis(ways, length.argsort(axis=1)[..., None], axis=1)
    # The two shortest are edges; the third is the shortest at right angles to both.
    one, two = axes[:, 0], axes[:, 1]
    three = numpy.cross(one, two)
    area = numpy.linalg.norm(three, axis=1, keepdims=True)
    if not (area > 0).all() or (numpy.abs((one * two).sum(axis=1)) > 1e-3 * (one ** 2).sum(axis=1)).any():
        raise wrong(ValueError, "crystals are no boxes at right angles")
    three /= area
    three *= numpy.abs(numpy.einsum("nci,ni->nc", ways, three)).max(axis=1, keepdims=True)
    if not three.any(axis=1).all():
        raise wrong(ValueError, "crystals are no boxes: they have no depth")
    edges = numpy.stack([one, two, three], axis=1)
    sides = numpy.linalg.norm(edges, axis=2)
    units = edges / sides[..., None]
    rows = numpy.arange(len(boxes))
    along = numpy.abs(numpy.einsum("nai,ni->na", units, inwards))
    deep = along.argmax(axis=1)
    upright = numpy.abs(units[..., 2]) - 2 * (numpy.arange(3) == deep[:, None])
    tall = upright.argmax(axis=1)
    wide = 3 - deep - tall
    normal = units[rows, deep] * numpy.sign(numpy.einsum("ni,ni->n", units[rows, deep], inwards))[:, None]
    place = middle if depth is None else middle + normal * (sides[rows, deep] / 2 - depth)[:, None]
    return place, normal, numpy.stack([sides[rows, wide], sides[rows, tall]], axis=1)
