"""`python -m isocenter.bart pics` beside `bart pics` on the processor: a simulated radial scan and Cartesian lines, the same files and options, as many iterations.
Both are processes from begin to end, in turns; medians of each and of their ratios, in wall and in processor time, which a busy machine changes less.

Needs `bart` on PATH (Debian: bart). --size, --rounds, --threads of BART; --picture: BART's image, this one, and a hundred times their difference.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import isocenter
from isocenter import bart
from scans import complex_noise, radial
from timing import table

COILS = 8
CASES = {
    "radial": ("-i30 -l2 -r0.01 -t traj ksp", "-i30 -l2 -r1 -t traj ksp", "-i30 -e -l1 -r0.01 -t traj ksp", "-i30 -R T:3:0:0.01 -t traj ksp"),
    "radial within 0.93": ("-i30 -l2 -r0.01 -t within inside", "-i30 -e -l1 -r0.01 -t within inside", "-i30 -R T:3:0:0.01 -t within inside"),
    "lines": ("-i30 -l2 -r0.01 lines", "-i30 -l1 -r0.01 lines", "-i30 -R T:3:0:0.01 lines")}


def simulate(size):
    """A head with a mark on one side; files of spokes, of spokes within 0.93 of k-space, and of lines of which most were left out."""
    y, x = (np.mgrid[:size, :size] - size // 2) / size
    maps = np.stack([np.exp(1j * turn - 2 * ((x - np.cos(turn) / 2)**2 + (y - np.sin(turn) / 2)**2)) for turn in 2 * np.pi * np.arange(COILS) / COILS])
    maps /= np.sqrt((np.abs(maps)**2).sum(0))
    k = radial(2, size // 4, 2 * size) * size
    with isocenter.MRI(trajectory=k, unit="cycles_per_field_of_view", nx=size, ny=size) as mri:
        head = mri.phantom_image(mri.shepp_logan(0.45 * size)).reshape(size, size)
    head[size // 4:size * 5 // 16, size * 5 // 8:size * 3 // 4] += 1.5
    coils = (head * maps).transpose(2, 1, 0)[:, :, None]
    bart.writecfl("maps", maps.transpose(2, 1, 0)[:, :, None])
    for trajectory, samples, reach in (("traj", "ksp", 1.0), ("within", "inside", 0.93)):
        points = np.concatenate([k.T * reach, np.zeros((1, len(k)))]).reshape(3, 2 * size, -1, order="F")
        data = bart.nufft("", points, coils)
        bart.writecfl(trajectory, points)
        bart.writecfl(samples, data + 0.002 * np.abs(data).max() * complex_noise(data.shape))
    axes = dict(axes=(0, 1))
    lines = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(coils, **axes), norm="ortho", **axes), **axes)
    kept = np.random.default_rng(0).random(size) < 0.3
    kept[size // 2 - 12:size // 2 + 12] = True
    bart.writecfl("lines", (lines + 0.002 * np.abs(lines).max() * complex_noise(lines.shape)) * kept[:, None, None])


def timed(command, environment):
    wall, cpu = time.perf_counter(), os.times()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    now = os.times()
    return time.perf_counter() - wall, now.children_user + now.children_system - cpu.children_user - cpu.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--picture")
    asked = parser.parse_args()
    # Threads that wait do not spin: on a busy machine these would take the time of those that work.
    environment = dict(os.environ, OMP_NUM_THREADS=str(asked.threads), OMP_WAIT_POLICY="passive")
    picture = asked.picture and os.path.abspath(asked.picture)
    if os.environ.get("PYTHONPATH"):
        environment["PYTHONPATH"] = os.path.abspath(os.environ["PYTHONPATH"])
    os.chdir(tempfile.mkdtemp())
    simulate(asked.size)
    rows, pictures = [], []
    for scan, cases in CASES.items():
        for options in cases:
            words, runs = ["pics", *options.split(), "maps"], {"theirs": [], "ours": []}
            for _ in range(asked.rounds):
                runs["theirs"].append(timed(["bart", *words, "theirs"], environment))
                runs["ours"].append(timed([sys.executable, "-m", "isocenter.bart", *words, "ours"], environment))
            theirs, ours = (np.squeeze(bart.readcfl(name)) for name in ("theirs", "ours"))
            apart = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
            medians = [f"{statistics.median(run[k] for run in runs[who]):.2f}" for k in (0, 1) for who in ("theirs", "ours")]
            ratios = [f"{statistics.median(b[k] / i[k] for b, i in zip(runs['theirs'], runs['ours'])):.1f}" for k in (0, 1)]
            rows.append([scan, f"`{options.partition(' -t')[0].replace(' lines', '')}`", *medians[:2], ratios[0], *medians[2:], ratios[1], f"{apart:.1e}"])
            print("-", *rows[-1], flush=True)
            pictures.append(np.concatenate([np.abs(p).T / np.abs(theirs).max() for p in (theirs, ours, 100 * (theirs - ours))], 1))
    print(table(["scan", "options", "BART, s", "Isocenter, s", "ratio", "BART, processor s", "Isocenter, processor s", "ratio", "apart"], rows))
    if picture:
        from PIL import Image
        Image.fromarray((255 * np.concatenate(pictures).clip(0, 1)).astype("uint8")).save(picture)


if __name__ == "__main__":
    main()
