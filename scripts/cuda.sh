#!/bin/sh
# Fetches CUDA's compiler into target/cuda, from Python packages, unless there is one already, with what check_sass.py reads machine code by.
# No GPU is needed.
set -eu
if [ -n "${ISOC_NVCC:-}" ] || command -v nvcc >/dev/null; then exit 0; fi
for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}"; do
    if [ -n "$home" ] && [ -x "$home/bin/nvcc" ]; then exit 0; fi
done
[ -x target/cuda/nvidia/cu13/bin/nvcc ] && [ -x target/cuda/nvidia/cu13/bin/nvdisasm ] && exit 0
scripts/need.sh py:pip:python3-pip
mkdir -p target
rm -rf target/cuda.partial
for package in nvcc runtime crt cccl; do packages="${packages:-} nvidia-cuda-$package==13.0.*"; done
echo "Fetching the CUDA compiler into target/cuda"
# shellcheck disable=SC2086 # a list of words
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target target/cuda.partial \
    $packages 'nvidia-nvvm==13.0.*' 'nvidia-cuda-cuobjdump==13.2.*' 'nvidia-cuda-nvdisasm==13.2.*'
rm -rf target/cuda
mv target/cuda.partial target/cuda
