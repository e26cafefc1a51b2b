#!/usr/bin/env bash
# Builds the page and tests it. Checks the size of the WebAssembly module, compares its answers with
# the native build's, and runs the library's tests with a `usize` of 32 bits. Uses the page in
# Chromium, as a reader does. Needs Node 20 and npm. Arguments, such as features, are passed to the
# native `cargo test`.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
command -v brotli >/dev/null || missing+=(brotli)
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null && [[ -z "${STRIDEC_CHROMIUM:-}" ]]; then
    missing+=(chromium)
fi
((${#missing[@]} == 0)) || ../.ci/install "${missing[@]}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

./build.sh "$folder/site"
# The size of the page on a server that compresses. The script is only for pages that are opened
# from a file.
bytes=0
for file in "$folder"/site/*; do
    case $file in
    */module.js) ;;
    *) bytes=$((bytes + $(brotli --stdout "$file" | wc -c))) ;;
    esac
done
echo "the page: $bytes bytes as Brotli"
((bytes <= 1000000)) || { echo "expected at most 1000000 bytes" >&2; exit 1; }

# Cargo's messages name the test program. Its standard library includes the crate `test`, and is
# built in a folder of its own.
program=$(CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/wasm-tests \
    ./cargo.sh test --release --no-run --message-format json | node tests/executable.mjs)
(cd .. && STRIDEC_REQUESTS=$folder/requests cargo test --locked "${@:---all-features}" --test it requests::)
node tests/library.mjs "$folder/site/stridec.wasm" "$program" "$folder/requests"

cp tests/package.json tests/package-lock.json "$folder"
tests=$PWD/tests
cd "$folder"
npm ci --ignore-scripts --no-audit --no-fund --silent
node "$tests/page.mjs" "$folder/site"
