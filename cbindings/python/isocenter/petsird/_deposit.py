"""From events to histo-images."""
import dataclasses
import warnings

import numpy

from ..errors import wrong
from ._events import Events


@dataclasses.dataclass
class Deposited:
    """What `deposit` counted.

    Attributes
    ----------
    prompts, delays : array
        uint32 (frames, views, nz, ny, nx) each; delays are None of a file that has none.
    seconds : tuple of float
        Start and end of the events' blocks, s.
    events : int
        Prompts and delays of the file.
    dropped : list of Dropped
        Of each part of the list; events before the first frame and after the last are `unknown`.
    """
    prompts: numpy.ndarray
    delays: numpy.ndarray
    seconds: tuple
    events: int
    dropped: list


def deposit(pet, path, *, frames=None, delays=True):
    """Adds up a PETSIRD file's events in histo-images of the plan, whose scanner is the file's (`Scanner.set_on`).

    Parameters
    ----------
    pet : PET
    path : str or path
    frames : sequence of float, optional
        Edges of frames of time, ascending, s from the start of the scan: a block of events is of the frame in which it begins. None: one
        frame of the whole scan.
    delays : bool
        Whether delayed coincidences are counted, too.

    Returns
    -------
    Deposited

    Warns
    -----
    UserWarning
        Of a file that is not whole, of edges within blocks, and of crystals that seem to be counted from 1.
    """
    edges = numpy.array([-numpy.inf, numpy.inf] if frames is None else frames, float)
    if edges.ndim != 1 or len(edges) < 2 or not (numpy.diff(edges) > 0).all():
        raise wrong(ValueError, f"frames is {frames}; it must be edges in s, ascending, one more than there are frames")
    events = Events(path, numpy.stack([edges[:-1], edges[1:]], axis=1), delays)
    if not events.has_prompts:
        raise wrong(ValueError, f"{path} has no coincidences: they have to be sorted from its singles first")
    stored, count = delays and events.has_delays, len(edges) - 1
    sets = numpy.zeros(((2 if stored else 1) * count, *pet.histo_images_shape), numpy.uint32)
    dropped, number = [], 0
    for part in events:
        labels = numpy.where(part.frames < 0, 0xffffffff, part.kinds * count + part.frames).astype(numpy.uint32)
        dropped.append(pet.deposit_crystals(part.crystals, part.times, labels, sets, first_event=part.first))
        number += len(labels)
    for words in events.doubts:
        warnings.warn(words, stacklevel=2)
    sets = sets.reshape(-1, count, *pet.histo_images_shape)
    return Deposited(sets[0], sets[1] if stored else None, tuple(events.seconds) if number else (0.0, 0.0), number, dropped)
