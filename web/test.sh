#!/usr/bin/env bash
# Builds the page and tests it. Checks the sizes of the WebAssembly modules, compares their answers
# with the native build's, and runs the library's tests with a `usize` of 32 bits. Uses the page in
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

STRIDEC_REPOSITORY=https://github.com/example/stridec ./build.sh "$folder/site"
# The page shows lines for the JavaScript package, which are run too.
./build.sh --package "$folder/package"
cp ../js/*.js "$folder/package"
root=$(cd .. && pwd)
for module in "$folder"/{site,package}/*.wasm; do
    ! grep --quiet --fixed-strings "$root" "$module" || { echo "$module contains the path $root" >&2; exit 1; }
done
# The bytes that a compressing server sends for the page, at first and for a translation. Scripts
# with modules are only for pages that are opened from a file.
first=0
for file in "$folder"/site/*; do
    case $file in
    */languages.wasm | *.wasm.js) ;;
    *) first=$((first + $(brotli --stdout "$file" | wc -c))) ;;
    esac
done
languages=$(brotli --stdout "$folder/site/languages.wasm" | wc -c)
echo "as Brotli, the page has $first bytes, and $languages more for the first translation"
((first <= 803500 && languages <= 950000)) || { echo "expected at most 803500 and 950000" >&2; exit 1; }

# Cargo's messages name the test program. Its standard library includes the crate `test`, and is
# built in a folder of its own.
program=$(CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/wasm-tests \
    ./cargo.sh test --release --no-run --message-format json | node tests/executable.mjs)
(cd .. && STRIDEC_LONG=1 STRIDEC_REQUESTS=$folder/requests cargo test --locked "${@:---all-features}" --test it requests::)
node tests/library.mjs "$folder/site/languages.wasm" "$program" "$folder/requests"

cp tests/package.json tests/package-lock.json "$folder"
tests=$PWD/tests
cd "$folder"
npm ci --ignore-scripts --no-audit --no-fund --silent
STRIDEC_PACKAGE=$folder/package node "$tests/page.mjs" "$folder/site"
