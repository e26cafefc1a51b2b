// The page of `bench.mjs`. All libraries get one device, and each case is one permutation of f32.
import { init, relayout } from "stridec";
import { KernelRunner } from "../gpu.js";
import * as tf from "@tensorflow/tfjs-core";
import { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import * as jax from "@jax-js/jax";
import * as ort from "onnxruntime-web/webgpu";
import { transposeModel } from "./onnx.mjs";

const CASES = [
  { name: "transpose f32[1024,1024]", sizes: [1024, 1024], order: [1, 0] },
  { name: "NCHW to NHWC f32[8,64,56,56]", sizes: [8, 64, 56, 56], order: [0, 2, 3, 1] },
  { name: "NHWC to NCHW f32[8,56,56,64]", sizes: [8, 56, 56, 64], order: [0, 3, 1, 2] },
  { name: "heads f32[4,128,8,64]", sizes: [4, 128, 8, 64], order: [0, 2, 1, 3] },
];
const ROUNDS = 9;
const ENOUGH_MS = 60;

const count = (sizes) => sizes.reduce((product, size) => product * size, 1);
const strides = (sizes) => sizes.map((_, at) => count(sizes.slice(at + 1)));

/** Permutes with loops. */
function right({ sizes, order }, source) {
  const out = order.map((dimension) => sizes[dimension]);
  const [from, to] = [order.map((dimension) => strides(sizes)[dimension]), strides(out)];
  const walk = Float32Array.from({ length: source.length }, (_, at) => {
    let offset = 0;
    to.forEach((stride, dimension) => (offset += (Math.floor(at / stride) % out[dimension]) * from[dimension]));
    return source[offset];
  });
  return walk;
}

/** One invocation for each element, with the arithmetic that comes to mind first. */
function naive({ sizes, order }) {
  const out = order.map((dimension) => sizes[dimension]);
  const [from, to] = [order.map((dimension) => strides(sizes)[dimension]), strides(out)];
  const terms = to.map((stride, at) => `(i / ${stride}u) % ${out[at]}u * ${from[at]}u`).join(" + ");
  return `
@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> destination: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i < ${count(sizes)}u) { destination[i] = source[${terms}]; }
}`;
}

globalThis.bench = async () => {
  const adapter = await navigator.gpu.requestAdapter();
  const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
  const device = await adapter.requestDevice({ requiredLimits: { maxStorageBufferBindingSize, maxBufferSize } });
  // Libraries that ask for a device of their own get this one too.
  GPUAdapter.prototype.requestDevice = async () => device;
  const idle = () => device.queue.onSubmittedWorkDone();
  console.log(`device: ${adapter.info.vendor} ${adapter.info.architecture} ${adapter.info.description}`);

  await init("/stridec.wasm");
  const runner = new KernelRunner(device);
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const make = (bytes) => device.createBuffer({ size: bytes, usage });
  const read = async (buffer, bytes) => {
    const answer = device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, answer, 0, bytes);
    device.queue.submit([encoder.finish()]);
    await answer.mapAsync(GPUMapMode.READ);
    return new Float32Array(answer.getMappedRange().slice(0));
  };

  const backend = new WebGPUBackend(device);
  tf.removeBackend("webgpu");
  tf.registerBackend("webgpu", () => backend);
  await tf.setBackend("webgpu");
  await jax.init("webgpu");
  jax.defaultDevice("webgpu");
  ort.env.wasm.wasmPaths = "/ort/";
  ort.env.wasm.numThreads = 1;
  ort.env.webgpu.device = device;

  /** Each returns `{ run, result, free }`: `run(n)` does the work n times and waits for it. */
  const libraries = {
    stridec: async (test, source) => {
      const text = `f32[${test.sizes}]`;
      // The destination has the same dimensions, and the order of its memory.
      const kernel = await runner.prepare(relayout(text, `{${[...test.order].reverse()}}`, { target: device.limits }));
      const [from, to] = [make(source.byteLength), make(source.byteLength)];
      device.queue.writeBuffer(from, 0, source);
      return {
        run: async (times) => {
          for (let n = 0; n < times; n += 1) {
            const encoder = device.createCommandEncoder();
            runner.encode(encoder, kernel, from, to);
            device.queue.submit([encoder.finish()]);
          }
          await idle();
        },
        result: () => read(to, source.byteLength),
        free: () => [from, to].forEach((buffer) => buffer.destroy()),
      };
    },
    "naive WGSL": async (test, source) => {
      const [from, to] = [make(source.byteLength), make(source.byteLength)];
      device.queue.writeBuffer(from, 0, source);
      const module = device.createShaderModule({ code: naive(test) });
      const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
      const group = device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: [from, to].map((buffer, binding) => ({ binding, resource: { buffer } })),
      });
      return {
        run: async (times) => {
          for (let n = 0; n < times; n += 1) {
            const encoder = device.createCommandEncoder();
            const pass = encoder.beginComputePass();
            pass.setPipeline(pipeline);
            pass.setBindGroup(0, group);
            pass.dispatchWorkgroups(Math.ceil(source.length / 64));
            pass.end();
            device.queue.submit([encoder.finish()]);
          }
          await idle();
        },
        result: () => read(to, source.byteLength),
        free: () => [from, to].forEach((buffer) => buffer.destroy()),
      };
    },
    tfjs: async (test, source) => {
      const tensor = tf.tensor(source, test.sizes);
      return {
        run: async (times) => {
          for (let n = 0; n < times; n += 1) tf.transpose(tensor, test.order).dispose();
          // tfjs submits 15 dispatches at a time.
          if (backend.commandEncoder) {
            backend.endComputePassEncoder();
            backend.submitQueue();
          }
          await idle();
        },
        result: async () => {
          const out = tf.transpose(tensor, test.order);
          const data = await out.data();
          out.dispose();
          return data;
        },
        free: () => tensor.dispose(),
      };
    },
    "jax-js": async (test, source) => {
      const array = jax.numpy.array(source, { shape: test.sizes });
      // Moves of dimensions are views there, so a compiled function has to write the copy.
      const permuted = jax.jit((x) => jax.numpy.transpose(x, test.order));
      return {
        run: async (times) => {
          for (let n = 0; n < times; n += 1) {
            const out = permuted(array.ref);
            // An array that nobody waits for is not computed.
            await jax.blockUntilReady(out);
            out.dispose();
          }
          await idle();
        },
        result: async () => new Float32Array(await permuted(array.ref).data()),
        free: () => array.dispose(),
      };
    },
    "onnxruntime-web": async (test, source) => {
      const session = await ort.InferenceSession.create(transposeModel(test.sizes, test.order), {
        executionProviders: ["webgpu"],
        preferredOutputLocation: "gpu-buffer",
      });
      const buffer = make(source.byteLength);
      device.queue.writeBuffer(buffer, 0, source);
      const x = ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims: test.sizes });
      return {
        run: async (times) => {
          for (let n = 0; n < times; n += 1) (await session.run({ x })).y.dispose();
          await idle();
        },
        result: async () => {
          const { y } = await session.run({ x });
          return new Float32Array(await y.getData(true));
        },
        // The release of a session would destroy the device.
        free: () => buffer.destroy(),
      };
    },
  };

  for (const test of CASES) {
    const source = Float32Array.from({ length: count(test.sizes) }, (_, at) => at % 16_777_213);
    const expected = right(test, source);
    const ready = [];
    for (const [name, prepare] of Object.entries(libraries)) {
      try {
        const library = await prepare(test, source);
        await library.run(2);
        const result = await library.result();
        const wrong = expected.findIndex((value, at) => value !== result[at]);
        if (result.length !== expected.length || wrong >= 0) throw new Error(`element ${wrong} is ${result[wrong]} instead of ${expected[wrong]}`);
        // As many as take long enough to be timed.
        let times = 1;
        for (;;) {
          const start = performance.now();
          await library.run(times);
          if (performance.now() - start >= ENOUGH_MS || times >= 256) break;
          times *= 2;
        }
        ready.push({ name, library, times, taken: [] });
      } catch (error) {
        console.log(`${test.name}: ${name} is left out: ${error.message}`);
      }
    }
    // Rounds of all, so that a change of the machine's speed meets each of them.
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { library, times, taken } of ready) {
        const start = performance.now();
        await library.run(times);
        taken.push((performance.now() - start) / times);
      }
    }
    if (!ready.length) continue;
    const medians = ready.map(({ name, taken }) => [name, taken.toSorted((one, other) => one - other)[ROUNDS >> 1]]);
    const [[, own]] = medians;
    const line = medians.map(([name, median]) => `${name} ${median.toFixed(3)} ms (${(median / own).toFixed(2)})`).join(", ");
    console.log(`${test.name}: ${line}`);
    for (const { library } of ready) library.free();
  }
};
