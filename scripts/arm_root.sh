#!/bin/sh
# Makes target/arm-root, a Debian for 64-bit Arm with Python in it, which qemu-aarch64 -L runs programs of; prints where it is.
set -eu
root=target/arm-root
if [ ! -e $root/made ]; then
    scripts/need.sh cmd:debootstrap:debootstrap cmd:dpkg-deb:dpkg >&2
    rm -rf $root
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
    log=$(mktemp)
    debootstrap --arch=arm64 --variant=minbase --download-only --include=python3,libstdc++6 "$suite" $root >"$log" 2>&1 ||
        { tail "$log" >&2; exit 1; }
    rm "$log"
    for package in $root/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" $root; done
    rm -rf $root/var/cache/apt/archives
    : >$root/made
fi
realpath $root
