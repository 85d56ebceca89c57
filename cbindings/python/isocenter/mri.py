"""Non-Cartesian MRI."""
import ctypes

import numpy

from . import _abi, _call
from ._library import lib
from ._plan import Plan
from ._stream import callback, element_type
from ._tensor import dtype_name, zeros_like
from ._values import address, choice, integer, numbers, real, record, struct
from .errors import NotConfiguredError, TensorDtypeError, TensorNdimError, TensorShapeError, wrong

MRIInfo = record("MRIInfo", __name__, _abi.isoc_mri_info, "What an MRI plan found and decided. See isoc_mri_info.")

MRIDelays = record("MRIDelays", __name__, _abi.isoc_mri_delays, """Delays between gradients and samples, in samples, with their errors. See isoc_mri_delays.

Positive: gradients come late. `xx`, `yy` and `zz` are of the gradients along x, y and z, `xy`, `xz` and `yz` mixed ones, of image axes that are turned
against those of the gradients.""")


class MRI(Plan):
    """A plan for non-Cartesian MRI: geometry, options, weights, coil maps, Q.

    Any thread may use it; calls on one plan wait for each other, different plans run at the same time. It computes on the first
    GPU of its context, or on the processor.

    Parameters
    ----------
    context : Context, optional
        Where to compute; None makes one with the defaults.
    trajectory, unit, nx, ny, nz, coils, samples, precision, axes
        The geometry, as `set_geometry` takes it: `trajectory`, `unit`, `nx` and `ny` at least. None of them leaves it for later.

    Notes
    -----
    Model: ``s_c(k) = sum over voxels of S_c rho exp(-2 pi i k.r)``; voxel j of an axis of N is at j - N // 2. Images are
    (nz, ny, nx), or (coils, nz, ny, nx) without coil maps; samples (coils, samples); both complex64 or complex128; sizes of 1 may
    be left out. Arrays are NumPy arrays of any strides, or arrays that have ``__dlpack__`` (PyTorch, CuPy), in host memory or on
    the plan's GPU; none is copied or converted. An output that is not given is made like the input.

    Examples
    --------
    >>> mri = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=256, ny=256, coils=8)  # k: (samples, 2)
    >>> mri.compute_weights()
    >>> images = mri.gridding(samples)  # (8, samples) of complex64; the images are (8, 256, 256)
    """

    def __init__(self, context=None, *, trajectory=None, unit=None, nx=None, ny=None, nz=1, coils=1, samples=None,
                 precision="single", axes=0):
        given = locals()
        self._geometry, self._warm, self._has_maps, self._sets = None, False, False, 1
        super().__init__(lib.isoc_mri_create, lib.isoc_mri_destroy, context)
        self._begin(given)

    def __repr__(self):
        g = self._geometry
        if g is None:
            return self._described()
        images = self._sets if self._has_maps else g.coils
        image = ((images,) if images > 1 else ()) + self.voxels_shape
        return self._described(samples=self.samples_shape, image=image, unit=_abi.MriUnit(g.unit).name.lower(),
                               precision=_abi.MriPrecision(g.precision).name.lower(), maps=self._has_maps)

    def set_geometry(self, trajectory, *, unit, nx, ny, nz=1, coils=1, samples=None, precision="single", axes=0):
        """Sets image and trajectory. Forgets weights, maps, field, positions, the penalty's weights and matrix, and Q.

        Parameters
        ----------
        trajectory : array
            (samples, 2) for a plane, (samples, 3) for a volume or (samples,) for a line of ny = nz = 1, x first, float32 or float64, on the host or on the plan's
            GPU; copied, and kept on the GPU where it came from there or is long. Shots and readouts are
            one dimension: ``trajectory.reshape(-1, 2)``, and ``samples.reshape(coils, -1)``.
        unit : {"cycles_per_voxel", "cycles_per_field_of_view", "radians_per_voxel"}
            Of the trajectory, within +-0.5, +-N/2 and +-pi: there is no default, since a wrong guess folds the image. A
            trajectory in 1/m, times the field of view in m, is in cycles per field of view.
        nx, ny, nz : int
            Voxels; nz = 1 is a plane.
        coils : int
        samples : int, optional
            Length of the trajectory, if you want it checked.
        precision : {"single", "double"}
            Of the arithmetic, whatever the arrays are.
        axes : int
            Of the trajectory; 0 means 1 for (samples,) or (samples, 1), 2 for a plane, else 3.

        Raises
        ------
        OutOfRangeError
            Where a sample is outside the unit's range; the message names the units that would fit.
        """
        _shaped(trajectory, nz, axes)
        if not axes and ny == nz == 1 and tuple(getattr(trajectory, "shape", ()))[1:] in ((), (1,)):
            axes = 1
        points = self._in(trajectory, "trajectory")
        length = trajectory.shape[0] if getattr(trajectory, "ndim", 0) else 0
        geometry = struct(
            _abi.isoc_mri_geometry, unit=choice(_abi.MriUnit, unit, "unit"),
            precision=choice(_abi.MriPrecision, precision, "precision"), axes=axes, nx=nx, ny=ny, nz=nz,
            samples=length if samples is None else samples, coils=coils)
        self._run(lib.isoc_mri_set_geometry, ctypes.byref(geometry), points)
        self._geometry, self._has_maps = geometry, False

    def set_options(self, *, method="auto", normal="auto", penalty="identity", warm_start=False, sines="precise", iterations=0,
                    tolerance=0.0, upsampling=0.0, lambda_=0.0, residual=0.0, algorithm="auto", wavelet="daubechies4", levels=0,
                    fixed_grid=False, huber=0.0, block=0, joint=False, imaginary=0.0):
        """Sets options; what is not named gets its default. They hold until set again, whatever the geometry.

        Parameters
        ----------
        method : {"auto", "nufft", "exact"}
            Fast transforms to `tolerance`, or sums term by term.
        normal : {"auto", "toeplitz", "pair"}
            How F^H W F is applied: by Q (with a field `info().normal_terms` of them), or by a forward and an adjoint transform.
        penalty : {"identity", "differences", "matrix", "wavelets", "variation", "low_rank"}
            What images are preferred: those with a small |R image|^2 / 2, with R the identity, differences of neighbours, or
            `set_matrix`'s; those of few wavelets, by the sum of their coefficients' absolute values; those of few edges, by
            total variation; series (`set_frames`, `set_windows`, `set_basis`) that change in few ways at each place, by the
            singular values of blocks of voxels by images.
        warm_start : bool
            `reconstruct` begins with the image that it is given, instead of zeros.
        sines : {"precise", "hardware"}
            Of exact sums with positions or a field map, on a GPU.
        iterations : int
            The most; 0 means 30.
        tolerance : float
            Largest relative error of a fast transform; 0 means 1e-5 in single and 1e-9 in double precision.
        upsampling : float
            Least size of the fast transform's grid relative to the image, 1.1 to 4; 0 takes the fastest.
        lambda_ : float
            Weight of the penalty, in the unit of F^H W F, whose diagonal is the sum of the weights; with "wavelets",
            "variation" and "low_rank" that times the image's: 3e-3 of `info().lambda_limit` is where to begin.
        residual : float
            Stops at this |residual| / |right-hand side|, or, with "wavelets", "variation" and "low_rank", |step| / |image|; 0 means 1e-6.
        algorithm : {"auto", "conjugate_gradient", "fista", "primal_dual"}
            What minimises; auto is fista for "wavelets", "variation" and "low_rank", conjugate gradient for others.
        wavelet : {"daubechies4", "haar"}
            Daubechies' with four vanishing moments (db4), or Haar's.
        levels : int
            Of the wavelet transform; 0 means as many as leave averages of 8 voxels an axis.
        fixed_grid : bool
            The grid of wavelets or blocks stays; else it moves from iteration to iteration, so that it does not show.
        huber : float
            Differences shorter than this count by their square in total variation.
        block : int
            Voxels along an edge of a block of "low_rank"; 0 means 8.
        joint : bool
            "wavelets" and "variation" sum the length over all images of a series of what is at one place, so that images share their
            wavelets or edges; else each image has its own.
        imaginary : float
            Weight of |imaginary part|^2 / 2, in the unit of `lambda_` with "identity"; 0 is none, `math.inf` makes real images. A phase that is known
            goes into the maps, each times exp(1j * phase) (partial Fourier); a tenth of the sum of the density weights leaves what is measured
            as it is. `reconstruct` alone heeds it; several coils without maps are then an error.

        Raises
        ------
        OutOfRangeError
        """
        options = struct(
            _abi.isoc_mri_options, method=choice(_abi.MriMethod, method, "method"),
            normal=choice(_abi.MriNormalKind, normal, "normal"), penalty=choice(_abi.MriPenalty, penalty, "penalty"),
            warm_start=bool(warm_start), sines=choice(_abi.MriSines, sines, "sines"), iterations=iterations,
            tolerance=tolerance, upsampling=upsampling, residual=residual,
            algorithm=choice(_abi.MriAlgorithm, algorithm, "algorithm"), wavelet=choice(_abi.MriWavelet, wavelet, "wavelet"),
            levels=levels, fixed_grid=bool(fixed_grid), huber=huber, block=block, joint=bool(joint), imaginary=imaginary, **{"lambda": lambda_})
        self._run(lib.isoc_mri_set_options, ctypes.byref(options))
        self._warm = bool(warm_start)

    def set_stream(self, stream):
        """Sets the CUDA stream whose order calls on GPU arrays follow; see `CT.set_stream`."""
        self._set_stream(lib.isoc_mri_set_stream, stream)

    def set_weights(self, weights):
        """Sets density weights W: real (samples,), not negative, not all 0; copied. None means 1. Forgets Q."""
        self._set(lib.isoc_mri_set_weights, weights=weights)

    def compute_weights(self, density="iterative", parameter=0):
        """Finds density weights and sets them: areas (volumes) of k-space in cycles per voxel, with which `gridding` gives an
        image in its own scale.

        Parameters
        ----------
        density : {"iterative", "radial"}
            For any trajectory (Pipe and Menon 1999), or for straight spokes.
        parameter : int
            "iterative": iterations, 0 means 10. "radial": samples of a spoke.
        """
        self._run(lib.isoc_mri_compute_weights, choice(_abi.MriDensity, density, "density"), integer(parameter, "parameter"))

    def weights(self, weights=None):
        """The density weights, 1 where none were set: real (samples,), float64 if no array is given."""
        if weights is None:
            weights = numpy.zeros(self._given().samples)
        self._run(lib.isoc_mri_get_weights, self._out(weights, "weights"))
        return weights

    def set_maps(self, maps):
        """Sets coil sensitivities: complex (coils, nz, ny, nx); copied. With them all coils see one image. None forgets them.

        Several sets (sets, coils, nz, ny, nx), or (sets, coils, ny, nx) of a plane, as `coil_maps` makes them: all coils see the sum of as many
        images, each by its own set, where one does not explain the data (soft SENSE), as with a field of view smaller than the object. Images are
        then (sets, nz, ny, nx), and the root of the sum of their squares is what to look at.
        """
        self._set(lib.isoc_mri_set_maps, maps=maps)
        shape, g = tuple(getattr(maps, "shape", ())), self._geometry
        several = len(shape) == 5 or (len(shape) == 4 and g.nz <= 1 and g.coils > 1 and shape[1] == g.coils)
        self._has_maps, self._sets = maps is not None, shape[0] if several else 1

    def set_field(self, field, times, decay=None):
        """Sets off-resonance and decay: field real (nz, ny, nx) in Hz, times real (samples,) in seconds, decay real (nz, ny, nx), R2* in
        1/s; copied. Field or decay may be None. Sample m then has the factor exp(-(2 pi i field(r) + decay(r)) times[m]) besides. Fast
        sums are then sums of `info().field_terms` products of those without. None, None forgets both."""
        maps = field is not None or decay is not None
        if maps != (times is not None):
            missing, given = ("times", "field" if decay is None else "decay") if maps else ("field", "times")
            raise wrong(TypeError, f"{missing} is None and {given} is not: give both, or None for both")
        self._set(lib.isoc_mri_set_field, field=field, times=times, decay=decay)

    def set_positions(self, positions):
        """Sets where the voxels are, where they are on no grid: real (nz, ny, nx, axes), x first, in voxels; copied. None goes
        back to the grid."""
        self._set(lib.isoc_mri_set_positions, positions=positions)

    def set_difference_weights(self, weights):
        """Sets the weights of penalty "differences": real (axes, nz, ny, nx), x first; copied. None means 1."""
        self._set(lib.isoc_mri_set_difference_weights, weights=weights)

    def _set(self, function, **arrays):
        self._run(function, *(self._in(array, name) for name, array in arrays.items()))

    def set_matrix(self, row_starts, columns, values):
        """Sets R of penalty "matrix": compressed sparse rows over the voxels in the image's order; copied.

        Parameters
        ----------
        row_starts, columns : sequence of int
            Row i has the entries row_starts[i] to row_starts[i + 1] of columns and values: `indptr` and `indices` of a
            scipy.sparse.csr_array.
        values : array
            Real or complex (entries,).
        """
        row_starts, columns = numbers(row_starts, "row_starts", "int64"), numbers(columns, "columns", "int64")
        self._run(lib.isoc_mri_set_matrix, row_starts.size - 1, address(row_starts), address(columns), columns.size,
                  self._in(values, "values"))

    def set_frames(self, first, counts):
        """Makes the scan a series of frames with images of their own: frame f has counts[f] samples from first[f] on; frames may overlap.
        Images are then (frames, nz, ny, nx), or without maps (frames * coils, nz, ny, nx), frame by frame. `compute_weights`, which
        comes after this, finds weights of each frame. None, None makes it one scan again."""
        first, counts = ((), ()) if first is None and counts is None else (first, counts)
        first, counts = numbers(first, "first", "int64"), numbers(counts, "counts", "int64")
        if first.size != counts.size:
            raise wrong(ValueError, f"first has {first.size} elements, counts {counts.size}; both must have one a frame")
        self._run(lib.isoc_mri_set_frames, first.size, address(first), address(counts))

    def set_windows(self, length, step):
        """The same with windows of equal length: frame f has `length` samples from f * step on, as long as there are so many. A sliding
        window over spokes of golden angles has a multiple of the spoke's samples as both."""
        self._run(lib.isoc_mri_set_windows, integer(length, "length"), integer(step, "step"))

    def set_basis(self, basis, times=None):
        """Images that change while samples are taken, as sums of a few (subspace models): sample m is then the sum over images k of
        basis[times[m], k] times that of image k. Images are (images, nz, ny, nx), or without maps (coils * images, nz, ny, nx).

        Parameters
        ----------
        basis : array or None
            Real or complex (times, images); copied. None forgets it.
        times : sequence of int, optional
            The row of each sample; if not given, rows are samples.
        """
        if basis is None and times is not None:
            raise wrong(TypeError, "basis is None and times is not: give both, or None for both")
        if times is not None:
            times = numbers(times, "times", "int64")
            if self._geometry is not None and times.size != self._geometry.samples:
                raise wrong(ValueError, f"times has {times.size} elements; it must have one a sample, {self._geometry.samples}")
        self._run(lib.isoc_mri_set_basis, self._in(basis, "basis"), None if times is None else address(times))

    def set_shots(self, shots, phases):
        """Samples of shots, between which the object's phase changes, as in diffusion scans: sample m sees the image times ``phases[shots[m]]``. All shots are of one
        image, and calls have as many images as without (MUSE: Chen et al., NeuroImage 72, 2013). Frames and a basis exclude them.

        Parameters
        ----------
        shots : sequence of int or None
            The shot of each sample, from 0 on. None, with `phases` None, forgets them.
        phases : array or None
            Complex (shots, nz, ny, nx), at most 64 shots, any factors; copied.
        """
        if (shots is None) != (phases is None):
            missing, given = ("shots", "phases") if shots is None else ("phases", "shots")
            raise wrong(TypeError, f"{missing} is None and {given} is not: give both, or None for both")
        if shots is not None:
            shots = numbers(shots, "shots", "int64")
            if self._geometry is not None and shots.size != self._geometry.samples:
                raise wrong(ValueError, f"shots has {shots.size} elements; it must have one a sample, {self._geometry.samples}")
        self._run(lib.isoc_mri_set_shots, None if shots is None else address(shots), self._in(phases, "phases"))

    def info(self):
        """What the plan found and decided, an MRIInfo."""
        info = struct(_abi.isoc_mri_info)
        self._run(lib.isoc_mri_get_info, ctypes.byref(info))
        return MRIInfo._of(info)

    def memory(self):
        """Most bytes of working memory that `reconstruct` uses: of the host, or of the GPU that it computes on."""
        return self._number(lib.isoc_mri_memory)

    def _given(self):
        if self._geometry is None:
            raise wrong(NotConfiguredError, "set_geometry has to come first")
        return self._geometry

    @property
    def voxels_shape(self):
        """(nz, ny, nx), or (ny, nx) of a plane."""
        g = self._given()
        return (g.nz, g.ny, g.nx) if g.nz > 1 else (g.ny, g.nx)

    @property
    def image_shape(self):
        """Of an image: `voxels_shape`, after the number of images where there are several: of coils, of sets of maps, of frames, of a basis."""
        images = self.info().images
        return ((images,) if images > 1 else ()) + self.voxels_shape

    @property
    def samples_shape(self):
        """(coils, samples), or (samples,) of one coil."""
        g = self._given()
        return ((g.coils,) if g.coils > 1 else ()) + (g.samples,)

    def forward(self, image, samples=None):
        """samples = F image: what the scanner would measure. Returns the samples.

        `forward`, `adjoint`, `gridding` and `reconstruct` take several scans, too, such as slices or repetitions: samples (scans, coils, samples), and images
        (scans, images, nz, ny, nx), which for all but `forward` may leave `images` out where it is 1, and nz of planes."""
        def shape():
            given = tuple(getattr(image, "shape", ()))
            several = len(given) == 5
            return (given[0], self._given().coils, self._given().samples) if several else self.samples_shape
        return self._map(lib.isoc_mri_forward, "image", image, "samples", samples, shape)

    def adjoint(self, samples, image=None):
        """image = F^H samples, unscaled: the transpose of `forward`. Returns the image."""
        return self._map(lib.isoc_mri_adjoint, "samples", samples, "image", image, lambda: self._images_of(samples))

    def gridding(self, samples, image=None):
        """image = F^H W samples, in its own scale with weights from `compute_weights`. Returns the image."""
        return self._map(lib.isoc_mri_gridding, "samples", samples, "image", image, lambda: self._images_of(samples))

    def _images_of(self, samples):
        """The shape of images of samples, which may be of several scans."""
        given = tuple(getattr(samples, "shape", ()))
        return (given[:1] if len(given) == 3 else ()) + self.image_shape

    def normal(self, image, out=None):
        """out = (F^H W F + lambda R^H R) image: the system that `reconstruct` solves, for solvers of your own."""
        return self._map(lib.isoc_mri_normal, "image", image, "out", out, lambda: self.image_shape)

    def find_maps(self, samples, maps=None, image=None, *, steps=0, iterations=0, residual=0.0, alpha=0.0, reduction=0.0, scale=0.0, order=0.0):
        """Finds coil sensitivities and the image together, from samples alone: for scans without calibration data, by regularised nonlinear
        inversion (NLINV; Uecker et al. 2008). The plan itself has no maps, and gets none.

        Parameters
        ----------
        samples : array
            complex64 or complex128 (coils, samples), of two coils or more, on any trajectory.
        maps, image : array, optional
            Take the results: complex (coils, nz, ny, nx) and (nz, ny, nx).
        steps : int
            Gauss-Newton steps; 0 means 10. Each halves the regularisation: more follow the samples, and their noise, more closely.
        iterations : int
            Most conjugate-gradient iterations of a step; 0 means 100.
        residual : float
            ``|residual| / |right-hand side|`` that ends them; 0 means 0.1, -1 none.
        alpha, reduction : float
            Weight of the regularisation in the first step, and its factor from step to step; 0 means 1 and 0.5.
        scale, order : float
            a and b of the coils' norm ``(1 + a |k|^2)^(b / 2)``, k in cycles per voxel; 0 means 220 and 32.

        Returns
        -------
        maps, image
            For `set_maps`, squares of a voxel's moduli adding up to 1, and fading away from the object; image times maps explains the
            samples. Written once all of both is there. `history` has how far they are from the samples, relative to these, before the first step and after each.

        Examples
        --------
        >>> maps, image = mri.find_maps(samples)
        >>> mri.set_maps(maps)
        >>> sense = mri.reconstruct(samples)
        """
        g, dtype = self._given(), self._complex(samples)
        if maps is None:
            maps = zeros_like(samples, ((g.coils,) if g.coils > 1 else ()) + self.voxels_shape, dtype)
        if image is None:
            image = zeros_like(samples, self.voxels_shape, dtype)
        options = struct(_abi.isoc_mri_maps_options, steps=steps, iterations=iterations, residual=residual, alpha=alpha, reduction=reduction,
                         scale=scale, order=order)
        self._run(lib.isoc_mri_find_maps, ctypes.byref(options), self._in(samples, "samples"), self._out(maps, "maps"), self._out(image, "image"))
        return maps, image

    def maps_memory(self, *, steps=0, iterations=0, residual=0.0, alpha=0.0, reduction=0.0, scale=0.0, order=0.0):
        """Most bytes of working memory that `find_maps` uses: of the host, or of the GPU that it computes on.

        Parameters
        ----------
        steps, iterations, residual, alpha, reduction, scale, order
            As for `find_maps`.
        """
        options = struct(_abi.isoc_mri_maps_options, steps=steps, iterations=iterations, residual=residual, alpha=alpha, reduction=reduction,
                         scale=scale, order=order)
        bytes_ = ctypes.c_uint64()
        self._run(lib.isoc_mri_maps_memory, ctypes.byref(options), ctypes.byref(bytes_))
        return bytes_.value

    def find_delays(self, samples, readout, *, range=0.0, voxel_x=0.0, voxel_y=0.0, voxel_z=0.0):
        """Finds delays between gradients and samples from a scan itself, whose readouts cross in the middle of k-space: spokes, spirals and
        others. Nothing in the plan changes.

        Parameters
        ----------
        samples : array
            Complex (coils, samples), of the plan's trajectory, which is without delays.
        readout : int
            Samples of a readout (a spoke, an interleaf), of which all have as many.
        range : float
            Largest delay that is looked for, in samples; 0 means 5.
        voxel_x, voxel_y, voxel_z : float
            Edges of a voxel in one unit, where they differ; 0 means 1. Mixed delays need them.

        Returns
        -------
        MRIDelays
            `xx`, `yy`, `zz`, `xy`, `xz` and `yz` in samples, positive where gradients come late; `xx_error` and so on, their standard
            errors; `confidence`, 0 to 1, the part of the samples' energy in the middle of k-space that one image explains.

        Raises
        ------
        OutOfRangeError
            Delays cannot be told; the message says why.

        Examples
        --------
        >>> found = mri.find_delays(samples, 512)
        >>> k = mri.delayed_trajectory(512, found)
        >>> mri.set_geometry(k.clip(-0.5, 0.5), unit="cycles_per_voxel", nx=256, ny=256, coils=8)
        >>> mri.set_weights((abs(k) <= 0.5).all(axis=1).astype(float))      # of samples beyond the range
        """
        options = struct(_abi.isoc_mri_delay_options, readout=readout, range=range, voxel_x=voxel_x, voxel_y=voxel_y, voxel_z=voxel_z)
        found = struct(_abi.isoc_mri_delays)
        self._run(lib.isoc_mri_find_delays, self._in(samples, "samples"), ctypes.byref(options), ctypes.byref(found))
        return MRIDelays._of(found)

    def delayed_trajectory(self, readout, delays, trajectory=None, *, voxel_x=0.0, voxel_y=0.0, voxel_z=0.0):
        """The plan's trajectory as it is with delays, in its own unit: real (samples, axes), float64 if no array is given. Samples may come
        to lie beyond the unit's range: `find_delays` shows what to do.

        Parameters
        ----------
        readout, voxel_x, voxel_y, voxel_z
            As for `find_delays`.
        delays : MRIDelays, or sequence of float
            In samples; two or three numbers are of the gradients along x, y and z.
        trajectory : array, optional
            Takes the result.
        """
        options = struct(_abi.isoc_mri_delay_options, readout=readout, voxel_x=voxel_x, voxel_y=voxel_y, voxel_z=voxel_z)
        if isinstance(delays, MRIDelays):
            late = delays._asdict()
        else:
            late = numbers(delays, "delays")
            if len(late) not in (2, 3):
                raise wrong(ValueError, f"delays has {len(late)} numbers; it must have 2 or 3, of x, y and z")
            late = dict(zip(("xx", "yy", "zz"), late))
        late = struct(_abi.isoc_mri_delays, **late)
        if trajectory is None:
            g = self._given()
            trajectory = numpy.zeros((g.samples, g.axes or (2 if g.nz <= 1 else 3)))
        self._run(lib.isoc_mri_delayed_trajectory, ctypes.byref(options), ctypes.byref(late), self._out(trajectory, "trajectory"))
        return trajectory

    def reconstruct(self, samples, image=None):
        """Solves (F^H W F + lambda R^H R) image = F^H W samples by conjugate gradient, for each image.

        Parameters
        ----------
        samples : array
            complex64 or complex128 (coils, samples), or (scans, coils, samples) of several scans.
        image : array, optional
            Takes the result; with option warm_start it is required, and holds the start.

        Returns
        -------
        image
            (images, nz, ny, nx), or of several scans (scans, images, nz, ny, nx), without images where there is one and without nz of planes. Of each scan written
            once all of it is there.
        """
        if self._warm and image is None:
            raise wrong(TypeError, "with the option warm_start, reconstruct begins with the image that it is given: pass one")
        return self._map(lib.isoc_mri_reconstruct, "samples", samples, "image", image, lambda: self._images_of(samples))

    def reconstruct_stream(self, read, at_once=0, dtype="complex64", image=None):
        """The same as `reconstruct` of samples that do not fit memory: `read` brings those of some shots at a time.

        Parameters
        ----------
        read : callable
            ``read(first, samples)`` fills samples first to first + count of the trajectory: an array of `dtype`, (coils, count). Write into
            it, ``samples[...] = ...``, and return None. Every sample is asked for once, in order; with frames (`set_frames`,
            `set_windows`) each frame's in turn, whole.
        at_once : int
            Samples to read at a time, of a readout or several; 0: 2**24 values, or an eighth of the memory cap.
        dtype : {"complex64", "complex128"}
            Of samples.
        image : array, optional
            As for `reconstruct`.

        Returns
        -------
        image
            That of `reconstruct` but for rounding, written once all of it is there.

        Raises
        ------
        TypeError
            `read` returned something, which would be lost.
        BufferError
            `read` kept its array, whose memory is the library's: copy what you need.
        Exception
            What `read` raises stops the call and comes out of it.
        """
        if self._warm and image is None:
            raise wrong(TypeError, "with the option warm_start, reconstruct_stream begins with the image that it is given: pass one")
        return self._streamed(lib.isoc_mri_reconstruct_stream, read, at_once, dtype, image)

    def gridding_stream(self, read, at_once=0, dtype="complex64", image=None):
        """The same as `gridding` of samples that `read` brings, as for `reconstruct_stream`. Returns the image."""
        return self._streamed(lib.isoc_mri_gridding_stream, read, at_once, dtype, image)

    def stream_memory(self, at_once=0, dtype="complex64"):
        """(host, gpu): most bytes of working memory that `reconstruct_stream` uses, and `gridding_stream` no more. `host` as the context's
        `memory_cap` counts them; `gpu`, of the GPU that it computes on, as `gpu_memory_cap` does, 0 on the processor. `at_once` and
        `dtype`: as for `reconstruct_stream`."""
        code = element_type(dtype, ("complex64", "complex128"))
        return self._memory(lib.isoc_mri_stream_memory, code, integer(at_once, "at_once"))

    def _streamed(self, function, read, at_once, dtype, image):
        code = element_type(dtype, ("complex64", "complex128"))
        fill = callback("read", read, _abi.isoc_mri_read_fn, True)
        if image is None:
            image = numpy.zeros(self.image_shape, dtype)
        self._run(function, code, integer(at_once, "at_once"), fill, None, self._out(image, "image"))
        return image

    def _map(self, function, source_name, source, target_name, target, shape):
        return self._apply(function, (source_name, source), (target_name, target), shape, self._complex(source))

    @staticmethod
    def _complex(source):
        return "complex128" if dtype_name(source) == "complex128" else "complex64"

    def history(self, image=0):
        """|residual| / |right-hand side| in the last `reconstruct`, before the first iteration and after each: float64. With penalties
        "wavelets", "variation" and "low_rank" |step| / |image| of each, after 1 for the start. Of a series that goes frame by frame image
        `image`; with "low_rank" all frames are one."""
        return self._list(lib.isoc_mri_history, image)

    def objective(self, image=0):
        """|F image - samples|^2 / 2 in the weights' norm + lambda_ times the penalty in the last `reconstruct`, before the first
        iteration and after each: float64. Empty but with penalties "wavelets", "variation" and "low_rank"."""
        return self._list(lib.isoc_mri_objective, image)

    def gap(self, image=0):
        """How far each value of `objective` is above the minimum at most: float64, by the highest lower bound so far, looked for before the
        first iteration, after every tenth and after the last. Empty but with penalties "wavelets" and "low_rank", and with these
        where the grid moves: with `fixed_grid=False` and algorithm "fista"."""
        return self._list(lib.isoc_mri_gap, image)

    def _list(self, function, image):
        found, image = ctypes.c_int64(), integer(image, "image")
        self._run(function, image, None, 0, ctypes.byref(found))
        values = numpy.zeros(found.value)
        self._run(function, image, address(values), values.size, ctypes.byref(found))
        return values[:found.value]

    def compute_q(self):
        """Makes Q of the trajectory, the weights and the field; `reconstruct` does so by itself. One Q serves every scan of a trajectory."""
        self._run(lib.isoc_mri_compute_q)

    def export_q(self, q=None):
        """Copies Q out: real (q_nz, q_ny, q_nx) of `info`, by the plan's precision if no array is given. Returns it. With a field
        there is none."""
        if q is None:
            info = self.info()
            double = self._given().precision == _abi.MriPrecision.DOUBLE
            q = numpy.zeros((info.q_nz, info.q_ny, info.q_nx), "float64" if double else "float32")
        self._run(lib.isoc_mri_export_q, self._out(q, "q"))
        return q

    def import_q(self, q):
        """Takes a Q from `export_q` of a plan with the same grid, trajectory and weights; one with a field takes none."""
        self._run(lib.isoc_mri_import_q, self._in(q, "q"))

    @staticmethod
    def shepp_logan(half_xy, half_z=0.0, kind="modified"):
        """Ellipsoids of the Shepp-Logan head for an image that is 2 half_xy voxels wide and high and 2 half_z deep; half_z = 0 is a
        plane.

        Parameters
        ----------
        half_xy, half_z : float
        kind : {"original", "modified"}
            "original": skull 2, brain 1.02, parts of it 0.01 to 0.02 more or less. "modified": 2, 1.2, 0.1 to 0.2 (Koay, Sarlls,
            Ozarslan 2007). `CT.shepp_logan` has others.

        Returns
        -------
        numpy.ndarray
            float64 (10, 8): value, x, y, z of the centre in voxels, semi-axes along x, y, z, rotation about z in radians from x
            towards y. Any such array is a phantom; where ellipsoids overlap, values add.
        """
        made = numpy.empty((_abi.ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS, 8))
        _call.invoke(lib.isoc_mri_shepp_logan, choice(_abi.MriSheppLoganKind, kind, "kind"), real(half_xy, "half_xy"),
                     real(half_z, "half_z"), _ellipsoids(made), len(made), None)
        return made

    def phantom_samples(self, ellipsoids, samples=None):
        """What one coil without a sensitivity profile measures of a phantom, exactly: complex (samples,), complex64 if no array
        is given; returned. ellipsoids: (n, 8), see `shepp_logan`."""
        return self._phantom(lib.isoc_mri_phantom_samples, ellipsoids, "samples", samples, lambda: (self._given().samples,))

    def phantom_image(self, ellipsoids, image=None):
        """The mean of a phantom over each voxel: complex (nz, ny, nx), complex64 if no array is given; returned."""
        return self._phantom(lib.isoc_mri_phantom_image, ellipsoids, "image", image, lambda: self.voxels_shape)

    def _phantom(self, function, ellipsoids, name, out, shape):
        ellipsoids = numbers(ellipsoids, "ellipsoids", ndim=2, columns=8)
        if out is None:
            out = numpy.zeros(shape(), "complex64")
        self._run(function, _ellipsoids(ellipsoids), len(ellipsoids), self._out(out, name))
        return out

    def compare(self, image, truth):
        """(PSNR in dB, error in percent) of an image against the true one, both complex (nz, ny, nx)."""
        psnr, percent = ctypes.c_double(), ctypes.c_double()
        self._run(lib.isoc_mri_compare, self._in(image, "image"), self._in(truth, "truth"), ctypes.byref(psnr),
                  ctypes.byref(percent))
        return psnr.value, percent.value


def _ellipsoids(array):
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(_abi.isoc_mri_ellipsoid))


def _shaped(trajectory, nz, axes):
    """Says what to write for the trajectories of other packages' shapes; what is wrong in other ways is the library's to say."""
    shape = tuple(getattr(trajectory, "shape", ()))
    if str(getattr(trajectory, "dtype", "")).rpartition(".")[2].startswith("complex"):
        raise wrong(TensorDtypeError, f"trajectory is complex, of shape {shape}; it must be real (samples, axes): write "
                                      "numpy.stack([trajectory.real.ravel(), trajectory.imag.ravel()], axis=1)")
    if len(shape) == 2 and shape[0] in (2, 3) and shape[1] not in (2, 3):
        raise wrong(TensorShapeError, f"trajectory has shape {shape}; it must be (samples, axes): write trajectory.T")
    if len(shape) > 2 and (shape[-1] in (2, 3) or shape[0] in (2, 3)):
        write = f"reshape(-1, {shape[-1]})" if shape[-1] in (2, 3) else f"reshape({shape[0]}, -1).T"
        raise wrong(TensorNdimError, f"trajectory has shape {shape}; it must be (samples, axes): write trajectory.{write}")
    if len(shape) == 2 and shape[1] == 3 and nz == 1 and not axes:
        raise wrong(TensorShapeError, f"trajectory has shape {shape}; of a plane it must be (samples, 2): nz makes a volume of it, "
                                      "and trajectory[:, :2] leaves z out")
    if len(shape) == 2 and shape[1] == 2 and isinstance(nz, int) and nz > 1:
        raise wrong(TensorShapeError, f"trajectory has shape {shape}; of a volume, nz={nz}, it must be (samples, 3)")
