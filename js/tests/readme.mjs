// Runs the lines of a document on Dawn, and compares what they print with what the document says:
// `node readme.mjs FILE`. A block of JavaScript is followed by a block of text, its output.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const text = readFileSync(process.argv[2], "utf8");
const blocks = [...text.matchAll(/```js\n(.*?)```\n\n```text\n(.*?)```/gs)];
assert(blocks.length > 0, "the document has no lines with their output");
for (const [, lines, output] of blocks) {
  writeFileSync("readme-lines.mjs", lines);
  const start = 'import{create,globals}from"webgpu";Object.assign(globalThis,globals);globalThis.kept=create([]);Object.defineProperty(globalThis,"navigator",{value:{gpu:kept},configurable:true});';
  writeFileSync("readme-start.mjs", start);
  const printed = execFileSync("node", ["--import", "./readme-start.mjs", "--input-type=module", "-e", `await import("./readme-lines.mjs"); process.exit(0)`], { encoding: "utf8" });
  assert.equal(printed, output);
}
console.log(`${blocks.length} of the document's programs print what it says`);
