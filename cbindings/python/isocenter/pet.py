"""DIRECT time-of-flight PET."""
import ctypes
import dataclasses
import warnings

import numpy

from . import _abi, _call
from ._library import lib
from ._plan import Plan
from ._tensor import dtype_name, tensor
from ._values import address, choice, integer, numbers, real, record, struct
from .errors import NotConfiguredError, OutOfRangeError, TensorDtypeError, TensorShapeError, wrong
from .lines import AlongLines

PETInfo = record("PETInfo", __name__, _abi.isoc_pet_info, "What a PET plan found and decided. See isoc_pet_info.")
Iteration = record("Iteration", __name__, _abi.isoc_pet_iteration,
                   "What a pass over the views saw: its log-likelihood, the prior's part, by how much it changed the image, and the voxels with "
                   "counts where none are expected.")
TableSizes = record("TableSizes", __name__, _abi.isoc_pet_table_sizes,
                    "Sizes of a view's tables, and the mass that the cut left.")
Dropped = record("Dropped", __name__, _abi.isoc_pet_dropped,
                 "Events that are in no histo-image, by cause; `events` is their sum.",
                 ": deposit adds the events to the histo_images that it is given, and returns what it dropped: pass histo_images")
Lost = record("Lost", __name__, _abi.isoc_pet_lost, "Events that `PET.detect` did not detect, by cause; `events` is their sum.")
ScatterFound = record("ScatterFound", __name__, _abi.isoc_pet_scatter_found,
                      "What `PET.scatter` found: counts of single scatter, by how much they were scaled, the standard deviation of that, counts of the tails, places of scattering.")
Tally = record("Tally", __name__, _abi.isoc_pet_tally,
               "How many events of each kind a simulated scan measured, and of how many draws.")


@dataclasses.dataclass
class Body:
    """A body of a phantom. Where bodies overlap, values add.

    Parameters
    ----------
    shape : {"cylinder", "ellipsoid", "box"}
        A cylinder is along z.
    x, y, z : float
        Its middle, mm from the centre of the scanner.
    half_x, half_y, half_z : float
        Half its sizes, mm; 0 of the latter two means as along x.
    activity : float
        In any unit.
    attenuation : float
        1/mm; 0.0096 is that of water at 511 keV.
    """
    shape: str = "cylinder"
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    half_x: float = 0.0
    half_y: float = 0.0
    half_z: float = 0.0
    activity: float = 0.0
    attenuation: float = 0.0


@dataclasses.dataclass
class Scan:
    """A scan to simulate: decays in a phantom, measured by a cylinder of detectors about the z axis.

    Parameters
    ----------
    bodies : list of Body
        The phantom.
    diameter, axial_length : float
        Of the detectors, mm; 0 means 930 and 250.
    tof_fwhm, radial_fwhm, axial_fwhm : float
        Blur, full widths at half maximum, as `PET.set_response` takes them: of the time difference in ps, radial and axial of the
        line in mm; 0 for none.
    radial_table : sequence of (float, float), optional
        In place of radial_fwhm: pairs of a distance from the axis and the radial width there, mm.
    randoms, scatter : float
        Their part of all events, 0 to 1.
    random_window : float
        Largest time difference of randoms, ps; 0 means 3000.
    scatter_sigma : float
        Width of scatter across, mm; 0 means 120.
    seed : int
        The same events for the same seed.
    energy_resolution, energy_lower, energy_upper : float
        Of the detectors: full width at half maximum of the energy over the energy, and the window in keV, where 0 means 435 and 585. With a resolution
        one photon of a decay may be scattered once by the bodies' attenuation, and as many events are scatter as there are; `scatter` is 0 then.
        A resolution of 0: no photon is scattered.
    attenuation : array, optional
        float32 or float64 (nz, ny, nx), 1/mm, of any size: what photons meet in place of the bodies' attenuation. Each voxel is the same throughout.
    map_voxel : float or sequence of float, optional
        Size of its voxels, mm: one number, or x, y, z. None: that of the lattice.
    map_centre : sequence of float, optional
        x, y, z of its centre, mm from that of the lattice. None: the same.
    """
    bodies: list
    diameter: float = 0.0
    axial_length: float = 0.0
    tof_fwhm: float = 0.0
    radial_fwhm: float = 0.0
    axial_fwhm: float = 0.0
    radial_table: object = None
    randoms: float = 0.0
    random_window: float = 0.0
    scatter: float = 0.0
    scatter_sigma: float = 0.0
    seed: int = 0
    energy_resolution: float = 0.0
    energy_lower: float = 0.0
    energy_upper: float = 0.0
    attenuation: object = None
    map_voxel: object = None
    map_centre: object = None


class PET(AlongLines, Plan):
    """A plan for DIRECT time-of-flight PET: lattice, views, response, options.

    Any thread may use it; calls on one plan wait for each other, different plans run at the same time. It computes on the first
    GPU of its context, or on the processor.

    Parameters
    ----------
    context : Context, optional
        Where to compute; None makes one with the defaults.
    nx, ny, nz, voxel_x, max_tilt, voxel_y, voxel_z, azimuths, tilts, views
        The geometry, as `set_geometry` takes it. None of them leaves it for later. A response has to follow.

    Notes
    -----
    Images are float32 (nz, ny, nx), histo-images (views, nz, ny, nx). What is expected of an image f in view v is
    ``A_v (H_v f) + b_v``: A attenuation x normalisation, b scatter + randoms. Arrays are NumPy arrays of any strides, or arrays
    that have ``__dlpack__`` (PyTorch, CuPy), in host memory or on the plan's GPU; none is copied or converted. An output that is
    not given is made like the input. List-mode events, phantoms and figures of merit are in host memory.

    Examples
    --------
    >>> pet = isocenter.PET(nx=144, ny=144, nz=48, voxel_x=4, azimuths=40, tilts=3, max_tilt=0.17)
    >>> pet.set_response(tof_fwhm=400, radial_fwhm=5.8, axial_fwhm=5.8)
    >>> image = pet.reconstruct(measured, factors, additive)
    """

    def __init__(self, context=None, *, nx=None, ny=None, nz=None, voxel_x=None, max_tilt=None, voxel_y=0.0, voxel_z=0.0,
                 azimuths=0, tilts=0, views=None):
        given = locals()
        self._lattice, self._warm, self._count, self._has_bins, self._crystals = None, False, 0, False, 0
        super().__init__(lib.isoc_pet_create, lib.isoc_pet_destroy, context)
        self._begin(given)

    def __repr__(self):
        lattice = self._lattice
        if lattice is None:
            return self._described()
        voxel = tuple(side or lattice.voxel_x for side in (lattice.voxel_x, lattice.voxel_y, lattice.voxel_z))
        return self._described(histo_images=(self._count, *self.image_shape), image=self.image_shape, voxel=voxel)

    def set_geometry(self, *, nx, ny, nz, voxel_x, max_tilt, voxel_y=0.0, voxel_z=0.0, azimuths=0, tilts=0, views=None):
        """Sets lattice and views, in millimetres and radians. Forgets tables and order; keeps the response.

        Parameters
        ----------
        nx, ny, nz : int
            Voxels.
        voxel_x, voxel_y, voxel_z : float
            Their size; 0 of the latter two means as along x.
        azimuths, tilts : int
            A grid of azimuths x tilts views: azimuth i is i pi / azimuths, tilts are at the centres of equal parts of -max_tilt to
            max_tilt; 0 tilts means 1. View i * tilts + j has azimuth i and tilt j.
        max_tilt : float
            Largest tilt of an event.
        views : array, optional
            In place of a grid: (views, 2) of azimuth and tilt in radians, none twice: a list of pairs, or float32 or float64.

        Raises
        ------
        OutOfRangeError
        """
        if isinstance(views, (int, numpy.integer)):
            raise wrong(TypeError, f"views is {views}; it must be an array (views, 2) of azimuth and tilt: a grid has azimuths and tilts")
        if views is None and not azimuths:
            raise wrong(TypeError, "give azimuths, of a grid, or views, a list")
        if isinstance(views, (list, tuple)):
            views = numbers(views, "views", ndim=2, columns=2)
        listed = self._in(views, "views")
        lattice = struct(_abi.isoc_pet_geometry, tilts=tilts, nx=nx, ny=ny, nz=nz, voxel_x=voxel_x, voxel_y=voxel_y,
                         voxel_z=voxel_z, azimuths=azimuths, max_tilt=max_tilt)
        try:
            self._run(lib.isoc_pet_set_geometry, ctypes.byref(lattice), listed)
        except OutOfRangeError as e:
            if "has a tilt of" in str(e):
                e.args = (f"{e}; columns are azimuth, tilt, in radians{_of_views(views, lattice.max_tilt)}",)
            raise
        self._lattice, self._count = lattice, self.info().views

    @property
    def image_shape(self):
        """(nz, ny, nx)."""
        if self._lattice is None:
            raise wrong(NotConfiguredError, "set_geometry has to come first")
        return (self._lattice.nz, self._lattice.ny, self._lattice.nx)

    @property
    def histo_images_shape(self):
        """(views, nz, ny, nx)."""
        return (self.info().views, *self.image_shape)

    def views(self):
        """The views' directions: float64 (views, 2) of azimuth and tilt."""
        directions = numpy.zeros((self.info().views, 2))
        self._run(lib.isoc_pet_get_views, address(directions), len(directions), None)
        return directions

    def set_response(self, *, tof_fwhm, axial_fwhm, radial_fwhm=0.0, radial_table=None, profile="symmetric", cut="box", step=0.0,
                     cut_width=0.0, ratio=0.0, shift=0.0, share=0.0):
        """Sets the response of all views that have no tables of their own: full widths at half maximum.

        Parameters
        ----------
        tof_fwhm : float
            Of the coincidence: of the time difference t2 - t1, ps.
        axial_fwhm, radial_fwhm : float
            Of the line's place at its middle, mm; radial: across the line in the transverse plane, axial: across both. Where each
            end of a line is blurred by W across it, W / sqrt(2).
        radial_table : sequence of (float, float), optional
            In place of radial_fwhm: pairs of a signed distance from the axis, ascending, and the radial width there, mm.
        profile : {"symmetric", "asymmetric"}
        cut : {"box", "ellipsoid"}
        step : float
            Voxels whose distances from the axis lie in one step of so many mm share a kernel; 0 means 2.
        cut_width : float
            Sigmas at which kernels are cut; 0 means 3.
        ratio, shift, share : float
            Asymmetric: sigma of the second Gaussian over the first's; its way towards the axis in the first's sigmas; its share.
        """
        table = _table(radial_table)
        response = struct(
            _abi.isoc_pet_response, profile=choice(_abi.PetProfile, profile, "profile"), cut=choice(_abi.PetCut, cut, "cut"),
            radial_table_count=None if table is None else len(table), tof_fwhm=tof_fwhm, radial_fwhm=radial_fwhm,
            axial_fwhm=axial_fwhm, radial_table=address(table), step=step, cut_width=cut_width, ratio=ratio, shift=shift,
            share=share)
        self._run(lib.isoc_pet_set_response, ctypes.byref(response))

    def set_tables(self, view, map, offsets, values):
        """Sets your own kernels of a view; copied.

        Parameters
        ----------
        view : int
        map : array of uint32
            (ny, nx), the kernel of all voxels of a column.
        offsets : array of int32
            (offsets, 3) in voxels along x, y, z, none twice.
        values : array of float32
            (kernels, offsets), not negative; each kernel is scaled to a sum of 1.
        """
        map, offsets = numbers(map, "map", "uint32", 2, self.image_shape[2]), numbers(offsets, "offsets", "int32", 2, 3)
        values = numbers(values, "values", "float32", 2, len(offsets))
        if len(map) != self.image_shape[1]:
            raise wrong(ValueError, f"map has shape {map.shape}; it must be {self.image_shape[1:]}")
        self._run(lib.isoc_pet_set_tables, integer(view, "view"), address(map), map.size, address(offsets), len(offsets),
                  address(values), values.size)

    def table_sizes(self, view):
        """How large a view's tables are, a TableSizes."""
        sizes = struct(_abi.isoc_pet_table_sizes)
        self._run(lib.isoc_pet_get_table_sizes, integer(view, "view"), ctypes.byref(sizes))
        return TableSizes._of(sizes)

    def tables(self, view):
        """(map, offsets, values, mass) of a view: as `set_tables` takes them, and the mass that the cut left of each kernel."""
        sizes = self.table_sizes(view)
        map, offsets = numpy.zeros(self.image_shape[1:], "uint32"), numpy.zeros((sizes.offsets, 3), "int32")
        values, mass = numpy.zeros((sizes.kernels, sizes.offsets), "float32"), numpy.zeros(sizes.kernels)
        to = struct(_abi.isoc_pet_tables, map_capacity=map.size, offset_capacity=len(offsets), value_capacity=values.size,
                    mass_capacity=mass.size)
        for name, array in (("map", map), ("offsets", offsets), ("values", values), ("mass", mass)):
            setattr(to, name, ctypes.cast(address(array), dict(to._fields_)[name]))
        self._run(lib.isoc_pet_get_tables, integer(view, "view"), ctypes.byref(to))
        return map, offsets, values, mass

    def set_options(self, *, algorithm="ramla", order="geometric", projector="auto", warm_start=False, subsets=0, iterations=0,
                    first_iteration=0, seed=0, relaxation=0.0, relaxation_decay=0.0, tolerance=0.0, stop_change=0.0,
                    stop_region_change=0.0):
        """Sets options; what is not named gets its default. They hold until set again, whatever the geometry.

        Parameters
        ----------
        algorithm : {"ramla", "osem", "mlem", "bsrem", "svrg"}
            "ramla" is sharp in a few passes, and noisier with each: fewer `iterations`, less `relaxation` or more `relaxation_decay`
            make its images smoother. "bsrem" and "svrg" go up the gradient of the log-likelihood less the prior of `set_prior`, to the
            one image where that is largest: "svrg" in few passes.
        order : {"geometric", "random", "given"}
            Of views in a pass; "given" is that of `set_order`.
        projector : {"auto", "gather", "fourier"}
        warm_start : bool
            `reconstruct` begins with the image that it is given, instead of a uniform one. Voxels that start at 0 stay 0, but for "bsrem"
            and "svrg".
        subsets : int
            "osem", "bsrem" and "svrg": subsets of the views; 0 means 8 of "osem", or one a view where there are fewer, of "bsrem" one for
            five views, at most 24, of "svrg" one for three, at most 40, and fewer where each would have less than half a count a voxel: two at least, from 1000 counts on.
        iterations : int
            Passes over all views, at most; 0 means 10.
        first_iteration : int
            Passes made before, by other calls: relaxation and random orders go on from there.
        seed : int
            Of random orders.
        relaxation, relaxation_decay : float
            "ramla", "bsrem" and "svrg": the step of pass k, the first one's k being `first_iteration`, is
            relaxation / (1 + relaxation_decay k). relaxation is above 0 and at most 1, 0 means 1; relaxation_decay is 0 or more, and 0
            means 0.1 of "bsrem".
        tolerance : float
            Fourier projector: largest error of a kernel's expansion, relative to its largest value; 0 means 1e-5.
        stop_change, stop_region_change : float
            Above 0: passes end when one has changed the image by no more than this, ``|after - before| / |after|``, and the mean of no
            region of `set_regions` by more, over the mean of all regions. Not judged are the first pass from a uniform image, and "svrg"'s of one step.

        Raises
        ------
        OutOfRangeError
        """
        options = struct(
            _abi.isoc_pet_options, algorithm=choice(_abi.PetAlgorithm, algorithm, "algorithm"),
            order=choice(_abi.PetOrder, order, "order"), projector=choice(_abi.PetProjector, projector, "projector"),
            warm_start=bool(warm_start), subsets=subsets, iterations=iterations, first_iteration=first_iteration, seed=seed,
            relaxation=relaxation, relaxation_decay=relaxation_decay, tolerance=tolerance, stop_change=stop_change,
            stop_region_change=stop_region_change)
        self._run(lib.isoc_pet_set_options, ctypes.byref(options))
        self._warm = bool(warm_start)

    def set_order(self, order):
        """Sets the order of views in a pass: each at most once; views that are left out are not used. `reconstruct` takes it with
        ``set_options(order="given")``, not before. order: sequence of int."""
        if isinstance(order, (str, _abi.PetOrder)):
            word = choice(_abi.PetOrder, order, "order").name.lower()
            raise wrong(TypeError, f'order is {order!r}; it must be a sequence of views: write set_options(order="{word}")')
        order = numbers(order, "order", "int64")
        self._run(lib.isoc_pet_set_order, address(order), order.size)

    def set_prior(self, potential="relative_difference", *, strength, gamma=0.0, epsilon=0.0, edge=0.0, weights=None, anatomy=None,
                  anatomy_sigma=0.0):
        """Sets what "bsrem" and "svrg" take off the log-likelihood: ``strength`` times the sum over pairs of neighbours f and g, each of
        the 26 about a voxel once, of ``w potential(f, g) x / distance``, x the voxel's side along x. It holds until the plan gets another
        geometry.

        Parameters
        ----------
        potential : {"relative_difference", "quadratic"}
            (f - g)^2 / (f + g + gamma |f - g| + epsilon); or (f - g)^2 / 2, which grows as its root beyond `edge`, if there is one.
        strength : float or None
            0 or more; None takes the prior away. Relative differences of an image in other units want strength / unit, quadratic ones strength / unit^2.
        gamma, epsilon : float
            Of relative differences: how early edges are kept, 0 means 2; what makes the potential smooth about 0, in the image's unit.
        edge : float
            Of quadratic ones: differences beyond it are edges, in the image's unit; 0 keeps none.
        weights : array, optional
            float32 (nz, ny, nx), 0 or more: w has those of both voxels as factors.
        anatomy : array, optional
            float32 (nz, ny, nx) on the lattice, as of a CT or MR image: w has exp(-((A_f - A_g) / anatomy_sigma)^2 / 2) as a factor.
        anatomy_sigma : float
            In the unit of `anatomy`; above 0 with it, 0 without.

        Raises
        ------
        OutOfRangeError
        """
        if strength is None:
            if weights is not None or anatomy is not None:
                raise wrong(ValueError, "strength=None takes the prior away, and has no weights or anatomy")
            self._run(lib.isoc_pet_set_prior, None, None, None)
            return
        prior = struct(
            _abi.isoc_pet_prior, potential=choice(_abi.PetPotential, potential, "potential"), strength=strength, gamma=gamma,
            epsilon=epsilon, edge=edge, anatomy_sigma=anatomy_sigma)
        self._run(lib.isoc_pet_set_prior, ctypes.byref(prior), self._in(weights, "weights"), self._in(anatomy, "anatomy"))

    def prior_gradient(self, image, gradient=None):
        """(gradient, value) of the prior of an image, float32 (nz, ny, nx) and not negative: what is taken off the log-likelihood, and its
        gradient, float32 (nz, ny, nx)."""
        value = ctypes.c_double()
        gradient = self._apply(lib.isoc_pet_prior_gradient, ("image", image), ("gradient", gradient), lambda: self.image_shape,
                               after=(ctypes.byref(value),))
        return gradient, value.value

    def set_regions(self, regions):
        """Sets the regions whose means `set_options` (``stop_region_change``) is about: uint8, uint16 or uint32 (nz, ny, nx) of labels from
        1 to 65535, 0 for none; None takes them away. They hold until the plan gets another geometry."""
        self._run(lib.isoc_pet_set_regions, self._in(regions, "regions"))

    def set_stream(self, stream):
        """Sets the CUDA stream whose order calls on GPU arrays follow; see `CT.set_stream`."""
        self._set_stream(lib.isoc_pet_set_stream, stream)

    def info(self):
        """What the plan found and decided, a PETInfo."""
        info = struct(_abi.isoc_pet_info)
        self._run(lib.isoc_pet_get_info, ctypes.byref(info))
        return PETInfo._of(info)

    def memory(self):
        """Most bytes of working memory that `reconstruct` uses: of the host, or of the GPU that it computes on."""
        return self._number(lib.isoc_pet_memory)

    def forward(self, image, histo_images=None, views=None):
        """Histo-images = H image.

        Parameters
        ----------
        image : array
            float32 (nz, ny, nx).
        histo_images : array, optional
            float32 (views, nz, ny, nx).
        views : sequence of int, optional
            The views to compute, in this order; None means all.

        Returns
        -------
        histo_images
        """
        chosen, count = _chosen(views)
        return self._apply(lib.isoc_pet_forward, ("image", image), ("histo_images", histo_images),
                           lambda: (count or self.info().views, *self.image_shape), before=(address(chosen), count))

    def adjoint(self, histo_images, image=None, views=None):
        """Image = sum of H' histo-images over the views that are named: the exact transpose of `forward`.

        Parameters
        ----------
        histo_images : array
            float32 or uint32 (views, nz, ny, nx).
        image : array, optional
            float32 (nz, ny, nx).
        views : sequence of int, optional
            Of the histo-images, in their order; None means all.

        Returns
        -------
        image
        """
        chosen, count = _chosen(views)
        return self._apply(lib.isoc_pet_adjoint, ("histo_images", histo_images), ("image", image), lambda: self.image_shape,
                           before=(address(chosen), count))

    def sensitivity(self, factors=None, image=None):
        """Image = sum of H' A over all views. factors: float32 (views, nz, ny, nx), not negative; None for 1. Returns the image."""
        if factors is not None:
            return self._apply(lib.isoc_pet_sensitivity, ("factors", factors), ("image", image), lambda: self.image_shape)
        image = numpy.zeros(self.image_shape, "float32") if image is None else image
        self._run(lib.isoc_pet_sensitivity, None, self._out(image, "image"))
        return image

    def reconstruct(self, measured, factors=None, additive=None, image=None):
        """Reconstructs the image of measured histo-images.

        Parameters
        ----------
        measured : array
            float32 or uint32 (views, nz, ny, nx).
        factors, additive : array, optional
            float32, of the same shape: attenuation x normalisation (None: 1), scatter + randoms (None: 0). Nothing may be negative.
        image : array, optional
            float32 (nz, ny, nx), takes the result; with option warm_start it is required, and holds the start.

        Returns
        -------
        image
            In counts a voxel and view where factors are attenuation and normalisation alone; in counts a voxel with each view's
            share of all directions among the factors. Written once all of it is there.

        Notes
        -----
        `factors` makes those of a scanner of crystals and a map of attenuation, for an image in Bq/ml or in decays a voxel.
        The context's first GPU computes; its others take some views of each subset of OSEM, MLEM, BSREM and SVRG where that is faster.
        """
        if self._warm and image is None:
            raise wrong(TypeError, "with the option warm_start, reconstruct begins with the image that it is given: pass one")
        return self._apply(lib.isoc_pet_reconstruct, ("measured", measured), ("image", image), lambda: self.image_shape,
                           between=(self._in(factors, "factors"), self._in(additive, "additive")))

    def history(self):
        """What each pass of the last `reconstruct` saw: a list of Iteration."""
        found = ctypes.c_int64()
        self._run(lib.isoc_pet_history, None, 0, ctypes.byref(found))
        passes = (_abi.isoc_pet_iteration * found.value)()
        self._run(lib.isoc_pet_history, passes, len(passes), ctypes.byref(found))
        return [Iteration._of(p) for p in passes[:found.value]]

    def deposit(self, first_positions, second_positions, time_differences, histo_images):
        """Adds list-mode events to histo-images. An event counts in the view of its direction, in the voxel about
        ``(p1 + p2) / 2 + (c / 2) (t2 - t1) (p1 - p2) / |p1 - p2|``.

        Parameters
        ----------
        first_positions, second_positions : array
            float32 or float64 (events, 3) of x, y, z in mm.
        time_differences : array
            t2 - t1 in ps, (events,): positive where the event is nearer to p1.
        histo_images : array
            uint32 or float32 (views, nz, ny, nx), which the events are added to. On the GPU that the plan computes on the GPU counts, the same
            voxels as the processor; there the events may be, too, all three arrays.

        Returns
        -------
        Dropped
            Events that are in no histo-image.
        """
        _check_lengths(first_positions, second_positions, time_differences)
        dropped = struct(_abi.isoc_pet_dropped)
        self._run(lib.isoc_pet_deposit, self._in(first_positions, "first_positions"),
                  self._in(second_positions, "second_positions"), self._in(time_differences, "time_differences"),
                  self._out(histo_images, "histo_images"), ctypes.byref(dropped))
        return Dropped._of(dropped)

    def set_scanner(self, positions, normals=None, *, crystal_width=0.0, crystal_height=0.0, crystal_sizes=None, time_edges=None):
        """Sets the scanner whose crystals and time bins events of `deposit_crystals` name, and that `factors` and `detect` are of; copied. It
        holds whatever the geometry.

        Parameters
        ----------
        positions : array
            float32 or float64 (crystals, 3) of x, y, z in mm from the centre of the lattice, in host memory: where in a crystal photons are
            detected on average. `block_crystals` makes those of rings of blocks.
        normals : array, optional
            float32 or float64 (crystals, 3), which way the crystals' faces look, of any length and either sign; None: to the z axis.
        crystal_width, crystal_height : float
            Of a crystal's face, across the scanner's axis and across the width, mm. An event is anywhere on the faces of its two crystals, as its
            number says, always at the same place. With 0 and 0 crystals are points.
        crystal_sizes : array, optional
            float32 or float64 (crystals, 2), in host memory: width and height of each crystal's face, in place of `crystal_width` and `crystal_height`.
        time_edges : sequence of float, optional
            Edges of the bins of t2 - t1, ascending, in ps, one more than there are bins: an event is anywhere in its bin. None: events have
            time differences in ps.

        Raises
        ------
        OutOfRangeError
        NotFiniteDataError
        """
        edges = None if time_edges is None else numbers(time_edges, "time_edges")
        if edges is not None and edges.size < 2:
            raise wrong(ValueError, f"time_edges has {edges.size} edges; there must be at least 2, one more than there are bins")
        scanner = struct(_abi.isoc_pet_scanner, time_bins=None if edges is None else edges.size - 1, crystal_width=crystal_width,
                         crystal_height=crystal_height, time_edges=address(edges))
        sizes = self._in(crystal_sizes, "crystal_sizes")
        if sizes is not None:
            scanner.crystal_sizes = ctypes.cast(sizes.pointer, ctypes.POINTER(_abi.isoc_tensor))
        self._run(lib.isoc_pet_set_scanner, ctypes.byref(scanner), self._in(positions, "positions"), self._in(normals, "normals"))
        self._has_bins, self._crystals = edges is not None, len(positions)

    def set_pairs(self, modules=None, groups=None, efficiencies=None):
        """Sets which pairs of crystals the scanner measures, and what is measured of each besides what its crystals detect; without it all pairs are
        measured, with 1. `set_scanner` has to come first, and a new scanner has none. Without arguments it is taken away. Copied.

        Parameters
        ----------
        modules : array
            Whole numbers (crystals,), the module of each crystal, from 0: a block, a ring of crystals, a panel.
        groups : array
            Whole numbers (modules, modules), the same both ways: 0 where the two modules are not in coincidence, else the group of the pair, from 1.
        efficiencies : array, optional
            float32 or float64 (groups,), of all pairs of crystals of a group; or (groups, elements, elements), of the crystals of either module, numbered within it by
            their numbers in the scanner: first that of the module with the larger number, within one module the crystal with the larger number. None: 1.

        Raises
        ------
        OutOfRangeError
            A module or group is none that there is, or a pair has two groups.

        Notes
        -----
        A pair is measured with the product of both crystals' efficiencies and its own: `factors`, `randoms`, `scatter`, `detect`, `fan_sums` and `singles` have it. Events of pairs
        that are not measured are dropped, and counted as `not_measured`.

        Examples
        --------
        Rings of crystals that are measured with those up to five rings away:

        >>> import numpy, isocenter
        >>> positions, normals = isocenter.block_crystals(blocks=38, across=16, along=16, diameter=780.0, pitch_across=3.9)
        >>> pet = isocenter.PET(nx=40, ny=40, nz=12, voxel_x=5.0, azimuths=8, max_tilt=0.1)
        >>> pet.set_scanner(positions, normals, crystal_width=3.9, crystal_height=3.9)
        >>> ring = numpy.arange(16)
        >>> pet.set_pairs(numpy.arange(len(positions)) // (38 * 16), abs(ring - ring[:, None]) <= 5)
        """
        modules, groups = (values if values is None else _whole(values, name) for values, name in ((modules, "modules"), (groups, "groups")))
        self._run(lib.isoc_pet_set_pairs, self._in(modules, "modules"), self._in(groups, "groups"), self._in(efficiencies, "efficiencies"))

    def deposit_crystals(self, crystals, times, labels=None, histo_images=None, *, first_event=0):
        """Adds list-mode events that name crystals to histo-images, as `deposit` does. `set_scanner` has to come first.

        Parameters
        ----------
        crystals : array
            uint8, uint16 or uint32 (events, 2): numbers of the first and the second photon's crystal, from 0. Signed integers are not
            converted: of those that are not negative, ``crystals.view(numpy.uint32)`` of an int32 array is no copy.
        times : array
            (events,) of time bins, uint8, uint16 or uint32; or of t2 - t1 in ps, float32 or float64: positive where the event is nearer
            to the first crystal.
        labels : array, optional
            uint8, uint16 or uint32 (events,): which of the sets of histo-images an event is counted in, from 0, such as prompts and delays,
            gates, or frames of time. None: the first.
        histo_images : array
            uint32 or float32 (labels, views, nz, ny, nx), or (views, nz, ny, nx) of one label, which the events are added to. On the GPU that
            the plan computes on the GPU counts, the same voxels as the processor; there the events may be, too, all of their arrays.
        first_event : int
            The number of the list's first event in the scan: with it, a scan in several lists gives the same as in one.

        Returns
        -------
        Dropped
            Events that are in no histo-image. Those of crystals, time bins or labels that there are not are `unknown`, of pairs that `set_pairs` has 0 for
            `not_measured`.

        Notes
        -----
        Fields of structured arrays and memory maps are taken where they are, without a copy. docs/list-mode.md has recipes for
        files of list-mode events. Of crystals that seem to be counted from 1 there is a UserWarning.
        """
        if histo_images is None:
            raise wrong(TypeError, "histo_images is None; it must be an array (labels, views, nz, ny, nx), which the events are added to: "
                                   "write numpy.zeros((labels, *pet.histo_images_shape), numpy.uint32)")
        _check_signs(crystals, "crystals")
        _check_signs(times, "times")
        _check_signs(labels, "labels")
        _check_numbers(crystals, times, labels)
        dropped = struct(_abi.isoc_pet_dropped)
        self._run(lib.isoc_pet_deposit_crystals, self._in(crystals, "crystals"), self._in(times, "times"), self._in(labels, "labels"),
                  integer(first_event, "first_event", ctypes.c_uint64), self._out(histo_images, "histo_images"), ctypes.byref(dropped))
        if dropped.unknown:
            _doubt_first(crystals, self._crystals)
        return Dropped._of(dropped)

    def detect(self, first_positions, second_positions, time_differences, efficiencies=None, *, seed=0, bins=True):
        """What the plan's scanner makes of events that have positions, as those of `simulate` do: a list for `deposit_crystals`. They get the
        crystals that their lines meet, each of which detects with the probability of its efficiency, and stay at their places on the lines.
        `set_scanner` has to come first, with a width and a height of crystals.

        Parameters
        ----------
        first_positions, second_positions, time_differences : array
            As `deposit` takes them, in host memory, one event at least.
        efficiencies : array, optional
            float32 or float64 (crystals,), 0 to 1, and so the sum of those behind each other, in host memory; None: the first that a line meets detects.
        seed : int
            Of the efficiencies' random numbers: the same events for the same seed.
        bins : bool
            Times are time bins where the scanner has them; False: t2 - t1 in ps in any case.

        Returns
        -------
        crystals : array
            uint32 (events, 2); 2**32 - 1 both for an event that is lost, which `deposit_crystals` drops as `unknown`.
        times : array
            (events,): time bins, uint16, or t2 - t1 in ps between the crystals, float32; 0 for an event that is lost.
        lost : Lost
            How many events are lost, by cause.

        Raises
        ------
        NotConfiguredError
            There is no scanner, or its crystals have no size.
        OutOfRangeError
            An efficiency is no probability.
        """
        _check_lengths(first_positions, second_positions, time_differences)
        differences = tensor(time_differences, "time_differences", self._stream)
        events = differences.shape[:1]
        crystals = numpy.zeros((*events, 2), "uint32")
        times = numpy.zeros(events, "uint16" if bins and self._has_bins else "float32")  # of 65536 bins at most
        lost = struct(_abi.isoc_pet_lost)
        self._run(lib.isoc_pet_detect, self._in(first_positions, "first_positions"), self._in(second_positions, "second_positions"),
                  differences, self._in(efficiencies, "efficiencies"), integer(seed, "seed", ctypes.c_uint64),
                  self._out(crystals, "crystals"), self._out(times, "times"), ctypes.byref(lost))
        return crystals, times, Lost._of(lost)

    def attenuation(self, hounsfield, kilovolts, out=None):
        """The attenuation at 511 keV of a CT, as `factors` takes it, by the two lines, of tissue and of bone, of Carney, Townsend, Rappoport and
        Bendriem, Med. Phys. 33(4), 2006, table I.

        Parameters
        ----------
        hounsfield : array
            float32 or float64 (nz, ny, nx) of Hounsfield units, of any size, in host memory.
        kilovolts : float
            Peak voltage of the CT's tube, 80 to 140.
        out : array, optional
            float32 of the same shape, takes the result; it may be `hounsfield`.

        Returns
        -------
        out
            1/mm.

        Raises
        ------
        OutOfRangeError
        """
        return self._apply(lib.isoc_pet_attenuation, ("hounsfield", hounsfield), ("attenuation", out), lambda: tuple(hounsfield.shape),
                           before=(real(kilovolts, "kilovolts"),))

    def factors(self, efficiencies=None, attenuation=None, out=None, *, directions=0, duration=0.0, branching=0.0, half_life=0.0, delay=0.0,
                live=0.0, map_voxel=None, map_centre=None):
        """The factors of the plan's scanner, as `reconstruct` takes them: the part of the decays in a voxel that is measured in each view, times
        what makes decays of an activity. `set_scanner` has to come first, with a width and a height of crystals.

        Parameters
        ----------
        efficiencies : array, optional
            float32 or float64 (crystals,), at least 0, in host memory: the part of all photons along lines across a crystal that it detects; those of crystals
            behind each other add up. None: every photon that meets a crystal is detected.
        attenuation : array, optional
            float32 or float64 (nz, ny, nx), 1/mm at 511 keV, of any size, in host memory; None: nothing attenuates.
        out : array, optional
            float32 (views, nz, ny, nx), takes the result. On the GPU that the plan computes on it stays there.
        directions : int
            Of each view, about, 1 to 16384; 0 means 32. A factor is the mean over lines about its voxel in each of them: twice as many halve
            the square of its noise.
        duration : float
            Of the measurement, s: the image is in Bq/ml. 0: it is in decays a voxel that send pairs of photons, and the next four must be 0.
        branching : float
            Part of the decays that send pairs of photons, as of 18F 0.967; 0 means 1.
        half_life : float
            s, as of 18F 6586; 0: no decay.
        delay : float
            From the time that the image's activity is told at to the start of the measurement, s.
        live : float
            Part of the duration in which the scanner was ready (dead time); 0 means 1.
        map_voxel : float or sequence of float, optional
            Size of the attenuation map's voxels, mm: one number, or x, y, z. None: that of the lattice.
        map_centre : sequence of float, optional
            x, y, z of the map's centre, mm from that of the lattice. None: the same.

        Returns
        -------
        out

        Raises
        ------
        NotConfiguredError
            There is no scanner, or its crystals have no size.
        OutOfRangeError
            An efficiency or an attenuation is below 0, as in Hounsfield units: see the method `attenuation`. The log warns of other units.
        """
        out = numpy.zeros(self.histo_images_shape, "float32") if out is None else out
        options = _factor_options(directions, duration, branching, half_life, delay, live, map_voxel, map_centre)
        self._run(lib.isoc_pet_factors, ctypes.byref(options), self._in(efficiencies, "efficiencies"), self._in(attenuation, "attenuation"),
                  self._out(out, "factors"))
        return out

    def factors_memory(self, attenuation=None, *, directions=0, duration=0.0, branching=0.0, half_life=0.0, delay=0.0, live=0.0, map_voxel=None,
                       map_centre=None):
        """(host, gpu): most bytes of working memory that `factors` takes of the plan's scanner, with efficiencies or without. `host` as the
        context's `memory_cap` counts them; `gpu`, of the GPU that it computes on, as `gpu_memory_cap` does, 0 on the processor. With caps of so many
        bytes it computes, with less it raises MemoryCapError. `attenuation`, of which the shape alone counts, and `directions`, `duration`,
        `branching`, `half_life`, `delay`, `live`, `map_voxel` and `map_centre`: as for `factors`."""
        options = _factor_options(directions, duration, branching, half_life, delay, live, map_voxel, map_centre)
        return self._memory(lib.isoc_pet_factors_memory, ctypes.byref(options), self._in(attenuation, "attenuation"))

    def fan_sums(self, crystals, labels=None, sums=None, *, field_of_view=0.0):
        """Adds delayed coincidences to sums over crystals' fans: one to that of either crystal, of each coincidence whose line is near the axis and
        within the tilts. `singles` makes rates of them, and `efficiencies` takes those of a known source's prompts. `set_scanner` has to come first.

        Parameters
        ----------
        crystals : array
            uint8, uint16 or uint32 (events, 2), as for `deposit_crystals`, in host memory.
        labels : array, optional
            uint8, uint16 or uint32 (events,): which of several sums a coincidence belongs to; None: all to the first. Those of labels beyond, as of
            prompts, are dropped.
        sums : array, optional
            uint32 (crystals,) or (labels, crystals), to which they are added; None makes one (crystals,).
        field_of_view : float
            Diameter about the axis, mm: all pairs whose lines are within have to be measured by the scanner. 0 means that of the circle in the lattice.

        Returns
        -------
        sums
        dropped : Dropped
            By cause; beyond the field of view they are `outside_lattice`.
        """
        sums = numpy.zeros(self._crystals, "uint32") if sums is None else sums
        dropped = struct(_abi.isoc_pet_dropped)
        self._run(lib.isoc_pet_fan_sums, real(field_of_view, "field_of_view"), self._in(crystals, "crystals"), self._in(labels, "labels"),
                  self._out(sums, "sums"), ctypes.byref(dropped))
        return sums, Dropped._of(dropped)

    def singles(self, sums, duration, out=None, *, window=0.0, field_of_view=0.0):
        """Rates of single photons with which two crystals have 2 window duration s_i s_j delayed coincidences: those of the largest likelihood
        (M. E. Casey, E. J. Hoffman, J. Comput. Assist. Tomogr. 10(5), 1986).

        Parameters
        ----------
        sums : array
            float32, float64 or uint32 (crystals,): of `fan_sums` with the same `field_of_view`.
        duration : float
            Of the measurement, s.
        out : array, optional
            float32 (crystals,), takes the result.
        window : float
            Largest time difference of a delayed coincidence, ps; 0 means that of the scanner's time bins.
        field_of_view : float
            As for `fan_sums`.

        Returns
        -------
        out
            1/s.
        """
        out = numpy.zeros(self._crystals, "float32") if out is None else out
        self._run(lib.isoc_pet_singles, real(field_of_view, "field_of_view"), real(duration, "duration"), real(window, "window"),
                  self._in(sums, "sums"), self._out(out, "singles"))
        return out

    def efficiencies(self, sums, image, attenuation=None, singles=None, out=None, *, window=0.0, field_of_view=0.0, duration=0.0, branching=0.0,
                     half_life=0.0, delay=0.0, live=0.0, map_voxel=None, map_centre=None):
        """Normalisation: which part of the photons along a line across it each crystal detects, as `factors` takes it, from a scan of a known source, such as
        a cylinder or a rod. Efficiencies of the largest likelihood of `sums` (D. Hogg, K. Thielemans, T. Spinks, N. Spyrou, IEEE NSS-MIC 2001;
        R. D. Badawi, M. A. Lodge, P. K. Marsden, Phys. Med. Biol. 43(1), 1998). `set_scanner` has to come first, with a width and a height of crystals.

        Crystals without counts have 0. Those that see next to nothing of the source have the mean of the others. Both are told in the log, and so is
        that half of all are above 1. Scatter in the sums counts as trues.

        Parameters
        ----------
        sums : array
            float32, float64 or uint32 (crystals,): of `fan_sums` of all prompts, with the same `field_of_view`.
        image : array
            float32 or float64 (nz, ny, nx), at least 0: the source's activity, whose unit sets the scale. Of an image of another scale, efficiencies are
            right but for a common factor.
        attenuation : array, optional
            float32 or float64 (nz, ny, nx), 1/mm at 511 keV, of any size.
        singles : array, optional
            float32 or float64 (crystals,), 1/s, of `singles` or of the scanner: the randoms that they make are taken away, for which there must be a
            `duration`. None: there are none.
        out : array, optional
            float32 (crystals,), takes the result. All arrays are in host memory.
        window : float
            Largest time difference of an event, ps; 0 means that of the scanner's time bins. Of `singles`.
        field_of_view : float
            As for `fan_sums`.
        duration, branching, half_life, delay, live, map_voxel, map_centre
            Of the image and the map, as for `factors`.

        Returns
        -------
        out
        """
        out = numpy.zeros(self._crystals, "float32") if out is None else out
        options = _factor_options(0, duration, branching, half_life, delay, live, map_voxel, map_centre)
        self._run(lib.isoc_pet_efficiencies, real(field_of_view, "field_of_view"), real(window, "window"), ctypes.byref(options),
                  self._in(sums, "sums"), self._in(image, "image"), self._in(attenuation, "attenuation"), self._in(singles, "singles"),
                  self._out(out, "efficiencies"))
        return out

    def randoms(self, singles, duration, out=None, *, window=0.0, directions=0):
        """The histo-images of random coincidences that are expected of rates of single photons: 2 window duration s_i s_j of two crystals,
        anywhere on their faces, evenly in time. `set_scanner` has to come first, with a width and a height of crystals.

        Parameters
        ----------
        singles : array
            float32 or float64 (crystals,), 1/s, in host memory, of the scanner or of `singles`.
        duration : float
            Of the measurement, s.
        out : array, optional
            float32 (views, nz, ny, nx), takes the result. On the GPU that the plan computes on it stays there.
        window : float
            Largest time difference of an event, ps, beyond which there are none; 0 means that of the scanner's time bins.
        directions : int
            Of each view, as for `factors`.

        Returns
        -------
        out
        """
        out = numpy.zeros(self.histo_images_shape, "float32") if out is None else out
        self._run(lib.isoc_pet_randoms, real(duration, "duration"), real(window, "window"), integer(directions, "directions", ctypes.c_uint32),
                  self._in(singles, "singles"), self._out(out, "histo_images"))
        return out

    def randoms_memory(self, *, directions=0):
        """(host, gpu): most bytes of working memory that `randoms` takes, as of `factors_memory`. `directions`: as for `randoms`."""
        return self._memory(lib.isoc_pet_randoms_memory, integer(directions, "directions", ctypes.c_uint32))

    def scatter(self, image, attenuation, efficiencies=None, measured=None, randoms=None, out=None, *, energy_resolution=0.0, energy_lower=0.0,
                energy_upper=0.0, tof_fwhm=0.0, spacing=0.0, directions=0, duration=0.0, branching=0.0, half_life=0.0, delay=0.0, live=0.0,
                map_voxel=None, map_centre=None):
        """Single scatter of an image's activity by the attenuation, in the detectors' energy window, by the time of flight, and randoms: what
        `reconstruct` takes as `additive` (C. C. Watson, IEEE Trans. Nucl. Sci. 54(5), 2007). It is made of an image that was reconstructed with less of
        it, and the next image with it; two or three times are enough.

        Parameters
        ----------
        image : array
            float32 or float64 (nz, ny, nx), at least 0, in host memory.
        attenuation : array
            float32 or float64 (nz, ny, nx), 1/mm at 511 keV, of any size, in host memory.
        efficiencies : array, optional
            float32 or float64 (crystals,), as for `factors`.
        measured : array, optional
            uint32 or float32 (views, nz, ny, nx), by whose tails, beside all that attenuates, scatter is scaled; None: it is not.
        randoms : array, optional
            float32 (views, nz, ny, nx), which are added.
        out : array, optional
            float32 (views, nz, ny, nx), takes the result. On the GPU that the plan computes on it stays there, as may measured and randoms.
        energy_resolution : float
            Full width at half maximum of the energy of unscattered photons over that energy; 0 means 0.11.
        energy_lower, energy_upper : float
            Of the detectors' energy window, keV; 0 means 435 and 585.
        tof_fwhm : float
            Full width at half maximum of the time difference, ps; 0 means that of the response.
        spacing : float
            Distance of the places where photons are scattered, mm, 1 to 100; 0 means 12, and as much less as a scanner's radius is below 300 mm.
        directions, duration, branching, half_life, delay, live, map_voxel, map_centre
            Those with which the image was reconstructed, as for `factors`.

        Returns
        -------
        out
        found : ScatterFound
        """
        out = numpy.zeros(self.histo_images_shape, "float32") if out is None else out
        factors = _factor_options(directions, duration, branching, half_life, delay, live, map_voxel, map_centre)
        options = _scatter_options(factors, energy_resolution, energy_lower, energy_upper, tof_fwhm, spacing)
        found = struct(_abi.isoc_pet_scatter_found)
        self._run(lib.isoc_pet_scatter, ctypes.byref(options), self._in(image, "image"), self._in(efficiencies, "efficiencies"),
                  self._in(attenuation, "attenuation"), self._in(measured, "measured"), self._in(randoms, "randoms"), self._out(out, "additive"),
                  ctypes.byref(found))
        return out, ScatterFound._of(found)

    def scatter_memory(self, attenuation, *, energy_resolution=0.0, energy_lower=0.0, energy_upper=0.0, tof_fwhm=0.0, spacing=0.0, directions=0,
                       duration=0.0, branching=0.0, half_life=0.0, delay=0.0, live=0.0, map_voxel=None, map_centre=None):
        """(host, gpu): most bytes of working memory that `scatter` takes, as of `factors_memory`, with efficiencies, measured and randoms or without.
        `attenuation`, whose values tell at how many places photons are scattered, and `energy_resolution`, `energy_lower`, `energy_upper`,
        `tof_fwhm`, `spacing`, `directions`, `duration`, `branching`, `half_life`, `delay`, `live`, `map_voxel` and `map_centre`: as for `scatter`."""
        factors = _factor_options(directions, duration, branching, half_life, delay, live, map_voxel, map_centre)
        options = _scatter_options(factors, energy_resolution, energy_lower, energy_upper, tof_fwhm, spacing)
        return self._memory(lib.isoc_pet_scatter_memory, ctypes.byref(options), self._in(attenuation, "attenuation"))

    def phantom_image(self, bodies, quantity="activity", image=None):
        """The voxel means of a phantom: float32 (nz, ny, nx), returned.

        bodies: a list of Body. quantity: "activity" or "attenuation".
        """
        image = numpy.zeros(self.image_shape, "float32") if image is None else image
        bodies = _bodies(bodies)
        self._run(lib.isoc_pet_phantom_image, bodies, len(bodies), choice(_abi.PetQuantity, quantity, "quantity"),
                  self._out(image, "image"))
        return image

    def simulate(self, scan, events=None, *, activity=None, first_positions=None, second_positions=None, time_differences=None):
        """Simulates as many events as the arrays hold.

        Parameters
        ----------
        scan : Scan
        events : int, optional
            How many, where no arrays are given: these are then made, of float32.
        activity : array, optional
            float32 (nz, ny, nx) in the place of the bodies' activity.
        first_positions, second_positions, time_differences : array, optional
            Take the events, as `deposit` reads them.

        Returns
        -------
        first_positions, second_positions, time_differences, Tally
        """
        arrays = [first_positions, second_positions, time_differences]
        if events is not None:
            if any(a is not None for a in arrays):
                raise wrong(TypeError, "give events or arrays, not both")
            events = integer(events, "events")
            if events < 0:
                raise wrong(ValueError, f"events is {events}; it cannot be negative")
            arrays = [numpy.zeros(shape, "float32") for shape in ((events, 3), (events, 3), events)]
        elif any(a is None for a in arrays):
            raise wrong(TypeError, "give events, or all of first_positions, second_positions and time_differences")
        _check_lengths(*arrays)
        tally, (described, _keep) = struct(_abi.isoc_pet_tally), _scan(scan)
        names = ("first_positions", "second_positions", "time_differences")
        self._run(lib.isoc_pet_simulate, ctypes.byref(described), self._in(activity, "activity"),
                  *(self._out(array, name) for array, name in zip(arrays, names)), ctypes.byref(tally))
        return (*arrays, Tally._of(tally))

    def expect(self, scan, tally, *, activity=None, factors=None, additive=None):
        """What is expected of a simulated scan: with it, an image is in the phantom's unit of activity.

        Parameters
        ----------
        scan : Scan
        tally : Tally
            Of `simulate`; of several lists, the sum of each field.
        activity : array, optional
            As for `simulate`.
        factors, additive : array, optional
            float32 (views, nz, ny, nx), made if not given.

        Returns
        -------
        factors, additive
            As `reconstruct` takes them.
        """
        factors, additive = (numpy.zeros(self.histo_images_shape, "float32") if a is None else a for a in (factors, additive))
        described, _keep = _scan(scan)
        counted = struct(_abi.isoc_pet_tally, **Tally(*tally)._asdict())
        self._run(lib.isoc_pet_expect, ctypes.byref(described), self._in(activity, "activity"), ctypes.byref(counted),
                  self._out(factors, "factors"), self._out(additive, "additive"))
        return factors, additive

    def contrast_recovery(self, image, centres, ratio):
        """Mean over spheres of 10 mm of ((s - b) / b) / (ratio - 1); 1 is the true contrast.

        centres: (spheres, 3) of x, y, z in mm. ratio: the spheres' activity over the background's.
        """
        recovery, centres = ctypes.c_double(), numbers(centres, "centres", ndim=2, columns=3)
        self._run(lib.isoc_pet_contrast_recovery, self._in(image, "image"), address(centres), len(centres), real(ratio, "ratio"),
                  ctypes.byref(recovery))
        return recovery.value

    def noise(self, image):
        """Standard deviation of voxels over their mean in the central disc of 50 mm."""
        noise = ctypes.c_double()
        self._run(lib.isoc_pet_noise, self._in(image, "image"), ctypes.byref(noise))
        return noise.value

    @staticmethod
    def _dropped(found):
        return Dropped._of(found)

    @staticmethod
    def _factor_options(*given):
        return _factor_options(*given)


def block_crystals(*, blocks, across, along, diameter, pitch_across, block_rings=0, pitch_along=0.0, block_pitch=0.0, first_azimuth=0.0):
    """The crystals of a scanner whose flat blocks make rings about the z axis, as `PET.set_scanner` takes them. The middle of all is
    0, 0, 0.

    Parameters
    ----------
    blocks : int
        Blocks of a ring.
    across, along : int
        Crystals of a block, about the axis and along it.
    diameter : float
        Between faces of opposite blocks, mm. Where photons are detected some way behind the face, twice that way more.
    pitch_across : float
        From crystal to crystal about the axis, mm.
    block_rings : int
        Rings of blocks; 0 means 1.
    pitch_along : float
        From crystal to crystal along the axis, mm; 0 means as across.
    block_pitch : float
        From block to block along the axis, mm; 0: no gap.
    first_azimuth : float
        Azimuth of the middle of block 0, radians.

    Returns
    -------
    positions, normals : array
        float64 (crystals, 3) each: centres of the faces in mm, and unit vectors towards the axis. Crystal
        ``ring * (blocks * across) + block * across + place``: places rise with the azimuth, rings of crystals with z.

    Raises
    ------
    OutOfRangeError

    Examples
    --------
    >>> positions, normals = isocenter.block_crystals(blocks=38, across=16, along=16, block_rings=4, diameter=780, pitch_across=3.9)
    >>> pet.set_scanner(positions, normals, crystal_width=3.9, crystal_height=3.9, time_edges=numpy.linspace(-2000, 2000, 401))
    """
    described = struct(_abi.isoc_pet_blocks, blocks=blocks, block_rings=block_rings, across=across, along=along, diameter=diameter,
                       pitch_across=pitch_across, pitch_along=pitch_along, block_pitch=block_pitch, first_azimuth=first_azimuth)
    found = ctypes.c_int64()
    _call.invoke(lib.isoc_pet_block_crystals, ctypes.byref(described), None, None, 0, ctypes.byref(found))
    positions, normals = numpy.zeros((found.value, 3)), numpy.zeros((found.value, 3))
    _call.invoke(lib.isoc_pet_block_crystals, ctypes.byref(described), address(positions), address(normals), found.value, None)
    return positions, normals


def _chosen(views):
    if views is None:
        return None, 0
    chosen = numbers(views, "views", "int64")
    if not chosen.size:
        raise wrong(ValueError, "views is empty; None means all of them")
    return chosen, chosen.size


def _of_views(views, max_tilt):
    """Why a list of views may have tilts that are too large."""
    if not isinstance(views, numpy.ndarray):
        return ""
    azimuths, tilts = numpy.abs(views).T
    if azimuths.max() <= max_tilt:
        return ": write views[:, ::-1]"
    if tilts.max() > numpy.pi / 2 or numpy.deg2rad(tilts.max()) <= max_tilt and azimuths.max() > 2 * numpy.pi:
        return ": of degrees write numpy.deg2rad(views)"
    return ""


def _factor_options(directions, duration, branching, half_life, delay, live, map_voxel, map_centre):
    return struct(_abi.isoc_pet_factor_options, directions=directions, duration=duration, branching=branching, half_life=half_life, delay=delay, live=live,
                  **_placed(map_voxel, map_centre))


def _scatter_options(factors, energy_resolution, energy_lower, energy_upper, tof_fwhm, spacing):
    return struct(_abi.isoc_pet_scatter_options, factors=ctypes.pointer(factors), energy_resolution=energy_resolution, energy_lower=energy_lower,
                  energy_upper=energy_upper, tof_fwhm=tof_fwhm, spacing=spacing)


def _placed(map_voxel, map_centre):
    """Fields of a map's place."""
    return {f"{name}_{axis}": value for name, given in (("map_voxel", map_voxel), ("map_centre", map_centre))
            for axis, value in zip("xyz", _along_axes(given, name, name == "map_voxel"))}


def _along_axes(values, name, may_be_one):
    """A number along x, y and z each, 0 for None."""
    if values is None:
        return 0.0, 0.0, 0.0
    if may_be_one and numpy.ndim(values) == 0:
        return (real(values, name),) * 3
    three = numbers(values, name)
    if three.size != 3:
        raise wrong(ValueError, f"{name} has {three.size} numbers; it must have 3, along x, y and z{', or be one' * may_be_one}")
    return tuple(three)


def _check_lengths(first, second, times):
    """The library would blame the positions where the times are too few."""
    shapes = [tuple(getattr(array, "shape", ())) for array in (first, second, times)]
    if [shape[1:] for shape in shapes] == [(3,), (3,), ()] and all(shapes) and len({shape[0] for shape in shapes}) > 1:
        one, two, three = (shape[0] for shape in shapes)
        raise wrong(TensorShapeError, f"first_positions has {one} events, second_positions {two}, time_differences {three}; they must have "
                                      "as many")


def _whole(values, name):
    """Whole numbers, as uint32."""
    given = numpy.asarray(values)
    if given.dtype.kind not in "iub":
        raise wrong(TensorDtypeError, f"{name} is {given.dtype}; it must be of whole numbers")
    if given.size and (given.min() < 0 or given.max() >= 1 << 32):
        raise wrong(OutOfRangeError, f"{name} has {given.min() if given.min() < 0 else given.max()}; it must be at least 0, below 2**32")
    return numpy.ascontiguousarray(given, numpy.uint32)


def _check_signs(array, name):
    """Signed integers are NumPy's own, and bins and labels often have them: of no negative values they are the same bits."""
    called = dtype_name(array)
    if not called.startswith(("int", "uint64")) or not hasattr(array, "shape"):
        return
    # PyTorch and CuPy have views, too, PyTorch with dtypes of its own.
    module = type(array).__module__.partition(".")[0]
    view = {"int8": "uint8", "int16": "uint16", "int32": "uint32"}.get(called)
    hint = f"{name}.astype(numpy.uint32)"
    if called == "uint64":
        hint = f"{name}.to(torch.uint32)" if module == "torch" else hint
    elif view or module == "torch":
        hint = f"{name}.view({module}.{view})" if view else f"{name}.to(torch.uint32)"
    signed = "if no value is negative, " * called.startswith("int")
    raise wrong(TensorDtypeError, f"{name} is {called} where uint8, uint16 or uint32{' or a real type' * (name == 'times')} is needed: {signed}write {hint}")


def _check_numbers(crystals, times, labels):
    """The library would blame the crystals where the times are too few."""
    one, two, three = (tuple(getattr(array, "shape", ())) for array in (crystals, times, labels))
    if len(one) == 2 and one[1] == 2 and len(two) == 1 and (labels is None or len(three) == 1):
        if one[0] != two[0] or labels is not None and three[0] != two[0]:
            also = "" if labels is None else f", labels {three[0]}"
            raise wrong(TensorShapeError, f"crystals has {one[0]} events, times {two[0]}{also}; they must have as many")


def _doubt_first(crystals, count):
    """Of numbers from 1 the largest is one too large, and events of the last crystal alone are lost; all others are a crystal off."""
    if isinstance(crystals, numpy.ndarray) and crystals.size and crystals.min() > 0 and crystals.max() == count:
        warnings.warn(f"crystals run from {crystals.min()} to {count}, which there is not, as if they were counted from 1: if they are, write crystals - 1", stacklevel=3)


def _table(pairs):
    return None if pairs is None else numbers(pairs, "radial_table", ndim=2, columns=2)


def _bodies(bodies):
    bodies = [bodies] if isinstance(bodies, Body) else list(bodies)
    for k, b in enumerate(bodies):
        if not isinstance(b, Body):
            raise wrong(TypeError, f"bodies[{k}] is {type(b).__name__}; it must be an isocenter.Body")
    made = [struct(_abi.isoc_pet_body, **{**dataclasses.asdict(b), "shape": choice(_abi.PetShape, b.shape, f"bodies[{k}].shape")})
            for k, b in enumerate(bodies)]
    return (_abi.isoc_pet_body * len(made))(*made)


def _scan(scan):
    """The struct, and what it points at."""
    if not isinstance(scan, Scan):
        raise wrong(TypeError, f"scan is {type(scan).__name__}; it must be an isocenter.Scan")
    values = {field.name: getattr(scan, field.name) for field in dataclasses.fields(scan)}
    bodies, table = _bodies(values.pop("bodies")), _table(values.pop("radial_table"))
    attenuation = values.pop("attenuation")
    attenuation = None if attenuation is None else tensor(attenuation, "attenuation")
    values.update(_placed(values.pop("map_voxel"), values.pop("map_centre")))
    made = struct(_abi.isoc_pet_scan, body_count=len(bodies), radial_table_count=None if table is None else len(table),
                  radial_table=address(table), **values)
    made.bodies = bodies
    if attenuation is not None:
        made.attenuation = ctypes.cast(attenuation.pointer, ctypes.POINTER(_abi.isoc_tensor))
    return made, (bodies, table, attenuation)
