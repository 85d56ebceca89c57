#!/bin/sh
# Installs library, command, headers, pkg-config file, CMake package, examples, MATLAB's and Python's sources, pages and licences, and a manifest of
# them for uninstall.sh, but on Windows.
# usage: install.sh LIBRARY PREFIX    LIBRARY: libisocenter.so, or isocenter.dll
#   DESTDIR   goes before every path that is written to
#   LIBDIR, INCLUDEDIR, DATADIR   where libraries, headers and the rest go: PREFIX/lib, PREFIX/include, PREFIX/share
#   PROGRAM   the command isocenter, if it is to be installed, with licences of its own parts
#   IMPORTS   with a DLL, the import library that programs are linked with
#   NOTICES, SBOM   files of third-party notices and of the bill of materials; made by notices.py and sbom.py where these are not set
set -eu
export LC_ALL=C
library=$1 prefix=$2
libdir=${LIBDIR:-$prefix/lib} includedir=${INCLUDEDIR:-$prefix/include} datadir=${DATADIR:-$prefix/share}
root=${DESTDIR:-}
for folder in "$prefix" "$libdir" "$includedir" "$datadir"; do
    case $folder in /*) ;; *) echo "$folder is not an absolute path" >&2; exit 1 ;; esac
done
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
[ -n "$version" ] || { echo 'No version in Cargo.toml' >&2; exit 1; }
case $library in
    *.dll) # the ABI's number as build.rs makes it; nothing in the file says it
        case $version in 0.*) abi=${version%.*} ;; *) abi=${version%%.*} ;; esac ;;
    *)
        soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
        [ -n "$soname" ] || { echo "No soname in $library" >&2; exit 1; }
        abi=${soname#libisocenter.so.} ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The manifest has one path a line, folders with a slash at their end, relative to the prefix where they lie below it.
home=$datadir/isocenter manifest=$datadir/isocenter/manifest.txt
record() {
    case $1 in
        "$prefix"/*) printf '%s\n' "${1#"$prefix"/}" ;;
        *) printf '%s\n' "$1" ;;
    esac >>"$work/manifest"
}
folder() { # makes a folder, and those above it
    [ "$1" = / ] || [ -d "$root$1" ] && return
    folder "$(dirname "$1")"
    install -d -m 755 "$root$1"
    case $prefix/ in "$1"/*) ;; *) record "$1/" ;; esac # the prefix and what is above it are not ours
}
file() { # file MODE FROM FOLDER [NAME]
    folder "$3"
    install -m "$1" "$2" "$root$3/${4:-$(basename "$2")}"
    record "$3/${4:-$(basename "$2")}"
}
link() { # link TARGET FOLDER NAME
    ln -sf "$1" "$root$2/$3"
    record "$2/$3"
}
# from FOLDER PATH VARIABLE: how a file in FOLDER, which finds the prefix in VARIABLE, names PATH
from() {
    case $1/ in "$prefix"/*) case $2/ in "$prefix"/*) printf '%s' "$3${2#"$prefix"}"; return ;; esac ;; esac
    printf '%s' "$2"
}
fill() { # fill TEMPLATE FOLDER VARIABLE
    sed -e "s|@VERSION@|$version|" -e "s|@LOCATION@|$(from "$2" "$location" "$3")|" \
        -e "s|@LINKED@|$linked|" -e "s|@ABI@|$abi|" \
        -e "s|@ABI_PATTERN@|$(printf '%s' "$abi" | sed 's/\./\\\\\\\\./g')|" \
        -e "s|@PREFIX@|$(realpath -ms --relative-to="$2" "$prefix")|" \
        -e "s|@LIBDIR@|$(from "$2" "$libdir" "$3")|" -e "s|@INCLUDEDIR@|$(from "$2" "$includedir" "$3")|" "$1" >"$work/filled"
    file 644 "$work/filled" "$2" "$(basename "$1" .in)"
}

file 644 include/isocenter.h "$includedir"
file 644 include/isocenter.hpp "$includedir"
# Where the library is, and what else a linker has to know of it: CMake's words.
case $library in
    *.dll) # beside programs, where Windows looks
        location=$prefix/bin/isocenter.dll linked='IMPORTED_IMPLIB "@LIBDIR@/isocenter.lib"'
        file 755 "$library" "$prefix/bin" isocenter.dll
        file 644 "$IMPORTS" "$libdir" isocenter.lib ;;
    *)
        location=$libdir/libisocenter.so.$version linked="IMPORTED_SONAME \"$soname\""
        file 755 "$library" "$libdir" "libisocenter.so.$version"
        link "libisocenter.so.$version" "$libdir" "$soname"
        link "$soname" "$libdir" libisocenter.so ;;
esac
if [ -n "${PROGRAM:-}" ]; then file 755 "$PROGRAM" "$prefix/bin"; fi
fill cbindings/isocenter.pc.in "$libdir/pkgconfig" '${prefix}'
fill cbindings/cmake/isocenterConfig.cmake.in "$libdir/cmake/isocenter" '${_isocenter_prefix}'
fill cbindings/cmake/isocenterConfigVersion.cmake.in "$libdir/cmake/isocenter" '${_isocenter_prefix}'

tree() { # tree FROM FOLDER WORDS...: the files below FROM that find's WORDS choose
    (cd "$1" && shift 2 && find . -type f "$@" | sort) >"$work/tree"
    while read -r path; do
        file 644 "$1/$path" "$2/$(dirname "${path#./}")"
    done <"$work/tree"
}
tree cbindings/examples "$home/examples"
tree program/slurm "$home/slurm" # pages link to them
tree cbindings/matlab "$home/matlab" \( -name '*.m' -o -name '*.[ch]pp' -o -name '*.cc' \)
tree cbindings/python/isocenter "$home/python/isocenter" -name '*.py'
tree cbindings/python/examples "$home/python/examples" -name '*.py'
file 644 cbindings/python/pyproject.toml "$home/python"
file 644 cbindings/python/README.md "$home/python"

# The pages, their links to other parts of the project turned to where those lie now; measured figures are not installed.
pages=$datadir/doc/isocenter/pages
tree docs "$pages" \( -name '*.svg' -o -name '*.png' \)
to() { realpath -ms --relative-to="$pages" "$1"; }
for page in docs/*.md; do
    sed -e "s|](\.\./include/|]($(to "$includedir")/|g" -e "s|](\.\./cbindings/examples|]($(to "$home")/examples|g" -e "s|](\.\./cbindings/USING.md|]($(to "$datadir/doc/isocenter")/USING.md|g" \
        -e "s|](\.\./cbindings/python|]($(to "$home")/python|g" -e "s|](\.\./program/slurm|]($(to "$home")/slurm|g" -e 's|\[\([^]]*\)\](\.\./benches/[^)]*)|\1|g' "$page" >"$work/page"
    file 644 "$work/page" "$pages" "$(basename "$page")"
done

licences=$datadir/doc/isocenter
file 644 cbindings/USING.md "$licences"
file 644 LICENSE-MIT "$licences"
file 644 LICENSE-APACHE "$licences"
if [ -z "${NOTICES:-}" ]; then
    NOTICES=$work/notices
    python3 scripts/notices.py "$NOTICES"
fi
file 644 "$NOTICES" "$licences" THIRD-PARTY-NOTICES
[ -n "${SBOM:-}" ] || python3 scripts/sbom.py "${SBOM:=$work/sbom}"
file 644 "$SBOM" "$licences" isocenter.cdx.json
if [ -n "${PROGRAM:-}" ]; then
    python3 scripts/notices.py --program "$work/notices-program"
    file 644 "$work/notices-program" "$licences" THIRD-PARTY-NOTICES-PROGRAM
    python3 scripts/sbom.py "$work/sbom-program" --program
    file 644 "$work/sbom-program" "$licences" isocenter-program.cdx.json
fi
rust=$(rustc --print sysroot 2>/dev/null || true)/share/doc/rust/COPYRIGHT-library.html
if [ -f "$rust" ]; then file 644 "$rust" "$licences" rust-library.html; fi

case $library in *.dll) exit ;; esac # a folder that goes into a zip: nobody uninstalls from it, and Windows has no sh

# Files of an earlier installation stay on the list, so that nothing is forgotten.
file 755 scripts/uninstall.sh "$home"
record "$manifest"
{
    printf '# prefix: %s\n' "$(realpath -ms --relative-to="$home" "$prefix")"
    { grep -v '^#' "$root$manifest" 2>/dev/null || true; cat "$work/manifest"; } | sort -u
} >"$work/all"
install -m 644 "$work/all" "$root$manifest"
