"""ISMRMRD files: header, and the samples that are chosen."""
import math
import os
from collections import namedtuple

import numpy

from ..coils import coil_whitening
from ..errors import wrong
from . import _trajectory

COUNTERS = ("repetition", "contrast", "phase", "set", "slice")
# Not of an image, by the names of ISMRMRD's flags.
SKIPPED = ("NOISE_MEASUREMENT", "NAVIGATION_DATA", "PHASECORR_DATA", "HPFEEDBACK_DATA", "DUMMYSCAN_DATA", "RTFEEDBACK_DATA",
           "SURFACECOILCORRECTIONSCAN_DATA", "PHASE_STABILIZATION_REFERENCE", "PHASE_STABILIZATION")
BLOCK = 1024  # acquisitions that are read at a time


class Space(namedtuple("Space", "shape field_of_view")):
    """A grid: `shape` in voxels and `field_of_view` in mm, both z, y, x."""
    __slots__ = ()

    @property
    def voxel(self):
        """Sides of a voxel in mm, z, y, x."""
        return tuple(f / n for f, n in zip(self.field_of_view, self.shape))


Readouts = namedtuple("Readouts", "samples trajectory unit times grid position read_dir phase_dir slice_dir dwell acquisitions")
Readouts.__doc__ = """Samples of one image.

`samples` are complex64 (coils, samples); `trajectory` float32 (samples, 2), or (samples, 3) of a volume, x first, in `unit`, which is
"cycles_per_voxel" of the image's voxels; `times` float64 (samples,), in seconds since the first sample of its readout; `grid` the
voxels (z, y, x) to solve for, which are more than the image's where the encoded field of view is larger; `position` of the centre in
mm, `read_dir`, `phase_dir` and `slice_dir` unit vectors, all towards the patient's left, back and head; `dwell` seconds from sample
to sample; `acquisitions` the numbers of the readouts in the file."""


def packages():
    """The packages h5py and ismrmrd, which only this module needs."""
    try:
        import h5py
        import ismrmrd
        import ismrmrd.xsd
    except ImportError as e:
        raise wrong(ImportError, f"ISMRMRD files need the package ismrmrd ({e}): pip install isocenter[ismrmrd], or pip install ismrmrd") from e
    return h5py, ismrmrd


def read(path, *, encoding=0, group="dataset"):
    """Opens an ISMRMRD file (HDF5).

    Parameters
    ----------
    path : path
    encoding : int
        Which of the header's encoding spaces.
    group : str
        Where in the file the data set is.

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
    return Raw(path, encoding=encoding, group=group)


class Raw:
    """An ISMRMRD file: what its header says, and samples on demand.

    Attributes
    ----------
    kind : str
        The header's word for the trajectory: "cartesian", "radial", "spiral", ...
    encoded, recon : Space
        Voxels and field of view of the encoding and of the image.
    coils : int
    counters : dict
        The values of repetition, contrast, phase, set and slice that the data for images have.
    noise : numpy.ndarray or None
        complex64 (coils, samples), measured without excitation.
    noise_dwell : float
        Seconds from sample to sample of the noise; 0 where the file does not say.
    noise_bandwidth : float
        The receiver's relative noise bandwidth, 1 where the header has none.
    calibrated : bool
        Some acquisitions are flagged as calibration for parallel imaging.
    header
        Of the package ismrmrd: all that the file says.
    """

    def __init__(self, path, *, encoding=0, group="dataset"):
        h5py, ismrmrd = packages()
        self._path, self._group, self._flags = os.fspath(path), group, ismrmrd
        table = self._open(h5py)
        with table.file:
            self.header = self._header(table.parent, ismrmrd)
            self._heads = table.fields("head")[:] if table.size else numpy.zeros(0, table.dtype["head"])
        encodings = self.header.encoding
        if not isinstance(encoding, int) or not 0 <= encoding < len(encodings):
            raise wrong(ValueError, f"encoding is {encoding!r}; {self._path} has {len(encodings)}, counted from 0")
        spaces = encodings[encoding]
        self.encoded, self.recon = _space(spaces.encodedSpace), _space(spaces.reconSpace)
        if min(map(min, (*self.encoded, *self.recon))) <= 0:
            raise wrong(ValueError, f"{self._path}: the header's encodedSpace is {tuple(self.encoded)} and its reconSpace "
                                    f"{tuple(self.recon)}; sizes must be above 0")
        self.kind = getattr(spaces.trajectory, "value", spaces.trajectory)
        self._centres = _centres(spaces.encodingLimits, self.encoded.shape)
        self._choose(encoding)
        self._read_noise()

    def __repr__(self):
        several = {name: len(values) for name, values in self.counters.items() if len(values) > 1}
        return (f"<isocenter.raw.Raw: kind={self.kind!r}, coils={self.coils}, encoded={self.encoded.shape}, recon={self.recon.shape}, "
                f"voxel={tuple(round(v, 4) for v in self.recon.voxel)}, {'noise, ' if self.noise is not None else ''}{several or 'one image'}>")

    def _open(self, h5py=None):
        h5py = h5py or packages()[0]
        if not os.path.exists(self._path):
            raise wrong(FileNotFoundError, f"{self._path} is not there")
        try:
            file = h5py.File(self._path, "r")
        except OSError as e:
            raise wrong(ValueError, f"{self._path} is no ISMRMRD file, which is HDF5 ({e}): convert the scanner's own format first, by "
                                    "siemens_to_ismrmrd, philips_to_ismrmrd or ge_to_ismrmrd") from None
        table = file.get(f"{self._group}/data")
        if table is None or "head" not in (table.dtype.names or ()):
            seen = ", ".join(sorted(file)) or "nothing"
            file.close()
            raise wrong(ValueError, f"{self._path} has no acquisitions in {self._group}/data, where ISMRMRD files have them; it has {seen}. If "
                                    "one of these is the data set, pass group=")
        return table

    def _header(self, folder, ismrmrd):
        if "xml" not in folder:
            raise wrong(ValueError, f"{self._path} has no header, {self._group}/xml: matrix and field of view are there")
        text = numpy.ravel(folder["xml"][()])[0]
        try:
            return ismrmrd.xsd.CreateFromDocument(text)
        except Exception as e:  # of whichever XML parser it is that day
            raise wrong(ValueError, f"{self._path}: the header {self._group}/xml is no ISMRMRD header ({e})") from None

    def _flagged(self, name, heads=None):
        """Which acquisitions have a flag; flags count from 1."""
        bit = getattr(self._flags, "ACQ_" + name) - 1
        heads = self._heads if heads is None else heads
        return (heads["flags"].astype(numpy.uint64) >> numpy.uint64(bit) & numpy.uint64(1)).astype(bool)

    def _choose(self, encoding):
        heads = self._heads
        skipped = {name: self._flagged("IS_" + name) for name in SKIPPED}
        left = heads["encoding_space_ref"] == encoding
        for of_it in skipped.values():
            left &= ~of_it
        both = self._flagged("IS_PARALLEL_CALIBRATION_AND_IMAGING")
        only = self._flagged("IS_PARALLEL_CALIBRATION") & ~both
        self._imaging, self._calibration = left & ~only, left & (only | both)
        self.calibrated = bool(self._calibration.any())
        if not self._imaging.any():
            counts = [f"{int(m.sum())} {name}" for name, m in {**skipped, "PARALLEL_CALIBRATION": only}.items() if m.any()]
            counts += [f"{int((heads['encoding_space_ref'] == e).sum())} of encoding {e}" for e in numpy.unique(heads["encoding_space_ref"])]
            raise wrong(ValueError, f"{self._path} has no data for an image of encoding {encoding}: its {len(heads)} acquisitions are "
                                    + (", ".join(counts) or "none"))
        idx = heads["idx"][self._imaging]
        self.counters = {name: tuple(int(v) for v in numpy.unique(idx[name])) for name in COUNTERS}
        self.coils = int(heads["active_channels"][self._imaging][0])

    def _read_noise(self):
        rows = numpy.flatnonzero(self._flagged("IS_NOISE_MEASUREMENT"))
        self.noise, self.noise_dwell = None, 0.0
        system = self.header.acquisitionSystemInformation
        self.noise_bandwidth = float(getattr(system, "relativeReceiverNoiseBandwidth", None) or 1.0)
        if len(rows):
            self.noise = numpy.concatenate([data for _, data, _ in self._records(rows)], axis=1)
            self.noise_dwell = float(self._heads["sample_time_us"][rows[0]]) * 1e-6

    def _records(self, rows):
        """(number, samples (coils, n), trajectory (n, dims)) of acquisitions, checked."""
        rows = numpy.sort(rows)
        with self._open().file as file:
            table = file[f"{self._group}/data"]
            for first in range(int(rows[0]), int(rows[-1]) + 1, BLOCK):
                here = rows[(rows >= first) & (rows < first + BLOCK)]
                if not len(here):
                    continue
                block = table[int(here[0]):int(here[-1]) + 1]
                for row in here:
                    head, traj, data = (block[row - here[0]][name] for name in ("head", "traj", "data"))
                    n, coils, dims = (int(head[name]) for name in ("number_of_samples", "active_channels", "trajectory_dimensions"))
                    for name, seen, wanted in (("data", data.size, 2 * coils * n), ("trajectory", traj.size, dims * n)):
                        if seen != wanted:
                            raise wrong(ValueError, f"{self._path}: {name} of acquisition {row} has {seen} numbers; its header, of {n} samples, "
                                                    f"{coils} coils and {dims} dimensions, makes {wanted}")
                    if coils != self.coils:
                        raise wrong(ValueError, f"{self._path}: acquisition {row} has {coils} coils; others have {self.coils}")
                    yield int(row), data.astype(numpy.float32, copy=False).view(numpy.complex64).reshape(coils, n), traj.reshape(n, dims)

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
                raise wrong(ValueError, f"{self._path} has {len(values)} values of {name}, {_listed(values)}: pass {name}=")
            return values[0]
        if value not in values:
            raise wrong(ValueError, f"{name} is {value!r}; {self._path} has {_listed(values)}")
        return value

    def select(self, *, slice=None, contrast=None, phase=None, repetition=None, set=None, unit=None, calibration=False):
        """The samples of one image.

        Averages and segments are taken together. Samples that the file says to discard are left out, and those beyond the image's
        resolution. Cartesian readouts are sorted by frequency, and readout oversampling is taken out of full ones.

        Parameters
        ----------
        slice, contrast, phase, repetition, set : int, optional
            Values of ISMRMRD's counters; needed where the file has several.
        unit : str, optional
            Of a trajectory in the file, which is no matter of the format: one of `UNITS`. None finds it, where just one fits the
            header's matrix and field of view. "cycles_per_voxel" (+-0.5), "radians_per_voxel" (+-pi) and "cycles_per_field_of_view"
            (+-N/2) are of the encoded space, "cycles_per_recon_field_of_view" is of the image's, "cycles_per_metre" is of 1/m.
        calibration : bool
            Lines flagged as calibration for parallel imaging, whichever frame they are of, in place of the image's.

        Returns
        -------
        Readouts

        Raises
        ------
        ValueError, OutOfRangeError
            For values that are not there, a trajectory that is missing, or a unit that cannot be; the message says which would do.
        """
        given = {"slice": slice, "contrast": contrast, "phase": phase, "repetition": repetition, "set": set}
        chosen = self._calibration.copy() if calibration else self._imaging.copy()
        for name in COUNTERS:
            if calibration and name != "slice":
                continue
            chosen &= self._heads["idx"][name] == self._value(name, given[name])
        rows = numpy.flatnonzero(chosen)
        if not len(rows):
            raise wrong(ValueError, f"{self._path} has no {'calibration' if calibration else 'data'} of "
                                    + ", ".join(f"{name}={value}" for name, value in given.items() if value is not None))
        if unit is not None and unit not in _trajectory.UNITS:
            raise wrong(ValueError if isinstance(unit, str) else TypeError,
                        f"unit is {unit!r}; it must be one of " + ", ".join(map(repr, _trajectory.UNITS)))
        return self._cartesian(rows) if self.kind == "cartesian" else self._along_trajectories(rows, unit)

    def _kept(self, row):
        """The samples of a readout that are not to be discarded."""
        head = self._heads[row]
        n, pre, post = (int(head[name]) for name in ("number_of_samples", "discard_pre", "discard_post"))
        if pre + post >= n:
            raise wrong(ValueError, f"{self._path}: acquisition {row} has {n} samples, of which {pre} + {post} are to be discarded")
        return slice(pre, n - post)

    def _along_trajectories(self, rows, unit):
        parts, k, times = [], [], []
        for row, data, traj in self._records(rows):
            if not traj.size:
                raise wrong(ValueError, f"{self._path}: the header says {self.kind!r}, but acquisition {row} has no trajectory. Convert the scan "
                                        "with its trajectory, or write it into the file: the way that the gradients went is not in the header")
            if not numpy.isfinite(traj).all():
                raise wrong(ValueError, f"{self._path}: the trajectory of acquisition {row} has NaN or infinity")
            kept = self._kept(row)
            along = numpy.zeros((data.shape[1], 3))
            dims = min(traj.shape[1], 3 if self.encoded.shape[0] > 1 else 2)  # a third number of a plane is no place
            along[:, :dims] = traj[:, :dims]
            if dims == 2 and self.encoded.shape[0] > 1:  # a stack
                along[:, 2] = (int(self._heads[row]["idx"]["kspace_encode_step_2"]) - self._centres[1]) / self.encoded.shape[0]
            parts.append(data[:, kept]), k.append(along[kept]), times.append(self._times(row, data.shape[1])[kept])
        k = numpy.concatenate(k)
        k[:, :dims] = _trajectory.cycles_per_voxel(k[:, :dims], unit, self.encoded, self.recon)
        across = [0] if self.encoded.shape[0] > 1 else []
        return self._made(rows, numpy.concatenate(parts, axis=1), k, numpy.concatenate(times), self._grid(across))

    def _cartesian(self, rows):
        nx = self.encoded.shape[2]
        kept = nx * self.recon.field_of_view[2] / self.encoded.field_of_view[2]
        heads = self._heads[rows]
        full = (heads["number_of_samples"] == nx) & (heads["center_sample"] == nx // 2) & (heads["discard_pre"] + heads["discard_post"] == 0)
        remove = full.all() and kept < nx - 0.5 and abs(kept - round(kept)) < 1e-3
        parts, k, times = [], [], []
        for row, data, _ in self._records(rows):
            along, seconds, chosen = _trajectory.line(self._heads[row], self.encoded, self._centres), self._times(row, data.shape[1]), self._kept(row)
            data, along, seconds = data[:, chosen], along[chosen], seconds[chosen]
            if len(along) > 1 and along[0, 0] > along[-1, 0]:
                data, along, seconds = data[:, ::-1], along[::-1], seconds[::-1]
            if remove:
                data, along, seconds = _narrowed(data, along, seconds, round(kept))
            parts.append(data), k.append(along), times.append(seconds)
        return self._made(rows, numpy.concatenate(parts, axis=1), numpy.concatenate(k), numpy.concatenate(times),
                          self._grid([0, 1] if remove else [0, 1, 2]))

    def _times(self, row, n):
        return numpy.arange(n) * (float(self._heads[row]["sample_time_us"]) * 1e-6)

    def _grid(self, encoded_axes):
        """Voxels to solve for: the image's, or those of the encoded field of view along these axes."""
        shape = list(self.recon.shape)
        for axis in encoded_axes:
            voxels = self.encoded.field_of_view[axis] / self.recon.voxel[axis]
            shape[axis] = shape[axis] if abs(voxels - shape[axis]) < 0.5 else math.ceil(voxels - 1e-3)
        if self.encoded.shape[0] == 1:
            shape[0] = 1
        return tuple(shape)

    def _made(self, rows, samples, k, times, grid):
        """In voxels of the image, whose resolution may be less than the encoding's."""
        dims = 3 if grid[0] > 1 else 2
        k = k[:, :dims] * (numpy.array(self.recon.voxel[::-1]) / self.encoded.voxel[::-1])[:dims]
        inside = (numpy.abs(k) <= 0.5 + 1e-5).all(axis=1)
        if not inside.all():
            samples, k, times = samples[:, inside], k[inside], times[inside]
        head = self._heads[rows[0]]
        places = {name: numpy.array(head[name], float) for name in ("position", "read_dir", "phase_dir", "slice_dir")}
        return Readouts(numpy.ascontiguousarray(samples), numpy.clip(k, -0.5, 0.5).astype(numpy.float32), "cycles_per_voxel", times, grid,
                        *places.values(), float(head["sample_time_us"]) * 1e-6, rows)


def _space(space):
    n, f = space.matrixSize, space.fieldOfView_mm
    return Space((int(n.z), int(n.y), int(n.x)), (float(f.z), float(f.y), float(f.x)))


def _centres(limits, shape):
    """The steps of phase encoding at frequency 0, along y and z."""
    found = [getattr(limits, f"kspace_encoding_step_{n}", None) for n in (1, 2)]
    return [shape[axis] // 2 if limit is None else int(limit.center) for limit, axis in zip(found, (1, 0))]


def _narrowed(data, k, times, kept):
    """A full line without its oversampling: the middle of its Fourier transform, transformed back."""
    n = data.shape[1]
    profile = numpy.fft.fftshift(numpy.fft.ifft(numpy.fft.ifftshift(data, axes=1), axis=1), axes=1)
    first = n // 2 - kept // 2
    line = numpy.fft.fftshift(numpy.fft.fft(numpy.fft.ifftshift(profile[:, first:first + kept], axes=1), axis=1), axes=1)
    k = numpy.repeat(k[:1], kept, axis=0)
    k[:, 0] = (numpy.arange(kept) - kept // 2) / kept
    return line.astype(numpy.complex64), k, numpy.interp(numpy.arange(kept) * n / kept, numpy.arange(n), times)


def _listed(values):
    return ", ".join(map(str, values)) if len(values) < 9 else f"{values[0]} to {values[-1]}"
