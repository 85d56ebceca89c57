"""ISMRMRD files: what their headers say, and the samples that are chosen."""
import logging
import math
import warnings

import numpy

from ..coils import coil_whitening
from ..errors import wrong
from . import _delays, _header, _shift, _trajectory
from ._acquisitions import Acquisitions
from ._hdf5 import File, packages
from ._sampling import KINDS, Sampling, listed

COUNTERS = ("repetition", "contrast", "phase", "set", "slice")
# Not of an image, by the names of ISMRMRD's flags.
SKIPPED = ("NOISE_MEASUREMENT", "NAVIGATION_DATA", "PHASECORR_DATA", "HPFEEDBACK_DATA", "DUMMYSCAN_DATA", "RTFEEDBACK_DATA",
           "SURFACECOILCORRECTIONSCAN_DATA", "PHASE_STABILIZATION_REFERENCE", "PHASE_STABILIZATION")

_log = logging.getLogger("isocenter")


def read(path, *, encoding=0, group="dataset", kind=None, coils=None, navigators=True):
    """Opens an ISMRMRD file (HDF5).

    Parameters
    ----------
    path : path
    encoding : int
        Which of the header's encoding spaces.
    group : str
        Where in the file the data set is.
    kind : {"cartesian", "epi", "radial", "goldenangle", "spiral", "other"}, optional
        In place of the header's word for the trajectory: the first two are lines, whatever trajectory the file has; the others take it.
    coils : sequence of int, optional
        Those to use, counted from 0 in the file's order; None uses all. Coils without noise in the noise measurement are left out, with
        a warning.
    navigators : bool
        Lines of echo trains are corrected for what lines of both directions differ by in navigators (flag IS_PHASECORR_DATA), a constant phase and a delay. False
        leaves lines as they are: for files whose lines were corrected before, and that still have their navigators.

    Returns
    -------
    Raw

    Raises
    ------
    ImportError
        Without the package ismrmrd.
    ValueError
        Where it is no ISMRMRD file, or has no data for an image; the message says what it has.
    """
    return Raw(path, encoding=encoding, group=group, kind=kind, coils=coils, navigators=navigators)


class Raw:
    """An ISMRMRD file: what its header says, and samples on demand.

    Attributes
    ----------
    kind : str
        The header's word for the trajectory, in lower case: "cartesian", "radial", "spiral", ...; or that which was given.
    encoded, recon : Space
        Voxels and field of view of the encoding and of the image.
    vendor : str
        Of the scanner, "" where the header has none.
    conjugated : bool
        Samples are the complex conjugates of the file's: Siemens' directions are for samples with exp(+2 pi i k.r).
    coils : int
        That are used.
    channels : tuple of int
        Their numbers in the file.
    counters : dict
        The values of repetition, contrast, phase, set and slice that the data for images have.
    noise : numpy.ndarray or None
        complex64 (coils, samples), measured without excitation.
    noise_dwell : float
        Seconds from sample to sample of the noise; 0 where the file does not say.
    noise_bandwidth : float
        The receiver's relative noise bandwidth, 1 where the header has none.
    calibrated : bool
        Some acquisitions are flagged as calibration for parallel imaging, in this encoding space or in another.
    xml : bytes
        The header.
    header
        The same, of the package ismrmrd; None where that does not take it.
    """

    def __init__(self, path, *, encoding=0, group="dataset", kind=None, coils=None, navigators=True):
        self._table = path if isinstance(path, Acquisitions) else File(path, group)
        self._path, self._heads, self.xml = self._table.path, self._table.heads, self._table.xml
        try:
            header = _header.parsed(self.xml)
        except (ValueError, SyntaxError) as e:  # the second is XML's
            raise wrong(ValueError, f"{self._path}: the header {group}/xml is no ISMRMRD header ({e})") from None
        self._encodings = header.encodings
        if isinstance(encoding, bool) or not isinstance(encoding, int) or not 0 <= encoding < len(self._encodings):
            raise wrong(ValueError, f"encoding is {encoding!r}; {self._path} has {len(self._encodings)}, counted from 0")
        if kind is not None and kind not in KINDS:
            raise wrong(ValueError, f"kind is {kind!r}; it must be one of " + ", ".join(map(repr, KINDS)))
        self._space = self._encodings[encoding]
        self.encoded, self.recon, self.kind = self._space.encoded, self._space.recon, kind or self._space.kind
        self._check_sizes(self._space)
        _header.doubt(self._space)
        self.vendor, self.noise_bandwidth = header.vendor, header.noise_bandwidth or 1.0
        self.conjugated = self._table.conjugate = "siemens" in self.vendor.lower()
        self._choose(encoding)
        self._choose_coils(coils)
        self._read_noise()
        told = self._table.flagged("IS_PHASECORR_DATA") if navigators else None
        self._sampling = Sampling(self, self._table, self._space, kind, self._imaging, self._calibration, told, self._records)

    def __repr__(self):
        several = {name: len(values) for name, values in self.counters.items() if len(values) > 1}
        return (f"<isocenter.raw.Raw: kind={self.kind!r}, coils={self.coils}, encoded={self.encoded.shape}, recon={self.recon.shape}, "
                f"voxel={tuple(round(v, 4) for v in self.recon.voxel)}, {'noise, ' if self.noise is not None else ''}{several or 'one image'}>")

    @property
    def header(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return packages()[1].xsd.CreateFromDocument(self.xml)
            except Exception:  # of whichever XML parser it is that day
                return None

    def _choose(self, encoding):
        heads, flagged = self._heads, self._table.flagged
        skipped = {name: flagged("IS_" + name) for name in SKIPPED}
        left = ~numpy.logical_or.reduce(list(skipped.values()))
        both = flagged("IS_PARALLEL_CALIBRATION_AND_IMAGING")
        only = flagged("IS_PARALLEL_CALIBRATION") & ~both
        here = heads["encoding_space_ref"] == encoding
        self._imaging, self._calibration = left & here & ~only, left & here & (only | both)
        self._calibration_space = self._space
        for other in numpy.unique(heads["encoding_space_ref"][left & (only | both)]):
            if not self._calibration.any() and other < len(self._encodings):
                self._calibration = left & (only | both) & (heads["encoding_space_ref"] == other)
                self._calibration_space = self._encodings[other]
        self.calibrated = bool(self._calibration.any())
        self._check_sizes(self._calibration_space)
        if not self._imaging.any():
            counts = [f"{int(m.sum())} {name}" for name, m in {**skipped, "PARALLEL_CALIBRATION": only}.items() if m.any()]
            counts += [f"{int((heads['encoding_space_ref'] == e).sum())} of encoding {e}" for e in numpy.unique(heads["encoding_space_ref"])]
            raise wrong(ValueError, f"{self._path} has no data for an image of encoding {encoding}: its {len(heads)} acquisitions are "
                                    + (", ".join(counts) or "none"))
        idx = heads["idx"][self._imaging]
        self.counters = {name: tuple(int(v) for v in numpy.unique(idx[name])) for name in COUNTERS}

    def _check_sizes(self, space):
        if min(map(min, (*space.encoded, *space.recon))) <= 0:
            raise wrong(ValueError, f"{self._path}: the header's encodedSpace is {tuple(space.encoded)} and its reconSpace "
                                    f"{tuple(space.recon)}; sizes must be above 0")

    def _choose_coils(self, coils):
        self._all_coils = int(self._heads["active_channels"][self._imaging][0])
        chosen = range(self._all_coils) if coils is None else [int(c) for c in coils]
        if not len(chosen) or len(set(chosen)) < len(chosen) or min(chosen) < 0 or max(chosen) >= self._all_coils:
            raise wrong(ValueError, f"coils is {list(chosen)}; {self._path} has {self._all_coils}, counted from 0, each of which may be named once")
        self.channels = tuple(chosen)

    def _read_noise(self):
        rows = numpy.flatnonzero(self._table.flagged("IS_NOISE_MEASUREMENT"))
        self.noise, self.noise_dwell = None, 0.0
        if len(rows):
            noise = numpy.concatenate([data for _, data, _ in self._records(rows)], axis=1)
            alive = noise.any(axis=1)
            if alive.any() and not alive.all():
                dead = [c for c, there in zip(self.channels, alive) if not there]
                _log.warning("coil%s %s left out, whose noise is 0 in the noise measurement", "s" * (len(dead) > 1),
                             listed(dead) + (" are" if len(dead) > 1 else " is"))
                self.channels, noise = tuple(c for c in self.channels if c not in dead), noise[alive]
            self.noise, self.noise_dwell = numpy.ascontiguousarray(noise), float(self._heads["sample_time_us"][rows[0]]) * 1e-6
        self.coils = len(self.channels)

    def _records(self, rows):
        return self._table.records(rows, self._all_coils, list(self.channels))

    def whitening(self, dwell, *, context=None):
        """The matrix, complex64 (coils, coils), by which `coil_apply` whitens samples that are `dwell` seconds apart; None without a
        noise measurement. Noise has a power that goes with the bandwidth, 1 / dwell, so that the noise measurement's own dwell and
        the receiver's relative bandwidth scale the matrix, as in Gadgetron (Hansen and Sorensen 2013); where a dwell is 0, not known, nothing does."""
        if self.noise is None:
            return None
        ratio = dwell / self.noise_dwell * self.noise_bandwidth if dwell > 0 and self.noise_dwell > 0 else 1.0
        return (coil_whitening(self.noise, context=context) * math.sqrt(ratio)).astype(numpy.complex64)

    def frames(self, **chosen):
        """What `select` takes for each image, less the slice: a list of dict, in the order repetition, contrast, phase, set.
        Keywords choose, as those of `select`."""
        made = [{}]
        for name in COUNTERS[:-1]:
            value = chosen.get(name)
            made = [{**frame, name: v} for frame in made for v in (self.counters[name] if value is None else (self._value(name, value),))]
        idx = self._heads["idx"][self._imaging]
        return [frame for frame in made if numpy.logical_and.reduce([idx[name] == v for name, v in frame.items()]).any()]

    def _value(self, name, value):
        values = self.counters[name]
        if value is None:
            if len(values) > 1:
                raise wrong(ValueError, f"{self._path} has {len(values)} values of {name}, {listed(values)}: pass {name}=")
            return values[0]
        if value not in values:
            raise wrong(ValueError, f"{name} is {value!r}; {self._path} has {listed(values)}")
        return value

    def select(self, *, slice=None, contrast=None, phase=None, repetition=None, set=None, unit=None, trajectory=None, calibration=False, delays=None, shift=None):
        """The samples of one image.

        Averages and segments are taken together. Samples that the file says to discard are left out, and those beyond the image's
        resolution. Cartesian readouts are sorted by frequency, and readout oversampling is taken out of full ones.

        Parameters
        ----------
        slice, contrast, phase, repetition, set : int, optional
            Values of ISMRMRD's counters; needed where the file has several.
        unit : str, optional
            Of the trajectory, which is no matter of the format: one of `UNITS`. None finds it, where just one fits the
            header's matrix and field of view. "cycles_per_voxel" (+-0.5), "radians_per_voxel" (+-pi) and "cycles_per_field_of_view"
            (+-N/2) are of the encoded space, "cycles_per_recon_field_of_view" is of the image's, "cycles_per_metre",
            "radians_per_metre" and "cycles_per_millimetre" are of 1/m, rad/m and 1/mm.
        trajectory : array, optional
            In place of the file's and of lines: real (readouts, samples, 2 or 3), x first, with what is to be discarded, of the readouts of
            this image or of all images of the encoding space, in the file's order. Two numbers in a volume are those of a stack.
        calibration : bool
            Lines flagged as calibration for parallel imaging, whichever frame they are of, in place of the image's.
        delays : MRIDelays, or sequence of float, optional
            By which gradients come late, in samples, as `find_delays` finds them, or along x, y and z: the trajectory is that with them.
        shift : sequence of float, optional
            By how many mm the field of view lies elsewhere, along x, y and z of the image, exact for fractions of voxels: samples are multiplied by exp(2 pi i k.shift), and
            `position` goes along.

        Returns
        -------
        Readouts

        Raises
        ------
        ValueError, OutOfRangeError
            For values that are not there, a trajectory that is missing, or a unit that cannot be; the message says which would do.
        """
        rows = self._rows({"slice": slice, "contrast": contrast, "phase": phase, "repetition": repetition, "set": set}, calibration)
        _trajectory.check_unit(unit)
        space = self._calibration_space if calibration else self._space
        return self._sampling.samples(rows, space, unit, trajectory, _delays.checked(delays), _shift.checked(shift, self.encoded))

    def find_delays(self, *, slice=None, contrast=None, phase=None, repetition=None, set=None, unit=None, trajectory=None, whitening=None, context=None):
        """Delays of the gradients, from the samples of one image (`MRI.find_delays`).

        Parameters
        ----------
        slice, contrast, phase, repetition, set, unit, trajectory
            As for `select`.
        whitening : array, optional
            A matrix, complex (coils, coils), that whitens samples.
        context : Context, optional

        Returns
        -------
        MRIDelays
            In samples, along x, y and z of the image. None of Cartesian lines, and of readouts of several lengths.

        Raises
        ------
        OutOfRangeError
            Delays cannot be told; the message says why.
        """
        rows = self._rows({"slice": slice, "contrast": contrast, "phase": phase, "repetition": repetition, "set": set}, False)
        _trajectory.check_unit(unit)
        whole = self._sampling.whole(rows, unit, trajectory)
        return None if whole is None else _delays.found(*whole, self.encoded, whitening, context)

    def _rows(self, given, calibration):
        """Of one image."""
        chosen = self._calibration.copy() if calibration else self._imaging.copy()
        for name in COUNTERS:
            if calibration and name != "slice":
                continue
            chosen &= self._heads["idx"][name] == self._value(name, given[name])
        rows = numpy.flatnonzero(chosen)
        if not len(rows):
            raise wrong(ValueError, f"{self._path} has no {'calibration' if calibration else 'data'} of "
                                    + ", ".join(f"{name}={value}" for name, value in given.items() if value is not None))
        return rows
