"""PETSIRD files: blocks of dead time, which have the fractions of the time in which crystals and pairs of modules were ready."""
import numpy

from ..errors import wrong
from ..lists import _products
from ..lists._dead import Alive
from . import _file
from ._pairs import modules_of, rectangle
from ._values import Strange, numbers

#: Above 1, by rounding.
_ROUNDING = 1e-6
#: Edges of blocks that are as near, s, are the same.
_SAME = 1e-3


class DeadTimes:
    """Blocks in the order of the file. Each holds from its start until the next one starts, the first one before that, too.

    Parameters
    ----------
    path : path
    described : object
        The header's scanner.
    counts : array
        Crystals of each type of modules.
    energies : tuple of int
        Energy bins of each.

    Attributes
    ----------
    has_fractions : bool
        Whether any block has some.
    """

    def __init__(self, path, described, counts, energies):
        self._path, self._counts, self._energies = path, counts, energies
        self._kinds = [len(kind.transforms) for kind in described.scanner_geometry.replicated_modules]
        self._modules = modules_of(described.scanner_geometry)
        self._parts = _file.bins_of(described.detection_efficiencies, counts, energies)
        self._blocks, self.has_fractions = [], False

    def add(self, block):
        begin, end, found = block.time_interval.start / 1e3, block.time_interval.stop / 1e3, block.alive_time_fractions
        rows = getattr(found, "module_pair_alive_time_fractions", getattr(found, "module_coincidence_alive_time_fractions", None))
        try:
            if end < begin:
                raise Strange("which ends before it begins")
            values = self._of_crystals(found.singles_alive_time_fractions), self._of_pairs(rows or [])
        except Strange as e:
            values = f"{self._path} has a block of dead time from {begin:g} to {end:g} s, {e}: pass live, the part of the time in which the scanner was ready, in its place"
        self._blocks.append((begin, end, values))
        self.has_fractions |= isinstance(values, str) or bool(len(found.singles_alive_time_fractions) or rows)

    def doubts(self, blocks):
        """What may be wrong of these blocks of events."""
        begins, ends, _ = self._sorted()
        if not self.has_fractions:
            return ["the file has blocks of dead times without fractions: pass live, the part of the time in which the scanner was ready"]
        whole = float(_products.weights(blocks, [-numpy.inf], [numpy.inf])[0])
        covered = float(_products.weights(blocks, begins, numpy.minimum(ends, [*begins[1:], numpy.inf])).sum())
        return [] if whole - covered <= _SAME else [f"blocks of dead time cover {covered:g} of {whole:g} s of events: in the others the one before holds, and the first before that"]

    def of(self, blocks, half_life):
        """Alive of blocks of events, of an activity of a half-life."""
        begins, _, values = self._sorted()
        edges = numpy.concatenate([[-numpy.inf], begins[1:], [numpy.inf]])
        weights = _products.weights(blocks, edges[:-1], edges[1:], numpy.log(2) / half_life)
        for j in numpy.flatnonzero(weights):
            if isinstance(values[j], str):
                raise wrong(ValueError, values[j])
        crystals = int(self._counts.sum())
        fractions, off = _products.separated(lambda j: (numpy.broadcast_to(numpy.asarray(values[j][0], float), crystals), 0.0), weights, weights.sum())
        # Pairs' are weighed by what crystals measure of them.
        by = numpy.array([w * float(numpy.mean(values[j][0], dtype=float)) ** 2 if w else 0.0 for j, w in enumerate(weights)])
        pairs = sum(by[j] * values[j][1] for j in numpy.flatnonzero(by)) / by.sum() if by.any() else 0.0
        return Alive(fractions, off, pairs, self._modules)

    def _sorted(self):
        begins, ends, values = zip(*sorted(self._blocks, key=lambda block: block[0]))
        return numpy.array(begins), numpy.array(ends), values

    def _of_crystals(self, lists):
        """One number of all, or float32 (crystals,): means over energy bins, weighed by these' efficiencies, of whose products a crystal's is the sum."""
        if not len(lists):
            return 1.0
        if len(lists) < len(self._counts):
            raise Strange(f"which has fractions of {len(lists)} of {len(self._counts)} types of modules")
        made = []
        for kind, (count, bins, parts) in enumerate(zip(self._counts, self._energies, self._parts)):
            values = _checked(lists[kind])
            if values.size != count * bins:
                raise Strange(f"whose modules of type {kind} have {values.size} fractions; their {count} crystals of {bins} energy bins need {count * bins}")
            values = values.reshape(count, bins)
            made.append(values[:, 0] if bins == 1 else (values * parts).sum(axis=1))
        return _one(numpy.concatenate(made))

    def _of_pairs(self, rows):
        """One number of all pairs of modules, or float32 (modules, modules)."""
        first = numpy.concatenate([[0], numpy.cumsum(self._kinds)])
        if not any(numpy.size(table) for row in rows for table in row):
            return 1.0
        whole = numpy.ones((first[-1], first[-1]), numpy.float32)
        for a, count in enumerate(self._kinds):
            for b in range(a + 1):
                table = rows[a][b] if a < len(rows) and b < len(rows[a]) else ()
                # Versions from 0.10 have an array of one matrix, those before a matrix.
                if getattr(table, "dtype", None) == object:
                    table = table.flat[0] if table.size == 1 else ()
                try:
                    values = rectangle(table, (count, self._kinds[b]), a == b, float, 1.0)
                except Strange:
                    raise Strange(f"whose fractions of coincidences of types {a} and {b} are not of their {count} and {self._kinds[b]} modules") from None
                whole[first[a]:first[a + 1], first[b]:first[b + 1]] = _checked(values)
        whole = numpy.tril(whole) + numpy.tril(whole, -1).T
        return _one(whole)


def _checked(values):
    try:
        made = numbers(values, "fractions")
    except ValueError:
        raise Strange("whose fractions are not all finite") from None
    if made.size and not (made.min() >= 0 and made.max() <= 1 + _ROUNDING):
        raise Strange(f"whose fractions are {made.min():g} to {made.max():g}; they must be 0 to 1")
    return numpy.minimum(made, 1.0)


def _one(values):
    first = float(values.flat[0])
    return first if (values == values.flat[0]).all() else values.astype(numpy.float32)
