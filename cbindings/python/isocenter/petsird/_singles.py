"""PETSIRD files: histograms of single photons, of crystals or of units of modules, which randoms are made of where there are no delays."""
import numpy

from ..errors import wrong
from ..lists import _products
from ._times import triangle
from ._values import Strange, numbers

#: Edges of energy windows and blocks that are as near, keV and s, are the same.
_SAME, _NEAR = 1.0, 1e-3
#: Photons a second that no crystal counts.
_MOST = 1e9
#: Of randoms, what is told if they are off by more.
_OFF = 0.02
#: What a file may have them in: of units, of all types of modules together, and lists of each type.
_UNITS, _BINS, _OLD = "singles_per_singles_unit_histogram", "singles_per_detection_bin_histogram", "singles_histograms"


def has_singles(block):
    return hasattr(block, _BINS) or hasattr(block, _OLD)


class Singles:
    """Blocks in the order of the file: each has the rates of its own time.

    Parameters
    ----------
    path : path
    described : object
        The header's scanner.
    """

    def __init__(self, path, described):
        kinds = described.scanner_geometry.replicated_modules
        self._path, self._blocks = path, []
        self._level = getattr(getattr(described, "singles_histogram_level", None), "name", "NONE")
        self._units = [numpy.asarray(units, int) for units in getattr(described, "module_singles_unit_idx_lu_ts", None) or []]
        self._edges = [numpy.asarray(bins.edges, float) for bins in getattr(described, "singles_histogram_energy_bin_edges", None) or []]
        self._windows = {(pair.edges[0], pair.edges[-1]) for _, _, pair in triangle(described.tof_bin_edges, len(kinds), "time bins")}
        self._kinds = [(len(kind.transforms), len(kind.object.detecting_elements.transforms)) for kind in kinds]

    def add(self, block):
        rows, way = getattr(block, _UNITS, None), _UNITS
        if rows is None or not len(rows):
            way = _BINS if hasattr(block, _BINS) else _OLD
            rows = getattr(block, way)
        sizes = numpy.array([len(row) for row in rows], int)
        self._blocks.append((block.time_interval.start / 1e3, block.time_interval.stop / 1e3, way, sizes, numpy.concatenate([numpy.zeros(0, numpy.uint64), *rows])))

    def doubts(self, blocks, scanner):
        """What may be wrong of these blocks of events."""
        made = []
        begins, ends = self._sorted()[:2]
        whole, covered = float(_products.weights(blocks, [-numpy.inf], [numpy.inf])[0]), float(self._weights(blocks, begins, ends).sum())
        if whole - covered > _NEAR:
            made.append(f"singles, of which randoms are made, are of {covered:g} of {whole:g} s of events: in the others they are taken to be as many")
        for kind in range(len(self._kinds)):
            edges = self._of_energy(kind)
            for edge in (scanner.energy_lower, scanner.energy_upper) if scanner.energy_upper else ():
                near = numpy.abs(edges - edge).min(initial=numpy.inf)
                if near > _SAME and edges[0] < edge < edges[-1]:
                    made.append(f"energy bins of singles of modules of type {kind} are cut by the energy window at {edge:g} keV: those whose middle is within it are taken, and randoms may be too many or too few")
        if len(self._windows) > 1 and scanner.time_edges is not None:
            made.append("pairs of modules have coincidence windows that differ: randoms of singles are made with the widest of all, and are too many of the others")
        return made

    def of(self, blocks, scanner, name):
        """float64 (crystals,), photons a second, whose products are the mean of those of blocks of events, and how far these may be off, or None."""
        begins, ends, order = self._sorted()
        weights = self._weights(blocks, begins, ends)
        if not weights.any():
            raise wrong(ValueError, f"{self._path} has no singles of {name}, of which randoms are made where there are no delays: pass randoms=False (--no-randoms) if there are none")
        shares = _shares(scanner)

        def rates(j):
            begin, end, way, sizes, counts = self._blocks[order[j]]
            try:
                return self._rates(way, sizes, counts, end - begin, shares, scanner)
            except Strange as e:
                raise wrong(ValueError, f"{self._path} has singles from {begin:g} to {end:g} s {e}: pass randoms=False (--no-randoms) to do without them") from None

        made, off = _products.separated(rates, weights, weights.sum())
        # Of all pairs: single crystals' counts are too few to tell.
        most = float(off.sum() / max(float((made * made).sum()), 1e-300))
        return made, (f"rates of single photons change against each other within {name}: randoms of them are off by some {100 * most:.2g} %; shorter frames have less" if most > _OFF else None)

    def _sorted(self):
        order = sorted(range(len(self._blocks)), key=lambda k: self._blocks[k][0])
        return numpy.array([self._blocks[k][0] for k in order]), numpy.array([self._blocks[k][1] for k in order]), order

    def _weights(self, blocks, begins, ends):
        return _products.weights(blocks, begins, numpy.maximum(begins, numpy.minimum(ends, [*begins[1:], numpy.inf])))

    def _of_energy(self, kind):
        edges = numbers(self._edges[kind], "edges of energy bins of singles") if kind < len(self._edges) else numpy.zeros(0)
        return edges if len(edges) > 1 else numpy.array([-numpy.inf, numpy.inf])

    def _chosen(self, kind, scanner):
        """The first energy bin within the window, and the one after the last."""
        edges = self._of_energy(kind)
        if len(edges) == 2:  # perhaps of all energies, which have no middle
            return 0, 1
        middles = (edges[:-1] + edges[1:]) / 2
        if not (middles[1:] > middles[:-1]).all():
            raise Strange(f"whose edges of energy bins of modules of type {kind} do not ascend")
        chosen = numpy.ones(len(middles), bool) if not scanner.energy_upper else (middles > scanner.energy_lower) & (middles < scanner.energy_upper)
        if not chosen.any():
            raise Strange(f"whose energy bins of modules of type {kind}, {edges[0]:g} to {edges[-1]:g} keV, are not within the energy window, {scanner.energy_lower:g} to {scanner.energy_upper:g} keV")
        return int(chosen.argmax()), len(chosen) - int(chosen[::-1].argmax())

    def _rates(self, way, sizes, counts, seconds, shares, scanner):
        """Of a block, and the squares of their errors by counting."""
        if not len(sizes):
            raise Strange("without counts")
        starts, sums, until = [], [], numpy.concatenate([numpy.zeros(1, numpy.uint64), numpy.cumsum(counts)])
        first = numpy.concatenate([[0], numpy.cumsum(sizes)])
        for kind, (modules, elements) in enumerate(self._kinds):
            (low, high), bins = self._chosen(kind, scanner), len(self._of_energy(kind)) - 1
            start = self._starts(way, kind, bins, sizes, first)
            start = numpy.repeat(start, elements) if len(start) == modules else start
            starts.append(start)
            sums.append((until[start + high] - until[start + low]).astype(float))
        starts, sums = numpy.concatenate(starts), numpy.concatenate(sums)
        # Crystals that have the same counts share them.
        number = numpy.unique(starts, return_inverse=True)[1].ravel()
        together, alike = numpy.bincount(number, shares), numpy.bincount(number)
        part = numpy.where(together[number] > 0, shares / numpy.where(together > 0, together, 1)[number], 1 / alike[number])
        rates = sums * part / seconds
        if rates.max() > _MOST:
            raise Strange(f"that are {rates.max():.3g} a second of a crystal, more than any counts")
        return rates, rates * part / seconds

    def _starts(self, way, kind, bins, sizes, first):
        """Where counts of a type's modules, or of its crystals, begin."""
        modules, elements = self._kinds[kind]
        if way == _UNITS:
            units = self._unit(kind, len(sizes))
            if (sizes[units] != bins).any():
                raise Strange(f"of units with {sizes[units].max()} energy bins; modules of type {kind} have {bins} of singles")
            return first[units]
        if kind >= len(sizes):
            raise Strange(f"of {len(sizes)} types of modules, of which there are {len(self._kinds)}")
        if way == _OLD and self._level == "MODULE":
            # Units of each type, or modules.
            count = sizes[kind] // bins
            units = self._unit(kind, count) if self._units else numpy.arange(modules)
            needed = count if self._units else modules
        else:
            units = numpy.arange(modules * elements)
            needed = modules * elements
        if sizes[kind] != needed * bins:
            raise Strange(f"whose modules of type {kind} have {sizes[kind]} counts; {needed} of {bins} energy bins need {needed * bins}")
        return first[kind] + units * bins

    def _unit(self, kind, count):
        """The unit of each module of a type."""
        units = self._units[kind] if kind < len(self._units) else numpy.zeros(0, int)
        modules = self._kinds[kind][0]
        if len(units) != modules:
            raise Strange(f"of units, of which moduleSinglesUnitIdxLUTs names {len(units)} for {modules} modules of type {kind}")
        if (units < 0).any():
            raise Strange(f"that are not of all modules: {int((units < 0).sum())} of type {kind} have no unit")
        if (units >= count).any():
            raise Strange(f"of {count} units, and moduleSinglesUnitIdxLUTs names unit {units.max()}, counted from 0")
        return units


def _shares(scanner):
    """By which crystals of a unit share its counts: photons come alike to all of its area, and crystals count what they detect of them."""
    areas = 1.0 if scanner.crystal_sizes is None else numpy.asarray(scanner.crystal_sizes, float).prod(axis=1)
    return numpy.broadcast_to((1.0 if scanner.efficiencies is None else scanner.efficiencies) * areas, len(scanner.positions))
