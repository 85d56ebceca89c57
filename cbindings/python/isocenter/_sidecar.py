"""JSON files beside images, with the fields of PET-BIDS, https://bids-specification.readthedocs.io, "Positron Emission Tomography"."""
import json
import os

import numpy

from .errors import wrong

_ENDINGS = (".nii.gz", ".nii", ".img.gz", ".img", ".hdr", ".npy", ".hv")
_STARTS, _DURATIONS = "FrameTimesStart", "FrameDuration"


def beside(path):
    """The JSON file of an image."""
    text = os.fspath(path)
    ending = next((ending for ending in _ENDINGS if text.endswith(ending)), os.path.splitext(text)[1])
    return text[:len(text) - len(ending)] + ".json"


def write(path, fields, starts=None, durations=None):
    """Writes the file beside an image, `starts` and `durations` of its frames in s first."""
    times = {name: [float(v) for v in values] for name, values in ((_STARTS, starts), (_DURATIONS, durations)) if values is not None}
    with open(beside(path), "w", encoding="utf-8", newline="\n") as file:
        json.dump({**times, **fields}, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def read(path):
    """The fields of the file beside an image; none where there is no such file."""
    name = beside(path)
    return load(name) if os.path.isfile(name) else {}


def load(name):
    """The fields of a file."""
    try:
        with open(name, encoding="utf-8") as file:
            fields = json.load(file)
    except (ValueError, RecursionError) as e:
        raise wrong(ValueError, f"{name} is no JSON: {e}") from None
    if not isinstance(fields, dict):
        raise wrong(ValueError, f"{name} holds no fields; it must be an object of JSON")
    return fields


def times(name, fields, frames=None):
    """Starts and durations of the frames, s, as arrays (frames,) each; None and None of a file that does not tell them. `frames` is how many there must be."""
    if _STARTS not in fields or _DURATIONS not in fields:
        return None, None
    found = []
    for field in (_STARTS, _DURATIONS):
        given = numpy.atleast_1d(numpy.array(fields[field], object))
        if given.ndim != 1 or any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in given) or not numpy.isfinite(given.astype(float)).all():
            raise wrong(ValueError, f"{name} has {field} {str(fields[field])[:40]}; it must be numbers, s")
        found.append(given.astype(float))
    starts, durations = found
    if len(starts) != len(durations) or frames is not None and len(starts) != frames:
        raise wrong(ValueError, f"{name} has {len(starts)} of {_STARTS} and {len(durations)} of {_DURATIONS}" + (f"; the image has {frames} frames" if frames is not None else ""))
    if (durations < 0).any():
        raise wrong(ValueError, f"{name} has a {_DURATIONS} of {durations.min():g} s; it must be 0 or more")
    return starts, durations
