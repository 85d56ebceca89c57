"""Isocenter's MRI on one GPU beside cuFINUFFT, plain loops and PyTorch's FFT, in one process, in turns: prints tables for
benches/results.

Needs NumPy, PyTorch (for arrays on the GPU) and libisocenter.so (ISOCENTER_LIBRARY names it); uses cufinufft (with libcudart.so.12
and libcufft.so.11 of CUDA 12) and CuPy where they are. A case that fails says why, and the rest goes on.
"""
import argparse
import datetime
import time
import traceback

import isocenter
from mri_bench import Bench
from mri_field import field
from mri_gpus import gpus, windows
from mri_solutions import psnr, solve, toeplitz
from mri_series import series
from mri_shots import shots
from mri_sparse_gpu import sparse
from mri_stack import stack
from mri_transforms import exact, nufft

PARTS = {part.__name__: part for part in (nufft, exact, field, stack, toeplitz, solve, sparse, series, shots, gpus, windows, psnr)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all, if none is named")
    parser.add_argument("--cpu", action="store_true", help="on the processor, beside FINUFFT, without PyTorch")
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--slow", type=float, default=3, metavar="SECONDS",
                        help="a case whose rounds would take longer has fewer, at least 5")
    parser.add_argument("--iterations", type=int, default=60, help="of solve")
    parser.add_argument("--lambda", dest="lambda_", type=float, default=0.02)
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")

    bench = Bench(asked)
    print(f"# MRI on one device, {datetime.date.today().isoformat()}\n\n{bench.place.name}; Isocenter {isocenter.version()}: "
          f"{isocenter.build_info()}\nArrays on the device; medians of runs in turns, waiting for the device included.")
    if bench.peer is None:
        print(f"{'FINUFFT' if asked.cpu else 'cuFINUFFT'} cannot be imported here: its rows are missing.")
    for name in asked.parts or PARTS:
        print(f"\n## {name}\n", flush=True)
        start = time.perf_counter()
        try:
            PARTS[name](bench)
        except Exception:  # the other parts shall run
            traceback.print_exc()
        print(f"({name}: {time.perf_counter() - start:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
