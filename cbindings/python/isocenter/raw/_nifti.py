"""NIfTI files of images, with their place in the patient."""
import os

import numpy

from ..errors import wrong
from ..images import nibabel_package

# NIfTI's axes go to the right, front and head; the format's directions to the left, back and head.
TO_NIFTI = numpy.diag([-1.0, -1.0, 1.0, 1.0])


def write_nifti(path, made):
    """Writes magnitudes as a NIfTI file, .nii or .nii.gz: float32 (x, y, z), or (x, y, z, frames), with the affine map of the scanner's
    coordinates; without one, and with sizes alone, where the file knows no directions.

    Parameters
    ----------
    path : path
    made : Reconstruction

    Raises
    ------
    ImportError
        Without the package nibabel: ``pip install isocenter[nifti]``.
    ValueError
        Where slices or frames have several affine maps, of which a NIfTI file has one.
    """
    nibabel = nibabel_package()
    if not os.fspath(path).endswith((".nii", ".nii.gz")):
        raise wrong(ValueError, f"path is {os.fspath(path)}; it must end in .nii or .nii.gz")
    affine = TO_NIFTI @ made.affine
    known = abs(numpy.linalg.det(affine[:3, :3])) > 0
    images = numpy.abs(made.images).transpose(3, 2, 1, 0)
    file = nibabel.Nifti1Image(images if images.shape[3] > 1 else images[..., 0], affine if known else None)
    file.header.set_xyzt_units("mm", "sec")
    if known:
        file.set_sform(affine, "scanner")
        file.set_qform(affine, "scanner", strip_shears=True)
    else:
        file.header["pixdim"][1:4] = made.voxel[::-1]
    nibabel.save(file, os.fspath(path))


def write_apart(path, made):
    """As `write_nifti`, or, where images have no one affine map, a file of each slice, NAME_slice0.nii and so on, and of each frame of it that lies elsewhere
    than the first, NAME_slice0_frame1.nii. Returns the paths."""
    text = os.fspath(path)
    stem, ending = (text[:-7], ".nii.gz") if text.endswith(".nii.gz") else (text[:-4], ".nii")
    try:
        made.affine
    except ValueError:
        alike = numpy.abs(made.affines - made.affines[:1]).max() <= 1e-3
        frames = [("", slice(None))] if alike else [(f"_frame{f}", slice(f, f + 1)) for f in range(len(made.frames))]
        several = [(f"{stem}_slice{number}{name}{ending}", f, z) for z, number in enumerate(made.slices) for name, f in frames]
        volume = made.affines.shape[1] != made.images.shape[1]
        for name, f, z in several:
            which = slice(None) if volume else slice(z, z + 1)
            write_nifti(name, made._replace(images=made.images[f, which], affines=made.affines[f, z:z + 1], frames=made.frames[f], slices=made.slices[z:z + 1]))
        return [name for name, _, _ in several]
    write_nifti(path, made)
    return [text]
