# %% [markdown]
# # Non-Cartesian MRI
# A radial scan of a phantom, by gridding and by conjugate gradient. With a measured scan, `DATA=folder python mri.py`: the folder has
# `kspace.npy`, `trajectory_cycles_per_fov.npy` or `trajectory_cycles_per_pixel.npy`, and perhaps `sensitivities.npy`. The picture is
# written to `mri.png`.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import isocenter

DATA = os.environ.get("DATA")  # a folder, or None for the phantom

# %% [markdown]
# ## The phantom
# The trajectory is (samples, 2), x first; its unit has to be named. The solver's Q depends on trajectory and weights alone: one
# plan serves every scan of them.


# %%
def phantom():
    size, spokes, readout = 256, 101, 512
    angle, along = np.arange(spokes) * np.pi / spokes, (np.arange(readout) - readout / 2) / readout
    k = np.stack([np.outer(np.cos(angle), along), np.outer(np.sin(angle), along)], axis=-1).reshape(-1, 2)
    mri = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=size, ny=size)
    head = mri.shepp_logan(size / 2)
    samples, truth = mri.phantom_samples(head), mri.phantom_image(head)  # complex64: a scanner's samples go here
    rng, noise = np.random.default_rng(0), 0.003 * np.sqrt(np.mean(np.abs(samples) ** 2))
    samples += (noise * (rng.standard_normal(len(k)) + 1j * rng.standard_normal(len(k)))).astype(np.complex64)

    mri.compute_weights("radial", readout)
    gridded = mri.gridding(samples)
    mri.set_options(iterations=15, penalty="differences", lambda_=1e-3)
    solved = mri.reconstruct(samples)
    shown = [("Truth", truth)]
    for name, image in (("Gridding", gridded), ("Conjugate gradient", solved)):
        psnr, percent = mri.compare(image, truth)
        print(f"{name}: PSNR {psnr:.1f} dB, error {percent:.1f} %")
        shown.append((f"{name}: {psnr:.1f} dB", image))
    print("residuals:", " ".join(f"{r:.1e}" for r in mri.history()[::5]))
    show(shown, 1.8)


# %% [markdown]
# ## A measured scan
# Where there are coil sensitivities, all coils see one image; else each has its own, and they are joined by the root of their
# sum of squares.


# %%
def measured(folder):
    folder = Path(folder)
    samples = np.load(folder / "kspace.npy")
    name, unit = "trajectory_cycles_per_fov.npy", "cycles_per_field_of_view"
    if not (folder / name).exists():
        name, unit = "trajectory_cycles_per_pixel.npy", "cycles_per_voxel"
    k = np.load(folder / name)
    coils, readout = len(samples), samples.shape[-1] if samples.ndim == 3 else 0
    samples, k = samples.reshape(coils, -1), k.reshape(-1, k.shape[-1])
    maps = np.load(folder / "sensitivities.npy") if (folder / "sensitivities.npy").exists() else None
    # Scanners sample a spoke twice as finely as needed: the field of view is twice the image.
    shape = maps.shape[1:] if maps is not None else (readout // 2,) * k.shape[1]
    mri = isocenter.MRI(trajectory=k, unit=unit, nx=shape[-1], ny=shape[-2], nz=shape[0] if len(shape) == 3 else 1, coils=coils)
    if maps is not None:
        mri.set_maps(maps)
    mri.compute_weights(*(("radial", readout) if readout else ("iterative",)))
    gridded = mri.gridding(samples)
    mri.set_options(iterations=15)
    solved = mri.reconstruct(samples)
    print(f"{coils} coils, {k.shape[0]} samples, image {shape}, residual {mri.history()[-1]:.3f}")
    shown = []
    for name, image in (("Gridding", gridded), ("Conjugate gradient, 15 iterations", solved)):
        image = np.abs(image) if maps is not None else np.sqrt(np.sum(np.abs(image) ** 2, axis=0))
        if image.ndim == 3:  # four slices side by side
            image = np.hstack(image[np.linspace(len(image) // 4, 3 * len(image) // 4, 4).astype(int)])
        shown.append((name, image))
    show(shown, np.percentile(shown[-1][1], 99.8))


def show(images, high):
    wide = images[0][1].shape[1] > 2 * images[0][1].shape[0]
    grid = (len(images), 1) if wide else (1, len(images))
    _, axes = plt.subplots(*grid, figsize=(5 * grid[1] + 7 * wide, (3 if wide else 5) * grid[0] + 0.3), constrained_layout=True)
    for ax, (title, image) in zip(axes, images):
        ax.imshow(np.abs(image), cmap="gray", vmin=0, vmax=high, origin="lower")
        ax.set_title(title)
        ax.axis("off")


# %%
measured(DATA) if DATA else phantom()
plt.savefig("mri.png", dpi=100)
print("picture: mri.png")
