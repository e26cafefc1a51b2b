#!/bin/sh
# Has Tint, the other implementation of WGSL, judge the kernels of all snapshots, and of random operations and programs:
# `STRIDEC_CASES` of each, 3000 operations and 500 programs by default, for both kinds of target. Needs Node 20 and npm, which fetches the package `webgpu`.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
folder=$root/target/tint
mkdir -p "$folder"
rm -rf "$folder/wgsl"
command -v npm >/dev/null || .ci/install nodejs npm
cp tests/tint/package.json tests/tint/package-lock.json "$folder/"
(cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --silent)
STRIDEC_WGSL="$folder/wgsl" cargo test --locked -p stridec --no-default-features --test it random_kernels_are_valid
STRIDEC_WGSL="$folder/wgsl" cargo test --locked -p stridec --no-default-features --test it kernels_of_random_programs
cd "$folder"
exec node "$root/tests/tint/validate.mjs" "$folder/wgsl" "$root/snapshots"
