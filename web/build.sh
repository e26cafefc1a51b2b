#!/usr/bin/env bash
# Builds the page into a folder that any file server serves, or a browser opens: `web/build.sh [FOLDER]`, `web/site` by default.
set -euo pipefail
site=$(realpath -m "${1:-$(dirname "$0")/site}")
cd "$(dirname "$0")"

# The page folds constants on the host, and copies nothing else there: `src/host/mod.rs`.
RUSTFLAGS="${RUSTFLAGS:-} --cfg stridec_plain_host" ./cargo.sh build --release
mkdir -p "$site"
module=${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/release/stridec_web.wasm
# Binaryen takes a tenth off the module and 17 KB off what is sent. The page works without it too.
if command -v wasm-opt >/dev/null || ../.ci/install binaryen; then
    wasm-opt -O1 --enable-bulk-memory --enable-sign-ext --enable-mutable-globals \
        --enable-nontrapping-float-to-int "$module" -o "$site/stridec.wasm"
else
    cp "$module" "$site/stridec.wasm"
fi
cp page/* ../src/explain/page/*.js ../src/explain/page/page.css "$site"
# The page starts otherwise, and shows no reshards.
rm "$site/start.js" "$site/reshard.js"
# Comments are for readers of the sources, and a seventh of the scripts as a browser loads them.
sed -i -E '/^ *\/\*\*.*\*\/ *$/d; /^ *\/\*\*/,/\*\/ *$/d; /^ *\/\//d' "$site"/*.js
# As text in a script too, for a page that is opened from a file.
{
    printf 'const MODULE = "'
    gzip -9 --no-name --stdout "$site/stridec.wasm" | base64 --wrap=0
    printf '";\n'
} >"$site/module.js"
