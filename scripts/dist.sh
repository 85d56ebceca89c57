#!/bin/sh
# Makes target/dist/isocenter-VERSION-linux-x86_64.tar.gz, which runs on x86-64 Linux with glibc 2.28 or newer.
set -eu
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=isocenter-$version-linux-x86_64

scripts/build_for.sh linux-x86_64
library=target/for/linux-x86_64
stage=$(pwd)/target/dist/$name
rm -rf target/dist
mkdir -p "$stage"
NOTICES=$library/notices scripts/install.sh $library/library "$stage"
if grep -rlF -e "$(pwd)" -e "${CARGO_HOME:-$HOME/.cargo}" "$stage"; then
    echo "The files above name a folder of this machine" >&2
    exit 1
fi
tar -C target/dist --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" -cf - "$name" |
    gzip -9n >"target/dist/$name.tar.gz"
scripts/check_consumer.sh "$stage" target/dist/consumer
rm -rf target/dist/consumer
ls -l "target/dist/$name.tar.gz"
