#!/bin/sh
# Opens generated pages in Chromium and reads their verdicts; installs Chromium where it is missing.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null && [ -z "${STRIDEC_CHROMIUM:-}" ]; then
    .ci/install chromium
fi
STRIDEC_REQUIRE_BROWSER=1 exec cargo test --locked -p stridec --no-default-features --features explain --test it "$@" -- browser:: --nocapture
