#!/bin/sh
# Builds the library and the C++ program, and runs it: with the shared library, then with the static one under
# AddressSanitizer and UndefinedBehaviorSanitizer. Needs cmake, a C++ compiler and Debian's libprotobuf-dev and
# protobuf-compiler, which it installs when it may.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v cmake >/dev/null || ! command -v protoc >/dev/null; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "run.sh: install cmake, protobuf-compiler and libprotobuf-dev" >&2
        exit 1
    fi
    apt-get update -qq
    apt-get install -qq --no-install-recommends cmake g++ libprotobuf-dev make protobuf-compiler
fi
if command -v cbindgen >/dev/null; then
    examples/cpp/header.sh --check
else
    echo "SKIPPED: no cbindgen to check include/stridec.h against src/capi.rs" >&2
fi

target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
cargo rustc --lib --no-default-features --features capi --crate-type cdylib,staticlib

# build NAME LIBRARY FLAGS
build() {
    cmake -S examples/cpp -B "$target/cpp/$1" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSTRIDEC_LIBRARY="$target/debug/$2" -DCMAKE_CXX_FLAGS="$3" >/dev/null
    cmake --build "$target/cpp/$1" >/dev/null
}
build shared libstridec.so ""
"$target/cpp/shared/relayout"
build asan libstridec.a "-fsanitize=address,undefined -fno-sanitize-recover=all"
"$target/cpp/asan/relayout" >/dev/null
echo "// passed under AddressSanitizer too"
