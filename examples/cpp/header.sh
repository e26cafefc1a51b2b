#!/bin/sh
# Writes include/stridec.h from src/capi.rs with cbindgen; with --check, says whether it is up to date.
set -eu
cd "$(dirname "$0")/../.."
case "${1-}" in
--check) set -- --verify ;;
*) set -- ;;
esac
exec cbindgen --quiet --config cbindgen.toml --output include/stridec.h "$@" src/capi.rs
