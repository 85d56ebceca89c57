"""The gantry's place against a reference."""
import numpy

from ..errors import wrong

#: A gantry that is turned by less, radians, is not: over 1 m that is 1 mm.
_TURNED = 1e-3


def shift(alignment):
    """From the scanner to the reference of the file's gantry alignment: x, y, z, mm."""
    if alignment is None:
        return numpy.zeros(3)
    if alignment.shape != (3, 4):
        raise wrong(ValueError, f"the file's gantry alignment has shape {alignment.shape}; it must be (3, 4)")
    angle = float(numpy.linalg.norm(alignment[:, :3] - numpy.eye(3))) / 2 ** 0.5
    if angle > _TURNED:
        raise wrong(ValueError, f"the file's gantry alignment turns by {numpy.degrees(angle):.2g} degrees, and shifts alone can be applied: resample the map of attenuation to "
                                "the scanner's axes, and pass alignment=False (--no-alignment)")
    return alignment[:, 3]
