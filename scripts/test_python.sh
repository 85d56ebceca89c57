#!/bin/sh
# Tests the Python package against an installed library, in a virtual environment, with ismrmrd, petsird, nibabel, pydicom and uproot beside it.
# usage: test_python.sh INSTALLED [TEST...]    TEST: as unittest names it, such as test_ct; all by default
#   ISOC_TEST_RELEASE   set: against ASTRA too, which is installed
set -eu
installed=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
home=$target/python

scripts/need.sh cmd:cc:gcc
if ! scripts/python_env.sh ismrmrd==1.15.0 petsird==0.12.0 nibabel==5.3.2 pydicom==3.0.2 uproot==5.7.7; then
    [ -z "${CI:-}" ] || exit 1
    echo 'skipped: ismrmrd, petsird, nibabel, pydicom or uproot cannot be installed; tests of their files are left out'
    scripts/python_env.sh
fi
home=$(realpath "$home")

# ASTRA without its dependencies, which are gigabytes of GPU libraries: it needs the CUDA runtime to be there, SciPy, and something
# in the place of cuFFT, which work on the processor never calls.
install_astra() {
    pip() { "$home/bin/pip" install --quiet --disable-pip-version-check --root-user-action ignore "$@"; }
    pip --no-deps scipy astra-toolbox==2.5.0 nvidia-cuda-runtime-cu12 &&
        cc -shared -fPIC -O1 -o "$home/lib/libcufft.so.11" benches/peers/cufft_shim.c \
            -Wl,--version-script=benches/peers/cufft_shim.map -Wl,-soname,libcufft.so.11
}
if [ -n "${ISOC_TEST_RELEASE:-}" ] && [ ! -e "$home/lib/libcufft.so.11" ] && ! install_astra; then
    [ -z "${CI:-}" ] || exit 1
    echo 'skipped: ASTRA cannot be installed; tests against it are left out'
fi

cudart=$("$home/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cuda_runtime/lib
export LD_LIBRARY_PATH="$home/lib:$cudart${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PKG_CONFIG_PATH="$installed/lib/pkgconfig" PYTHONDONTWRITEBYTECODE=1
unset ISOCENTER_LIBRARY PYTHONPATH
cd cbindings/python/tests
exec "$home/bin/python" -W error -m unittest "$@"
