#!/bin/sh
# Tests that what the command `isocenter` writes is read by the programs that its users have: h5py, silx, tifffile, zarr-python, ome-zarr-py.
# usage: test_program_volumes.sh ISOCENTER
set -eu
isocenter=$(realpath "$1")
cd "$(dirname "$0")/.."
scripts/python_env.sh h5py silx tifffile zarr ome-zarr ome-zarr-models
ISOCENTER=$isocenter PYTHONDONTWRITEBYTECODE=1 exec "${CARGO_TARGET_DIR:-target}/python/bin/python" -m unittest program/tests/readers/volumes.py
