#!/bin/sh
# Validates kernels with Tint, the other implementation of WGSL: the snapshots, and the kernels of
# random operations and programs, `STRIDEC_CASES` of each (by default 3000 operations and 500
# programs), for both kinds of target. Needs Node 20 and npm, which fetches the package `webgpu`.
# Arguments, such as features, are passed to `cargo test`.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
[ $# -gt 0 ] || set -- -p stridec --no-default-features
folder=$root/target/tint
mkdir -p "$folder"
rm -rf "$folder/wgsl"
command -v npm >/dev/null || .ci/install nodejs npm
cp tests/tint/package.json tests/tint/package-lock.json "$folder/"
(cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --silent)
STRIDEC_WGSL="$folder/wgsl" cargo test --locked "$@" --test it random_kernels_are_valid
STRIDEC_WGSL="$folder/wgsl" cargo test --locked "$@" --test it kernels_of_random_programs
cd "$folder"
exec node "$root/tests/tint/validate.mjs" "$folder/wgsl" "$root/snapshots"
