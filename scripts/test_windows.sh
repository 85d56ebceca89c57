#!/bin/sh
# Makes the zip for Windows, and runs programs in C and C++ against it under Wine; with `all` the Rust tests too.
# usage: test_windows.sh [all]
#   WINE      Wine's loader, for programs of 64 bits; Debian's by default
# shellcheck disable=SC2086,SC2046,SC2015 # lists of words; exit ends what comes before it
set -eu
cd "$(dirname "$0")/.."
export WINE="${WINE:-/usr/lib/wine/wine64}"
scripts/need.sh cmd:x86_64-w64-mingw32-gcc-posix:gcc-mingw-w64-x86-64-posix cmd:x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix \
    cmd:"$WINE":wine64 cmd:cmake:cmake cmd:pkg-config:pkg-config cmd:lld-link:lld
scripts/windows_zip.sh
built=${CARGO_TARGET_DIR:-target}
mkdir -p "$built/windows"
build=$(cd "$built/windows" && pwd)
rm -rf "${build:?}"/*
cc=x86_64-w64-mingw32-gcc-posix cxx=x86_64-w64-mingw32-g++-posix
warnings='-Wall -Wextra -Wpedantic -Werror'
strict="$warnings -Wshadow -Wconversion"

# A Windows of the tests' own. LC_ALL: Wine takes file names of any letters where the locale has them.
export WINEPREFIX="$built/wine" WINEDEBUG=-all LC_ALL=C.UTF-8
case $WINEPREFIX in /*) ;; *) WINEPREFIX=$(pwd)/$WINEPREFIX ;; esac
[ -f "$WINEPREFIX/system.reg" ] || { mkdir -p "$WINEPREFIX" && "$WINE" wineboot --init >/dev/null 2>&1; } || { echo 'Wine does not start' >&2; exit 1; }
system=$WINEPREFIX/drive_c/windows/system32
# What every Windows 10 has, and Wine 8 has not.
[ -f "$system/bcryptprimitives.dll" ] ||
    $cc -shared -static -o "$system/bcryptprimitives.dll" tests/windows/bcryptprimitives.c -ladvapi32

# The zip, unpacked elsewhere, in a folder with a space and letters beyond ASCII.
home="$build/Größe äöü"
python3 -m zipfile -e target/dist/isocenter-*-windows-x86_64.zip "$home"
package=$(echo "$home"/isocenter-*)
ln -s "$package" "$build/package" # compilers and pkg-config get a name without a space
package=$build/package
windows() { printf 'Z:%s' "$1" | tr / '\134'; } # a path as Windows' programs read it
WINEPATH=$(windows "$package/bin")
export WINEPATH PKG_CONFIG_LIBDIR="$package/lib/pkgconfig"
cflags=$(pkg-config --cflags isocenter) libs=$(pkg-config --libs isocenter)

# -static: their own runtime is part of the programs.
compile() { # compile PROGRAM COMMAND...
    program=$1
    shift
    "$@" $cflags -o "$build/$program" -static $libs || { echo "$program: does not build" >&2; exit 1; }
}
passes() { # passes PROGRAM WORD...: its last line says that none failed
    name=$1
    shift
    output=$(cd "$build" && "$WINE" "./$name" "$@" 2>&1) && echo "$output" | tail -n 1 | grep -q '[1-9][0-9]* passed, 0 failed' ||
        { echo "$name:" "$output" >&2; exit 1; }
    echo "$name: $(echo "$output" | tail -n 1 | tr -d '\r')"
}

# Headers alone, and behind Windows' own, which have macros for many a word.
for before in '' '#include <windows.h>'; do
    printf '%s\n#include <isocenter.h>\n' "$before" >"$build/alone.c"
    printf '%s\n#include <isocenter.hpp>\n' "$before" >"$build/alone.cpp"
    for standard in c99 c11 c17; do $cc -std=$standard $strict $cflags -fsyntax-only "$build/alone.c"; done
    for standard in c++17 c++20; do $cxx -std=$standard $strict $cflags -fsyntax-only "$build/alone.cpp"; done
done
echo 'headers: no warnings'

for test in bad_input handles iterative lifetimes mri pet region stream; do
    compile $test.exe $cc -std=gnu11 $warnings -O1 -pthread tests/c/$test.c
done
compile throwing.exe $cxx -std=c++17 $strict tests/cpp/throwing.cpp
compile returning.exe $cxx -std=c++17 $strict -fno-exceptions -fno-rtti tests/cpp/returning.cpp
compile lists.exe $cxx -std=c++17 $strict tests/cpp/lists.cpp
compile threads.exe $cxx -std=c++17 $strict -pthread tests/cpp/threads.cpp
for test in bad_input handles iterative mri pet region stream throwing returning lists threads; do passes $test.exe; done
ISOC_TEST_ROUNDS=${1:+3000}
export ISOC_TEST_ROUNDS="${ISOC_TEST_ROUNDS:-300}"
passes lifetimes.exe

# Loaded at run time from a path with any letters; unloaded while its threads run, and by a DLL that holds a context.
compile load.exe $cc -std=gnu11 $warnings -municode tests/windows/load.c
compile plugin.dll $cxx -std=c++17 $strict -shared tests/windows/plugin.cpp
mv "$build/plugin.dll" "$home/"
WINEPATH='' passes load.exe "$(windows "$(realpath "$package")/bin/isocenter.dll")" "$(windows "$home/plugin.dll")"

# The import library, by a linker that reads Microsoft's kind alone.
printf 'unsigned isoc_abi_version(void);\nint begin(void) { return (int)isoc_abi_version(); }\n' >"$build/abi.c"
$cc -ffreestanding -c "$build/abi.c" -o "$build/abi.obj"
lld-link -entry:begin -subsystem:console -nodefaultlib "-out:$build/abi.exe" "$build/abi.obj" "$package/lib/isocenter.lib"
status=0
"$WINE" "$build/abi.exe" || status=$?
[ $status -eq "$(sed -n 's/^#define ISOC_ABI_VERSION //p' include/isocenter.h)" ] || { echo "abi.exe: $status" >&2; exit 1; }
echo 'abi.exe: linked by lld-link'

# Without a driver, and with drivers that do not serve.
compile probe.exe $cc -std=c11 $warnings tests/c/driver/probe.c
probe() { # probe STATUS WORDS
    said=$(cd "$build" && "$WINE" ./probe.exe | tr -d '\r')
    case $said in "$1: "*"$2"*"auto 0") ;; *) echo "probe.exe, expected $1 and $2:" "$said" >&2; exit 1 ;; esac
}
driver() { $cc -shared -static -DVERSION="$1" -DINIT="$2" tests/c/driver/stub.c -o "$build/nvcuda.dll"; }
probe 24 'the library nvcuda.dll was not found'
driver 12080 0
probe 25 'CUDA 12.8'
driver 13000 100
probe 24 'no GPU'
driver 13000 0
probe 24 'no GPU'
driver 13000 999
probe 27 'what the stub says'
rm "$build/nvcuda.dll"
echo 'probe.exe: no driver, and four that do not serve'

# The examples' own CMake project: the 20 lines of the README in C and C++.
unset WINEPATH # the project puts the DLL beside them
cmake -S "$package/share/isocenter/examples" -B "$build/cmake" --toolchain "$(pwd)/tests/windows/toolchain.cmake" \
    -DCMAKE_PREFIX_PATH="$package" >"$build/cmake.log" 2>&1 &&
    cmake --build "$build/cmake" -j 2 >>"$build/cmake.log" 2>&1 && (cd "$build/cmake" && ctest >>"$build/cmake.log" 2>&1) ||
    { cat "$build/cmake.log" >&2; exit 1; }
grep '% tests passed' "$build/cmake.log" | sed 's/^/CMake: /'

[ "${1:-}" = all ] || exit 0
unset ISOC_TEST_ROUNDS
CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$WINE ${CARGO:-cargo} test --release --target x86_64-pc-windows-gnu
