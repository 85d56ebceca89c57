#!/bin/sh
# Builds the MATLAB interface against the installed package and tests it in Octave, examples and documentation included.
# usage: test_octave.sh INSTALLED BUILD_FOLDER
#   ISOC_TEST_RELEASE   set: of both ways to keep complex numbers, not just of the newer
set -eu
installed=$1 build=$2
project=$(pwd)
scripts/need.sh cmd:octave-cli:octave cmd:mkoctfile:octave-dev cmd:c++:g++
mkdir -p "$build/interleaved" "$build/separate parts" "$build/pictures"
build=$(cd "$build" && pwd) installed=$(cd "$installed" && pwd)

octave() {
    octave-cli --quiet --no-history --norc --path "$project/cbindings/matlab" --path "$project/tests/octave" --path "$build/$1" --eval "$2"
}

compile() {
    CXXFLAGS='-O1 -Wall -Wextra -Werror' octave "$1" "build_mex('Prefix', '$installed', 'Output', '$build/$1', 'Complex', '${1%% *}');"
}
compile interleaved & first=$!
[ -z "${ISOC_TEST_RELEASE:-}" ] || compile 'separate parts' # folders may have spaces
CXXFLAGS='-O1 -Wall -Wextra -Werror' mkoctfile --mex -DISOCENTER_OCTAVE "-I$installed/include" "-I$project/cbindings/matlab/src" "-L$installed/lib" \
    -lisocenter "-Wl,-rpath,$installed/lib" -o "$build/interleaved/in_matlab_mex.mex" tests/octave/in_matlab_mex.cpp
wait "$first"

octave interleaved "run_all('test_ct', 'test_iterative', 'test_mri', 'test_coils', 'test_cfl', 'test_shifts', 'test_pet', 'test_names', 'test_bad_input', 'test_mistakes', 'test_messages', 'test_random', 'test_callbacks', 'test_interrupt');"
# Alone: what others have given back would be taken without the process growing.
octave interleaved "run_all('test_memory');"
if [ -n "${ISOC_TEST_RELEASE:-}" ]; then
    echo "with real and imaginary parts apart:"
    octave 'separate parts' "run_all('test_mri', 'test_coils', 'test_bad_input', 'test_mistakes', 'test_random');"
fi
cd "$build/pictures"
octave interleaved "run_all('test_examples');"
