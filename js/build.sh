#!/usr/bin/env bash
# Builds `stridec.wasm`, the compiler of the JavaScript package, beside this script.
set -euo pipefail
cd "$(dirname "$0")"
../web/build.sh --package "$PWD"
