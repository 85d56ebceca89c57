#!/bin/sh
# Makes a Python for Windows, for tests under Wine: FOLDER/python.exe, with pip and NumPy; of the version that this machine's Python has.
# Panda3D's wheel brings CPython's DLL and the modules that are compiled, as Python's own installer has them; the others are the same on all systems.
# usage: windows_python.sh FOLDER
set -eu
folder=$1
scripts/need.sh cmd:x86_64-w64-mingw32-gcc-posix:gcc-mingw-w64-x86-64-posix py:ensurepip:python3-venv
version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
[ -f "$folder/made" ] && exit
rm -rf "$folder"
mkdir -p "$folder/wheels"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version "$version" --implementation cp --platform win_amd64 \
    -d "$folder/wheels" 'panda3d==1.10.*' 'numpy<3'
python3 - "$folder" <<'END'
import ensurepip, glob, os, shutil, sys, sysconfig, zipfile
folder = sys.argv[1]
with zipfile.ZipFile(glob.glob(folder + "/wheels/panda3d*")[0]) as wheel:
    for name in wheel.namelist():
        # api-ms-*: Windows' and Wine's own.
        if name.startswith("deploy_libs/") and not os.path.basename(name).startswith("api-ms-"):
            with open(os.path.join(folder, os.path.basename(name)), "wb") as file:
                file.write(wheel.read(name))
shutil.copytree(sysconfig.get_path("stdlib"), folder + "/Lib",
                ignore=shutil.ignore_patterns("test", "site-packages", "dist-packages", "__pycache__", "lib-dynload", "config-*"))
for pattern, packages in ((folder + "/wheels/numpy*", "/Lib/site-packages"), (os.path.dirname(ensurepip.__file__) + "/_bundled/pip*", "/Lib/site-packages")):
    with zipfile.ZipFile(glob.glob(pattern)[0]) as wheel:
        wheel.extractall(folder + packages)
END
x86_64-w64-mingw32-gcc-posix -municode -O1 -static -DPYTHON="\"python$(echo "$version" | tr -d .).dll\"" -o "$folder/python.exe" tests/windows/python.c

# NumPy's imports of mathematical functions go by a DLL of ours, which hands all on to Wine but those that Wine has not.
real=api-ms-win-crt-math-l1-1-0.dll ours=isocenter-ucrt-math-l1-1-0.dll # as long as the other
find "$folder/Lib/site-packages" -name '*.pyd' -o -path '*numpy.libs*' -name '*.dll' >"$folder/files"
while read -r file; do x86_64-w64-mingw32-objdump -p "$file"; done <"$folder/files" |
    awk -v dll=$real '/DLL Name: /{ on = $3 == dll } on && /^\t[0-9a-f]+\t/{ print $NF }' | sort -u >"$folder/wanted"
x86_64-w64-mingw32-gcc-posix -O1 -c tests/windows/complex_math.c -o "$folder/complex_math.o"
x86_64-w64-mingw32-nm "$folder/complex_math.o" | sed -n 's/.* T wine_//p' | sort >"$folder/given"
{
    echo EXPORTS
    comm -12 "$folder/wanted" "$folder/given" | sed 's/.*/& = wine_&/'
    comm -23 "$folder/wanted" "$folder/given" | sed 's/.*/& = ucrtbase.&/'
} >"$folder/math.def"
x86_64-w64-mingw32-gcc-posix -shared -static -o "$folder/$ours" "$folder/complex_math.o" "$folder/math.def"
xargs sed -i "s/$real/$ours/" <"$folder/files"
rm "$folder/wanted" "$folder/given" "$folder/files" "$folder/math.def" "$folder/complex_math.o"
: >"$folder/made"
