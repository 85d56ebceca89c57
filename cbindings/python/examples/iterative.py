# %% [markdown]
# # CT from few views
# A slice from 30 views by filtered back projection, SIRT, CGLS and total variation, beside what it should be: a phantom with noise and the truth; or, with
# `DATA=scan.h5 python iterative.py` (Data Exchange HDF5), a measured scan and its slice from all views. The picture is written to
# `iterative.png`.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import isocenter

DATA = os.environ.get("DATA")  # a scan, or None for the phantom
VIEWS = 30
NOISE = 0.02 if DATA else 0.011  # of the line integrals

# %% [markdown]
# ## A phantom with noise
# Line integrals of a phantom as a detector with 20000 photons a bin measures them.


# %%
def phantom():
    size = 256
    angles = np.arange(VIEWS) * np.pi / VIEWS
    ct = isocenter.CT(angles=angles, bins=size)
    body = ct.shepp_logan(0.45 * size) * [0.02, 1, 1, 1, 1, 1]
    photons = np.random.default_rng(0).poisson(2e4 * np.exp(-ct.phantom_projections(body).astype(float)))
    ct.set_flat_field(np.full((1, size), 2e4, np.float32))
    ct.set_options(input="counts")
    return ct, {"input": "counts"}, photons.astype(np.float32), "Truth", ct.phantom_volume(body)[0]


# %% [markdown]
# ## A measured scan
# The axis is found from all views; then 30 of them are kept, evenly spread, and one row.


# %%
def measured(path):
    import h5py
    with h5py.File(path) as file:
        counts, flats, darks = (file[f"exchange/{name}"][:] for name in ("data", "data_white", "data_dark"))
        angles = np.deg2rad(file["exchange/theta"][:])
    row = slice(counts.shape[1] // 2, counts.shape[1] // 2 + 1)
    counts, flats, darks = (np.ascontiguousarray(frames[:, row]) for frames in (counts, flats, darks))
    views, _, bins = counts.shape
    options = {"input": "counts", "padding": "edge"}
    ct = isocenter.CT(angles=angles, bins=bins)
    ct.set_options(**options)
    ct.set_flat_field(flats, darks)
    axis = ct.find_axis(counts).axis
    off = axis - (bins - 1) / 2  # the slice's centre stays that of the detector
    ct.set_geometry(angles=angles, bins=bins, axis=axis, x_offset=off, y_offset=off)
    full = ct.reconstruct(counts)[0]
    few = np.linspace(0, views, VIEWS, endpoint=False).astype(int)
    ct.set_geometry(angles=angles[few], bins=bins, axis=axis, x_offset=off, y_offset=off)  # the flat field stays
    return ct, options, np.ascontiguousarray(counts[few]), f"{views} views, filtered back projection", full


# %% [markdown]
# ## The same views by four methods
# Few iterations of CGLS stop before noise is fitted; SIRT keeps values at 0 or above, which few views need most. Total variation goes by
# the noise: half of its standard deviation, times the square root of the number of views.


# %%
ct, options, counts, name, reference = measured(DATA) if DATA else phantom()
found = {name: reference}
WEIGHT = 0.5 * NOISE * np.sqrt(VIEWS)
METHODS = {"fbp": {}, "sirt": {"iterations": 20, "subsets": 5, "bounds": "non_negative"}, "cgls": {"iterations": 12},
           "total_variation": {"iterations": 1000, "regularisation": WEIGHT, "bounds": "non_negative", "tolerance": 1e-3}}
for algorithm, iterative in METHODS.items():
    ct.set_options(algorithm=algorithm, **options)
    ct.set_iterative(**iterative)
    found[f"{VIEWS} views, {algorithm}"] = ct.reconstruct(counts)[0]
    if iterative:
        first, *_, last = ct.history()
        print(f"{algorithm}: {last.iteration} iterations, the objective {last.objective / first.objective:.2g} of the first that was seen")
inside = np.hypot(*(np.indices(reference.shape) - (len(reference) - 1) / 2)) < 0.45 * len(reference)
low, high = (0.0, 1.4 * 0.02 * 0.5) if not DATA else np.percentile(reference, (1, 99.8))
_, axes = plt.subplots(1, 5, figsize=(25, 5.4), constrained_layout=True)
for ax, (title, image) in zip(axes.flat, found.items()):
    error = np.sqrt(np.mean((image - reference)[inside] ** 2) / np.mean(reference[inside] ** 2))
    ax.imshow(image, cmap="gray", vmin=low, vmax=high)
    ax.set_title(title if image is reference else f"{title}: {100 * error:.0f} % off")
    ax.axis("off")
    print(f"{title}: {100 * error:.1f} % off")
plt.savefig("iterative.png", dpi=100)
print("picture: iterative.png")
