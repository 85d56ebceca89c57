#!/bin/sh
# Builds the library that is shipped for a platform: target/for/PLATFORM/library, stripped, with nothing of this machine in it; beside it `notices` and
# `sbom`, for install.sh. zig links it, which can do so against older versions of glibc than this machine's, and for other processors and systems; for
# Windows MinGW-w64 does.
# usage: build_for.sh linux-x86_64|linux-aarch64|macos-arm64|windows-x86_64
set -eu
glibc=2.28 command=zigbuild
case ${1:-} in
    linux-x86_64) triple=x86_64-unknown-linux-gnu file=libisocenter.so for=$triple.$glibc ;;
    linux-aarch64) triple=aarch64-unknown-linux-gnu file=libisocenter.so for=$triple.$glibc ;;
    macos-arm64) triple=aarch64-apple-darwin file=libisocenter.dylib for=$triple ISOC_NVCC=none MACOSX_DEPLOYMENT_TARGET=11.0 && export ISOC_NVCC MACOSX_DEPLOYMENT_TARGET ;; # there is no CUDA
    windows-x86_64) triple=x86_64-pc-windows-gnu file=isocenter.dll for=$triple command=build ;;
    *) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2 ;;
esac
platform=$1 tools=target/zig
built=${CARGO_TARGET_DIR:-target}
if [ $command = zigbuild ]; then
    scripts/need.sh py:ensurepip:python3-venv cmd:readelf:binutils
    if [ ! -x $tools/bin/cargo-zigbuild ]; then
        echo "Fetching zig into $tools"
        rm -rf $tools $tools.partial
        python3 -m venv $tools.partial
        $tools.partial/bin/python -m pip install --quiet --disable-pip-version-check 'cargo-zigbuild==0.24.*' 'ziglang==0.17.*'
        mv $tools.partial $tools
    fi
    tools=$(cd $tools && pwd)
    export CARGO_ZIGBUILD_PYTHON_PATH="$tools/bin/python" CARGO_ZIGBUILD_CACHE_DIR="$tools/cache" ZIG_GLOBAL_CACHE_DIR="$tools/cache"
    export PATH="$tools/bin:$PATH"
else
    # The compilers that MinGW calls win32 need no library of POSIX threads, which would become part of the DLL.
    scripts/need.sh cmd:x86_64-w64-mingw32-gcc-win32:gcc-mingw-w64-x86-64-win32
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc-win32
fi
if command -v rustup >/dev/null && ! rustup target list --installed | grep -qx $triple; then rustup target add $triple; fi

# GPU kernels are the same ones: those that are compiled already need not be again.
if [ -d "$built/release/build/isocenter-kernels" ]; then
    mkdir -p "$built/$triple/release/build"
    cp -Rnp "$built/release/build/isocenter-kernels" "$built/$triple/release/build/"
fi
# Panics name the files that they come from: those of the project and of crates, not of this machine.
here=$(pwd) home=${CARGO_HOME:-$HOME/.cargo}
separator=$(printf '\037')
CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$here=isocenter$separator--remap-path-prefix=$home/registry/src=crates"
export CARGO_ENCODED_RUSTFLAGS CARGO_PROFILE_RELEASE_STRIP=symbols
${CARGO:-cargo} $command --release --lib --target $for

into=target/for/$platform
rm -rf "$into"
mkdir -p "$into"
case $platform in
    linux-*) scripts/check_needed.sh "$built/$triple/release/$file" $glibc ;;
    windows-*) scripts/check_needed.sh "$built/$triple/release/$file" ;;
esac
cp "$built/$triple/release/$file" "$into/library"
if grep -qF -e "$here" -e "$home" "$into/library"; then echo "$into/library names a folder of this machine" >&2; exit 1; fi
# What the linker puts into it: zig its own unwinder, in the place of libgcc_s; MinGW a little of its runtime.
case $platform in
    windows-*)
        part=MinGW-w64 licence=/usr/share/doc/mingw-w64-x86-64-dev/copyright terms=LicenseRef-MinGW-w64-runtime
        version=$(dpkg-query -W -f '${Version}' mingw-w64-x86-64-dev 2>/dev/null || echo unknown)
        ;;
    *)
        part='LLVM libunwind' terms='Apache-2.0 WITH LLVM-exception'
        licence=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__) + "/lib/libunwind/LICENSE.TXT")')
        version="of zig $("$tools/bin/python" -c 'from importlib.metadata import version; print(version("ziglang"))')"
        ;;
esac
python3 scripts/notices.py --target $triple "$into/notices" --also "$part" "$licence"
python3 scripts/sbom.py --target $triple "$into/sbom" --also "$part" "$version" "$terms"
