#!/usr/bin/env bash
# Builds the WebAssembly module into a folder: `web/build.sh [FOLDER]`, `web/site` by default.
set -euo pipefail
site=$(realpath -m "${1:-$(dirname "$0")/site}")
cd "$(dirname "$0")"

./cargo.sh build --release
mkdir -p "$site"
cp target/wasm32-unknown-unknown/release/stridec_web.wasm "$site/stridec.wasm"
