"""Where images are: their sides and middle in the scanner's frame, and its axes in the patient."""
import numpy

from ._values import numbers, real
from .errors import wrong

# Where y and z go by position: axis of left, back and head, and sign. x goes at right angles to both.
_DOWN = {"S": (1, 1), "P": (1, -1), "DR": (0, -1), "DL": (0, 1)}
_IN = {"HF": (2, 1), "FF": (2, -1)}
#: Names of the patient's positions.
POSITIONS = tuple(enters + down for enters in _IN for down in _DOWN)


def dicom_geometry(shape, voxel, centre=(0.0, 0.0, 0.0), *, position="HFS"):
    """The attributes of DICOM's Image Plane module, of slices z of an image as it is: its rows are those of the pixel data.

    Parameters
    ----------
    shape : (int, int, int)
        Of the image, nz, ny, nx.
    voxel, centre, position
        As for `write_nifti`.

    Returns
    -------
    dict
        ``PixelSpacing``, rows' and columns' distance, mm; ``SliceThickness``, mm; ``ImageOrientationPatient``, six cosines; and
        ``ImagePositionPatient``, an array (nz, 3), of the middle of each slice's first pixel, mm to the left, back and head. ``Rows``, ``Columns``,
        ``NumberOfSlices`` and ``PatientPosition``, too.
    """
    nz, ny, nx = (int(n) for n in shape)
    voxel, centre = sides(voxel), three(centre, "centre")
    axes = to_patient(position)
    first = centre - (numpy.array([nx, ny, nz]) - 1) / 2 * voxel
    places = first + numpy.outer(numpy.arange(nz), [0, 0, voxel[2]])
    return {"Rows": ny, "Columns": nx, "NumberOfSlices": nz, "PixelSpacing": [float(voxel[1]), float(voxel[0])], "SliceThickness": float(voxel[2]),
            "ImageOrientationPatient": [float(v) for v in (*axes[:, 0], *axes[:, 1])], "ImagePositionPatient": places @ axes.T,
            "PatientPosition": position}


def checked(image, voxel, centre):
    image = numpy.asarray(image)
    if image.ndim not in (3, 4) or not image.size:
        raise wrong(ValueError, f"image has shape {image.shape}; it must be (nz, ny, nx) or (frames, nz, ny, nx)")
    return image, sides(voxel), three(centre, "centre")


def times(image, *given):
    """Starts and durations as arrays, s; None of what is not given."""
    frames, made = len(image) if image.ndim == 4 else 1, []
    for name, values in zip(("starts", "durations"), given):
        found = None if values is None else numbers(values, name)
        if found is not None and len(found) != frames:
            raise wrong(ValueError, f"{name} has {len(found)} numbers; the image has {frames} frames")
        if found is not None and not numpy.isfinite(found).all():
            raise wrong(ValueError, f"{name} are {found.tolist()}; they must be finite, s")
        made.append(found)
    return made


def sides(voxel):
    voxel = numpy.full(3, real(voxel, "voxel")) if numpy.ndim(voxel) == 0 else three(voxel, "voxel")
    if not (voxel > 0).all():
        raise wrong(ValueError, f"voxel is {voxel.tolist()} mm; sides must be above 0")
    return voxel


def three(values, name):
    values = numbers(values, name)
    if values.shape != (3,) or not numpy.isfinite(values).all():
        raise wrong(ValueError, f"{name} is {values.tolist()}; it must be three numbers, along x, y and z")
    return values


def to_patient(position):
    """From the scanner's axes to left, back and head: a matrix whose columns are x, y, z."""
    if position not in POSITIONS:
        raise wrong(ValueError, f"position is {position!r}; it must be one of {', '.join(POSITIONS)}")
    axes = numpy.zeros((3, 3))
    for column, (axis, sign) in ((1, _DOWN[position[2:]]), (2, _IN[position[:2]])):
        axes[axis, column] = sign
    axes[:, 0] = numpy.cross(axes[:, 1], axes[:, 2])
    return axes
