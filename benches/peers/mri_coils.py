"""Coil sensitivities beside SigPy's EspiritCalib, on a measured Cartesian scan: time, and distance between the two.

mri_coils.py KSPACE.npy [PICTURE.png]: complex (coils, ny, nx), frequency 0 in the middle. Needs sigpy, and Pillow for the picture.
"""
import os
import sys
import time

import numpy as np

import isocenter

THREADS = len(os.sched_getaffinity(0))


def best(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def middle(kspace, width):
    """The middle of k-space, frequency 0 in its own middle."""
    cut = tuple(slice(n // 2 - width // 2, n // 2 - width // 2 + width) for n in kspace.shape[1:])
    return np.ascontiguousarray(kspace[(slice(None), *cut)])


def measured(path, picture):
    import sigpy.mri

    kspace = np.load(path)
    shape, calibration = kspace.shape[1:], middle(kspace, 24)
    with isocenter.Context(threads=THREADS) as context:
        own, (maps, values) = best(lambda: isocenter.coil_maps(calibration, shape, eigenvalues=True, crop=-1, context=context), 10)
        quick, adaptive = best(lambda: isocenter.coil_maps(calibration, shape, method="adaptive", context=context), 10)
        cropped, _ = best(lambda: isocenter.coil_maps(calibration, shape, context=context), 10)
    app = lambda: sigpy.mri.app.EspiritCalib(kspace, calib_width=24, kernel_width=6, thresh=0.02, crop=0.0, max_iter=100,
                                            output_eigenvalue=True, show_pbar=False).run()
    theirs, (peer, peer_values) = best(app, 3)
    peer_values = np.reshape(peer_values, shape)
    print(f"ESPIRiT of {kspace.shape}, calibration 24 x 24, kernel 6 x 6: {own * 1e3:.0f} ms, with crop {cropped * 1e3:.0f} ms; "
          f"adaptive {quick * 1e3:.0f} ms; SigPy {theirs * 1e3:.0f} ms; {THREADS} threads")
    # The sine of the angle between two unit vectors: no phase is in it.
    cosines = np.abs((maps.conj() * peer).sum(0)) / np.maximum(np.linalg.norm(peer, axis=0), 1e-30)
    angle = np.sqrt(np.maximum(0, 1 - cosines.astype(float) ** 2))
    inside = values > 0.95
    print(f"eigenvalues above 0.95: {inside.mean():.3f} of voxels; SigPy's there differ by {np.abs(values - peer_values)[inside].max():.1e} at most")
    print(f"sine of the angle to SigPy's maps there: median {np.median(angle[inside]):.1e}, 99 % {np.quantile(angle[inside], 0.99):.1e}, "
          f"largest {angle[inside].max():.1e}")
    cosines = np.abs((adaptive.conj() * maps).sum(0))
    print(f"sine of the angle of the adaptive combination to ESPIRiT there: median {np.median(np.sqrt(np.maximum(0, 1 - cosines ** 2))[inside]):.2f}")
    if picture:
        from PIL import Image

        image = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(kspace, axes=(1, 2))), axes=(1, 2))
        rows = [np.abs(image) / np.abs(image).max() * 2, np.abs(maps), (np.angle(maps) / np.pi + 1) / 2, np.abs(maps) * inside,
                np.abs(adaptive)]
        Image.fromarray((np.concatenate([np.concatenate(list(r), 1) for r in rows], 0).clip(0, 1) * 255).astype("uint8")).save(picture)


def volume():
    """256 x 256 x 64, 32 coils compressed to 8, calibration 24^3."""
    rng = np.random.default_rng(1)
    reach = np.arange(-12, 12)
    taps = rng.standard_normal((32, 3, 3, 3)) + 1j * rng.standard_normal((32, 3, 3, 3))
    # A ball in k-space falls as 1 / k^2; its phase is random, as that of many edges.
    z, y, x = np.meshgrid(*[np.arange(-13, 13)] * 3, indexing="ij")
    object_ = np.exp(2j * np.pi * rng.random(z.shape)) / (1 + z * z + y * y + x * x)
    data = np.zeros((32, 24, 24, 24), complex)
    for k in np.ndindex(3, 3, 3):
        data += taps[(slice(None), *k)][:, None, None, None] * object_[tuple(slice(o, o + reach.size) for o in k)]
    data += 1e-3 * np.abs(data).max() * (rng.standard_normal(data.shape) + 1j * rng.standard_normal(data.shape))
    data = data.astype("complex64")
    with isocenter.Context(threads=THREADS) as context:
        start = time.perf_counter()
        matrix, energy = isocenter.coil_compression(data, 8, context=context)
        compressed = isocenter.coil_apply(matrix, data, context=context)
        between = time.perf_counter()
        maps = np.zeros((8, 64, 256, 256), "complex64")
        isocenter.coil_maps(compressed, maps=maps, context=context)
        end = time.perf_counter()
        adaptive, _ = best(lambda: isocenter.coil_maps(compressed, maps=maps, method="adaptive", context=context), 1)
    peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    print(f"256 x 256 x 64: compression 32 to 8 (energy {energy:.4f}) {1e3 * (between - start):.0f} ms, ESPIRiT {end - between:.2f} s, "
          f"adaptive {adaptive:.2f} s; {peak[0].split()[1]} kB at most")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measured(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
    volume()
