#!/bin/sh
# Makes target/dist/isocenter-VERSION-linux-x86_64.tar.gz, which runs on x86-64 Linux with glibc 2.28 or newer: linked by zig, which can link
# against older versions of glibc than this machine's.
set -eu
glibc=2.28 triple=x86_64-unknown-linux-gnu
tools=target/zig
scripts/need.sh py:ensurepip:python3-venv cmd:readelf:binutils
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=isocenter-$version-linux-x86_64

if [ ! -x $tools/bin/cargo-zigbuild ]; then
    echo "Fetching zig into $tools"
    rm -rf $tools $tools.partial
    python3 -m venv $tools.partial
    $tools.partial/bin/python -m pip install --quiet --disable-pip-version-check 'cargo-zigbuild==0.24.*' 'ziglang==0.17.*'
    mv $tools.partial $tools
fi
tools=$(cd $tools && pwd)
built=${CARGO_TARGET_DIR:-target}
export CARGO_ZIGBUILD_PYTHON_PATH="$tools/bin/python" CARGO_ZIGBUILD_CACHE_DIR="$tools/cache" ZIG_GLOBAL_CACHE_DIR="$tools/cache"

# GPU kernels are the same ones: those that are compiled already need not be again.
if [ -d "$built/release/build/isocenter-kernels" ]; then
    mkdir -p "$built/$triple/release/build"
    cp -Rnp "$built/release/build/isocenter-kernels" "$built/$triple/release/build/"
fi
# Panics name the files that they come from: those of the project and of crates, not of this machine.
here=$(pwd)
separator=$(printf '\037')
CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$here=isocenter$separator--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates"
export CARGO_ENCODED_RUSTFLAGS
PATH=$tools/bin:$PATH ${CARGO:-cargo} zigbuild --release --lib --target "$triple.$glibc"

stage=$(pwd)/target/dist/$name
rm -rf target/dist
mkdir -p "$stage"
strip --strip-unneeded -o target/dist/library "$built/$triple/release/libisocenter.so"
scripts/check_needed.sh target/dist/library $glibc
# zig links its own unwinder in, in the place of libgcc_s.
unwinder=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__) + "/lib/libunwind/LICENSE.TXT")')
python3 scripts/notices.py target/dist/notices --also 'LLVM libunwind' "$unwinder"
zig=$("$tools/bin/python" -c 'from importlib.metadata import version; print(version("ziglang"))')
python3 scripts/sbom.py target/dist/sbom --also 'LLVM libunwind' "of zig $zig" 'Apache-2.0 WITH LLVM-exception'
NOTICES=target/dist/notices SBOM=target/dist/sbom scripts/install.sh target/dist/library "$stage"
if grep -rlF -e "$here" -e "${CARGO_HOME:-$HOME/.cargo}" "$stage"; then
    echo "The files above name a folder of this machine" >&2
    exit 1
fi
tar -C target/dist --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" -cf - "$name" |
    gzip -9n >"target/dist/$name.tar.gz"
scripts/check_consumer.sh "$stage" target/dist/consumer
rm -rf target/dist/consumer target/dist/library target/dist/notices target/dist/sbom
ls -l "target/dist/$name.tar.gz"
