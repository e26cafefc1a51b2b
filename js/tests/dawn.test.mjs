// Kernels on Dawn with SwiftShader: `node --test`. STRIDEC is the command line, whose host computes
// what is right.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { create, globals } from "webgpu";
import { init, program, relayout, slice } from "stridec";
import { KernelRunner, run } from "stridec/gpu";

Object.assign(globalThis, globals);
const folder = mkdtempSync(join(tmpdir(), "stridec-"));
// Dawn lives as long as this object.
let gpu = create([]);
let device;
const errors = [];

before(async () => {
  await init();
  const adapter = await gpu.requestAdapter();
  assert(adapter, "no adapter; VK_ICD_FILENAMES names the driver");
  device = await adapter.requestDevice();
  device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
});
after(() => {
  assert.deepEqual(errors, []);
  device.destroy();
  gpu = null;
});

let state = 0x2545_f491;
function below(limit) {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % limit;
}
const pick = (list) => list[below(list.length)];
const random = (bytes) => Uint8Array.from({ length: bytes }, () => below(256));
const shuffled = (list) => list.map((value) => [below(1 << 30), value]).sort(([a], [b]) => a - b).map(([, value]) => value);

/** Returns a random order, with tiles now and then. */
function layout(type, dimensions) {
  const order = shuffled([...dimensions.keys()]);
  const tiles = below(3) ? undefined : [Array.from({ length: 1 + below(dimensions.length) }, () => 1 + below(8))];
  return { type, dimensions, minorToMajor: order, tiles };
}
const text = ({ type, dimensions, minorToMajor, tiles }) => `${type}[${dimensions}]{${minorToMajor}${tiles ? `:T(${tiles[0]})` : ""}}`;

/** Runs the command line on the host. */
function right(words, ...inputs) {
  const files = inputs.flatMap((bytes, at) => {
    const name = join(folder, `${at}.bin`);
    writeFileSync(name, bytes);
    return ["-i", name];
  });
  const output = join(folder, "out.bin");
  execFileSync(process.env.STRIDEC, ["run", ...words, "--device", "host", ...files, "-o", output], { stdio: ["ignore", "ignore", "pipe"] });
  return new Uint8Array(readFileSync(output));
}

test("300 random operations", async () => {
  const runner = new KernelRunner(device);
  const strategies = new Map();
  for (let number = 0; number < 300; number += 1) {
    const type = pick(["u8", "bf16", "f32", "s64", "s16", "pred", "c64"]);
    const dimensions = Array.from({ length: 1 + below(4) }, () => 1 + below(pick([4, 20])));
    const from = layout(type, dimensions);
    const target = pick(["webgpu", "webgpu-cpu", device.limits]);
    let kernel, words, to;
    if (below(3)) {
      to = layout(type, dimensions);
      kernel = relayout(from, to, { target });
      words = ["relayout", "--from", text(from), "--to", text(to)];
    } else {
      const offsets = dimensions.map((extent) => below(extent));
      const sizes = dimensions.map((extent, at) => 1 + below(extent - offsets[at]));
      const strides = dimensions.map(() => pick([1, 1, 2, 3, -1, -2]));
      kernel = slice(from, { offsets, sizes, strides }, { target });
      words = ["slice", "--from", text(from), "--offsets", offsets.join(), "--sizes", sizes.join(), "--strides", strides.join()];
    }
    const source = random(kernel.sourceBytes);
    if (type === "pred") source.forEach((byte, at) => (source[at] = byte & 1));
    assert.deepEqual(await runner.run(kernel, source), right(words, source), words.join(" "));
    strategies.set(kernel.strategy, 1 + (strategies.get(kernel.strategy) ?? 0));
  }
  console.log([...strategies].map(([name, count]) => `${name} ${count}`).join(", "));
});

const make = (size, usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST) => device.createBuffer({ size, usage });
async function bytesOf(buffer) {
  const answer = make(buffer.size, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, answer, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await answer.mapAsync(1);
  return new Uint8Array(answer.getMappedRange().slice(0));
}

test("programs with scratch, tables, conversions and gaps", async () => {
  const module = `HloModule m
ENTRY e {
  x = f32[4,6] parameter(0)
  y = f32[2,6] parameter(1)
  both = f32[6,6] concatenate(x, y), dimensions={0}
  t = f32[6,6] transpose(both), dimensions={1,0}
  ROOT r = (f32[6,6], f32[6,4]) tuple(both, t2)
}`.replace("  ROOT", "  t2 = f32[6,4] slice(t), slice={[0:6], [1:5]}\n  ROOT");
  const [x, y] = [Float32Array.from({ length: 24 }, (_, at) => at), Float32Array.from({ length: 12 }, (_, at) => 100 + at)];
  const [both, turned] = await run(device, program(module), x, y);
  assert.deepEqual([...new Float32Array(both.buffer)], [...x, ...y]);
  assert.deepEqual([...new Float32Array(turned.buffer)].slice(0, 4), [6, 12, 18, 100]);
  // No kernel reads the second parameter, which needs no buffer.
  const unused = program("ENTRY e { p = u8[3,5] parameter(0)\n q = u8[7] parameter(1)\n c = u8[3] constant({7, 8, 9})\n t = u8[5,3] transpose(p), dimensions={1,0}\n d = u8[1,3] reshape(c)\n ROOT r = u8[6,3] concatenate(t, d), dimensions={0} }");
  const [joined] = await run(device, unused, Uint8Array.from({ length: 15 }, (_, at) => at), new Uint8Array(7));
  assert.deepEqual([...joined], [0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14, 7, 8, 9]);
  const halves = await run(device, relayout("u8[5]", "f16[5]"), Uint8Array.of(0, 1, 2, 3, 4));
  assert.deepEqual([...new Uint16Array(halves.buffer)], [0, 0x3c00, 0x4000, 0x4200, 0x4400]);
  const entries = Uint16Array.from({ length: 256 }, (_, at) => at * 3);
  const mapped = await run(device, relayout("u8[5]", "u16[5]", { table: { entries } }), Uint8Array.of(9, 1, 200, 3, 4), entries);
  assert.deepEqual([...new Uint16Array(mapped.buffer)], [27, 3, 600, 9, 12]);
  const kept = await run(device, relayout("u8[2,3]", "u8[2,3] strided<[5,1]>", { gaps: "keep" }), Uint8Array.of(1, 2, 3, 4, 5, 6), new Uint8Array(8).fill(9));
  assert.deepEqual([...kept], [1, 2, 3, 9, 9, 4, 5, 6]);
});

test("an open pass and an encoder, at offsets", async () => {
  const kernel = relayout("u32[2,3]", "u32[2,3]{0,1}");
  const runner = new KernelRunner(device);
  await runner.prepare(kernel);
  const [source, middle, result] = [make(24), make(512), make(24)];
  device.queue.writeBuffer(source, 0, Uint32Array.of(1, 2, 3, 4, 5, 6));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  runner.encode(pass, kernel, source, { buffer: middle, offset: 256 });
  runner.encode(pass, kernel, { buffer: middle, offset: 256, size: 24 }, result);
  pass.end();
  device.queue.submit([encoder.finish()]);
  assert.deepEqual([...new Uint32Array((await bytesOf(result)).buffer)], [1, 5, 4, 3, 2, 6]);
  const second = device.createCommandEncoder();
  runner.encode(second, kernel, source, result);
  device.queue.submit([second.finish()]);
  assert.deepEqual([...new Uint32Array((await bytesOf(result)).buffer)], [1, 4, 2, 5, 3, 6]);
});

test("it checks what WebGPU would", () => {
  const kernel = relayout("u32[2,3]", "u32[2,3]{0,1}");
  const runner = new KernelRunner(device);
  const [source, result] = [make(24), make(24)];
  const refuses = (message, ...buffers) => {
    const encoder = device.createCommandEncoder();
    assert.throws(() => runner.encode(encoder, kernel, ...buffers), { name: "TypeError", message });
    encoder.finish();
  };
  refuses(/expected 2 buffers.*got 1/, source);
  refuses(/buffer 1: expected at least 24 bytes from offset 0, got 8/, source, make(8));
  refuses(/buffer 1: expected at least 24 bytes/, source, { buffer: result, size: 20 });
  refuses(/buffer 0: expected an offset that is a multiple of \d+, got 4/, { buffer: source, offset: 4 }, result);
  for (const offset of [-256, 0.5, NaN, "0"]) refuses(/buffer 0: expected an offset that is an integer of at least 0/, { buffer: source, offset }, result);
  refuses(/buffer 0: expected the usage STORAGE, got COPY_SRC \| COPY_DST; create it with/, make(24, GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC), result);
  const labelled = device.createBuffer({ label: "weights", size: 8, usage: GPUBufferUsage.STORAGE });
  refuses(/buffer 1 "weights": expected at least 24 bytes/, source, labelled);
  refuses(/buffer 0: expected a GPUBuffer or \{ buffer, offset, size \}, got Float32Array; `run` takes typed arrays/, new Float32Array(6), result);
  refuses(/buffer 0: expected a GPUBuffer .* got Promise; await it/, Promise.resolve(source), result);
  refuses(/destination's buffer too/, source, source);
  refuses(/buffer 0: expected a GPUBuffer/, undefined, result);
  assert.throws(() => runner.encode({}, kernel, source, result), /command encoder or an open compute pass, got Object/);
  return assert.rejects(run(device, kernel, new Uint8Array(20)), /input 0: expected 24 bytes, got 20/);
});

test("a runner says what it expects", async () => {
  const adapter = await gpu.requestAdapter();
  const refuses = (message, ...given) => assert.throws(() => new KernelRunner(...given), { name: "TypeError", message });
  refuses(/new KernelRunner: expected a GPUDevice, got undefined/);
  refuses(/got null/, null);
  refuses(/got GPUAdapter; give what its requestDevice\(\) promises/, adapter);
  refuses(/got Promise; await it/, Promise.resolve(device));
  refuses(/no option capacity; expected cacheCapacity/, device, { capacity: 2 });
  const runner = new KernelRunner(device);
  const kernel = relayout("u32[2,3]", "u32[2,3]{0,1}");
  const encoder = device.createCommandEncoder();
  for (const [given, got] of [[JSON.stringify(kernel), /got string; if it is JSON, give JSON\.parse of it/], [undefined, /got undefined/], [[kernel], /got Array/], [Promise.resolve(kernel), /got Promise; await it/], [{ ...kernel, bindings: undefined }, /got Object without bindings$/], [{ ...kernel, dispatches: 3 }, /got Object without dispatches$/], [{ wgsl: kernel.wgsl }, /got Object without bindings and dispatches$/]]) {
    for (const message of [/stridec\/gpu: expected a kernel or a program/, got]) {
      await assert.rejects(runner.prepare(given), { name: "TypeError", message });
      await assert.rejects(runner.run(given), { name: "TypeError", message });
      assert.throws(() => runner.encode(encoder, given), { name: "TypeError", message });
    }
  }
  const [source, destination] = [make(24), make(24)];
  assert.throws(() => runner.encode(encoder, kernel, { buffer: source, ofset: 0 }, destination), { name: "TypeError", message: /no field ofset; expected buffer, offset, size/ });
  encoder.finish();
  await assert.rejects(runner.run(kernel), /expected 1 input, got 0/);
  await assert.rejects(runner.run(kernel, [1, 2, 3]), /input 0: expected a typed array or an ArrayBuffer, got Array/);
});

test("results of a program have buffers of their own", async () => {
  const module = program("ENTRY e { x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n a = f32[8] concatenate(x, y), dimensions={0}\n b = f32[8] concatenate(y, x), dimensions={0}\n ROOT r = (f32[8], f32[8]) tuple(a, b) }");
  const runner = new KernelRunner(device);
  const [x, y, a, b] = [make(32), make(32), make(32), make(1024)];
  const encoder = device.createCommandEncoder();
  const refuses = (message, ...buffers) => assert.throws(() => runner.encode(encoder, module, ...buffers), { name: "TypeError", message });
  refuses(/buffer 2 is a result and overlaps buffer 1|buffer 1 is the destination's buffer too/, x, y, y, a);
  refuses(/buffer 3 is a result and overlaps buffer 2/, x, y, a, a);
  refuses(/buffer 3 is a result and overlaps buffer 2/, x, y, b, { buffer: b, offset: 0, size: 32 });
  // Nothing was recorded, and parts that do not overlap are accepted.
  device.queue.writeBuffer(x, 0, Float32Array.of(1, 2, 3, 4));
  device.queue.writeBuffer(y, 0, Float32Array.of(5, 6, 7, 8));
  runner.encode(encoder, module, x, y, b, { buffer: b, offset: 512 });
  device.queue.submit([encoder.finish()]);
  const results = new Float32Array((await bytesOf(b)).buffer);
  assert.deepEqual([...results.subarray(0, 8)], [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual([...results.subarray(128, 136)], [5, 6, 7, 8, 1, 2, 3, 4]);
});

test("a parameter that only another kernel reads is no result either", () => {
  const text = "ENTRY e { x = f32[4,6] parameter(0)\n y = f32[2,6] parameter(1)\n t = f32[6,4] transpose(x), dimensions={1,0}\n u = f32[6,2] transpose(y), dimensions={1,0}\n ROOT r = (f32[6,4], f32[6,2]) tuple(t, u) }";
  const [x, y, u] = [make(96), make(96), make(48)];
  const encoder = device.createCommandEncoder();
  assert.throws(() => new KernelRunner(device).encode(encoder, program(text), x, y, y, u), /buffer 2 is a result and overlaps buffer 1/);
  encoder.finish();
});

test("a kernel without dispatches keeps gaps, and checks its inputs", async () => {
  const empty = relayout("f32[0,3]", "f32[0,3]", { gaps: "keep" });
  assert.deepEqual([empty.dispatches, empty.gaps], [[], "GAPS_KEEP"]);
  const nothing = new Uint8Array(0);
  assert.deepEqual(await run(device, empty, nothing, nothing), nothing);
  await assert.rejects(run(device, empty), /expected 1 input, the last one with what the destination has, got 0/);
  await assert.rejects(run(device, empty, new Uint8Array(9), nothing), /input 0: expected 0 bytes, got 9/);
  // A destination whose places are all gaps.
  const gaps = { ...empty, destinationBytes: 6 };
  const kept = Uint8Array.of(1, 2, 3, 4, 5, 6);
  const result = await run(device, gaps, nothing, kept);
  assert.deepEqual(result, kept);
  assert.notEqual(result.buffer, kept.buffer);
  assert.deepEqual(await run(device, gaps, nothing, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)), kept);
  await assert.rejects(run(device, gaps, nothing, new Uint8Array(5)), /input 1: expected 6 bytes, got 5/);
  assert.deepEqual(await run(device, { ...gaps, gaps: "GAPS_FILL" }), new Uint8Array(6));
});

test("kernels of equal code share a pipeline", async () => {
  let made = 0;
  const counted = new Proxy(device, { get: (of, name) => {
    if (name.startsWith?.("createComputePipeline")) made += 1;
    const value = of[name];
    return typeof value === "function" ? value.bind(of) : value;
  } });
  const runner = new KernelRunner(counted);
  await runner.prepare(relayout("f32[4,6]", "f32[4,6]{0,1}"));
  await runner.prepare(relayout("s32[4,6]", "s32[4,6]{0,1}"));
  assert.equal(made, 1);
});
