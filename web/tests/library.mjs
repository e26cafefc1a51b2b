// Runs the WebAssembly modules outside a page: `node library.mjs SITE_MODULE TEST_MODULE REQUESTS`.
// The first must answer the requests of a file like the native build that wrote the file. The
// second is `library.rs`.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

const [site, tests, requests] = process.argv.slice(2);

const { instance } = await WebAssembly.instantiate(await readFile(site));
const { memory, input, output, compile } = instance.exports;
const file = await readFile(requests);
let at = 0;
let compared = 0;
const next = () => {
  const length = file.readUInt32LE(at);
  at += 4 + length;
  return file.subarray(at - length, at);
};
while (at < file.length) {
  const [request, answer] = [next(), next()];
  const place = input(request.length);
  // The call may have replaced the buffer.
  new Uint8Array(memory.buffer, place, request.length).set(request);
  const length = compile();
  const given = Buffer.from(memory.buffer, output(), length);
  if (!answer.equals(given)) throw new Error(`request ${compared} has another answer: ${request.toString("hex")}`);
  compared += 1;
}
assert(compared >= 1000, `${compared} requests`);
console.log(`${compared} requests are answered with the native build's bytes`);

const said = [];
const host = {
  say(text, length) {
    said.push(Buffer.from(library.instance.exports.memory.buffer, text, length).toString());
  },
};
const library = await WebAssembly.instantiate(await readFile(tests), { host });
const start = performance.now();
try {
  library.instance.exports.main(0, 0);
} catch (error) {
  console.error(said.join("\n"));
  throw error;
}
assert.deepEqual(said, ["all tests passed"]);
console.log(`the library's tests pass with a usize of 32 bits, in ${((performance.now() - start) / 1e3).toFixed(1)} s`);
