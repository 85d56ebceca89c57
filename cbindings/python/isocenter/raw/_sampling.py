"""From readouts of a file to samples and places in k-space: along trajectories, or as Cartesian lines."""
import logging
import math
from collections import namedtuple

import numpy

from .._words import Wanted
from ..errors import wrong
from ..shifts import shift_samples
from . import _delays, _echo_planar, _lines, _shift, _trajectory

KINDS = ("cartesian", "epi", "radial", "goldenangle", "spiral", "other")
LINES = ("", "cartesian", "epi")  # which are lines where there is no trajectory
LAYOUT = ("number_of_samples", "discard_pre", "discard_post", "center_sample")
LOOKED_AT = 256  # readouts that a decision about all of them is made of

Readouts = namedtuple("Readouts", "samples trajectory unit times grid position read_dir phase_dir slice_dir dwell acquisitions lines")
Readouts.__doc__ = """Samples of one image.

`samples` are complex64 (coils, samples); `trajectory` float32 (samples, 2), or (samples, 3) of a volume, x first, in `unit`, which is
"cycles_per_voxel" of the image's voxels; `times` float64 (samples,), in seconds since the first sample of its readout, or NaN of echo-planar
lines, which the file does not time from their excitation; `grid` the
voxels (z, y, x) to solve for, which are more than the image's where the encoded field of view is larger; `position` of the centre in
mm, `read_dir`, `phase_dir` and `slice_dir` unit vectors, all towards the patient's left, back and head; `dwell` seconds from sample
to sample; `acquisitions` the numbers of the readouts in the file; `lines` whether they are Cartesian lines."""

_log = logging.getLogger("isocenter")


class Sampling:
    """The samples of readouts of an opened file. What the file leaves open is found out once, for all images."""

    def __init__(self, raw, table, space, kind, imaging, calibration, navigators, records):
        self._path, self._heads, self._table, self._space, self._given_kind = table.path, table.heads, table, space, kind
        self._imaging, self._calibration, self._navigators, self._records = imaging, calibration, navigators, records
        self.recon, self.kind, self.conjugated = space.recon, raw.kind, raw.conjugated
        self._known = {}

    def samples(self, rows, space, unit, trajectory=None, delays=None, shift=_shift.NONE):
        """`Readouts` of the rows, whose encoding is `space`."""
        if trajectory is not None:
            return self._along_trajectories(rows, unit, self._space, self._of_rows(trajectory, rows), delays, shift)
        if not self._are_lines(rows, space):
            return self._along_trajectories(rows, unit, space, None, delays, shift)
        if delays is not None:
            raise wrong(ValueError, f"delays are of trajectories; the readouts of {self._path} are Cartesian lines")
        return self._cartesian(rows, space, shift)

    def whole(self, rows, unit, trajectory=None):
        """Samples (coils, readouts, n) and places (readouts, n, 3) in cycles per voxel of the encoded space, of readouts of one length that
        go along trajectories; None of Cartesian lines, or of several lengths."""
        own = None if trajectory is None else self._of_rows(trajectory, rows)
        if own is None and self._are_lines(rows, self._space):
            return None
        parts, places, _ = self._readouts_along(rows, unit, self._space, own)
        if len({len(k) for k in places}) > 1:
            return None
        return numpy.stack(parts, axis=1), numpy.stack(places)

    def _of_rows(self, trajectory, rows):
        """A caller's trajectory as that of each row."""
        k, all_rows = numpy.asarray(trajectory), numpy.flatnonzero(self._imaging)
        wanted = f"(readouts, samples, 2 or 3), {len(rows)} readouts of this image, or {len(all_rows)} of all images"
        if k.ndim != 3 or k.shape[2] not in (2, 3) or len(k) not in (len(rows), len(all_rows)) or k.dtype.kind not in "fiu":
            raise wrong(ValueError, f"trajectory is {k.dtype} of shape {k.shape}; it must be real numbers {wanted}")
        if len(k) == len(all_rows):
            if not numpy.isin(rows, all_rows).all():
                raise wrong(ValueError, f"trajectory is of {len(k)} readouts, which are not those that are asked for; it must be {wanted}")
            k = k[numpy.searchsorted(all_rows, rows)]
        lengths = numpy.unique(self._heads["number_of_samples"][rows])
        if len(lengths) > 1 or lengths[0] != k.shape[1]:
            raise wrong(ValueError, f"trajectory has {k.shape[1]} samples a readout; {self._path} has {listed(lengths.tolist())}")
        return dict(zip(rows.tolist(), k.astype(float)))

    def _are_lines(self, rows, space):
        """Whether readouts are Cartesian lines: the caller's word, the header's, or what their trajectories say."""
        kind = self._given_kind or space.kind
        if self._given_kind or kind not in LINES:
            return kind in LINES
        there = self._heads["trajectory_dimensions"][rows] > 0
        if not there.any():
            return True
        key = ("lines", bool(self._calibration[rows].all()), space is self._space)
        if key not in self._known:
            self._known[key] = lines = self._go_as_lines(self._some_trajectories(rows), space)
            if not lines:
                _log.warning("the header's word for the trajectory is %r, but that in the file is not of Cartesian lines: it is used; "
                             "kind='cartesian' takes lines", space.kind)
        return self._known[key]

    def _go_as_lines(self, trajectories, space):
        """Whether trajectories (row, k) are those of the lines that the header and the steps make; or all 0, which are none."""
        axes = 3 if space.encoded.shape[0] > 1 else 2  # a third number of a plane is no place
        trajectories = [(row, k[:, :axes]) for row, k in trajectories if k[:, :axes].any()]
        if not all(_lines.are_straight(self._heads[row], k, self._echo(row) - self._table.kept(row).start) for row, k in trajectories):
            return False
        rows = [row for row, _ in trajectories]
        return not rows or all(
            _lines.are_steps(numpy.array([k[:, axis].mean() for _, k in trajectories]), self._heads["idx"][f"kspace_encode_step_{axis}"][rows], centre)
            for axis, centre in zip(range(1, min(axes, trajectories[0][1].shape[1])), space.centres))

    def _some_trajectories(self, rows):
        """(row, trajectory of the kept samples) of some of the rows, at even distances."""
        rows = rows[numpy.unique(numpy.linspace(0, len(rows) - 1, LOOKED_AT).astype(int))]
        return [(row, k[self._table.kept(row)]) for row, _, k in self._records(rows) if k.size]

    def _echo(self, row):
        """The index of a line's sample at frequency 0, in the order of acquisition."""
        head = self._heads[row]
        candidates = _lines.readout_candidates(head, self.conjugated)
        if len(candidates) == 1:
            return candidates[0]
        key = ("echo", _lines.is_reversed(head), *(int(head[n]) for n in LAYOUT))
        if key not in self._known:
            self._known[key] = self._best_echo(head, candidates)
        return self._known[key]

    def _best_echo(self, head, candidates):
        backwards = _lines.is_reversed(head)
        energy = self._energy_along(self._rows_like(head, LAYOUT, backwards))
        forwards = self._rows_like(head, LAYOUT[:1], False) if backwards and head["center_sample"] else []
        centres = self._heads["center_sample"][forwards].astype(int)
        if centres.any():
            centre = int(centres[centres > 0][0])
            known = self._energy_along(forwards[centres == centre])
            return _lines.best(candidates, lambda c: _lines.likeness(energy, c, known, centre), _lines.ALIKE)
        found = _lines.best(candidates, lambda c: _lines.symmetry(energy, c), _lines.CERTAIN)
        if found != candidates[0] and not head["center_sample"]:
            _log.warning("center_sample is 0, but lines of %d samples have their energy about the middle, which is taken", len(energy))
        return found

    def _rows_like(self, head, fields, backwards):
        """Lines of one direction, for images or calibration, that have the same fields as one."""
        alike = (self._imaging | self._calibration) & (((self._heads["flags"] & _lines.REVERSED) != 0) == backwards)
        for name in fields:
            alike &= self._heads[name] == head[name]
        return numpy.flatnonzero(alike)

    def _energy_along(self, rows):
        """Energy of those lines that are near the middle of phase encoding, by the index of acquisition."""
        steps = self._heads["idx"]["kspace_encode_step_1"][rows].astype(int)
        middle = numpy.argsort(numpy.abs(steps - numpy.median(steps)), kind="stable")[:LOOKED_AT]
        energy = numpy.zeros(int(self._heads["number_of_samples"][rows[0]]))
        for row, data, _ in self._records(rows[middle]):
            kept = self._table.kept(row)
            energy[kept] += numpy.sum(numpy.abs(data[:, kept]) ** 2, axis=0)
        return energy

    def _along_trajectories(self, rows, unit, space, own, delays, shift):
        parts, places, times = self._readouts_along(rows, unit, space, own)
        if delays is not None:
            places = _delays.moved(places, delays, space.encoded)
        grid = self._grid([0] if space.encoded.shape[0] > 1 else [], space)
        return self._made(rows, numpy.concatenate(parts, axis=1), numpy.concatenate(places), numpy.concatenate(times), grid, space, False, shift)

    def _readouts_along(self, rows, unit, space, own):
        """Samples (coils, n), places (n, 3) in cycles per voxel of the encoded space, and seconds, of each readout."""
        volume = space.encoded.shape[0] > 1
        parts, k, times = [], [], []
        for row, data, traj in self._records(rows):
            traj = traj if own is None else own[row]
            kept = self._table.kept(row)
            if not traj.size:
                raise wrong(ValueError, f"{self._path}: the header says {self.kind!r}, but acquisition {row} has no trajectory. Convert the scan "
                                        "with its trajectory, write it into the file, or pass trajectory=: the way that the gradients went is not in the header")
            if not numpy.isfinite(traj[kept, :3]).all():
                raise wrong(ValueError, f"{self._path}: the trajectory of acquisition {row} has NaN or infinity")
            if traj.shape[1] < 2:
                raise wrong(ValueError, f"{self._path}: the trajectory of acquisition {row} has {traj.shape[1]} number a sample; it must have 2 or 3")
            parts.append(data[:, kept]), k.append(traj[kept].astype(float)), times.append(self._table.times(row)[kept])
        looked_at, partitions = self._looked_at(rows, own, k)
        along_z = volume and self._third(looked_at, partitions, space) == "kz"
        dims = 3 if along_z else 2
        reach = numpy.max([numpy.abs(t[:, :dims]).max(axis=0, initial=0) for t in (*looked_at, *k)], axis=0)
        scale = _trajectory.scale(reach, unit, space.encoded, space.recon)
        if along_z:
            _trajectory.check_partitions([t[:, :3] * scale for t in looked_at], partitions, space.encoded.shape[0])
        steps = self._heads["idx"]["kspace_encode_step_2"][rows].astype(float)
        stacked = volume and not along_z
        places = []
        for step, given in zip(steps, k):
            place = numpy.zeros((len(given), 3))
            place[:, :dims] = given[:, :dims] * scale
            if stacked:
                place[:, 2] = (step - space.centres[1]) / space.encoded.shape[0]
            places.append(place)
        return parts, places, times

    def _looked_at(self, rows, own, k):
        """Trajectories that units and axes are told by, of all frames, and their steps along z."""
        steps = self._heads["idx"]["kspace_encode_step_2"]
        if own is not None:
            return k, steps[rows].astype(int).tolist()
        key = ("trajectories", bool(self._imaging[rows].all()))
        if key not in self._known:
            alike = numpy.flatnonzero(self._imaging) if key[1] else rows
            found = [(row, t) for row, t in self._some_trajectories(alike) if numpy.isfinite(t[:, :3]).all() and t.shape[1] == k[0].shape[1]]
            self._known[key] = [t.astype(float) for _, t in found], [int(steps[row]) for row, _ in found]
        return self._known[key]

    def _third(self, trajectories, steps, space):
        if trajectories[0].shape[1] == 2:
            return "stack"
        key = ("third", space is self._space)
        found = _trajectory.third_axis(trajectories, steps, space.encoded.shape[0])
        if found == "density" and key not in self._known:
            _log.warning("the third number of the trajectory is no frequency, but the same in all partitions, as densities are: "
                         "kz is taken from kspace_encode_step_2")
        self._known[key] = found
        return found

    def _cartesian(self, rows, space, shift):
        nx = space.encoded.shape[2]
        kept = nx * space.recon.field_of_view[2] / space.encoded.field_of_view[2]
        whole = kept < nx - 0.5 and abs(kept - round(kept)) < 1e-3
        kept = round(kept)
        order, parts, echoes, times = [], [], [], []
        for row, data, _ in self._records(rows):
            data, echo, seconds = self._ordered(row, data)
            order.append(row), parts.append(data), echoes.append(echo), times.append(seconds)
        lengths = {data.shape[1] for data in parts}
        ramped = self._ramps(space) is not None
        centred = not ramped and all(abs(echo - data.shape[1] // 2) <= 1 for echo, data in zip(echoes, parts))
        uncut = bool((self._heads["discard_pre"][rows].astype(int) + self._heads["discard_post"][rows] == 0).all())
        narrow = whole and centred and uncut and lengths == {kept} and self._narrow_already(parts, kept, space)
        energy = numpy.array([numpy.sum(numpy.abs(data) ** 2) for data in parts])
        moved = 0.0  # in voxels of the encoding along x, of lines that lose what is outside of the field of view
        if whole and centred and uncut and lengths == {nx}:
            moved = shift[0] / space.encoded.voxel[2]
            for i, (data, echo) in enumerate(zip(parts, echoes)):
                parts[i], times[i] = _lines.narrowed(_shift.along(data, (numpy.arange(nx) - echo) / nx, moved), echo, kept, times[i])
            echoes, narrow = [kept // 2] * len(parts), True
        spacing = 1 / (kept if narrow else nx)  # cycles per voxel of the encoding
        along = [self._along(row, data.shape[1], echo, spacing, space) for row, data, echo in zip(order, parts, echoes)]
        if moved:  # the rest of the shift is of where samples lie
            parts = [_shift.along(data, x, -moved) for data, x in zip(parts, along)]
        self._fit_directions(order, parts, along, space)
        k = numpy.empty((sum(map(len, along)), 3))
        k[:, 0] = numpy.concatenate(along)
        for axis, column in ((1, 1), (0, 2)):
            steps = self._heads["idx"][f"kspace_encode_step_{column}"][rows].astype(int)
            centre = self._step_centre(column, steps, energy, space)
            k[:, column] = numpy.repeat((steps - centre) / space.encoded.shape[axis], [len(a) for a in along])
        times = numpy.concatenate(times)
        if space.kind == "epi":
            times[:] = math.nan
        grid = self._grid([0, 1] if narrow else [0, 1, 2], space)
        return self._made(rows, numpy.concatenate(parts, axis=1), k, times, grid, space, True, shift)

    def _ordered(self, row, data):
        """A line's samples from low to high frequency, the index at frequency 0, and their times."""
        chosen, echo, seconds = self._table.kept(row), self._echo(row), self._table.times(row)
        echo -= chosen.start
        data, seconds = data[:, chosen], seconds[chosen]
        if _lines.is_reversed(self._heads[row]):
            data, seconds, echo = data[:, ::-1], seconds[::-1], data.shape[1] - 1 - echo
        return data, echo, seconds

    def _ramps(self, space):
        """The readout gradient of echo-planar lines, where the header describes one for as many samples as lines have."""
        key = ("ramps", space is self._space)
        if key not in self._known:
            ramp = _echo_planar.ramps(space.described or {}) if space.kind == "epi" else None
            lengths = numpy.unique(self._heads["number_of_samples"][self._imaging | self._calibration])
            if ramp is not None and lengths.tolist() != [ramp.samples]:
                _log.warning("the header describes echo-planar lines of %d samples, and there are lines of %s: the description is not used", ramp.samples, listed(lengths.tolist()))
                ramp = None
            self._known[key] = ramp
        return self._known[key]

    def _along(self, row, n, echo, spacing, space):
        """Places of a line's samples along x, from low to high frequency, in cycles per voxel of the encoding."""
        ramp = self._ramps(space)
        if ramp is None:
            return (numpy.arange(n) - echo) * spacing
        places = _echo_planar.along(ramp, int(self._heads["number_of_samples"][row]), space.encoded.shape[2])[self._table.kept(row)] / space.encoded.shape[2]
        return -places[::-1] if _lines.is_reversed(self._heads[row]) else places

    def _fit_directions(self, rows, parts, along, space):
        """Takes out what lines of echo trains differ by in both directions, as navigators tell it."""
        key = ("trains", space is self._space)
        if key not in self._known and self._navigators is not None:
            self._known[key] = _echo_planar.Trains(self._heads, self._navigators, lambda rows: self._navigators_of(rows, space), space.encoded.shape[2])
        directions = [_lines.is_reversed(self._heads[row]) for row in rows]
        if self._navigators is None or len(set(directions)) < 2:
            return
        untold = False
        for i, (row, backwards) in enumerate(zip(rows, directions)):
            found = self._known[key].of(row)
            untold |= found is None
            if found is not None:
                factor, shift = found.correction(backwards)
                parts[i], along[i] = (parts[i] * factor).astype(numpy.complex64), along[i] + shift
        if untold and space.kind == "epi" and "echo trains" not in self._known:
            self._known["echo trains"] = True
            _log.warning("echo-planar lines of both directions are taken as they are, since no navigators (flag IS_PHASECORR_DATA) tell how they differ: unless their phases were "
                         "corrected before, the image has ghosts")

    def _navigators_of(self, rows, space):
        for row, data, _ in self._records(rows):
            data, echo, _ = self._ordered(row, data)
            yield _lines.is_reversed(self._heads[row]), data, self._along(row, data.shape[1], echo, 1 / space.encoded.shape[2], space)

    def _step_centre(self, column, steps, energy, space):
        key = ("centre", column, space.kind, space.encoded, tuple(space.centres), space is self._space)
        if key not in self._known:
            name = f"kspace_encode_step_{column}"
            self._known[key] = _lines.step_centre(name, steps, energy, space.centres[column - 1], space.encoded.shape[2 - column])
        return self._known[key]

    def _narrow_already(self, parts, kept, space):
        key = ("narrow", kept, space is self._space)
        if key not in self._known:
            self._known[key] = narrow = _lines.narrow_already(parts, kept)
            if narrow:
                _log.warning("lines have %d samples where the encoded matrix has %d: they fill the field of view, and are taken as without the "
                             "oversampling that the header has", kept, space.encoded.shape[2])
        return self._known[key]

    def _grid(self, encoded_axes, space):
        """Voxels to solve for: the image's, or those of the encoded field of view along these axes."""
        shape = list(space.recon.shape)
        for axis in encoded_axes:
            voxels = space.encoded.field_of_view[axis] / space.recon.voxel[axis]
            shape[axis] = shape[axis] if abs(voxels - shape[axis]) < 0.5 else math.ceil(voxels - 1e-3)
        if space.encoded.shape[0] == 1:
            shape[0] = 1
        return tuple(shape)

    def _made(self, rows, samples, k, times, grid, space, lines, shift):
        """In voxels of the image, whose resolution may be less than the encoding's, and whose middle may lie elsewhere."""
        dims = 3 if grid[0] > 1 else 2
        if any(shift):
            samples = shift_samples(samples, k[:, :dims], (numpy.array(shift) / space.encoded.voxel[::-1])[:dims], unit="cycles_per_voxel")
        k = k[:, :dims] * (numpy.array(self.recon.voxel[::-1]) / space.encoded.voxel[::-1])[:dims]
        inside = (numpy.abs(k) <= 0.5 + 1e-5).all(axis=1)
        if not inside.all():
            samples, k, times = samples[:, inside], k[inside], times[inside]
        head = self._heads[rows[0]]
        places = {name: numpy.array(head[name], float) for name in ("position", "read_dir", "phase_dir", "slice_dir")}
        places["position"] += sum(mm * places[name] for mm, name in zip(shift, ("read_dir", "phase_dir", "slice_dir")))
        return Readouts(numpy.ascontiguousarray(samples), numpy.clip(k, -0.5, 0.5).astype(numpy.float32), "cycles_per_voxel", times, grid,
                        *places.values(), float(head["sample_time_us"]) * 1e-6, rows, lines)


def listed(values):
    return ", ".join(map(str, values)) if len(values) < 9 else f"{values[0]} to {values[-1]}"


def numbers(text):
    """Such as 0,1,4-7, of which the format has 65536."""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        first, last = int(first), int(last or first)
        if last > 0xffff:
            raise Wanted(text)
        found += range(first, last + 1)
    return found
