#!/bin/sh
# Makes target/wheels/isocenter-VERSION-py3-none-TAG.whl: the Python package with the library of a platform inside, so that who installs it needs
# no compiler. The same source gives the same bytes.
# usage: wheel.sh linux-x86_64|linux-aarch64|windows-x86_64|macos-arm64
set -eu
platform=${1:-}
case $platform in
    linux-x86_64) tag=manylinux_2_28_x86_64 name=libisocenter.so.ABI ;;
    linux-aarch64) tag=manylinux_2_28_aarch64 name=libisocenter.so.ABI ;;
    windows-x86_64) tag=win_amd64 name=isocenter.dll ;;
    macos-arm64) tag=macosx_11_0_arm64 name=libisocenter.ABI.dylib ;;
    *) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2 ;;
esac
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
grep -qx "version = \"$version\"" cbindings/python/pyproject.toml || { echo "cbindings/python/pyproject.toml has another version than $version" >&2; exit 1; }
case $version in 0.*) abi=${version%.*} ;; *) abi=${version%%.*} ;; esac
name=$(echo $name | sed "s/ABI/$abi/")
tools=target/wheel-tools
scripts/need.sh py:ensurepip:python3-venv
if [ ! -x $tools/bin/wheel ]; then
    python3 -m venv $tools
    $tools/bin/python -m pip install --quiet --disable-pip-version-check 'flit_core==3.12.*' 'wheel==0.45.*'
fi

scripts/build_for.sh "$platform"
stage=target/wheels/$platform
rm -rf "$stage"
mkdir -p "$stage/licences"
cp -R cbindings/python/isocenter cbindings/python/README.md "$stage/"
find "$stage" -name __pycache__ -prune -exec rm -rf {} +
cp "target/for/$platform/library" "$stage/isocenter/$name"
cp LICENSE-MIT LICENSE-APACHE "$stage/licences/"
cp "target/for/$platform/notices" "$stage/licences/THIRD-PARTY-NOTICES"
sed -e 's/^license = .*/license = "MIT OR Apache-2.0"\nlicense-files = ["licences\/*"]/' cbindings/python/pyproject.toml >"$stage/pyproject.toml"

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
file=$("$tools/bin/python" - "$stage" <<'END'
import os, sys
from flit_core import buildapi
os.chdir(sys.argv[1])
print(buildapi.build_wheel(".."))
END
)
cd target/wheels
rm -rf "$platform"
file=$(../../$tools/bin/python -m wheel tags --remove --platform-tag $tag "$file" | tail -n 1)
ls -l "$file"
