# Functions for builds for another target than this machine. Scripts read this file with `source`.

# Returns true if the compiler has the standard library of a target: `has_library TARGET`.
has_library() {
    [[ -d "$(rustc --print target-libdir --target "$1" 2>/dev/null)" ]]
}

# Makes Debian's compiler the one that scripts find, after it is installed together with the given
# packages. Its Cargo compiles the standard library too, with `-Z build-std=CRATES`.
use_debian_compiler() {
    "$(dirname "${BASH_SOURCE[0]}")/install" rustc-web cargo-web rust-web-src "$@"
    export PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
}
