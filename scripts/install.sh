#!/bin/sh
# Installs header, shared library and pkg-config file.
# usage: install.sh LIBRARY DESTINATION
set -eu
library=$1 destination=$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
soname=$(LC_ALL=C readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ -n "$version" ] && [ -n "$soname" ] || { echo "No version in Cargo.toml, or no soname in $library" >&2; exit 1; }

install -d "$destination/include" "$destination/lib/pkgconfig"
install -m 644 include/isocenter.h "$destination/include/"
install -m 755 "$library" "$destination/lib/libisocenter.so.$version"
ln -sf "libisocenter.so.$version" "$destination/lib/$soname"
ln -sf "$soname" "$destination/lib/libisocenter.so"
sed "s/@VERSION@/$version/" cbindings/isocenter.pc.in >"$destination/lib/pkgconfig/isocenter.pc"
