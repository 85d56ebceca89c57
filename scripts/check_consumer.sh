#!/bin/sh
# Programs outside the project build against the installed package, without warnings, as C and as C++, and run.
# usage: check_consumer.sh INSTALLED BUILD_FOLDER
set -eu
installed=$1 build=$2 examples=cbindings/examples/c
warnings='-O2 -g -Wall -Wextra -Wpedantic -Werror'
export PKG_CONFIG_PATH="$installed/lib/pkgconfig"
cflags=$(pkg-config --cflags isocenter) libs="$(pkg-config --libs isocenter) -Wl,-rpath,$installed/lib"
mkdir -p "$build"

# shellcheck disable=SC2086 # lists of words, here and below
${CC:-cc} -std=c99 $warnings $cflags $examples/recon_20_lines.c -o "$build/recon_c" $libs
# shellcheck disable=SC2086 # C++ warns of the fields that an initialiser leaves out: that zero is what they are for
${CXX:-c++} -std=c++20 $warnings -Wno-missing-field-initializers $cflags -x c++ $examples/recon_20_lines.c -x none -o "$build/recon_cpp" $libs
for program in recon_c recon_cpp; do
    printed=$("$build/$program")
    echo "$program: $printed"
    echo "$printed" | awk '{ exit !($NF > 0.99 && $NF < 1.01) }' || { echo "$program: expected an attenuation of 1" >&2; exit 1; }
done
# Threads that are still ending and tables that live as long as the library are "possibly lost": no leak.
if command -v valgrind >/dev/null; then
    valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect \
        --show-leak-kinds=definite,indirect "$build/recon_c" >/dev/null
    echo "recon_c: no fault or leak under valgrind"
fi
