#!/usr/bin/env bash
# Builds the wheel, installs it into a fresh virtual environment and runs the tests of the Python package.
# Arguments go to pytest. `PYTHON` names the interpreter, 3.10 or later.
set -euo pipefail
cd "$(dirname "$0")"

python=${PYTHON:-python3}
if ! "$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    ../.ci/install python3 python3-venv
    python=/usr/bin/python3
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
bin=$folder/venv/bin
if ! "$bin/pip" install --quiet --disable-pip-version-check -r requirements.txt; then
    echo "python/test.sh: pip could not install what the tests need; the network or an index is missing" >&2
    exit 1
fi

# The profile `checks` builds in a third of the time of `release`, and is about half as fast.
"$bin/maturin" build --quiet --locked --profile checks --interpreter "$bin/python" --out "$folder/wheel"
"$bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$folder"/wheel/*.whl

# From another folder, so that the installed package is imported and not the sources.
tests=$PWD/tests
cd "$folder"
"$bin/abi3audit" --strict wheel/*.whl
"$bin/python" -m mypy.stubtest stridec
JAX_PLATFORMS=cpu "$bin/python" -m pytest -q -p no:cacheprovider "$tests" "$@"
