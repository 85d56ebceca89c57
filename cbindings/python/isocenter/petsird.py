"""PETSIRD files: from a PET scanner's list-mode events to histo-images.

>>> import isocenter.petsird
>>> scanner = isocenter.petsird.read_scanner("scan.petsird")
>>> scanner.set_on(pet)
>>> counted = isocenter.petsird.deposit(pet, "scan.petsird", frames=[0, 60, 300])   # s
>>> counted.prompts.shape, counted.delays.shape                 # (frames, views, nz, ny, nx) each

Files are read in one pass, in blocks of time, by the package petsird of the Emission Tomography Standardization Initiative:
``pip install isocenter[petsird]``. It has been used with version 0.12.
"""
import dataclasses
import itertools

import numpy

from .errors import wrong

__all__ = ["Deposited", "Scanner", "deposit", "read_scanner"]

#: Half the speed of light, mm/ps.
_HALF_LIGHT = 0.149896229
#: Events that are deposited at a time.
_AT_ONCE = 1 << 20


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
    """
    positions: numpy.ndarray
    normals: numpy.ndarray
    crystal_width: float
    crystal_height: float
    time_edges: numpy.ndarray
    first: tuple
    energies: tuple
    model: str

    def set_on(self, pet):
        """Sets the plan's scanner."""
        pet.set_scanner(self.positions, self.normals, crystal_width=self.crystal_width, crystal_height=self.crystal_height,
                        time_edges=self.time_edges)


@dataclasses.dataclass
class Deposited:
    """What `deposit` counted.

    Attributes
    ----------
    prompts, delays : array
        uint32 (frames, views, nz, ny, nx) each; delays are None of a file that has none.
    seconds : tuple of float
        Start and end of the events' blocks, s.
    events : int
        Prompts and delays of the file.
    dropped : list of Dropped
        Of each part of the list; events before the first frame and after the last are `unknown`.
    """
    prompts: numpy.ndarray
    delays: numpy.ndarray
    seconds: tuple
    events: int
    dropped: list


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
        Of a scanner whose pairs of modules have time bins of several kinds, or whose crystals have several sizes.
    """
    with _reader(path, skip_completed_check=True) as reader:
        return _scanner(reader.read_header().scanner, depth)


def deposit(pet, path, *, frames=None, delays=True):
    """Adds up a PETSIRD file's events in histo-images of the plan, whose scanner is the file's (`Scanner.set_on`).

    Parameters
    ----------
    pet : PET
    path : str or path
    frames : sequence of float, optional
        Edges of frames of time, ascending, s from the start of the scan: a block of events is of the frame in which it begins. None: one
        frame of the whole scan.
    delays : bool
        Whether delayed coincidences are counted, too.

    Returns
    -------
    Deposited
    """
    edges = numpy.array([-numpy.inf, numpy.inf] if frames is None else frames, float)
    if edges.ndim != 1 or len(edges) < 2 or not (numpy.diff(edges) > 0).all():
        raise wrong(ValueError, f"frames is {frames}; it must be edges in s, ascending, one more than there are frames")
    count = len(edges) - 1
    with _reader(path) as reader:
        described = reader.read_header().scanner
        if described.prompt_event_policy.name == "NONE":
            raise wrong(ValueError, f"{path} has no coincidences: they have to be sorted from its singles first")
        scanner = _scanner(described, None)
        stored = delays and described.delayed_event_policy.name != "NONE"
        kinds = 2 if stored else 1
        sets = numpy.zeros((kinds * count, *pet.histo_images_shape), numpy.uint32)
        dropped, number, seconds = [], 0, [numpy.inf, -numpy.inf]
        events = _events(reader.read_time_blocks(), scanner, edges, kinds, seconds)
        while part := list(itertools.islice(events, _AT_ONCE)):
            rows = numpy.array(part, numpy.uint32)
            dropped.append(pet.deposit_crystals(rows[:, :2], rows[:, 2], rows[:, 3], sets, first_event=number))
            number += len(rows)
    sets = sets.reshape(kinds, count, *pet.histo_images_shape)
    return Deposited(sets[0], sets[1] if stored else None, tuple(seconds) if number else (0.0, 0.0), number, dropped)


def _reader(path, **options):
    try:
        import petsird
    except ImportError as e:
        raise wrong(ImportError, "PETSIRD files need the package petsird: pip install petsird") from e
    return petsird.BinaryPETSIRDReader(str(path), **options)


def _events(blocks, scanner, edges, kinds, seconds):
    """First and second crystal, time bin and label of each event."""
    last = len(scanner.time_edges) - 2
    for block in blocks:
        value = getattr(block, "value", block)
        if not hasattr(value, "prompt_events"):
            continue
        begin, end = value.time_interval.start / 1e3, value.time_interval.stop / 1e3
        seconds[:] = min(seconds[0], begin), max(seconds[1], end)
        frame = int(numpy.searchsorted(edges, begin, side="right")) - 1
        for kind, lists in enumerate((value.prompt_events, value.delayed_events)[:kinds]):
            inside = 0 <= frame < len(edges) - 1
            label = kind * (len(edges) - 1) + frame if inside else 0xffffffff
            for a, row in enumerate(lists or ()):
                for b, events in enumerate(row):
                    first, energies = (scanner.first[a], scanner.first[b]), (scanner.energies[a], scanner.energies[b])
                    for event in events:
                        p, q = event.detection_bins
                        # A file's places are c (t1 - t2) / 2.
                        yield first[0] + p // energies[0], first[1] + q // energies[1], last - event.tof_idx, label


def _scanner(scanner, depth):
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
    return Scanner(numpy.concatenate(positions), numpy.concatenate(normals), float(width), float(height), -edges[::-1] / _HALF_LIGHT,
                   tuple(first[:-1]), energies, scanner.model_name)


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
