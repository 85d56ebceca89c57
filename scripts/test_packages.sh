#!/bin/sh
# Installs packages as a user would, each in an environment of its own that has nothing of this folder in it, and reconstructs with them.
# usage: test_packages.sh wheel|wheel-baseline|wheel-aarch64|wheel-windows|octave|deb|fetch...
#   wheel             make wheel's in a fresh virtual environment
#   wheel-baseline    the same on an emulated processor that has no AVX
#   wheel-aarch64     the same on an emulated 64-bit Arm
#   wheel-windows     the same on Windows, under Wine, in a folder with letters beyond ASCII; then the tests of the Python package
#   octave            make octave-pkg's, by pkg install
#   deb               make deb's, in a Debian made by debootstrap (as root): a C program by pkg-config, the command, Octave
#   fetch             make dist's tarball, by CMake's FetchContent
set -eu
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
unset ISOCENTER_LIBRARY PYTHONPATH LD_LIBRARY_PATH PKG_CONFIG_PATH OPENBLAS_CORETYPE
here=$(pwd)

newest() { # newest PATTERN: the newest file of that name
    # shellcheck disable=SC2012,SC2086 # names of our own
    file=$(ls -t $1 2>/dev/null | head -n 1)
    [ -n "$file" ] || { echo "$part: there is no $1" >&2; exit 1; }
    realpath "$file"
}
block() { # block LANGUAGE PAGE: the first program of a page
    awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } on && /^```/ { exit } on' "$2"
}
drawn() { # drawn PICTURE NUMBER NUMBER: not empty, and a value in the disk of nearly 1
    [ "$(wc -c <"$1")" -gt 60000 ] || { echo "$part: no picture" >&2; exit 1; }
}
python_program() {
    block python docs/python.md
    cat <<'END'
with open("slice.pgm", "wb") as file:
    file.write(b"P5 256 256 255\n" + (255 * volume.clip(0, 1)).astype(np.uint8).tobytes())
print(isocenter.build_info(), "loaded from", isocenter._library.lib._name)
END
}
environment() { # a virtual environment with the wheel, and nothing else that it does not ask for
    [ -x "$home/env/bin/pip" ] && return
    scripts/need.sh py:ensurepip:python3-venv
    wheel=$(newest 'target/wheels/*manylinux*x86_64.whl')
    python3 -m venv "$home/env"
    "$home/env/bin/pip" install --quiet --disable-pip-version-check "$wheel"
}
runs_python() { # runs_python PYTHON...
    python_program >"$home/first.py"
    rm -f "$home/slice.pgm"
    (cd "$home" && "$@" first.py) >"$home/said" || { cat "$home/said" >&2; exit 1; }
    drawn "$home/slice.pgm"
    printf '%s: %s\n' "$part" "$(cat "$home/said")"
}
on_windows() { # Python there, whose standard streams have to be pipes under Wine
    { { : | PYTHONIOENCODING=utf-8 "$here/scripts/wine.sh" "$windows_home/python.exe" "$@" 2>&1; echo $? >"$home/status"; } | tr -d '\r'; }
    return "$(cat "$home/status")"
}
octave_program() { # without a window
    block matlab docs/matlab.md | grep -v '^imagesc'
    echo "imwrite(uint8(510 * slice.'), 'slice.pgm');"
    echo "assert(size(slice), [256 256]); assert(mean(slice(121:136, 121:136)(:)) > 0.1);"
}

for part in "$@"; do
    case $part in
        wheel)
            environment
            runs_python "$home/env/bin/python"
            ;;
        wheel-baseline)
            environment
            scripts/need.sh cmd:qemu-x86_64:qemu-user
            runs_python qemu-x86_64 -cpu Nehalem "$home/env/bin/python"
            grep -q 'using baseline' "$home/said" || { echo "$part: another level than baseline" >&2; exit 1; }
            ;;
        wheel-aarch64)
            scripts/need.sh cmd:qemu-aarch64:qemu-user
            wheel=$(newest 'target/wheels/*manylinux*aarch64.whl')
            root=$(scripts/arm_root.sh libpython3-stdlib)
            version=$(basename "$(ls -d "$root"/usr/lib/python3.[0-9]*)")
            mkdir -p "$home/site"
            python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target "$home/site" --only-binary :all: \
                --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 --implementation cp --python-version "${version#python}" "$wheel"
            export PYTHONPATH="$home/site"
            runs_python qemu-aarch64 -L "$root" "$root/usr/bin/$version"
            unset PYTHONPATH
            ;;
        wheel-windows)
            wheel=$(newest 'target/wheels/*win_amd64.whl')
            scripts/windows_python.sh target/windows-python
            windows_home="$home/Größe äöü"
            cp -R target/windows-python "$windows_home"
            on_windows -m pip install --quiet --disable-pip-version-check --no-warn-script-location --no-index "$wheel"
            runs_python on_windows
            (cd cbindings/python/tests && on_windows -W error -m unittest test_arrays test_calls test_ct test_geometry \
                test_iterative test_library test_mistakes test_mri test_pet) 2>&1 | grep -aE '^(Ran|OK|FAILED|ERROR|FAIL)' >"$home/said"
            cat "$home/said"
            grep -q '^OK' "$home/said"
            ;;
        octave)
            scripts/need.sh cmd:octave-cli:octave cmd:mkoctfile:octave-dev
            archive=$(newest 'target/octave-pkg/isocenter-*.tar.gz')
            octave_program >"$home/program.m"
            # Root's packages would be everybody's.
            own="pkg prefix $home/packages $home/packages-arch; pkg local_list $home/list; pkg global_list $home/global;"
            (cd "$home" && octave-cli --quiet --no-history --norc --eval "$own pkg install -local $archive" &&
                octave-cli --quiet --no-history --norc --eval "$own pkg load isocenter; source program.m")
            drawn "$home/slice.pgm"
            echo "$part: installed, loaded, a slice reconstructed"
            ;;
        deb)
            scripts/need.sh cmd:debootstrap:debootstrap
            debs=$(dirname "$(newest "target/debs/libisocenter-dev_*_$(dpkg --print-architecture).deb")")
            root=target/debs-root
            if [ ! -e "$root/made" ]; then
                rm -rf "$root"
                debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" >"$home/debootstrap" ||
                    { tail "$home/debootstrap" >&2; exit 1; }
                : >"$root/made"
            fi
            mkdir -p "$root/packages"
            cp "$debs"/*_"$(dpkg --print-architecture).deb" "$root/packages/"
            octave_program >"$root/packages/program.m"
            cat >"$root/packages/try.sh" <<'END'
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends /packages/*.deb gcc libc6-dev pkg-config >/dev/null
cd /tmp
cc /usr/share/isocenter/examples/c/recon_20_lines.c $(pkg-config --cflags --libs isocenter) -o recon
./recon
isocenter --version
octave-cli --quiet --no-history --norc --eval 'pkg load isocenter; source /packages/program.m'
apt-get purge -y -qq libisocenter-dev octave-isocenter isocenter libisocenter0.1 >/dev/null
[ -z "$(find / -xdev -name '*isocenter*' ! -path '/packages/*' ! -path '/var/*' ! -path '/proc/*')" ]
END
            chroot "$root" sh /packages/try.sh
            ;;
        fetch)
            scripts/need.sh cmd:cmake:cmake cmd:c++:g++
            archive=$(newest 'target/dist/isocenter-*-linux-x86_64.tar.gz')
            mkdir -p "$home/fetch"
            cp cbindings/examples/cpp/recon_20_lines.cpp "$home/fetch/recon.cpp"
            block cmake docs/packages.md | sed "s|URL .*|URL file://$archive)|" >"$home/fetch/CMakeLists.txt"
            cmake -S "$home/fetch" -B "$home/fetch/build" >"$home/said" && cmake --build "$home/fetch/build" >>"$home/said" ||
                { cat "$home/said" >&2; exit 1; }
            echo "$part: $(cd "$home" && fetch/build/recon)"
            drawn "$home/disk.pgm"
            ;;
        *) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2 ;;
    esac
done
