#!/usr/bin/env bash
# Runs Cargo for WebAssembly: `web/cargo.sh build …`. It uses rustup's wasm32-unknown-unknown if
# that is installed, and otherwise Debian's compiler with a standard library that is compiled first.
# `web/cargo.sh --debian build …` always uses the latter.
set -euo pipefail
cd "$(dirname "$0")"
source ../.ci/target.sh
target=wasm32-unknown-unknown

debian=false
if [[ "${1:-}" == --debian ]]; then
    debian=true
    shift
elif ! has_library $target; then
    debian=true
fi
if ! $debian; then
    exec cargo "$1" --locked --target $target "${@:2}"
fi
use_debian_compiler lld
# Debian's compiler does not bring `rust-lld`, its default linker for this target.
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld
crates=std,panic_abort
if [[ "$1" == test ]]; then
    crates+=,test
    # Tests are built for unwinding. With dependencies that abort, rustc would find two versions of `core`.
    export CARGO_PROFILE_RELEASE_PANIC=unwind
fi
exec cargo "$1" --locked --target $target -Z "build-std=$crates" "${@:2}"
