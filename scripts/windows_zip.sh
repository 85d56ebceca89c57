#!/bin/sh
# Makes target/dist/isocenter-VERSION-windows-x86_64.zip, for Windows 10 and newer on x86-64. Rust compiles for Windows everywhere; MinGW-w64 links.
set -eu
triple=x86_64-pc-windows-gnu
# MinGW's compilers that are called win32 need no library of POSIX threads, which would become part of the DLL.
scripts/need.sh cmd:x86_64-w64-mingw32-gcc-win32:gcc-mingw-w64-x86-64-win32 cmd:llvm-dlltool:llvm cmd:zip:zip
[ -d "$(rustc --print sysroot)/lib/rustlib/$triple" ] || rustup target add $triple
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=isocenter-$version-windows-x86_64
built=${CARGO_TARGET_DIR:-target}

# GPU kernels are the same ones: those that are compiled already need not be again.
if [ -d "$built/release/build/isocenter-kernels" ]; then
    mkdir -p "$built/$triple/release/build"
    cp -Rnp "$built/release/build/isocenter-kernels" "$built/$triple/release/build/"
fi
# Panics name the files that they come from: those of the project and of crates, not of this machine.
here=$(pwd) home=${CARGO_HOME:-$HOME/.cargo} separator=$(printf '\037')
# The linker strips: strip itself would put the day into the DLL.
CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc-win32 \
    CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$here=isocenter$separator--remap-path-prefix=$home/registry/src=crates" \
    ${CARGO:-cargo} build --release --lib --target $triple

work=$here/target/dist/windows stage=$here/target/dist/windows/$name
rm -rf "$work" "$here/target/dist/$name.zip"
mkdir -p "$stage"
cp "$built/$triple/release/isocenter.dll" "$work/"
scripts/check_needed.sh "$work/isocenter.dll"
scripts/check_symbols.sh "$work/isocenter.dll" include/isocenter.h
# LLVM writes import libraries as Microsoft's linker does; binutils' own are of a kind that it does not always take. MinGW reads both.
{
    printf 'LIBRARY isocenter.dll\nEXPORTS\n'
    x86_64-w64-mingw32-objdump -p "$work/isocenter.dll" | sed '1,/^\[Ordinal\/Name Pointer\] Table/d; /^$/,$d' | awk '{ print $NF }' | sort
} >"$work/isocenter.def"
llvm-dlltool -m i386:x86-64 -d "$work/isocenter.def" -l "$work/isocenter.lib"
# The linker puts a little of MinGW's runtime into the DLL.
python3 scripts/notices.py --target $triple "$work/notices" --also 'MinGW-w64' /usr/share/doc/mingw-w64-x86-64-dev/copyright
IMPORTS=$work/isocenter.lib NOTICES=$work/notices scripts/install.sh "$work/isocenter.dll" "$stage"
if grep -rlF -e "$here" -e "$home" "$stage"; then
    echo 'The files above name a folder of this machine' >&2
    exit 1
fi
# The same sources give the same zip: sorted names, and the time of the commit, which zip takes in local time.
find "$stage" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" {} +
(cd "$work" && find "$name" -type f | LC_ALL=C sort | TZ=UTC zip -X -9 -q -@ "../$name.zip")
rm -rf "$work"
ls -l "target/dist/$name.zip"
