"""Cartesian readouts: where their samples lie, and where frequency 0 is when the file may be read in two ways."""
import logging

import numpy

# Energy whose mirror image about a candidate for frequency 0 is there, against that about another: so many times is certain. Echoes of measured
# scans are a sample or two off, but alike in both directions.
CERTAIN, ALIKE = 2.0, 1.0
EMPTY = 0.02  # part of the energy outside of the object, where lines are oversampled
REVERSED = 1 << 21  # ACQ_IS_REVERSE, 22, counts from 1


def is_reversed(head):
    return bool(int(head["flags"]) & REVERSED)


def symmetry(energy, centre):
    """How much of an energy along k lies on both sides of an index: most about frequency 0, since objects are nearly real."""
    if not 0 <= centre < len(energy):
        return 0.0
    reach = min(centre, len(energy) - 1 - centre)
    below, above = energy[centre - reach:centre][::-1], energy[centre + 1:centre + 1 + reach]
    return float(energy[centre] + 2 * numpy.minimum(below, above).sum())


def likeness(energy, centre, forwards, forward_centre):
    """How much a reversed line's energy with frequency 0 at an index is like that of lines forwards with theirs."""
    k = centre - numpy.arange(len(energy))
    there = (k + forward_centre >= 0) & (k + forward_centre < len(forwards))
    return float(numpy.sqrt(energy[there] * forwards[k[there] + forward_centre]).sum())


def best(candidates, score, margin):
    """The candidate of the highest score, if that is so many times the first one's; else the first."""
    scores = [score(c) for c in candidates]
    highest = int(numpy.argmax(scores))
    return candidates[highest if scores[highest] > margin * scores[0] else 0]


def readout_candidates(head, siemens):
    """Indices, in the order of acquisition, at which a line may be at frequency 0; the likeliest first.

    The format means the index of that sample. Of reversed lines Siemens' converter writes one more, and others count from the low end of
    k. Zero stands where a writer left the field out."""
    n, centre = int(head["number_of_samples"]), int(head["center_sample"])
    if not centre:
        return [0, n // 2, n - 1 - n // 2][:3 if is_reversed(head) else 2]
    if not is_reversed(head):
        return [centre]
    found = [centre - 1, centre] if siemens else [centre, centre - 1]
    return list(dict.fromkeys([*found, n - 1 - centre]))


def step_centre(name, steps, energy, centre, size):
    """The step of phase encoding at frequency 0: the header's `centre`, unless lines and their energy say that it is none."""
    lowest = int(steps.min())
    profile = numpy.bincount(steps - lowest, energy)
    inside = 0 <= centre - lowest < len(profile)
    if len(profile) == 1 or (inside and centre):
        return centre
    if inside:  # 0, which may be left out
        middle = size // 2
        if symmetry(profile, middle - lowest) < CERTAIN * symmetry(profile, -lowest):
            return 0
    else:
        middle = lowest + int(numpy.argmax([symmetry(profile, k) for k in range(len(profile))]))
    logging.getLogger("isocenter").warning(
        "the header says that %s %d is at frequency 0, but lines %d to %d have their energy about %d, which is taken", name, centre, lowest,
        lowest + len(profile) - 1, middle)
    return middle


def narrow_already(lines, kept):
    """Whether lines (lines of (coils, n)) of `kept` samples have lost the oversampling that the header still has: then they fill the
    field of view, whose outer half would be empty."""
    profile = sum(numpy.sum(numpy.abs(numpy.fft.ifft(line, axis=1)) ** 2, axis=0) for line in lines)
    profile = numpy.fft.fftshift(profile)
    outer = profile[:kept // 4].sum() + profile[kept - kept // 4:].sum()
    return bool(outer > EMPTY * profile.sum())


def narrowed(data, centre, kept, times):
    """A full line without its oversampling, and its times: the middle of its Fourier transform, transformed back. Frequency 0 is at
    `centre`, and then at kept // 2."""
    n = data.shape[1]
    profile = numpy.fft.fftshift(numpy.fft.ifft(numpy.roll(data, -centre, axis=1), axis=1), axes=1)
    first = n // 2 - kept // 2
    line = numpy.fft.fftshift(numpy.fft.fft(numpy.fft.ifftshift(profile[:, first:first + kept], axes=1), axis=1), axes=1)
    where = centre + (numpy.arange(kept) - kept // 2) * n / kept
    return line.astype(numpy.complex64), numpy.interp(where, numpy.arange(n), times)


def are_straight(head, trajectory, centre):
    """Whether a readout's trajectory is that of a Cartesian line: straight along x, in even steps, frequency 0 where the head has it."""
    n = len(trajectory)
    if n < 2:
        return True
    along = (numpy.arange(n) - centre) * (-1 if is_reversed(head) else 1)
    slope, first = numpy.polyfit(along, trajectory[:, 0], 1)
    reach = abs(slope) * n
    straight = numpy.abs(trajectory[:, 0] - slope * along - first).max() <= 0.01 * reach
    return bool(slope > 0 and straight and abs(first) <= slope and numpy.ptp(trajectory[:, 1:], axis=0).max(initial=0) <= 0.01 * reach)


def are_steps(places, steps, centre):
    """Whether lines lie where their steps of phase encoding say; places that are all 0 say nothing."""
    steps = steps.astype(float) - centre
    if not places.any():
        return True
    if not numpy.ptp(steps):
        return bool(numpy.ptp(places) <= 1e-3 * numpy.abs(places).max())
    slope, first = numpy.polyfit(steps, places, 1)
    return bool(slope > 0 and abs(first) <= 0.6 * slope and numpy.abs(places - slope * steps - first).max() <= 0.1 * slope)
