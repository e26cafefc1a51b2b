// Measures how long the first kernel takes after the bytes of the module are there. Each run is a
// new process or a new browser, since engines keep compiled code. After `js/build.sh`:
//
//     (cd js/bench && npm ci --ignore-scripts && node first_kernel.mjs [RUNS])
//
// In Chromium it measures `init` from bytes, and `init` from an address whose bytes arrive over a
// tenth of a second, while they are compiled. The time on the main thread's processor is printed
// for Node on Linux: other programs do not add to it, unlike to the time on the clock.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";

const package_ = new URL("../", import.meta.url);
const FROM = "f32[8,64,112,112]";
const ENOUGH = 60;

if (process.argv[2] === "--one") {
  const { init, relayout } = await import(new URL("index.js", package_));
  const bytes = await readFile(new URL("stridec.wasm", package_));
  const usage = () => {
    const file = `/proc/self/task/${process.pid}/schedstat`;
    return existsSync(file) ? Number(readFileSync(file, "utf8").split(" ")[0]) / 1e6 : NaN;
  };
  const [start, used] = [performance.now(), usage()];
  await init(bytes);
  relayout(FROM, "NHWC");
  console.log(JSON.stringify([performance.now() - start, usage() - used]));
  process.exit(0);
}

const runs = Number(process.argv[2] ?? 11);
const print = (name, times) => {
  const sorted = times.toSorted((one, other) => one - other);
  const [least, median, most] = [0, sorted.length >> 1, sorted.length - 1].map((at) => sorted[at].toFixed(1));
  console.log(`${name}: ${median} ms (${least} to ${most})${median > ENOUGH ? `, more than ${ENOUGH}` : ""}`);
};
console.log(`${cpus()[0].model}, ${cpus().length} processors, load ${loadavg()[0].toFixed(1)}; medians of ${runs} runs`);

const self = fileURLToPath(import.meta.url);
const inNode = Array.from({ length: runs }, () => JSON.parse(execFileSync(process.execPath, [self, "--one"], { encoding: "utf8" })));
print(`Node ${process.versions.node}`, inNode.map(([time]) => time));
if (!Number.isNaN(inNode[0][1])) print("  on the main thread's processor", inNode.map(([, used]) => used));

const page = `<!doctype html><script type="module">
import { init, relayout } from "/index.js";
const first = async (source) => {
  await init(source);
  relayout("${FROM}", "NHWC");
  return performance.now();
};
globalThis.fromBytes = async () => {
  const bytes = await (await fetch("/stridec.wasm")).arrayBuffer();
  const start = performance.now();
  return (await first(bytes)) - start;
};
globalThis.fromAddress = async () => {
  const end = await first("/slow.wasm");
  return end - performance.getEntriesByName(new URL("/slow.wasm", location.href).href)[0].responseEnd;
};
</script>`;
const wasm = await readFile(new URL("stridec.wasm", package_));
const server = createServer(async ({ url }, response) => {
  if (url === "/slow.wasm") {
    response.writeHead(200, { "content-type": "application/wasm" });
    for (let part = 0; part < 20; part += 1) {
      response.write(wasm.subarray(Math.ceil((wasm.length * part) / 20), Math.ceil((wasm.length * (part + 1)) / 20)));
      await new Promise((done) => setTimeout(done, 5));
    }
    response.end();
    return;
  }
  const content = url === "/" ? page : await readFile(new URL(`.${url}`, package_)).catch(() => null);
  const type = { js: "text/javascript", wasm: "application/wasm" }[url.split(".").pop()] ?? "text/html";
  // The clock of an isolated page has steps of 5 µs.
  const isolated = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
  response.writeHead(content ? 200 : 404, { "content-type": type, ...isolated });
  response.end(content);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const { default: puppeteer } = await import("puppeteer-core");
const executablePath = process.env.STRIDEC_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => existsSync(path));
for (const [name, call] of [["from bytes", "fromBytes()"], ["from an address", "fromAddress()"]]) {
  const times = [];
  let version;
  for (let run = 0; run < runs; run += 1) {
    const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    version = await browser.version();
    const tab = await browser.newPage();
    await tab.goto(`http://127.0.0.1:${server.address().port}/`);
    await tab.waitForFunction("globalThis.fromAddress");
    // A browser that has just started is still busy.
    await new Promise((done) => setTimeout(done, 500));
    times.push(await tab.evaluate(call));
    await browser.close();
  }
  print(`${version}, ${name}`, times);
}
server.close();
