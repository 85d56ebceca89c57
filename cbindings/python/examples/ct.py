# %% [markdown]
# # Parallel-beam CT
# A phantom from its exact line integrals, beside the truth. With a measured scan, `DATA=scan.h5 python ct.py` (Data Exchange HDF5):
# flat fields, the rotation axis, and its slices. The picture is written to `ct.png`.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import isocenter

DATA = os.environ.get("DATA")  # a scan, or None for the phantom

# %% [markdown]
# ## The phantom
# Angles are in radians. Bins and pixels have their centres at whole numbers; the rotation axis is the middle of the detector,
# and of the slice, unless `axis`, `x_offset` and `y_offset` say otherwise.


# %%
def phantom():
    views, size = 804, 512
    with isocenter.CT(angles=np.arange(views) * np.pi / views, bins=size) as ct:
        ellipses = ct.shepp_logan(size / 2)
        sinogram = ct.phantom_projections(ellipses)[:, 0]  # (views, bins) of float32: a scanner's line integrals go here
        truth = ct.phantom_volume(ellipses)[0]
        slice_ = ct.reconstruct(sinogram)  # (size, size): attenuation a length unit
    skull = truth > 0
    print(f"mean in the head {slice_[skull].mean():.4f}, truth {truth[skull].mean():.4f}")

    _, axes = plt.subplots(1, 3, figsize=(15, 5), constrained_layout=True)
    for ax, image, title in ((axes[0], truth, "Truth"), (axes[1], slice_, f"From {views} views")):
        ax.imshow(image, cmap="gray", vmin=0, vmax=0.5)
        ax.set_title(title)
        ax.axis("off")
    row = int(0.75 * size)
    axes[1].axhline(row, color="tab:orange", linewidth=0.7)
    axes[2].plot(truth[row], color="black", label="truth")
    axes[2].plot(slice_[row], color="tab:orange", label="reconstruction", linewidth=0.9)
    axes[2].set(title=f"Row {row}", xlabel="column", ylabel="attenuation")
    axes[2].legend()


# %% [markdown]
# ## A measured scan
# Raw counts go in as they are, with `set_flat_field`; files often have them as floats, so `input="counts"` says what they are. The axis is found from views that
# oppose each other, and what stands out from noise in many views, which would become rings, is removed.


# %%
def measured(path):
    import h5py
    with h5py.File(path) as file:
        counts, flats, darks = (file[f"exchange/{name}"][:] for name in ("data", "data_white", "data_dark"))
        angles = np.deg2rad(file["exchange/theta"][:])
    views, rows, bins = counts.shape
    with isocenter.CT(angles=angles, bins=bins, rows=rows) as ct:
        ct.set_options(filter="parzen", padding="edge", input="counts")  # interpolation="band_limited" keeps finer detail
        ct.set_flat_field(flats, darks)
        ct.set_stripes()
        found = ct.find_axis(counts)
        axis = found.axis
        print(f"rotation axis at bin {axis:.2f} of {bins}, within {found.error:.2f}")
        side, off = bins, axis - (bins - 1) / 2  # the slice's centre stays that of the detector
        if found.half_acquisition:  # the field is the larger part of the detector, on both sides of the axis
            ct.set_half_acquisition()
            side, off = 2 * int(np.ceil(max(axis, bins - 1 - axis))), 0.0
        ct.set_geometry(angles=angles, bins=bins, rows=rows, axis=axis, nx=side, ny=side, x_offset=off, y_offset=off)  # the flat field stays
        volume = ct.reconstruct(counts)
    low, high = np.percentile(volume, (1, 99.8))
    _, axes = plt.subplots(1, min(rows, 4), figsize=(6 * min(rows, 4), 6), constrained_layout=True, squeeze=False)
    for ax, k in zip(axes[0], np.linspace(0, rows - 1, min(rows, 4)).astype(int)):
        ax.imshow(volume[k], cmap="gray", vmin=low, vmax=high)
        ax.set_title(f"Slice {k}: axis at bin {axis:.2f}, {views} views")
        ax.axis("off")


# %%
measured(DATA) if DATA else phantom()
plt.savefig("ct.png", dpi=100)
print("picture: ct.png")
