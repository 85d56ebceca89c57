#!/bin/sh
# Makes sure that programs and libraries are there; on Debian and its kin, installs the packages of those that are not.
# usage: need.sh KIND:NAME:PACKAGE...    KIND is cmd (a program), file (of this path), pc (a library known to pkg-config), so (any other shared library), py (a Python module)
# or mpi (a compiler that finds mpi.h: its command alone can be there without)
set -eu

missing_packages() {
    for item in "$@"; do
        package=${item##*:} item=${item%:*}
        case $item in
            cmd:*) command -v "${item#cmd:}" ;;
            file:*) [ -e "${item#file:}" ] ;;
            pc:*) pkg-config --exists "${item#pc:}" ;;
            so:*) ldconfig -p | grep -q "lib${item#so:}\(-[0-9]*\)\{0,1\}\.so" ;;
            py:*) python3 -c "import ${item#py:}" ;;
            mpi:*) echo '#include <mpi.h>' | "${item#mpi:}" -fsyntax-only -x c - ;;
        esac >/dev/null 2>&1 || printf '%s ' "$package"
    done
}

packages=$(missing_packages "$@")
[ -n "$packages" ] || exit 0
# One at a time: others may be at it beside this one, and have installed the same.
if command -v flock >/dev/null; then
    exec 9>"${TMPDIR:-/tmp}/isocenter-need.$(id -u)"
    flock 9
    packages=$(missing_packages "$@")
    [ -n "$packages" ] || exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "Please install what these Debian packages hold, then try again: $packages" >&2
    exit 1
fi
root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Please have these packages installed, then try again: $packages" >&2
        exit 1
    fi
    root=sudo
fi
echo "Installing: $packages"
$root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
packages=$(missing_packages "$@")
if [ -n "$packages" ]; then
    echo "Still missing after installation: $packages" >&2
    exit 1
fi
