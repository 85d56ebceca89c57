#!/bin/sh
# Makes a virtual environment in target/python (or CARGO_TARGET_DIR's) with the Python package, and other packages that are named.
# usage: python_env.sh [PACKAGE...]
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
home=$target/python

scripts/need.sh cmd:pkg-config:pkg-config py:ensurepip:python3-venv
[ -x "$home/bin/pip" ] || python3 -m venv "$home"
pip() { "$home/bin/pip" install --quiet --disable-pip-version-check --root-user-action ignore "$@"; }
pip numpy "$@"
pip --force-reinstall --no-deps ./cbindings/python
