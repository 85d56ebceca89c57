#!/bin/sh
# Removes what install.sh installed, and folders that are empty then.
# usage: uninstall.sh [MANIFEST]    MANIFEST: the manifest.txt that lies beside the installed copy of this script
set -eu
export LC_ALL=C
manifest=${1:-$(dirname "$0")/manifest.txt}
[ -f "$manifest" ] || { echo "$manifest: no such file; is Isocenter installed there?" >&2; exit 1; }
home=$(cd "$(dirname "$manifest")" && pwd)
prefix=$(realpath -ms "$home/$(sed -n 's/^# prefix: //p' "$manifest")")
paths=$(grep -v '^#' "$manifest" | sort -r) # what is in a folder comes before it
printf '%s\n' "$paths" | while read -r path; do
    case $path in
        /*) path=${DESTDIR:-}$path ;;
        *) path=$prefix/$path ;;
    esac
    case $path in
        */) rmdir "$path" 2>/dev/null || true ;;
        *) rm -f "$path" ;;
    esac
done
echo "Removed from $prefix"
