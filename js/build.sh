#!/usr/bin/env bash
# Builds `stridec.wasm`, the compiler of the JavaScript package, beside this script, and copies the
# licences that are published with it.
set -euo pipefail
# A relative folder is one of the caller's.
[[ -z "${CARGO_TARGET_DIR:-}" ]] || CARGO_TARGET_DIR=$(realpath -m "$CARGO_TARGET_DIR")
cd "$(dirname "$0")"
../web/build.sh --package "$PWD"
cp ../LICENSE-APACHE ../LICENSE-MIT .
