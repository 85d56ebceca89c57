#!/bin/sh
# Runs a program for Windows under Wine, in a Windows of the tests' own.
# usage: wine.sh PROGRAM [WORD...]
#   WINE      Wine's loader, for programs of 64 bits; Debian's by default
set -eu
here=$(dirname "$0")
wine=${WINE:-/usr/lib/wine/wine64}
built=${CARGO_TARGET_DIR:-target}
case $built in /*) ;; *) built=$here/../$built ;; esac
# LC_ALL: Wine takes file names of any letters where the locale has them.
export WINEPREFIX="$built/wine" WINEDEBUG=-all LC_ALL=C.UTF-8
if [ ! -f "$WINEPREFIX/made" ]; then
    "$here/need.sh" cmd:"$wine":wine64 cmd:x86_64-w64-mingw32-gcc-posix:gcc-mingw-w64-x86-64-posix
    mkdir -p "$WINEPREFIX"
    WINEPREFIX=$(realpath "$WINEPREFIX")
    "$wine" wineboot --init >/dev/null 2>&1 || { echo 'Wine does not start' >&2; exit 1; }
    # What every Windows 10 has, and Wine 8 has not.
    system=$WINEPREFIX/drive_c/windows/system32
    [ -f "$system/bcryptprimitives.dll" ] ||
        x86_64-w64-mingw32-gcc-posix -shared -static -o "$system/bcryptprimitives.dll" "$here/../tests/windows/bcryptprimitives.c" -ladvapi32
    : >"$WINEPREFIX/made"
fi
WINEPREFIX=$(realpath "$WINEPREFIX")
exec "$wine" "$@"
