// Runs a site with the bundle in Chromium, under a policy that allows no more than WebAssembly:
// `node chromium.mjs FOLDER`.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const folder = process.argv[2];
const types = { js: "text/javascript", wasm: "application/wasm" };
const server = createServer(async ({ url }, response) => {
  const content = await readFile(join(folder, url === "/" ? "index.html" : url)).catch(() => null);
  response.writeHead(content ? 200 : 404, { "content-type": types[url.split(".").pop()] ?? "text/html", "content-security-policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" });
  response.end(content);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const browser = await puppeteer.launch({
  executablePath: process.env.STRIDEC_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => existsSync(path)),
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
});
const page = await browser.newPage();
page.on("pageerror", (error) => console.error(error.stack));
await page.goto(`http://127.0.0.1:${server.address().port}/`);
await page.waitForNetworkIdle();
assert.deepEqual(await page.evaluate(() => globalThis.test()), [1, 4, 2, 5, 3, 6]);
console.log(`the bundle in ${folder} runs in Chromium`);
await browser.close();
server.close();
