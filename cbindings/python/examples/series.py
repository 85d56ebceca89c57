# %% [markdown]
# # A series from one radial scan
# After an inversion, tissues recover at rates of their own while spokes of golden angles are taken. Images at any time come from windows of spokes, or from
# all of them by a subspace: a few images, of which each time is a sum. The picture is written to `series.png`.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import isocenter

SIDE, READOUT, SPOKES, COILS, RANK = 128, 256, 300, 4, 3
WINDOW, STEP = 30, 15  # spokes

# %% [markdown]
# ## A phantom that recovers
# A body with six tubes, each with a T1 of its own; a spoke is taken every 10 ms.

# %%
angles = np.arange(SPOKES) * np.pi * (np.sqrt(5) - 1) / 2
along = (np.arange(READOUT) - READOUT / 2) / READOUT
k = (np.stack([np.cos(angles), np.sin(angles)], 1)[:, None] * along[:, None]).reshape(-1, 2)
seconds = 0.01 * np.arange(SPOKES)
y, x = (np.mgrid[:SIDE, :SIDE] - SIDE // 2) / SIDE
maps = np.stack([np.exp(-2 * ((x - np.cos(a) / 2)**2 + (y - np.sin(a) / 2)**2) + 1j * a) for a in 2 * np.pi * np.arange(COILS) / COILS])
maps = (maps / np.sqrt((abs(maps)**2).sum(0))).astype(np.complex64)



def recovery(t1):
    return 1 - 2 * np.exp(-seconds / t1)


mri = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=SIDE, ny=SIDE)
tubes = {t1: (0.25 * SIDE * np.cos(a), 0.25 * SIDE * np.sin(a)) for t1, a in zip((0.25, 0.4, 0.6, 0.9, 1.3, 1.8), np.pi / 3 * np.arange(6))}
# Value, middle and semi-axes along x, y, z in voxels, angle. What a tube adds is its own curve in place of the body's.
body = mri.phantom_image([[1, 0, 0, 0, 0.42 * SIDE, 0.42 * SIDE, 1, 0]])
inside = [mri.phantom_image([[1, x0, y0, 0, 0.09 * SIDE, 0.09 * SIDE, 1, 0]]) for x0, y0 in tubes.values()]
parts, curves = [body, *inside], [recovery(0.7), *(recovery(t1) - recovery(0.7) for t1 in tubes)]


mri.set_geometry(trajectory=k, unit="cycles_per_voxel", nx=SIDE, ny=SIDE, coils=COILS)
mri.set_maps(maps)
samples = sum(mri.forward(part) * np.repeat(curve, READOUT) for part, curve in zip(parts, curves)).astype(np.complex64)
noise = np.random.default_rng(0).standard_normal((2, *samples.shape))
samples += (0.5 * (noise[0] + 1j * noise[1])).astype(np.complex64)

# %% [markdown]
# ## A sliding window
# Thirty spokes an image, fifteen apart: what recovers within a window is averaged, and few spokes leave streaks.

# %%
mri.set_windows(WINDOW * READOUT, STEP * READOUT)
mri.compute_weights("radial", READOUT)
mri.set_options(iterations=15, lambda_=1e-3)
start = time.perf_counter()
windows = mri.reconstruct(samples)
print(f"{len(windows)} windows of {WINDOW} spokes: {time.perf_counter() - start:.2f} s")
mri.set_frames(None, None)

# %% [markdown]
# ## A subspace
# All recoveries of T1 between 0.2 s and 2 s lie near a space of three curves, the first principal components of a dictionary. The scan is of three images,
# their coefficients, and all spokes see them.

# %%
dictionary = np.stack([recovery(t1) for t1 in np.linspace(0.2, 2, 200)], 1)
basis = np.linalg.svd(dictionary, full_matrices=False)[0][:, :RANK]
mri.set_basis(basis, np.repeat(np.arange(SPOKES), READOUT))
mri.compute_weights("radial", READOUT)
mri.set_options(iterations=40, lambda_=1e-4)
start = time.perf_counter()
coefficients = mri.reconstruct(samples)
print(f"{RANK} images for {SPOKES} times: {time.perf_counter() - start:.2f} s, F^H W F by {mri.info().normal_terms} convolutions")

# %% [markdown]
# ## Beside what it should be

# %%
shown = [1, 3, 9]  # windows
figure, axes = plt.subplots(3, len(shown), figsize=(9, 9), layout="constrained")
for column, f in zip(axes.T, shown):
    spoke = f * STEP + WINDOW // 2
    truth = sum(part * curve[spoke] for part, curve in zip(parts, curves)).real
    images = {"truth": truth, f"window of {WINDOW} spokes": windows[f].real, f"subspace of {RANK}": (basis[spoke] @ coefficients.reshape(RANK, -1)).reshape(SIDE, SIDE).real}
    for axis, (name, image) in zip(column, images.items()):
        error = np.linalg.norm(image - truth) / np.linalg.norm(truth)
        axis.imshow(image, cmap="gray", vmin=-1, vmax=1)
        axis.set_title(f"{name}, {seconds[spoke]:.2f} s" + (f": {100 * error:.1f} %" if error else ""), fontsize=9)
        axis.axis("off")
        print(f"{seconds[spoke]:.2f} s, {name}: error {100 * error:.1f} %")
figure.savefig("series.png", dpi=72)
