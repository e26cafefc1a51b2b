// Runs the lines of a document on Dawn, and compares what they print with what the document says:
// `node readme.mjs FILE`. A block of JavaScript is followed by a block of text, its output.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const text = readFileSync(process.argv[2], "utf8");
const blocks = [...text.matchAll(/```js\n(.*?)```\n\n```text\n(.*?)```/gs)];
assert(blocks.length > 0, "the document has no lines with their output");
// The document shows the lines that Node needs.
const [node] = /^ {4}const \{ create, globals \}.*?(?=\n\n)/ms.exec(text) ?? [];
assert(node, "the document has no lines for Node");
for (const [, lines, output] of blocks) {
  writeFileSync("readme-lines.mjs", lines);
  const start = node.replace(/^ {4}/gm, "");
  writeFileSync("readme-start.mjs", start);
  const printed = execFileSync("node", ["--import", "./readme-start.mjs", "--input-type=module", "-e", `await import("./readme-lines.mjs"); process.exit(0)`], { encoding: "utf8" });
  assert.equal(printed, output);
}
console.log(`${blocks.length} of the document's programs print what it says`);
