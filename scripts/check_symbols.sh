#!/bin/sh
# The shared library exports the functions that the header declares, and nothing else.
# usage: check_symbols.sh LIBRARY HEADER
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $1 in
    *.dll) x86_64-w64-mingw32-objdump -p "$1" | sed '1,/^\[Ordinal\/Name Pointer\] Table/d; /^$/,$d' ;;
    *) nm -D --defined-only "$1" ;;
esac | awk '{ print $NF }' | sort >"$work/exported"
grep -v '^//' "$2" | grep -E '^[a-z].*\bisoc_[a-z0-9_]+\(' | sed 's/(.*//; s/.*[ *]//' | sort >"$work/declared"
if ! diff "$work/declared" "$work/exported" >"$work/difference"; then
    echo "Declared in $2 (<) and exported by $1 (>) differ:" >&2
    cat "$work/difference" >&2
    exit 1
fi
echo "symbols: $(wc -l <"$work/exported") exported, all of them declared"
