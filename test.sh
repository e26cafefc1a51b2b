#!/usr/bin/env bash
# Runs every test. Tests on a GPU use a software driver if the machine has no other.
# Arguments are passed to `cargo test`.
set -euo pipefail
cd "$(dirname "$0")"

# True if there is a Vulkan loader, and a software driver or a GPU with a driver.
has_driver() {
    local folder libraries
    libraries=$(PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null || true)
    [[ $libraries == *libvulkan.so.1* ]] || return 1
    for folder in /usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /etc/vulkan/icd.d; do
        compgen -G "$folder/lvp_icd*.json" >/dev/null && return 0
        compgen -G "$folder/*.json" >/dev/null || continue
        compgen -G '/dev/dri/renderD*' >/dev/null && return 0
        [[ -e /dev/nvidiactl ]] && return 0
    done
    [[ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]]
}

if [[ "$(uname)" == Linux ]] && ! has_driver; then
    echo "No Vulkan driver found; Mesa's lavapipe needs no GPU" >&2
    .ci/install libvulkan1 mesa-vulkan-drivers
fi

# Without a desktop session, the driver would warn about the missing folder.
if [[ -z "${XDG_RUNTIME_DIR:-}" ]]; then
    XDG_RUNTIME_DIR=$(mktemp -d)
    export XDG_RUNTIME_DIR
    trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT
fi

STRIDEC_REQUIRE_GPU=1 cargo test --locked "$@"
