// Opens the page in Chromium and uses it as a reader does: `node page.mjs SITE [WORD]`. SITE is the
// folder of the site. With a WORD, only steps run whose names contain it. The first failure ends
// the run. The packages that it uses are in the current folder. If STRIDEC_PACKAGE is the folder of
// the JavaScript package with its module, the lines that the page shows are run with it.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const site = resolve(process.argv[2]);
const only = process.argv[3] ?? "";
const packages = createRequire(join(process.cwd(), "package.json"));
const puppeteer = packages("puppeteer-core");
const axe = await readFile(packages.resolve("axe-core/axe.min.js"), "utf8");

const types = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml", wasm: "application/wasm" };
const asked = [];
/** What was asked for while no page was opened: modules that a page loads later. */
const later = [];
let opening = 0;
/** The answer to a request for the compiler waits for this promise. */
let held;
/** Lines of JavaScript that `run.html` runs with the package. */
let script = "";
const runPage = () => `<!DOCTYPE html><link rel="icon" href="data:,">
<script type="importmap">{ "imports": { "stridec": "/package/index.js", "stridec/gpu": "/package/gpu.js" } }</script>
<script type="module">\n${script}\n</script>`;
const server = createServer(async ({ url }, response) => {
  const name = url === "/" ? "index.html" : url.slice(1);
  asked.push(name);
  if (!opening) later.push(name);
  if (name === "stridec.wasm") await held;
  const path = name.startsWith("package/") ? join(process.env.STRIDEC_PACKAGE ?? "", name.slice("package/".length)) : join(site, name);
  const content = name === "run.html" ? runPage() : await readFile(path).catch(() => null);
  response.writeHead(content ? 200 : 404, { "content-type": types[name.split(".").pop()] ?? "text/plain" });
  response.end(content);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const root = `http://127.0.0.1:${server.address().port}/`;

const browser = await puppeteer.launch({
  executablePath: process.env.STRIDEC_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => existsSync(path)),
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
});

await browser.defaultBrowserContext().overridePermissions(root, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);

/** The limit of a wait, in milliseconds; megabytes of text take seconds on a busy machine. */
const LONGEST = 20_000;

/** The browser's complaints: exceptions, and violations of the security policy. */
const complaints = [];

function watch(page) {
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => complaints.push(error.stack));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
}

async function open(address = `${root}#layout`, width = 1300, context = browser) {
  opening += 1;
  const page = await context.newPage();
  watch(page);
  await page.setViewport({ width, height: 900 });
  await page.goto(address);
  await page.waitForSelector("body[data-ready]");
  opening -= 1;
  return page;
}

const value = (page, field) => page.$eval(`#field-${field}`, (input) => input.value);
const text = (page, selector) => page.$eval(selector, (element) => element.textContent);
const title = (page) => text(page, "#answer h1");
const hash = (page) => page.evaluate(() => location.hash);

/** Goes to a state, like a link. */
async function go(page, state) {
  await page.evaluate((to) => { location.hash = to; }, state);
  await page.waitForFunction((to) => {
    const given = stateOf(to);
    const fields = given.kind === "image" ? [] : Object.keys(KINDS[given.kind].fields);
    return document.body.dataset.kind === given.kind && document.querySelector("#kinds [aria-current]") && fields.every((name) => document.getElementById(`field-${name}`)?.value === given[name]);
  }, {}, state);
  await page.waitForSelector("#answer:not([aria-busy])");
}

/** Replaces a field's text at once, like pasting, and returns the milliseconds until the answer. */
function paste(page, field, content) {
  return page.evaluate((name, given) => {
    const input = document.getElementById(`field-${name}`);
    input.value = given;
    const start = performance.now();
    input.dispatchEvent(new Event("input", { bubbles: true }));
    return performance.now() - start;
  }, field, content);
}

/** The offset that XLA's rule of tiles gives an element of `TYPE[EXTENTS]{ORDER:T(…)(…)}`. */
function offsetByTiles(notation, index) {
  const [, sizes, order, tiles = ""] = /\[(.*)\]{([\d,]*)(.*)}/.exec(notation);
  const major = order.split(",").map(Number).reverse();
  let digits = major.map((d) => [index[d], Number(sizes.split(",")[d])]);
  for (const [tile] of tiles.matchAll(/\([\d,]+\)/g)) {
    const extents = tile.match(/\d+/g).map(Number);
    const [outer, cut] = [digits.slice(0, -extents.length), digits.slice(-extents.length)];
    digits = [...outer, ...cut.map(([at, of], d) => [Math.floor(at / extents[d]), Math.ceil(of / extents[d])]), ...cut.map(([at], d) => [at % extents[d], extents[d]])];
  }
  return digits.reduce((sum, [at, of]) => sum * of + at, 0);
}

const steps = {
  async "a layout is typed, with an error under its character"(page) {
    await page.click("#field-from", { count: 3 });
    await page.keyboard.type("f32[2,3]{1,1}");
    const fault = await page.$eval("#fault-from", (element) => ["pre", "p"].map((tag) => element.querySelector(tag).textContent));
    assert.equal(fault[0], "f32[2,3]{1,1}\n           ^");
    assert.match(fault[1], /expected each dimension once, got 1 twice/);
    assert.equal(await page.$eval("#field-from", (input) => input.getAttribute("aria-invalid")), "true");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("0}");
    assert.equal(await text(page, "#fault-from"), "");
    assert.equal(await title(page), "f32[2,3]{1,0}");
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes("f32[2,3]{1,0}"));
  },

  async "controls and text are in step"(page) {
    await go(page, "#layout?from=f32[20,200]{1,0:T(8,128)}");
    await page.click('[data-control="right-0"]');
    assert.equal(await value(page, "from"), "f32[20,200]{0,1:T(8,128)}");
    await page.select('[data-control="tiles"]', "(8,128)(2,1)");
    await page.select('[data-control="type"]', "bf16");
    assert.equal(await value(page, "from"), "bf16[20,200]{0,1:T(8,128)(2,1)}");
    await page.click('[data-control="dimensions-1"]', { count: 3 });
    await page.keyboard.type("36");
    assert.equal(await value(page, "from"), "bf16[20,36]{0,1:T(8,128)(2,1)}");
    await page.click('[data-control="more"]');
    assert.equal(await title(page), "bf16[20,36,2]{2,0,1:T(8,128)(2,1)}");
    await page.select('[data-control="tiles"]', "");
    await page.click('[data-control="padding"]');
    await page.select('[data-control="value"]', "zero");
    assert.equal(await title(page), "bf16[20,36,2]{2,0,1:PAD(20,36,2,zero)}");
    await paste(page, "from", "f32[4,6] strided<[9,1], offset: 2>");
    assert.deepEqual(await page.$$eval('[data-control^="strides-"]', (inputs) => inputs.map((input) => input.value)), ["9", "1"]);
  },

  async "twenty kernels run, and each verdict is read"(page) {
    const states = [
      ["f32[4,6]{1,0}", "f32[4,6]{0,1}"], ["f32[64,256]{1,0}", "f32[64,256]{0,1}"], ["f32[2,8,12,12]{3,2,1,0}", "f32[2,8,12,12]{1,3,2,0}"],
      ["f32[2,3]", "f32[2,3]{0,1:PAD(3,5,one)}"], ["f16[5,7]{0,1:PAD(6,9,highest)}", "f16[5,7]{1,0:PAD(8,8,lowest)}"],
      ["f32[3,5]", "f32[3,5]{1,0:T(2,2)}"], ["bf16[16,256]", "bf16[16,256]{1,0:T(8,128)(2,1)}"], ["bf16[16,256]{1,0:T(8,128)(2,1)}", "bf16[16,256]{0,1}"],
      ["s8[20,200]{1,0:T(8,128)(4,1)}", "s8[20,200]{1,0:T(8,128)}"], ["u8[9,10]{1,0:T(4)}", "u8[9,10]{0,1:T(6)}"], ["s4[3,5]", "s4[3,5]{0,1:E(4)}"],
      ["u4[16,32]{1,0:E(4)}", "u4[16,32]{0,1:E(4)}"], ["pred[3,11]{1,0:E(1)}", "pred[3,11]{0,1:E(1)}"], ["f64[3,5]", "f64[3,5]{0,1:T(2,2)}"],
      ["c128[2,3,4]{2,1,0}", "c128[2,3,4]{0,1,2}"], ["f32[2,3,4,5,6]", "f32[2,3,4,5,6]{0,2,4,1,3}"], ["f32[3,5] strided<[9,-1], offset: 7>", "f32[3,5]{0,1}"],
      ["f32[0,4]", "f32[0,4]{0,1}"],
    ].map(([from, to]) => `#relayout?${new URLSearchParams({ from, to })}`);
    states.push("#slice", "#program", "#slice?from=u8[10,33]&offsets=1,2&sizes=9,30&strides=-3,1&to=");
    for (const state of states) {
      await go(page, state);
      await page.click("#run");
      await page.waitForSelector("#verdict:not(:empty):not([data-verdict=running])");
      const verdict = await page.$eval("#verdict", (element) => [element.dataset.verdict, element.textContent]);
      assert.equal(verdict[0], "pass", `${state}: ${verdict[1]}`);
      // These arrays are too small for a rate.
      assert(/[\d.]+ (µs|ms) on .*; a rate needs at least 1 MiB/.test(verdict[1]) || /Nothing to dispatch/.test(verdict[1]), verdict[1]);
    }
    // The verdict must not be good for every kernel, so a wrong kernel must fail.
    await go(page, "#relayout?from=f32[64,256]{1,0}&to=f32[64,256]{0,1}");
    await page.$$eval("#wgsl .line", (lines) => lines.forEach((line) => { line.textContent = line.textContent.replace("read = ", "read = 1u + "); }));
    await page.click("#run");
    await page.waitForSelector("#verdict[data-verdict=fail]");
  },

  async "controls for the numbers of a slice"(page) {
    await go(page, "#slice?from=f32[8,12]{1,0}&offsets=0,1&sizes=8,11&strides=-2,3&to=");
    await page.click('[data-control="sizes-1"]', { count: 3 });
    await page.keyboard.type("4");
    assert.equal(await value(page, "sizes"), "8,4");
    await page.click('[data-control="strides-0"]', { count: 3 });
    await page.keyboard.type("1");
    assert.equal(await value(page, "strides"), "1,3");
    assert.match(await title(page), /f32\[8,2\]/);
    // While the text is no list of two numbers, the controls stay.
    await paste(page, "sizes", "8,");
    assert.deepEqual(await page.$$eval('[data-control^="sizes-"]', (inputs) => inputs.map(({ value }) => value)), ["8", "4"]);
  },

  async "a target is chosen, and one whose limits are too low says so"(page) {
    await go(page, "#relayout?from=f32[1000,1000]{1,0}&to=f32[1000,1000]{0,1}");
    const kernel = await text(page, "#below");
    const names = await page.$$eval("#target option", (options) => options.map(({ value }) => value));
    assert.deepEqual(names, ["webgpu", "webgpu-cpu", "lavapipe", "swiftshader"]);
    await page.select("#target select", "lavapipe");
    await page.waitForSelector("#answer:not([aria-busy])");
    assert.notEqual(await text(page, "#below"), kernel);
    assert((await hash(page)).includes("target=lavapipe"));
    await page.select("#target select", "webgpu");
    await page.waitForSelector("#answer:not([aria-busy])");
    assert.equal(await text(page, "#below"), kernel);
    assert(!(await hash(page)).includes("target"));
    await go(page, "#relayout?from=bf16[32768,32768]{1,0}&to=bf16[32768,32768]{1,0:T(8,128)(2,1)}");
    assert.match(await text(page, ".refused"), /at most 134217728 bytes/);
    assert.equal(await page.$("#run"), null);
    for (const side of ["source", "destination"]) assert(await page.$(`#explore-${side} .grid .here`), side);
    assert(await page.$("#below svg"));
  },

  async "the pointer goes over cells"(page) {
    await go(page, "#relayout?from=f32[4,6]{1,0}&to=f32[4,6]{0,1}");
    const cell = await page.$('#explore-source [data-at="2,3"]');
    await cell.hover();
    await page.waitForFunction(() => document.getElementById("live").textContent.includes("Index (2,3) is at offset 15"));
    assert.match(await text(page, "#live"), /goes to \(2,3\), offset 14/);
    assert.equal(await text(page, "#explore-destination .here"), "14");
  },

  async "the kernel is shown in every language, and copied"(page) {
    await go(page, "#relayout?from=f32[64,8]&to=f32[64,8]{0,1}");
    for (const [language, start] of [["spirv", "; SPIR-V"], ["msl", "// relayout"], ["hlsl", "// relayout"], ["glsl", "#version 310 es"]]) {
      await page.click(`.tabs [value=${language}]`);
      await page.waitForFunction((start) => document.querySelector("pre.translated").textContent.startsWith(start), {}, start);
      const shown = await text(page, "pre.translated");
      assert(shown.length > 500, shown);
      await page.click(".tools .tabs + button");
      await page.waitForFunction(async (copied) => (await navigator.clipboard.readText()) === copied, {}, shown);
    }
    assert((await hash(page)).includes("language=glsl"));
    await page.click(".tabs [value=wgsl]");
    await page.click(".tools .tabs + button");
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("@compute"));
  },

  async "the kernel's box stays in place, and what is said about it is of its language"(page) {
    await go(page, "#relayout?from=f32[64,8]&to=f32[64,8]{0,1}");
    const seen = () => page.evaluate(() => {
      const pre = [...document.querySelectorAll("#wgsl, pre.translated")].find(({ hidden }) => !hidden);
      return { height: pre.getBoundingClientRect().height, said: document.querySelector("#below .length").textContent, points: !document.querySelector(".pointing").hidden, bytes: new TextEncoder().encode(pre.textContent).length };
    });
    const first = await seen();
    assert(/^[\d\s]+ bytes of WGSL$/.test(first.said) && first.points, JSON.stringify(first));
    for (const [value, name] of Object.entries({ spirv: "SPIR-V", hlsl: "HLSL", js: "JavaScript" })) {
      await page.click(`.tabs [value=${value}]`);
      await page.waitForFunction((name) => document.querySelector("#below .length").textContent.endsWith(name), {}, name);
      const other = await seen();
      assert.equal(other.height, first.height, name);
      assert.equal(other.said.replace(/\s/g, ""), `${other.bytes} bytes of ${name}`.replace(/\s/g, ""));
      assert(!other.points, name);
    }
    await page.click(".tabs [value=wgsl]");
    await page.waitForFunction(() => !document.getElementById("wgsl").hidden);
    assert.deepEqual(await seen(), first);
    // A line does not move when it is marked.
    const starts = () => page.$$eval("#wgsl .line", (lines) => lines.map((line) => { const range = document.createRange(); range.selectNodeContents(line); return range.getBoundingClientRect().left; }));
    const before = await starts();
    await page.$$eval(".stride", (strides) => strides.forEach((stride) => stride.dispatchEvent(new Event("pointerenter"))));
    assert(await page.$("#wgsl .line.marked"));
    assert.deepEqual(await starts(), before);
    await page.$$eval(".stride", (strides) => strides.forEach((stride) => stride.dispatchEvent(new Event("pointerleave"))));
    // On a telephone, the tabs are in one row.
    await page.setViewport({ width: 390, height: 844 });
    for (const tabs of ["#kinds a", ".tabs button"]) {
      const tops = await page.$$eval(tabs, (all) => all.map((tab) => tab.getBoundingClientRect().top));
      assert.equal(new Set(tops).size, 1, `${tabs}: ${tops}`);
    }
    await page.setViewport({ width: 1300, height: 900 });
  },

  async "the picture says what it leaves out, and closes its tiles"(page) {
    await go(page, "#layout?from=f32[1024,3]{1,0:T(8,128)}&at=100,1");
    assert.match(await text(page, "#live"), /^Index \(100,1\) is at offset 12801 of 131\u00a0072 places, byte 51204\.$/);
    assert.equal(await text(page, "#explore-source h3"), "Memory around the chosen element");
    const [first, last] = await page.$$eval("#explore-source .strip [data-place]", (all) => [all[0], all.at(-1)].map(({ dataset }) => Number(dataset.place)));
    const rest = (await text(page, "#explore-source .rest")).replace(/\u00a0/g, "");
    assert.equal(rest, `… ${first} more places before, ${131072 - last - 1} more places after …`);
    assert.equal(await text(page, "#explore-source .overview + .caption"), "The whole array; click to move the window above");
    // Padding is hatched in the overview too, so the canvas leaves it clear.
    const alpha = await page.$eval("#explore-source canvas", (canvas) => [0, 127].map((x) => canvas.getContext("2d").getImageData(x, 0, 1, 1).data[3]));
    assert.deepEqual(alpha, [255, 0]);
    await go(page, "#layout?from=f32[3,5]{1,0:T(2,2)}");
    const closed = await page.$$eval("#explore-source .grid .row", (rows) => rows.slice(1).map((row) => [...row.querySelectorAll(".cell")].map(({ classList }) => (classList.contains("bottom2") ? 2 : 0) + (classList.contains("right2") ? 1 : 0))));
    assert.deepEqual(closed, [...Array(3).fill([0, 0, 0, 0, 0, 1]), [2, 2, 2, 2, 2, 3]]);
    await go(page, "#layout?from=f32[3,5]{1,0}");
    assert.equal(await page.$(".bottom2, .right2"), null);
    assert(await page.$eval("#explore-source .caption", ({ hidden }) => hidden));
    await go(page, "#layout?from=bf16[16,256]{1,0:T(8,128)(2,1)}");
    const digits = await page.$eval("#below table", (table) => table.innerText.split("\n").map((row) => row.split(/\s+/)));
    assert.deepEqual(digits[0], ["digit", "values", "stride"]);
    assert.deepEqual(digits.map(([name]) => name).slice(1), ["d0/8", "d1/128", "(d0%8)/2", "d1%128", "(d0%8)%2"]);
  },

  async "every link leads to a page without an error"(page) {
    const links = await page.$$eval("#examples li a", (all) => all.map((link) => link.getAttribute("href")));
    const guide = await page.evaluate(() => GUIDE.map((_, at) => hashOf(stateOfStep(at))));
    assert(links.length > 15 && guide.length === 10);
    for (const link of [...links, ...guide]) {
      await go(page, link);
      assert.equal(await page.$$eval(".fault", (all) => all.map((fault) => fault.textContent).join("")), "", link);
      assert.equal(await page.$eval("#answer", (answer) => answer.className), "");
    }
    const asked = await page.evaluate(() => GUIDE.flatMap(({ ask: [, , index, offset] }, at) => (index ? [{ state: hashOf({ ...stateOfStep(at), at: index.join() }), offset }] : [])));
    assert.equal(asked.length, 7);
    for (const { state, offset } of asked) {
      await go(page, state);
      assert(new RegExp(`is at offset ${offset} of`).test(await text(page, "#live")), state);
    }
  },

  async "the tabs by a mouse, while a newer text waits"(page) {
    await go(page, await page.evaluate(() => hashOf({ kind: "layout", from: "f32[2,3]{1,0}" })));
    for (const name of ["Relayout", "Memory", "Guide", "Program", "Layout"]) {
      const links = await page.$$("#kinds a");
      const names = await page.$$eval("#kinds a", (all) => all.map((link) => link.textContent));
      await links[names.indexOf(name)].click();
      await page.waitForFunction((wanted) => document.querySelector("#kinds [aria-current]")?.textContent === wanted, { timeout: 5000 }, name);
      await page.waitForSelector("#answer:not([aria-busy])");
    }
    // A text that was typed just before the click is kept.
    await page.$eval("#field-from", (input) => input.select());
    await page.keyboard.type("f32[5,7]{0,1}");
    await (await page.$$("#kinds a"))[2].click();
    await page.waitForFunction(() => document.querySelector("#kinds [aria-current]")?.textContent === "Relayout");
    assert.equal(await page.$eval("#field-from", (input) => input.value), "f32[5,7]{0,1}");
  },

  async "the guide by the keyboard, to an exercise that says why"(page) {
    await go(page, await page.evaluate(() => hashOf(stateOfStep(0))));
    for (let step = 2; step <= 11; step++) {
      await page.evaluate(() => [...document.querySelectorAll("#guide .steps a")].pop().focus());
      await page.keyboard.press("Enter");
      await page.waitForFunction((at) => document.querySelector("#guide h2").textContent.startsWith(`${at} of 11`), {}, step);
    }
    const known = await page.evaluate(() => [...GUIDE.map(({ layout }) => layout), ...EXAMPLES.flatMap(([, links]) => links.map(([, { from }]) => from ?? ""))].join(" "));
    const [met, layouts] = [[], []];
    for (let round = 0; round < 7; round++) {
      // The page names an element, and the cursor is in the field for its offset.
      await page.waitForFunction((last) => document.activeElement?.id === "predicted" && location.hash !== last, {}, met.at(-1) ?? "");
      met.push(await hash(page));
      const [from, element] = await page.$$eval("#guide .question :is(code, strong)", (all) => all.map(({ textContent }) => textContent));
      assert(!known.includes(/:(T.*)}/.exec(from)[1]), `${from} occurred before`);
      layouts.push(from);
      const offset = offsetByTiles(from, element.match(/\d+/g).map(Number));
      for (const hidden of ["#answer", "#question"]) assert(await page.$eval(hidden, (part) => part.hidden), "the picture shows the answer");
      // Only digits are an answer. Other text is wrong and reveals nothing.
      for (const slip of [`${offset}.`, `0x${offset.toString(16)}`, `${offset}e0`, `+${offset}`, `-${offset}`, "", "a lot"]) {
        await page.$eval("#predicted", (input) => input.select());
        await page.keyboard.press("Backspace");
        await page.keyboard.type(slip);
        await page.keyboard.press("Enter");
        const said = await page.$eval("#verdict-on", ({ textContent, dataset }) => [dataset.verdict, textContent]);
        assert(said[0] === "fail" && /^Expected a number/.test(said[1]), `${slip}: ${said}`);
        for (const hidden of ["#answer", "#why", "#end"]) assert(await page.$eval(hidden, (part) => part.hidden), slip);
      }
      await page.$eval("#predicted", (input) => input.select());
      await page.keyboard.type(`${offset + 1}`);
      await page.keyboard.press("Enter");
      assert.match(await text(page, "#verdict-on"), /is not its offset/);
      assert(await page.$eval("#answer", (part) => part.hidden));
      // The offset without tiles has a verdict of its own.
      await page.$eval("#predicted", (input) => input.select());
      const plain = offsetByTiles(from.replace(/:T.*}/, "}"), element.match(/\d+/g).map(Number));
      await page.keyboard.type(`${plain}`);
      await page.keyboard.press("Enter");
      if (plain !== offset) assert.match(await text(page, "#verdict-on"), /without tiles/);
      await page.$eval("#predicted", (input) => input.select());
      await page.keyboard.type(`${offset}`);
      await page.keyboard.press("Enter");
      assert.equal(await text(page, "#verdict-on"), `${offset} is right.`);
      const why = await text(page, "#why");
      assert(why.includes(`= ${offset}.`) && /\d+ = \d+·\d+ \+ \d+ and /.test(why), why);
      assert((await text(page, "#live")).startsWith(`Index ${element} is at offset ${offset} of`));
      assert(!(await page.$eval("#answer", (part) => part.hidden)));
      await page.$eval("#predicted", (input) => input.select());
      await page.keyboard.type("a lot");
      await page.keyboard.press("Enter");
      assert.match(await text(page, "#verdict-on"), /Expected a number/);
      await page.evaluate(() => [...document.querySelectorAll("#guide .question a")].pop().focus());
      await page.keyboard.press("Enter");
    }
    // There are six layouts. After the last one the first comes again, with a random element.
    assert.equal(new Set(layouts).size, 6);
    assert.equal(layouts[6], layouts[0]);
    await go(page, "#layout?from=f32[2,3]{1,0:T(2,2)}&step=11&at=9,9");
    assert.equal(await page.$("#predicted"), null);
    // Only two of three dimensions are cut, so that each index of the other has tiles of its own.
    await go(page, "#layout?from=f32[3,6,9]{2,1,0:T(4,6)}&at=2,5,8&step=11");
    assert.match(await text(page, "#why"), /Each of the 3 planes takes 2 by 2 of them, of 24 places each/);
  },

  async "the guide leads on: links in its text, and to the kernel at its end"(page) {
    await go(page, await page.evaluate(() => hashOf(stateOfStep(7))));
    await page.click("#guide .question summary");
    for (const [at, layout] of ["f32[1024,3]{1,0:T(8,128)}", "f32[1024,3]{0,1:T(8,128)}"].entries()) {
      await (await page.$$("#guide .text a"))[at].click();
      await page.waitForFunction((layout) => document.getElementById("field-from").value === layout, {}, layout);
      assert.match(await text(page, "#guide h2"), /^8 of 11/);
      assert(await page.$eval("#guide .question details", ({ open }) => open), "the link closes the answer");
    }
    // Step 2 asks about an element with another place than in step 1.
    const [first, second] = await page.evaluate(() => GUIDE.map(({ layout, ask: [, , index] }) => [layout, index]));
    assert.notEqual(offsetByTiles(first[0], second[1]), offsetByTiles(second[0], second[1]));
    for (const [at, selector] of ["#run", "#wgsl"].entries()) {
      await page.evaluate(() => solved.clear());
      await go(page, "#layout?from=f32[7,10]{1,0:T(4,4)}&at=5,6&step=11");
      assert(await page.$eval("#end", ({ hidden }) => hidden));
      await page.type("#predicted", "70\n");
      await (await page.$$("#end a"))[at].click();
      await page.waitForFunction((selector) => document.activeElement === document.querySelector(selector), {}, selector);
      const { top, bottom } = await page.$eval(selector, (part) => { const { top, bottom } = part.getBoundingClientRect(); return { top, bottom }; });
      assert(bottom > 0 && top < 900, `${selector} from ${top} to ${bottom}`);
      // On the way back, the answer is there.
      await page.goBack();
      await page.waitForSelector("#verdict-on[data-verdict=pass]");
      assert.equal(await value(page, "from"), "f32[7,10]{1,0:T(4,4)}");
      assert.equal(await page.$eval("#predicted", (input) => input.value), "70");
      assert(!(await page.$eval("#answer", ({ hidden }) => hidden)));
    }
    await page.evaluate(() => scrollTo(0, 0));
  },

  async "the guide keeps its step, and its exercise"(page) {
    const step = () => text(page, "#guide h2");
    const follow = async (root, name) => {
      const links = await page.$$eval(`${root} a`, (all) => all.map((link) => link.textContent));
      await (await page.$$(`${root} a`))[links.indexOf(name)].click();
      await page.waitForSelector("#answer:not([aria-busy])");
    };
    await go(page, await page.evaluate(() => hashOf(stateOfStep(6))));
    await follow("#kinds", "Relayout");
    await page.waitForSelector("body[data-kind=relayout]");
    await follow("#kinds", "Guide");
    await page.waitForSelector("body[data-guide]");
    assert.match(await step(), /^7 of 11/);
    await go(page, await page.evaluate(() => hashOf(stateOfStep(10))));
    const exercise = await hash(page);
    await follow("#guide .steps", "‹ Back");
    await page.waitForFunction(() => document.querySelector("#guide h2").textContent.startsWith("10 of 11"));
    await follow("#guide .steps", "Next ›");
    await page.waitForFunction(() => document.querySelector("#guide h2").textContent.startsWith("11 of 11"));
    assert.equal(await hash(page), exercise);
  },

  async "the guide on a small screen: its text, the picture, the sum and the map"(page) {
    for (const [width, height] of [[800, 600], [390, 844]]) {
      await page.setViewport({ width, height });
      for (let step = 1; step <= 10; step++) {
        await go(page, await page.evaluate((at) => hashOf(stateOfStep(at)), step - 1));
        await page.evaluate(() => { document.querySelector("#guide .text").open = true; });
        await page.waitForFunction(() => document.querySelector("#guide .box").style.maxHeight);
        const seen = await page.evaluate(() => {
          scrollTo(0, 0);
          fitText();
          const box = document.querySelector("#guide .box");
          const bottom = (selector) => Math.max(0, ...[...document.querySelectorAll(selector)].map((part) => part.getBoundingClientRect().bottom));
          return {
            text: box.clientHeight, isCut: box.scrollHeight > box.clientHeight + 4, fades: getComputedStyle(box).maskImage !== "none",
            folded: !document.querySelector("#question details").open, fields: bottom("#question"), height: innerHeight,
            sum: bottom("#first .sum"), map: bottom("#first .overview"), live: document.getElementById("live").getBoundingClientRect().top,
          };
        });
        const say = `step ${step} at ${width} by ${height}: ${JSON.stringify(seen)}`;
        assert(seen.folded, `the controls are open: ${say}`);
        assert.equal(seen.fades, seen.isCut, `the end of the text: ${say}`);
        assert(!seen.isCut || seen.text >= 110, `the text has little room: ${say}`);
        assert(Math.max(seen.sum, seen.map) <= seen.live && seen.fields <= seen.height, `not on the first screen: ${say}`);
      }
      // The line opens the controls, and they stay open.
      await page.click("#question summary");
      await go(page, await page.evaluate(() => hashOf(stateOfStep(1))));
      assert(await page.$eval("#question details", ({ open }) => open));
      await page.click("#question summary");
      await go(page, "#layout?from=f32[2,3]{0,1}");
      assert(await page.$eval("#question details", ({ open }) => open));
    }
    // Elsewhere each field has its own, which an edit of the other field leaves as they are.
    await go(page, "#relayout?from=f32[4,6]{1,0}&to=f32[4,6]{0,1}");
    await page.click("#question .field-from summary");
    await paste(page, "from", "f32[4,7]{1,0}");
    assert.deepEqual(await page.$$eval("#question details", (all) => all.map(({ open }) => open)), [false, true]);
    assert.equal(await value(page, "to"), "f32[4,7]{0,1}");
    await page.waitForFunction(() => location.hash.includes("f32[4,7]"));
    await page.setViewport({ width: 390, height: 844 });
    await go(page, "#relayout?from=f32[4,6]{1,0}&to=f32[4,6]{0,1}");
    const tabs = await page.$$eval(".tabs button", (all) => all.map((tab) => tab.getBoundingClientRect().right));
    assert(Math.max(...tabs) <= 390, `a language is cut: ${tabs}`);
    for (const width of [390, 800]) {
      await page.setViewport({ width, height: 844 });
      await go(page, "#memory");
      const cells = await page.$$eval("#first table a", (all) => all.map((link) => link.getBoundingClientRect().right));
      assert(cells.length === 2 && Math.max(...cells) <= width, `a layout is cut: ${cells}`);
    }
    await page.evaluate(() => { wantsText = null; });
    await page.setViewport({ width: 1300, height: 900 });
  },

  async "an example scrolls to its picture, and a slice marks what it leaves out"(page) {
    await go(page, "#layout?from=f32[2,3]{1,0}");
    await page.evaluate(() => document.querySelector("#examples li:last-child a").scrollIntoView());
    assert((await page.evaluate(() => scrollY)) > 100);
    await page.$$eval("#examples li a", (links) => links[1].click());
    await page.waitForFunction(() => document.getElementById("field-from").value === "f32[2,3]{0,1}" && scrollY === 0);
    await go(page, "#slice?from=f32[8,12]{1,0}&offsets=0,1&sizes=8,11&strides=-2,3&to=");
    const kept = await page.$$eval("#explore-source [data-at]:not(.left-out)", (all) => all.map(({ dataset }) => dataset.at));
    assert.equal(kept.join(" "), [1, 3, 5, 7].flatMap((row) => [1, 4, 7, 10].map((column) => `${row},${column}`)).join(" "));
    assert.equal(await page.$$eval("#first .left-out[data-at]", (all) => all.length), 96 - 16);
    assert.match(await text(page, "#explore-source"), /left out by the slice/);
    // The cells of another part of the array are marked too.
    await go(page, "#slice?from=f32[80,12]{1,0}&offsets=0,1&sizes=80,11&strides=1,1&to=");
    await page.focus("#explore-source .grid");
    await page.keyboard.press("PageDown");
    await page.keyboard.press("PageDown");
    await page.waitForFunction(() => document.querySelector('#explore-source [data-at="30,0"].left-out'));
    assert.equal(await page.$('#explore-source [data-at="30,1"].left-out'), null);
    // A relayout leaves nothing out.
    await go(page, "#relayout?from=f32[4,6]{1,0}&to=f32[4,6]{0,1}");
    assert.equal(await page.$("#first .left-out"), null);
  },

  async "figures of other pages"(page) {
    // XLA's offsets follow from its formula. CuTe's are printed by print2D and print1D; then come
    // the vectors and the matrices.
    const figures = [
      ["f32[3,5]{1,0:T(2,2)}", "0 1 4 5 8 | 2 3 6 7 10 | 12 13 16 17 20", { "2,3": 17 }],
      ["f32[4,8]{1,0:T(2,4)(2,1)}", "0 2 4 6 8 10 12 14 | 1 3 5 7 9 11 13 15 | 16 18 20 22 24 26 28 30 | 17 19 21 23 25 27 29 31"],
      ["f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", "", { "0,0,0,0,2": 2, "0,0,0,0,3": 6, "0,0,1,0,0": 3, "1,6,7,10,9": ((111 >> 1) * 37 + 36) * 6 + 4 }],
      ["f32[16,256]{1,0:T(8,128)}", "", { "1,0": 128, "0,128": 1024, "8,0": 2048 }],
      ["f32[2,256]{1,0:T(2,128)}", "", { "1,0": 128, "0,128": 256 }],
      ["f32[4,256]{1,0:T(4,128)}", "", { "3,0": 384, "0,128": 512 }],
      ["bf16[32,256]{1,0:T(8,128)(2,1)}", "", { "1,0": 1, "0,1": 2, "2,0": 256, "0,128": 1024 }],
      ["bf16[32,256]{1,0:T(8,128)(2,1,1,1)}", "", { "8,0": 1, "0,1": 2, "1,0": 256, "0,128": 2048, "16,0": 4096 }],
      ["bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", "", { "6,5": 51 }],
      ["s8[32,256]{1,0:T(8,128)(4,1)}", "", { "3,0": 3, "0,1": 4, "4,0": 512 }],
      ["pred[32,256]{1,0:T(32,128)(32,1)E(1)}", "", { "31,0": 31, "0,1": 32, "0,128": 4096 }],
      ["cute:(2,4):(1,2)", "0 2 4 6 | 1 3 5 7"],
      ["cute:(2,4):(12,1)", "0 1 2 3 | 12 13 14 15"],
      ["cute:(2,(2,2)):(1,(2,4))", "0 2 4 6 | 1 3 5 7"],
      ["cute:(2,(2,2)):(4,(2,1))", "0 2 1 3 | 4 6 5 7"],
      ["cute:((2,4)):((1,2))", "0 1 2 3 4 5 6 7"],
      ["cute:((2,4)):((12,1))", "0 12 1 13 2 14 3 15"],
      ["cute:((2,(2,2))):((1,(2,4)))", "0 1 2 3 4 5 6 7"],
      ["cute:((2,(2,2))):((4,(2,1)))", "0 4 2 6 1 5 3 7"],
      ["cute:8:1", "0 1 2 3 4 5 6 7"],
      ["cute:8:2", "0 2 4 6 8 10 12 14"],
      ["cute:((4,2)):((2,1))", "0 2 4 6 1 3 5 7"],
      ["cute:((4,2)):((1,4))", "0 1 2 3 4 5 6 7"],
      ["cute:(4,2):(1,4)", "0 4 | 1 5 | 2 6 | 3 7"],
      ["cute:(4,2):(2,1)", "0 1 | 2 3 | 4 5 | 6 7"],
      ["cute:((2,2),2):((4,1),2)", "0 2 | 4 6 | 1 3 | 5 7"],
    ];
    for (const [layout, rows, offsets = {}] of figures) {
      const link = await page.evaluate((from) => [...document.querySelectorAll("#examples li a")].map(({ hash: link }) => link).find((link) => stateOf(link).from === from), layout);
      assert(link, `no link shows ${layout}`);
      await go(page, link);
      if (rows) {
        const shown = await page.$$eval("#explore-source .grid .row", (all) => all.slice(1).map((row) => [...row.querySelectorAll("[data-at]")].map((cell) => cell.textContent).join(" ")).filter(Boolean));
        assert.equal(shown.join(" | "), rows, layout);
      }
      for (const [index, offset] of Object.entries(offsets)) {
        await go(page, await page.evaluate((from, at) => hashOf({ ...stateOf(from), at }), link, index));
        assert((await text(page, "#live")).startsWith(`Index (${index}) is at offset ${offset} of`), `${layout} ${index}: ${await text(page, "#live")}`);
      }
    }
  },

  async "back and forward"(page) {
    await go(page, "#layout?from=f32[2,3]{1,0}");
    await go(page, "#relayout?from=f32[2,3]{1,0}&to=f32[2,3]{0,1}");
    await paste(page, "to", "f32[2,3]{1,0:T(2,2)}");
    await page.waitForFunction(() => location.hash.includes("T(2,2)"));
    await go(page, "#memory");
    await page.goBack();
    await page.waitForFunction(() => document.getElementById("field-to")?.value === "f32[2,3]{1,0:T(2,2)}");
    await page.goBack();
    await page.waitForFunction(() => document.querySelector("#answer h1")?.textContent === "f32[2,3]{1,0}");
    await page.goForward();
    await page.waitForFunction(() => document.getElementById("field-to")?.value === "f32[2,3]{1,0:T(2,2)}");
    // The link names the element that the reader points at.
    await go(page, "#layout?from=f32[2,3]{0,1}&at=1,2");
    assert.match(await text(page, "#live"), /Index \(1,2\) is at offset 5/);
    await page.focus("#explore-source .grid");
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => location.hash.includes("at=1,1"));
  },

  async "a report, a file"(page) {
    await go(page, "#memory");
    assert.match(await text(page, "#answer .answer"), /^It takes 16\.00G for 512\.00M of elements, and 15\.50G less in the order s32/);
    const other = await page.$eval("#answer .answer a", (link) => link.textContent);
    assert.equal(await page.$eval("#answer td.text a[href^='#relayout']", (link) => link.textContent), other);
    await page.click("#answer .answer a");
    await page.waitForFunction((to) => document.getElementById("field-to")?.value === to, {}, other);
    // If the field of a layout holds lines of a report, joined into one line, one click leads to
    // their answer.
    await go(page, "#layout");
    await paste(page, "from", "     Shape: u32[12582912,1]{1,0:T(8,128)}      Unpadded size: 48.00M      Extra memory due to padding: 5.95G (128.0x expansion)");
    await page.click("#fault-from a");
    await page.waitForSelector("#answer .answer");
    assert.match(await text(page, "#answer .answer"), /^It takes 6\.00G for 48\.00M of elements, and 5\.62G less in the order u32\[12582912,1\]\{0,1:T\(8,128\)\}/);
    await go(page, "#program");
    const cases = await readFile(new URL("../../tests/data/hlo_cases.jsonl", import.meta.url), "utf8");
    await writeFile("module.pb", Buffer.from(JSON.parse(cases.split("\n")[0]).module, "base64"));
    await (await page.$("#file")).uploadFile("module.pb");
    await page.waitForFunction(() => document.getElementById("field-module").value.startsWith("HloModule"));
    await page.waitForFunction(() => document.getElementById("fault-module").textContent === "");
    // The file is also dragged onto a page of another kind.
    await go(page, "#layout");
    await page.evaluate((base64) => {
      const dragged = new DataTransfer();
      dragged.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], "module.pb"));
      const field = document.getElementById("field-from");
      for (const kind of ["dragover", "drop"]) {
        const taken = !field.dispatchEvent(new DragEvent(kind, { dataTransfer: dragged, bubbles: true, cancelable: true }));
        if (!taken) throw new Error(`${kind} is left to the browser`);
      }
    }, JSON.parse(cases.split("\n")[0]).module);
    await page.waitForFunction(() => document.getElementById("field-module")?.value.startsWith("HloModule"));
    assert.equal(await text(page, "#fault-module"), "");
    assert((await hash(page)).startsWith("#program"));
  },

  async "the first visit opens the guide, and the next one the last state"(page) {
    const context = await browser.createBrowserContext();
    const first = await open(root, 1300, context);
    assert.match(await text(first, "#guide h2"), /^1 of 11/);
    assert.equal(await title(first), "f32[2,3]{1,0}");
    await go(first, "#relayout?from=f32[2,3]{1,0}&to=f32[2,3]{0,1}");
    await first.close();
    const next = await open(root, 1300, context);
    assert.match(await title(next), /^relayout f32\[2,3\]\{1,0\}/);
    await context.close();
  },

  async "the picture and its controls are on the first screen"(page) {
    const guide = await page.evaluate(() => GUIDE.map((_, at) => hashOf(stateOfStep(at))));
    const states = [...guide, "#layout", "#layout?from=f32[20,200]{1,0:T(8,128)}", "#relayout", "#relayout?from=f32[2,3]{1,0}&to=f32[2,3]{0,1}",
      "#relayout?from=bf16[16,256]{1,0}&to=bf16[16,256]{1,0:T(8,128)(2,1)}", "#slice", "#program"];
    for (const [width, height] of [[1300, 900], [800, 600], [390, 844]]) {
      await page.setViewport({ width, height });
      for (const state of states) {
        await go(page, state);
        const seen = await page.evaluate(() => {
          scrollTo(0, 0);
          const box = (element) => element.getBoundingClientRect();
          const cells = [...document.querySelectorAll("#first .grid")].map((grid) => [box(grid).top, Math.min(box(grid).height, 7 * 24)]);
          const drawings = [...document.querySelectorAll("#first svg")].map((drawing) => [box(drawing).top, 120]);
          // The sentence about the element may lie over the last rows.
          const live = document.getElementById("live");
          const bottom = live && getComputedStyle(live).position === "sticky" ? Math.min(innerHeight, box(live).top) : innerHeight;
          const [top, high] = [...cells, ...drawings][0];
          const controls = Math.max(0, ...[...document.querySelectorAll("#question input, #question select, #question button, #question textarea")].filter((control) => control.checkVisibility()).map((control) => box(control).bottom));
          return { end: top + high, bottom, controls, height: innerHeight, kernel: document.querySelector("#run") && box(document.querySelector("#run")).top - top };
        });
        const say = `${state} at ${width} by ${height}: ${JSON.stringify(seen)}`;
        assert(seen.end <= seen.bottom, `the picture is not on the first screen: ${say}`);
        assert(seen.controls <= seen.height, `a control is not on the first screen: ${say}`);
        assert(seen.kernel === null || seen.kernel > 0, `Run comes before the picture: ${say}`);
      }
    }
    // The explanation of a step, and the answer to the exercise, leave the picture in sight.
    const solved = ["#layout?from=f32[7,10]{1,0:T(4,4)}&at=5,6&step=11", "70"];
    for (const [width, height] of [[1300, 900], [800, 600], [390, 844]]) {
      await page.setViewport({ width, height });
      for (const state of [...guide, solved[0]]) {
        await page.evaluate(() => solved.clear());
        await go(page, state);
        await page.evaluate(() => { document.querySelector("#guide .text").open = true; });
        if (state === solved[0]) await page.type("#predicted", `${solved[1]}\n`);
        const seen = await page.evaluate(() => {
          scrollTo(0, 0);
          const box = (selector) => document.querySelector(selector).getBoundingClientRect();
          const controls = [...document.querySelectorAll("#question input, #question select, #question button")].filter((control) => control.checkVisibility());
          const [grid, sum, live] = [box("#first .grid"), box("#first .sum"), box("#live")];
          return {
            end: grid.top + Math.min(grid.height, 5 * 24), bottom: Math.min(innerHeight, live.top), height: innerHeight,
            controls: Math.max(0, ...controls.map((control) => control.getBoundingClientRect().bottom)),
            covered: sum.top < live.top && sum.bottom > live.top,
          };
        });
        const say = `${state} at ${width} by ${height}: ${JSON.stringify(seen)}`;
        assert(seen.end <= seen.bottom, `the text or the answer hides the picture: ${say}`);
        if (state !== solved[0]) assert(seen.controls <= seen.height, `the text hides a control: ${say}`);
        if (width > 390) assert(!seen.covered, `the sum is covered: ${say}`);
      }
    }
    await page.evaluate(() => { wantsText = null; });
    await page.setViewport({ width: 1300, height: 900 });
    await go(page, "#relayout");
    const order = await page.$$eval("#explore-source, #run, #wgsl, #below .scroll", (all) => all.map(({ id, className }) => id || className));
    assert.deepEqual(order.slice(0, 3), ["explore-source", "run", "wgsl"]);
  },

  async "the layout is printed once, as a heading, and headings skip no level"(page) {
    const guide = await page.evaluate(() => GUIDE.map((_, at) => hashOf(stateOfStep(at))));
    for (const state of ["#layout?from=bf16[16,256]{1,0:T(8,128)(2,1)}", "#layout?from=f32[2,3]{0,1}", "#relayout", "#slice", guide[5], guide[9]]) {
      await go(page, state);
      const [printed, shown] = await page.evaluate(() => {
        const copy = document.querySelector("main").cloneNode(true);
        // The names of buffers in the kernel's own text, and folded lists, are not headings.
        copy.querySelectorAll("pre, details, textarea").forEach((part) => part.remove());
        return [copy.textContent, document.querySelector("#field-from").value];
      });
      assert.equal(printed.split(shown).length - 1, 1, `${state}: ${shown}`);
    }
    for (const state of ["#layout", guide[0], "#relayout", "#slice", "#program", "#memory", "#image"]) {
      await go(page, state);
      const levels = await page.$$eval("h1, h2, h3, h4, h5", (all) => all.filter((heading) => heading.checkVisibility()).map(({ tagName }) => Number(tagName[1])));
      assert(levels.includes(1), state);
      levels.forEach((level, at) => assert(level <= (levels[at - 1] ?? 1) + 1, `${state}: ${levels}`));
    }
    await page.setViewport({ width: 390, height: 844 });
    for (const state of ["#layout", "#relayout", "#slice", "#program"]) {
      await go(page, state);
      const cut = await page.$$eval(".scroll svg text.h", (all) => all.flatMap((heading) => {
        const [box, frame] = [heading, heading.closest(".scroll")].map((element) => element.getBoundingClientRect());
        return box.left < frame.right - 64 && box.right > frame.right ? [heading.textContent] : [];
      }));
      assert.deepEqual(cut, [], state);
    }
    await page.setViewport({ width: 1300, height: 900 });
  },

  async "the link is of what is shown, or the button says why not"(page) {
    const button = "#link button";
    await go(page, "#layout?from=f32[2,3]{1,0}");
    // A press right after a key copies the new text.
    await page.evaluate(() => {
      const input = document.getElementById("field-from");
      input.value = "f32[5,7]{0,1}";
      input.dispatchEvent(new Event("input", { bubbles: true }));
      document.querySelector("#link button").click();
    });
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("f32[5,7]{0,1}"));
    assert.equal(await text(page, button), "Copied");
    // A long text has no link, and is not lost on the way back, nor when the page is loaded again.
    await go(page, "#program");
    const long = `HloModule long\n${"// a comment\n".repeat(4_000)}ENTRY main { ROOT x = f32[2,3]{0,1} parameter(0) }`;
    await paste(page, "module", long);
    await page.waitForFunction(() => document.querySelector("#link button").disabled);
    assert.match(await text(page, button), /too long for a link/);
    assert((await hash(page)).startsWith("#program") && !(await hash(page)).includes("concatenate"), "the address is of another text");
    await go(page, "#memory");
    assert.equal(await text(page, button), "Copy the link");
    await page.goBack();
    await page.waitForFunction((length) => document.getElementById("field-module")?.value.length === length, {}, long.length);
    assert.equal(await title(page), "long");
    assert(await page.$eval(button, ({ disabled }) => disabled));
    opening += 1;
    await page.reload();
    await page.waitForSelector("body[data-ready]");
    opening -= 1;
    assert.equal(await value(page, "module"), long);
    await paste(page, "module", "HloModule short\nENTRY main { ROOT x = f32[2,3]{0,1} parameter(0) }");
    await page.waitForFunction(() => location.hash.includes("short") && !document.querySelector("#link button").disabled);
    // A file that is no text leaves no other text in the address.
    await page.evaluate(() => {
      const dragged = new DataTransfer();
      dragged.items.add(new File([Uint8Array.of(0, 1, 2, 3)], "module.pb"));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: dragged, bubbles: true, cancelable: true }));
    });
    await page.waitForFunction(() => document.querySelector("#link button").textContent === "A link holds no file");
    assert(!(await hash(page)).includes("short"));
    await page.goBack();
    await page.waitForFunction(() => document.getElementById("field-module").value.includes("short"));
  },

  async "a rate stands beside stridec's own copy, of as many workgroups as it needs"(page) {
    await go(page, "#relayout?from=f32[1024,1024]{1,0}&to=f32[1024,1024]{0,1}");
    // Each measurement waits for its set-up: the kernel's and the copy's.
    await page.evaluate(() => {
      globalThis.waits = 0;
      const { onSubmittedWorkDone } = GPUQueue.prototype;
      GPUQueue.prototype.onSubmittedWorkDone = function () {
        globalThis.waits += 1;
        return onSubmittedWorkDone.call(this);
      };
    });
    await page.click("#run");
    await page.waitForSelector("#verdict[data-verdict=pass]");
    assert((await page.evaluate(() => waits)) >= 2);
    assert.match(await text(page, "#verdict"), /[\d.]+ GB\/s read and written, where a copy has [\d.]+, on /);
    const [plain, own] = await page.evaluate(() => [[16, 1 << 20, 1 << 27].map(copyWorkgroups), stridecCopy(1 << 20)]);
    assert.deepEqual(plain, [[1, 1, 1], [1024, 1, 1], [1024, 128, 1]]);
    assert(own.wgsl.includes("relayout") && own.dispatches.length === 1, JSON.stringify(own));
  },

  async "the page says that the compiler is loading, and keeps what is typed"(page) {
    let release;
    held = new Promise((done) => { release = done; });
    opening += 1;
    const slow = await browser.newPage();
    watch(slow);
    await slow.goto(`${root}#layout?from=f32[2,3]{1,0}`);
    await slow.waitForSelector("#loading");
    assert.match(await text(slow, "#loading"), /loading/);
    await paste(slow, "from", "f32[4,5]{0,1}");
    for (const name of ["Relayout", "Guide", "Memory", "Image", "Slice"]) {
      const names = await slow.$$eval("#kinds a", (all) => all.map((link) => link.textContent));
      await (await slow.$$("#kinds a"))[names.indexOf(name)].click();
      await slow.waitForFunction((wanted) => document.querySelector("#kinds [aria-current]")?.textContent === wanted, {}, name);
    }
    await go(slow, "#layout?from=f32[2,3]{1,0}&at=1,1&step=11");
    await go(slow, "#relayout?from=f32[2,3]{1,0}&to=f32[2,3]{0,1}");
    await paste(slow, "to", "f32[2,3]{0,1:T(2)}");
    release();
    await slow.waitForSelector("body[data-ready]");
    assert.equal(await slow.$("#loading"), null);
    assert.match(await title(slow), /to f32\[2,3\]\{0,1:T\(2\)\}/);
    await slow.close();
    held = undefined;
    opening -= 1;
  },

  async "an order alone is a second layout, and numbers say what is wrong"(page) {
    await go(page, "#relayout?from=f32[8,64,112,112]{3,2,1,0}&to=NHWC");
    assert.match(await title(page), /to f32\[8,64,112,112\]\{1,3,2,0\}/);
    assert.equal(await page.$eval('.field-to [data-control="dimensions-1"]', ({ value }) => value), "64");
    await paste(page, "to", "{1,3,2,0}");
    assert.match(await title(page), /to f32\[8,64,112,112\]\{1,3,2,0\}/);
    await paste(page, "to", "NHW");
    assert.notEqual(await text(page, "#fault-to"), "");
    await go(page, "#slice?from=f32[8,12]{1,0}&offsets=0,1&sizes=8,11&strides=-2,3&to={0,1}");
    assert.match(await title(page), /f32\[4,4\]\{0,1\}/);
    for (const [field, given, said] of [
      ["offsets", "-1,0", /expected an integer of at least 0, got -1; offsets count from the first index/],
      ["sizes", "-1,0", /expected an integer of at least 0, got -1; .* only a stride may be negative/],
      ["sizes", "a,0", /expected integers with commas between them, got `a`/],
    ]) {
      await paste(page, field, given);
      assert.match(await text(page, `#fault-${field}`), said);
      await paste(page, field, field === "offsets" ? "0,1" : "8,11");
    }
    await paste(page, "strides", "-1,-1");
    assert.equal(await text(page, "#fault-strides"), "");
    // The numbers of a slice have the names that they have everywhere else.
    assert.deepEqual(await page.$$eval(".field > label", (all) => all.map((label) => label.textContent)), ["From", "Offsets", "Sizes", "Steps", "To"]);
  },

  async "a layout above WebGPU's limit has a way out"(page) {
    await go(page, "#relayout?from=f32[8192,8192]{1,0}&to=f32[8192,8192]{0,1}");
    assert.match(await text(page, ".refused"), /at most 134217728 bytes/);
    await page.waitForFunction(() => /device binds \d+ MiB|no device/.test(document.querySelector(".way-out span").textContent));
    await page.click(".way-out a");
    await page.waitForFunction(() => document.querySelector("#below #wgsl"));
    assert.equal(await page.$(".refused"), null);
    assert((await hash(page)).includes("target=268435456"));
    await page.click(".tabs [value=js]");
    assert.match(await text(page, "pre.translated"), /target: device\.limits/);
    await page.click(".tabs [value=wgsl]");
    await go(page, "#relayout?from=f32[65536,65536]{1,0}&to=f32[65536,65536]{0,1}");
    assert.match(await text(page, ".way-out"), /divide the array/);
  },

  async "what can be typed, and the layout as others write it"(page) {
    await go(page, "#layout?from=f32[2,3]{0,1}");
    await page.click("#typed summary");
    const typed = await page.evaluate(() => TYPED.map(([, text]) => text));
    const kinds = ["jax:", "numpy:", "torch:", "memref<", "onednn:", "dml:", "cute:", "cudnn:", "tensorrt:", "tvm:"];
    for (const kind of kinds) assert(typed.some((text) => text.startsWith(kind)), kind);
    const links = await page.$$eval("#typed li a", (all) => all.map((link) => link.getAttribute("href")));
    assert.equal(links.length, typed.length);
    for (const [at, link] of links.entries()) {
      await go(page, link);
      assert.equal(await text(page, "#fault-from"), "", typed[at]);
      assert.equal(await value(page, "from"), typed[at]);
    }
    // DirectML's own names of the fields.
    await go(page, `#layout?from=${encodeURIComponent('dml:{"DataType": "DML_TENSOR_DATA_TYPE_FLOAT32", "Flags": 0, "DimensionCount": 2, "Sizes": [2, 3], "Strides": [5, 1], "TotalTensorSizeInBytes": 32, "GuaranteedBaseOffsetAlignment": 0}')}`);
    assert.equal(await text(page, "#fault-from"), "");
    await go(page, "#layout?from=f32[2,3]{0,1}");
    await page.click("#others summary");
    await page.waitForSelector("#others li");
    const others = await page.$$eval("#others li code", (all) => all.map((code) => code.textContent));
    for (const start of ["f32[2,3]{0,1}", "jax:", "numpy:", "torch:", "memref<", "cute:", "dml:", "dlpack:"]) assert(others.some((other) => other.startsWith(start)), `${start} of ${others}`);
    for (const other of others) {
      await paste(page, "from", other);
      assert.equal(await text(page, "#fault-from"), "", other);
      // Each is the same layout.
      const offsets = await page.$$eval("#explore-source .grid .row", (rows) => rows.slice(1).map((row) => [...row.querySelectorAll("[data-at]")].map((cell) => cell.textContent).join(" ")));
      assert.deepEqual(offsets, ["0 2 4", "1 3 5"], other);
    }
    await page.click("#others li button");
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
    const documents = await page.$$eval("#documents a", (all) => all.map(({ href, textContent }) => [textContent, href]));
    assert.deepEqual(documents.map(([name]) => name), ["Documentation", "Notations", "Repository"]);
    assert(documents.every(([, href]) => href.startsWith("https://")));
    await page.click("#typed summary");
    await page.click("#others summary");
  },

  async "the two layouts follow each other"(page) {
    await go(page, "#relayout?from=f32[4,6]{1,0}&to=f32[4,6]{0,1:T(2,2)}");
    await page.click('.field-from [data-control="dimensions-0"]', { count: 3 });
    await page.keyboard.type("10");
    assert.equal(await value(page, "from"), "f32[10,6]{1,0}");
    assert.equal(await value(page, "to"), "f32[10,6]{0,1:T(2,2)}");
    assert.equal(await text(page, "#fault-to"), "");
    // A text that is typed passes through texts that are no layouts, and through other ranks.
    await page.click("#field-from", { count: 3 });
    await page.keyboard.type("f32[12,9]{1,0}");
    assert.equal(await value(page, "to"), "f32[12,9]{0,1:T(2,2)}");
    await paste(page, "to", "f32[5,8]{0,1}");
    assert.equal(await value(page, "from"), "f32[5,8]{1,0}");
    // The type follows the first layout; a second type of its own is a conversion.
    await page.select('.field-from [data-control="type"]', "bf16");
    assert.equal(await value(page, "to"), "bf16[5,8]{0,1}");
    await page.select('.field-to [data-control="type"]', "f32");
    assert.equal(await value(page, "from"), "bf16[5,8]{1,0}");
    await page.select('.field-from [data-control="type"]', "f16");
    assert.equal(await value(page, "to"), "f32[5,8]{0,1}");
    await page.click('.field-from [data-control="more"]');
    assert.equal(await value(page, "to"), "f32[5,8,2]{2,1,0}");
  },

  async "controls stay while a text is half typed"(page) {
    await go(page, "#relayout?from=f32[4,6]{1,0}&to=f32[4,6]{0,1}");
    const count = () => page.$$eval(".layout-controls [data-control]", (all) => all.length);
    const before = await count();
    await paste(page, "from", "f32[4,6");
    assert.equal(await count(), before);
    await paste(page, "to", "f32[4,6]{0,");
    assert.equal(await count(), before);
    // A control that is used now makes a layout of the last one.
    await page.select('.field-from [data-control="type"]', "bf16");
    assert.equal(await value(page, "from"), "bf16[4,6]{1,0}");
  },

  async "a panic of the compiler does not outlast the next question"(page) {
    await go(page, "#layout?from=f32[2,3]{1,0}");
    await page.evaluate(() => {
      // The next instance of the compiler panics once.
      const { ask } = Compiler.prototype;
      Compiler.prototype.ask = function (...given) {
        Compiler.prototype.ask = ask;
        this.exports = { ...this.exports, show: () => { throw new Error("unreachable"); } };
        return ask.apply(this, given);
      };
    });
    await paste(page, "from", "f32[2,4]{1,0}");
    assert.match(await text(page, "#whole-fault"), /a defect of stridec/);
    // The next text comes before the new instance has started.
    await page.evaluate(() => {
      const input = document.getElementById("field-from");
      for (const given of ["f32[2,5]{1,0}", "f32[2,6]{1,0}"]) {
        input.value = given;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      }
    });
    await page.waitForFunction(() => document.querySelector("#answer h1").textContent === "f32[2,6]{1,0}");
    assert.equal(await text(page, "#whole-fault"), "");
  },

  async "a type that follows keeps strides, offset and element size"(page) {
    for (const [from, to, type, followed] of [
      ["f32[4,6]{1,0}", "f32[4,6] strided<[8,1], offset: 2>", "bf16", "bf16[4,6] strided<[8,1], offset: 2>"],
      ["s4[4,6]{1,0:E(4)}", "s4[4,6]{0,1:E(4)}", "u4", "u4[4,6]{0,1:E(4)}"],
      ["f32[4,6]{1,0}", "torch:f32[4, 6][6, 1]", "bf16", "torch:f32[4, 6][6, 1]"],
    ]) {
      await go(page, `#relayout?${new URLSearchParams({ from, to })}`);
      await page.select('.field-from [data-control="type"]', type);
      assert.equal(await value(page, "to"), followed);
    }
    // Strides do not apply to other extents.
    await go(page, `#relayout?${new URLSearchParams({ from: "f32[4,6]", to: "f32[4,6] strided<[0,1]>" })}`);
    await paste(page, "from", "f32[5,6]");
    assert.equal(await value(page, "to"), "f32[4,6] strided<[0,1]>");
  },

  async "the tabs suit a layout of any notation"(page) {
    for (const from of ["f32[2,3]{0,1}", "cute:(2,(2,2)):(1,(2,4))", "torch:f32[4, 6][6, 1]", "f32[3,4,5]{2,1,0:T(2,2)}"]) {
      for (const name of ["Relayout", "Slice"]) {
        await go(page, `#layout?${new URLSearchParams({ from })}`);
        const links = await page.$$eval("#kinds a", (all) => all.map((link) => [link.textContent, link.getAttribute("href")]));
        await go(page, links.find(([text]) => text === name)[1]);
        assert.equal(await value(page, "from"), from);
        assert.equal(await page.$$eval(".fault", (all) => all.map((fault) => fault.textContent).join("")), "", `${name} of ${from}`);
      }
    }
  },

  async "the lines of a stale answer are of the answer"(page) {
    await go(page, "#slice?from=f32[8,12]{1,0}&offsets=0,1&sizes=8,11&strides=-2,3&to=");
    await paste(page, "sizes", "8,alert(1)");
    await page.click(".tabs [value=js]");
    await page.waitForFunction(() => document.querySelector("pre.translated").textContent.includes("sizes: [8, 11]"));
    assert.match(await page.evaluate(() => { try { return asNumbers("8,alert(1)"); } catch (error) { return error.message; } }), /expected integers/);
    await page.click(".tabs [value=wgsl]");
  },

  async "a panic at every question ends in a message"(page) {
    await go(page, "#layout?from=f32[3,3]{1,0}");
    await page.evaluate(() => {
      globalThis.starts = 0;
      globalThis.kept = [Compiler.prototype.ask, Compiler.prototype.start];
      Compiler.prototype.ask = function (...given) {
        if (this.exports) this.exports = { ...this.exports, show: () => { throw new Error("unreachable"); } };
        return kept[0].apply(this, given);
      };
      Compiler.prototype.start = function () {
        globalThis.starts += 1;
        return kept[1].call(this);
      };
    });
    // The second text comes before the new instance has started, so that it is shown again.
    await page.evaluate(() => {
      const input = document.getElementById("field-from");
      for (const given of ["f32[2,4]{1,0}", "f32[2,5]{1,0}"]) {
        input.value = given;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      }
    });
    await new Promise((done) => setTimeout(done, 500));
    assert((await page.evaluate(() => starts)) <= 3);
    assert.match(await text(page, "#whole-fault"), /a defect of stridec: unreachable/);
    await page.evaluate(() => { Compiler.prototype.start = () => Promise.reject(new Error("no memory")); });
    await paste(page, "from", "f32[2,6]{1,0}");
    await page.waitForFunction(() => /does not start again: no memory/.test(document.getElementById("whole-fault").textContent));
    opening += 1;
    await page.reload();
    await page.waitForSelector("body[data-ready]");
    opening -= 1;
  },

  async "a step that does not exist is none"(page) {
    for (const state of ["#layout?from=f32[2,3]{1,0}&step=99", "#layout?from=f32[2,3]{1,0}&step=0", "#layout?from=f32[2,3]{1,0}&step=x", "#relayout?step=3"]) {
      await go(page, state);
      assert.notEqual(await text(page, "#kinds [aria-current]"), "Guide", state);
      assert(!(await hash(page)).includes("step="), state);
    }
    await go(page, "#program");
    assert(!(await text(page, "#answer")).includes("was written"));
  },

  async "the lines of JavaScript run the kernel with the package"(page) {
    if (!process.env.STRIDEC_PACKAGE) return console.log("  not tested, because STRIDEC_PACKAGE names no folder");
    const states = [
      ["#relayout?from=f32[64,8]{1,0}&to=f32[64,8]{0,1}", /^[\w-]+ 2048$/],
      ["#relayout?from=f32[8,16]&to=bf16[8,16]{0,1}&target=lavapipe", /^[\w-]+ 256$/],
      ["#relayout?from=f32[1,3,8,8]{3,2,1,0}&to=NHWC&target=268435456", /^[\w-]+ 768$/],
      ["#slice", /^[\w-]+ 64$/],
      ["#slice?from=u8[10,33]&offsets=1,2&sizes=9,30&strides=-3,1&to={0,1}", /^[\w-]+ 90$/],
      ["#program", /^96$/],
    ];
    for (const [state, expected] of states) {
      await go(page, state);
      await page.click(".tabs [value=js]");
      await page.waitForFunction(() => document.querySelector("pre.translated").textContent.startsWith("import"));
      script = await text(page, "pre.translated");
      await page.click(".tabs [value=wgsl]");
      opening += 1;
      const other = await browser.newPage();
      watch(other);
      const said = new Promise((done) => other.on("console", (message) => done(message.text())));
      await other.goto(`${root}run.html`);
      const line = await Promise.race([said, new Promise((_, bad) => other.on("pageerror", bad)), new Promise((_, late) => setTimeout(() => late(new Error(`${state}: nothing is printed: ${complaints}`)), 30_000))]);
      assert.match(line, expected, state);
      await other.close();
      opening -= 1;
    }
  },

  async "element types on both sides are converted, and checked"(page) {
    const pairs = [
      ["f32", "bf16"], ["f32", "f16"], ["f16", "f32"], ["f64", "f32"], ["f32", "s8"], ["u8", "f16"], ["s64", "f32"], ["f32", "f8e4m3fn"], ["f8e5m2", "f32"],
      ["s16", "u8"], ["f32", "pred"], ["pred", "f32"], ["bf16", "f64"], ["f32", "s4"], ["u4", "bf16"], ["f32", "f4e2m1fn"], ["u64", "f64"],
      ["f6e2m3fn", "f32"], ["f8e4m3", "f64"],
    ];
    for (const [from, to] of pairs) {
      await go(page, `#relayout?from=${from}[33,40]{1,0}&to=${to}[33,40]{0,1}`);
      await page.click("#run");
      await page.waitForSelector("#verdict:not(:empty):not([data-verdict=running])");
      assert.equal(await page.$eval("#verdict", ({ dataset }) => dataset.verdict), "pass", `${from} to ${to}: ${await text(page, "#verdict")}`);
    }
  },

  async "a picture's file, and its planes"(page) {
    await go(page, "#layout?from=f32[2,3]{1,0}");
    await paste(page, "from", "f32[2,");
    await go(page, "#image");
    assert.equal(await page.$eval("#answer", (answer) => answer.className), "");
    const passed = () => page.waitForFunction(() => document.getElementById("image-verdict").dataset.verdict === "pass");
    await passed();
    assert.match(await text(page, "#image-verdict"), /all 18432 bytes/);
    assert.equal(await page.$$eval(".planes canvas", (all) => all.length), 4);
    // A picture of 3 by 2 pixels.
    const pixels = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [10, 20, 30], [40, 50, 60], [70, 80, 90]];
    const png = await page.evaluate(async (pixels) => {
      const canvas = make("canvas", { width: 3, height: 2 });
      canvas.getContext("2d").putImageData(new ImageData(Uint8ClampedArray.from(pixels.flatMap((pixel) => [...pixel, 255])), 3, 2), 0, 0);
      return canvas.toDataURL("image/png").split(",")[1];
    }, pixels);
    await writeFile("picture.png", Buffer.from(png, "base64"));
    await (await page.$("#image-file")).uploadFile("picture.png");
    await page.waitForFunction(() => /all 18 bytes/.test(document.getElementById("image-verdict").textContent));
    const planes = await page.$$eval(".planes canvas", (all) => all.slice(1).map((canvas) => [...canvas.getContext("2d").getImageData(0, 0, 3, 2).data].filter((_, at) => at % 4 === 0)));
    assert.deepEqual(planes, [0, 1, 2].map((channel) => pixels.map((pixel) => pixel[channel])));
    await page.waitForFunction(() => document.querySelector("#link button").textContent === "A link holds no picture");
    for (const [type, order, bytes] of [["f16", "CHW", 36], ["f32", "HWC", 72], ["u8", "HWC", 18]]) {
      await page.select("#image-type", type);
      await page.select("#image-order", order);
      await page.waitForFunction((bytes) => new RegExp(`all ${bytes} bytes`).test(document.getElementById("image-verdict").textContent), {}, bytes);
      await passed();
    }
    await page.select("#image-type", "f16");
    await page.$eval("#image-deviation", (input) => { input.value = "1,0,1"; input.dispatchEvent(new Event("input")); });
    assert.match(await text(page, "#image-verdict"), /none of them 0/);
    await go(page, "#layout");
    assert.equal(await text(page, "#link button"), "Copy the link");
  },

  async "hostile text runs nothing and hangs nothing"(page) {
    const script = "<script>hacked = 1</script><img src=x onerror='hacked = 1'>";
    const module = `HloModule "${script}"\nENTRY main { ROOT ${"x".repeat(9)} = f32[2,3] parameter(0), metadata={op_name="${script}"} }`;
    const texts = ["{".repeat(65_536), `f32[${"1,".repeat(1_000_000)}1]`, `f32[2,3]\u0000\u001b[31m\u202e\u2028${script}`, script, `f32[${"9".repeat(10_000)}]`,
      `u8[4]{0:T(2)${"(*,2)".repeat(63)}}`, "f32[9223372036854775807]", "f32[2,3]{1,0:T(8,128)".repeat(5_000)];
    for (const state of ["#layout", "#relayout", "#slice"]) {
      await go(page, state);
      const fields = await page.$$eval("#question .field > input", (inputs) => inputs.map(({ id }) => id.slice("field-".length)));
      for (const name of fields) {
        for (const hostile of texts) {
          const took = await paste(page, name, hostile);
          assert(took < LONGEST, `${name}: ${hostile.slice(0, 30)} takes ${took} ms`);
        }
        await go(page, `${state}?${name}=${encodeURIComponent(script)}`);
        await go(page, state);
      }
    }
    for (const state of ["#program", "#memory"]) {
      await go(page, state);
      for (const hostile of [module, ...texts, `${module}\n${"{".repeat(65_536)}`, "Shape: ".repeat(10_000), `Shape: f32[2]\nXLA label: ${script}\n`]) {
        const took = await paste(page, "module", hostile);
        assert(took < LONGEST, `module: ${hostile.slice(0, 30)} takes ${took} ms`);
      }
    }
    for (const strange of ["#relayout?from=%", "#__proto__?from=1", "#layout?at=9,9,9", "#layout?step=99&language=constructor&target=none", "#layout?at=NaN"]) {
      await page.evaluate((to) => { location.hash = to; }, strange);
      await new Promise((done) => setTimeout(done, 50));
    }
    assert.equal(await page.evaluate(() => typeof hacked), "undefined");
    assert.equal(await page.$$eval("#answer script, #question script, #answer img", (all) => all.length), 0);
    await go(page, "#layout");
    assert.equal(await title(page), "bf16[16,256]{1,0:T(8,128)(2,1)}");
  },

  async "a keystroke is answered at once, up to 10^9 elements"(page) {
    const layouts = ["f32[2,3]{0,1}", "f32[8,64,112,112]{1,3,2,0}", "bf16[8192,8192]{1,0:T(8,128)(2,1)}", "bf16[32768,32768]{1,0:T(8,128)(2,1)}", "f32[1000,1000,1000]{0,2,1}", "u8[1000000000]{0}"];
    for (const kind of ["layout", "relayout"]) {
      for (const layout of layouts) {
        // A relayout starts from dense rows.
        const [field, state] = kind === "layout" ? ["from", { from: layout }] : ["to", { from: layout.replace(/{.*/, ""), to: layout }];
        await go(page, `#${kind}?${new URLSearchParams(state)}`);
        const times = [];
        // The least time is the time of the work itself; a busy machine needs more presses to show
        // it.
        for (let press = 0; press < 20 || (press < 200 && Math.min(...times) > 10); press++) {
          times.push(await paste(page, field, layout + " ".repeat(press % 2)));
        }
        times.sort((a, b) => a - b);
        console.log(`  ${kind} ${layout}: ${times[0].toFixed(1)} ms at least, ${times[times.length >> 1].toFixed(1)} in the middle`);
        assert(times[0] <= 10, `${times[0]} ms`);
        await page.waitForSelector("#answer:not([aria-busy])");
      }
    }
  },

  async "narrow screens"(page) {
    for (const width of [400, 1300, 700]) {
      await page.setViewport({ width, height: 900 });
      for (const state of ["#layout", "#layout?from=f32[2,3,4,5,6,7]&step=4", "#layout?from=bf16[10,12]{1,0:T(4,8)(2,1)}&at=9,11&step=11", "#relayout", "#slice", "#program", "#memory", "#relayout?from=f32[2,3]{1,1}&to=f32[2"]) {
        await go(page, state);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert(wide <= width, `${state} is ${wide} pixels wide on a screen of ${width}`);
      }
    }
  },

  async "axe finds nothing serious"(page) {
    for (const scheme of ["light", "dark"]) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      for (const state of ["#layout?from=bf16[16,256]{1,0:T(8,128)(2,1)}&step=10", "#layout?from=bf16[10,12]{1,0:T(4,8)(2,1)}&at=9,11&step=11", "#relayout", "#slice", "#program", "#memory", "#relayout?from=f32[2,3]{1,1}&to=f32[2"]) {
        await go(page, state);
        if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document));
        const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
        const said = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, any }) => `${html} ${any[0]?.message ?? ""}`).join("\n  ")}`);
        assert.equal(said.length, 0, `${scheme} ${state}\n${said.join("\n")}`);
      }
    }
  },
};

const start = performance.now();
const page = await open();
assert(asked.includes("stridec.wasm") && !asked.some((name) => /languages|wasm\.js/.test(name)), `asked for ${asked}`);
for (const [name, step] of Object.entries(steps).filter(([name]) => name.includes(only))) {
  const began = performance.now();
  await step(page);
  console.log(`${name}: ${((performance.now() - began) / 1e3).toFixed(1)} s`);
  assert.deepEqual(complaints, [], name);
}
// The first translation loads its module; a page that is opened anew may load it again.
assert(later.every((name) => ["languages.wasm", "icon.svg"].includes(name)), `asked for ${later} after loading`);
assert.deepEqual(await page.cookies(), []);

// The page is opened from a file, without a server.
const file = await open(`file://${site}/index.html#relayout?from=f32[2,3]&to=f32[2,3]{0,1}`);
assert.match(await title(file), /^relayout/);
await paste(file, "to", "f32[2,3]{0,1:T(2)}");
await file.waitForFunction(() => location.hash.includes("T(2)"));
await file.click("#run");
await file.waitForSelector("#verdict[data-verdict=pass]");
await file.click(".tabs [value=glsl]");
await file.waitForFunction(() => document.querySelector("pre.translated").textContent.startsWith("#version"));
await go(file, "#layout?from=f32[7,10]{1,0:T(4,4)}&at=5,6&step=11");
await file.type("#predicted", "70\n");
assert.equal(await text(file, "#verdict-on"), "70 is right.");
assert.deepEqual(complaints, []);

await browser.close();
server.close();
console.log(`the page works, in ${((performance.now() - start) / 1e3).toFixed(0)} s`);
