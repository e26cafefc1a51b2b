// Asks Tint, through Dawn's package for Node, whether it accepts every kernel of the files and
// folders that are given: `.wgsl` files, and `.snap` files, whose last part is a kernel. A pipeline
// is made of each, on Dawn's null backend.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const installed = createRequire(pathToFileURL(join(process.cwd(), "package.json")));
const { create, globals } = await import(pathToFileURL(installed.resolve("webgpu")));
Object.assign(globalThis, globals);

const gpu = create(["backend=null"]);
const adapter = await gpu.requestAdapter();
if (!adapter) throw new Error("Dawn has no null adapter");
const device = await adapter.requestDevice();

/** The kernel of a file; null where a snapshot has none to dispatch. */
function kernel(file) {
    const text = readFileSync(file, "utf8");
    if (!file.endsWith(".snap")) return text;
    const at = text.indexOf("\n\n// ", text.indexOf("\n== kernel"));
    return at < 0 ? null : text.slice(at);
}

/** What Tint and Dawn say against a kernel. */
async function errors(code) {
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code });
    const { messages } = await module.getCompilationInfo();
    device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main" } });
    const error = await device.popErrorScope();
    const said = messages.map(({ type, lineNum, message }) => `${type}, line ${lineNum}: ${message}`);
    return error ? [...said, error.message] : said;
}

const files = process.argv.slice(2).flatMap((path) =>
    statSync(path).isDirectory() ? readdirSync(path).sort().map((name) => join(path, name)) : [path]);
let [accepted, rejected, without] = [0, 0, 0];
for (const file of files.filter((file) => /\.(wgsl|snap)$/.test(file))) {
    const code = kernel(file);
    if (code === null) {
        without += 1;
        continue;
    }
    const said = await errors(code);
    if (said.length === 0) {
        accepted += 1;
    } else {
        rejected += 1;
        if (rejected <= 10) console.error(`${resolve(file)}: ${said.join("\n  ")}`);
    }
}
// A validator that accepts everything would be none.
for (const broken of ["fn main() { let a: u32 = 1.5; }", "@compute @workgroup_size(1) fn main() { x[0] = 1u; }"]) {
    if ((await errors(broken)).length === 0) throw new Error(`Tint accepts ${broken}`);
}
console.log(`Tint: ${accepted} kernels accepted, ${rejected} rejected, ${without} snapshots without a kernel`);
process.exit(rejected === 0 && accepted > 0 ? 0 : 1);
