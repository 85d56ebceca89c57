#!/bin/sh
# The library needs nothing but the C library, libm and libgcc_s; and, if a version is given, no newer glibc than that. A DLL needs nothing but
# what every Windows 10 has: no file of the compiler that made it.
# usage: check_needed.sh LIBRARY [GLIBC_VERSION]
set -eu
export LC_ALL=C
case $1 in
    *.dll)
        needed=$(x86_64-w64-mingw32-objdump -p "$1" | sed -n 's/.*DLL Name: //p' | tr '[:upper:]' '[:lower:]' | sort -u)
        for name in $needed; do
            case $name in
                kernel32.dll | ntdll.dll | msvcrt.dll | advapi32.dll | bcryptprimitives.dll | userenv.dll | ws2_32.dll | api-ms-win-core-*.dll) ;;
                *) echo "$1 needs $name" >&2; exit 1 ;;
            esac
        done
        # shellcheck disable=SC2086 # in one line
        echo "needs:" $needed
        exit ;;
esac
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
    case $name in
        libc.so.6 | libm.so.6 | libgcc_s.so.1 | libpthread.so.0 | libdl.so.2 | librt.so.1 | ld-linux-*) ;;
        *) echo "$1 needs $name" >&2; exit 1 ;;
    esac
done
newest=$(readelf -V "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
# shellcheck disable=SC2086 # in one line
echo "needs:" $needed "and glibc $newest"
[ -z "${2:-}" ] || [ "$(printf '%s\n' "$newest" "$2" | sort -V | tail -n 1)" = "$2" ] || { echo "$1 needs glibc $newest, newer than $2" >&2; exit 1; }
