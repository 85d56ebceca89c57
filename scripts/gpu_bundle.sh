#!/usr/bin/env bash
# Gathers what tests and measures the library on a machine that has a GPU and its driver, and nothing else.
# usage: gpu_bundle.sh STAGE FOLDER    STAGE: where the library is installed; FOLDER: what to carry there
set -euo pipefail
stage=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"

# built TARGET ARGUMENTS...: path of the program that cargo builds for a target, from its own report.
built() {
    local target=$1
    shift
    ${CARGO:-cargo} "$@" --release --message-format=json-render-diagnostics |
        python3 -c 'import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message["target"]["name"] == sys.argv[1]:
        print(message["executable"])' "$target"
}
strip -o "$folder/tests" "$(built gpu build --test gpu)"
strip -o "$folder/fuzz" "$(built fuzz build --test fuzz)"
for room in base ct mri nufft pet solve; do
    strip -o "$folder/unit-$room" "$(built "isocenter_$room" test -p "isocenter-$room" --lib --no-run)"
done
strip -o "$folder/bench" "$(built gpu build -p isocenter-benches --bench gpu)"
strip -o "$folder/libisocenter.so" "$stage/lib/libisocenter.so"
soname=$(readelf -d "$folder/libisocenter.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
ln -s libisocenter.so "$folder/$soname"
for program in bad_input handles lifetimes mri pet stream; do
    ${CC:-cc} -std=c11 -O2 -o "$folder/$program" "tests/c/$program.c" -I"$stage/include" -L"$stage/lib" -lisocenter \
        -lpthread -lm -Wl,-rpath,'$ORIGIN'
done

mkdir -p "$folder/peers/isocenter"
cp cbindings/python/isocenter/*.py "$folder/peers/isocenter"
cp benches/peers/{bare,ct_gpu,mri_gpu,mri_bench,mri_coils,mri_field,mri_gpus,mri_transforms,mri_solutions,mri_series,mri_shots,mri_sparse_gpu,mri_stack,nuffts,pet_gpu,pet_kernels,places,plain,scans,timing}.py \
    benches/peers/plain_sums.c benches/peers/plain_sums.cu "$folder/peers"

cat >"$folder/run" <<'SCRIPT'
#!/bin/sh
# Tests on this machine's GPU, and `run bench` measures: both need nothing but the NVIDIA driver. `run peers` measures beside
# ASTRA, with Python packages that peers/ct_gpu.py names; `run mri-peers` measures MRI beside cuFINUFFT and PyTorch,
# `run pet-peers` PET beside PyTorch.
cd "$(dirname "$0")" || exit 1
case ${1:-} in
bench) shift; exec ./bench "$@" ;;
mri-peers) shift; ISOCENTER_LIBRARY=./libisocenter.so exec python3 peers/mri_gpu.py "$@" ;;
pet-peers) shift; ISOCENTER_LIBRARY=./libisocenter.so exec python3 peers/pet_gpu.py "$@" ;;
peers) shift; ISOCENTER_LIBRARY=./libisocenter.so exec python3 peers/ct_gpu.py "$@" ;;
esac
passed=0 failed=0
count() { # adds the last "N passed" and "N failed" of an output; one without them is a failure
    p=$(echo "$1" | grep -oE '[0-9]+ passed' | tail -1)
    p=${p:-0 passed}
    f=$(echo "$1" | grep -oE '[0-9]+ failed' | tail -1)
    f=${f:-1 failed}
    passed=$((passed + ${p%% *})) failed=$((failed + ${f%% *}))
}
required() { # tests written in Rust; those of the crates' own parts are the ones that name a GPU
    output=$(ISOC_GPU_REQUIRED=1 "$@" 2>&1)
    echo "$output" | grep -vE '^$|^running|\.\.\. ok$'
    count "$output"
}
required ./tests
for unit in ./unit-*; do required "$unit" gpu; done
ISOC_FUZZ_DEVICE=gpu required ./fuzz
for program in bad_input handles lifetimes mri pet stream; do
    # What other GPUs have written when one finds bad data is not promised.
    output=$([ $program != bad_input ] || export CUDA_VISIBLE_DEVICES=0; ./$program 2>&1)
    echo "$output" | grep '^FAIL'
    echo "$output" | tail -1
    count "$output"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
SCRIPT
chmod +x "$folder/run"
du -sh "$folder"
