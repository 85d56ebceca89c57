#!/bin/sh
# Makes target/dist/isocenter-VERSION-windows-x86_64.zip, for Windows 10 and newer on x86-64.
set -eu
scripts/need.sh cmd:x86_64-w64-mingw32-objdump:binutils-mingw-w64-x86-64 cmd:llvm-dlltool:llvm cmd:zip:zip
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=isocenter-$version-windows-x86_64
scripts/build_for.sh windows-x86_64
here=$(pwd)

work=$here/target/dist/windows stage=$here/target/dist/windows/$name
rm -rf "$work" "$here/target/dist/$name.zip"
mkdir -p "$stage"
library=$work/isocenter.dll
cp target/for/windows-x86_64/library "$library"
scripts/check_symbols.sh "$library" include/isocenter.h
# LLVM writes import libraries as Microsoft's linker does; binutils' own are of a kind that it does not always take. MinGW reads both.
{
    printf 'LIBRARY isocenter.dll\nEXPORTS\n'
    x86_64-w64-mingw32-objdump -p "$library" | sed '1,/^\[Ordinal\/Name Pointer\] Table/d; /^$/,$d' | awk '{ print $NF }' | sort
} >"$work/isocenter.def"
llvm-dlltool -m i386:x86-64 -d "$work/isocenter.def" -l "$work/isocenter.lib"
IMPORTS=$work/isocenter.lib NOTICES=target/for/windows-x86_64/notices scripts/install.sh "$library" "$stage"
if grep -rlF -e "$here" -e "${CARGO_HOME:-$HOME/.cargo}" "$stage"; then
    echo 'The files above name a folder of this machine' >&2
    exit 1
fi
# The same sources give the same zip: sorted names, and the time of the commit, which zip takes in local time.
find "$stage" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" {} +
(cd "$work" && find "$name" -type f | LC_ALL=C sort | TZ=UTC zip -X -9 -q -@ "../$name.zip")
rm -rf "$work"
ls -l "target/dist/$name.zip"
