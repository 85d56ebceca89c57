#!/bin/sh
# Runs the Python examples against an installed library, and puts their pictures into a folder. DATA names a measured scan: an HDF5
# file for ct, a folder for mri, an ISMRMRD file for raw, with UNIT of its trajectory where more than one fits. COUNTS is how many events pet and petsird_scan simulate.
# usage: demo_python.sh INSTALLED FOLDER EXAMPLE...    EXAMPLE: ct, iterative, mri, series, pet, raw or petsird_scan
set -eu
installed=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
[ -z "${DATA:-}" ] || DATA=$(realpath "$DATA")
export DATA="${DATA:-}" PKG_CONFIG_PATH="$installed/lib/pkgconfig" PYTHONDONTWRITEBYTECODE=1
cd "$(dirname "$0")/.."
case " $* " in
    *" raw "*) formats=ismrmrd==1.15.0 ;;
    *" petsird_scan "*) formats='petsird==0.12.0 nibabel==5.3.2' ;;
    *) formats= ;;
esac
# shellcheck disable=SC2086 # words or none
scripts/python_env.sh matplotlib ${DATA:+h5py} $formats
python=$(realpath "${CARGO_TARGET_DIR:-target}")/python/bin/python examples=$(realpath cbindings/python/examples)
unset ISOCENTER_LIBRARY PYTHONPATH
cd "$folder"
for example in "$@"; do "$python" "$examples/$example.py"; done
