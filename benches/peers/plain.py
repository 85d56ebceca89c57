"""Exact sums by a plain loop over sines and cosines, to compare with: cubes, f32, adjoint alone."""
import ctypes as c
import os
import pathlib
import subprocess
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def on_the_processor(flags, threads):
    """plain_sums.c, compiled with these flags: a function of (trajectory, samples, image)."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plain.so"
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", *flags, "-fopenmp", "-shared", "-fPIC", "-o", file,
                        HERE / "plain_sums.c", "-lm"], check=True)
        lib = c.CDLL(str(file))
        c.CDLL("libgomp.so.1").omp_set_num_threads(threads)

    def run(trajectory, samples, image):
        columns = np.ascontiguousarray(trajectory.T)
        lib.plain_adjoint(c.c_int64(image.shape[0]), c.c_int64(len(samples)), c.c_void_p(columns.ctypes.data),
                          c.c_void_p(samples.ctypes.data), c.c_void_p(image.ctypes.data))

    return run


def on_the_gpu(hardware):
    """plain_sums.cu, compiled by CuPy: a function of PyTorch tensors (trajectory, samples, image)."""
    import cupy
    kernel = cupy.RawKernel((HERE / "plain_sums.cu").read_text(), "plain_adjoint", ("-DHARDWARE",) if hardware else ())

    def run(trajectory, samples, image):
        columns = trajectory.T.contiguous()
        voxels = image.shape[0]**3
        kernel((-(-voxels // 256),), (256,), (*map(np.int64, (
            image.shape[0], len(samples), columns.data_ptr(), samples.data_ptr(), image.data_ptr())),))

    return run
