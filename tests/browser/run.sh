#!/bin/sh
# Opens generated pages in Chromium and reads their verdicts. Installs Chromium if it is missing.
# Arguments, such as features, are passed to `cargo test`.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null && [ -z "${STRIDEC_CHROMIUM:-}" ]; then
    .ci/install chromium
fi
[ $# -gt 0 ] || set -- -p stridec --no-default-features --features explain
STRIDEC_REQUIRE_BROWSER=1 exec cargo test --locked "$@" --test it -- browser:: --nocapture
