// Runs the programs of a document on Dawn, and compares what they print with what the document
// says: `node readme.mjs FILE`. A block of JavaScript is a program if it begins with an import, or if
// a block of text follows, its output.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const text = readFileSync(process.argv[2], "utf8");
// Each fenced block, its language and what follows it.
const fences = [...text.matchAll(/^```(\w+)\n(.*?)^```\n/gms)];
const next = (fence) => text.slice(fence.index + fence[0].length);
const blocks = fences.flatMap((fence, at) => {
  const [, language, lines] = fence;
  const output = fences[at + 1];
  if (language !== "js") return [];
  if (output?.[1] === "text" && next(fence).startsWith("\n```text\n")) return [[lines, output[2]]];
  return lines.startsWith("import ") ? [[lines, ""]] : [];
});
assert(blocks.some(([, output]) => output), "the document has no lines with their output");
// The document shows the lines that Node needs.
const start = fences.find(([, , lines]) => lines.startsWith("const { create, globals }"))?.[2];
assert(start, "the document has no lines for Node");
writeFileSync("readme-start.mjs", start);
for (const [lines, output] of blocks) {
  writeFileSync("readme-lines.mjs", lines);
  const program = `await import("./readme-lines.mjs"); console.error("the end"); process.exit(0)`;
  const run = ["--import", "./readme-start.mjs", "--input-type=module", "-e", program];
  const { status, signal, stdout, stderr } = spawnSync("node", run, { encoding: "utf8" });
  // If Dawn crashes the process while it exits, the program has run.
  const ended = status === 0 || (signal === "SIGSEGV" && stderr.endsWith("the end\n"));
  assert(ended, `the program ended with ${status ?? signal}: ${stderr}`);
  assert.equal(stdout, output);
}
console.log(`${blocks.length} of the document's programs print what it says`);
