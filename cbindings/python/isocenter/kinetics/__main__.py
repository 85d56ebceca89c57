"""The command `python -m isocenter.kinetics`."""
import argparse
import os
import re
import sys
import warnings

import numpy

from .. import _sidecar, images
from ..errors import Error, wrong
from ..lists import _frames
from ._patlak import patlak
from ._plasma import BECQUEREL, read_plasma

_NAME = "isocenter.kinetics"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog=f"python -m {_NAME}", description="Makes Patlak images, the rate of uptake (ml/ml/min) and the intercept (ml/ml), of a series and the activity of plasma.")
    parser.add_argument("series", help="NIfTI, with the times of its frames in it or in NAME.json beside it; corrected for decay to the start of the scan")
    parser.add_argument("--plasma", required=True, metavar="FILE", help="two columns, time and activity, corrected for decay to the same time; names such as time[min] and plasma[kBq/ml] say units, else s and Bq/ml")
    parser.add_argument("--plasma-time", choices=("s", "min"), help="unit of its times, in place of what the file says")
    parser.add_argument("--plasma-unit", choices=("Bq/ml", "kBq/ml", "MBq/ml"), help="unit of its activities")
    parser.add_argument("--start", type=float, required=True, metavar="MIN", help="min; frames that begin then or later are used")
    parser.add_argument("--frames", help="in place of the series' own: counts and seconds, 12x10,6x20,5x60, or a file of starts and ends, s")
    parser.add_argument("-o", "--output", required=True, help="NAME.nii or NAME.nii.gz, of the rate; NAME_intercept and NAME_mask beside it, of the intercept and of where the fit was made")
    given = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            written = _make(given)
        for warning in caught:
            print(f"{_NAME}: {warning.message}", file=sys.stderr)
        print(f"written: {', '.join(written)}")
    except (Error, ValueError, OSError, ImportError) as e:
        sys.exit(f"{_NAME}: {_as_options(str(e))}")


def _as_options(words):
    """What an exception says but for the function that was called, of the command's options."""
    words = re.sub(r"^[\w.]+: ", "", words)
    return words.replace("pass time,", "give --plasma-time,").replace("pass unit,", "give --plasma-unit,")


def _make(given):
    ending = next((ending for ending in (".nii.gz", ".nii") if given.output.endswith(ending)), None)
    if ending is None:
        raise wrong(ValueError, f"output is {given.output}; it must end in .nii or .nii.gz")
    series = images.read_nifti(given.series)
    if series.image.ndim != 4:
        raise wrong(ValueError, f"{given.series} is one volume; it must be a series of frames")
    if _sidecar.read(given.series).get("ImageDecayCorrected") is False:
        raise wrong(ValueError, f"{_sidecar.beside(given.series)} says that the series is not corrected for decay: correct it, and the plasma, to the same time")
    plasma = read_plasma(given.plasma, given.plasma_time, given.plasma_unit)
    plasma[:, 1] /= _unit(series, given.series)
    found = patlak(series.image, _times(series, given), plasma, given.start)
    print(f"frames: {len(found.frames)} of {len(series.image)}, {found.frames[0]} to {found.frames[-1]}")
    stem, written = given.output[:-len(ending)], []
    for name, image, unit in (("", found.ki, "ml/ml/min"), ("_intercept", found.intercept, "ml/ml"), ("_mask", found.mask.astype(numpy.uint8), "")):
        written.append(stem + name + ending)
        images.write_nifti(written[-1], image, series.voxel, series.centre, unit=unit, description=f"Patlak{name.replace('_', ' ')} from {given.start:g} min")
    return written


def _times(series, given):
    if given.frames:
        return _frames.read(given.frames)
    if series.starts is None:
        raise wrong(ValueError, f"{given.series} does not say the times of its frames: give --frames, or {os.path.basename(_sidecar.beside(given.series))} beside it with FrameTimesStart and FrameDuration")
    return numpy.stack([series.starts, series.starts + series.durations], axis=1)


def _unit(series, name):
    """Of the series in Bq/ml, 1 where it does not say."""
    unit = series.unit or _sidecar.read(name).get("Units", "")
    if unit and str(unit).lower() not in BECQUEREL:
        raise wrong(ValueError, f"{name} is in {unit}; it must be an activity, such as Bq/ml")
    return BECQUEREL[str(unit).lower()] if unit else 1.0


if __name__ == "__main__":
    main()
