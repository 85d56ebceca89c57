"""Images with their geometry: NIfTI, Interfile and DICOM files.

>>> import isocenter.images
>>> isocenter.images.write_nifti("image.nii.gz", image, 4.0, unit="Bq/ml")     # (nz, ny, nx) of 4 mm
>>> map = isocenter.images.read_nifti("map.nii.gz")                            # map.image (z, y, x), map.voxel, map.centre, map.unit

Arrays are (nz, ny, nx), or (frames, nz, ny, nx), as PET has them: voxel j of an axis of N lies at ``(j - (N - 1) / 2)`` voxels from the image's centre, and that
at `centre` in the scanner's frame, mm. `voxel` and `centre` are x, y, z.

**Scanner's axes and the patient's.** The library knows the scanner's axes alone. Files with anatomical directions take y to go down, towards the
floor, z the way that the bed goes into the scanner, and x to the right of who looks that way. So of a patient who lies head first and supine,
`position` "HFS", x goes to the left, y to the back and z to the head: the scanner's frame is then DICOM's, and NIfTI's, whose axes go to the
right, front and head, has x and y the other way round. Origins are the same, the middle of the scanner. The other positions are DICOM's, too:

=========  ==================  =======================
position   the patient lies    x, y, z go to the
=========  ==================  =======================
HFS, HFP   head first          left, back, head; right, front, head
FFS, FFP   feet first          right, back, feet; left, front, feet
HFDR       on the right side   back, right, head
HFDL       on the left side    front, left, head
FFDR       on the right side   front, right, feet
FFDL       on the left side    back, left, feet
=========  ==================  =======================

NIfTI files need the package nibabel, ``pip install isocenter[nifti]``, DICOM files pydicom, ``pip install isocenter[dicom]``.
"""
import collections
import os

import numpy

from . import _sidecar
from ._dicom_image import write_dicom
from ._isotopes import ELEMENTS
from ._places import POSITIONS, checked, dicom_geometry, times, to_patient
from .errors import wrong

__all__ = ["POSITIONS", "Volume", "dicom_geometry", "read_nifti", "write_dicom", "write_interfile", "write_nifti"]

#: Axes off an array's by more than so many voxels at its corners are rotated.
_ROTATED = 0.1
_TYPES = ("uint8", "int16", "int32", "float32", "float64")
_MILLIMETRES = {"mm": 1.0, "unknown": 1.0, "meter": 1000.0, "micron": 0.001}
_SECONDS = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6}
#: Frames whose durations and ends deviate by less, s, are alike and without gaps.
_ALIKE = 1e-3
# STIR's words for DICOM's: orientation and rotation.
_ORIENTATION = {"HF": "head_in", "FF": "feet_in"}
_ROTATION = {"S": "supine", "P": "prone", "DR": "right", "DL": "left"}


Volume = collections.namedtuple("Volume", "image voxel centre unit starts durations", defaults=((0.0, 0.0, 0.0), "", None, None))
Volume.__doc__ = """An image and its place: `image` (nz, ny, nx), of a series (frames, nz, ny, nx); `voxel` its sides and `centre` that of its middle in the scanner's frame, x, y, z
in mm; `unit` of its values, "" where it is not known; `starts` and `durations` of its frames, (frames,) each, s, None where they are not known."""


def write_nifti(path, image, voxel, centre=(0.0, 0.0, 0.0), *, unit="", description="", position="HFS", starts=None, durations=None,
                sidecar=None):
    """Writes a NIfTI file, .nii or .nii.gz; of a series with times NAME.json beside it, too, since NIfTI has no place for those that are not alike or have gaps.

    Parameters
    ----------
    path : path
    image : array
        (nz, ny, nx), or (frames, nz, ny, nx), of float32, float64, uint8, int16 or int32, stored as it is.
    voxel : float or sequence of float
        Its sides, mm: one number, or x, y, z.
    centre : sequence of float
        x, y, z of the image's centre in the scanner's frame, mm.
    unit : str
        Of the values, 15 letters at most: the file's intent name, and the end of its description.
    description : str
        With the unit 79 letters at most.
    position : str
        The patient's, one of `POSITIONS`: it says which anatomical directions the scanner's axes are.
    starts, durations : sequence of float, optional
        Of each frame, s from the start of the scan.
    sidecar : dict, optional
        Other fields of NAME.json, which is then written anyway; those of PET-BIDS, for one.

    Raises
    ------
    ImportError
        Without the package nibabel.
    TypeError, ValueError
        Where an argument is none of these.
    """
    nibabel = nibabel_package()
    image, voxel, centre = checked(image, voxel, centre)
    if image.dtype.name not in _TYPES:
        raise wrong(TypeError, f"image is {image.dtype}; it must be one of {', '.join(_TYPES)}")
    text = f"{description} {f'[{unit}]' if unit else ''}".strip()
    for name, words, most in (("unit", unit, 15), ("description", text, 79)):
        if len(words.encode()) > most:
            raise wrong(ValueError, f"{name} is {words!r}; NIfTI has {most} letters for it, its unit included")
    starts, durations = times(image, starts, durations)
    file = nibabel.Nifti1Image(image.transpose(*range(image.ndim)[::-1]), _affine(image.shape[-3:], voxel, centre, position))
    file.header.set_xyzt_units("mm", "sec")
    file.header["descrip"], file.header["intent_name"], file.header["toffset"] = text.encode(), unit.encode(), 0.0 if starts is None else starts[0]
    alike = starts is not None and durations is not None and _are_alike(starts, durations)
    file.header["pixdim"][4] = durations[0] if alike else 0.0
    file.set_qform(file.affine, "scanner")
    file.set_sform(file.affine, "scanner")
    nibabel.save(file, os.fspath(path))
    if sidecar is not None or image.ndim == 4 and (starts is not None or durations is not None):
        _sidecar.write(path, sidecar or {}, starts, durations)


def read_nifti(path, *, position="HFS"):
    """Reads a NIfTI file of a volume, or a series of them, whose axes are the scanner's, in any order and direction.

    Parameters
    ----------
    path : path
    position : str
        The patient's, one of `POSITIONS`.

    Returns
    -------
    Volume
        Of float32, its axes turned and flipped to be the scanner's. The unit is the file's intent name. Times of frames are those of FrameTimesStart and FrameDuration
        in NAME.json beside the file, as PET-BIDS has them, else of the header, where it has a unit of time and a step.

    Raises
    ------
    ImportError
        Without the package nibabel.
    ValueError
        Of a file that is no NIfTI file, has more than four axes, says nothing of its place, or whose axes are rotated; of a NAME.json with other frames.
    """
    nibabel = nibabel_package()
    try:
        file = nibabel.load(os.fspath(path))
    except nibabel.filebasedimages.ImageFileError as e:
        raise wrong(ValueError, f"{path} is no NIfTI file: {e}") from None
    if not isinstance(file, nibabel.Nifti1Pair):
        raise wrong(ValueError, f"{path} is no NIfTI file, but {type(file).__name__}")
    if file.ndim < 3 or numpy.prod(file.shape[4:]) != 1 or not numpy.prod(file.shape):
        raise wrong(ValueError, f"{path} has shape {file.shape}; it must be a volume, x, y, z, or a series, x, y, z, frames")
    if not (file.header["qform_code"] or file.header["sform_code"]):
        raise wrong(ValueError, f"{path} has neither qform nor sform, and so no directions: give it one, or pass an isocenter.images.Volume")
    metres = _MILLIMETRES[file.header.get_xyzt_units()[0]]
    matrix = _to_nifti(position).T @ file.affine[:3, :3] * metres  # from voxels to the scanner's axes
    order = numpy.abs(matrix).argmax(axis=1)  # of the file's axes, for x, y and z
    sides = numpy.linalg.norm(matrix, axis=0)
    off = matrix * (numpy.array(file.shape[:3]) - 1)
    off[range(3), order] = 0
    if sorted(order) != [0, 1, 2] or (numpy.abs(off) > _ROTATED * sides.min()).any():
        rows = ", ".join(str([round(float(v), 3) for v in row]) for row in matrix)
        raise wrong(ValueError, f"{path} has axes that are rotated against the scanner's ({rows} mm a voxel): resample it to straight axes first")
    frames = int(numpy.prod(file.shape[3:]))
    image = numpy.asarray(file.dataobj, numpy.float32).reshape(*file.shape[:3], frames)
    middle = file.affine @ [*(n / 2 - 0.5 for n in file.shape[:3]), 1]
    centre = _to_nifti(position).T @ middle[:3] * metres
    image = image.transpose(3, *order[::-1])
    image = image[(slice(None), *(slice(None, None, 1 if matrix[axis, order[axis]] > 0 else -1) for axis in (2, 1, 0)))]
    unit = file.header["intent_name"].item().decode(errors="replace").strip("\0 ")
    image = numpy.ascontiguousarray(image if frames > 1 else image[0])
    return Volume(image, tuple(float(v) for v in sides[order]), tuple(float(v) for v in centre), unit, *_read_times(path, file.header, frames))


def write_interfile(path, image, voxel, centre=(0.0, 0.0, 0.0), *, unit="", position="HFS", starts=None, durations=None, isotope=None,
                    half_life=None, branching=None, scanner=None):
    """Writes an Interfile header, NAME.hv, and its data, NAME.v, float32 in little endian, x fastest, with the keys of STIR.

    Parameters
    ----------
    path : path
        Of the header; it must end in .hv.
    image, voxel, centre
        As for `write_nifti`; of any real type. Offsets of the first pixel are in the scanner's frame.
    unit : str
        Of the values: a comment, since `quantification units` is a number to readers, a factor of the values, 1.
    position : str
        The patient's, one of `POSITIONS`.
    starts, durations : sequence of float, optional
        Of each frame, s from the start of the scan.
    isotope : str, optional
        Such as "F-18".
    half_life, branching : float, optional
        s; part of the decays that send positrons.
    scanner : str, optional
        Its name.

    Raises
    ------
    ValueError
    """
    image, voxel, centre = checked(image, voxel, centre)
    _to_nifti(position)
    text = os.fspath(path)
    if not text.endswith(".hv"):
        raise wrong(ValueError, f"path is {text}; an Interfile header must end in .hv")
    starts, durations = times(image, starts, durations)
    frames = len(image) if image.ndim == 4 else 1
    data = text[:-3] + ".v"
    volume = image.shape[-3] * image.shape[-2] * image.shape[-1] * 4
    lines = ["!INTERFILE :=", f"; values are in {unit}" * bool(unit), f"name of data file := {os.path.basename(data)}", "!GENERAL DATA :=",
             f"originating system := {scanner}" * bool(scanner), "!imaging modality := PT",
             f"patient orientation := {_ORIENTATION[position[:2]]}", f"patient rotation := {_ROTATION[position[2:]]}",
             *_radionuclide(isotope, half_life, branching),
             "!GENERAL IMAGE DATA :=", "!type of data := PET", "imagedata byte order := LITTLEENDIAN", "!PET STUDY (General) :=",
             "!PET data type := Image", "process status := Reconstructed", "!number format := float", "!number of bytes per pixel := 4",
             "number of dimensions := 3"]
    for k, (axis, n, side, middle) in enumerate(zip("xyz", image.shape[:-4:-1], voxel, centre), 1):
        lines += [f"matrix axis label [{k}] := {axis}", f"!matrix size [{k}] := {n}", f"scaling factor (mm/pixel) [{k}] := {side:.9g}",
                  f"first pixel offset (mm) [{k}] := {middle - (n - 1) / 2 * side:.9g}"]
    lines += [f"number of time frames := {frames}"]
    for k in range(frames):
        lines += [f"image duration (sec)[{k + 1}] := {durations[k]:.9g}" if durations is not None else "",
                  f"image relative start time (sec)[{k + 1}] := {starts[k]:.9g}" if starts is not None else "",
                  f"image scaling factor[{k + 1}] := 1", f"data offset in bytes[{k + 1}] := {k * volume}"]
    lines += ["quantification units := 1", "!END OF INTERFILE :="]
    with open(data, "wb") as file:
        file.write(image.astype("<f4").tobytes())
    with open(text, "w", encoding="ascii", errors="replace", newline="\n") as file:
        file.write("\n".join(filter(None, lines)) + "\n")


def nibabel_package():
    """The package nibabel, which only NIfTI files need."""
    try:
        import nibabel
    except ImportError as e:
        raise wrong(ImportError, "NIfTI files need the package nibabel: pip install isocenter[nifti], or pip install nibabel") from e
    return nibabel


def _are_alike(starts, durations):
    """Whether frames follow each other, and last the same, so that a start and a step tell all of them."""
    return bool((abs(durations - durations[0]) < _ALIKE).all() and (abs(numpy.diff(starts) - durations[0]) < _ALIKE).all())


def _read_times(path, header, frames):
    """Starts and durations of a file's frames."""
    # What is beside one volume may be of the series that it was made of.
    starts, durations = _sidecar.times(_sidecar.beside(path), _sidecar.read(path), frames if frames > 1 else None)
    if starts is not None and len(starts) != frames:
        starts = durations = None
    unit, step = _SECONDS.get(header.get_xyzt_units()[1]), float(header["pixdim"][4])
    if starts is None and unit and step > 0:
        starts, durations = unit * (float(header["toffset"]) + step * numpy.arange(frames)), numpy.full(frames, unit * step)
    return starts, durations


def _to_nifti(position):
    """From the scanner's axes to right, front and head."""
    return numpy.diag([-1.0, -1.0, 1.0]) @ to_patient(position)


def _affine(shape, voxel, centre, position):
    affine = numpy.eye(4)
    affine[:3, :3] = _to_nifti(position) * voxel
    affine[:3, 3] = _to_nifti(position) @ (centre - (numpy.array(shape[::-1]) - 1) / 2 * voxel)
    return affine


def _radionuclide(isotope, half_life, branching):
    """Lines of what is known of it, "F-18" as STIR's and DICOM's ^18^Fluorine."""
    if not (isotope or half_life or branching):
        return
    symbol, _, mass = (isotope or "").partition("-")
    yield "number of radionuclides := 1"
    if isotope:
        yield f"radionuclide name[1] := {f'^{mass}^{ELEMENTS[symbol]}' if symbol in ELEMENTS else isotope}"
    if half_life:
        yield f"radionuclide halflife (sec)[1] := {half_life:.9g}"
    if branching:
        yield f"radionuclide branching factor[1] := {branching:.9g}"
