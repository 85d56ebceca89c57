"""The axis of a scanner, which files have along x, y or z."""
import numpy

from ..errors import wrong

#: How far edges may be off an axis, radians, and how much nearer to z than to another axis crystals may be.
_OFF, _NEARER = 1e-3, 0.99


def turn(boxes):
    """(3, 3) of 0 and 1, from the axes of crystals' corners (crystals, 8, 3), by type of module, to axes of which z is the scanner's.

    Crystals stand about the axis: each has edges along it. Of several such directions the axis is the one that crystals stay farthest from, z if it is among these.
    """
    corners = numpy.concatenate(boxes)
    directions = _directions(corners[:1])[0]
    everywhere = _directions(corners)
    common = [d for d in directions if (numpy.abs(everywhere @ d).max(axis=1) > 1 - _OFF ** 2 / 2).all()]
    if not common:
        return numpy.eye(3)  # crystals that are turned each to the middle of a sphere, for one
    middles = corners.mean(axis=1)
    distances = [float(numpy.linalg.norm(middles - numpy.outer(middles @ d, d), axis=1).min()) for d in common]
    found = [d for d, near in zip(common, distances) if near >= _NEARER * max(distances)]
    axes = [int(numpy.abs(d).argmax()) for d in found]
    axis = found[axes.index(2)] if 2 in axes else found[0]
    most = int(numpy.abs(axis).argmax())
    if abs(axis[most]) < 1 - _OFF ** 2 / 2:
        raise wrong(ValueError, f"the scanner's axis is along ({', '.join(f'{v:.3g}' for v in axis)}); it must be along x, y or z of the file")
    # x, y, z in their order, from the one after the axis on.
    return numpy.eye(3)[[(most + 1) % 3, (most + 2) % 3, most]]


def turned(values, turn):
    """Of x, y, z along other axes."""
    return tuple(float(v) for v in turn @ numpy.asarray(values, float))


def turned_image(image, turn):
    """(..., nz, ny, nx) along other axes."""
    order = turn.argmax(axis=1)  # of the old axes, for the new x, y and z
    leading = image.ndim - 3
    return image.transpose(*range(leading), *(leading + 2 - int(old) for old in order[::-1]))


def _directions(corners):
    """(crystals, 3, 3): unit vectors along the edges of boxes, from their first corners."""
    ways = corners[:, 1:] - corners[:, :1]
    lengths = numpy.linalg.norm(ways, axis=2)
    order = lengths.argsort(axis=1)[:, :2]
    one, two = (numpy.take_along_axis(ways, order[:, k, None, None], axis=1)[:, 0] for k in (0, 1))
    edges = numpy.stack([one, two, numpy.cross(one, two)], axis=1)
    size = numpy.linalg.norm(edges, axis=2, keepdims=True)
    return edges / numpy.where(size > 0, size, 1)
