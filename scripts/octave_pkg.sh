#!/bin/sh
# Makes an archive for Octave's `pkg install`, which compiles the gateway: with a platform's library inside, or, for a system whose own packages
# have it, without. The same source gives the same bytes.
# usage: octave_pkg.sh PLATFORM OUTPUT    PLATFORM: one of build_for.sh's for Linux, whose library is in target/for; or system
set -eu
export LC_ALL=C
platform=$1 output=$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/isocenter-$version
mkdir -p "$root/inst" "$root/src"
sed -e "s/@VERSION@/$version/" -e "s/@DATE@/$(date -u -d "@$epoch" +%Y-%m-%d)/" packaging/octave/DESCRIPTION.in >"$root/DESCRIPTION"
cp packaging/octave/INDEX "$root/"
cp packaging/octave/Makefile "$root/src/"
cp -R cbindings/matlab/src/. "$root/src/"
cp -R cbindings/matlab/+isocenter "$root/inst/"
cat LICENSE-MIT LICENSE-APACHE >"$root/COPYING"
if [ "$platform" != system ]; then
    library=target/for/$platform/library
    mkdir "$root/src/lib" "$root/src/include"
    cp include/isocenter.h "$root/src/include/"
    cp "$library" "$root/src/lib/$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
    cat "target/for/$platform/notices" >>"$root/COPYING"
fi
mkdir -p "$(dirname "$output")"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' --mtime="@$epoch" -cf - "isocenter-$version" | gzip -9n >"$output"
ls -l "$output"
