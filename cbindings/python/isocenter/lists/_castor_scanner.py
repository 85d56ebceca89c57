"""Scanners of CASToR: look-up tables (.hscan and .lut) and generic geometries (.geom)."""
import os

import numpy

from ..errors import wrong
from ._keys import Keys
from ._scanner import Scanner

#: Headers, in the order in which they are looked for, and the tables that belong to them; a .geom has none.
_TABLES = {".hscan": ".lut", ".ghscan": ".glut", ".geom": None}
#: Numbers of a crystal in a table: x, y, z of its middle, and of where it looks.
_OF_CRYSTAL = 6
#: Of a .geom, for each layer: keys, what they are without a line, None where there has to be one, and other names.
_GEOMETRY = (("number of rsectors", None), ("number of rsectors axial", 1.0), ("rsector gap axial", 0.0), ("scanner radius", None), ("rsectors first angle", 0.0),
             ("rsectors angular span", 360.0), ("crystals size trans", None, "crystals size transaxial"), ("crystals size axial", None), ("crystals size depth", None),
             *((f"number of {name}s {way}", None if name == "crystal" else 1.0) for name in ("crystal", "submodule", "module") for way in ("transaxial", "axial")),
             *((f"{name} gap {way}", 0.0) for name in ("crystal", "submodule", "module") for way in ("transaxial", "axial")))
#: Crystals and layers of a scanner at most, and how far from the origin they are, mm.
_MOST, _LAYERS, _FARTHEST = 1 << 23, 16, 1e5


def find(name, beside):
    """The header of a scanner by its name: beside the list, or where CASToR keeps them. None: there is none."""
    name = os.path.basename(name)
    folders = [os.path.dirname(os.fspath(beside)) or "."]
    if os.environ.get("CASTOR_CONFIG"):
        folders.append(os.path.join(os.environ["CASTOR_CONFIG"], "scanner"))
    for folder in folders:
        for ending in _TABLES:
            path = os.path.join(folder, name + ending)
            if os.path.isfile(path):
                return path
    return None


def read(path, depth=None):
    """The Scanner of a .hscan, .ghscan, .geom, or of a table whose header lies beside it.

    Parameters
    ----------
    path : path
    depth : float, optional
        How far behind their inner faces crystals detect photons on average, mm; None: the file's, else in their middles.
    """
    header = os.fspath(path)
    stem, ending = os.path.splitext(header)
    for of_header, of_table in _TABLES.items():
        if ending == of_table:
            header = stem + of_header
            if not os.path.isfile(header):
                raise wrong(ValueError, f"{path} has no {os.path.basename(header)} beside it, which has the number and the sizes of its crystals")
    ending = os.path.splitext(header)[1]
    if ending not in _TABLES:
        raise wrong(ValueError, f"{path} is no scanner of CASToR's: its name must end in {', '.join(_TABLES)} or .lut")
    keys = Keys(header, ":", "#")
    if keys.text("modality", default="PET").upper() != "PET":
        raise wrong(ValueError, f"{header} is of modality {keys.text('modality')}; it must be PET")
    layers = keys.whole("number of layers", least=1)
    count = keys.whole("number of elements", least=2)
    if count > _MOST or layers > _LAYERS:
        raise wrong(ValueError, f"{header} has {count} crystals in {layers} layers; {_MOST} crystals in {_LAYERS} layers at most can be read")
    sizes = [_size(keys, layers, *names) for names in (("crystals size trans", "crystals size transaxial"), ("crystals size axial",))]
    deep = keys.numbers("crystals size depth", count=layers)
    if _TABLES[ending] is None:
        positions, outwards, of_layers = _generated(keys, layers, count)
    else:
        positions, outwards = _table(os.path.splitext(header)[0] + _TABLES[ending], count)
        of_layers = _of_layers(keys, layers, count)
    mean = numpy.full(layers, depth, float) if depth is not None else keys.numbers("mean depth of interaction", count=layers, default=-1.0)
    way = numpy.where(mean < 0, 0.0, mean - deep / 2)[of_layers]
    return Scanner(positions + way[:, None] * outwards, outwards, *sizes, None, (0,), (1,), keys.text("scanner name", default=os.path.basename(os.path.splitext(header)[0])))


def rings(scanner, farthest):
    """Modules (crystals,), one for each place along z, and which of them (modules, modules) are no farther apart than so many mm."""
    places, modules = numpy.unique(numpy.round(scanner.positions[:, 2], 3), return_inverse=True)
    return modules.ravel(), (numpy.abs(places[:, None] - places) <= farthest + 1e-3).astype(numpy.uint32)


def _size(keys, layers, *names):
    """Of a crystal's face."""
    values = keys.numbers(*names, count=layers, default=0.0)
    if not (values > 0).all():
        raise wrong(ValueError, f"{keys.path} does not say the size of its crystals: add a line '{names[0]}: ...', mm")
    if numpy.ptp(values) > 0.01 * values.max():
        raise wrong(ValueError, f"{keys.path} has crystals of {values.min():g} to {values.max():g} mm; there must be one size")
    return float(values[0])


def _table(path, count):
    if not os.path.isfile(path):
        raise wrong(ValueError, f"{path} is missing, the table of the scanner's crystals")
    kinds = {_OF_CRYSTAL * count * size: kind for size, kind in ((4, "<f4"), (8, "<f8"))}
    kind = kinds.get(os.path.getsize(path))
    if kind is None:
        raise wrong(ValueError, f"{path} has {os.path.getsize(path)} bytes; {count} crystals of {_OF_CRYSTAL} numbers have {' (float32) or '.join(map(str, kinds))} (float64)")
    with numpy.errstate(invalid="ignore"):  # of numbers that are none
        values = numpy.fromfile(path, kind).reshape(count, _OF_CRYSTAL).astype(float)
    if not (numpy.abs(values) < _FARTHEST).all():
        raise wrong(ValueError, f"{path} has places that are no numbers, or farther than {_FARTHEST:g} mm: it may be of another order of bytes, or of float32 and float64 mixed up")
    length = numpy.linalg.norm(values[:, 3:], axis=1, keepdims=True)
    if not (length > 0).all():
        raise wrong(ValueError, f"{path} has crystals without an orientation")
    return values[:, :3], _outwards(values[:, :3], values[:, 3:] / length)


def _outwards(positions, normals):
    return normals * numpy.where((positions[:, :2] * normals[:, :2]).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)


def _of_layers(keys, layers, count):
    """The layer of each crystal of a table."""
    if layers == 1:
        return numpy.zeros(count, int)
    numbers = keys.numbers("number of crystals in layer", "number of crystals in layer(s)", count=layers)
    if (numbers != numpy.floor(numbers)).any() or (numbers < 0).any() or numbers.sum() != count:
        raise wrong(ValueError, f"{keys.path} has {count} crystals, and {' + '.join(f'{n:g}' for n in numbers)} in its layers")
    return numpy.repeat(numpy.arange(layers), numbers.astype(int))


def _generated(keys, layers, count):
    """Places, directions outwards and layers of crystals that a .geom describes, ring by ring."""
    values = {key: _wholes(keys, key, layers, default) if key.startswith("number") else keys.numbers(key, *also, count=layers, default=default)
              for key, default, *also in _GEOMETRY}
    described = sum(numpy.prod([float(of[k]) for key, of in values.items() if key.startswith("number")]) for k in range(layers))
    if described != count:
        raise wrong(ValueError, f"{keys.path} has {count} elements, and describes {described:.0f} crystals")
    turn = keys.text("rotation direction", default="CW").upper()
    if turn not in ("CW", "CCW"):
        raise wrong(ValueError, f"{keys.path} has 'rotation direction: {turn}'; it must be CW or CCW")
    shifts = keys.whole("rsectors nbZShift", default=0.0)
    shifts = keys.numbers("rsectors ZShift", count=shifts) if shifts else numpy.zeros(1)
    made = [_layer({key: of[k] for key, of in values.items()}, 1.0 if turn == "CW" else -1.0, shifts) for k in range(layers)]
    if not all((numpy.abs(positions) < _FARTHEST).all() for positions, _ in made):
        raise wrong(ValueError, f"{keys.path} has crystals farther than {_FARTHEST:g} mm from the origin")
    return (*(numpy.concatenate(of) for of in zip(*made)), numpy.repeat(numpy.arange(layers), [len(positions) for positions, _ in made]))


def _layer(of, turn, shifts):
    """Places and directions outwards of a layer's crystals: by ring, and in the ring by sector. The first sector is above the axis, at y, and the next ones towards x,
    or away from it."""
    across, up = (_places(of[f"crystals size {short}"], [(of[f"number of {name}s {way}"], of[f"{name} gap {way}"]) for name in ("crystal", "submodule", "module")])
                  for way, short in (("transaxial", "trans"), ("axial", "axial")))
    up, _ = _repeated(*up, of["number of rsectors axial"], of["rsector gap axial"])
    sectors, side = numpy.arange(of["number of rsectors"]), turn * across[0]
    angles = numpy.radians(of["rsectors first angle"] + sectors * of["rsectors angular span"] / len(sectors))
    cos, sin = numpy.cos(angles)[:, None], turn * numpy.sin(angles)[:, None]
    out = of["scanner radius"] + of["crystals size depth"] / 2
    in_shape = lambda *values: numpy.stack([numpy.broadcast_to(v, (len(up), len(sectors), len(side))).ravel() for v in values], axis=1)
    z = up[:, None, None] + shifts[sectors % len(shifts)][:, None]
    return in_shape(cos * side + sin * out, cos * out - sin * side, z), in_shape(sin, cos, 0.0)


def _wholes(keys, key, layers, default):
    values = keys.numbers(key, count=layers, default=default)
    if (values < 1).any() or (values != numpy.floor(values)).any() or (values > _MOST).any():
        raise wrong(ValueError, f"{keys.path} has '{key}: {', '.join(f'{v:g}' for v in values)}'; there must be whole numbers, 1 or more")
    return values.astype(int)


def _places(size, repeats):
    """Middles of crystals along a way, about 0, and their whole length: crystals, submodules and modules are repeated with gaps between them."""
    places, length = numpy.zeros(1), float(size)
    for number, gap in repeats:
        places, length = _repeated(places, length, number, gap)
    return places, length


def _repeated(places, length, number, gap):
    steps = (numpy.arange(number) - (number - 1) / 2) * (length + gap)
    return (steps[:, None] + places).ravel(), number * length + (number - 1) * gap
