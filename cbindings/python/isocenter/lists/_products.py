"""Products of two crystals' values that change with time, as products of one value of each."""
import numpy

#: Of all of the time, what is none.
_ROUNDING = 1e-9


def weights(blocks, begins, ends, rate=0.0):
    """(intervals,): how much of `blocks`, (begin, end) in s in any order, is in each interval: seconds, or those weighed by an activity that decays with `rate`, 1/s, from the first block's begin on."""
    starts, stops = numpy.array(blocks, float).T
    first = starts.min()

    def passed(times):
        t = times - first
        return t if not rate else -numpy.expm1(-rate * t) / rate

    def until(times):
        """Of all blocks, what is before each time: of those that are over all, of those that are not what has passed."""
        times = numpy.clip(times, first, stops.max())
        of_stops, of_starts = (numpy.concatenate([[0.0], numpy.cumsum(passed(numpy.sort(edges)))]) for edges in (stops, starts))
        over, begun = (numpy.searchsorted(numpy.sort(edges), times, side="right") for edges in (stops, starts))
        return of_stops[over] + (begun - over) * passed(times) - of_starts[begun]

    made = until(numpy.asarray(ends, float)) - until(numpy.asarray(begins, float))
    return numpy.where(made > _ROUNDING * until(numpy.array([numpy.inf])), made, 0.0)


def separated(values, weights, whole):
    """f (crystals,), whose products f_i f_j are the mean over time of v_i v_j, and how far these are from it.

    With g, the mean of v over crystals in each interval, `f = sum w g v / sqrt(whole sum w g^2)`: exact where v of all crystals changes alike, v = u g. Of others the mean of v_i v_j differs from
    f_i f_j by that of what v_i and v_j have besides u g, which is at most `sqrt(r_i r_j)`.

    Parameters
    ----------
    values : function
        Of an interval's number v (crystals,), and the square of its error by counting, or 0.
    weights : array
        (intervals,).
    whole : float
        What weights are together where all time is in an interval.

    Returns
    -------
    f, r : array
        (crystals,).
    """
    of_both, of_common, squares = 0.0, 0.0, 0.0
    for j in numpy.flatnonzero(weights):
        v, noise = values(j)
        common = v.mean()
        of_both = of_both + weights[j] * common * v
        of_common = of_common + weights[j] * common * common
        squares = squares + weights[j] * (v * v - noise)
    if not of_common > 0:
        none = numpy.zeros(numpy.shape(of_both))
        return none, none
    made = of_both / numpy.sqrt(whole * of_common)
    return made, squares / whole - made * made
