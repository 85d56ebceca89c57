# %% [markdown]
# # Raw MRI data
# From an ISMRMRD file of several coils to a sharp image: noise is whitened, coils are joined to fewer virtual ones, their sensitivities
# are found from the middle of k-space, and conjugate gradient solves for the one image that all of them saw. With a measured scan,
# `DATA=scan.h5 python raw.py`; without, a scan of a phantom is simulated and written first. The picture is written to `raw.png`.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import isocenter
import isocenter.raw

DATA = os.environ.get("DATA")  # an ISMRMRD file, or None for the phantom
UNIT = os.environ.get("UNIT") or None  # of its trajectory, where more than one fits: see isocenter.raw.UNITS
SIZE, SPOKES, READOUT, COILS, FIELD = 192, 48, 384, 8, 240.0  # of the phantom; the field of view in mm

# %% [markdown]
# ## A phantom's scan
# Of the 302 spokes that would fill k-space there are 48. A coil's sensitivity is
# (1 + sin(pi d.r / field of view)) / 2, greatest where the coil is, in direction d; sines are shifts in k-space, so that samples are exact.


# %%
def plan(k):
    return isocenter.MRI(trajectory=k.reshape(-1, 2), unit="cycles_per_voxel", nx=SIZE, ny=SIZE)


def direction(coil):
    return np.array([np.cos(2 * np.pi * coil / COILS), np.sin(2 * np.pi * coil / COILS)])


def sensitivities():
    y, x = (np.mgrid[:SIZE, :SIZE] - SIZE // 2) / SIZE
    return np.stack([(1 + np.sin(np.pi * (direction(c)[0] * x + direction(c)[1] * y))) / 2 for c in range(COILS)])


def simulate(path):
    """Writes a radial scan with a noise measurement: an ISMRMRD file as a converter of a scanner's format makes it."""
    import h5py
    import ismrmrd
    import ismrmrd.xsd as xsd

    angle, along = np.arange(SPOKES) * np.pi / SPOKES, 0.98 * (np.arange(READOUT) - READOUT / 2) / READOUT
    k = np.stack([np.outer(np.cos(angle), along), np.outer(np.sin(angle), along)], axis=-1)  # (spokes, readout, 2), cycles per voxel
    head, samples = isocenter.MRI.shepp_logan(SIZE / 2), np.empty((COILS, SPOKES, READOUT), np.complex64)
    for c in range(COILS):
        shift = direction(c) / (2 * SIZE)
        middle, up, down = (plan(k + way * shift).phantom_samples(head) for way in (0, -1, 1))
        samples[c] = (middle / 2 + (up - down) / 4j).reshape(SPOKES, READOUT)
    rng = np.random.default_rng(0)
    mixing = np.eye(COILS) + 0.4 * rng.standard_normal((COILS, COILS))  # coils share noise
    mixing *= 0.003 * np.sqrt(np.mean(np.abs(samples) ** 2)) / np.sqrt(np.mean(mixing ** 2) * COILS)

    def noise(n):
        return mixing @ (rng.standard_normal((COILS, n)) + 1j * rng.standard_normal((COILS, n)))

    def space(matrix, field):
        return xsd.encodingSpaceType(matrixSize=xsd.matrixSizeType(x=matrix, y=matrix, z=1), fieldOfView_mm=xsd.fieldOfViewMm(x=field, y=field, z=5.0))

    header = xsd.ismrmrdHeader(
        experimentalConditions=xsd.experimentalConditionsType(H1resonanceFrequency_Hz=63_500_000),
        encoding=[xsd.encodingType(encodedSpace=space(2 * SIZE, 2 * FIELD), reconSpace=space(SIZE, FIELD),  # a readout of twice the field of view
                                   encodingLimits=xsd.encodingLimitsType(), trajectory=xsd.trajectoryType.RADIAL)])
    readouts = [ismrmrd.Acquisition.from_array(noise(2048).astype(np.complex64))]
    readouts[0].setFlag(ismrmrd.ACQ_IS_NOISE_MEASUREMENT)
    for spoke in range(SPOKES):
        readouts.append(ismrmrd.Acquisition.from_array((samples[:, spoke] + noise(READOUT)).astype(np.complex64), k[spoke].astype(np.float32)))
    for readout in readouts:
        readout.sample_time_us = 5.0
        readout.read_dir[:], readout.phase_dir[:], readout.slice_dir[:] = (1, 0, 0), (0, -1, 0), (0, 0, -1)  # the phantom's front is at high y
    with h5py.File(path, "w") as file:
        folder = file.create_group("dataset")
        folder.create_dataset("xml", data=[xsd.ToXML(header).encode()], dtype=h5py.special_dtype(vlen=bytes))
        folder.create_dataset("data", data=np.array([ismrmrd.file.Acquisitions.to_numpy(r) for r in readouts], ismrmrd.hdf5.acquisition_dtype))


# %% [markdown]
# ## The file
# What it has; the noise that coils share; and one call for all steps.

# %%
if not DATA:
    simulate("phantom.h5")
raw = isocenter.raw.read(DATA or "phantom.h5")
print(raw)
if raw.noise is not None:
    shared = np.corrcoef(raw.noise)
    print(f"noise of coils is correlated by up to {np.abs(shared - np.diag(np.diag(shared))).max():.2f}")
made = isocenter.raw.reconstruct(raw, unit=UNIT)
print(f"images {made.images.shape} of " + " x ".join(f"{v:.3g}" for v in made.voxel[::-1]) + f" mm, {made.virtual_coils} virtual coils with "
      f"{100 * made.energy:.2f} % of the energy, maps from {made.calibration} lines, residual {made.residual:.2g}")

# %% [markdown]
# ## Without sensitivities
# Each coil's image by gridding, and the root of the sum of their squares: what undersampling does is not taken out.


# %%
def gridded(raw):
    """The first frame: its middle slice, or its volume."""
    readouts = raw.select(slice=raw.counters["slice"][len(raw.counters["slice"]) // 2], unit=UNIT, **raw.frames()[0])
    nz, ny, nx = readouts.grid
    with isocenter.MRI(trajectory=readouts.trajectory, unit=readouts.unit, nx=nx, ny=ny, nz=nz, coils=raw.coils) as mri:
        mri.compute_weights()
        images = mri.gridding(readouts.samples if raw.coils > 1 else readouts.samples[0]).reshape(raw.coils, nz, ny, nx)
    return np.sqrt(np.sum(np.abs(images) ** 2, axis=0))


apart = gridded(raw)
apart = apart[len(apart) // 2]
joined = np.abs(made.images[0, made.images.shape[1] // 2])

# %% [markdown]
# ## Pictures
# As radiologists see them: the patient's right on the left, the front or the head on top. In the phantom's file y goes to the front, so
# that rows are turned. Of the phantom the truth is known, and so is how its coils shade it.

# %%
shown = [("Gridding, sum of squares", apart), ("SENSE", joined)]
if not DATA:
    flat = plan(np.zeros((1, 2)))
    truth = flat.phantom_image(flat.shepp_logan(SIZE / 2))
    whitened = isocenter.coil_whitening(raw.noise) @ sensitivities().reshape(COILS, -1)
    shading = np.linalg.norm(whitened, axis=0).reshape(SIZE, SIZE)
    shading_apart = np.linalg.norm(sensitivities(), axis=0)
    for name, image in (("Gridding", apart / shading_apart), ("SENSE", joined / shading)):
        psnr, percent = flat.compare(image.astype(np.complex64), truth)
        print(f"{name}: PSNR {psnr:.1f} dB, error {percent:.1f} %")
    shown = [("Truth", np.abs(truth)), (shown[0][0], apart / shading_apart), ("SENSE", joined / shading)]
_, axes = plt.subplots(1, len(shown), figsize=(5 * len(shown), 5.3), constrained_layout=True)
for ax, (title, image) in zip(axes, shown):
    image = isocenter.raw.upright(image, made.affines[0, made.affines.shape[1] // 2])
    ax.imshow(image, cmap="gray", vmin=0, vmax=np.percentile(image, 99.8) if DATA else 1.8)
    ax.set_title(title)
    ax.axis("off")
plt.savefig("raw.png", dpi=100)
print("picture: raw.png")
