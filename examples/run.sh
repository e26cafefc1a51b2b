#!/usr/bin/env bash
# Runs every example, in Rust, C++ and Python. Installs the packages for C++ and Python with apt.
# Arguments are passed to `cargo`.
set -euo pipefail
cd "$(dirname "$0")/.."

.ci/install cmake g++ libprotobuf-dev libvulkan-dev make pkg-config protobuf-compiler python3-protobuf

# Binaries and examples together need the features of `cargo test`, which has built them before.
cargo build --quiet --locked --bins --examples "$@"
for example in compile_to_wgsl assign_layouts run_on_device record_program accessor_matmul; do
    echo "-- $example"
    cargo run --quiet --locked "$@" --example "$example"
done
echo "-- explain"
cargo run --quiet --locked "$@" --example explain -- 'f32[2,3]' 'f32[2,3]{0,1:PAD(3,5,zero)}'

target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
echo "-- run_saved"
"$target/debug/stridec" compile hlo @examples/data/movements.txt --emit pb -o "$target/movements.pb"
cargo run --quiet --locked "$@" --example run_saved -- "$target/movements.pb"

echo "-- python/serve.py"
# Debian's package of protobuf is for Debian's Python.
/usr/bin/python3 examples/python/serve.py "$target/debug/stridec" 500

echo "-- cpp"
examples/cpp/run.sh
