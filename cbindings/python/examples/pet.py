# %% [markdown]
# # DIRECT time-of-flight PET
# Simulates list-mode events of a cylinder of water with six small hot spheres, deposits them into histo-images, and reconstructs
# them with the response that the scanner has, and with one of half its width. The picture is written to `pet.png`.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import isocenter

EVENTS = int(float(os.environ.get("COUNTS", 4e6)))

# %% [markdown]
# ## Phantom and scanner
# Millimetres and picoseconds. Where bodies overlap, their values add: a sphere of four times the activity holds 3 more.

# %%
RATIO, AROUND = 4.0, 60.0
angles = np.arange(6) * np.pi / 3
centres = np.stack([AROUND * np.cos(angles), AROUND * np.sin(angles), np.zeros(6)], axis=1)
bodies = [isocenter.Body("cylinder", half_x=110.0, half_z=24.0, activity=1.0, attenuation=0.0096)]
bodies += [isocenter.Body("ellipsoid", *centre, half_x=5.0, activity=RATIO - 1) for centre in centres]
response = {"tof_fwhm": 300.0, "radial_fwhm": 5.8, "axial_fwhm": 5.8}
scan = isocenter.Scan(bodies, randoms=0.2, scatter=0.15, seed=1, **response)

pet = isocenter.PET(nx=80, ny=80, nz=16, voxel_x=3.0, azimuths=20, tilts=3, max_tilt=np.deg2rad(10))
pet.set_response(**response)

# %% [markdown]
# ## Events, and what is expected of them
# `simulate` stands for the scanner: its events are pairs of positions and a time difference. `factors` hold attenuation and
# normalisation, `additive` scatter and randoms.

# %%
first, second, times, tally = pet.simulate(scan, EVENTS)
measured = np.zeros(pet.histo_images_shape, np.uint32)
dropped = pet.deposit(first, second, times, measured)
factors, additive = pet.expect(scan, tally)
print(f"{EVENTS} events: {tally.trues} trues, {tally.scatter} scatter, {tally.randoms} randoms; {dropped.events} outside")

# %% [markdown]
# ## Reconstruction
# Passes one by one, each from the image of the one before, to see contrast and noise grow.

# %%
curves, images = {}, {}
for name, width in (("5.8 mm, as the scanner", 5.8), ("2.9 mm", 2.9)):
    pet.set_response(**{**response, "radial_fwhm": width, "axial_fwhm": width})
    image, curve = None, []
    for k in range(7):
        pet.set_options(algorithm="ramla", iterations=1, first_iteration=k, warm_start=k > 0, relaxation=0.5)
        image = pet.reconstruct(measured, factors, additive, image)
        curve.append((100 * pet.noise(image), 100 * pet.contrast_recovery(image, centres, RATIO)))
    curves[name], images[name] = np.array(curve), image
    print(f"response of {name}: contrast recovery {curve[-1][1]:.0f} %, noise {curve[-1][0]:.1f} %")

# %%
truth = pet.phantom_image(bodies)
middle = pet.image_shape[0] // 2
_, axes = plt.subplots(1, 4, figsize=(20, 5), constrained_layout=True)
for ax, (title, image) in zip(axes, [("Activity", truth), *((f"Response of {n}", i) for n, i in images.items())]):
    ax.imshow(image[middle], cmap="magma", vmin=0, vmax=RATIO, origin="lower")  # y upwards
    ax.set_title(title)
    ax.axis("off")
for name, curve in curves.items():
    axes[3].plot(*curve.T, marker="o", label=name)
axes[3].set(title="Contrast against noise, by passes", xlabel="noise, %", ylabel="contrast recovery, %")
axes[3].legend()
plt.savefig("pet.png", dpi=100)
print("picture: pet.png")
