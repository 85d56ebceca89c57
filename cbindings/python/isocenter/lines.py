"""Lists of events as lines through the image, with time of flight or without."""
import ctypes
import dataclasses

import numpy

from . import _abi
from ._library import lib
from ._tensor import tensor
from ._values import integer, real, struct
from .errors import wrong


@dataclasses.dataclass(frozen=True, eq=False)
class EventList:
    """A list of events for the methods of `PET` that go along lines; all arrays in host memory, taken in place.

    Parameters
    ----------
    crystals : array, optional
        uint8, uint16 or uint32 (events, 2), as for `PET.deposit_crystals`; or None, and
    first_positions, second_positions : array, optional
        float32 or float64 (events, 3) of x, y, z in mm, as for `PET.deposit`.
    times : array, optional
        (events,) of t2 - t1 in ps, float32 or float64, positive where the event is nearer to the first; or of crystals time bins, uint8, uint16 or uint32. None: there is no time of flight.
    tof_fwhm : array, optional
        float32 or float64 (events,): full width at half maximum of each event's time difference, ps, as of pairs of modules that differ. None: that of `PET.set_response`.
    first_event : int
        The number of the list's first event in the scan, by which events have their places on crystals.
    """
    crystals: object = None
    times: object = None
    _: dataclasses.KW_ONLY
    first_positions: object = None
    second_positions: object = None
    tof_fwhm: object = None
    first_event: int = 0

    def __len__(self):
        array = self.first_positions if self.crystals is None else self.crystals
        if array is None:
            raise wrong(TypeError, "the list has no events: give crystals, or first_positions and second_positions")
        return int(array.shape[0])

    def _struct(self):
        """The library's, and what has to live for as long as that."""
        arrays = {name: tensor(getattr(self, name), f"list.{name}")
                  for name in ("crystals", "first_positions", "second_positions", "times", "tof_fwhm") if getattr(self, name) is not None}
        pointers = {name: ctypes.cast(of.pointer, ctypes.POINTER(_abi.isoc_tensor)) for name, of in arrays.items()}
        return struct(_abi.isoc_pet_list, first_event=integer(self.first_event, "first_event", ctypes.c_uint64), **pointers), arrays


class AlongLines:
    """The methods of `PET` that go along lines."""

    def forward_lines(self, list, image, out=None):
        """Sums of an image along the lines of a list: Joseph's projector, after the image is blurred by the widths of `set_response` across and along the scanner.

        Parameters
        ----------
        list : EventList
            With times a line counts about its event's place, by the Gaussian of its time's width; without, it is an integral in mm.
        image : array
            float32 (nz, ny, nx).
        out : array, optional
            float32 (events,), takes the result.

        Returns
        -------
        out
        dropped : Dropped
            Events that are no lines, by cause; those that miss the lattice are `outside_lattice`. They have 0.
        """
        out = numpy.zeros(len(list), "float32") if out is None else out
        return out, self._of_list(lib.isoc_pet_forward_lines, list, self._in(image, "image"), self._out(out, "values"))

    def adjoint_lines(self, list, values, out=None):
        """The transpose of `forward_lines`: values (events,) times lines, added up in an image.

        Parameters
        ----------
        list : EventList
        values : array
            float32 (events,).
        out : array, optional
            float32 (nz, ny, nx), takes the result.

        Returns
        -------
        out
        dropped : Dropped
        """
        out = numpy.zeros(self.image_shape, "float32") if out is None else out
        return out, self._of_list(lib.isoc_pet_adjoint_lines, list, self._in(values, "values"), self._out(out, "image"))

    def line_factors(self, list, efficiencies=None, attenuation=None, out=None, *, directions=0, duration=0.0, branching=0.0, half_life=0.0, delay=0.0,
                     live=0.0, map_voxel=None, map_centre=None):
        """What is measured of each event's line, as `reconstruct_lines` takes it: efficiencies of both crystals times the part of photons that gets through, times what makes counts of
        an activity, a steradian and mm^2 (and with times mm along the line).

        Parameters
        ----------
        list : EventList
            Of crystals where there are efficiencies.
        out : array, optional
            float32 (events,), takes the result.
        efficiencies, attenuation, directions, duration, branching, half_life, delay, live, map_voxel, map_centre
            As for `factors`.

        Returns
        -------
        out
        dropped : Dropped
        """
        out = numpy.zeros(len(list), "float32") if out is None else out
        options = self._factor_options(directions, duration, branching, half_life, delay, live, map_voxel, map_centre)
        return out, self._of_list(lib.isoc_pet_line_factors, list, ctypes.byref(options), self._in(efficiencies, "efficiencies"),
                                  self._in(attenuation, "attenuation"), self._out(out, "factors"))

    def line_sensitivity(self, efficiencies=None, attenuation=None, out=None, *, directions=0, duration=0.0, branching=0.0, half_life=0.0, delay=0.0,
                         live=0.0, map_voxel=None, map_centre=None):
        """What is measured of each voxel by all lines within the tilts, as `reconstruct_lines` takes it: the sum over views of `factors`, whose arguments it has. `set_scanner` has to come first.

        Parameters
        ----------
        out : array, optional
            float32 (nz, ny, nx), takes the result. On the GPU that the plan computes on it stays there.
        efficiencies, attenuation, directions, duration, branching, half_life, delay, live, map_voxel, map_centre
            As for `factors`, but that `directions` of 0 means 8: the sum has the noise of all views' together.

        Returns
        -------
        out
        """
        out = numpy.zeros(self.image_shape, "float32") if out is None else out
        options = self._factor_options(directions, duration, branching, half_life, delay, live, map_voxel, map_centre)
        self._run(lib.isoc_pet_line_sensitivity, ctypes.byref(options), self._in(efficiencies, "efficiencies"), self._in(attenuation, "attenuation"),
                  self._out(out, "sensitivity"))
        return out

    def line_randoms(self, list, singles, duration, out=None, *, window=0.0):
        """The density of random coincidences about each event of a list of crystals: a part of what `reconstruct_lines` takes as `additive`.

        Parameters
        ----------
        list : EventList
        singles : array
            float32 or float64 (crystals,), 1/s, of `singles` or the scanner.
        duration : float
            Of the measurement, s.
        out : array, optional
            float32 (events,), takes the result.
        window : float
            Largest time difference of an event, ps; 0 means that of the scanner's time bins.

        Returns
        -------
        out
        """
        out = numpy.zeros(len(list), "float32") if out is None else out
        given, _alive = list._struct()
        self._run(lib.isoc_pet_line_randoms, ctypes.byref(given), real(duration, "duration"), real(window, "window"), self._in(singles, "singles"),
                  self._out(out, "randoms"))
        return out

    def sample_lines(self, list, histo_images, out=None):
        """The sum along each event's line of its view's histo-image. So the scatter of `scatter` comes to lines, over `factors` without attenuation: times `line_factors` without attenuation its sum is the density
        about each event, a part of what `reconstruct_lines` takes as `additive`. A lattice that reaches to the crystals has all of it, in voxels as large as a twentieth of the scanner.

        Parameters
        ----------
        list : EventList
        histo_images : array
            float32 (views, nz, ny, nx) in host memory.
        out : array, optional
            float32 (events,), takes the result.

        Returns
        -------
        out
        dropped : Dropped
        """
        out = numpy.zeros(len(list), "float32") if out is None else out
        return out, self._of_list(lib.isoc_pet_sample_lines, list, self._in(histo_images, "histo_images"), self._out(out, "values"))

    def reconstruct_lines(self, list, sensitivity, factors=None, additive=None, out=None):
        """The image of a list of events along their lines, by the algorithm of `set_options`, of which subsets are of events: for scanners without time of flight, with so little that it is as long as the
        object, or with modules of several time resolutions. Others are faster by `deposit_crystals` and `reconstruct`.

        Parameters
        ----------
        list : EventList
        sensitivity : array
            float32 (nz, ny, nx), as `line_sensitivity` makes it.
        factors : array, optional
            float32 (events,), at least 0, as `line_factors` makes them; None: 1.
        additive : array, optional
            float32 (events,), at least 0: what is measured besides, as `line_randoms` and `sample_lines` make it; None: 0.
        out : array, optional
            float32 (nz, ny, nx), takes the result; the image that a warm start begins with.

        Returns
        -------
        out
        dropped : Dropped
            Events that do not count, by cause.

        Raises
        ------
        OutOfRangeError
            The algorithm is RAMLA, which goes view by view; a value is below 0.
        """
        out = numpy.zeros(self.image_shape, "float32") if out is None else out
        return out, self._of_list(lib.isoc_pet_reconstruct_lines, list, self._in(factors, "factors"), self._in(additive, "additive"),
                                  self._in(sensitivity, "sensitivity"), self._out(out, "image"))

    def lines_memory(self, events):
        """Bytes of working memory that `reconstruct_lines` takes of so many events: of the host, or of the GPU that it computes on."""
        out = ctypes.c_uint64()
        self._run(lib.isoc_pet_lines_memory, integer(events, "events", ctypes.c_uint64), ctypes.byref(out))
        return out.value

    def _of_list(self, function, list, *arguments):
        if not isinstance(list, EventList):
            raise wrong(TypeError, f"list is {type(list).__name__}; it must be an isocenter.EventList")
        given, _alive = list._struct()
        dropped = struct(_abi.isoc_pet_dropped)
        self._run(function, ctypes.byref(given), *arguments, ctypes.byref(dropped))
        return self._dropped(dropped)
