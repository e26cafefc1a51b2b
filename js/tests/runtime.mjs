// The package in Deno or Bun: `deno run --allow-all runtime.mjs README`. Compiles, and runs the
// lines of README if the runtime has WebGPU. Deno has it, so that a missing device is an error.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { init, relayout } from "stridec";

const name = globalThis.Deno ? `Deno ${Deno.version.deno}` : globalThis.Bun ? `Bun ${Bun.version}` : `Node ${process.versions.node}`;
await init();
const kernel = relayout("f32[2,3]{1,0}", "f32[2,3]{0,1}");
assert.deepEqual([kernel.strategy, kernel.destinationBytes], ["gather", 24]);

const adapter = await globalThis.navigator?.gpu?.requestAdapter();
assert(adapter || !globalThis.Deno, "Deno has no adapter; VK_ICD_FILENAMES names the driver");
if (adapter) {
  const [, lines, expected] = /```js\n(.*?)```\n\n```text\n(.*?)```/s.exec(readFileSync(process.argv[2], "utf8"));
  writeFileSync("runtime-lines.mjs", lines);
  let printed = "";
  console.log = (...words) => (printed += `${words.join(" ")}\n`);
  await import("./runtime-lines.mjs");
  assert.equal(printed, expected);
  console.info(`${name} compiles, and runs the lines of README`);
} else {
  console.info(`${name} compiles; it has no device of WebGPU`);
}
process.exit(0);
