// Times layout changes of stridec, of a naive kernel and of other libraries, on one device of
// WebGPU in Chromium. After `js/build.sh`:
//
//     (cd js/bench && npm ci --ignore-scripts && node bench.mjs)
//
// STRIDEC_ADAPTER chooses Chromium's adapter: `swiftshader` by default, or `default` for a GPU.
// Each result is compared with loops before anything is timed. A number is the median of nine rounds
// of many copies, submitted one by one; jax-js waits for each of them, because it computes nothing
// that nobody waits for. In parentheses is the time as a multiple of stridec's.
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { cpus, loadavg, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { build } from "esbuild";
import puppeteer from "puppeteer-core";

const folder = await mkdtemp(join(tmpdir(), "stridec-"));
const here = new URL(".", import.meta.url);
await build({
  entryPoints: [new URL("page.mjs", here).pathname],
  bundle: true,
  format: "esm",
  outfile: join(folder, "page.js"),
  external: ["node:*"],
  alias: { stridec: new URL("../index.js", here).pathname },
  logLevel: "error",
});
const files = {
  "/favicon.ico": () => " ",
  "/": () => '<!doctype html><script type="module" src="/page.js"></script>',
  "/page.js": () => readFile(join(folder, "page.js")),
  "/stridec.wasm": () => readFile(new URL("../stridec.wasm", here)),
};
const types = { js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm" };
const server = createServer(async ({ url }, response) => {
  const name = basename(url);
  // onnxruntime-web loads its own module.
  const content = files[url] ? await files[url]() : await readFile(new URL(`node_modules/onnxruntime-web/dist/${name}`, here)).catch(() => null);
  const isolated = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
  response.writeHead(content ? 200 : 404, { "content-type": types[name.split(".").pop()] ?? "text/html", ...isolated });
  response.end(content);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const adapter = process.env.STRIDEC_ADAPTER ?? "swiftshader";
const browser = await puppeteer.launch({
  executablePath: process.env.STRIDEC_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => existsSync(path)),
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-webgpu", ...(adapter === "default" ? ["--enable-features=Vulkan"] : [`--use-webgpu-adapter=${adapter}`])],
  protocolTimeout: 600_000,
});
try {
  console.log(`${cpus()[0].model}, ${cpus().length} processors, load ${loadavg()[0].toFixed(1)}; ${await browser.version()}`);
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error.stack ?? error));
  page.on("console", (message) => console.log(message.text()));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction("globalThis.bench", { timeout: 60_000 });
  await page.evaluate("bench()");
} finally {
  await browser.close();
  server.close();
  await rm(folder, { recursive: true });
}
