#!/bin/sh
# Makes a virtual environment in target/python (or CARGO_TARGET_DIR's) with the Python package, and other packages that are named.
# usage: python_env.sh [PACKAGE...]
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
home=$target/python source=$target/python-source

scripts/need.sh cmd:pkg-config:pkg-config py:ensurepip:python3-venv
[ -x "$home/bin/pip" ] || python3 -m venv "$home"
pip() { "$home/bin/pip" install --quiet --disable-pip-version-check --root-user-action ignore "$@"; }
pip numpy "$@"
# A copy, since setuptools builds in the folder that it is given.
rm -rf "$source"
mkdir -p "$source"
cp -R cbindings/python/pyproject.toml cbindings/python/README.md cbindings/python/isocenter "$source"
pip --force-reinstall --no-deps "$source"
