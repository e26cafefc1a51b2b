// The examples on Dawn with SwiftShader, beside loops: `node --test`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, globals } from "webgpu";
import { init, relayout } from "stridec";
import { run } from "stridec/gpu";
import { framePlanes } from "./examples/camera.mjs";
import { columnSums } from "./examples/pass.mjs";

Object.assign(globalThis, globals);
// Dawn lives as long as this object.
let gpu = create([]);
let device;
const errors = [];

before(async () => {
  await init();
  device = await (await gpu.requestAdapter()).requestDevice();
  device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
});
after(() => {
  assert.deepEqual(errors, []);
  device.destroy();
  gpu = null;
});

async function bytesOf(buffer) {
  const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const answer = device.createBuffer({ size: buffer.size, usage });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, answer, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await answer.mapAsync(GPUMapMode.READ);
  return new Uint8Array(answer.getMappedRange().slice(0));
}

test("camera frames become planes", async () => {
  const [width, height] = [37, 21];
  const [mean, deviation] = [[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]];
  const { planes, feed } = await framePlanes(device, { width, height, mean, deviation });
  for (const seed of [1, 5]) {
    const frame = Uint8ClampedArray.from({ length: 4 * width * height }, (_, at) => (at * 37 * seed + (at >> 3)) % 256);
    feed(frame);
    const halves = (await bytesOf(planes)).buffer;
    // Halves are widened exactly.
    const wide = await run(device, relayout(`f16[${3 * width * height}]`, `f32[${3 * width * height}]`), halves.slice(0, 6 * width * height));
    const got = new Float32Array(wide.buffer);
    for (let channel = 0; channel < 3; channel += 1) {
      for (let pixel = 0; pixel < width * height; pixel += 1) {
        const right = (frame[4 * pixel + channel] / 255 - mean[channel]) / deviation[channel];
        const given = got[channel * width * height + pixel];
        // A half has 11 bits.
        assert(Math.abs(given - right) <= Math.max(Math.abs(right), 2 ** -14) * 2 ** -11 * 1.001, `channel ${channel}, pixel ${pixel}: ${given} instead of ${right}`);
      }
    }
  }
});

test("a pass of an application has the transpose between its kernels", async () => {
  const [rows, columns] = [70, 45];
  const sums = new Float32Array(columns);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      sums[column] += ((row * columns + column) * 7) % 31;
    }
  }
  assert.deepEqual(await columnSums(device, rows, columns), sums);
});
