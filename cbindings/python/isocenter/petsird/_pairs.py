"""PETSIRD files: which pairs of modules are in coincidence, and how well pairs of crystals are measured."""
import numpy

from ..errors import wrong
from ..lists._pairs import Pairs
from ._values import Strange, numbers


def pairs_of(scanner, energies):
    """The Pairs of a described scanner, whose types of modules have so many energy bins; None: all pairs are measured, and alike."""
    found = scanner.detection_efficiencies
    tables = found.module_pair_sgidlut
    if tables is None or not len(tables):
        if any(vector for row in found.module_pair_efficiencies_vectors or [] for vector in row):
            raise wrong(ValueError, "the file has efficiencies of pairs, and no modulePairSGIDLUT that says which pairs of modules have them")
        return None
    kinds = scanner.scanner_geometry.replicated_modules
    counts = [len(kind.transforms) for kind in kinds]
    elements = [len(kind.object.detecting_elements.transforms) for kind in kinds]
    first = numpy.concatenate([[0], numpy.cumsum(counts)])
    modules = modules_of(scanner.scanner_geometry)
    groups, values = numpy.zeros((first[-1], first[-1]), numpy.uint32), []
    for a, row in enumerate(tables[:len(kinds)]):
        for b, table in enumerate(row[:a + 1]):
            try:
                whole = rectangle(table, (counts[a], counts[b]), a == b, int, -1)
            except Strange:
                raise wrong(ValueError, f"modulePairSGIDLUT of types {a} and {b} is not of their {counts[a]} and {counts[b]} modules") from None
            if whole.max(initial=-1) >= whole.size:
                raise wrong(ValueError, f"modulePairSGIDLUT of types {a} and {b} has group {whole.max()} of {whole.size} pairs of modules at most")
            at = numpy.s_[first[a]:first[a + 1], first[b]:first[b + 1]]
            groups[at] = numpy.where(whole < 0, 0, whole + 1 + len(values))
            vectors = found.module_pair_efficiencies_vectors or []
            given = vectors[a][b] if a < len(vectors) and b < len(vectors[a]) else None
            values += _groups(given, int(whole.max(initial=-1)) + 1, [elements[a], energies[a]], [elements[b], energies[b]])
    # Files have the lower triangle.
    groups = numpy.maximum(numpy.tril(groups), numpy.tril(groups).T)
    if not groups.any():
        raise wrong(ValueError, "no pair of modules is in coincidence: modulePairSGIDLUT has nothing but -1")
    used = numpy.unique(groups[groups > 0]) - 1
    if missing := [k for k in used if values[k] is None]:
        raise wrong(ValueError, f"modulePairSGIDLUT names {len(missing)} groups of pairs that have no efficiencies")
    if all((values[k] == 1).all() for k in used):
        return None if (groups > 0).all() else Pairs(modules, (groups > 0).astype(numpy.uint32), None)
    if all((v == v.flat[0]).all() for v in values if v is not None):
        return Pairs(modules, groups, numpy.array([0.0 if v is None else v.flat[0] for v in values], numpy.float32))
    tables = numpy.zeros((len(values), max(elements), max(elements)), numpy.float32)
    for to, v in zip(tables, values):
        if v is not None:
            to[:v.shape[0], :v.shape[1]] = v
    return Pairs(modules, groups, tables)


def modules_of(geometry):
    """The module of each crystal, numbered by type."""
    kinds = geometry.replicated_modules
    counts, elements = [len(kind.transforms) for kind in kinds], [len(kind.object.detecting_elements.transforms) for kind in kinds]
    return numpy.repeat(numpy.arange(sum(counts)), numpy.repeat(elements, counts))


def rectangle(table, shape, same, kind, other):
    """Values of pairs of modules, `other` of those that there are not; of the same type rows end at the diagonal, but for versions before 0.10. Strange of other lengths."""
    whole = numpy.full(shape, other, kind)
    if len(table) != shape[0] or any(len(row) not in ((k + 1, shape[1]) if same else (shape[1],)) for k, row in enumerate(table)):
        raise Strange(f"with rows of {len(table)} modules")
    with numpy.errstate(invalid="ignore"):  # of numbers that are none
        for k, (to, row) in enumerate(zip(whole, table)):
            end = k + 1 if same else shape[1]
            to[:end] = row[:end]
    return whole


def _groups(given, count, first, second):
    """Values [element, element] of so many groups, None of those that have none; 1 of a file that has none at all."""
    if not given:
        return [numpy.ones((first[0], second[0]), numpy.float32)] * count
    values = [None] * count
    for one in given:
        if not 0 <= one.sgid < count:
            continue
        own = numbers(one.values, "efficiencies of pairs").astype(numpy.float32)
        if (own < 0).any():
            raise wrong(ValueError, f"efficiencies of pairs of group {one.sgid} are below 0")
        if own.shape != (first[0] * first[1], second[0] * second[1]):
            raise wrong(ValueError, f"efficiencies of pairs of group {one.sgid} have shape {own.shape}; modules of {first[0]} and {second[0]} elements of {first[1]} and "
                                    f"{second[1]} energy bins need {(first[0] * first[1], second[0] * second[1])}")
        own = own.reshape(*first, *second)
        # Then the sum over energy bins of a pair is the product of sums.
        if (own != own[:, :1, :, :1]).any():
            raise wrong(ValueError, f"efficiencies of pairs of group {one.sgid} differ between energy bins; there must be one of all bins of a pair of elements")
        values[one.sgid] = own[:, 0, :, 0]
    return values
