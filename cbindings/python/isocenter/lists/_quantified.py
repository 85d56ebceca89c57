"""What `quantify` makes, and its files."""
import dataclasses
import os

import numpy

from .. import _sidecar, images
from .._isotopes import Isotope
from ..errors import wrong
from . import _bids, _dicom, _report

UNIT = "Bq/ml"


@dataclasses.dataclass
class Found:
    """Numbers of a frame.

    Attributes
    ----------
    start, duration : float
        Of its first block, s from the start of the scan; of all its blocks together, s.
    prompts, delays : int
        Of the frame in the file.
    counted : int
        Prompts in histo-images.
    dropped : Dropped
        The others, by cause.
    randoms, scatter : float
        Counts that are expected in histo-images.
    scale, scale_error, tails : float
        By what single scatter was multiplied, the standard deviation of that, and the counts beside all that attenuates that tell so; 1, 0 and 0 where it was not.
    sensitivity : float
        Mean over the body: counts of a voxel a Bq/ml.
    strength : float
        Of the prior; 0 without.
    restored : float
        What the image was multiplied by for the counts that the prior takes: it explains those of the body's places, or along lines all events, best; 1 without a prior.
    history : list of Iteration
        Of each pass; empty of a frame without counts.
    decay : float
        What brings activity of the frame's time to the time that the image is told at; 1 of a frame without counts.
    mean : float
        Of the image over the body, Bq/ml.
    alive : float
        Which part of the decays' pairs the scanner was ready for, but for the time between blocks: as was given, or the mean by the file's dead times.
    """
    start: float
    duration: float
    prompts: int
    delays: int
    counted: int
    dropped: object
    randoms: float = 0.0
    scatter: float = 0.0
    scale: float = 1.0
    scale_error: float = 0.0
    tails: float = 0.0
    sensitivity: float = 0.0
    strength: float = 0.0
    restored: float = 1.0
    history: list = dataclasses.field(default_factory=list)
    decay: float = 1.0
    mean: float = 0.0
    alive: float = 1.0


@dataclasses.dataclass
class Quantified:
    """What `quantify` returns.

    Attributes
    ----------
    image : array
        float32 (nz, ny, nx), or (frames, nz, ny, nx) where frames were given.
    voxel, centre : tuple of float
        Of the image's voxels, mm, and its middle in the file's frame, x, y, z: the scanner's, or the reference of its gantry alignment.
    unit : str
        "Bq/ml".
    found : list of Found
        Of each frame.
    isotope : Isotope
        Name, half-life, branching.
    settings : dict
        What was given and chosen, in words.
    doubts : list of str
        What may make values wrong.
    position : str
        Of the patient.
    scanner : str
        Its name.
    names : list of str
        What images are called: "frame 0", "gate 1".
    delay : float
        From the time that the activity is told at to the start of the scan, s.
    corrections : tuple of str
        What the image is corrected for, as `isocenter.images.write_dicom` has it.
    algorithm : str
        Its name.
    energy_window : tuple of float
        keV; 0 and 0 where it is not known.
    time_of_flight, in_map_frame : bool
        Whether the image was made by it; whether it is in the coordinates of the map's file.
    """
    image: numpy.ndarray
    voxel: tuple
    centre: tuple
    unit: str
    found: list
    isotope: Isotope
    settings: dict
    doubts: list
    position: str
    scanner: str
    names: list = dataclasses.field(default_factory=list)
    delay: float = 0.0
    corrections: tuple = ()
    algorithm: str = ""
    energy_window: tuple = (0.0, 0.0)
    time_of_flight: bool = False
    in_map_frame: bool = False

    def write(self, path, *, like=None, acquired=None):
        """Writes the image: NIfTI (.nii, .nii.gz), Interfile (.hv and .v), DICOM (.dcm) or NumPy (.npy), by the ending; see `isocenter.images`. Beside NIfTI and NumPy files NAME.json has
        the frames' times and what else is known of PET-BIDS's fields; of NumPy's also the image's place. `like` and `acquired` are for DICOM alone, as `isocenter.images.write_dicom` takes
        them; the frame of reference of `like` is taken where the image is in the coordinates of its map of attenuation."""
        words = dict(unit=self.unit, position=self.position)
        starts, durations = [f.start for f in self.found], [f.duration for f in self.found]
        ending = written(path, like, acquired)
        if ending == ".dcm":
            _dicom.write(path, self, like, acquired)
        elif ending == ".hv":
            images.write_interfile(path, self.image, self.voxel, self.centre, **words, starts=starts, durations=durations, isotope=self.isotope.name,
                                   half_life=self.isotope.half_life, branching=self.isotope.branching, scanner=self.scanner)
        elif ending == ".npy":
            numpy.save(path, self.image)
            place = {"Shape": "(frames, z, y, x)" if self.image.ndim == 4 else "(z, y, x)", "VoxelSize": list(self.voxel), "Centre": list(self.centre),
                     "PatientPosition": self.position}
            _sidecar.write(path, {**_bids.fields(self), **place}, starts, durations)
        else:
            images.write_nifti(path, self.image, self.voxel, self.centre, **words, description=f"PET {self.isotope.name}", starts=starts, durations=durations,
                               sidecar=_bids.fields(self))

    def beside(self, path):
        """Names of the files that `write` makes beside an image."""
        ending = written(path)
        return [os.fspath(path)[:-len(ending)] + ".v"] if ending == ".hv" else [] if ending == ".dcm" else [_sidecar.beside(path)]

    def write_report(self, path, command=""):
        """Writes a page, HTML, that needs nothing beside it: the numbers, three slices, doubts, and `command` if there is one."""
        _report.write(path, self, command)


def written(path, like=None, acquired=None):
    """The ending of a file that `Quantified.write` writes, with what it is told besides."""
    ending = next((ending for ending in (".nii.gz", ".nii", ".hv", ".npy", ".dcm") if os.fspath(path).endswith(ending)), None)
    if ending is None:
        raise wrong(ValueError, f"path is {os.fspath(path)}; it must end in .nii, .nii.gz, .hv, .dcm or .npy")
    if ending != ".dcm" and (like or acquired):
        raise wrong(ValueError, f"like and acquired are for DICOM, and path is {os.fspath(path)}: leave them out, or let it end in .dcm")
    return ending
