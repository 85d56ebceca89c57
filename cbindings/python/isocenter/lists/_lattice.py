"""Lattice, views and response for a scanner and a map of attenuation."""
import collections
import math

import numpy

from ..errors import wrong
from ..pet import PET
from ._scanner import FWHM, HALF_LIGHT

#: The largest lattice across, over the scanner's diameter: the square in the circle.
_ACROSS = 0.7
#: What photons that are not quite opposite add to the line's width at its middle, full width at half maximum over the diameter.
_NONCOLLINEAR = 0.0022
#: The time's width along lines over the lattice's side, at most: kernels have to fit it.
_ALONG = 0.75
#: A view's part of all directions, in widths of the line over that of the time along it: what is off within a view blurs a tenth of the line's width.
_STEP = 1.25

#: Along lines, views are what the sensitivity is a sum over, and scatter is made in.
_AZIMUTHS, _TILT = 20, 0.08
#: Which events are counted where: in histo-images, or as lines.
PROJECTORS = ("histo-images", "lines")

Lattice = collections.namedtuple("Lattice", "shape voxel centre azimuths tilts max_tilt tof_fwhm width projector")
Lattice.__doc__ = """`shape` (nz, ny, nx); `voxel` mm; `centre` x, y, z in the scanner's frame, mm; views; the response: `tof_fwhm` ps, 0 of none, `width` radial and axial, mm; and the `projector`, one of
PROJECTORS."""


def choose(scanner, map, *, voxel, size, slices, azimuths, tilts, max_tilt, tof_fwhm, resolution, projector):
    """What is given as it is, and the rest of the scanner and the map."""
    place = scanner.positions
    low, high = place[:, 2].min() - scanner.crystal_height / 2, place[:, 2].max() + scanner.crystal_height / 2
    radii = numpy.hypot(place[:, 0], place[:, 1])
    diameter, length = 2 * float(numpy.median(radii)), float(high - low)
    centre = (0.0, 0.0, float(low + high) / 2)
    if not voxel > 0:
        raise wrong(ValueError, f"voxel is {voxel} mm; it must be above 0")
    if projector is not None and projector not in PROJECTORS:
        raise wrong(ValueError, f"projector is {projector!r}; it must be one of {', '.join(PROJECTORS)}")
    if not scanner.has_times:
        tof_fwhm = 0.0
    elif not tof_fwhm and not scanner.tof_fwhm > 0:
        raise wrong(ValueError, "the file does not say its resolution of time: pass tof_fwhm, ps")
    else:
        tof_fwhm = tof_fwhm or _blurred(scanner.tof_fwhm, scanner.bin_fwhm)
    # Both ends, each of a photon's own place in the crystal and of the event's.
    crystal = FWHM * max(scanner.crystal_width, scanner.crystal_height) / math.sqrt(12)
    width = resolution or _blurred(crystal, _NONCOLLINEAR * diameter)
    # Within all crystals, of which some may be nearer.
    reach = min(_ACROSS * diameter, math.sqrt(2) * float(radii.min()))
    if map is not None:
        reach = min(reach, *(2 * r for r in _reaches(map, centre)[:2]))
    slices, size = slices or max(1, round(length / voxel)), size or int(reach / voxel + 1e-6)
    if size < 1:
        raise wrong(ValueError, f"the map of attenuation reaches {reach:.4g} mm about the scanner's axis: its centre, {map.centre} mm, may be in another frame")
    along = tof_fwhm * HALF_LIGHT
    too_long = along > _ALONG * size * voxel
    if projector is None:
        projector = PROJECTORS[not scanner.has_times or scanner.has_widths or too_long]
    if projector == "histo-images":
        _check_times(scanner)
        if too_long:
            raise wrong(ValueError, f"a time resolution of {tof_fwhm:.4g} ps places events to {along:.4g} mm along their lines, and the lattice is {size * voxel:.4g} mm: take a larger one (size, "
                                    f"{math.ceil(along / _ALONG / voxel)} voxels at least), or lines as the projector")
        max_tilt = max_tilt or math.atan(length / diameter)
        step = _STEP * max(width, voxel) / along
        azimuths = azimuths or max(8, math.ceil(math.pi / step))
        tilts = tilts or 2 * math.floor(max_tilt / step) + 1  # an odd number: one of them is 0
    else:
        # Of all lines that cross the circle within the lattice.
        chord = 2 * math.sqrt(max((diameter / 2) ** 2 - (size * voxel / 2) ** 2, (0.1 * diameter) ** 2))
        max_tilt = max_tilt or min(1.3, math.atan(length / chord))
        azimuths, tilts = azimuths or _AZIMUTHS, tilts or 2 * math.floor(max_tilt / _TILT) + 1
    made = Lattice((slices, size, size), float(voxel), centre, azimuths, tilts, max_tilt, tof_fwhm, width, projector)
    if map is not None:
        _check(map, made)
    return made


def plan(context, scanner, lattice):
    """A PET plan; crystals are about the lattice's centre."""
    nz, ny, nx = lattice.shape
    pet = PET(context, nx=nx, ny=ny, nz=nz, voxel_x=lattice.voxel, azimuths=lattice.azimuths, tilts=lattice.tilts, max_tilt=lattice.max_tilt)
    pet.set_response(tof_fwhm=lattice.tof_fwhm, radial_fwhm=lattice.width, axial_fwhm=lattice.width)
    scanner.set_on(pet, lattice.centre)
    return pet


def _check_times(scanner):
    """What histo-images are not of."""
    if not scanner.has_times:
        raise wrong(ValueError, f"the scanner has no time of flight, one time bin of {numpy.ptp(scanner.time_edges):.4g} ps: where along its line an event was is not told, without which "
                                f"histo-images cannot be filled; take lines as the projector")
    if scanner.has_widths:
        raise wrong(ValueError, "pairs of modules have times that differ in how exact they are, and histo-images have one width: take lines as the projector")


def _blurred(*widths):
    return math.sqrt(sum(w * w for w in widths))


def _reaches(map, centre):
    """How far a map reaches from a place along x, y and z, either way, mm."""
    return [side * n / 2 - abs(at - middle) for side, n, at, middle in zip(map.voxel, map.image.shape[::-1], map.centre, centre)]


def _check(map, lattice):
    """Where there is no map nothing attenuates, of which the image would not tell."""
    for axis, reach, n in zip("xyz", _reaches(map, lattice.centre), lattice.shape[::-1]):
        if 2 * reach < (n - 1) * lattice.voxel:
            raise wrong(ValueError, f"the map of attenuation reaches {reach:.4g} mm either way along {axis}, the lattice {n * lattice.voxel / 2:.4g} mm: pad the map "
                                    f"with what is there, or choose a smaller lattice (size, slices)")
