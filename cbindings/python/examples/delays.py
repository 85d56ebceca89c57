# %% [markdown]
# # Delays of gradients
# Gradients come a sample or so later than the trajectory has it, by a time that differs between axes. Here they are found from the samples of a radial and of a
# spiral scan themselves, and taken into the trajectory. The picture is written to `delays.png`.

# %%
import matplotlib.pyplot as plt
import numpy as np

import isocenter

SIDE, COILS, LATE = 96, 8, (1.5, 1.2)  # LATE: samples along x and y

# %% [markdown]
# ## Scans
# What the scanner was asked for is `course(0)`; along x samples are of `course(1.5)`, along y of `course(1.2)`.


# %%
def spokes(late, count=150, readout=192):
    angle, at = np.pi * np.arange(count)[:, None] / count, (np.arange(readout) - late - readout / 2) / readout
    return np.stack([at * np.cos(angle), at * np.sin(angle)], axis=-1)


def spiral(late, shots=24, readout=800):
    part = np.maximum((np.arange(readout) - late) / readout, 0)  # at rest, and slow at first, as gradients are
    radius = 0.51 * part**2 / (0.02 + part**1.5)
    angle = 2 * np.pi * (np.arange(shots)[:, None] / shots + SIDE / shots * radius)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def plan(k, coils=1):
    return isocenter.MRI(trajectory=k.reshape(-1, 2).clip(-0.5, 0.5), unit="cycles_per_voxel", nx=SIDE, ny=SIDE, coils=coils)


def measured(k):
    """Coils around a head; their sensitivities (1 + sin(pi d.r / SIDE)) / 2 are shifts in k-space, so that samples are exact."""
    head, out = isocenter.MRI.shepp_logan(0.42 * SIDE), []
    for turn in 2 * np.pi * np.arange(COILS) / COILS:
        shift = np.array([np.cos(turn), np.sin(turn)]) / (2 * SIDE)
        middle, up, down = (plan(k + way * shift).phantom_samples(head) for way in (0, -1, 1))
        out.append(middle / 2 + (up - down) / 4j)
    return np.array(out)


def image(k, samples):
    inside = (abs(k.reshape(-1, 2)) <= 0.5).all(axis=1)  # delays move some beyond the range
    with plan(k.reshape(-1, 2)[inside], COILS) as mri:
        mri.compute_weights()
        mri.set_options(iterations=10)
        return np.linalg.norm(mri.reconstruct(np.ascontiguousarray(samples[:, inside])), axis=0)


# %% [markdown]
# ## Found, and corrected

# %%
figure, places = plt.subplots(2, 3, figsize=(9, 6.3), layout="constrained")
for row, course in zip(places, (spokes, spiral)):
    asked, readout = course(0), course(0).shape[1]
    taken = np.stack([course(LATE[0])[..., 0], course(LATE[1])[..., 1]], axis=-1)
    samples, clean = measured(taken), measured(asked)
    noise = np.random.default_rng(0).standard_normal((2, *samples.shape)) * 3e-4 * abs(samples).max()
    samples = samples + noise[0] + 1j * noise[1]
    mri = plan(asked, COILS)
    found = mri.find_delays(samples, readout)
    print(f"{course.__name__}: {found.xx:.4f} +- {found.xx_error:.4f} along x, {found.yy:.4f} +- {found.yy_error:.4f} along y, confidence {found.confidence:.4f}")
    corrected = mri.delayed_trajectory(readout, found)
    images = [image(asked, clean), image(asked, samples), image(corrected, samples)]
    errors = [np.linalg.norm(i - images[0]) / np.linalg.norm(images[0]) for i in images]
    print(f"error {errors[1]:.3f} before, {errors[2]:.4f} after")
    assert abs(found.xx - LATE[0]) < 0.02 and abs(found.yy - LATE[1]) < 0.02 and errors[2] < 0.05
    titles = ("without delays", f"{LATE[0]} and {LATE[1]} samples late: error {errors[1]:.2f}", f"corrected: error {errors[2]:.3f}")
    for place, shown, title in zip(row, images, titles):
        place.imshow(shown, cmap="gray", vmin=0, vmax=1.2 * np.percentile(images[0], 98), origin="lower")
        place.set_title(f"{course.__name__}, {title}", fontsize=8)
        place.axis("off")
figure.savefig("delays.png", dpi=110)
