"""Geometries of other packages as keywords of `CT` and `CT.set_geometry`."""
import numpy

from .errors import wrong


def from_astra(proj_geom, vol_geom):
    """The geometry of an ASTRA scan and volume.

    Parameters
    ----------
    proj_geom : dict
        "parallel", "parallel_vec", "parallel3d" or "parallel3d_vec", of astra.create_proj_geom.
    vol_geom : dict
        Of astra.create_vol_geom: of two dimensions with the first two, of three with the others.

    Returns
    -------
    dict
        Keywords: ``CT(**from_astra(proj_geom, vol_geom))``. Arrays keep ASTRA's layout: sinograms (views, bins) and slices
        (rows, columns), or (rows, views, columns) and (slices, rows, columns). Line integrals are in ASTRA's length unit.

    Raises
    ------
    ValueError
        Where the geometry has no parallel equal: a fan or cone; vectors whose bin pitch changes between views or that tilt or
        raise the detector; pixels that are not square; slices that do not lie on detector rows.

    Notes
    -----
    ASTRA's slices of two dimensions have y upwards, as here; those of three have y downwards, so that angles change their sign.
    Vectors may move the detector: each view then has a rotation axis of its own.
    """
    kind = proj_geom.get("type") if isinstance(proj_geom, dict) else None
    if kind not in ("parallel", "parallel_vec", "parallel3d", "parallel3d_vec"):
        raise wrong(ValueError, f"proj_geom is of type {kind!r}; only parallel, parallel_vec, parallel3d and parallel3d_vec are "
                                "parallel beams")
    solid = kind.startswith("parallel3d")
    if solid != ("GridSliceCount" in vol_geom):
        raise wrong(ValueError, f"proj_geom is of type {kind!r}, vol_geom of {2 + (not solid)} dimensions")
    window = vol_geom["option"]
    nx, ny = vol_geom["GridColCount"], vol_geom["GridRowCount"]
    pixel, middle = _side(window, "X", nx), _middle(window, "X")
    if not numpy.isclose(_side(window, "Y", ny), pixel, rtol=1e-9):
        raise wrong(ValueError, f"pixels are {pixel} by {_side(window, 'Y', ny)}; they must be square")
    bins = proj_geom["DetectorColCount"] if solid else proj_geom["DetectorCount"]
    if "Vectors" in proj_geom:
        angles, pitch, axis, height, spacing = _vectors(numpy.asarray(proj_geom["Vectors"], float), bins, solid)
    else:
        angles, axis, height = numpy.asarray(proj_geom["ProjectionAngles"], float), None, 0.0
        pitch = proj_geom["DetectorSpacingX"] if solid else proj_geom["DetectorWidth"]
        spacing = proj_geom.get("DetectorSpacingY")
    # Rows of a slice go down, y goes up; in ASTRA's slices of three dimensions rows go with y.
    up = -1 if solid else 1
    made = {"angles": up * angles, "bins": bins, "bin_pitch": pitch, "pixel_size": pixel, "nx": nx, "ny": ny,
            "x_offset": -middle / pixel, "y_offset": up * _middle(window, "Y") / pixel}
    if axis is not None:
        made["axis"] = axis
    if solid:
        made.update(order="sinograms", **_rows(proj_geom, vol_geom, spacing, height))
    return made


def _side(window, axis, count):
    return (window[f"WindowMax{axis}"] - window[f"WindowMin{axis}"]) / count


def _middle(window, axis):
    return (window[f"WindowMax{axis}"] + window[f"WindowMin{axis}"]) / 2


def _vectors(vectors, bins, solid):
    """Angles, bin pitch, axis of each view, height of the detector's middle, and row spacing: a point x meets the detector,
    with ray r, middle d and bin vector u, at the bin s from the middle where ((x - d) - s u) is along r."""
    if solid:
        ray, centre, across, up = vectors[:, 0:3], vectors[:, 3:6], vectors[:, 6:9], vectors[:, 9:12]
        size = numpy.abs(vectors).max()
        if max(numpy.abs(ray[:, 2]).max(), numpy.abs(across[:, 2]).max(), numpy.abs(up[:, :2]).max()) > 1e-9 * size:
            raise wrong(ValueError, "a view's rays or bins leave the plane of its slice, or its rows are tilted: that is no stack of slices")
        if numpy.ptp(centre[:, 2]) > 1e-9 * size or numpy.ptp(up[:, 2]) > 1e-9 * size:
            raise wrong(ValueError, "the detector moves along the axis, or its rows' spacing changes, between views")
        height, spacing = centre[0, 2], up[0, 2]
    else:
        ray, centre, across, height, spacing = vectors[:, 0:2], vectors[:, 2:4], vectors[:, 4:6], 0.0, None
    normal = numpy.stack([-ray[:, 1], ray[:, 0]], axis=1) / numpy.hypot(ray[:, 0], ray[:, 1])[:, None]
    pitch = numpy.sum(across[:, :2] * normal, axis=1)
    normal *= numpy.sign(pitch)[:, None]
    pitch = numpy.abs(pitch)
    if not numpy.all(pitch > 0) or numpy.ptp(pitch) > 1e-9 * pitch.max():
        raise wrong(ValueError, "the distance between neighbouring rays, across them, changes between views; one bin pitch is needed")
    axis = (bins - 1) / 2 - numpy.sum(centre[:, :2] * normal, axis=1) / pitch
    return numpy.arctan2(normal[:, 1], normal[:, 0]), float(pitch[0]), axis, height, spacing


def _rows(proj_geom, vol_geom, spacing, height):
    """Slice z lies at the height of detector row first_row + z."""
    rows, slices, window = proj_geom["DetectorRowCount"], vol_geom["GridSliceCount"], vol_geom["option"]
    side = _side(window, "Z", slices)
    if not numpy.isclose(side, spacing, rtol=1e-9):
        raise wrong(ValueError, f"slices are {side} apart, detector rows {spacing}; they must lie on each other")
    first = (window["WindowMinZ"] - height) / spacing + rows / 2
    if abs(first - round(first)) > 1e-6 or round(first) < 0 or round(first) + slices > rows:
        raise wrong(ValueError, f"the first slice lies at detector row {first:g} of {rows}, the last at {first + slices - 1:g}; they must "
                                "be rows of the detector")
    return {"rows": rows, "first_row": round(first), "slices": slices}


def from_tomopy(theta, center=None, *, bins, rows=1, sinogram_order=False, algorithm="gridrec", num_gridx=None, num_gridy=None):
    """The geometry of tomopy.recon(tomo, theta, center, sinogram_order, algorithm), whose slices have the same pixels.

    Parameters
    ----------
    theta : sequence of float
        Angles in radians.
    center : float, optional
        The rotation axis, as TomoPy counts; None is TomoPy's default, half the number of bins.
    bins, rows : int
        Of the detector: tomo is (views, rows, bins), or (rows, views, bins) with sinogram_order.
    sinogram_order : bool
    algorithm : str
        "gridrec", or one of those that share TomoPy's ray tracer ("fbp", "art", "sirt", "mlem", ...): they put the axis elsewhere.
    num_gridx, num_gridy : int, optional
        Pixels of a slice; None means bins.

    Returns
    -------
    dict
        Keywords: ``CT(**from_tomopy(theta, center, bins=bins))``.

    Notes
    -----
    gridrec: `center` is a bin counted from 0 at its middle, and the axis passes through column (n + 1) // 2 and row
    n - 1 - (n + 1) // 2 of a slice of n. The ray tracer: `center` counts from the outer edge of bin 0, which is half a bin more, and
    the axis passes through the middle of the slice. TomoPy's values are attenuation per bin; here, with bin_pitch 1, too.
    TomoPy's default for gridrec lies half a bin beside the detector's middle.
    """
    center = bins / 2 if center is None else numpy.unique(numpy.asarray(center, float))
    if numpy.size(center) != 1:
        raise wrong(ValueError, "center has one value for each row; one plan has one axis for all: make a plan for each")
    center, nx, ny = float(numpy.ravel(center)[0]), num_gridx or bins, num_gridy or bins
    made = {"angles": numpy.asarray(theta, float), "bins": bins, "rows": rows, "nx": nx, "ny": ny,
            "order": "sinograms" if sinogram_order else "frames"}
    if algorithm != "gridrec":
        return {**made, "axis": center - 0.5}
    column, row = (nx + 1) // 2, ny - 1 - (ny + 1) // 2
    return {**made, "axis": center, "x_offset": column - (nx - 1) / 2, "y_offset": row - (ny - 1) / 2}
