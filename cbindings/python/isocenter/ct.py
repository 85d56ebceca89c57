"""Parallel-beam CT."""
import ctypes
from collections import namedtuple

import numpy

from . import _abi, _call
from ._library import lib
from ._plan import Plan
from ._stream import callback, element_type
from ._values import address, choice, integer, numbers, real, record, struct
from .errors import NotConfiguredError, OutOfRangeError, TensorDtypeError, wrong

CTOutput = record("CTOutput", __name__, _abi.isoc_ct_output_info,
                  "What the last reconstruction stored: value = offset + slope * stored. See isoc_ct_output_info.")
# What volumes are, by the names of isoc_ct_output_type.
_STORED = {_abi.CtOutputType.F32: "float32", _abi.CtOutputType.U8: "uint8", _abi.CtOutputType.U16: "uint16",
           _abi.CtOutputType.F16: "float16"}
CTInfo = record("CTInfo", __name__, _abi.isoc_ct_info,
                "What a CT plan found and decided; angles in radians. See isoc_ct_info.")

CTIteration = record("CTIteration", __name__, _abi.isoc_ct_iteration,
                     "One iteration over all slices. See isoc_ct_iteration.")

CTAxis = namedtuple("CTAxis", "method axis tilt error confidence half_acquisition curve curve_first curve_step")
CTFlatFit = namedtuple("CTFlatFit", "components explained weights variation_before variation_after")
CTFlatFit.__doc__ = "What `CT.fit_flat_field` found. See isoc_ct_flat_fit."
CTAxis.__doc__ = "What `CT.find_axis` found. See isoc_ct_axis."

CTBadViews = namedtuple("CTBadViews", "faults certain doubtful good")
CTBadViews.__doc__ = "What `CT.find_bad_views` found. See isoc_ct_find_bad_views."


class CT(Plan):
    """A plan for parallel-beam CT: geometry, options, flat field.

    Any thread may use it; calls on one plan wait for each other, different plans run at the same time.

    Parameters
    ----------
    context : Context, optional
        Where to compute; None makes one with the defaults.
    angles, bins, rows, views, order, axis, bin_pitch, pixel_size, nx, ny, x_offset, y_offset, first_row, slices, region
        The geometry, as `set_geometry` takes it: `angles` and `bins` at least. None of them leaves it for later.

    Notes
    -----
    Arrays are NumPy arrays of any strides, or arrays that have ``__dlpack__`` (PyTorch, CuPy) in host memory or on a GPU of the
    context; none is copied or converted. An output that is not given is made, of the library and on the device of the input.
    Volumes are (slices, ny, nx), projections (views, rows, bins), or (rows, views, bins) with order "sinograms"; where there is
    one slice, or one row, two dimensions will do.

    Examples
    --------
    >>> with isocenter.CT(angles=numpy.linspace(0, numpy.pi, 180, endpoint=False), bins=256) as ct:
    ...     volume = ct.reconstruct(sinogram)  # (180, 256) of float32; the volume is (256, 256)
    """

    def __init__(self, context=None, *, angles=None, bins=None, rows=1, views=None, order="frames", axis=None, bin_pitch=0.0,
                 pixel_size=0.0, nx=0, ny=0, x_offset=0.0, y_offset=0.0, first_row=0, slices=0, region=None):
        given = locals()
        self._shapes, self._sinograms, self._facts, self._flat_of = None, False, {}, None
        self._stored = "float32"
        self._iterates = self._continues = False  # by set_options and set_iterative
        super().__init__(lib.isoc_ct_create, lib.isoc_ct_destroy, context)
        self._begin(given)

    def __repr__(self):
        if self._shapes is None:
            return self._described()
        return self._described(projections=self._shapes[0], order="sinograms" if self._sinograms else "frames",
                               volume=self._shapes[1], **self._facts, flat_field=self._flat_of is not None)

    def set_geometry(self, *, angles, bins, rows=1, views=None, order="frames", axis=None, bin_pitch=0.0, pixel_size=0.0, nx=0,
                     ny=0, x_offset=0.0, y_offset=0.0, first_row=0, slices=0, region=None):
        """Sets scan and volume. Forgets weights of your own; the flat field stays while rows and bins do.

        Pixel (row i, column j) projects in view p, at angle t, to the fractional bin
        ``axis[p] + (pixel_size / bin_pitch) * ((j - cx) cos t - (i - cy) sin t)``, where ``cx = (nx - 1) / 2 + x_offset``,
        ``cy = (ny - 1) / 2 + y_offset`` and bin k has its centre at k.

        Parameters
        ----------
        angles : sequence of float
            Of the views, radians, in any order.
        bins, rows : int
            Of the detector.
        views : int, optional
            Number of angles, if you want it checked.
        order : {"frames", "sinograms"}
            Projections are (views, rows, bins), or (rows, views, bins).
        axis : float or sequence of float, optional
            The rotation axis as a fractional bin; one value, or one for each view. None: (bins - 1) / 2.
        bin_pitch : float
            Distance between bins, in any length unit; 0 means 1.
        pixel_size : float
            Side of a pixel in that unit; 0 means bin_pitch.
        nx, ny : int
            Columns and rows of a slice; 0 means bins.
        x_offset, y_offset : float
            The axis passes through column (nx - 1) / 2 + x_offset and row (ny - 1) / 2 + y_offset.
        first_row, slices : int
            Slice z of the volume is detector row first_row + z; 0 slices means all rows from there on.
        region : (int, int, int, int), optional
            Columns c0 to c1 and rows r0 to r1 of the slice that the other keywords describe, as ``(c0, c1, r0, r1)``, counted from 0,
            ends not included: the volume is then ``[:, r0:r1, c0:c1]`` of what it would be, with the same pixels.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
        """
        angles = numbers(angles, "angles")
        if views is not None and integer(views, "views") != angles.size:
            raise wrong(ValueError, f"views is {views}, but there are {angles.size} angles")
        axis = None if axis is None else numbers([axis] if numpy.ndim(axis) == 0 else axis, "axis")
        order = choice(_abi.CtOrder, order, "order")
        geometry = struct(
            _abi.isoc_ct_geometry, order=order, views=angles.size, bins=bins, rows=rows, angles=address(angles),
            axis=address(axis), axis_count=None if axis is None else axis.size, bin_pitch=bin_pitch, pixel_size=pixel_size,
            nx=nx, ny=ny, x_offset=x_offset, y_offset=y_offset, first_row=first_row, slices=slices)
        if region is not None:
            region = numbers(region, "region", "int64")
            if region.size != 4:
                raise wrong(ValueError, f"region has {region.size} numbers; it must be (c0, c1, r0, r1)")
            _check_region(region, geometry)
            _call.invoke(lib.isoc_ct_region, ctypes.byref(geometry), *region.tolist(), context=self._context)
        self._run(lib.isoc_ct_set_geometry, ctypes.byref(geometry))
        rows, self._sinograms = geometry.rows or 1, order == _abi.CtOrder.SINOGRAMS
        if self._flat_of not in ((rows, geometry.bins, None), (rows, geometry.bins, angles.size)):  # the plan has forgotten it
            self._flat_of = None
        pitch = geometry.bin_pitch or 1.0
        lowest, highest = ((geometry.bins - 1) / 2,) * 2 if axis is None else (axis.min().item(), axis.max().item())
        self._facts = {"axis": lowest if lowest == highest else (lowest, highest), "bin_pitch": pitch,
                       "pixel_size": geometry.pixel_size or pitch}
        measured = (rows, angles.size) if self._sinograms else (angles.size, rows)
        self._shapes = ((*measured, geometry.bins), (geometry.slices or rows - geometry.first_row,
                                                     geometry.ny or geometry.bins, geometry.nx or geometry.bins))

    @property
    def projections_shape(self):
        """(views, rows, bins), or (rows, views, bins) with order "sinograms"."""
        return self._shape(0)

    @property
    def volume_shape(self):
        """(slices, ny, nx)."""
        return self._shape(1)

    def _shape(self, which):
        if self._shapes is None:
            raise wrong(NotConfiguredError, "set_geometry has to come first")
        return self._shapes[which]

    def _detector(self):
        """Views, rows, bins; None of each without a geometry."""
        first, second, bins = self._shapes[0] if self._shapes else (None,) * 3
        return (second, first, bins) if self._sinograms else (first, second, bins)

    def _like(self, which, source):
        """Shape of a result: of two dimensions if `source` has two, and the result one slice or row."""
        shape = self._shape(which)
        left_out = 0 if which or self._sinograms else 1
        if getattr(source, "ndim", 3) != 2 or shape[left_out] != 1:
            return shape
        return shape[:left_out] + shape[left_out + 1:]

    def set_options(self, *, filter="ram_lak", interpolation="linear", padding="zero", weighted_backprojection=False,
                    kernel="auto", cutoff=0.0, butterworth_order=0.0, response=None, minimum_transmission=0.0,
                    precision="single", input="auto", tolerance=0.0, projector="joseph", algorithm="fbp"):
        """Sets options; what is not named gets its default. They hold until set again, whatever the geometry.

        Parameters
        ----------
        filter : {"ram_lak", "shepp_logan", "cosine", "hamming", "hann", "parzen", "butterworth", "none", "custom"}
        interpolation : {"linear", "nearest", "oversampled", "band_limited"}
            How back projection reads between bins. "band_limited" reads the trigonometric polynomial through the row and zeros beyond
            its ends, by fast Fourier transforms: it keeps detail that "linear" smooths, rings more at edges, and takes N^2 log N
            operations a slice in place of N^3. Beyond the detector's ends a ray then contributes a little, in place of 0.
        padding : {"zero", "edge"}
            What the filter sees beyond the ends of a row; "edge" is milder where the object is wider than the detector.
        weighted_backprojection : bool
            `backproject` multiplies each view by its angular weight, as `reconstruct` always does.
        kernel : {"auto", "texture_standard", "texture", "alu", "hybrid", "tensor"}
            Of back projection on a GPU; "auto" with "band_limited".
        cutoff : float
            End of the filter's window as a fraction of Nyquist; 0 means 1 (Butterworth: 0.5).
        butterworth_order : float
            0.5 to 64; 0 means 4.
        response : sequence of float, optional
            Filter "custom": values at frequencies evenly spaced from 0 to Nyquist, both in. Unit: cycles a bin, so that the
            plain ramp runs from 0 to 0.5.
        minimum_transmission : float
            Of counts and transmissions, before the logarithm; 0 means 1e-6.
        precision : {"single", "half"}
            Of the data that are back projected on a GPU.
        input : {"auto", "counts", "transmission", "line_integrals"}
            What projections of `filter`, `reconstruct` and `reconstruct_stream` hold. "auto": integers are counts, float32 are line
            integrals, which are warned of where they cannot be any; float32 while there is a flat field are an error. "counts" need a
            flat field, of any type. "transmission": float32, the negative logarithm is taken. "line_integrals": float32, as they are.
        tolerance : float
            Of what is "band_limited": how near results come to the exact sum, in the l2 norm relative to that sum; 1e-6 to 1e-2, 0
            means 1e-4.
        projector : {"joseph", "band_limited"}
            What `forward` and `adjoint` are. "band_limited": line integrals of the band-limited function through the pixels, by fast
            Fourier transforms: exact for images without detail finer than two pixels, and N^2 log N operations a slice.
        algorithm : {"fbp", "sirt", "cgls", "mlem", "total_variation", "fista"}
            How `reconstruct` and `reconstruct_stream` reconstruct: filtered back projection, or iterations of `forward` and `adjoint`,
            which `set_iterative` says more of. "sirt" becomes OS-SART and "mlem" OSEM with subsets.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
        """
        response = None if response is None else numbers(response, "response", "float32")
        options = struct(
            _abi.isoc_ct_options, filter=choice(_abi.CtFilterKind, filter, "filter"),
            interpolation=choice(_abi.CtInterpolation, interpolation, "interpolation"),
            padding=choice(_abi.CtPadding, padding, "padding"), weighted_backprojection=weighted_backprojection,
            kernel=choice(_abi.CtKernel, kernel, "kernel"), cutoff=cutoff, butterworth_order=butterworth_order,
            response=address(response), response_count=None if response is None else response.size,
            minimum_transmission=minimum_transmission, precision=choice(_abi.CtPrecision, precision, "precision"),
            input=choice(_abi.CtInput, input, "input"), tolerance=tolerance,
            projector=choice(_abi.CtProjector, projector, "projector"), algorithm=choice(_abi.CtAlgorithm, algorithm, "algorithm"))
        self._run(lib.isoc_ct_set_options, ctypes.byref(options))
        self._iterates = options.algorithm != _abi.CtAlgorithm.FBP

    def set_iterative(self, iterations=30, *, subsets=0, relaxation=0.0, bounds="none", lower=0.0, upper=0.0, mask_radius=0.0,
                      start="uniform", normal="auto", weighting="uniform", fit="squares", variation="slices", regularisation=0.0,
                      ring_weight=0.0, huber=0.0, tolerance=0.0):
        """Sets how iterative algorithms (see `set_options`) go on; what is not named gets its default. What an algorithm has no use for
        must keep its default.

        Parameters
        ----------
        iterations : int
            Maximum number, each over all views.
        subsets : int
            "sirt", "mlem": of the views; 0 means 1.
        relaxation : float
            "sirt": factor of each step, above 0 and below 2; 0 means 1.
        bounds : {"none", "non_negative", "box"}
            "sirt", "mlem", "total_variation", "fista": what values are kept within; "box" is `lower` to `upper`, which may be infinite.
            "total_variation" needs a lower one, and finds its gap sooner with an upper one.
        mask_radius : float
            Pixels outside this circle stay 0: its radius in halves of the slice's shorter side; 0 for no mask.
        start : {"uniform", "volume"}
            What the first iteration begins with: zeros ("mlem": ones), or what the volume given to `reconstruct` holds, which may be an
            earlier result, moved into the bounds. "volume" is not for `reconstruct_stream`, nor with `set_output`.
        normal : {"auto", "pair", "toeplitz"}
            "cgls", "fista": how A^T A is applied. As a convolution ("toeplitz") it takes one padded FFT each way, whatever the number of views: that
            is what it is, but for what the detector's ends cut off, of the band-limited pair (`set_options(projector="band_limited")`) where all
            pixels, or those inside the circle of `mask_radius`, fall on the detector in all views. "fista" comes to the pair's minimum by it, so
            that "auto" takes it there, and the log says so; "cgls" comes to the convolution's own, and takes it where it is asked for.
        weighting : {"uniform", "transmission", "given"}
            "cgls", "fista", "total_variation" (which then needs two bounds): how much each ray counts. "transmission": exp(-b), b the line
            integral, at most 1: right where photons make the noise. "given": by `set_ray_weights`.
        fit : {"squares", "poisson"}
            "total_variation": how an image is measured by the data; "poisson" for counts of emission or fluorescence, which must not be
            negative, with two bounds of 0 or more.
        variation : {"slices", "volume"}
            "total_variation": of pixels next to each other in a slice, or of neighbouring slices, too, whose distance is a bin's. Slices are then
            worked on together, and must fit the memory cap; through GPUs they go piece by piece where they do not fit.
        regularisation : float
            "cgls", "fista": weight of the squared norm of the image, in squares of the length unit. "total_variation": weight of the sum of the
            gradient's length, in the length unit; above 0.
        ring_weight : float
            "total_variation" within two bounds: weight of the sum of offsets, one a bin and slice that all views share, which are found with
            the image and taken off the data: rings. One to three times the noise of a line integral times the square root of the number of views.
        huber : float
            "total_variation": gradients shorter than this count by their square, so that slopes are kept; in attenuation a length unit.
        tolerance : float
            "cgls": ends a slice when its gradient is this part of the first one's. "total_variation": when its duality gap is this part of
            its objective; 0 means 1e-4.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
            What an algorithm has no use for is refused by `reconstruct`, which knows it.

        Examples
        --------
        >>> ct.set_options(algorithm="sirt")
        >>> ct.set_iterative(20, subsets=10, bounds="non_negative")
        >>> volume = ct.reconstruct(projections)
        >>> falling = [i.objective for i in ct.history()]
        """
        iterative = struct(
            _abi.isoc_ct_iterative, iterations=integer(iterations, "iterations"), subsets=integer(subsets, "subsets"),
            relaxation=relaxation, bounds=choice(_abi.CtBounds, bounds, "bounds"), lower=lower, upper=upper, mask_radius=mask_radius,
            start=choice(_abi.CtStart, start, "start"), normal=choice(_abi.CtNormal, normal, "normal"),
            weighting=choice(_abi.CtWeighting, weighting, "weighting"), fit=choice(_abi.CtFit, fit, "fit"),
            variation=choice(_abi.CtVariation, variation, "variation"), regularisation=regularisation, ring_weight=ring_weight,
            huber=huber, tolerance=tolerance)
        self._run(lib.isoc_ct_set_iterative, ctypes.byref(iterative))
        self._continues = iterative.start == _abi.CtStart.VOLUME

    def set_ray_weights(self, weights):
        """Takes weights of rays for `weighting` "given" of `set_iterative`, until the next `set_geometry`.

        Parameters
        ----------
        weights : array or None
            (views, bins), float32 or float64 on the host, 0 or more; the same in all slices. A weight of 0 leaves a ray out, as of a dead
            column of the detector or of metal in its way. None forgets them.

        Raises
        ------
        TensorShapeError, NotFiniteDataError, OutOfRangeError
        """
        self._run(lib.isoc_ct_set_ray_weights, self._in(weights, "weights"))

    def history(self):
        """What each iteration of the last reconstruction saw.

        Returns
        -------
        list of CTIteration
            `iteration`, the iterations before it; `objective`, what the algorithm makes smaller, summed over slices ("sirt": half the
            weighted sum of squared differences, "cgls" and "total_variation": half the sum of squares and the penalty, "mlem": the
            Kullback-Leibler divergence); `gap`, how far that is above its minimum at most, infinite where the algorithm does not know;
            `slices`, how many had not ended. "total_variation" looks after each 20 iterations and the last, others before each.

        Raises
        ------
        NotConfiguredError
            None has iterated since `set_iterative`.
        """
        found = ctypes.c_int64()
        self._run(lib.isoc_ct_history, None, 0, ctypes.byref(found))
        iterations = (_abi.isoc_ct_iteration * found.value)()
        self._run(lib.isoc_ct_history, iterations, len(iterations), ctypes.byref(found))
        return [CTIteration._of(i) for i in iterations[:found.value]]

    def set_output(self, *, dtype="f32", low=0.0, high=0.0, low_percentile=0.0, high_percentile=0.0, histogram_slices=0,
                   mask_radius=0.0, mask_value=0.0, histogram_bins=0):
        """Sets how `reconstruct` and `reconstruct_stream` store the volume; what is not named gets its default, float32 as they are.
        It holds until set again, whatever the geometry.

        Integers store ``round((value - low) / (high - low) * largest)``, with one window for all slices, and at its ends what is outside
        it; `output` tells offset and slope.

        Parameters
        ----------
        dtype : {"f32", "u8", "u16", "f16"}
            Volumes are float32, uint8, uint16 or float16. "f16": the values, or, with a window or percentiles, 0 to 1 over the window.
        low, high : float
            The window. Both 0: from percentiles.
        low_percentile, high_percentile : float
            Of the values inside the mask, 0 to 100; both 0 mean 0.1 and 99.9. They are found in a first pass over some slices, for which
            `reconstruct_stream` asks `read` first.
        histogram_slices : int
            Slices that percentiles are of, spread evenly: 0 means 16, -1 all.
        mask_radius : float
            Pixels outside a circle of this radius, in halves of the slice's shorter side (up to 1.5), get `mask_value` and do not count;
            0: no mask.
        mask_value : float
            In place of values outside the circle.
        histogram_bins : int
            Bins of `histogram`, over the window; 0: none.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
        """
        chosen = choice(_abi.CtOutputType, dtype, "dtype")
        output = struct(_abi.isoc_ct_output, dtype=chosen, low=low, high=high, low_percentile=low_percentile,
                        high_percentile=high_percentile, histogram_slices=histogram_slices, mask_radius=mask_radius,
                        mask_value=mask_value, histogram_bins=histogram_bins)
        self._run(lib.isoc_ct_set_output, ctypes.byref(output))
        self._stored = _STORED[chosen]

    def output(self):
        """What the last reconstruction stored, a CTOutput: ``value = offset + slope * stored``, the window, and how many values lay
        outside it.

        Raises
        ------
        NotConfiguredError
            None has been finished since `set_output`.
        """
        info = struct(_abi.isoc_ct_output_info)
        self._run(lib.isoc_ct_get_output, ctypes.byref(info))
        return CTOutput._of(info)._replace(dtype=_abi.CtOutputType(info.dtype).name.lower())

    def histogram(self):
        """The histogram of the volume that was stored last: int64 (histogram_bins,), over the window; what was outside it is in the bins
        at the ends, so that the sum is the number of pixels inside the mask.

        Raises
        ------
        NotConfiguredError
            No reconstruction has been finished since `set_output`.
        """
        count = ctypes.c_int64()
        self._run(lib.isoc_ct_get_histogram, None, 0, ctypes.byref(count))
        counts = numpy.zeros(count.value, "int64")
        self._run(lib.isoc_ct_get_histogram, address(counts), counts.size, None)
        return counts

    def set_flat_field(self, flats, darks=None, *, combine="mean", group_frames=None, group_positions=None, group_monitor=None,
                       monitor=None, bad_pixels=0.0, outliers=None, eigenflats=0):
        """For counts, of which `filter` and `reconstruct` then make -ln((raw - dark) / (flat - dark)).

        Integers are counts; for float32 ``set_options(input="counts")`` says so. Call it after `set_geometry`; it stays until a geometry
        with other rows or bins, or, where the beam varies from view to view (groups, `monitor`), other views. Keywords hold for these
        flats and darks.

        Parameters
        ----------
        flats, darks : array or None
            (frames, rows, bins), or (rows, bins) of one frame, float32, uint16 or uint8; copied. All rows of the detector, one too:
            (frames, 1, bins). No darks: zeros. No flats: forgets the flat field.
        combine : {"mean", "median"}
            What becomes of several frames, pixel by pixel: of the darks, and of the flats of a group.
        group_frames : sequence of int, optional
            Flats taken at several places in the scan: how many of the frames each group has, in their order, all of them together. None:
            one group.
        group_positions : sequence of float, optional
            How many views had been taken before each group: 0 is before the scan, the number of views after it; ascending. View k lies at
            k + 0.5, its beam on the straight line between the groups around it, beyond the first and last that of the nearest.
        group_monitor : sequence of float, optional
            What the beam's monitor said of each group, above 0. Needs `monitor`.
        monitor : sequence of float, optional
            What it said in each view (ring current, ion chamber, exposure time), in the same unit: the beam of a view is its
            flat / group_monitor * monitor.
        bad_pixels : float
            Above 0: finds pixels that are dead, hot or far from their neighbours in flats and darks, by so many times the detector's own
            scatter (1 to 1e6, 10 is usual), and replaces their line integrals by those of their row's nearest good ones.
            `info().bad_pixels` counts them. 0: none.
        outliers : dict or True, optional
            Removed from each flat and dark before they are combined: keywords of `set_outliers`, or True for its defaults.
        eigenflats : int
            Above 0: for a beam whose shape changes from view to view, the maximum number of principal components of the flats that
            `fit_flat_field` then fits to each view; 0 to 20. It takes as many flats as components and groups and one more.

        Raises
        ------
        FlatFieldError
            Where a flat is not above its dark.
        OutOfRangeError, NotFiniteParameterError

        Examples
        --------
        >>> flats = numpy.concatenate([before, after])  # 20 frames before the scan, 20 after it
        >>> ct.set_flat_field(flats, darks, group_frames=[20, 20], group_positions=[0, views], bad_pixels=10, outliers=True)
        """
        frames = None if group_frames is None else numbers(group_frames, "group_frames", "int64")
        lists = {name: None if values is None else numbers(values, name)
                 for name, values in (("group_positions", group_positions), ("group_monitor", group_monitor), ("monitor", monitor))}
        groups = {"group_frames": frames, "group_positions": lists["group_positions"], "group_monitor": lists["group_monitor"]}
        counts = {name: values.size for name, values in groups.items() if values is not None}
        for name, count in counts.items():
            if count != counts.get("group_frames", count):
                raise wrong(ValueError, f"{name} has {count} values, group_frames {counts['group_frames']}; a group has one of each")
        removed = _outliers_of(outliers)
        options = struct(
            _abi.isoc_ct_flat_field_options, combine=choice(_abi.CtCombine, combine, "combine"),
            group_frames=address(frames), group_count=next(iter(counts.values()), None),
            group_positions=address(lists["group_positions"]), group_monitor=address(lists["group_monitor"]),
            monitor=address(lists["monitor"]), monitor_count=None if lists["monitor"] is None else lists["monitor"].size,
            bad_pixels=bad_pixels, outliers=None if removed is None else ctypes.pointer(removed), eigenflats=eigenflats)
        plain = bytes(options) == bytes(struct(_abi.isoc_ct_flat_field_options))
        self._run(lib.isoc_ct_set_flat_field, self._in(flats, "flats"), self._in(darks, "darks"), None if plain else ctypes.byref(options))
        views, rows, bins = self._detector()
        varies = monitor is not None or (frames is not None and frames.size > 1) or options.eigenflats > 0
        self._flat_of = None if flats is None else (rows, bins, views if varies else None)

    def fit_flat_field(self, projections, first_view=0, *, binning=0):
        """Finds what the beam of each view has of the eigenflats (``set_flat_field(..., eigenflats=)``), by its frame: the weights for
        which the total variation of the corrected frame is smallest (dynamic flat-field correction, Van Nieuwenhove and others 2015).

        All views of a scan need it before `filter`, `reconstruct`, `reconstruct_stream` and `find_axis` take counts, in one call or in
        parts, as frames come from disk. `set_flat_field` forgets it.

        Parameters
        ----------
        projections : array
            Whole frames of some views, counts, in the geometry's order.
        first_view : int
            The view of the scan that they begin with.
        binning : int
            Rows and bins of the blocks whose means are compared; 0 makes 100 to 200 blocks of the longer side.

        Returns
        -------
        CTFlatFit
            `components`, how many stand above noise (0: nothing was to be done); `explained`, the part of the flats' variance of each;
            `weights`, (views, components), for which those of the flats have a root mean square of 1; `variation_before` and
            `variation_after`, total variation over the sum of transmissions, on average over the views.

        Raises
        ------
        FlatFieldError
            The flat field was set without eigenflats.
        OutOfRangeError, NotFiniteDataError

        Examples
        --------
        >>> ct.set_flat_field(flats, darks, eigenflats=5)
        >>> for first in range(0, views, 100):
        ...     ct.fit_flat_field(frames[first:first + 100], first)
        """
        options = struct(_abi.isoc_ct_flat_fit_options, binning=binning)
        frames, first_view = self._in(projections, "projections"), integer(first_view, "first_view")
        shape = () if frames is None else frames.shape
        # Whatever is wrong with the shape, the library says.
        views = min(shape[int(self._sinograms and len(shape) == 3)] if shape else 0, self._detector()[0] or 0)
        room = 20
        explained, weights = numpy.zeros(room), numpy.zeros((views, room))
        found = struct(_abi.isoc_ct_flat_fit, explained=address(explained), component_count=room,
                       weights=address(weights) if views else None, weight_count=weights.size)
        self._run(lib.isoc_ct_fit_flat_field, frames, first_view, ctypes.byref(options), ctypes.byref(found))
        kept = found.components
        return CTFlatFit(kept, explained[:kept].copy(), weights[:, :kept].copy(), found.variation_before, found.variation_after)

    def set_outliers(self, *, unit="noise", side="bright", window=0, depth=0, threshold=0.0):
        """How `filter`, `reconstruct` and `reconstruct_stream` remove outliers (zingers) from raw frames, before the flat field: a value
        that is farther than ``threshold * unit`` from the median of its neighbourhood becomes that median.

        Counts and transmissions only: line integrals are an error while it is set. It holds until set again, whatever the geometry;
        `info().outliers` counts those of the last call. Flats and darks have theirs in `set_flat_field`.

        Parameters
        ----------
        unit : {"noise", "median", "count"}
            Of the threshold: the neighbourhood's noise (1.4826 times the median distance from its median, at least a 200th of that
            median), its median, or counts.
        side : {"bright", "dark", "both"}
            Values above the median, below it, or either.
        window : int
            Bins and rows of a neighbourhood: 3 or 5; 0 means 3.
        depth : int
            Views of a neighbourhood, in their order: 1 (the frame alone) or 3; 0 means 3. Of flats and darks: frames.
        threshold : float
            1e-6 to 1e9; 0 means 10 times the noise, or 0.2 of the median. Counts have to be said.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
        """
        outliers = _outliers(unit=unit, side=side, window=window, depth=depth, threshold=threshold)
        self._run(lib.isoc_ct_set_outliers, ctypes.byref(outliers))

    def leave_outliers(self):
        """Leaves raw frames as they are, which is so until `set_outliers`."""
        self._run(lib.isoc_ct_set_outliers, None)

    def set_distortion(self, *, radial=None, x_centre=None, y_centre=None, perspective=None, tilt=0.0, x_shifts=None, y_shifts=None):
        """Takes the detector's distortion, a tilt and shifts of views out of the frames in `filter`, `reconstruct` and
        `reconstruct_stream`: after outliers and the flat field, which are the detector's own, and before phase and stripes.

        Transmissions, or projections that are line integrals, are read linearly between four measured pixels; beyond the detector its
        outermost ones are repeated. What is not named is none. It holds until set again, whatever the geometry; shifts need as many views
        as that has. A pixel at (x, y), in bins and rows, pixel centres at whole numbers counted from 0, is read at the place that these
        steps lead to:

        1. (x, y) plus the view's `x_shifts` and `y_shifts`;
        2. that turned by atan(`tilt`) about the detector's middle;
        3. ((p0 x + p1 y + p2) / (p6 x + p7 y + 1), (p3 x + p4 y + p5) / (p6 x + p7 y + 1)), p = `perspective`;
        4. c + B(r) ((x, y) - c), c = (`x_centre`, `y_centre`), r the distance from c, B(r) = b0 + b1 r + b2 r^2 + ..., b = `radial`.

        That is the backward model of Vo, Atwood and Drakopoulos 2015, with the coefficients that discorpy gives.

        Parameters
        ----------
        radial : sequence of float, optional
            Coefficients b of the radial distortion, up to 10, for pixels; b0 is near 1.
        x_centre, y_centre : float, optional
            Bin and row of its centre, which may lie beside the detector; `radial` needs both.
        perspective : sequence of float, optional
            Eight coefficients p of a perspective, or with p6 = p7 = 0 of an affine map.
        tilt : float
            Bins by which the axis moves from a detector row to the next, as `find_axis` finds it: frames are turned until it is upright.
            Within 0.5.
        x_shifts, y_shifts : sequence of float, optional
            Bins and rows by which each view lies aside on the detector, one value a view. Where views move sideways alone,
            ``set_geometry(axis=...)`` takes an axis for each, which reads no pixel between others.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
            Pixels that move by more than half of the detector's longer side are refused, too.

        Examples
        --------
        What discorpy has found of a grid pattern, `xcenter`, `ycenter` and `list_bfact` of its backward model and `list_coef` of its
        perspective correction:

        >>> ct.set_distortion(radial=list_bfact, x_centre=xcenter, y_centre=ycenter)
        >>> ct.set_distortion(radial=list_bfact, x_centre=xcenter, y_centre=ycenter, perspective=list_coef)

        The tilt of the axis, after which it is found anew:

        >>> ct.set_distortion(tilt=ct.find_axis(projections, tilt=True).tilt)
        >>> ct.set_geometry(angles=angles, bins=bins, rows=rows, axis=ct.find_axis(projections).axis)
        """
        lists = {name: None if values is None else numbers(values, name)
                 for name, values in (("radial", radial), ("perspective", perspective), ("x_shifts", x_shifts), ("y_shifts", y_shifts))}
        sizes = {name: values.size for name, values in lists.items() if values is not None}
        for name, size in sizes.items():
            if size == 0:
                raise wrong(ValueError, f"{name} has 0 values; None means none")
        if sizes.get("perspective", 8) != 8:
            raise wrong(ValueError, f"perspective has {sizes['perspective']} values; it must have 8, as discorpy gives them")
        if len({sizes[name] for name in ("x_shifts", "y_shifts") if name in sizes}) > 1:
            raise wrong(ValueError, f"x_shifts has {sizes['x_shifts']} values, y_shifts {sizes['y_shifts']}; a view has one of each")
        for name, value in (("x_centre", x_centre), ("y_centre", y_centre)):
            if radial is not None and value is None:
                raise wrong(ValueError, f"{name} is None; radial needs the bin and row of its centre")
        distortion = struct(
            _abi.isoc_ct_distortion, radial=address(lists["radial"]), radial_count=sizes.get("radial"), x_centre=x_centre,
            y_centre=y_centre, perspective=address(lists["perspective"]), tilt=tilt, x_shifts=address(lists["x_shifts"]),
            y_shifts=address(lists["y_shifts"]), shift_count=sizes.get("x_shifts", sizes.get("y_shifts")))
        self._run(lib.isoc_ct_set_distortion, ctypes.byref(distortion))

    def leave_distortion(self):
        """Takes frames as they were measured, which is so until `set_distortion`."""
        self._run(lib.isoc_ct_set_distortion, None)

    def set_phase(self, method="paganin", *, energy_kev=0.0, distance_mm=0.0, pixel_um, delta_beta=0.0, length_um=0.0, alpha=0.0,
                  unsharp_sigma=0.0, unsharp_amount=0.0):
        """How `filter`, `reconstruct` and `reconstruct_stream` retrieve phase: each frame of transmissions, after outliers and the flat
        field, is filtered in two dimensions, which makes line integrals of attenuation.

        Counts and transmissions only: line integrals are an error while it is set. It holds until set again, whatever the geometry. Either
        `energy_kev`, `distance_mm` and `delta_beta` are given, or `length_um`.

        Parameters
        ----------
        method : {"paganin", "ctf"}
            "paganin": Paganin, Mayo, Gureyev, Miller and Wilkins 2002, one material, any contrast, in the near field. "ctf": contrast
            transfer function of one distance (Cloetens et al. 1999), weak contrast, longer distances.
        energy_kev : float
            Of the photons, 1 to 1000.
        distance_mm : float
            From sample to detector, of a cone beam the effective one, 1 to 1e5.
        pixel_um : float
            A bin at the sample, in micrometres, 0.01 to 1000; rows are as far apart.
        delta_beta : float
            Decrement of the refractive index over its imaginary part, 1e-3 to 1e6.
        length_um : float
            In their place Paganin's length, sqrt(pi * wavelength * distance * delta_beta) in micrometres, PyHST's PAGANIN_Lmicron;
            "paganin" only.
        alpha : float
            Of "ctf", where its transfer function is small: 1e-8 to 1; 0 means 0.01.
        unsharp_sigma, unsharp_amount : float
            An unsharp mask: the filter times 1 + unsharp_amount (1 - the transform of a Gaussian of unsharp_sigma bins); 0 to 100, both 0:
            none.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
            Of values that look like another unit the message says which.

        Examples
        --------
        >>> ct.set_phase(energy_kev=20, distance_mm=100, pixel_um=0.65, delta_beta=200)
        >>> ct.set_phase(length_um=25, pixel_um=0.65)
        """
        phase = struct(
            _abi.isoc_ct_phase, method=choice(_abi.CtPhaseMethod, method, "method"), energy_kev=energy_kev, distance_mm=distance_mm,
            pixel_um=pixel_um, delta_beta=delta_beta, length_um=length_um, alpha=alpha, unsharp_sigma=unsharp_sigma,
            unsharp_amount=unsharp_amount)
        self._run(lib.isoc_ct_set_phase, ctypes.byref(phase))

    def leave_phase(self):
        """Takes the logarithm of transmissions as they are, which is so until `set_phase`."""
        self._run(lib.isoc_ct_set_phase, None)

    def set_stripes(self, method="significant", *, snr=0.0, large_window=0, small_window=0, drop_ratio=0.0, alpha=0.0, sigma=0.0,
                    levels=0, wavelet=0):
        """How `filter`, `reconstruct` and `reconstruct_stream` remove stripes, which would become rings: before the filter, from line
        integrals.

        Parameters
        ----------
        method : {"significant", "vo", "sorting", "regularised", "wavelet_fourier"}
            "significant": what stands out from noise, and nothing else; no parameters. "vo": Vo, Atwood and Drakopoulos
            2018, all of it. "sorting": its algorithm 3 alone. "regularised": Titarenko, Withers and Yagola 2010.
            "wavelet_fourier": Munch, Trtik, Marone and Stampanoni 2009.
        snr : float
            Of "vo": how far a stripe stands out, at least; above 1, 0 means 3.
        large_window, small_window : int
            Bins of the medians against large stripes ("vo"; 0 means 51, or all of fewer) and small ones ("vo" and "sorting"; 0 means 21,
            or all of fewer).
        drop_ratio : float
            Of "vo": part of a bin's values that does not count towards its mean, 0 to 0.8; 0 means 0.1.
        alpha : float
            Of "regularised": what offsets weigh against steps of the means, 1e-9 to 1e6; the smaller, the smoother; 0 means 5e-4.

        sigma : float
            Of "wavelet_fourier": how many frequencies along views are damped, 0.01 to 100; larger takes off stripes that change along
            views; 0 means 1.
        levels : int
            Of "wavelet_fourier": levels of the transform; a stripe is found that is up to 2^levels bins wide or so. The padded sinogram's
            shorter side over 2^levels must be 16 or more; 0 means 5, or as many as that allows.
        wavelet : int
            Of "wavelet_fourier": order of Daubechies' wavelet, 1 to 20; 0 means 9.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
        """
        stripes = struct(
            _abi.isoc_ct_stripes, method=choice(_abi.CtStripeMethod, method, "method"), snr=snr, large_window=large_window,
            small_window=small_window, drop_ratio=drop_ratio, alpha=alpha, sigma=sigma, levels=levels, wavelet=wavelet)
        self._run(lib.isoc_ct_set_stripes, ctypes.byref(stripes))

    def leave_stripes(self):
        """Leaves stripes as they are, which is so until `set_stripes`."""
        self._run(lib.isoc_ct_set_stripes, None)

    def set_half_acquisition(self, overlap=0.0, *, rise="smooth"):
        """Takes scans for half acquisitions in `reconstruct` and `reconstruct_stream`: a full turn about an axis near an edge of the
        detector, or up to a quarter of its bins beyond. Opposite views are weighted where they see the same rays, and the field is
        nearly twice as wide as the detector; nothing is stitched. Give `set_geometry` the detector's bins and axis, and for the whole
        field nx and ny of about ``2 * (bins - overlap / 2)``.

        Parameters
        ----------
        overlap : float
            Bins over which weights rise: 1 to ``2 * (1 + d)``, d the bins from the axis to the nearer edge. 0 means that maximum, which
            averages most noise out; with less, bad bins at the edge have no weight.
        rise : {"smooth", "linear"}
            How they do: with slopes that begin and end with 0, or along a straight line.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
        """
        half = struct(_abi.isoc_ct_half_acquisition, rise=choice(_abi.CtRise, rise, "rise"), overlap=overlap)
        self._run(lib.isoc_ct_set_half_acquisition, ctypes.byref(half))

    def leave_half_acquisition(self):
        """Takes rows as they are, which is so until `set_half_acquisition`."""
        self._run(lib.isoc_ct_set_half_acquisition, None)

    def set_stream(self, stream):
        """Sets the CUDA stream whose order calls on GPU arrays follow: work begins when all that is in it has been done.

        You need it only to keep work off the default stream: producers of arrays always make the plan's stream wait for their
        own current stream, as DLPack asks of them. Calls return when their results are there.

        Parameters
        ----------
        stream : torch.cuda.Stream, cupy.cuda.Stream, int or None
            An int is a cudaStream_t; None is the default stream. It is kept alive.
        """
        self._set_stream(lib.isoc_ct_set_stream, stream)

    def tune(self):
        """Measures the GPU's back projectors for this geometry, some seconds, and keeps to the fastest."""
        self._run(lib.isoc_ct_tune)

    def info(self):
        """What the plan found in the geometry and decided, a CTInfo."""
        info = struct(_abi.isoc_ct_info)
        self._run(lib.isoc_ct_get_info, ctypes.byref(info))
        return CTInfo._of(info)

    def angular_weights(self):
        """The angular weight of each view, radians: float64 (views,)."""
        views = self._shape(0)[1 if self._sinograms else 0]
        weights = numpy.empty(views)
        self._run(lib.isoc_ct_get_angular_weights, address(weights), weights.size, None)
        return weights

    def set_angular_weights(self, weights):
        """Takes weights of your own, also for one view or equal angles, until the next `set_geometry`.

        Parameters
        ----------
        weights : sequence of float or None
            One a view, in radians, 0 or more; a sum of pi keeps attenuation's scale. None: those that the plan works out again, whose sum
            is less than pi by the missing wedges that the log warns of. ``weights * pi / weights.sum()`` has the scale of a whole half turn.

        Raises
        ------
        OutOfRangeError, NotFiniteParameterError
        """
        if weights is None:
            return self._run(lib.isoc_ct_set_angular_weights, None, 0)
        weights = numbers(weights, "weights")
        self._run(lib.isoc_ct_set_angular_weights, address(weights), weights.size)

    def memory(self):
        """Bytes of working memory that `reconstruct` will allocate; on GPUs, of each one's memory."""
        return self._number(lib.isoc_ct_memory)

    def find_axis(self, projections, *, method="auto", low=0.0, high=0.0, rows=0, tilt=False, curve=0):
        """Finds the rotation axis of the scan; the plan's own axis has no say, and nothing in the plan changes.

        Parameters
        ----------
        projections : array
            As `reconstruct` takes them.
        method : {"auto", "opposite_views", "sinogram", "sharpness"}
            "opposite_views": views half a turn apart, and those about them. "sinogram": half a turn alone, at any angles. "sharpness":
            trial slices. "auto": the first where there are such views, checked by the second, which it is otherwise; the third where these
            contradict each other or have too little to go by.
        low, high : float
            First and last axis to look at, fractional bins; both 0: nearly all of the detector, of "sharpness" its middle half.
        rows : int
            Detector rows to use, evenly spread over those of the volume; 0 means up to 24.
        tilt : bool
            The axis may change from row to row along a line.
        curve : int
            Values of the score over the range that are wanted.

        Returns
        -------
        CTAxis
            `axis`, a fractional bin, for the middle row of the volume, and `tilt`, bins a row; `error`, the axis' standard error;
            `confidence`, 0 to 1; `method`, which decided; `half_acquisition`; `curve`, of which `curve_first` and `curve_step` say the
            places.

        Raises
        ------
        OutOfRangeError, TooFewViewsError, EqualAnglesError
            The axis cannot be told; the message says why.

        Examples
        --------
        >>> found = ct.find_axis(projections)
        >>> ct.set_geometry(angles=angles, bins=bins, axis=found.axis)
        """
        options = struct(_abi.isoc_ct_axis_options, method=choice(_abi.CtAxisMethod, method, "method"), low=low, high=high,
                         rows=rows, tilt=tilt)
        curve = integer(curve, "curve")
        scores = numpy.zeros(max(curve, 0))
        found = struct(_abi.isoc_ct_axis, curve=address(scores) if curve > 0 else None, curve_count=curve)
        self._run(lib.isoc_ct_find_axis, self._in(projections, "projections"), ctypes.byref(options), ctypes.byref(found))
        return CTAxis(_abi.CtAxisMethod(found.method).name.lower(), found.axis, found.tilt, found.error, found.confidence,
                      bool(found.half_acquisition), scores, found.curve_first, found.curve_step)

    def find_bad_views(self, projections):
        """Finds views that are no measurement of the object; nothing in the plan changes.

        Parameters
        ----------
        projections : array
            As `reconstruct` takes them. Eight detector rows of every view are looked at.

        Returns
        -------
        CTBadViews
            `faults`, a `CtViewFault` for each view (NONE, BLACK, SATURATED, FROZEN, NOT_FINITE, DOUBTFUL); `certain`, views that
            certainly are no measurement, and `doubtful`, others that are much darker or brighter than those beside them, both as
            indices; `good`, all views but the certain ones, to index with: a slice where these are evenly spaced, so that NumPy copies
            nothing, else indices.

        Notes
        -----
        Line integrals tell frozen, not finite and doubtful views alone. With eigenflats the call comes before `fit_flat_field`. Frames that
        are left out need no copy in `reconstruct_stream`, whose `read` takes the others.

        Examples
        --------
        >>> found = ct.find_bad_views(frames)
        >>> ct.set_geometry(angles=angles[found.good], bins=bins, rows=rows)
        >>> volume = ct.reconstruct(frames[found.good])  # of order "sinograms": frames[:, found.good]
        """
        faults = numpy.zeros(self._shape(0)[1 if self._sinograms else 0], numpy.uint32)
        self._run(lib.isoc_ct_find_bad_views, self._in(projections, "projections"), address(faults), faults.size)
        none, doubtful = int(_abi.CtViewFault.NONE), int(_abi.CtViewFault.DOUBTFUL)
        bad = (faults != none) & (faults != doubtful)
        return CTBadViews([_abi.CtViewFault(int(fault)) for fault in faults], numpy.flatnonzero(bad),
                          numpy.flatnonzero(faults == doubtful), _evenly(numpy.flatnonzero(~bad)))

    def suggest_regularisation(self, projections):
        """Suggests the weight of total variation, `regularisation` of `set_iterative`, by the projections' noise and some slices.

        It is ``0.7 * s * q**1.6 * (n / 64)**0.7 * sqrt(views) * pixel_size`` for n pixels across, s the standard deviation of the noise of a line
        integral, estimated from third differences along the bins of some rows. q is how much more than noise up to 4 slices leave of the data that
        total variation makes with ``0.5 * s * sqrt(views) * pixel_size`` in up to 60 iterations, within the bounds and the mask of `set_iterative`
        or above 0: edges that are sharper than pixels can show ask for more. A smooth object wants up to 8 times as much. Where neighbouring bins
        share noise, as by a scintillator's blur, s is too small.

        Parameters
        ----------
        projections : array
            As `reconstruct` takes them, of 16 bins or more. Line integrals are looked at as they are after the flat field, the logarithm and
            `set_distortion`.

        Returns
        -------
        float
            In the length unit; 0 where there is no noise.

        Raises
        ------
        OutOfRangeError
            There are fewer than 16 bins, or phase retrieval is set, after which neighbouring bins share noise.
        NotFiniteDataError

        Examples
        --------
        >>> ct.set_options(algorithm="total_variation")
        >>> ct.set_iterative(500, regularisation=ct.suggest_regularisation(projections), bounds="non_negative")
        """
        weight = ctypes.c_double()
        self._run(lib.isoc_ct_suggest_regularisation, self._in(projections, "projections"), ctypes.byref(weight), None)
        return weight.value

    def filter(self, projections, filtered=None):
        """Filters every row of the slices; the ramp is in 1 / bin_pitch, without angular weights.

        Parameters
        ----------
        projections : array
            float32 line integrals, or counts (uint16, uint8) with a flat field; or what `set_options` says by `input`.
        filtered : array, optional
            float32, of the projections' shape; rows outside the slices are left alone.

        Returns
        -------
        filtered
        """
        return self._apply(lib.isoc_ct_filter, ("projections", projections), ("filtered", filtered), lambda: projections.shape)

    def backproject(self, projections, volume=None):
        """Sum over views of projections at the bins where pixels project; unscaled unless the options ask for weights.

        float32 projections, float32 volume; returns the volume.
        """
        return self._project(lib.isoc_ct_backproject, projections, volume)

    def adjoint(self, projections, volume=None):
        """The exact transpose of `forward`, for iterative methods. float32 projections, float32 volume; returns the volume."""
        return self._project(lib.isoc_ct_adjoint, projections, volume)

    def forward(self, volume, projections=None):
        """Line integrals of the volume at the bins' centres, in its length unit (Joseph 1982).

        float32 volume, float32 projections; returns the projections. Rows outside the slices are left alone.
        """
        return self._apply(lib.isoc_ct_forward, ("volume", volume), ("projections", projections),
                           lambda: self._like(0, volume))

    def reconstruct(self, projections, volume=None):
        """Slices in attenuation a length unit, by filtered back projection or what `set_options` says by `algorithm`.

        Parameters
        ----------
        projections : array
            float32 line integrals, or counts (uint16, uint8) with a flat field; or what `set_options` says by `input`.
        volume : array, optional
            (slices, ny, nx), float32, or of the type of `set_output`. With ``set_iterative(start="volume")`` iterations begin with what it
            holds.

        Returns
        -------
        volume

        Raises
        ------
        ValueError
            Iterations are to begin with a volume, and there is none.
        OutOfRangeError
            `set_iterative` asked for what the algorithm has no use for; or a line integral is below 0 with "mlem".
        TensorDtypeError, TensorShapeError, NotFiniteDataError, TooFewViewsError, EqualAnglesError, MemoryCapError
            After an error or a cancel each slice of the volume is either finished or untouched.
        """
        if volume is None and self._iterates and self._continues:
            raise wrong(ValueError, "volume is missing: iterations begin with what it holds, by set_iterative(start='volume')")
        return self._project(lib.isoc_ct_reconstruct, projections, volume, self._stored)

    def _project(self, function, projections, volume, dtype="float32"):
        return self._apply(function, ("projections", projections), ("volume", volume), lambda: self._like(1, projections), dtype)

    def reconstruct_stream(self, read, write, dtype="float32"):
        """The same as `reconstruct` of data and volumes that do not fit memory, slab by slab; `info().slab_slices` is the most
        that a slab has.

        Parameters
        ----------
        read : callable
            ``read(first, projections)`` fills projections for slices first to first + count of the volume, so for detector rows
            first_row + first on: an array of `dtype`, (views, count, bins), or (count, views, bins) with order "sinograms".
            Write into it, ``projections[...] = ...``, and return None. With `set_outliers`, `set_distortion` or `set_phase` it is also
            asked for the rows beside those of a slab, as far as the detector has them: parts overlap, or
            each begins where the last one ended, and `first` may be below 0, first_row + first not.
        write : callable
            ``write(first, volume)`` takes the slices: a read-only array (count, ny, nx) of float32, or of the type of `set_output`; it
            returns None.
        dtype : {"float32", "uint16", "uint8"}
            Of projections; integers are counts, which need a flat field.

        Raises
        ------
        TypeError
            A callback returned something: what `read` returns would be lost.
        BufferError
            A callback kept its array, whose memory is the library's: copy what you need.
        Exception
            What a callback raises stops the call and comes out of it.
        """
        functions = (callback("read", read, _abi.isoc_ct_read_fn, True), callback("write", write, _abi.isoc_ct_write_fn, False))
        code = element_type(dtype, ("float32", "uint16", "uint8"),
                            lambda given: ': take "float32", with set_options(input="counts")' * (given.kind in "iu"))
        self._run(lib.isoc_ct_reconstruct_stream, code, *functions, None)

    @staticmethod
    def shepp_logan(radius, kind="modified"):
        """Ten ellipses of a Shepp-Logan phantom that fills a circle of this radius (length units).

        Parameters
        ----------
        radius : float
        kind : {"original", "modified"}
            "original": skull 2, brain 1.02, parts of it 0.01 to 0.02 more or less. "modified", contrasts that can be seen: 1, 0.2,
            0.1 to 0.2 (Toft 1996). `MRI.shepp_logan` has others.

        Returns
        -------
        numpy.ndarray
            float64 (10, 6): attenuation, x, y (upwards) of the centre from the axis, semi-axes along x and y, counter-clockwise
            rotation in radians. Any such array is a phantom; where ellipses overlap, values add.
        """
        ellipses = numpy.empty((_abi.ISOC_CT_SHEPP_LOGAN_ELLIPSES, 6))
        _call.invoke(lib.isoc_ct_shepp_logan, choice(_abi.CtSheppLoganKind, kind, "kind"), real(radius, "radius"),
                     _ellipses(ellipses), len(ellipses), None)
        return ellipses

    def phantom_volume(self, ellipses, volume=None):
        """The phantom's exact mean over each pixel, the same in every slice: the truth to compare a reconstruction with.

        ellipses: (n, 6), see `shepp_logan`. volume: float32 (slices, ny, nx), made as a NumPy array if not given; returned.
        """
        return self._phantom(lib.isoc_ct_phantom_volume, ellipses, "volume", volume, 1)

    def phantom_projections(self, ellipses, projections=None):
        """The phantom's exact line integrals at the bins' centres, in the geometry's length unit, the same in every row.

        ellipses: (n, 6), see `shepp_logan`. projections: float32, made as a NumPy array if not given; returned.
        """
        return self._phantom(lib.isoc_ct_phantom_projections, ellipses, "projections", projections, 0)

    def _phantom(self, function, ellipses, name, out, which):
        ellipses = numbers(ellipses, "ellipses", ndim=2, columns=6)
        if out is None:
            out = numpy.zeros(self._shape(which), "float32")
        self._run(function, _ellipses(ellipses), len(ellipses), self._out(out, name))
        return out


def _check_region(region, geometry):
    """What the library would say of columns and rows, in terms of the region's four numbers."""
    for first, names, side, size in ((0, ("c0", "c1"), "nx", geometry.nx), (2, ("r0", "r1"), "ny", geometry.ny)):
        size = size or geometry.bins
        if size < 1:
            continue  # said by the library
        for k, name in enumerate(names, first):
            if not 0 <= region[k] <= size:
                raise wrong(OutOfRangeError, f"region[{k}] ({name}) is {region[k]}; it must be 0 to {size} ({side})")
        if region[first] >= region[first + 1]:
            raise wrong(OutOfRangeError, f"region[{first}] ({names[0]}) is {region[first]} and region[{first + 1}] ({names[1]}) is "
                                         f"{region[first + 1]}; they must ascend")


def _outliers(*, unit="noise", side="bright", window=0, depth=0, threshold=0.0):
    return struct(_abi.isoc_ct_outliers, unit=choice(_abi.CtOutlierUnit, unit, "unit"), side=choice(_abi.CtOutlierSide, side, "side"),
                  window=window, depth=depth, threshold=threshold)


def _outliers_of(given):
    """The struct of what `set_flat_field` was told of outliers."""
    if given is None or given is False:
        return None
    if given is True:
        return _outliers()
    names = list(_outliers.__kwdefaults__)
    if not isinstance(given, dict):
        raise wrong(TypeError, f"outliers is {type(given).__name__}; it must be a dict with keywords of set_outliers, or True")
    for name in given:
        if name not in names:
            raise wrong(TypeError, f"outliers has {name!r}; it may have {', '.join(map(repr, names))}")
    return _outliers(**given)


def _ellipses(array):
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(_abi.isoc_ct_ellipse))


def _evenly(indices):
    """The same as a slice, where these are evenly spaced."""
    steps = numpy.diff(indices)
    if len(steps) == 0 or (steps != steps[0]).any():
        return indices
    return slice(int(indices[0]), int(indices[-1]) + 1, int(steps[0]))
