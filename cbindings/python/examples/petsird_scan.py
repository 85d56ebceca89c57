# %% [markdown]
# # From a list-mode file to Bq/ml
# A small clinical scanner is simulated: its events, with randoms, scatter and crystals of several efficiencies, go to a PETSIRD file, and a map of attenuation
# to a NIfTI file. One command makes an image in Bq/ml of them, with a report; regions of it are held against the truth. `COUNTS=4e6` simulates more events.
# The picture is written to `petsird_scan.png`.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import petsird

import isocenter
import isocenter.images
import isocenter.petsird
from isocenter.petsird.__main__ import main

COUNTS = int(float(os.environ.get("COUNTS", 4e5)))
BLOCKS, ACROSS, ALONG, PITCH, DEPTH, DIAMETER = 24, 8, 16, 5.5, 10.0, 360.0  # crystals of each block, mm; between faces of opposite blocks
CRYSTALS = BLOCKS * ACROSS * ALONG
SECONDS, WINDOW, TOF, VOXEL = 600.0, 900.0, 300.0, 5.0  # of the scan; ps; ps; mm
HALF_LIGHT = 0.149896229  # mm/ps

# %% [markdown]
# ## The scanner, as PETSIRD has it
# A crystal is a box, repeated in a module, which is repeated about the axis. Places along a line are c (t1 - t2) / 2.

# %%
rng = np.random.default_rng(0)
efficiencies = rng.uniform(0.6, 1.0, CRYSTALS)
edges = (np.linspace(-WINDOW, WINDOW, 37) * HALF_LIGHT).astype(np.float32)


def placed(matrix):
    return petsird.RigidTransformation(matrix=np.array(matrix, np.float32))


corners = [petsird.Coordinate(c=np.array([x, y, z], np.float32)) for x in (0, DEPTH) for y in (0, PITCH) for z in (0, PITCH)]
crystal = petsird.BoxSolidVolume(shape=petsird.BoxShape(corners=corners), material_id=1)
in_block = [placed([[1, 0, 0, DIAMETER / 2], [0, 1, 0, (a - ACROSS / 2) * PITCH], [0, 0, 1, (r - ALONG / 2) * PITCH]]) for r in range(ALONG) for a in range(ACROSS)]
turns = [placed([[np.cos(p), -np.sin(p), 0, 0], [np.sin(p), np.cos(p), 0, 0], [0, 0, 1, 0]]) for p in 2 * np.pi * np.arange(BLOCKS) / BLOCKS]
module = petsird.DetectorModule(detecting_elements=petsird.ReplicatedBoxSolidVolume(object=crystal, transforms=in_block))
geometry = petsird.ScannerGeometry(replicated_modules=[petsird.ReplicatedDetectorModule(object=module, transforms=turns)])
fluorine = petsird.DICOMBasicCodeSequence(coding_scheme_designator="SCT", code_value="77004003", code_meaning="^18^Fluorine")
exam = petsird.ExamInformation(radiopharmaceuticals=[petsird.DICOMRadiopharmaceuticalInformation(radionuclide_code_sequence=fluorine)])
header = petsird.Header(exam=exam, scanner=petsird.ScannerInformation(
    model_name="24 blocks", scanner_geometry=geometry, tof_bin_edges=[[petsird.BinEdges(edges=edges)]], tof_resolution=[[TOF * HALF_LIGHT]],
    event_energy_bin_edges=[petsird.BinEdges(edges=np.array([435, 585], np.float32))], energy_resolution_at_511=[0.11],
    detection_efficiencies=petsird.DetectionEfficiencies(detection_bin_efficiencies=[efficiencies.astype(np.float32)]),
    prompt_event_policy=petsird.CoincidencePolicy.REJECT_HIGHER_MULTIPLES, delayed_event_policy=petsird.CoincidencePolicy.REJECT_HIGHER_MULTIPLES))


def write(path, prompts, delays):
    """Of one block of time."""
    listed = [[petsird.CoincidenceEvent(detection_bins=[int(p), int(q)], tof_idx=int(t)) for p, q, t in rows] for rows in (prompts, delays)]
    block = petsird.EventTimeBlock(time_interval=petsird.TimeInterval(start=0, stop=int(1000 * SECONDS)), prompt_events=[[listed[0]]], delayed_events=[[listed[1]]])
    with petsird.BinaryPETSIRDWriter(path) as writer:
        writer.write_header(header)
        writer.write_time_blocks([petsird.TimeBlock.EventTimeBlock(block)])


write("scan.petsird", [], [])
scanner = isocenter.petsird.read_scanner("scan.petsird")

# %% [markdown]
# ## A scan
# A hot cylinder in a warm one, in water. Delays are of a scan that has nearly randoms alone.

# %%
pet = isocenter.PET(nx=44, ny=44, nz=18, voxel_x=VOXEL, azimuths=12, max_tilt=0.3)
scanner.set_on(pet)
warm = isocenter.Body("cylinder", half_x=70.0, half_z=30.0, activity=1.0)
hot = isocenter.Body("cylinder", x=35.0, y=-10.0, half_x=20.0, half_z=30.0, activity=2.0)
water = isocenter.Body("cylinder", half_x=75.0, half_z=36.0, attenuation=0.0096)
cylinder = dict(diameter=DIAMETER + DEPTH, axial_length=ALONG * PITCH, random_window=WINDOW)


def measured(scan, count, seed):
    """Events as the file has them: the larger crystal first, time bins of c (t1 - t2) / 2."""
    first, second, times, tally = pet.simulate(scan, count)
    crystals, bins, _ = pet.detect(first, second, times, efficiencies, seed=seed)
    kept = crystals[:, 0] < CRYSTALS
    pairs, bins = crystals[kept].astype(int), bins[kept].astype(int)
    turned = (pairs[:, 0] < pairs[:, 1])[:, None]
    return np.column_stack([np.where(turned, pairs[:, ::-1], pairs), np.where(turned[:, 0], bins, len(edges) - 2 - bins)]), tally


prompts, tally = measured(isocenter.Scan([warm, hot, water], **cylinder, tof_fwhm=TOF, energy_resolution=0.11, randoms=0.2), COUNTS, 1)
delays, _ = measured(isocenter.Scan([warm, hot], **cylinder, randoms=0.999999, seed=1), tally.randoms, 2)
write("scan.petsird", prompts, delays)
isocenter.images.write_nifti("attenuation.nii.gz", pet.phantom_image([water], "attenuation"), VOXEL, unit="1/mm", description="water")

# %% [markdown]
# ## The command

# %%
main(["scan.petsird", "--attenuation", "attenuation.nii.gz", "-o", "image.nii.gz", "--voxel", f"{VOXEL:g}", "--tilts", "1", "--scatter", "2"])
image = isocenter.images.read_nifti("image.nii.gz").image

# %% [markdown]
# ## The truth
# The simulated decays, of which the tally has those within the largest tilt, are of so many Bq/ml of F-18 at the start.

# %%
isotope = isocenter.petsird.ISOTOPES["F-18"]
k = np.log(2) * SECONDS / isotope.half_life
becquerel = tally.decays / np.sin(0.3) / (SECONDS * isotope.branching * (1 - np.exp(-k)) / k)
truth = pet.phantom_image([warm, hot])
truth *= becquerel / (truth.sum() * VOXEL ** 3 / 1000)
z, y, x = (VOXEL * (np.indices(truth.shape)[a] - (truth.shape[a] - 1) / 2) for a in range(3))
from_hot = np.hypot(x - 35, y + 10)
inside = np.abs(z) < 23
for name, region in (("hot", (from_hot < 14) & inside), ("warm", (from_hot > 30) & (np.hypot(x, y) < 60) & inside)):
    found, expected = image[region].mean(), truth[region].mean()
    print(f"{name}: {found:.2f} Bq/ml, truth {expected:.2f}: {100 * (found / expected - 1):+.1f} %")
    assert abs(found / expected - 1) < 0.06

_, axes = plt.subplots(1, 2, figsize=(10, 5.3), constrained_layout=True)
for ax, (title, shown) in zip(axes, (("truth", truth), ("image", image))):
    picture = ax.imshow(shown[9], cmap="gray_r", vmin=0, vmax=1.1 * truth.max())
    ax.set_title(f"{title}, Bq/ml")
    ax.axis("off")
plt.colorbar(picture, ax=axes, shrink=0.8)
plt.savefig("petsird_scan.png", dpi=100)
print("picture: petsird_scan.png")
