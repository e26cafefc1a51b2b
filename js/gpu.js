// Runs kernels on a device of WebGPU. Needs no WebAssembly.

const STORAGE = 128, COPY_SRC = 4, COPY_DST = 8, MAP_READ = 1;

/** The names of the usages of a buffer, from the lowest bit. */
const USAGES = ["MAP_READ", "MAP_WRITE", "COPY_SRC", "COPY_DST", "INDEX", "VERTEX", "UNIFORM", "STORAGE", "INDIRECT", "QUERY_RESOLVE"];

const fail = (message) => { throw new TypeError(`stridec/gpu: ${message}`); };
const isFunction = (given) => typeof given === "function";
/** Names what is given in place of something else: the name of its class, or its type. */
const named = (given) => (given === null ? "null" : typeof given === "object" ? given.constructor?.name ?? "an object" : typeof given);
const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;
/** Names what is given, with a way out if a promise is given. */
const got = (given) => `got ${named(given)}${isFunction(given?.then) ? "; await it" : ""}`;
/** Refuses what is neither a kernel nor a program. */
function check(code) {
  const missing = ["wgsl", "bindings", "dispatches"].filter((name) => (name === "wgsl" ? typeof code?.wgsl !== "string" : !Array.isArray(code?.[name])));
  if (Array.isArray(code?.kernels) || !missing.length) return;
  fail(`expected a kernel or a program, ${got(code)}${missing.length < 3 ? ` without ${missing.join(" and ")}` : ""}${typeof code === "string" ? "; if it is JSON, give JSON.parse of it" : ""}`);
}
const align = (bytes) => Math.max(4, Math.ceil(bytes / 4) * 4);
const kernelsOf = (code) => code.kernels ?? [code];
/** The sizes to bind of the buffers of a program's parameters and results. */
const sizesOf = ({ parameters, results }) => [...parameters, ...results].map(({ bindingBytes }) => bindingBytes);
/** Names a buffer by its number and its label. */
const called = (at, buffer) => `buffer ${at}${buffer?.label ? ` ${JSON.stringify(buffer.label)}` : ""}`;
/** The part of a buffer that a caller gives. */
function part(resource) {
  // A typed array has a `buffer` too.
  const { buffer, offset = 0, size, ...others } = resource?.buffer && !ArrayBuffer.isView(resource) ? resource : { buffer: resource };
  for (const name of Object.keys(others)) fail(`a part of a buffer has no field ${name}; expected buffer, offset, size`);
  return { buffer, offset, size };
}
const overlap = (one, other) => one.offset < other.offset + other.size && other.offset < one.offset + one.size;
/** Refuses a result in the place of a parameter or of another result, which a later kernel may still read. */
function apart(program, given) {
  const places = sizesOf(program).map((size, at) => ({ ...part(given[at]), size }));
  places.forEach((place, at) => {
    const other = at < program.parameters.length ? undefined : places.slice(0, at).find((other) => place.buffer && other.buffer === place.buffer && overlap(place, other));
    if (other) fail(`${called(at, place.buffer)} is a result and overlaps ${called(places.indexOf(other), other.buffer)}; expected a buffer of its own, or a part that does not overlap`);
  });
}
/** Writes bytes to the start of a buffer, in whole words. */
function write(device, buffer, bytes) {
  const padded = new Uint8Array(align(bytes.length));
  padded.set(bytes);
  device.queue.writeBuffer(buffer, 0, padded);
}

/** Runs kernels and programs on one device, and keeps their pipelines. */
export class KernelRunner {
  #pipelines = new Map();
  #layouts = new Map();
  #scratch = new WeakMap();
  #capacity;

  constructor(device, { cacheCapacity = 256, ...others } = {}) {
    if (!isFunction(device?.createShaderModule)) fail(`new KernelRunner: expected a GPUDevice, ${got(device)}${isFunction(device?.requestDevice) ? "; give what its requestDevice() promises" : ""}`);
    for (const name of Object.keys(others)) fail(`new KernelRunner: no option ${name}; expected cacheCapacity`);
    this.device = device;
    this.#capacity = cacheCapacity;
  }

  /** The descriptor of a kernel's pipeline, under the parts that determine it. */
  #key({ wgsl, entryPoint, bindings }) {
    const text = wgsl.replace(/^\s*\/\/.*\n?/gm, "");
    return entryPoint + bindings.map(({ writable }) => Number(writable)).join("") + text;
  }

  #descriptor(kernel) {
    const { device } = this;
    const pattern = kernel.bindings.map(({ writable }) => (writable ? "w" : "r")).join("");
    let layout = this.#layouts.get(pattern);
    if (!layout) {
      const entries = kernel.bindings.map(({ binding, writable }) => ({ binding, visibility: 4, buffer: { type: writable ? "storage" : "read-only-storage" } }));
      layout = device.createBindGroupLayout({ entries });
      this.#layouts.set(pattern, layout);
    }
    const label = /^\/\/ (.*)/.exec(kernel.wgsl)?.[1] ?? "stridec";
    const module = device.createShaderModule({ label, code: kernel.wgsl });
    return { label, layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }), compute: { module, entryPoint: kernel.entryPoint } };
  }

  #keep(key, pipeline) {
    this.#pipelines.delete(key);
    this.#pipelines.set(key, pipeline);
    if (this.#pipelines.size > this.#capacity) this.#pipelines.delete(this.#pipelines.keys().next().value);
    return pipeline;
  }

  /** Compiles the pipelines of a kernel or a program asynchronously, so that `encode` does not wait. */
  async prepare(code) {
    check(code);
    await Promise.all(kernelsOf(code).filter(({ dispatches }) => dispatches.length).map(async (kernel) => {
      const key = this.#key(kernel);
      this.#keep(key, this.#pipelines.get(key) ?? await this.device.createComputePipelineAsync(this.#descriptor(kernel)));
    }));
    return code;
  }

  /** Checks what WebGPU would, and returns the parts of the buffers to bind. */
  #bound(kernel, given) {
    const { bindings } = kernel;
    if (given.length !== bindings.length) fail(`expected ${count(bindings.length, "buffer")}, ${bindings.length - 1} to read and then the destination, got ${given.length}`);
    const alignment = this.device.limits.minStorageBufferOffsetAlignment;
    const parts = given.map((resource, at) => {
      const { buffer, offset, size } = part(resource);
      const { sizeInBytes: needed } = bindings[at];
      const name = called(at, buffer);
      if (typeof buffer?.usage !== "number") fail(`${name}: expected a GPUBuffer or { buffer, offset, size }, ${got(buffer)}${ArrayBuffer.isView(resource) ? "; `run` takes typed arrays" : ""}`);
      if (!(buffer.usage & STORAGE)) fail(`${name}: expected the usage STORAGE, got ${USAGES.filter((_, bit) => buffer.usage >> bit & 1).join(" | ")}; create it with GPUBufferUsage.STORAGE`);
      if (!Number.isInteger(offset) || offset < 0) fail(`${name}: expected an offset that is an integer of at least 0, got ${offset}`);
      if (offset % alignment) fail(`${name}: expected an offset that is a multiple of ${alignment}, got ${offset}`);
      const room = Math.min(size ?? Infinity, buffer.size - offset);
      if (!(room >= needed)) fail(`${name}: expected at least ${needed} bytes from offset ${offset}, got ${room}`);
      return { buffer, offset, size: needed };
    });
    const last = parts.at(-1);
    parts.slice(0, -1).forEach(({ buffer, offset, size }, at) => {
      if (buffer !== last?.buffer) return;
      if (!bindings[at].writable) fail(`${called(at, buffer)} is the destination's buffer too; WebGPU does not allow a buffer to be read and written in one dispatch, so give the destination a buffer of its own`);
      if (overlap({ offset, size }, last)) fail(`${called(at, buffer)} overlaps the destination; expected parts of the buffer that do not overlap`);
    });
    return parts;
  }

  #record(pass, kernel, given) {
    if (!kernel.dispatches.length) return;
    const parts = this.#bound(kernel, given);
    const key = this.#key(kernel);
    const pipeline = this.#keep(key, this.#pipelines.get(key) ?? this.device.createComputePipeline(this.#descriptor(kernel)));
    const layout = this.#layouts.get(kernel.bindings.map(({ writable }) => (writable ? "w" : "r")).join(""));
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.device.createBindGroup({ layout, entries: parts.map((resource, at) => ({ binding: kernel.bindings[at].binding, resource })) }));
    for (const { workgroups } of kernel.dispatches) pass.dispatchWorkgroups(...workgroups);
  }

  /** Makes the buffers of a program that the caller does not have, once for each program. */
  #own(program) {
    let own = this.#scratch.get(program);
    if (!own) {
      const make = (size) => this.device.createBuffer({ label: "stridec", size: align(size), usage: STORAGE | COPY_DST });
      own = {
        SCRATCH: program.scratch.map(({ bindingBytes }) => make(bindingBytes)),
        CONSTANT: program.constants.map(({ bindingBytes }) => make(bindingBytes)),
      };
      program.constants.forEach(({ bytes }, at) => write(this.device, own.CONSTANT[at], bytes));
      this.#scratch.set(program, own);
    }
    return own;
  }

  /** Records a kernel or a program in an open pass, or in a pass of its own in an encoder. */
  encode(encoder, code, ...buffers) {
    const isPass = isFunction(encoder?.dispatchWorkgroups);
    if (!isPass && !isFunction(encoder?.beginComputePass)) fail(`encode: expected a command encoder or an open compute pass, ${got(encoder)}`);
    check(code);
    const record = [];
    if (code.kernels) {
      const { parameters, results } = code;
      const all = parameters.length + results.length;
      if (buffers.length !== all) fail(`expected ${count(all, "buffer")}, ${parameters.length} of parameters and then ${results.length} of results, got ${buffers.length}`);
      const lists = { ...this.#own(code), PARAMETER: buffers, RESULT: buffers.slice(parameters.length) };
      for (const kernel of code.kernels) record.push([kernel, kernel.bindings.map(({ source }) => lists[source.kind][source.number])]);
    } else {
      record.push([code, buffers]);
    }
    // All kernels are checked before the first is recorded.
    for (const [kernel, given] of record) if (kernel.dispatches.length) this.#bound(kernel, given);
    if (code.kernels) apart(code, buffers);
    const pass = isPass ? encoder : encoder.beginComputePass({ label: "stridec" });
    for (const [kernel, given] of record) this.#record(pass, kernel, given);
    if (!isPass) pass.end();
  }

  /** Runs a kernel or a program on typed arrays. Returns the bytes of the result, or of each of a program. */
  async run(code, ...inputs) {
    const { device } = this;
    check(code);
    /** Such a kernel has no bindings, whatever its sources are. */
    const isEmpty = !code.kernels && !code.dispatches.length;
    const keeps = code.gaps === "GAPS_KEEP";
    const written = code.kernels ? code.results.map(({ sizeInBytes }) => sizeInBytes) : [code.destinationBytes];
    /** The size of each buffer to bind; 0 if no kernel reads it. */
    const sizes = code.kernels ? sizesOf(code) : code.bindings.map(({ sizeInBytes }) => sizeInBytes);
    const reads = isEmpty ? Math.max(0, inputs.length - Number(keeps)) : sizes.length - written.length;
    const all = keeps ? reads + 1 : reads;
    if (inputs.length !== all) fail(`expected ${count(all, "input")}${keeps ? ", the last one with what the destination has" : ""}, got ${inputs.length}`);
    const images = inputs.map((input, at) => {
      if (input instanceof ArrayBuffer) return new Uint8Array(input);
      return ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : fail(`input ${at}: expected a typed array or an ArrayBuffer, ${got(input)}`);
    });
    const fits = (name, given, least) => given === least || given === align(least) || fail(`${name}: expected ${count(least, "byte")}, got ${given}`);
    if (code.kernels) images.forEach(({ length }, at) => fits(`input ${at}`, length, code.parameters[at].sizeInBytes));
    else if (reads || isEmpty) fits(reads < 2 ? "input 0" : `inputs 0 to ${reads - 1} together`, images.slice(0, reads).reduce((sum, { length }) => sum + length, 0), code.sourceBytes);
    if (!code.kernels) images.forEach(({ length }, at) => length > sizes[at] && fail(`input ${at}: expected at most ${sizes[at]} bytes, got ${length}`));
    if (keeps) fits(`input ${reads}`, images[reads].length, code.destinationBytes);
    if (isEmpty) {
      const result = new Uint8Array(code.destinationBytes);
      if (keeps) result.set(images[reads].subarray(0, result.length));
      return result;
    }
    const made = [];
    const make = (bytes, usage) => {
      made.push(device.createBuffer({ label: "stridec", size: align(bytes), usage }));
      return made.at(-1);
    };
    try {
      await this.prepare(code);
      const buffers = sizes.map((bytes) => make(bytes, STORAGE | COPY_DST | COPY_SRC));
      images.forEach((bytes, at) => sizes[at] && write(device, buffers[at], bytes));
      const encoder = device.createCommandEncoder();
      this.encode(encoder, code, ...buffers);
      const answers = written.map((bytes, at) => {
        const answer = make(bytes, COPY_DST | MAP_READ);
        encoder.copyBufferToBuffer(buffers[reads + at], 0, answer, 0, align(bytes));
        return answer;
      });
      device.queue.submit([encoder.finish()]);
      const results = await Promise.all(answers.map(async (answer, at) => {
        await answer.mapAsync(1);
        return new Uint8Array(answer.getMappedRange().slice(0, written[at]));
      }));
      return code.kernels ? results : results[0];
    } finally {
      for (const buffer of made) buffer.destroy();
    }
  }
}

/** Runs a kernel or a program once. A `KernelRunner` keeps pipelines for the next run. */
export function run(device, code, ...inputs) {
  return new KernelRunner(device).run(code, ...inputs);
}
