#!/bin/sh
# Tests what the program reads against tifffile, fabio and h5py, in the virtual environment of the Python package.
# usage: test_program_formats.sh PROGRAM
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/.."
if ! scripts/python_env.sh h5py tifffile imagecodecs fabio; then
    [ -z "${CI:-}" ] || exit 1
    echo 'skipped: tifffile and fabio cannot be installed; tests against them are left out'
    exit 0
fi
exec "${CARGO_TARGET_DIR:-target}/python/bin/python" -W error::RuntimeWarning program/tests/formats.py "$program"
