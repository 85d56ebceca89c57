#!/bin/sh
# Makes the zip for Windows, and runs programs in C and C++ against it under Wine; with `all` the Rust tests too.
# usage: test_windows.sh [all]
# shellcheck disable=SC2086,SC2046,SC2015 # lists of words; exit ends what comes before it
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
wine=$(pwd)/scripts/wine.sh
scripts/need.sh cmd:x86_64-w64-mingw32-gcc-posix:gcc-mingw-w64-x86-64-posix cmd:x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix \
    cmd:cmake:cmake cmd:pkg-config:pkg-config cmd:lld-link:lld \
    cmd:mkoctfile:octave-dev
scripts/windows_zip.sh
built=${CARGO_TARGET_DIR:-target}
mkdir -p "$built/windows"
build=$(cd "$built/windows" && pwd)
rm -rf "${build:?}"/*
cc=x86_64-w64-mingw32-gcc-posix cxx=x86_64-w64-mingw32-g++-posix
warnings='-Wall -Wextra -Wpedantic -Werror'
strict="$warnings -Wshadow -Wconversion"

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
    output=$(cd "$build" && "$wine" "./$name" "$@" 2>&1) && echo "$output" | tail -n 1 | grep -q '[1-9][0-9]* passed, 0 failed' ||
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

for test in bad_input coils handles iterative lifetimes mri pet region stream; do
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
"$wine" "$build/abi.exe" || status=$?
[ $status -eq "$(sed -n 's/^#define ISOC_ABI_VERSION //p' include/isocenter.h)" ] || { echo "abi.exe: $status" >&2; exit 1; }
echo 'abi.exe: linked by lld-link'

# MATLAB's gateway, as far as it goes without MATLAB: Octave's header has the same functions, and what MATLAB would bring is made up of their names.
for source in cbindings/matlab/src/*.cpp; do
    $cxx -std=c++17 $warnings $cflags "-I$(mkoctfile -p OCTINCLUDEDIR)" -c "$source" -o "$build/mex_$(basename "$source" .cpp).o"
done
{
    printf 'LIBRARY libmex.dll\nEXPORTS\n'
    x86_64-w64-mingw32-nm -u "$build"/mex_*.o | sed -n 's/.* U \(\(mx\|mex\|ut\)[A-Z].*\)/\1/p' | sort -u
} >"$build/mex.def"
x86_64-w64-mingw32-dlltool -d "$build/mex.def" -l "$build/libmex.a"
$cxx -shared -static -o "$build/isocenter_mex.mexw64" "$build"/mex_*.o $libs "$build/libmex.a"
x86_64-w64-mingw32-objdump -p "$build/isocenter_mex.mexw64" >"$build/said"
for word in 'DLL Name: isocenter.dll' 'DLL Name: libmex.dll' 'mexFunction$'; do
    grep -q "$word" "$build/said" || { echo "isocenter_mex.mexw64 has no $word" >&2; exit 1; }
done
echo 'isocenter_mex.mexw64: compiled and linked'

# Without a driver, and with drivers that do not serve.
compile probe.exe $cc -std=c11 $warnings tests/c/driver/probe.c
probe() { # probe STATUS WORDS
    said=$(cd "$build" && "$wine" ./probe.exe | tr -d '\r')
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
CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine ${CARGO:-cargo} test --release --target x86_64-pc-windows-gnu --workspace --exclude isocenter-program --exclude isocenter-benches
