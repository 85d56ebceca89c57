"""PETSIRD files: the scanner of their header."""
import dataclasses
import itertools

import numpy

from .. import _isotopes
from ..errors import wrong

#: Half the speed of light, mm/ps.
HALF_LIGHT = 0.149896229


@dataclasses.dataclass(frozen=True)
class Scanner:
    """Crystals and time bins of a PETSIRD scanner, in the order in which `deposit` numbers them: by type of module, module and element.

    Attributes
    ----------
    positions, normals : array
        (crystals, 3): middles of crystals, mm, or places at a depth; and the direction of their depth, towards the axis.
    crystal_width, crystal_height : float
        Of a crystal's face, mm.
    time_edges : array
        Of t2 - t1, ascending, ps.
    first : tuple of int
        The number of the first crystal of each type of module.
    energies : tuple of int
        Energy bins of each type.
    model : str
    tof_fwhm : float
        Of the time difference, full width at half maximum without what bins add, ps; 0 where the file does not say.
    energy_resolution, energy_lower, energy_upper : float
        Full width at half maximum at 511 keV over that, and the window in keV; 0 where the file does not say.
    efficiencies : array or None
        Of crystals, the sum over their energy bins. None: the file has none.
    has_pair_efficiencies : bool
        The file has efficiencies of pairs of crystals besides, other than 1.
    """
    positions: numpy.ndarray
    normals: numpy.ndarray
    crystal_width: float
    crystal_height: float
    time_edges: numpy.ndarray
    first: tuple
    energies: tuple
    model: str
    tof_fwhm: float = 0.0
    energy_resolution: float = 0.0
    energy_lower: float = 0.0
    energy_upper: float = 0.0
    efficiencies: object = None
    has_pair_efficiencies: bool = False

    def set_on(self, pet):
        """Sets the plan's scanner."""
        pet.set_scanner(self.positions, self.normals, crystal_width=self.crystal_width, crystal_height=self.crystal_height,
                        time_edges=self.time_edges)


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
        Of a scanner whose pairs of modules have time bins, resolutions or energy windows of several kinds, or whose crystals have several sizes.
    """
    with open_file(path, skip_completed_check=True) as reader:
        return scanner_of(reader.read_header(), depth)


def open_file(path, **options):
    """The reader of the package petsird."""
    try:
        import petsird
    except ImportError as e:
        raise wrong(ImportError, "PETSIRD files need the package petsird: pip install isocenter[petsird], or pip install petsird") from e
    try:
        return petsird.BinaryPETSIRDReader(str(path), **options)
    except (OSError, RuntimeError) as e:
        raise wrong(type(e) if isinstance(e, OSError) else ValueError, f"{path} is no PETSIRD file that can be read: {e}") from None


def isotope_of(header):
    """The name of the isotope that a header has, None of none, or of one that is not known."""
    found = header.exam.radiopharmaceuticals if header.exam else []
    return _isotopes.of_dicom(found[0].radionuclide_code_sequence.code_meaning) if found else None


def scanner_of(header, depth=None):
    """The Scanner of a header."""
    scanner = header.scanner
    edges = None
    for a, row in enumerate(scanner.tof_bin_edges):
        for b, pair in enumerate(row):
            own = numpy.asarray(pair.edges, float)
            if edges is not None and not numpy.array_equal(own, edges):
                raise wrong(ValueError, f"modules of types {a} and {b} have other time bins than those of types 0 and 0; there must be one kind")
            edges = own
    positions, normals, sizes, first = [], [], [], [0]
    for modules in scanner.scanner_geometry.replicated_modules:
        elements = modules.object.detecting_elements
        corners = numpy.array([corner.c for corner in elements.object.shape.corners], float)
        matrices = [[_square(t) for t in transforms] for transforms in (modules.transforms, elements.transforms)]
        placed = numpy.array([m @ e for m, e in itertools.product(*matrices)])
        boxes = numpy.einsum("nij,cj->nci", placed[:, :3, :3], corners) + placed[:, None, :3, 3]
        place, normal, size = _faces(boxes, depth)
        positions.append(place), normals.append(normal), sizes.append(size)
        first.append(first[-1] + len(place))
    sizes = numpy.concatenate(sizes)
    width, height = numpy.median(sizes, axis=0)
    if (numpy.abs(sizes - (width, height)) > 0.01 * max(width, height)).any():
        raise wrong(ValueError, f"crystals are {sizes.min(axis=0)} to {sizes.max(axis=0)} mm; there must be one size")
    energies = tuple(len(bins.edges) - 1 for bins in scanner.event_energy_bin_edges)
    windows = [(float(bins.edges[0]), float(bins.edges[-1])) for bins in scanner.event_energy_bin_edges if len(bins.edges) > 1]
    lower, upper = _one(windows, "energy windows", (0.0, 0.0))
    width_of_time = _one([float(v) for row in scanner.tof_resolution for v in row], "resolutions of time", 0.0)
    return Scanner(numpy.concatenate(positions), numpy.concatenate(normals), float(width), float(height), -edges[::-1] / HALF_LIGHT,
                   tuple(first[:-1]), energies, scanner.model_name, width_of_time / HALF_LIGHT,
                   _one([float(v) for v in scanner.energy_resolution_at_511], "energy resolutions", 0.0), lower, upper,
                   _efficiencies(scanner.detection_efficiencies, numpy.diff(first), energies), _has_pairs(scanner.detection_efficiencies))


def _one(values, what, otherwise):
    """That of all types of modules."""
    if len(set(values)) > 1:
        raise wrong(ValueError, f"modules have several {what}, {sorted(set(values))}; there must be one kind")
    return values[0] if values else otherwise


def _efficiencies(found, crystals, energies):
    """Of all crystals. A pair's efficiency is the product of two bins', so that it is a product of sums over bins of energy, too."""
    lists = found.detection_bin_efficiencies or []
    if not any(len(of_type) for of_type in lists):
        return None
    sums = []
    for kind, (count, bins) in enumerate(zip(crystals, energies)):
        values = numpy.asarray(lists[kind] if kind < len(lists) else [], float)
        if not values.size:
            values = numpy.ones(count * bins)
        if values.size != count * bins:
            raise wrong(ValueError, f"modules of type {kind} have {values.size} detection efficiencies; their {count} crystals of {bins} energy bins "
                                    f"need {count * bins}")
        sums.append(values.reshape(count, bins).sum(axis=1))
    return numpy.concatenate(sums)


def _has_pairs(found):
    vectors = [one for row in found.module_pair_efficiencies_vectors or [] for vector in row for one in vector or []]
    return any((numpy.asarray(one.values) != 1).any() for one in vectors)


def _square(transform):
    return numpy.vstack([numpy.asarray(transform.matrix, float), [0, 0, 0, 1]])


def _faces(boxes, depth):
    """Places, normals, and widths and heights of crystals by the corners (crystals, 8, 3) of their boxes."""
    middle = boxes.mean(axis=1)
    inwards = -middle * (1, 1, 0)
    inwards /= numpy.linalg.norm(inwards, axis=1, keepdims=True)
    # Edges of a box from its first corner: the three of the seven others whose sum is the way to one of them, and which are at right angles.
    ways = boxes[:, 1:] - boxes[:, :1]
    length = numpy.linalg.norm(ways, axis=2)
    axes = numpy.take_along_axis(ways, length.argsort(axis=1)[..., None], axis=1)
    # The two shortest are edges; the third is the shortest at right angles to both.
    one, two = axes[:, 0], axes[:, 1]
    if (numpy.abs((one * two).sum(axis=1)) > 1e-3 * (one ** 2).sum(axis=1)).any():
        raise wrong(ValueError, "crystals are no boxes at right angles")
    three = numpy.cross(one, two)
    three /= numpy.linalg.norm(three, axis=1, keepdims=True)
    three *= numpy.abs(numpy.einsum("nci,ni->nc", ways, three)).max(axis=1, keepdims=True)
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
