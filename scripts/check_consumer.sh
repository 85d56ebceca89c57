#!/bin/sh
# Programs outside the project, built and run against a copy of the installed package that lies elsewhere: headers alone, C, C++ with
# and without exceptions, pkg-config, CMake, the HDF5 example; then the copy is uninstalled, which must leave no file.
# usage: check_consumer.sh INSTALLED BUILD_FOLDER
#   ISOC_TEST_RELEASE   set: by every standard and compiler that is there, under Valgrind, and with a measured scan
# shellcheck disable=SC2086,SC2046,SC2015 # lists of words; exit ends what comes before it
set -eu
installed=$1 build=$2 release=${ISOC_TEST_RELEASE:-}
scripts/need.sh cmd:cc:gcc cmd:c++:g++ cmd:pkg-config:pkg-config cmd:cmake:cmake pc:hdf5:libhdf5-dev
mkdir -p "$build"
build=$(cd "$build" && pwd)
rm -rf "${build:?}"/*
package=$build/moved
mkdir "$package"
grep -v '^#' "$installed/share/isocenter/manifest.txt" | tar -C "$installed" -cf - --no-recursion -T - | tar -C "$package" -xf -
examples=$package/share/isocenter/examples
lib=$package/$(sed -n 's|/libisocenter\.so$||p' "$installed/share/isocenter/manifest.txt")

export PKG_CONFIG_PATH="$lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
cc=${CC:-cc} cxx=${CXX:-c++}
cflags=$(pkg-config --cflags isocenter) libs="$(pkg-config --libs isocenter) -Wl,-rpath,$lib"
warnings='-Wall -Wextra -Wpedantic -Werror'
strict="$warnings -Wshadow -Wconversion"
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
compile() { # compile PROGRAM COMMAND...: begins to, beside others
    program=$1
    shift
    { "$@" $cflags -o "$build/$program" $libs || { echo "$program: does not build" >&2; exit 1; }; } &
    begun="${begun:-} $!"
}
built() { # waits for what has begun
    for job in $begun; do wait "$job" || exit 1; done
    begun=
}
passes() { # passes COMMAND...: its last line says that none failed
    output=$("$@" 2>&1) && echo "$output" | tail -n 1 | grep -q '[1-9][0-9]* passed, 0 failed' || { echo "$*:" "$output" >&2; exit 1; }
    echo "${1##*/}: $(echo "$output" | tail -n 1)"
}
drawn() { # drawn PICTURE: a header, 256 x 256 pixels, white in the disk and black in a corner
    [ -f "$1" ] && [ "$(head -c 15 "$1")" = 'P5 256 256 255' ] && [ "$(wc -c <"$1")" -eq 65551 ] &&
        [ "$(od -An -tu1 -j $((15 + 138 * 256 + 148)) -N1 "$1")" -gt 250 ] && [ "$(od -An -tu1 -j 15 -N1 "$1")" -lt 30 ]
}
reconstructs() { # reconstructs PROGRAM: the 20 lines find an attenuation of 1
    rm -f "$build/disk.pgm"
    printed=$(cd "$build" && "./$1")
    drawn "$build/disk.pgm" || { echo "$1: draws no picture" >&2; exit 1; }
    echo "$printed" | awk '{ exit !($NF > 0.99 && $NF < 1.01) }' || { echo "$1: $printed; expected 1" >&2; exit 1; }
    echo "$1: $printed"
}

scripts/check_needed.sh "$lib/libisocenter.so"

# Headers alone, without a warning. Every function of the C header is in the C++ one.
echo '#include <isocenter.h>' >"$build/alone.c"
echo '#include <isocenter.hpp>' >"$build/alone.cpp"
all() { # all FIRST WORD...: these words; where all variants are not asked for, the first
    [ -n "$release" ] && echo "$@" || echo "$1"
}
alone() { "$@" $strict $cflags -fsyntax-only || { echo "not clean: $*" >&2; exit 1; }; }
for compiler in $(all "$cc" clang); do
    command -v "$compiler" >/dev/null || continue
    for standard in $(all c99 c11 c17); do alone "$compiler" -std=$standard "$build/alone.c"; done
done
for compiler in $(all "$cxx" clang++); do
    command -v "$compiler" >/dev/null || continue
    for standard in $(all c++17 c++20); do
        alone "$compiler" -std=$standard "$build/alone.cpp"
        alone "$compiler" -std=$standard -fno-exceptions -fno-rtti "$build/alone.cpp"
    done
done
for function in $(grep -o '\bisoc_[a-z0-9_]*(' "$package/include/isocenter.h" | tr -d '(' | sort -u); do
    grep -q "\b$function\b" "$package/include/isocenter.hpp" || { echo "isocenter.hpp has no $function" >&2; exit 1; }
done
# Fields that the C++ header has as lists, or beside lists, are its own: each of C's is filled in.
fields() { # fields STRUCT: of the C header
    awk -v name="} $1;" '/^typedef struct \{$/ { n = 0 } /^    [^\/].*;$/ { sub(/;$/, "", $NF); sub(/^\*/, "", $NF); f[n++] = $NF }
        $0 == name { for (k = 0; k < n; k++) print f[k] }' "$package/include/isocenter.h"
}
for struct in isoc_context_options isoc_ct_geometry isoc_ct_options isoc_ct_flat_field_options isoc_pet_response isoc_pet_scan; do
    [ "$(fields $struct | wc -l)" -gt 8 ] || { echo "fields of $struct are not found" >&2; exit 1; }
    for field in $(fields $struct | grep -v '^reserved'); do
        grep -q "\bc_\?\.$field = " "$package/include/isocenter.hpp" || { echo "isocenter.hpp leaves out $struct.$field" >&2; exit 1; }
    done
done
echo 'headers: no warnings'

# The 20 lines of the README. C as C++ warns of the fields that an initialiser leaves out: that zero is what they are for.
compile recon_c99 "$cc" -std=c99 $warnings "$examples/c/recon_20_lines.c"
compile recon_cpp17 "$cxx" -std=c++17 $warnings "$examples/cpp/recon_20_lines.cpp"
if [ -n "$release" ]; then
    compile recon_c11 "$cc" -std=c11 $warnings "$examples/c/recon_20_lines.c"
    compile recon_c_as_cpp "$cxx" -std=c++20 $warnings -Wno-missing-field-initializers -x c++ "$examples/c/recon_20_lines.c" -x none
    compile recon_cpp20 "$cxx" -std=c++20 $warnings "$examples/cpp/recon_20_lines.cpp"
fi
scripts/page_links.py README.md CHANGELOG.md CONTRIBUTING.md docs/*.md cbindings/*.md "$package"/share/doc/isocenter/*.md "$package"/share/doc/isocenter/pages/*.md
PYTHONDONTWRITEBYTECODE=1 scripts/page_names.py README.md CONTRIBUTING.md docs/*.md cbindings/*.md
scripts/page_walks.py docs/code.md
# What the pages show is what works.
scripts/page_code.py README.md "$examples/cpp" "$build/readme.cpp"
scripts/page_code.py README.md "$examples/c" "$build/readme.c"
scripts/page_code.py docs/cpp.md "$examples/cpp" "$build/page_cpp.cpp"
scripts/page_code.py docs/c.md "$examples/c" "$build/page_c.c"
scripts/page_code.py docs/iterative.md "$examples/cpp" "$build/page_iterative.cpp"
scripts/page_code.py docs/iterative.md "$examples/c" "$build/page_iterative.c"
scripts/page_code.py docs/coils.md "$examples/c" "$build/page_coils.c"
scripts/page_errors.py docs/errors.md "$package/include/isocenter.h" "$build/page_errors.c"
compile page_cpp "$cxx" -std=c++17 $warnings "$build/page_cpp.cpp"
compile page_c "$cc" -std=c11 $warnings -g $sanitize -pthread "$build/page_c.c" -lm
compile iterative_cpp "$cxx" -std=c++17 $warnings "$build/page_iterative.cpp"
compile iterative_c "$cc" -std=c11 $warnings -g $sanitize "$build/page_iterative.c"
compile coils_c "$cc" -std=c11 $warnings -g $sanitize "$build/page_coils.c"
compile page_errors "$cc" -std=c11 $warnings "$build/page_errors.c"
built
for program in recon_c99 recon_cpp17 ${release:+recon_c11 recon_c_as_cpp recon_cpp20}; do reconstructs $program; done
for page in page_cpp page_c iterative_cpp iterative_c coils_c; do
    output=$("$build/$page" 2>&1) || { echo "$page: the code of this page does not run:" "$output" >&2; exit 1; }
done
"$build/page_errors"
# The three commands that docs/c.md and docs/cpp.md begin with, but for the first, which installs.
mkdir "$build/home" && ln -s "$package" "$build/home/isocenter"
for page in docs/c.md docs/cpp.md; do
    commands=$(sed -n '/^    make install/,/^$/p' $page | sed '1d; $d')
    [ "$(echo "$commands" | grep -c .)" -eq 2 ] || { echo "$page: begins with other than three commands" >&2; exit 1; }
    printed=$(cd "$build/home" && HOME=$build/home sh -ec "$commands") || { echo "$page: its commands fail" >&2; exit 1; }
    printed=$(echo "$printed" | grep attenuation)
    drawn "$build/home/disk.pgm" || drawn "$build/home/build/disk.pgm" || { echo "$page: its commands draw no picture" >&2; exit 1; }
    rm -f "$build/home/disk.pgm"
    case $(cat $page) in *"\`$printed\`"*) ;; *) echo "$page: its commands print: $printed" >&2; exit 1 ;; esac
done

# isocenter.hpp: with exceptions, without, and without in a program that has them.
compile throwing17 "$cxx" -std=c++17 $strict -g $sanitize -pthread tests/cpp/throwing.cpp
compile returning20 "$cxx" -std=c++20 $strict -g $sanitize -DISOCENTER_NO_EXCEPTIONS tests/cpp/returning.cpp
compile lists20 "$cxx" -std=c++20 $strict -g $sanitize -fno-exceptions -fno-rtti tests/cpp/lists.cpp
if [ -n "$release" ]; then
    compile throwing20 "$cxx" -std=c++20 $strict -pthread tests/cpp/throwing.cpp
    compile returning17 "$cxx" -std=c++17 $strict -g -fno-exceptions -fno-rtti tests/cpp/returning.cpp
    compile lists17 "$cxx" -std=c++17 $strict -g $sanitize tests/cpp/lists.cpp
fi
# What must not compile does not, and compilers say why; without a mistake it does. -fsyntax-only: nothing is linked.
for compiler in $(all "$cxx" clang++); do
    command -v "$compiler" >/dev/null || continue
    refused() { "$compiler" -std=c++17 $strict $cflags -fsyntax-only -DMISTAKE="$1" tests/cpp/refused.cpp 2>&1; }
    refused 0 || { echo 'refused.cpp does not compile without a mistake' >&2; exit 1; }
    while read -r number who words; do
        [ "$who" = any ] || "$compiler" --version | grep -q "$who" || continue
        ! said=$(refused "$number") && echo "$said" | grep -qF "$words" ||
            { printf '%s\n' "$compiler: refused.cpp, mistake $number, expected: $words" "$said" >&2; exit 1; }
    done <<END
$(sed -n 's|^#.*MISTAKE == \([0-9]*\) // \([a-z]*\): |\1 \2 |p' tests/cpp/refused.cpp)
END
done
echo "refused: $(grep -c 'MISTAKE ==' tests/cpp/refused.cpp) mistakes do not compile"
# The library is not built for ThreadSanitizer: what it does with its own threads is left out.
export TSAN_OPTIONS=ignore_noninstrumented_modules=1
threads=
echo 'int main() { return 0; }' >"$build/probe.cpp"
if "$cxx" -fsanitize=thread "$build/probe.cpp" -o "$build/probe" 2>/dev/null && "$build/probe" 2>/dev/null; then
    threads=-fsanitize=thread
else
    [ -z "${CI:-}" ] || { echo 'ThreadSanitizer does not work' >&2; exit 1; }
    echo 'skipped: ThreadSanitizer does not work here; threads run without it'
fi
compile threads "$cxx" -std=c++17 $strict -g $threads -pthread tests/cpp/threads.cpp
built
for program in throwing17 returning20 lists20 threads ${release:+throwing20 returning17 lists17}; do passes "$build/$program"; done
# Threads that are still ending and tables that live as long as the library are "possibly lost": no leak.
if [ -n "$release" ] && command -v valgrind >/dev/null; then
    for program in recon_c99 returning17; do
        (cd "$build" && valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect \
            --show-leak-kinds=definite,indirect "./$program" >/dev/null)
        echo "$program: no fault or leak under valgrind"
    done
fi

# The examples' own CMake project, out of the installed folder; then its program that streams from HDF5 to HDF5, on scans with a known
# answer.
cmake -S "$examples" -B "$build/cmake" -DCMAKE_PREFIX_PATH="$package" -DCMAKE_CXX_FLAGS="$strict" >"$build/cmake.log" 2>&1 &&
    cmake --build "$build/cmake" -j 2 >>"$build/cmake.log" 2>&1 && (cd "$build/cmake" && ctest >>"$build/cmake.log" 2>&1) ||
    { cat "$build/cmake.log" >&2; exit 1; }
grep -q "^isocenter_DIR.*=$package/" "$build/cmake/CMakeCache.txt" || { echo "CMake found another package" >&2; exit 1; }
echo 'CMake: builds and runs'
compile scan_files "$cxx" -std=c++17 $strict -I"$examples/cpp" tests/cpp/scan_files.cpp $(pkg-config --cflags --libs hdf5)
built
"$build/scan_files" write "$build" >/dev/null
for scan in nxtomo exchange; do
    "$build/cmake/stream_hdf5" "$build/$scan.h5" "$build/volume.h5" >/dev/null
    passes "$build/scan_files" check "$build/volume.h5" 0 6
    "$build/cmake/stream_hdf5" "$build/$scan.h5" "$build/volume.h5" --rows 2 3 --memory 1 >/dev/null
    passes "$build/scan_files" check "$build/volume.h5" 2 3
    # The program of docs/cpp.md, which finds the axis.
    "$build/cmake/measured" "$build/$scan.h5" "$build/volume.h5" >/dev/null 2>&1
    passes "$build/scan_files" check "$build/volume.h5" 0 6
    "$build/cmake/measured" "$build/$scan.h5" "$build/part.h5" 20 44 16 51 >/dev/null 2>&1
    passes "$build/scan_files" part "$build/volume.h5" "$build/part.h5" 20 44 16 51
done

# What fails on the way leaves what was there: a volume that grows beyond the largest file that the shell allows; 98 304 bytes of data,
# in units of 512 or 1024.
for program in measured stream_hdf5; do
    cp "$build/volume.h5" "$build/kept.h5"
    status=0
    said=$(trap '' XFSZ; ulimit -f 40; "$build/cmake/$program" "$build/nxtomo.h5" "$build/kept.h5" 2>&1) || status=$?
    [ "$status" -eq 1 ] && echo "$said" | grep -q 'kept.h5 cannot be written$' && cmp "$build/volume.h5" "$build/kept.h5" && [ ! -e "$build/kept.h5.part" ] ||
        { echo "$program: an error while it writes, status $status:" "$said" >&2; exit 1; }
    ! said=$("$build/cmake/$program" "$build/none.h5" "$build/kept.h5" 2>&1) && [ "$(echo "$said" | grep -c .)" -eq 1 ] ||
        { echo "$program: of a scan that is not there:" "$said" >&2; exit 1; }
done
"$build/cmake/stream_hdf5" "$build/nxtomo.h5" "$build/volume.h5" | head -n 1 | grep -q 'bin 31.50, is taken$' ||
    { echo 'stream_hdf5 does not begin with the axis that it takes' >&2; exit 1; }

# A measured scan, where it is there and all variants are asked for: its axis and a region. Then the same with Ctrl-C at its first report.
tooth=../shared/data/ct/tooth.h5
if [ -z "$release" ]; then
    : # a demonstration shows one
elif [ -f "$tooth" ]; then
    printed=$("$build/cmake/measured" "$tooth" "$build/volume.h5" 2>/dev/null | tail -n 1)
    echo "$printed" | awk '{ exit !(/2 slices of 640 x 640/ && $NF > 295 && $NF < 296.5) }' || { echo "measured: $printed" >&2; exit 1; }
    "$build/cmake/measured" "$tooth" "$build/part.h5" 200 470 190 480 >/dev/null 2>&1
    passes "$build/scan_files" part "$build/volume.h5" "$build/part.h5" 200 470 190 480
    mkfifo "$build/reports"
    "$build/cmake/measured" "$tooth" "$build/part.h5" >/dev/null 2>"$build/reports" & measured=$!
    exec 9<"$build/reports"
    head -c 1 <&9 >/dev/null
    kill -INT $measured
    status=0 && wait $measured || status=$?
    [ "$status" -eq 130 ] && tr '\r' '\n' <&9 | grep -q '^cancelled$' || { echo "measured: Ctrl-C gives status $status" >&2; exit 1; }
    exec 9<&-
    [ ! -e "$build/part.h5.part" ] || { echo 'measured: Ctrl-C leaves part of a volume' >&2; exit 1; }
    echo 'measured: reads a scan, and Ctrl-C cancels it'
else
    echo "skipped: $tooth is not there"
fi

# The examples that only demonstrations run build, where the libraries are that they use besides.
if pkg-config --exists cairo hdf5 libtiff-4; then
    for example in "$examples"/c/*.c; do
        [ "${example##*/}" = cuda_share.c ] || "$cc" -std=c11 -Wall -Wextra -DWITH_TIFF -fsyntax-only $cflags $(pkg-config --cflags cairo hdf5 libtiff-4) "$example" ||
            { echo "$example does not build" >&2; exit 1; }
    done
    echo 'examples in C: all build'
fi

# The example for CUDA programs builds where CUDA's headers are; it runs on a GPU.
for cuda in "${CUDA_HOME:-}" "${ISOC_NVCC:+$(dirname "${ISOC_NVCC:-}")/..}" target/cuda/nvidia/cu13; do
    [ -n "$cuda" ] && [ -f "$cuda/include/cuda.h" ] || continue
    "$cc" -std=c11 $warnings -c "$examples/c/cuda_share.c" $cflags -isystem "$cuda/include" -o "$build/cuda_share.o"
    echo 'cuda_share: builds'
    break
done

"$package/share/isocenter/uninstall.sh" >/dev/null
left=$(find "$package" ! -type d) # folders that were there before stay
[ -z "$left" ] || { echo "uninstall.sh left: $left" >&2; exit 1; }
echo 'uninstall: no file is left'
