"""Pictures of images, the way that radiologists look at them."""
import numpy

from .. import _png

# Towards where the picture's columns and rows go, by the patient's axis across it: left, back and head are positive.
_VIEWS = {2: ((0, 1), (1, 1)), 1: ((0, 1), (2, -1)), 0: ((1, 1), (2, -1))}


def upright(images, affine):
    """Images (..., y, x) as they are shown: the patient's right on the left and front or head on top, from the affine map of
    `Reconstruction`. As they are where that has no directions."""
    matrix = numpy.asarray(affine)[:3, :3]
    normal = numpy.cross(matrix[:, 0], matrix[:, 1])
    if not normal.any():
        return images
    (column_axis, column_sign), (row_axis, row_sign) = _VIEWS[int(numpy.argmax(numpy.abs(normal)))]
    x, y = matrix[:, 0], matrix[:, 1]
    if abs(x[column_axis]) < abs(y[column_axis]):
        images, x, y = images.swapaxes(-1, -2), y, x
    if x[column_axis] * column_sign < 0:
        images = images[..., ::-1]
    if y[row_axis] * row_sign < 0:
        images = images[..., ::-1, :]
    return images


def _of_one_size(images):
    """Images (y, x) with zeros around those that are smaller: (n, y, x)."""
    ny, nx = (max(image.shape[axis] for image in images) for axis in (0, 1))
    out = numpy.zeros((len(images), ny, nx), images[0].dtype)
    for to, image in zip(out, images):
        y, x = (ny - image.shape[0]) // 2, (nx - image.shape[1]) // 2
        to[y:y + image.shape[0], x:x + image.shape[1]] = image
    return out


def mosaic(images):
    """Images (n, y, x) side by side, in about as many rows as columns."""
    n, ny, nx = images.shape
    columns = int(numpy.ceil(numpy.sqrt(n)))
    rows = -(-n // columns)
    out = numpy.zeros((rows, ny, columns, nx), images.dtype)
    for i, image in enumerate(images):
        out[i // columns, :, i % columns] = image
    return out.reshape(rows * ny, columns * nx)


def write_png(path, made, *, percentile=99.8, most=36):
    """Writes magnitudes as a greyscale PNG, slices and frames side by side, each upright.

    Parameters
    ----------
    path : path
    made : Reconstruction
    percentile : float
        Of the magnitudes above 0, which is white.
    most : int
        Images; of more, so many at even distances are shown.
    """
    volume = made.affines.shape[1] != made.images.shape[1]
    shown = [(f, z) for f in range(made.images.shape[0]) for z in range(made.images.shape[1])]
    if len(shown) > most:
        shown = [shown[i] for i in numpy.linspace(0, len(shown) - 1, most).astype(int)]
    images = _of_one_size([numpy.abs(upright(made.images[f, z], made.affines[f, 0 if volume else z])) for f, z in shown])
    seen = images[images > 0]
    white = numpy.percentile(seen, percentile) if seen.size else 1.0
    grey = (255 * numpy.clip(mosaic(images) / white, 0, 1)).round().astype(numpy.uint8)
    with open(path, "wb") as file:
        file.write(_png.encode(grey))
