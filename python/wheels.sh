#!/usr/bin/env bash
# Makes what a release of the Python package consists of, and checks it: the source distribution,
# and from it a wheel for Linux on x86-64 and one on aarch64, each for CPython 3.10 and later.
#
#     python/wheels.sh [--profile NAME] [--only ARCHITECTURE] [--debian] [FOLDER]
#
# Everything is written to FOLDER, `python/dist` by default. Releases have the profile `release`;
# `checks` builds in a third of the time. `--only x86_64` or `--only aarch64` makes one wheel. A
# wheel of another architecture needs the standard library of that target, from rustup; without it,
# or with `--debian`, Debian's compiler compiles the library first.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
source "$here/../.ci/target.sh"
source "$here/venv.sh"

# The oldest glibc that the wheels run with. Rust needs this version for x86-64 and aarch64.
glibc=2_17
profile=release
architectures=(x86_64 aarch64)
debian=false
while [[ "${1:-}" == --* ]]; do
    case $1 in
    --profile) profile=$2 && shift ;;
    --only) architectures=("$2") && shift ;;
    --debian) debian=true ;;
    *) echo "usage: $0 [--profile NAME] [--only ARCHITECTURE] [--debian] [FOLDER]" >&2 && exit 2 ;;
    esac
    shift
done
made=$(realpath -m "${1:-$here/dist}")
export CARGO_TARGET_DIR
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$here/target}")
folder=$CARGO_TARGET_DIR/wheels
mkdir -p "$made" "$folder"

# The environment stays, because Cargo builds everything again if the path of the linker changes.
virtual_environment "$folder/tools" requirements-wheels.txt
export PATH=$folder/tools/bin:$PATH

rm -f "$made"/stridec-*.tar.gz
(cd "$here" && maturin sdist --out "$made")
# The wheels are built from the source distribution, in a folder in which nothing else of the
# repository is. Its files are new, because Cargo compiles only what is newer than its last build.
sources=$folder/sources
rm -rf "$sources"
mkdir "$sources"
tar --extract --touch --strip-components 1 --directory "$sources" --file "$(echo "$made"/stridec-*.tar.gz)"

# Builds the wheel of an architecture.
build() {
    local target=$1-unknown-linux-gnu options=()
    if ! $debian && ! has_library "$target" && command -v rustup >/dev/null; then
        rustup target add "$target" || true
    fi
    if $debian || ! has_library "$target"; then
        use_debian_compiler
        export PATH=$folder/tools/bin:$PATH
        # A panic in Rust becomes an exception of Python, so panics unwind.
        options=(-Z build-std=std,panic_unwind)
    fi
    (cd "$sources" && maturin build --quiet --locked --profile "$profile" --zig --target "$target" \
        --compatibility "manylinux_$glibc" --interpreter python3 --out "$made" "${options[@]}")
}

# Checks that a wheel needs no library and no symbol that its tag does not promise, and nothing of
# CPython but the stable ABI. auditwheel reads the architecture from the library itself.
audit() {
    auditwheel show "$1"
    auditwheel show --json "$1" | python3 -c '
import json, sys
architecture, most = sys.argv[1], int(sys.argv[2].removeprefix("2_"))
audit = json.load(sys.stdin)
given = audit["overall_tag"]
name, _, version = given.removesuffix("_" + architecture).partition("_2_")
if name != "manylinux" or int(version) > most or audit["external_libs"]:
    sys.exit(f"expected manylinux_2_{most}_{architecture}, got {given} with {audit}")
' "$2" "$glibc"
    abi3audit --strict --summary "$1"
}

# Uses an installed wheel: `try PYTHON…`.
try() {
    (cd / && PYTHONDONTWRITEBYTECODE=1 "$@" -X dev -c '
import platform, stridec
assert stridec.Shape("f32[2,3]{0,1}").offset((1, 2)) == 5
assert stridec.compile("f32[64,8]", "{0,1}").spirv()
try:
    stridec.Shape("f32[2,3]{1,1}")
except stridec.InvalidInput as error:
    assert error.field == "layout.minor_to_major[1]"
print("stridec", stridec.__version__, "runs on", platform.machine())
' && "$@" -m stridec --version)
}

# Installs a wheel of this architecture into an empty environment, and uses it.
try_here() {
    rm -rf "$folder/empty"
    virtual_environment "$folder/empty"
    "$folder/empty/bin/pip" install --quiet --disable-pip-version-check --no-index "$1"
    try "$folder/empty/bin/python"
    "$folder/empty/bin/stridec" describe "f32[2,3]{0,1}" >/dev/null
}

# Unpacks Debian's Python for aarch64 into a folder, for QEMU. Nothing of another architecture is
# installed on this machine.
unpack_python_for_aarch64() {
    local package
    rm -rf "$1" && mkdir -p "$1"/{state/lists/partial,cache/archives/partial} && : >"$1/state/status"
    cat >"$1/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State "$1/state";
Dir::State::status "$1/state/status";
Dir::Cache "$1/cache";
END
    export APT_CONFIG=$1/apt.conf
    apt-get update -qq &&
        apt-get install -qq --download-only --no-install-recommends python3-minimal libpython3-stdlib >/dev/null &&
        for package in "$1"/cache/archives/*.deb; do dpkg --extract "$package" "$1" || return; done
}

# Uses a wheel for aarch64 in QEMU, if that can be installed.
try_emulated() {
    local root=$folder/aarch64
    if ! "$here/../.ci/install" qemu-user unzip || ! (unpack_python_for_aarch64 "$root"); then
        echo "QEMU or a Python for aarch64 is missing: $(basename "$1") was not run"
        return
    fi
    unzip -q "$1" -d "$root/stridec"
    PYTHONPATH=$root/stridec try qemu-aarch64 -L "$root" "$(echo "$root"/usr/bin/python3.*[0-9])"
}

for architecture in "${architectures[@]}"; do
    rm -f "$made"/stridec-*"_$architecture.whl"
    # The choice of a compiler is for one target.
    (build "$architecture")
    wheel=$(echo "$made"/stridec-*"_$architecture.whl")
    audit "$wheel" "$architecture"
    if [[ $(uname -m) == "$architecture" ]]; then
        try_here "$wheel"
    elif [[ $architecture == aarch64 ]]; then
        try_emulated "$wheel"
    else
        echo "$(basename "$wheel") was not run, because this machine has another architecture"
    fi
done
ls -l "$made"
