"""Shifts of the field of view, in mm along the image's x, y and z."""
import numpy

from ..errors import wrong
from ..shifts import shift_samples

NONE = (0.0, 0.0, 0.0)
WANTED = "two numbers in mm, along read_dir and phase_dir, or three of a volume, along slice_dir, too"


def checked(shift, encoded):
    """A caller's, as three numbers, of images whose encoding is this `Space`."""
    if shift is None:
        return NONE
    values = numpy.asarray(shift)
    if values.dtype.kind not in "fiu" or values.shape not in ((2,), (3,)) or not numpy.isfinite(values).all():
        raise wrong(ValueError, f"shift is {shift!r}; it must be {WANTED}")
    found = tuple(float(v) for v in values) + (0.0,) * (3 - len(values))
    if encoded.shape[0] == 1 and found[2]:
        raise wrong(ValueError, f"shift is {found}, but a plane lies where it was excited; it must be two numbers in mm, along read_dir and phase_dir")
    for name, mm, field in zip("xyz", found, encoded.field_of_view[::-1]):
        if abs(mm) >= field:
            raise wrong(ValueError, f"shift is {mm:g} mm along {name}, where the encoded field of view is {field:g} mm: nothing of it would be left")
    return found


def parsed(text):
    """Of a text such as 10,-2.5."""
    return [float(part) for part in text.split(",")]


def along(line, x, voxels):
    """A line (coils, n) moved along x by so many voxels, of samples at places x in cycles per voxel."""
    return shift_samples(line, x[:, None], [voxels], unit="cycles_per_voxel")
