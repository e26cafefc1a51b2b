"use strict";
// Runs the page's kernel in this browser and checks every word that it writes. The expected image
// is computed here, element by element, from the strides and the window in the page's data, and
// shares nothing with the kernel.

/** The most bytes of the images; the check of more takes longer than a reader waits. */
const MOST_BYTES = 1 << 28;

/** Random bytes from a seed, in padding too, so that no result is right by accident. */
function sampleImage(bytes, seed = 0) {
  const image = new Uint32Array(Math.max(Math.ceil(bytes / 4), 1));
  let state = 0x9e3779b9 + seed;
  for (let word = 0; word < image.length; word++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    image[word] = state;
  }
  return new Uint8Array(image.buffer);
}

function readBits(image, bit, count) {
  if (count < 8) return BigInt((image[bit >> 3] >> (bit & 7)) & ((1 << count) - 1));
  let value = 0n;
  for (let byte = count / 8 - 1; byte >= 0; byte--) value = (value << 8n) | BigInt(image[bit / 8 + byte]);
  return value;
}

function writeBits(image, bit, count, value) {
  if (count < 8) {
    const mask = (1 << count) - 1;
    const byte = Math.floor(bit / 8);
    image[byte] = (image[byte] & ~(mask << bit % 8)) | ((Number(value) & mask) << bit % 8);
    return;
  }
  for (let byte = 0; byte < count / 8; byte++, value >>= 8n) image[bit / 8 + byte] = Number(value & 255n);
}

/** The expected destination: elements, the padding value, and zeros between them. */
function expectedImage(page, source) {
  const { source: from, destination: to } = page;
  const image = new Uint8Array(Math.max(Math.ceil(to.imageBytes / 4), 1) * 4);
  const padding = BigInt(`0x${to.padding}`);
  if (padding !== 0n) {
    // Only padded dimensions have such a value; the padding of tiles is zero.
    eachIndex(to.padded, (index) => writeBits(image, bitOf(to, placeOf(to, index)), to.bits, padding));
  }
  const bytes = from.type === to.type && from.bits === to.bits && to.bits >= 8 ? to.bits / 8 : 0;
  const convert = converter(from, to);
  eachIndex(to.sizes, (index) => {
    const bit = bitOf(to, placeOf(to, index));
    const origin = originOf(page, index);
    const read = bitOf(from, placeOf(from, origin));
    if (bytes) {
      for (let byte = 0; byte < bytes; byte++) image[bit / 8 + byte] = source[read / 8 + byte];
      return;
    }
    writeBits(image, bit, to.bits, convert(readBits(source, read, from.bits)));
  });
  return image;
}

/** The first byte at which two images differ within the first `bytes`, or -1 if there is none. */
function firstDifference(expected, given, bytes) {
  for (let byte = 0; byte < bytes; byte++) if (expected[byte] !== given[byte]) return byte;
  return -1;
}

/** Opens a device that binds buffers of these sizes, or throws an error with the reason. */
async function openDevice(sizes) {
  if (!navigator.gpu) throw new Error("This browser has no WebGPU, or the page was not opened from a file or over https.");
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("This browser offers no WebGPU adapter.");
  const largest = Math.max(...sizes);
  const requiredLimits = {};
  for (const limit of ["maxStorageBufferBindingSize", "maxBufferSize"]) {
    if (largest > adapter.limits[limit]) throw new Error(`The adapter binds at most ${adapter.limits[limit]} bytes.`);
    requiredLimits[limit] = Math.max(largest, 1 << 27);
  }
  const timed = adapter.features.has("timestamp-query");
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures: timed ? ["timestamp-query"] : [] });
  const { vendor, architecture, description } = adapter.info ?? {};
  return { device, timed, name: description || [vendor, architecture].filter(Boolean).join(" ") || "an adapter" };
}

/**
 * Compiles kernels, runs them once, one after another, and reads the buffers `read` back. The
 * returned `time` runs them again. A buffer has a size, and content unless a kernel writes it. A
 * kernel has the numbers of its buffers, in binding order.
 */
async function prepare({ device, timed }, described, kernels, read) {
  const buffers = described.map(({ size, content }) => {
    const buffer = device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
    // A pattern in place of zeros shows the bytes that no kernel writes.
    const bytes = content ?? new Uint8Array(size).fill(0xa5);
    device.queue.writeBuffer(buffer, 0, bytes, 0, Math.min(bytes.length, size));
    return buffer;
  });
  const compiled = [];
  for (const kernel of kernels.filter(({ dispatches }) => dispatches.length)) {
    const module = device.createShaderModule({ code: kernel.wgsl });
    const messages = (await module.getCompilationInfo()).messages.filter((message) => message.type === "error");
    if (messages.length) throw new Error(`The kernel does not compile here: line ${messages[0].lineNum}: ${messages[0].message}`);
    const compute = { module, entryPoint: kernel.entryPoint };
    const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute });
    const entries = kernel.buffers.map((number, binding) => ({ binding, resource: { buffer: buffers[number] } }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    compiled.push({ pipeline, group, dispatches: kernel.dispatches });
  }

  const encode = (times, timestampWrites) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass(timestampWrites ? { timestampWrites } : {});
    for (let time = 0; time < times; time++) {
      for (const { pipeline, group, dispatches } of compiled) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        for (const workgroups of dispatches) pass.dispatchWorkgroups(...workgroups);
      }
    }
    pass.end();
    return encoder;
  };
  const readBack = async (buffer, size, encoder) => {
    const staging = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.copyBufferToBuffer(buffer, 0, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const bytes = staging.getMappedRange().slice(0);
    staging.destroy();
    return bytes;
  };
  device.queue.submit([encode(1).finish()]);
  // A measurement must not wait for the set-up.
  await device.queue.onSubmittedWorkDone();
  const written = [];
  for (const number of read) {
    written.push(new Uint8Array(await readBack(buffers[number], buffers[number].size, device.createCommandEncoder())));
  }

  /** Measures the seconds of one run, by the device's clock if it has one. */
  const time = async (times) => {
    if (timed) {
      const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
      const encoder = encode(times, { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 });
      const resolved = device.createBuffer({ size: 16, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
      encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
      const [start, end] = new BigUint64Array(await readBack(resolved, 16, encoder));
      if (end > start) return Number(end - start) / 1e9 / times;
    }
    const start = performance.now();
    device.queue.submit([encode(times).finish()]);
    await device.queue.onSubmittedWorkDone();
    return (performance.now() - start) / 1e3 / times;
  };
  return { written, time };
}

/** Measures the seconds of one run, as the mean of about a tenth of a second of runs. */
async function timeMany(time) {
  const once = await time(1);
  return time(Math.min(Math.max(Math.round(0.1 / once), 1), 100));
}

/** A kernel that copies 16 bytes in each invocation. */
const COPY = `@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;
@compute @workgroup_size(64) fn copy(@builtin(global_invocation_id) id: vec3<u32>) {
  let at = id.y * 65536u + id.x;
  if (at < arrayLength(&destination)) { destination[at] = source[at]; }
}`;

/** The workgroups of `COPY` for a buffer of `size` bytes: as many as it needs, in rows of 1,024. */
function copyWorkgroups(size) {
  const groups = Math.ceil(size / 16 / 64);
  return [Math.min(groups, 1024), Math.ceil(groups / 1024), 1];
}

/**
 * Measures the seconds of a copy that reads and writes about `moved` bytes in total. A page with a
 * compiler sets `stridecCopy`, which returns stridec's own kernel for a copy of that many bytes.
 */
async function timeCopy(gpu, moved) {
  const size = Math.min(Math.ceil(moved / 32) * 16, 1 << 27);
  const plain = { wgsl: COPY, entryPoint: "copy", dispatches: [copyWorkgroups(size)] };
  const kernel = { ...(globalThis.stridecCopy?.(size) ?? plain), buffers: [0, 1] };
  const { time } = await prepare(gpu, [{ size }, { size }], [kernel], []);
  return { bytes: 2 * size, seconds: await timeMany(time) };
}

/** Fewer bytes than these take as long as an empty dispatch, so that a rate would say nothing. */
const LEAST_MOVED = 1 << 20;

/** Measures a run that moves `moved` bytes, and describes it in words next to a plain copy. */
async function timed(gpu, time, moved) {
  const seconds = await timeMany(time);
  const micros = seconds * 1e6;
  const took = micros < 1e4 ? `${micros.toFixed(1)} µs` : `${(micros / 1e3).toFixed(1)} ms`;
  if (moved < LEAST_MOVED) return `${took} on ${gpu.name}; a rate needs at least 1 MiB to read and write.`;
  const copied = await timeCopy(gpu, moved);
  const rate = (bytes, seconds) => Number((bytes / seconds / 1e9).toPrecision(3));
  return `${took}, ${rate(moved, seconds)} GB/s read and written, where a copy has ${rate(copied.bytes, copied.seconds)}, on ${gpu.name}.`;
}

/** Runs, checks and times the kernel; calls `say` with a word for the outcome, and a text. */
async function runKernel(page, wgsl, say) {
  const { kernel, destination: to, source: from } = page;
  if (!kernel.dispatches.length) return say("pass", "Nothing to dispatch: the destination takes no memory.");
  if (from.imageBytes + to.imageBytes > MOST_BYTES) {
    return say("too-large", "These images are too large to check in a page; stridec run does it.");
  }
  let gpu;
  try {
    gpu = await openDevice(kernel.bindingBytes);
  } catch (error) {
    return say("no-webgpu", `${error.message} Everything else on this page works without it.`);
  }
  try {
    say("running", "Running…");
    const sample = sampleImage(from.imageBytes);
    gpu.device.pushErrorScope("validation");
    const [input, output] = kernel.bindingBytes;
    const buffers = [{ size: input, content: sample }, { size: output }];
    const { written: [written], time } = await prepare(gpu, buffers, [{ ...kernel, wgsl, buffers: [0, 1] }], [1]);
    const refused = await gpu.device.popErrorScope();
    if (refused) throw new Error(refused.message);
    const expected = expectedImage(page, sample);
    const wrong = firstDifference(expected, written, to.imageBytes);
    if (wrong >= 0) {
      const word = (image) => `0x${readBits(image, Math.floor(wrong / 4) * 32, 32).toString(16).padStart(8, "0")}`;
      return say("fail", `Word ${Math.floor(wrong / 4)}: expected ${word(expected)}, got ${word(written)}.`);
    }
    const moved = Math.ceil((to.elements * from.bits) / 8) + to.imageBytes;
    say("pass", `All ${Math.ceil(to.imageBytes / 4)} words are as expected. ${await timed(gpu, time, moved)}`);
  } catch (error) {
    say("fail", error.message);
  } finally {
    gpu.device.destroy();
  }
}

/** Makes the button of `root` call `run`, and shows the word and the text that `run` reports. */
function offerRun(root, run) {
  const button = root.querySelector("#run");
  if (!button) return;
  const verdict = root.querySelector("#verdict");
  const say = (word, text) => {
    verdict.dataset.verdict = word;
    verdict.textContent = text;
  };
  button.addEventListener("click", async () => {
    button.disabled = true;
    await run(say);
    button.disabled = false;
  });
  if (!navigator.gpu) say("no-webgpu", "This browser has no WebGPU, or the page was not opened from a file or over https. Everything else works without it.");
}
