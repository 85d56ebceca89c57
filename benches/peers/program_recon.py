#!/usr/bin/env python3
"""From a scan file to a volume file on two cores: this program beside the pipelines of TomoPy, nabu and algotom.

usage: program_recon.py FOLDER [NAME...]    names as below; without, all that are installed

The scan, 1024 views of 1024 x 1024 u16 with 10 flats and 10 darks (NXtomo, contiguous, 2.2 GB), is written into FOLDER unless it is there;
volumes, 4.3 GB each, go there and are removed. Steps: means of flats and darks, line integrals, given axis, ramp filter without a window, 1024
slices of 1024 x 1024 f32 in an HDF5 file. Each run is a process of its own, from its start to its end, in turns, medians of three: with the scan
in the page cache and, as root, without it. Then `sync` is timed: what the run left to the kernel. Pipelines that take minutes make some
slices around the middle one, of two numbers; a straight line through both medians gives 1024. Middle slices are compared with ours after
orientation, shift (by half pixels) and scale are fitted: the difference over ours within 0.9 of the radius, and that of means of 4 x 4 pixels,
which have less noise.

Needs numpy, h5py, `make program` (or ISOCENTER=the command), and of these what is to be measured:
  isocenter, isocenter-u16
  tomopy, tomopy-padded     TomoPy, from conda-forge; or numexpr and TOMO_GRIDREC=libgridrec.so, a library of TomoPy's gridrec.c (gcc -O3
                            -march=native -fopenmp-simd -DTOMOPY_USE_FFTW, FFTW 3), called from threads as `recon` does, with the formulas of
                            `normalize` and `minus_log`. Padded: by 100 bins on either side, without which gridrec's slices are shaded
  nabu                      nabu's command: pip install nabu pyopencl, pyvkfft built with VKFFT_BACKEND=opencl, and an OpenCL driver of the
                            processor (pip install intel-opencl-rt intel-cmplr-lib-rt tbb, or pocl). Without CUDA it computes with NumPy and
                            projects back by OpenCL
  nabu-buffers              the same with buffers in place of OpenCL's images, for which the command has no option
  algotom-dfi, algotom-fbp  pip install algotom: direct Fourier inversion, and filtered back projection by Numba
tomocupy has no way without CUDA."""
import ctypes
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import h5py
import numpy as np

SIDE, FLATS, AXIS, CORES, ROUNDS = 1024, 10, 508.2, 2, 3
DETECTOR = "entry0000/instrument/detector"
ISOCENTER = Path(os.environ.get("ISOCENTER", Path(__file__).resolve().parent.parent.parent / "target/release/isocenter"))
WINDOW = "-2", "5"


def write_scan(path):
    """Balls in a cylinder, uneven flats, Gaussian noise of 64 frames."""
    rng = np.random.default_rng(1)
    bins, rows = np.arange(SIDE) - AXIS, np.arange(SIDE)
    angles = np.linspace(0, 180, SIDE, endpoint=False)
    flat = (10000 * (1 + 0.05 * rng.standard_normal((SIDE, SIDE)))).clip(5000, 15000)
    noise = 100 * rng.standard_normal((64, SIDE, SIDE), dtype=np.float32)
    balls = [(*rng.uniform(-0.3, 0.3, 2) * SIDE, rng.uniform(0, 1) * SIDE, rng.uniform(0.01, 0.06) * SIDE) for _ in range(60)]
    key = np.repeat([2, 1, 0], [FLATS, FLATS, SIDE])
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry0000")
        entry["definition"], entry["title"] = "NXtomo", "balls"
        detector, sample = entry.create_group("instrument/detector"), entry.create_group("sample")
        for group, kind in (entry, "entry"), (entry["instrument"], "instrument"), (detector, "detector"), (sample, "sample"):
            group.attrs["NX_class"] = "NX" + kind
        detector["image_key"] = detector["image_key_control"] = key
        sample["rotation_angle"] = np.r_[np.zeros(2 * FLATS), angles]
        sample["rotation_angle"].attrs["units"] = "degree"
        for name, value, unit in ("x_pixel_size", 1e-6, "m"), ("y_pixel_size", 1e-6, "m"), ("distance", 0.1, "m"):
            detector[name] = value
            detector[name].attrs["units"] = unit
        data = detector.create_dataset("data", (2 * FLATS + SIDE, SIDE, SIDE), "u2")
        data[:FLATS] = 100
        for k in range(FLATS):
            data[FLATS + k] = flat + noise[k] + 100
        for view, angle in enumerate(np.deg2rad(angles)):
            depth = np.repeat(0.002 * np.sqrt(np.maximum((0.4 * SIDE) ** 2 - bins**2, 0))[None], SIDE, 0)
            for x, y, z, radius in balls:
                middle = x * np.cos(angle) + y * np.sin(angle)
                across, along = np.abs(bins - middle) < radius, np.abs(rows - z) < radius
                inside = radius**2 - (bins[across] - middle) ** 2 - (rows[along, None] - z) ** 2
                depth[np.ix_(along, across)] += 0.004 * np.sqrt(np.maximum(inside, 0))
            data[2 * FLATS + view] = (flat * np.exp(-depth) + 0.7 * noise[view % 64] + 100).clip(0, 65535)


def sinograms(scan, first, end):
    """Raw values of 16 rows at a time, (views, rows, bins), darks and flats: of 8 to 256 rows TomoPy's pipeline was fastest with 16."""
    with h5py.File(scan) as file:
        data = file[DETECTOR + "/data"]
        for row in range(first, end, 16):
            rows = np.s_[row : min(row + 16, end)]
            darks, flats = data[:FLATS, rows], data[FLATS : 2 * FLATS, rows]
            yield row - first, data[2 * FLATS :, rows], darks, flats


def angles_of(scan):
    with h5py.File(scan) as file:
        return np.deg2rad(file["entry0000/sample/rotation_angle"][2 * FLATS :])


def tomopy(padding, scan, volume, first, end):
    """tomopy.normalize, minus_log, pad and recon(algorithm="gridrec"), or what they do."""
    theta, side, axis = angles_of(scan).astype("f4"), SIDE + 2 * padding, AXIS + padding
    if importlib.util.find_spec("tomopy"):
        import tomopy as package

        def reconstructed(values, darks, flats):
            lines = package.minus_log(package.normalize(values, flats, darks, ncore=CORES), ncore=CORES)
            if padding:
                lines = package.pad(lines, axis=2, npad=padding, mode="edge", ncore=CORES)
            return package.recon(lines, theta, center=axis, algorithm="gridrec", filter_name="ramlak", ncore=CORES)
    else:
        import numexpr

        numexpr.set_num_threads(CORES)
        gridrec, address = ctypes.CDLL(os.environ["TOMO_GRIDREC"]).gridrec, ctypes.c_void_p
        parameters = np.array([0.5, 8], "f4")

        def group(lines, slices):
            axes = np.full(len(lines), axis, "f4")
            places = [address(array.ctypes.data) for array in (lines, axes, theta, slices, parameters)]
            gridrec(places[0], *lines.shape, *places[1:4], side, side, b"ramlak", places[4])

        def reconstructed(values, darks, flats):
            dark, values = darks.mean(0, dtype="f4"), values.astype("f4")
            bright = np.maximum(flats.mean(0, dtype="f4") - dark, np.float32(1e-6))
            through = numexpr.evaluate("values - dark")
            numexpr.evaluate("through / bright", out=through)
            lines = numexpr.evaluate("-log(through)")
            if padding:
                lines = np.pad(lines, ((0, 0), (0, 0), (padding, padding)), mode="edge")
            lines = np.ascontiguousarray(lines.swapaxes(0, 1))
            slices = np.empty((len(lines), side, side), "f4")
            with ThreadPoolExecutor(CORES) as pool:
                list(pool.map(group, np.array_split(lines, CORES), np.array_split(slices, CORES)))
            return slices

    with h5py.File(volume, "w") as file:
        out = file.create_dataset("volume", (end - first, SIDE, SIDE), "f4")
        for row, values, darks, flats in sinograms(scan, first, end):
            slices = reconstructed(values, darks, flats)[:, padding : padding + SIDE, padding : padding + SIDE]
            out[row : row + len(slices)] = slices


def algotom(method, scan, volume, first, end):
    from algotom.io.loadersaver import open_hdf_stream
    from algotom.prep.correction import flat_field_correction
    from algotom.rec import reconstruction

    options = dict(angles=angles_of(scan), filter_name=None, ncore=CORES)
    out = open_hdf_stream(volume, (end - first, SIDE, SIDE), key_path="volume")
    for row, values, darks, flats in sinograms(scan, first, end):
        through = flat_field_correction(values, flats.mean(0), darks.mean(0))
        if method == "dfi":
            slices = reconstruction.dfi_reconstruction(through, AXIS, **options)
        else:
            slices = reconstruction.fbp_reconstruction(through, AXIS, gpu=False, **options)
        out[row : row + slices.shape[1]] = np.moveaxis(slices, 1, 0)
    out.file.close()


def nabu(images, scan, volume, first, end):
    """nabu's command."""
    from nabu.app.reconstruct import main
    from nabu.reconstruction.fbp_opencl import OpenCLBackprojector

    OpenCLBackprojector.default_extra_options["use_textures"] = images
    volume, settings = Path(volume), Path(volume).with_suffix(".conf")
    sections = {
        "dataset": {"location": scan},
        "preproc": {"flatfield": 1, "take_logarithm": 1},
        "reconstruction": {"method": "FBP", "rotation_axis_position": AXIS, "enable_halftomo": 0, "start_z": first, "end_z": end - 1},
        "output": {"location": volume.parent, "file_prefix": volume.stem, "file_format": "hdf5"},
        "postproc": {"output_histogram": 0},
    }
    lines = [f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()) for section, keys in sections.items()]
    settings.write_text("".join(lines))
    sys.argv = ["nabu", str(settings)]
    main()


@dataclass
class Program:
    """dataset: where its volume is; pipeline: a peer's; slices: how many it makes, in the runs that are timed."""

    dataset: str
    pipeline: Callable | None = None
    slices: tuple = (SIDE,)

    def command(self, name, scan, volume, first, end):
        if self.pipeline:
            return [sys.executable, __file__, "--peer", name, scan, volume, str(first), str(end)]
        depth = ["--depth", "u16", "--window", *WINDOW] if name.endswith("u16") else []
        rows = ["--rows", f"{first}..{end}"] if end - first < SIDE else []
        return [ISOCENTER, "recon", scan, "-o", volume, "--axis", str(AXIS), "--stripes", "off", *rows, *depth]


PROGRAMS = {
    "isocenter": Program("entry/reconstruction/data"),
    "isocenter-u16": Program("entry/reconstruction/data"),
    "tomopy": Program("volume", partial(tomopy, 0)),
    "tomopy-padded": Program("volume", partial(tomopy, 100), (32, 96)),
    "nabu": Program("entry0000/reconstruction/results/data", partial(nabu, True), (2, 6)),
    "nabu-buffers": Program("entry0000/reconstruction/results/data", partial(nabu, False), (8, 32)),
    "algotom-dfi": Program("volume", partial(algotom, "dfi"), (16, 48)),
    "algotom-fbp": Program("volume", partial(algotom, "fbp"), (16, 32)),
}


def installed(name):
    package = name.split("-")[0]
    return package == "isocenter" or importlib.util.find_spec(package) or (package == "tomopy" and "TOMO_GRIDREC" in os.environ)


def run(name, scan, folder, slices, cached):
    """Seconds from start to end, of the processors, of `sync`; GB of memory; and the middle slice."""
    first, end = (SIDE - slices) // 2, (SIDE + slices) // 2
    made = folder / "volumes"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    for reduced in folder.glob("scan_*.hdf5"):  # nabu's means of flats and darks
        reduced.unlink()
    volume = made / f"{name}.hdf5"
    if shutil.disk_usage(made).free < 1.02 * slices * SIDE * SIDE * 4:
        sys.exit(f"too little room in {folder} for {slices} slices")
    os.sync()
    if cached:
        with h5py.File(scan) as file:
            frame = np.empty((1, SIDE, SIDE), "u2")
            for view in range(2 * FLATS + SIDE):
                file[DETECTOR + "/data"].read_direct(frame, np.s_[view : view + 1])
    else:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    with open(folder / f"{name}.log", "w") as log:
        start = time.perf_counter()
        child = subprocess.Popen(PROGRAMS[name].command(name, scan, volume, first, end), stdout=log, stderr=log, cwd=made)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except KeyboardInterrupt:
            child.kill()
            raise
        wall = time.perf_counter() - start
    if status:
        sys.exit(f"{name} ended with status {status}: see {log.name}")
    start = time.perf_counter()
    os.sync()
    left = time.perf_counter() - start
    with h5py.File(volume) as file:
        data = file[PROGRAMS[name].dataset]
        middle = np.float32(data[SIDE // 2 - first] * data.attrs.get("scale_factor", 1.0) + data.attrs.get("add_offset", 0.0))
    shutil.rmtree(made)
    return dict(wall=wall, processor=usage.ru_utime + usage.ru_stime, left=left, memory=usage.ru_maxrss / 1e6), middle


def means(image, of=4):
    return image.reshape(SIDE // of, of, SIDE // of, of).mean((1, 3))


def circle(side):
    place = np.arange(side) - (side - 1) / 2
    return np.hypot(place, place[:, None]) < 0.9 * side / 2


def left_over(theirs, ours):
    """Relative difference within the circle after a scale, and the scale."""
    inside = circle(len(ours))
    a, b = theirs[inside].astype(float), ours[inside].astype(float)
    scale = a @ b / (a @ a)
    return np.linalg.norm(scale * a - b) / np.linalg.norm(b), scale


def compared(theirs, ours):
    """Differences over ours, of pixels and of means of 4 x 4, and the scale."""
    ways = [np.rot90(image, turns) for image in (theirs, theirs.T) for turns in range(4)]
    best = min(ways, key=lambda way: left_over(means(way), means(ours))[0])
    frequency = 2j * np.pi * np.fft.fftfreq(SIDE)
    spectrum, found = np.fft.fft2(best), []
    for shift in np.ndindex(5, 5):
        y, x = (np.array(shift) - 2) / 2
        moved = np.fft.ifft2(spectrum * np.exp(y * frequency[:, None] + x * frequency)).real
        found.append((*left_over(moved, ours), left_over(means(moved), means(ours))[0], y, x))
    return dict(zip(("pixels", "scale", "means", "down", "right"), map(float, min(found))))


def measure(folder, names):
    scan = folder / "scan.nx"
    if not scan.exists():
        write_scan(scan)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    os.environ |= {"OMP_NUM_THREADS": str(CORES), "NUMBA_NUM_THREADS": str(CORES)}
    runs, middles = {}, {}
    ways = [(name, cached, slices) for cached in (True, False) for name in names for slices in PROGRAMS[name].slices]
    ways = [way for way in ways if way[1] or (os.geteuid() == 0 and way[2] == SIDE)]
    try:
        for _ in range(ROUNDS):
            for name, cached, slices in ways:
                told, middles[name] = run(name, scan, folder, slices, cached)
                runs.setdefault((name, cached, slices), []).append(told)
                print(json.dumps(dict(name=name, cached=cached, slices=slices, load=os.getloadavg()[0], **told)), flush=True)
    except KeyboardInterrupt:
        print("interrupted: the table is of the runs until now")
    return runs, middles


def table(runs, middles):
    """Medians; of a pipeline that made some slices a straight line to 1024."""
    rows = {}
    for (name, cached, slices), told in runs.items():
        rows.setdefault((name, cached), {})[slices] = {key: statistics.median(one[key] for one in told) for key in told[0]}
    ours = {cached: row[SIDE] for (name, cached), row in rows.items() if name == "isocenter"}
    print("| | scan in the page cache | s | processor, s | then sync, s | GB | times | from | difference, pixels | means | scale |")
    for (name, cached), row in rows.items():
        if SIDE not in row:
            few, many = sorted(row)
            slope = {key: (row[many][key] - row[few][key]) / (many - few) for key in row[few]}
            whole = {key: row[few][key] + slope[key] * (SIDE - few) for key in row[few]} | {"left": float("nan"), "memory": float("nan")}
        else:
            whole = row[SIDE]
        cells = [f"{whole[key]:.1f}" for key in ("wall", "processor", "left", "memory")]
        cells.append(f"{whole['wall'] / ours[cached]['wall']:.1f}" if cached in ours else "")
        cells.append(" and ".join(f"{slices} slices in {row[slices]['wall']:.1f} s" for slices in sorted(row)))
        if "isocenter" in middles:
            alike = compared(middles[name], middles["isocenter"])
            cells += [f"{alike[key]:.2g}" for key in ("pixels", "means", "scale")]
        print("|", " | ".join([name, "yes" if cached else "no", *cells]), "|", flush=True)


def main():
    if sys.argv[1] == "--peer":
        name, scan, volume, first, end = sys.argv[2:]
        return PROGRAMS[name].pipeline(scan, volume, int(first), int(end))
    table(*measure(Path(sys.argv[1]).resolve(), sys.argv[2:] or [name for name in PROGRAMS if installed(name)]))


if __name__ == "__main__":
    main()
