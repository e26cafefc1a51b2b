// Runs the programs of a document on Dawn, and compares what they print with what the document
// says: `node readme.mjs FILE`. A block of JavaScript is a program if it begins with an import, or if
// a block of text follows, its output.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
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

// Runs the program in readme-lines.mjs, and returns the text that it prints. In two of some hundred
// programs, Dawn ended with SIGSEGV, and nobody knows why yet. The package has no native code.
// Therefore the program runs again then. If it crashes three times, the test fails.
function run() {
  for (let runs = 1; ; runs += 1) {
    try {
      return execFileSync("node", ["--import", "./readme-start.mjs", "--input-type=module", "-e", `await import("./readme-lines.mjs"); process.exit(0)`], { encoding: "utf8" });
    } catch (error) {
      if (error.signal !== "SIGSEGV" || runs === 3) throw error;
      console.error("Dawn crashed: the program runs again");
    }
  }
}

for (const [lines, output] of blocks) {
  writeFileSync("readme-lines.mjs", lines);
  const printed = run();
  assert.equal(printed, output);
}
console.log(`${blocks.length} of the document's programs print what it says`);
