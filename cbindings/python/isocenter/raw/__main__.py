"""The command `python -m isocenter.raw`."""
import argparse
import re
import sys

import numpy

import isocenter
import isocenter.raw

from ._delays import parsed, told
from ._header import Unreadable
from ._image_heads import KINDS
from ._images_file import keep_scans
from ._nifti import write_apart
from ._reconstruction import METHODS, NLINV
from ._sampling import numbers
from ._shift import WANTED
from ._shift import parsed as parsed_shift

QUOTES = ("'", '"')


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m isocenter.raw", description="Reconstructs images from an ISMRMRD file of raw MRI data.")
    parser.add_argument("file", help="ISMRMRD file (HDF5)")
    parser.add_argument("-o", "--output", help="a picture, NAME.png; images with their place, NAME.nii, NAME.nii.gz, NAME.dcm or NAME.h5 (ISMRMRD); or complex64 (frames, z, y, x), NAME.npy; without it, only what is in the file is told")
    for name in ("slice", "contrast", "phase", "repetition", "set"):
        parser.add_argument(f"--{name}", type=int, help="of the file's counter; all without it")
    parser.add_argument("--encoding", type=int, default=0, help="which of the header's encoding spaces (0)")
    parser.add_argument("--group", default="dataset", help="where in the file the data set is (dataset)")
    parser.add_argument("--kind", choices=isocenter.raw.KINDS, help="in place of the header's word for the trajectory")
    parser.add_argument("--coils", type=numbers, help="those to use, such as 0,1,4-7, counted from 0; all without it")
    parser.add_argument("--no-navigators", dest="navigators", action="store_false", help="lines of echo trains were corrected before, and are left as they are")
    parser.add_argument("--no-partial-fourier", dest="partial_fourier", action="store_false", help="no smooth phase is presumed where lines reach less far on one side of k-space")
    parser.add_argument("--trajectory", metavar="NAME.npy", help="real (readouts, samples, 2 or 3), x first, in place of the file's")
    parser.add_argument("--maps", metavar="NAME.npy", help="sensitivities, complex (coils, y, x) or (coils, z, y, x), in place of those of the calibration")
    parser.add_argument("--weights", metavar="NAME.npy", help="density weights of a frame's samples, real (samples,)")
    parser.add_argument("--whitening", metavar="NAME.npy", help="a matrix, complex (coils, coils), in place of the noise measurement; none: samples stay as they are")
    parser.add_argument("--unit", choices=isocenter.raw.UNITS, help="of the trajectory; found without it, where just one fits")
    parser.add_argument("--virtual-coils", type=int, help="the most to solve for (12, or 8 of a volume); 0: all coils")
    parser.add_argument("--calibration", type=lines, default=24, help="lines of the middle of k-space for coil sensitivities (24); nlinv: they are found together with the image, without calibration")
    parser.add_argument("--iterations", type=int, help="of the solver (15; 60 with wavelets and variation)")
    parser.add_argument("--penalty", choices=("identity", "wavelets", "variation"), default="identity", help="what images are preferred (small ones)")
    parser.add_argument("--regularisation", type=float, default=0.0, help="weight of the penalty (0); 1e-3 to 1e-2 are usual with wavelets and variation")
    parser.add_argument("--method", choices=METHODS, default="sense", help="grappa fills in Cartesian lines that were left out, every 2nd to 4th, from their neighbours; sense is of any readouts (sense)")
    parser.add_argument("--tikhonov", type=float, help="weight that keeps the kernel of GRAPPA small (1e-3)")
    parser.add_argument("--delays", default="auto", help="of gradients: auto finds them, and corrects those that are certain; keep takes the trajectory as it is; DX,DY or DX,DY,DZ in samples (auto)")
    parser.add_argument("--shift", metavar="DX,DY[,DZ]", help="by how many mm the middle of the field of view lies elsewhere, along read_dir, phase_dir and, of a volume, slice_dir: --shift=-10,2.5 (0,0)")
    parser.add_argument("--map-sets", type=int, default=1, help="sets of sensitivities: 2 where the object is larger than the field of view")
    parser.add_argument("--crop", type=float, default=0.0, help="least eigenvalue of ESPIRiT for a voxel to be shown (0.95); -1: all voxels")
    parser.add_argument("--images", choices=KINDS, help="of NAME.h5: magnitudes, or complex numbers (magnitude)")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    given = parser.parse_args(arguments)
    if given.output and not given.output.endswith((".png", ".npy", ".nii", ".nii.gz", ".dcm", ".h5")):
        parser.error(f"--output is {given.output}; it must end in .png, .nii, .nii.gz, .dcm, .h5 or .npy")
    if given.images and not (given.output or "").endswith(".h5"):
        parser.error("--images is of ISMRMRD files: --output must be NAME.h5 (of other files the name says what they have)")
    try:
        run(given)
    except (isocenter.Error, ValueError, OSError, ImportError) as e:
        sys.exit("isocenter.raw: " + in_options(str(e), parser))


def in_options(message, parser):
    """A message that asks for arguments of functions, in those of the command."""
    known = {action.dest for action in parser._actions}

    def option(match):
        name, value = match.groups()
        return f"--{name.replace('_', '-')}{' ' * (value.isalnum() or value in QUOTES)}{value}" if name in known else match[0]

    return re.sub(r"(?<!-)\b([a-z_]+)=(\S?)", option, message)


def lines(text):
    """For argparse, whose message has this function's name."""
    return text if text == NLINV else int(text)


def delays(text):
    try:
        return parsed(text)
    except ValueError:
        raise Unreadable(f"--delays is {text}; it must be auto, keep, or two or three numbers of samples along x, y and z, such as 1.5,1.5") from None


def shift(text):
    try:
        return None if text is None else parsed_shift(text)
    except ValueError:
        raise Unreadable(f"--shift is {text}; it must be {WANTED}, such as --shift=-10,2.5") from None


def array(name, path):
    """Of a file, or None."""
    if path is None:
        return None
    try:
        return numpy.load(path)
    except (OSError, ValueError) as e:
        raise Unreadable(f"--{name} is {path}, which is no array of NumPy ({e})") from None


def run(given):
    raw = isocenter.raw.read(given.file, encoding=given.encoding, group=given.group, kind=given.kind, coils=given.coils, navigators=given.navigators)
    print(raw)
    if not given.output:
        return
    if given.output.endswith(".h5"):
        keep_scans(given.output)
    words = "slice contrast phase repetition set unit virtual_coils calibration iterations penalty regularisation crop map_sets partial_fourier method tikhonov".split()
    arrays = {name: array(name, getattr(given, name)) for name in ("trajectory", "maps", "weights")}
    whitening = False if given.whitening == "none" else array("whitening", given.whitening)
    made = isocenter.raw.reconstruct(raw, context=isocenter.Context(device=given.device), whitening=whitening, delays=delays(given.delays), shift=shift(given.shift), **arrays,
                                     **{word: getattr(given, word) for word in words})
    print(f"images {made.images.shape}, voxel " + " x ".join(f"{v:.4g}" for v in made.voxel[::-1]) + " mm (x, y, z)")
    print(f"noise {'whitened' if made.whitened else 'not whitened'}, {made.virtual_coils} of {raw.coils} coils with {100 * made.energy:.2f} % of the energy, "
          f"maps {'given' if given.maps else 'found with the image' if made.calibration == NLINV else f'from {made.calibration}'}, residual {made.residual:.2g}")
    if made.partial_fourier:
        print(f"partial Fourier along {', '.join(made.partial_fourier)}: with a phase of low resolution")
    late = next((late for of_frame in made.delays for late in of_frame if late is not None), None)
    if late is not None:
        print("delays corrected: " + (told(late) if isinstance(late, isocenter.MRIDelays) else ", ".join(map(str, late)) + " samples"))
    if given.output.endswith(".png"):
        isocenter.raw.write_png(given.output, made)
    elif given.output.endswith((".nii", ".nii.gz")):
        given.output = ", ".join(write_apart(given.output, made))
    elif given.output.endswith(".dcm"):
        given.output = ", ".join(isocenter.raw.write_dicom(given.output, made))
    elif given.output.endswith(".h5"):
        isocenter.raw.write_ismrmrd(given.output, made, images=given.images or "magnitude")
    else:
        numpy.save(given.output, made.images)
    print(f"written: {given.output}")


if __name__ == "__main__":
    main()
