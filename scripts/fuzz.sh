#!/usr/bin/env bash
# Lets libFuzzer look for sessions at the C boundary that break the library, and for files and texts that break the program's readers, under
# AddressSanitizer, beginning with those in fuzz/corpus.
# usage: fuzz.sh SECONDS [--keep] [--runs N] [TARGET...]    all targets by default, SECONDS each
#   TARGET    ct, mri, pet: sessions; filters, tiff, edf, folder, par, options, plan, table, hdf5, petsird: readers, which may take 1 GB
#   --keep    writes the corpora anew: the fewest sessions that reach all the code that those found so far reach
#   --runs    ends after so many
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh cmd:c++:g++ pc:hdf5:libhdf5-dev
seconds=$1
shift
keep= runs=-1
if [ "${1:-}" = --keep ]; then keep=yes && shift; fi
if [ "${1:-}" = --runs ]; then runs=$2 && shift 2; fi
[ $# -gt 0 ] || set -- ct mri pet filters tiff edf folder par options plan table hdf5 petsird
tools=$PWD/target/tools work=$PWD/target/fuzz

if [ ! -x "$tools/bin/cargo-fuzz" ]; then
    ${CARGO:-cargo} install --quiet --locked --root "$tools" cargo-fuzz@0.13.1
fi
# The sanitizers are unstable options of a stable compiler. Without GPU kernels: sessions run on the processor.
export PATH=$tools/bin:$PATH RUSTC_BOOTSTRAP=1 ISOC_NVCC=none CARGO_TARGET_DIR=$work/build
# A size that no memory has is an error that the caller hears of, as without the sanitizer.
export ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=64
# Readers write files that they read, in memory where there is such a file system.
TMPDIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
export TMPDIR HDF5_USE_FILE_LOCKING=FALSE
trap 'rm -rf "$TMPDIR"' EXIT
fuzz() { # fuzz TARGET WORDS...: words of libFuzzer's
    local memory=()
    case $1 in ct | mri | pet) ;; *) memory=(-rss_limit_mb=1024 -malloc_limit_mb=1024) ;; esac
    cargo fuzz run --codegen-units 16 "$1" -- "${memory[@]}" "${@:2}"
}
# A corpus of libFuzzer's is a folder with a file a session; ours is a text file with a line of hexadecimal digits a session.
unpack() {
    python3 -c 'import hashlib, pathlib, sys
for line in open(sys.argv[1]):
    session = bytes.fromhex(line)
    (pathlib.Path(sys.argv[2]) / hashlib.sha1(session).hexdigest()).write_bytes(session)' "$@"
}
pack() {
    python3 -c 'import pathlib, sys
sessions = (f.read_bytes().hex() for f in pathlib.Path(sys.argv[1]).iterdir())
pathlib.Path(sys.argv[2]).write_text("".join(s + "\n" for s in sorted(sessions, key=lambda s: (len(s), s))))' "$@"
}

for target in "$@"; do
    mkdir -p "$work/corpus/$target"
    unpack "fuzz/corpus/$target.txt" "$work/corpus/$target"
    fuzz "$target" "$work/corpus/$target" -max_total_time="$seconds" -runs="$runs" -max_len=1024 -len_control=0 \
        -artifact_prefix="$work/found-$target-" -print_final_stats=1
    if [ -n "$keep" ]; then
        rm -rf "$work/merged"
        mkdir "$work/merged"
        fuzz "$target" "$work/merged" "$work/corpus/$target" -merge=1 -use_counters=0
        pack "$work/merged" "fuzz/corpus/$target.txt"
    fi
done
# cargo-fuzz makes folders that stay empty.
find fuzz/corpus fuzz/artifacts -type d -empty -delete
