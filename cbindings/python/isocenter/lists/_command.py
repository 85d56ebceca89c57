"""What the commands of lists have in common."""
import argparse
import os
import re
import shlex
import sys
import warnings

import isocenter
import isocenter.images

from .. import _dicom_image
from ..errors import wrong
from . import _report
from ._attenuation import UNITS
from ._lattice import PROJECTORS
from ._quantified import written
from ._quantify import quantify


def run(name, what, arguments, opened, more=None):
    """`python -m NAME FILE`, where `what` is the file, `opened` of what was given the list, and `more` adds options to the parser."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=f"Reconstructs the activity in Bq/ml from {what}.")
    parser.add_argument("file", help=what)
    parser.add_argument("-o", "--output", help="NAME.nii, NAME.nii.gz, NAME.hv (Interfile), NAME.dcm (DICOM) or NAME.npy; without it, only what is in the file is told")
    parser.add_argument("--report", help="a page about it, NAME.html; without it beside the output")
    parser.add_argument("--dicom-like", metavar="FILE", help="of DICOM: a file of the same patient and study, such as a slice of the CT, whose patient, study and frame of reference are taken; of "
                        "a PET image also what was injected, and when the scan began")
    parser.add_argument("--acquired", metavar="TIME", help="of DICOM: when the scan began, 2026-11-30T10:15:00")
    parser.add_argument("--attenuation", help="map of attenuation, NIfTI")
    parser.add_argument("--unit", choices=UNITS, help="of the map; without it what the file names, else 1/mm")
    parser.add_argument("--kilovolts", type=float, default=120.0, help="of the CT, for HU (120)")
    parser.add_argument("--map-centre", type=float, nargs=3, metavar=("X", "Y", "Z"), help="of the map in the scanner's frame, mm; as the file says without it")
    parser.add_argument("--isotope", help="such as F-18 or Ga-68, one of DICOM's context group 4020; without it the file's, else F-18")
    parser.add_argument("--half-life", type=float, help="s; the isotope's without it")
    parser.add_argument("--branching", type=float, help="part of the decays that send positrons; the isotope's without it")
    parser.add_argument("--live", type=float, help="part of the time in which the scanner was ready; without it as the file's dead times say, else 1")
    parser.add_argument("--delay", type=float, default=0.0, help="s from the time that the activity is told at to the start of the scan (0)")
    parser.add_argument("--calibration", type=float, default=1.0, help="by which the image is multiplied (1)")
    parser.add_argument("--frame", type=float, nargs=2, action="append", metavar=("START", "END"), help="s; once for each frame; one of the whole scan without it")
    parser.add_argument("--frames", help="all of them: counts and seconds, 12x10,6x20,5x60, or a file of starts and ends, s (a text, .npy or PET-BIDS's .json)")
    parser.add_argument("--gates", metavar="FILE", help="an image of each gate: start, end, s, and gate in each line, or triggers, s (a text or .npy)")
    parser.add_argument("--gate-count", type=int, metavar="N", help="into how many gates the time between two triggers is divided")
    parser.add_argument("--motion", metavar="FILE", help="how the patient moved: in each line the start, s, and x, y, z, mm, and angles about x, y, z, degrees, or a matrix of 3 x 4, to the "
                        "reference position, in which the map is")
    parser.add_argument("--voxel", type=float, default=4.0, help="mm (4)")
    parser.add_argument("--size", type=int, help="voxels along x and y; without it as far as the map reaches, 0.7 of the scanner's diameter at most")
    parser.add_argument("--slices", type=int, help="voxels along z; the scanner's length without it")
    parser.add_argument("--azimuths", type=int, help="of views; by the resolution in space and time without it")
    parser.add_argument("--tilts", type=int, help="of views; likewise")
    parser.add_argument("--max-tilt", type=float, help="of events, radians; from end to end of the scanner without it")
    parser.add_argument("--tof-fwhm", type=float, help="of the time difference, ps; the file's without it")
    parser.add_argument("--resolution", type=float, help="of lines across, full width at half maximum, mm; by the crystals without it")
    parser.add_argument("--projector", choices=PROJECTORS, help="what events are counted in; without it lines where there is no time of flight, little, or of several kinds")
    parser.add_argument("--depth", type=float, help="mm behind crystals' inner faces where photons are detected on average; their middles without it")
    if more:
        more(parser)
    parser.add_argument("--no-randoms", action="store_true", help="there are none, and the file needs neither delays nor rates of single photons")
    parser.add_argument("--window", type=float, help="the largest time difference of a coincidence, ps, of files with delays and without time bins")
    parser.add_argument("--scatter", type=int, default=3, metavar="TIMES", help="that it is made of an image (3); 0: none")
    parser.add_argument("--energy-resolution", type=float, help="full width at half maximum at 511 keV over that; the file's without it, else 0.11")
    parser.add_argument("--energy-window", type=float, nargs=2, metavar=("LOWER", "UPPER"), help="keV; the file's without it, else 435 and 585")
    parser.add_argument("--efficiencies", metavar="NAME.npy", help="of crystals; the file's without it, else 1")
    parser.add_argument("--algorithm", choices=("svrg", "bsrem", "osem", "mlem"), default="svrg", help="(svrg)")
    parser.add_argument("--iterations", type=int, help="passes at most (100, 40, 4, 40)")
    parser.add_argument("--smoothness", type=float, default=0.02, help="of svrg and bsrem (0.02): 0.05 weighs neighbours as much as a voxel's own counts; 0: none")
    parser.add_argument("--position", choices=isocenter.images.POSITIONS, help="the patient's; without it the file's, else HFS (head first supine)")
    parser.add_argument("--no-alignment", action="store_true", help="the map is in the scanner's frame, and so is the image: the file's gantry alignment is not applied")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    given = parser.parse_args(arguments)
    command = f"python -m {name} " + shlex.join(sys.argv[1:] if arguments is None else arguments)
    try:
        if given.output:
            _check_output(given)
        if given.frame and given.frames:
            sys.exit(f"{name}: --frame and --frames are given; there must be one of them")
        with opened(given) as listed:
            print(_as_options(told(listed), given))
            if given.output:
                _make(name, listed, given, command)
    except (isocenter.Error, ValueError, OSError, ImportError) as e:
        sys.exit(f"{name}: {_as_options(_without_function(e), given)}")


def _check_output(given):
    """That all of it can be written, before the work."""
    if written(given.output) == ".dcm":
        _dicom_image.check(given.dicom_like, given.acquired)
    elif given.dicom_like or given.acquired:
        raise wrong(ValueError, f"--dicom-like and --acquired are for DICOM, and the output is {given.output}: leave them out, or let it end in .dcm")


def _without_function(e):
    """What an exception says but for the function that was called."""
    return re.sub(r"^[\w.]+: ", "", str(e))


def _as_options(words, given):
    """What to pass to a function, as options of the command."""
    def option(match):
        name, instead, value = match.groups()
        if instead or name in vars(given):
            return f"give {instead or '--' + name.replace('_', '-')}{f' {value}' if value else ''}"
        return match[0]

    return re.sub(r"\bpass (\w+)(?:=False \((--[\w-]+)\)|='([^']+)')?", option, words)


def _make(name, listed, given, command):
    words = ("attenuation unit kilovolts map_centre isotope half_life branching live delay calibration gates gate_count motion voxel size slices azimuths tilts max_tilt tof_fwhm resolution projector window "
             "scatter energy_resolution energy_window efficiencies algorithm iterations smoothness position").split()
    heard = []
    context = isocenter.Context(device=given.device, log=lambda level, message: heard.append(message.removeprefix("main: ")) if level == 1 else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are told below
        made = quantify(listed, frames=given.frame or given.frames, randoms=not given.no_randoms, alignment=not given.no_alignment, context=context,
                        **{word: getattr(given, word) for word in words})
    made.doubts = [_as_options(words, given) for words in made.doubts + heard]
    for words in made.doubts:
        print(f"{name}: {words}", file=sys.stderr)
    for title, value in {"isotope": made.isotope.name, **made.settings}.items():
        if value:
            print(f"{title}: {value}")
    for row in _report.numbers(made):
        print("\n".join(f"{title}: {value}" for title, value in row.items()))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        made.write(given.output, like=given.dicom_like, acquired=given.acquired)
    for words in [_as_options(_without_function(one.message), given) for one in heard]:
        made.doubts.append(words)
        print(f"{name}: {words}", file=sys.stderr)
    report = given.report or given.output[:-len(written(given.output))] + ".html"
    made.write_report(report, command)
    print(f"written: {', '.join([given.output, *made.beside(given.output), report])}")


def told(listed):
    """What a list's header has, in words."""
    said = listed.said
    isotope = said.isotope.name if said.isotope else f"{said.nuclide} (not known)" if said.nuclide else "not named"
    found = [f"isotope {isotope}"]
    if said.lies or said.position:
        found.append(f"patient {said.position or said.lies}")
    return f"{os.path.basename(listed.path)}: {', '.join([*_scanner_told(listed), *found, *listed.remarks, listed.kind])}"


def _scanner_told(listed):
    try:
        scanner = listed.scanner
    except ValueError as e:
        yield f"scanner not known ({_without_function(e)})"
        return
    yield scanner.model
    yield f"{len(scanner.positions)} crystals of {scanner.crystal_width:.3g} x {scanner.crystal_height:.3g} mm"
    if scanner.time_edges is None:
        yield "times in ps" + (f", resolution {scanner.tof_fwhm:.4g} ps" if scanner.tof_fwhm else "")
    else:
        yield f"{len(scanner.time_edges) - 1} time bins of {scanner.time_edges[0]:.4g} to {scanner.time_edges[-1]:.4g} ps"
    yield f"{'' if scanner.efficiencies is not None else 'no '}efficiencies"
