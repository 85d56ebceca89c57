#!/bin/sh
# Tests of the library for 64-bit Arm, emulated by qemu: the C programs of tests/c, some of them at both levels.
# usage: test_aarch64.sh [all | everything]    all: also the Rust tests that hold kernels of each level against plain sums, or against each other
#                                              everything: every Rust test, which takes some hours
set -eu
cross=aarch64-linux-gnu triple=aarch64-unknown-linux-gnu
scripts/need.sh cmd:$cross-gcc:gcc-aarch64-linux-gnu cmd:qemu-aarch64:qemu-user file:/usr/$cross/lib/libc.so.6:libc6-dev-arm64-cross cmd:readelf:binutils
scripts/build_for.sh linux-aarch64
work=target/aarch64
rm -rf $work
mkdir -p $work
cp target/for/linux-aarch64/library $work/libisocenter.so
ln -s libisocenter.so "$work/$(readelf -d $work/libisocenter.so | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
emulated() { # emulated LEVEL PROGRAM ROUNDS
    qemu-aarch64 -L /usr/$cross -E LD_LIBRARY_PATH=$work -E ISOC_CPU_LEVEL="$1" -E ISOC_TEST_EMULATED=1 -E ISOC_TEST_ROUNDS=30 "$2" >"$work/said" 2>&1 ||
        { cat "$work/said" >&2; echo "aarch64, $1: $2 failed" >&2; exit 1; }
    echo "aarch64, $1: ${2##*/}: $(tail -n 1 "$work/said")"
}
for source in tests/c/*.c; do
    program=$work/$(basename "$source" .c)
    $cross-gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -O1 -pthread -Iinclude "$source" -L$work -lisocenter -lm -o "$program"
    emulated neon "$program"
done
for program in iterative mri pet region; do emulated baseline $work/$program; done
if [ $# -gt 0 ]; then
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$cross-gcc CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/$cross"
    # What runs other programs or limits the process's memory is not for an emulator.
    only=level
    if [ "$1" = everything ]; then only=; fi
    ISOC_NVCC=none ${CARGO:-cargo} test --release --no-fail-fast --target $triple --workspace --exclude isocenter-program --exclude isocenter-benches \
        --lib --test ct --test mri --test pet --test nufft --test fuzz --test lists --test npy -- ${only:+"$only"}
fi
