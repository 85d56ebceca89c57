"""The activity of plasma over time: files of it, and its integrals."""
import re

import numpy

from .. import _tables
from ..errors import wrong

#: Units in s and Bq/ml.
SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "min": 60.0, "minute": 60.0, "minutes": 60.0}
BECQUEREL = {prefix + "bq/" + volume: scale for prefix, scale in (("", 1.0), ("k", 1e3), ("m", 1e6)) for volume in ("ml", "cc", "cm3")} | {"bqml": 1.0}


def read_plasma(path, time=None, unit=None):
    """The activity of plasma of a file.

    Parameters
    ----------
    path : path
        A text of two columns, separated by commas, semicolons, tabs or spaces, or .npy: times, and activities that are corrected for decay to the series' time. Names in the
        first line may say units, such as ``time[min]`` and ``plasma[kBq/ml]``.
    time : {"s", "min"}, optional
        Unit of times. None: the file's, else s.
    unit : str, optional
        Of activities, "Bq/ml" or "kBq/ml", for two. None: the file's, else Bq/ml.

    Returns
    -------
    array
        (samples, 2), s and Bq/ml.

    Raises
    ------
    ValueError
        Of a file that is no such table, of another unit, and of times that do not ascend.
    """
    names, rows = _tables.read(path)
    if rows.shape[1] != 2:
        raise wrong(ValueError, f"{path} has rows of {rows.shape[1]} numbers; there must be a time and an activity")
    names = names if len(names) == 2 else ["", ""]
    scales = [_scale(path, name, given, units, what) for name, given, units, what in zip(names, (time, unit), (SECONDS, BECQUEREL), ("time", "unit"))]
    return checked(rows * scales, path)


def checked(plasma, name="plasma"):
    """(samples, 2), ascending in time."""
    plasma = numpy.array(plasma, float)
    if plasma.ndim != 2 or plasma.shape[1] != 2 or len(plasma) < 2 or not numpy.isfinite(plasma).all():
        raise wrong(ValueError, f"{name} has shape {plasma.shape}; it must be two or more rows of a time, s, and an activity")
    if (numpy.diff(plasma[:, 0]) <= 0).any():
        raise wrong(ValueError, f"{name} has times that do not ascend")
    return plasma


class Curve:
    """An activity that is straight between its samples, and before the first rises from 0 at 0 s; its first and second integrals from 0 on are exact.

    Parameters
    ----------
    samples : array
        (n, 2); what comes before 0 s is left out, and after the last sample it stays.
    """

    def __init__(self, samples):
        times, values = samples.T
        if times[0] > 0:
            times, values = numpy.concatenate([[0.0], times]), numpy.concatenate([[0.0], values])
        elif times[0] < 0:
            later = times > 0
            times, values = numpy.concatenate([[0.0], times[later]]), numpy.concatenate([[numpy.interp(0.0, times, values)], values[later]])
        self._times, self._values = times, values
        self._slopes = numpy.append(numpy.diff(values) / numpy.diff(times), 0.0)
        steps = numpy.diff(times)
        once = values[:-1] * steps + self._slopes[:-1] * steps ** 2 / 2
        self._once = numpy.concatenate([[0.0], numpy.cumsum(once)])
        twice = self._once[:-1] * steps + values[:-1] * steps ** 2 / 2 + self._slopes[:-1] * steps ** 3 / 6
        self._twice = numpy.concatenate([[0.0], numpy.cumsum(twice)])

    def integral(self, t):
        k, step = self._at(t)
        return self._once[k] + self._values[k] * step + self._slopes[k] * step ** 2 / 2

    def second_integral(self, t):
        k, step = self._at(t)
        return self._twice[k] + self._once[k] * step + self._values[k] * step ** 2 / 2 + self._slopes[k] * step ** 3 / 6

    def _at(self, t):
        k = numpy.maximum(numpy.searchsorted(self._times, t, side="right") - 1, 0)
        return k, t - self._times[k]


def _scale(path, name, given, units, what):
    """What makes a column s or Bq/ml, by what is given, else by its name."""
    if given is not None:
        if str(given).lower() not in units:
            raise wrong(ValueError, f"{what} is {given!r}; it must be one of {', '.join(units)}")
        return units[str(given).lower()]
    inside = re.search(r"[\[(]\s*([^\])]+?)\s*[\])]", name)
    if inside is None:
        last = re.split(r"[\s_]+", name.strip().lower())[-1]
        return units.get(last, 1.0)
    if inside[1].lower() not in units:
        raise wrong(ValueError, f"{path} has a column {name}, in a unit that is not known: pass {what}, one of {', '.join(units)}")
    return units[inside[1].lower()]
