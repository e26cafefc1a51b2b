#!/bin/sh
# Builds the library and the C++ program. Runs it with the shared library, and then with the static
# one under AddressSanitizer and UndefinedBehaviorSanitizer. Needs cmake, make, a C++ compiler, and
# Debian's libprotobuf-dev and protobuf-compiler; libvulkan-dev too for the program on Vulkan.
set -eu
cd "$(dirname "$0")/../.."
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
cargo rustc --lib --no-default-features --features capi,backends --crate-type cdylib,staticlib

# build NAME LIBRARY FLAGS
build() {
    cmake -S examples/cpp -B "$target/cpp/$1" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSTRIDEC_LIBRARY="$target/debug/$2" -DCMAKE_CXX_FLAGS="$3" >/dev/null
    cmake --build "$target/cpp/$1" >/dev/null
}
# The C program needs neither cmake nor protobuf.
mkdir -p "$target/cpp"
cc -std=c99 -Wall -Wextra -Iinclude examples/cpp/relayout.c -o "$target/cpp/relayout_c" \
    "$target/debug/libstridec.a" -lm -ldl -lpthread
"$target/cpp/relayout_c"
build shared libstridec.so ""
"$target/cpp/shared/relayout"
build asan libstridec.a "-fsanitize=address,undefined -fno-sanitize-recover=all"
"$target/cpp/asan/relayout" >/dev/null
if [ -x "$target/cpp/asan/record_program" ]; then
    # Drivers keep memory until the process ends.
    "$target/cpp/shared/record_program" examples/data/movements.txt
else
    echo "// record_program needs Vulkan's headers, Debian's libvulkan-dev"
fi
echo "// passed under AddressSanitizer too"
