#!/usr/bin/env bash
# Builds the WebAssembly module and tests it: its size, its answers against the native build's, and the library's tests where
# `usize` has 32 bits. Needs Node 20. Arguments, features, go to the native `cargo test`.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
command -v brotli >/dev/null || missing+=(brotli)
command -v node >/dev/null || missing+=(nodejs)
((${#missing[@]} == 0)) || ../.ci/install "${missing[@]}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

./build.sh "$folder/site"
bytes=$(brotli --stdout "$folder/site/stridec.wasm" | wc -c)
echo "stridec.wasm: $bytes bytes as Brotli"
((bytes <= 1000000)) || { echo "expected at most 1000000 bytes" >&2; exit 1; }

# The test program is the file that Cargo's messages name.
program=$(./cargo.sh test --release --no-run --message-format json | node tests/executable.mjs)
(cd .. && STRIDEC_REQUESTS=$folder/requests cargo test --locked "${@:---all-features}" --test requests)
node tests/library.mjs "$folder/site/stridec.wasm" "$program" "$folder/requests"
