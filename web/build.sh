#!/usr/bin/env bash
# Builds the page into a folder that any file server serves, or a browser opens:
# `web/build.sh [FOLDER]`, `web/site` by default. If STRIDEC_REPOSITORY is the address of the
# sources, such as https://github.com/OWNER/stridec, the page links to them.
# `web/build.sh --package FOLDER` builds the module of the JavaScript package instead.
set -euo pipefail
package=false
if [[ "${1:-}" == --package ]]; then
    package=true
    shift
fi
site=$(realpath -m "${1:-$(dirname "$0")/site}")
target=$(realpath -m "${CARGO_TARGET_DIR:-$(dirname "$0")/target}")
export CARGO_TARGET_DIR=$target
cd "$(dirname "$0")"

mkdir -p "$site"
built=$target/wasm32-unknown-unknown/release/stridec_web.wasm
# Paths of this machine would be part of the module, in the places of panics.
registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
root=$(cd .. && pwd)

# The last passes of Binaryen. With two more, the compressed module of the package is 0.2% smaller,
# but `--merge-locals` makes the modules of the page slightly larger.
options=(--enable-bulk-memory --enable-sign-ext --enable-mutable-globals
    --enable-nontrapping-float-to-int)
passes=(--coalesce-locals-learning --reorder-locals --vacuum)
! $package || passes=(--merge-locals "${passes[@]}" --precompute-propagate)

# Builds a module with the given options of Cargo: `wasm NAME [OPTION…]`.
wasm() {
    # The page folds constants on the host, and copies nothing else there: `src/host/mod.rs`.
    local paths="--remap-path-prefix=$root= --remap-path-prefix=$target= --remap-path-prefix=$registry="
    RUSTFLAGS="${RUSTFLAGS:-} --cfg stridec_plain_host $paths" \
        ./cargo.sh build --release "${@:2}"
    # Binaryen makes a module a tenth smaller, and its compressed form 2%. The page works without
    # it too. The passes after the second make the compressed form 0.5% smaller.
    if command -v wasm-opt >/dev/null || ../.ci/install binaryen; then
        wasm-opt "${options[@]}" -O1 --dae-optimizing --code-folding --rse "${passes[@]}" \
            "$built" -o "$site/$1.wasm"
    else
        cp "$built" "$site/$1.wasm"
    fi
}

# Runs further passes on a module, and keeps the result of each if it compresses better. A pass can
# gain or lose 2,000 bytes, because the order of the functions depends on the code and on the folder
# of the repository. Two modules of 701,420 and 703,132 bytes become 700,798 and 701,084.
shrink() {
    command -v wasm-opt >/dev/null && command -v brotli >/dev/null || return 0
    local pass
    for pass in --simplify-locals-nostructure --merge-blocks --remove-unused-brs; do
        wasm-opt "${options[@]}" "$pass" --vacuum "$1" -o "$1.smaller"
        if (($(brotli --stdout "$1.smaller" | wc -c) < $(brotli --stdout "$1" | wc -c))); then
            mv "$1.smaller" "$1"
        fi
    done
    rm -f "$1.smaller"
}
if $package; then
    wasm stridec --no-default-features --features package
    shrink "$site/stridec.wasm"
    exit
fi

# Builds a module like `wasm`, and writes it as text too, in a script for a page that is opened from
# a file.
module() {
    wasm "$@"
    {
        printf 'globalThis.MODULE = "'
        gzip -9 --no-name --stdout "$site/$1.wasm" | base64 --wrap=0
        printf '";\n'
    } >"$site/$1.wasm.js"
}
module stridec
module languages --no-default-features --features languages

cp page/* ../src/explain/page/*.js ../src/explain/page/page.css "$site"
# The part of the package that runs kernels. A page that is opened from a file loads no modules of
# JavaScript, so it is a script here.
{
    echo '"use strict"; globalThis.KernelRunner = (() => {'
    sed -E 's/^export //' ../js/gpu.js
    echo 'return KernelRunner; })();'
} >"$site/gpu.js"
# The page links to the sources if it knows where they are.
if [[ "${STRIDEC_REPOSITORY:-}" == https://* ]]; then
    repository=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g' <<<"$STRIDEC_REPOSITORY")
    links="<nav aria-label=\"Documentation\" id=\"documents\"><a href=\"$repository/tree/main/docs\">Documentation</a>"
    links+=" <a href=\"$repository/blob/main/docs/notations.md\">Notations</a> <a href=\"$repository\">Repository</a></nav>"
else
    links=
fi
# In the replacement, `sed` gives these characters a meaning.
sed -i "s|<!-- repository -->|$(sed 's/[&|\\]/\\&/g' <<<"$links")|" "$site/index.html"
# The page starts otherwise, and shows no reshards.
rm "$site/start.js" "$site/reshard.js"
# Comments are for readers of the sources, and a seventh of the scripts as a browser loads them.
for script in "$site"/*.js; do
    [[ $script == *.wasm.js ]] ||
        sed -i -E '/^ *\/\*\*.*\*\/ *$/d; /^ *\/\*\*/,/\*\/ *$/d; /^ *\/\//d' "$script"
done
