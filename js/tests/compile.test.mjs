// The compiler, without a GPU: `node --test`. STRIDEC is the command line, which prints the same.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { StridecError, convert, describe, init, initSync, memory, offset, program, relayout, slice } from "stridec";
import { readFileSync } from "node:fs";

const bytes = readFileSync(new URL(import.meta.resolve("stridec/stridec.wasm")));
const cli = (...words) => JSON.parse(execFileSync(process.env.STRIDEC, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));

/** Expects an error in a field, whose message has all the words. */
function refuses(call, field, ...words) {
  assert.throws(call, (error) => {
    assert(error instanceof StridecError, String(error));
    assert.equal(error.field, field, error.message);
    for (const word of words) assert(error.message.includes(word), `${error.message} has no ${word}`);
    return true;
  });
}

test("a call before init says so", () => refuses(() => relayout("f32[2]", "f32[2]"), "", "await init()"));

test("the first kernel is there soon after the bytes", async () => {
  const start = performance.now();
  await init(bytes);
  const kernel = relayout("f32[8,64,112,112]", "NHWC");
  const took = performance.now() - start;
  console.log(`the first kernel took ${took.toFixed(1)} ms`);
  assert.equal(kernel.strategy, "transpose");
});

test("every way to load", async () => {
  initSync(bytes);
  initSync(new WebAssembly.Module(bytes));
  await init();
  await init(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  await init(Promise.resolve(new Response(bytes, { headers: { "content-type": "application/wasm" } })));
  await init(new Response(bytes, { headers: { "content-type": "application/octet-stream" } }));
  await assert.rejects(init(new Response("", { status: 404 })), /404/);
});

test("what is no module is refused, and the compiler stays", async () => {
  const empty = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
  for (const [source, got] of [[7, "got 7"], [{}, "got {}"], [null, "got null"], [bytes.subarray(0, 99), "got something else"], [empty, "got another module"], [new WebAssembly.Module(empty), "got another module"]]) {
    const said = (error) => error instanceof StridecError && error.field === "source" && error.message.startsWith("source: expected stridec.wasm") && error.message.includes(got);
    await assert.rejects(init(source), said);
    assert.throws(() => initSync(source), said);
  }
  await assert.rejects(init("nowhere.wasm"), { field: "source", message: /nowhere\.wasm: ENOENT/ });
  await assert.rejects(init(new Response("<!doctype html>", { headers: { "content-type": "text/html" } })), /source: expected stridec\.wasm.*magic word/);
  await assert.rejects(init(new Response("<!doctype html>", { headers: { "content-type": "application/wasm" } })), { field: "source" });
  assert.equal(offset("f32[2]", [1]), 1);
});

test("kernels are those of the command line", () => {
  for (const [from, to, ...options] of [
    ["f32[8,64,112,112]", "f32[8,64,112,112]{1,3,2,0}"],
    ["bf16[16,256]{1,0:T(8,128)(2,1)}", "f32[16,256]"],
    ["u8[4,6]", "u8[4,6]"],
    ["f32[0,3]", "f32[0,3]"],
    ["s4[8,128]{1,0:E(4)}", "s4[8,128]{0,1:E(4)}", "--target", "swiftshader"],
  ]) {
    const target = options[1];
    assert.deepEqual(relayout(from, to, { target }), cli("compile", "relayout", "--from", from, "--to", to, "--emit", "json", ...options));
  }
  assert.deepEqual(slice("f32[8,12]", { offsets: [0, 1], sizes: [8, 11], strides: [-2, 3] }), cli("compile", "slice", "--from", "f32[8,12]", "--offsets", "0,1", "--sizes", "8,11", "--strides", "-2,3", "--emit", "json"));
  const order = ["--from", "bf16[2,3,4,5,6]", "--to", "NDHWC"];
  assert.deepEqual(relayout(order[1], order[3]), cli("compile", "relayout", ...order, "--emit", "json"));
  for (const layout of ["f32[2,3]{0,1}", "bf16[16,256]{1,0:T(8,128)(2,1)}"]) assert.deepEqual(describe(layout), cli("describe", layout, "--format", "json"));
  const padded = "f32[1024,3]{1,0:T(8,128)}";
  assert.deepEqual(memory(padded), cli("memory", padded, "--format", "json"));
  assert.equal(memory(padded).instructions[0].cheapest.shape, "f32[1024,3]{0,1:T(8,128)}");
});

test("an order takes the dimensions of the source", () => {
  const same = (from, to, whole) => assert.deepEqual(relayout(from, to), relayout(from, whole));
  same("f32[2,3,4,5]", "NHWC", "f32[2,3,4,5]{1,3,2,0}");
  same({ type: "f32", dimensions: [2, 3, 4, 5], minorToMajor: [1, 3, 2, 0] }, "NCHW", "f32[2,3,4,5]{3,2,1,0}");
  same("torch:f32[2, 3, 4, 5][60, 20, 5, 1]", "NHWC", "f32[2,3,4,5]{1,3,2,0}");
  same("u8[2,3]", "{0,1}", "u8[2,3]{0,1}");
  // The source's dimensions count as C, H, W, unless the order says otherwise.
  same("f32[37,53,4]", "CHW", "f32[37,53,4]{2,1,0}");
  same("f32[37,53,4]", "CHW over HWC", "f32[37,53,4]{1,0,2}");
  same("f32[37,53,4]", "WCH", "f32[37,53,4]{1,0,2}");
  same("f32[3,4,5]", "XYZ", "f32[3,4,5]{0,1,2}");
  const window = { offsets: [0, 0, 1], sizes: [2, 3, 4], strides: [1, 1, 2] };
  assert.deepEqual(slice("f32[2,3,5]", window, { to: "NWC" }), slice("f32[2,3,5]", window, { to: "f32[2,3,2]{1,2,0}" }));
});

test("layouts as objects", () => {
  const same = (object, text) => assert.deepEqual(relayout(object, text).copyRegions.length, 1);
  same({ type: "f32", dimensions: [2, 3] }, "f32[2,3]{1,0}");
  same({ type: "bf16", dimensions: [16, 256], tiles: [[8, 128], [2, 1]] }, "bf16[16,256]{1,0:T(8,128)(2,1)}");
  assert.equal(describe({ type: "s4", dimensions: [8], elementSizeInBits: 4 }).physical_bytes, 4);
  assert.equal(offset({ type: "f32", dimensions: [2, 3], strides: [5, 1], offset: 2 }, [1, 2]), 9);
  assert.equal(offset("memref<2x3xf32, strided<[3, 1]>>", [1, 1]), 4);
  assert.match(convert("f32[2,3]{0,1}", "torch"), /stride=\(1, 2\)/);
  // With its name before it, every notation can be given back.
  for (const name of ["xla", "jax", "numpy", "torch", "onednn", "tvm", "cute", "memref", "dml", "dlpack"]) {
    const given = `${name}:${convert("f32[2,3]{0,1}", name)}`;
    assert.equal(offset(given, [0, 2]), 4, given);
  }
});

test("numbers that JavaScript would round are refused", () => {
  const large = "u8[2,9007199254740991]";
  assert.equal(offset(large, [1, 1]), 2 ** 53);
  for (const call of [() => offset(large, [1, 2]), () => describe(large)]) {
    refuses(call, "layout", "2^53");
    assert.throws(call, { code: "UNSUPPORTED" });
  }
  assert.throws(() => offset(large, [1, 2]), /9007199254740993/);
});

test("conversions, tables, gaps and limits", () => {
  assert.equal(relayout("u8[4]", "f16[4]").destinationBytes, 8);
  const table = relayout("u8[4]", "f16[4]", { table: { entries: new Uint16Array(256) } });
  assert.equal(table.bindings.length, 3);
  assert.equal(relayout("f32[2,3]", "f32[2,3] strided<[5,1]>", { gaps: "keep" }).gaps, "GAPS_KEEP");
  refuses(() => relayout("f32[6000,6000]", "f32[6000,6000]{0,1}"), "from", "134217728");
  assert.equal(relayout("f32[6000,6000]", "f32[6000,6000]{0,1}", { target: { maxStorageBufferBindingSize: 2 ** 30 } }).sourceBytes, 144e6);
  assert.deepEqual(structuredClone(table), table);
  assert.deepEqual(JSON.parse(JSON.stringify(table)), table);
});

test("programs and memory", () => {
  const text = "ENTRY e { p = f32[4,6] parameter(0)\n ROOT r = f32[6,4] transpose(p), dimensions={1,0} }";
  const made = program(text);
  assert.deepEqual([made.parameters, made.results].map(([image]) => [image.sizeInBytes, image.bindingBytes]), [[96, 96], [96, 96]]);
  const odd = program("ENTRY e { p = u8[3,5] parameter(0)\n q = u8[7] parameter(1)\n ROOT r = u8[5,3] transpose(p), dimensions={1,0} }");
  assert.deepEqual(odd.parameters.map(({ sizeInBytes, bindingBytes }) => [sizeInBytes, bindingBytes]), [[15, 16], [7, 0]]);
  assert.deepEqual(made.kernels[0].bindings.map(({ source }) => source.kind), ["PARAMETER", "RESULT"]);
  assert.deepEqual(program(new TextEncoder().encode(text)), made);
  const stable = 'module @m { func.func public @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> { %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32> return %0 : tensor<3x2xf32> } }';
  assert.equal(program(stable).results[0].sizeInBytes, 24);
  assert.equal(memory(text).total_bytes, 192);
});

test("errors name the field, the value and what is expected", () => {
  refuses(() => relayout("f32[2,3", "f32[2,3]"), "from", "expected");
  refuses(() => relayout("f32[2,3]", "f32[2,4]"), "to", "to.dimensions[1]: expected an extent of 3", "got 4");
  refuses(() => relayout("f32[37,53,4]", "f32[4,37,53]"), "to", "did you mean `f32[37,53,4]{1,0,2}`?");
  refuses(() => relayout("f32[4,4,3]", "f32[3,4,4]"), "to", "list the same dimensions in one order");
  refuses(() => relayout("f32[4,5]", "ABC"), "to", "to: layout letters", "NCDHW or PZYX", "'A'");
  refuses(() => relayout("f32[6000,6000]", "f32[6000,6000]{0,1}"), "from", "from: expected an image of at most", "{ target: device.limits }");
  // The limits are the device's already.
  const limits = { maxStorageBufferBindingSize: 2 ** 20 };
  assert.throws(() => relayout("f32[6000,6000]", "f32[6000,6000]{0,1}", { target: limits }), ({ message }) => !message.includes("device.limits"));
  refuses(() => relayout(7, "f32[2]"), "from", "got 7");
  refuses(() => relayout({ type: "f32", dimensions: [2, -1] }, "f32[2]"), "from.dimensions[1]", "-1");
  refuses(() => relayout({ type: "f32", dimensions: [2], order: [0] }, "f32[2]"), "from.order", "minorToMajor");
  refuses(() => relayout("f32[2]", "NHWC"), "to", "1 letter");
  refuses(() => relayout("f32[2]", "f32[2]", { target: "abacus" }), "options.target", "options.target: expected one of webgpu", "abacus");
  class GPUDevice { limits = { maxStorageBufferBindingSize: 1 }; }
  refuses(() => relayout("f32[2]", "f32[2]", { target: new GPUDevice() }), "options.target", "got GPUDevice; did you mean its limits, such as device.limits?");
  refuses(() => relayout("f32[2]", "f32[2]", { target: Promise.resolve() }), "options.target", "got Promise");
  refuses(() => relayout("f32[2]", "f32[2]", { gap: "fill" }), "options.gap", "expected target, gaps, table; did you mean gaps?");
  refuses(() => relayout("f32[2]", "f32[2]", { tagret: "webgpu" }), "options.tagret", "did you mean target?");
  refuses(() => relayout("f32[2]", "f32[2]", { target: "webpgu" }), "options.target", "did you mean webgpu?", "device.limits");
  refuses(() => convert("f32[2]", "torhc"), "as", "did you mean torch?");
  // One or two letters are the beginning of many names.
  for (const given of ["", "x", "to"]) assert.throws(() => convert("f32[2]", given), ({ code, message }) => code === "INVALID" && !message.includes("did you mean"), given);
  assert.throws(() => relayout("f32[2]", "f32[2]", { t: "webgpu" }), ({ message }) => message.endsWith("expected target, gaps, table"));
  refuses(() => relayout("f32[4,4,3]", "HWC->CHW"), "to", "did you mean \"CHW over HWC\"?");
  refuses(() => slice("f32[4,4,3]", { offsets: [0, 0, 0], sizes: [4, 4, 3] }, { to: "HWC->CHW" }), "options.to", "did you mean \"CHW over HWC\"?");
  refuses(() => relayout([2, 3], "f32[2,3]"), "from.type", "a text such as \"f32[2,3]\", or an object");
  refuses(() => relayout("f32[2]", "f32[2]", { to: "f32[2]" }), "options.to", "no such field here");
  refuses(() => slice("f32[4]", { offset: [0], sizes: [2] }), "window.offset", "did you mean offsets?");
  refuses(() => relayout("u8[2]", "u8[2]", { table: { entry: [] } }), "options.table.entry", "did you mean entries?");
  refuses(() => program("ENTRY e { ROOT p = f32[4] parameter(0) }", { gaps: "keep" }), "options.gaps", "expected target");
  refuses(() => relayout("f32[2]", "f32[2]", { target: {} }), "options.target", "maxStorageBufferBindingSize");
  refuses(() => relayout("f32[2]", "f32[2]", { gaps: "yes" }), "options.gaps", "yes");
  refuses(() => slice("f32[4]", { offsets: [0.5], sizes: [2] }), "window.offsets[0]", "0.5");
  refuses(() => program("ENTRY"), "module");
  refuses(() => program(7), "module", "typed array");
  const module = "ENTRY e { p = f32[4,6] parameter(0)\n ROOT r = f32[6,4] transpose(p), dimensions={1,0} }";
  refuses(() => program(module, { target: "abacus" }), "options.target", "abacus");
  refuses(() => program(module, { target: { maxComputeInvocationsPerWorkgroup: 0 } }), "options.target", "got 0");
  refuses(() => slice("f32[4]", { offsets: [9], sizes: [2] }), "window.offsets", "window.offsets[0]: expected offset + size");
  refuses(() => slice("f32[4]", { offsets: [0], sizes: [2] }, { to: "f32[" }), "options.to");
  refuses(() => memory({}), "module", "typed array");
  refuses(() => relayout("f32[2]", "f32[2]", { target: { maxComputeInvocationsPerWorkgroup: 0 } }), "options.target", "options.target.maxComputeInvocationsPerWorkgroup: expected at least 1, got 0");
  refuses(() => relayout("f32[2]", "f32[2]", null), "options", "null");
  refuses(() => program("ENTRY", 3), "options", "got 3");
  refuses(() => slice("f32[4]", { offsets: [0], sizes: [2] }, null), "options", "null");
  refuses(() => relayout("u8[2]", "u8[2]", { table: null }), "options.table", "null");
  refuses(() => relayout("u8[2]", "u8[2]", { table: { entries: new Uint8Array(256), dimension: 4 } }), "options.table", "options.table.dimension: expected a dimension below 1");
  refuses(() => offset("f32[2]", [2]), "index", "2");
  refuses(() => describe("f32["), "layout");
  refuses(() => convert("f32[2]", "runes"), "as", "runes");
  // A layout that is valid but not supported has a code of its own.
  for (const layout of ["token[]", "f32[2]{0:D(S)}"]) {
    assert.throws(() => relayout(layout, "f32[2]"), { code: "UNSUPPORTED", field: "from" });
    assert.throws(() => describe(layout), { code: "UNSUPPORTED", field: "layout" });
  }
  assert.throws(() => relayout("f32[", "f32[2]"), { code: "INVALID", field: "from" });
  const place = () => { try { relayout("f32[2,x]", "f32[2]"); } catch (error) { return error.place; } };
  assert.deepEqual(place()?.[0], 6);
});
