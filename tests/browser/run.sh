#!/bin/sh
# Opens generated pages in Chromium and reads their verdicts; installs Chromium where it is missing and this is root.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null && [ -z "${STRIDEC_CHROMIUM:-}" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -q
        apt-get install -y -q --no-install-recommends chromium
    else
        echo "no Chromium: install it, or run this as root where apt-get is" >&2
        exit 1
    fi
fi
STRIDEC_REQUIRE_BROWSER=1 exec cargo test --locked --no-default-features --features explain --test browser "$@" -- --nocapture
