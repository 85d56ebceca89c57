#!/bin/sh
# Makes a virtual environment in target/python (or CARGO_TARGET_DIR's) with the Python package, and other packages that are named. What is there
# already, in the same words, is not asked for again.
# usage: python_env.sh [PACKAGE...]
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
home=$target/python

scripts/need.sh cmd:pkg-config:pkg-config py:ensurepip:python3-venv
[ -x "$home/bin/pip" ] || { rm -f "$home/has"; python3 -m venv "$home"; }
pip() { "$home/bin/pip" install --quiet --disable-pip-version-check --root-user-action ignore "$@"; }
has() { grep -qxF -e "$1" "$home/has" 2>/dev/null; }
missing=
for package in numpy "$@"; do has "$package" || missing="$missing $package"; done
if [ -n "$missing" ]; then
    # shellcheck disable=SC2086 # a list of words
    pip $missing && printf '%s\n' $missing >>"$home/has"
fi
# The project's own, by its contents.
own="isocenter $(find cbindings/python/isocenter cbindings/python/pyproject.toml cbindings/python/README.md -type f ! -name '*.pyc' | LC_ALL=C sort | xargs cat | cksum)"
if ! has "$own"; then
    pip --force-reinstall --no-deps ./cbindings/python
    { grep -v '^isocenter ' "$home/has" || true; printf '%s\n' "$own"; } >"$home/has.new"
    mv "$home/has.new" "$home/has"
fi
