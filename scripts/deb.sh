#!/bin/sh
# Makes target/debs/*.deb, for Debian, Ubuntu and their kin: libisocenter0.1 (the library; two ABIs can be installed side by side),
# libisocenter-dev (headers, pkg-config, CMake, sources for Python and MATLAB, examples, pages), and, of this machine's own architecture, isocenter
# (the command) and octave-isocenter (classes for this release's Octave). The same source gives the same bytes.
# usage: deb.sh linux-x86_64|linux-aarch64
# shellcheck disable=SC2086 # lists of words
set -eu
export LC_ALL=C
platform=${1:-}
case $platform in
    linux-x86_64) arch=amd64 multi=x86_64-linux-gnu ;;
    linux-aarch64) arch=arm64 multi=aarch64-linux-gnu ;;
    *) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2 ;;
esac
scripts/need.sh cmd:dpkg-deb:dpkg cmd:dpkg-shlibdeps:dpkg-dev cmd:readelf:binutils
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
program=${CARGO_TARGET_DIR:-target}/release/isocenter
native=
if [ "$(dpkg --print-architecture)" = $arch ]; then
    native=yes
    scripts/need.sh cmd:cc:gcc cmd:pkg-config:pkg-config pc:hdf5:libhdf5-dev cmd:octave-cli:octave cmd:mkoctfile:octave-dev
    ${CARGO:-cargo} build --release -p isocenter-program
fi
scripts/build_for.sh $platform
library=target/for/$platform/library
soname=$(readelf -d $library | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
abi=${soname#libisocenter.so.}

out=$(pwd)/target/debs work=$(pwd)/target/debs/work
mkdir -p "$out"
rm -rf "$work" "$out"/*_"$arch.deb"
notices=target/for/$platform/notices
mkdir -p "$work/debian"
NOTICES=$notices SBOM=target/for/$platform/sbom PROGRAM=${native:+$program} DESTDIR=$work/all LIBDIR=/usr/lib/$multi INCLUDEDIR=/usr/include DATADIR=/usr/share scripts/install.sh $library /usr
rm "$work/all/usr/share/isocenter/manifest.txt" "$work/all/usr/share/isocenter/uninstall.sh" # dpkg does that

take() { # take PACKAGE PATH...: moves what was installed into a package
    for path in $2; do
        mkdir -p "$work/$1$(dirname "$path")"
        mv "$work/all$path" "$work/$1$path"
    done
}
package() { # package NAME SECTION DEPENDS SUMMARY NOTICES [DESCRIPTION LINE]...
    root=$work/$1 name=$1 section=$2 depends=$3 summary=$4 also=$5
    shift 5
    mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$name"
    cat LICENSE-MIT LICENSE-APACHE $also >"$root/usr/share/doc/$name/copyright"
    {
        printf '%s\n' "Package: $name" "Version: $version" "Architecture: $arch" "Section: $section" 'Priority: optional' \
            'Maintainer: The Isocenter project <isocenter@example.invalid>' "Installed-Size: $(du -k -s --apparent-size "$root" | cut -f 1)" \
            "Depends: $depends" "Description: $summary"
        printf ' %s\n' "$@"
    } >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f | sort | xargs -d '\n' md5sum >DEBIAN/md5sums)
    chmod -R u=rwX,go=rX "$root"
    dpkg-deb --root-owner-group -Zxz --build "$root" "$out/${name}_${version}_$arch.deb" >/dev/null
}
needs() { # needs FILE...: the packages whose libraries these use
    echo 'Source: isocenter' >"$work/debian/control"
    (cd "$work" && dpkg-shlibdeps -O "$@" 2>/dev/null) | sed 's/^shlibs:Depends=//'
}

lib=/usr/lib/$multi
if [ -n "$native" ]; then
    take isocenter "/usr/bin/isocenter /usr/share/isocenter/slurm"
    mv "$work/all/usr/share/doc/isocenter/THIRD-PARTY-NOTICES-PROGRAM" "$work/notices-program"
    # The build-id hashes lines of debugging, and these the folder.
    strip --strip-unneeded --remove-section=.note.gnu.build-id "$work/isocenter/usr/bin/isocenter"
    package isocenter science "$(needs "$work/isocenter/usr/bin/isocenter")" 'image reconstruction for scanners: the command' "$work/notices-program" \
        'Takes tomography scans from the file that the beamline wrote (NXtomo, Data' 'Exchange, EDF, TIFF) to a volume: axis, phase, rings, reconstruction on GPUs' \
        'or the processor, in one command.'
fi
take libisocenter$abi "$lib/libisocenter.so.$version $lib/$soname"
mkdir "$work/libisocenter$abi/DEBIAN"
echo 'activate-noawait ldconfig' >"$work/libisocenter$abi/DEBIAN/triggers"
echo "libisocenter $abi libisocenter$abi (>= $version)" >"$work/libisocenter$abi/DEBIAN/shlibs"
package libisocenter$abi libs 'libc6 (>= 2.28)' 'image reconstruction for scanners: the library' "$notices" \
    'Parallel-beam CT, time-of-flight PET and non-Cartesian MRI behind a C API, on the' 'processor and on NVIDIA GPUs (whose driver, 580 or newer, is all that they need).'
mv "$work/all" "$work/libisocenter-dev"
package libisocenter-dev libdevel "libisocenter$abi (= $version)" 'image reconstruction for scanners: for programs that use the library' '' \
    'Headers for C and C++, files for pkg-config and CMake, examples, pages, and the' 'sources of the bindings for Python, MATLAB and Octave.'

if [ -n "$native" ]; then
    # Octave's pkg installs it against what these packages hold.
    scripts/octave_pkg.sh system "$work/octave.tar.gz" >/dev/null
    dev=$work/libisocenter-dev/usr octave=$work/octave-isocenter/usr
    mkdir -p "$octave/share/octave/packages" "$octave/lib/$multi/octave/packages" "$work/link/lib" "$work/link/pkgconfig"
    cp $library "$work/link/lib/$soname"
    ln -s $soname "$work/link/lib/libisocenter.so"
    printf '%s\n' 'Name: isocenter' 'Description: as built' "Version: $version" "Cflags: -I$dev/include" "Libs: -L$work/link/lib -lisocenter" >"$work/link/pkgconfig/isocenter.pc"
    PKG_CONFIG_PATH=$work/link/pkgconfig LD_LIBRARY_PATH=$work/link/lib octave-cli --quiet --no-history --norc --eval "
        pkg prefix $octave/share/octave/packages $octave/lib/$multi/octave/packages;
        pkg local_list $work/octave_packages;
        pkg('install', '-nodeps', '$work/octave.tar.gz');"
    find "$octave" -name '*.mex' -o -name '*.oct' | xargs -d '\n' strip --strip-unneeded --remove-section=.note.gnu.build-id
    api=$(octave-cli --quiet --no-history --norc --eval "printf('%s', strrep(__octave_config_info__('api_version'), 'api-v', ''))")
    package octave-isocenter math "libisocenter$abi (>= $version), octave-abi-$api" 'image reconstruction for scanners: classes for Octave' '' \
        'isocenter.CT, isocenter.PET and isocenter.MRI; pkg load isocenter.'
fi
rm -rf "$work"
ls -l "$out"/*_"$arch.deb"
