#!/bin/sh
# Isocenter beside ASTRA and scikit-image (CT), FINUFFT (MRI) and SciPy (PET) on this machine's processor; some minutes. Installs
# the other packages into target/peers. Arguments go to ct_cpu.py, mri_cpu.py and pet_cpu.py: --quick. ISOCENTER_LIBRARY names
# another libisocenter.so to measure.
set -eu

cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
home=$target/peers
here=benches/peers

scripts/need.sh cmd:cc:gcc py:ensurepip:python3-venv
if [ -z "${ISOCENTER_LIBRARY:-}" ]; then
    ${CARGO:-cargo} build --release
    ISOCENTER_LIBRARY=$target/release/libisocenter.so
fi

[ -x "$home/bin/python" ] || python3 -m venv "$home"
"$home/bin/pip" install -q --disable-pip-version-check numpy scipy scikit-image finufft==2.5.1
# Without its dependencies, which are gigabytes of GPU libraries; the CUDA runtime alone is small and must be there.
"$home/bin/pip" install -q --disable-pip-version-check --no-deps astra-toolbox==2.5.0 nvidia-cuda-runtime-cu12
cc -shared -fPIC -O1 -o "$home/lib/libcufft.so.11" $here/cufft_shim.c \
    -Wl,--version-script=$here/cufft_shim.map -Wl,-soname,libcufft.so.11

cudart=$("$home/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cuda_runtime/lib
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=cbindings/python ISOCENTER_LIBRARY CRITERION_HOME="${CRITERION_HOME:-$target/criterion}"
export LD_LIBRARY_PATH="$(realpath "$home")/lib:$(realpath "$cudart")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
"$home/bin/python" $here/ct_cpu.py "$@"
"$home/bin/python" $here/ct_axis.py
"$home/bin/python" $here/mri_cpu.py "$@"
exec "$home/bin/python" $here/pet_cpu.py "$@"
