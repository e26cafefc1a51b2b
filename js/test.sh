#!/usr/bin/env bash
# Builds the JavaScript package and tests it as it is published: what it contains, its types, its
# answers beside the command line's, kernels and examples on Dawn with SwiftShader, Deno and Bun, and
# bundles in Chromium. Needs Node 20 and npm. Arguments, such as features, are passed to `cargo build`.
set -euo pipefail
# A relative folder is one of the caller's.
[[ -z "${CARGO_TARGET_DIR:-}" ]] || CARGO_TARGET_DIR=$(realpath -m "$CARGO_TARGET_DIR")
cd "$(dirname "$0")"
here=$PWD

missing=()
command -v brotli >/dev/null || missing+=(brotli)
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
# Chromium's package brings SwiftShader, and Dawn needs a Vulkan loader.
[[ -e /usr/lib/chromium/vk_swiftshader_icd.json ]] || missing+=(chromium)
missing+=(libvulkan1)
command -v apt-get >/dev/null && ../.ci/install "${missing[@]}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

./build.sh
target=$(cd .. && cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
for path in "$(cd .. && pwd)" "$target"; do
    ! grep --quiet --fixed-strings "$path" stridec.wasm || { echo "the module contains the path $path" >&2; exit 1; }
done
module=$(brotli --stdout stridec.wasm | wc -c)
echo "as Brotli, the module has $module bytes"
((module <= 703000)) || { echo "expected at most 703000" >&2; exit 1; }
(cd .. && cargo build --locked --bin stridec "${@:---all-features}")
export STRIDEC=$target/debug/stridec

# The package is installed from its archive, in a project of its own.
cp -r tests/* examples "$folder"
npm pack --silent --pack-destination "$folder" >/dev/null
cd "$folder"
contents=$(tar -tzf stridec-*.tgz | sort | tr '\n' ' ')
expected="package/LICENSE-APACHE package/LICENSE-MIT package/README.md package/examples/camera.mjs package/examples/pass.mjs package/gpu.d.ts package/gpu.js package/index.d.ts package/index.js package/package.json package/stridec.wasm "
[[ $contents == "$expected" ]] || { echo "expected $expected, got $contents" >&2; exit 1; }
npm ci --ignore-scripts --no-audit --no-fund --silent
npm install --no-save --ignore-scripts --no-audit --no-fund --silent ./stridec-*.tgz
npx publint run --strict --pack npm node_modules/stridec
npx attw --profile esm-only --exclude-entrypoints stridec.wasm package.json -- ./stridec-*.tgz

# The types of imported JSON files are looser than those of the package.
node --input-type=module - <<'END'
import { writeFileSync } from "node:fs";
import { init, program, relayout } from "stridec";
await init();
writeFileSync("kernel.json", JSON.stringify(relayout("f32[2,3]", "f32[2,3]{0,1}")));
const module = "ENTRY e { p = f32[4,6] parameter(0)\n ROOT r = f32[6,4] transpose(p), dimensions={1,0} }";
writeFileSync("program.json", JSON.stringify(program(module)));
END
# Types: two compilers, with and without lib.dom, with and without @webgpu/types.
for compiler in ts54 typescript; do
    for lib in '"es2022"' '"es2022", "dom"'; do
        for types in '' '"@webgpu/types"'; do
            # Two set-ups have to skip the check of declarations. @webgpu/types by itself lacks names of
            # lib.dom. Since version 6, lib.dom has the types of WebGPU too, and both collide.
            skip=false
            case $compiler$lib$types in
            *'"es2022""@webgpu/types"' | 'typescript"es2022", "dom""@webgpu/types"') skip=true ;;
            esac
            echo "-- types: $compiler, lib $lib, types ${types:-none}"
            cat >tsconfig.json <<END
{
  "compilerOptions": {
    "noEmit": true, "strict": true, "skipLibCheck": $skip,
    "module": "nodenext", "moduleResolution": "nodenext", "target": "es2022", "resolveJsonModule": true,
    "lib": [$lib], "types": [$types]
  },
  "files": ["sample.mts"]
}
END
            node "node_modules/$compiler/bin/tsc" --project tsconfig.json
        done
    done
done

node --test compile.test.mjs
# Without a desktop session, the driver would warn about the missing folder.
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-$folder}
export VK_ICD_FILENAMES=${VK_ICD_FILENAMES:-/usr/lib/chromium/vk_swiftshader_icd.json}
node --test dawn.test.mjs
node --test examples.test.mjs
node readme.mjs "$here/README.md"
node readme.mjs "$here/../docs/javascript.md"
npx deno run --quiet --allow-all --node-modules-dir=manual runtime.mjs "$here/README.md"
# Bun's script of installation puts the binary for this machine in place.
(cd node_modules/bun && node install.js)
npx bun runtime.mjs "$here/README.md"

bundle=(npx esbuild --bundle --minify --format=esm --log-level=warning)
"${bundle[@]}" node_modules/stridec/gpu.js --outfile=gpu.min.js
runner=$(gzip -9 --no-name --stdout gpu.min.js | wc -c)
echo "minified and compressed, stridec/gpu has $runner bytes"
((runner <= 4096)) || { echo "expected at most 4096" >&2; exit 1; }
mkdir site
"${bundle[@]}" browser.mjs --external:node:fs/promises --outfile=site/bundle.js
cp node_modules/stridec/stridec.wasm site/
echo '<!doctype html><script type="module" src="/bundle.js"></script>' >site/index.html
node chromium.mjs site
# Vite finds the module by itself, and gives it a name with its hash.
npx vite build --logLevel warn --emptyOutDir --outDir "$folder/dist" vite
[[ $(find dist -name '*.wasm' | wc -l) == 1 ]] || { echo "expected one module in the bundle of vite" >&2; exit 1; }
node chromium.mjs dist
