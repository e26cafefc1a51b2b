#!/usr/bin/env bash
# Builds the wheel of this machine as `wheels.sh` does for a release, installs it into a fresh
# virtual environment and runs the tests of the Python package. Arguments go to pytest. `PYTHON`
# names the interpreter, 3.10 or later.
set -euo pipefail
cd "$(dirname "$0")"
source ./venv.sh

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
virtual_environment "$folder/venv" requirements.txt
bin=$folder/venv/bin

# The profile `checks` builds in a third of the time of `release`, and is about half as fast.
./wheels.sh --profile checks --only "$(uname -m)" "$folder/wheel"
"$bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$folder"/wheel/*.whl

# From another folder, so that the installed package is imported and not the sources.
tests=$PWD/tests
cd "$folder"
"$bin/python" -m mypy.stubtest stridec
JAX_PLATFORMS=cpu "$bin/python" -m pytest -q -p no:cacheprovider "$tests" "$@"
