"""The command `python -m isocenter.petsird`."""
import argparse
import os
import re
import shlex
import sys
import warnings

import isocenter
import isocenter.images
import isocenter.petsird

from . import _exam, _file, _report
from ._quantify import written


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m isocenter.petsird", description="Reconstructs the activity in Bq/ml from a PETSIRD file of list-mode events.")
    parser.add_argument("file", help="PETSIRD file")
    parser.add_argument("-o", "--output", help="NAME.nii, NAME.nii.gz, NAME.hv (Interfile) or NAME.npy; without it, only what is in the file is told")
    parser.add_argument("--report", help="a page about it, NAME.html; without it beside the output")
    parser.add_argument("--attenuation", help="map of attenuation, NIfTI")
    parser.add_argument("--unit", choices=isocenter.petsird.UNITS, help="of the map; without it what the file names, else 1/mm")
    parser.add_argument("--kilovolts", type=float, default=120.0, help="of the CT, for HU (120)")
    parser.add_argument("--map-centre", type=float, nargs=3, metavar=("X", "Y", "Z"), help="of the map in the scanner's frame, mm; as the file says without it")
    parser.add_argument("--isotope", help="such as F-18 or Ga-68, one of DICOM's context group 4020; without it the file's, else F-18")
    parser.add_argument("--half-life", type=float, help="s; the isotope's without it")
    parser.add_argument("--branching", type=float, help="part of the decays that send positrons; the isotope's without it")
    parser.add_argument("--live", type=float, default=1.0, help="part of the time in which the scanner was ready (1)")
    parser.add_argument("--delay", type=float, default=0.0, help="s from the time that the activity is told at to the start of the scan (0)")
    parser.add_argument("--calibration", type=float, default=1.0, help="by which the image is multiplied (1)")
    parser.add_argument("--frame", type=float, nargs=2, action="append", metavar=("START", "END"), help="s; once for each frame; one of the whole scan without it")
    parser.add_argument("--voxel", type=float, default=4.0, help="mm (4)")
    parser.add_argument("--size", type=int, help="voxels along x and y; without it as far as the map reaches, 0.7 of the scanner's diameter at most")
    parser.add_argument("--slices", type=int, help="voxels along z; the scanner's length without it")
    parser.add_argument("--azimuths", type=int, help="of views; by the resolution in space and time without it")
    parser.add_argument("--tilts", type=int, help="of views; likewise")
    parser.add_argument("--max-tilt", type=float, help="of events, radians; from end to end of the scanner without it")
    parser.add_argument("--tof-fwhm", type=float, help="of the time difference, ps; the file's without it")
    parser.add_argument("--resolution", type=float, help="of lines across, full width at half maximum, mm; by the crystals without it")
    parser.add_argument("--depth", type=float, help="mm behind crystals' inner faces where photons are detected on average; their middles without it")
    parser.add_argument("--no-randoms", action="store_true", help="there are none, and the file needs no delays")
    parser.add_argument("--scatter", type=int, default=3, metavar="TIMES", help="that it is made of an image (3); 0: none")
    parser.add_argument("--algorithm", choices=("svrg", "bsrem", "osem", "mlem"), default="svrg", help="(svrg)")
    parser.add_argument("--iterations", type=int, help="passes at most (20, 40, 4, 40)")
    parser.add_argument("--smoothness", type=float, default=0.02, help="of svrg and bsrem (0.02): 0.05 weighs neighbours as much as a voxel's own counts; 0: none")
    parser.add_argument("--position", choices=isocenter.images.POSITIONS, help="the patient's; without it the file's, else HFS (head first supine)")
    parser.add_argument("--no-alignment", action="store_true", help="the map is in the scanner's frame, and so is the image: the file's gantry alignment is not applied")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    given = parser.parse_args(arguments)
    command = "python -m isocenter.petsird " + shlex.join(sys.argv[1:] if arguments is None else arguments)
    try:
        if given.output:
            written(given.output)
        run(given, command)
    except (isocenter.Error, ValueError, OSError, ImportError) as e:
        words = re.sub(r"^\w+: ", "", str(e))  # of the function's name
        sys.exit(f"isocenter.petsird: {words}")


def run(given, command):
    tell(given.file)
    if not given.output:
        return
    words = ("attenuation unit kilovolts map_centre isotope half_life branching live delay calibration voxel size slices azimuths tilts max_tilt tof_fwhm resolution depth "
             "scatter algorithm iterations smoothness position").split()
    heard = []
    context = isocenter.Context(device=given.device, log=lambda level, message: heard.append(message.removeprefix("main: ")) if level == 1 else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are told below
        made = isocenter.petsird.quantify(given.file, frames=given.frame, randoms=not given.no_randoms, alignment=not given.no_alignment, context=context,
                                          **{word: getattr(given, word) for word in words})
    made.doubts += heard
    for words in made.doubts:
        print(f"isocenter.petsird: {words}", file=sys.stderr)
    for name, value in {"isotope": made.isotope.name, **made.settings}.items():
        if value:
            print(f"{name}: {value}")
    for row in _report.numbers(made):
        print("\n".join(f"{name}: {value}" for name, value in row.items()))
    made.write(given.output)
    report = given.report or given.output[:-len(written(given.output))] + ".html"
    made.write_report(report, command)
    print(f"written: {given.output}, {report}")


def tell(path):
    """What a file's header has."""
    with _file.open_file(path) as reader, reader.understood():
        header = reader.read_header()
        scanner, said, version = _file.scanner_of(header), _exam.said_by(header), reader.version
    isotope = said.isotope.name if said.isotope else f"{said.nuclide} (not known)" if said.nuclide else "not named"
    lies = f", patient {said.position or said.lies}" if said.lies else ""
    print(f"{os.path.basename(path)}: {scanner.model}, {len(scanner.positions)} crystals of {scanner.crystal_width:.3g} x {scanner.crystal_height:.3g} mm, "
          f"{len(scanner.time_edges) - 1} time bins of {scanner.time_edges[0]:.4g} to {scanner.time_edges[-1]:.4g} ps, "
          f"{'' if scanner.efficiencies is not None else 'no '}efficiencies, isotope {isotope}{lies}, PETSIRD {version or 'of a version that is not known'}")


if __name__ == "__main__":
    main()
