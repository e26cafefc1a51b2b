// The compiler: layouts in, kernels out. `gpu.js` runs kernels, and does not need this file.

const LIMITS = ["maxStorageBufferBindingSize", "maxComputeWorkgroupsPerDimension", "maxComputeInvocationsPerWorkgroup", "maxStorageBuffersPerShaderStage"];

let module;
let exports;

/** An error in an argument. */
export class StridecError extends Error {
  constructor(code, field, message, place = null) {
    super(message);
    this.name = "StridecError";
    this.code = code;
    this.field = field;
    this.place = place;
  }
}

const invalid = (field, expected, given) => new StridecError("INVALID", field, `${field}: expected ${expected}, got ${show(given)}`);

function show(given) {
  if (typeof given === "bigint") return `${given}n`;
  const text = typeof given === "string" || (given && typeof given === "object") ? JSON.stringify(given) : String(given);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** Loads the compiler. Without an argument, it is the file `stridec.wasm` beside this script. */
export async function init(source = new URL("./stridec.wasm", import.meta.url)) {
  let given = await source;
  if (typeof given === "string" || given instanceof URL) {
    const url = new URL(given, import.meta.url);
    if (url.protocol === "file:" && globalThis.process?.versions?.node) {
      const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ "node:fs/promises");
      given = await readFile(url);
    } else {
      given = await fetch(url);
    }
  }
  // Node loads its client of HTTP, which takes 25 ms, when somebody names `Response`.
  const isLoaded = isBytes(given) || given instanceof WebAssembly.Module;
  if (!isLoaded && typeof Response === "function" && given instanceof Response) given = await compiled(given);
  if (!(given instanceof WebAssembly.Module)) given = await WebAssembly.compile(given);
  exports = (await WebAssembly.instantiate(given)).exports;
  module = given;
}

/** Returns the module of a response if it can be compiled while it arrives, and its bytes otherwise. */
function compiled(response) {
  if (!response.ok) throw new StridecError("FAILED", "source", `source: expected the module, got status ${response.status} of ${response.url}; give init the bytes or the address of stridec.wasm`);
  const type = response.headers.get("content-type")?.split(";")[0].trim().toLowerCase();
  // Streaming refuses other types, which some servers send.
  return WebAssembly.compileStreaming && type === "application/wasm" ? WebAssembly.compileStreaming(response) : response.arrayBuffer();
}

/** Loads the compiler from its bytes. Browsers allow this outside the main thread only. */
export function initSync(bytes) {
  module = bytes instanceof WebAssembly.Module ? bytes : new WebAssembly.Module(bytes);
  exports = new WebAssembly.Instance(module).exports;
}

/** The caller's names of the fields of all questions that compile. */
const OPTIONS = { target: "options.target", table: "options.table" };
const SLICE = { ...OPTIONS, to: "options.to", offsets: "window.offsets", sizes: "window.sizes", strides: "window.strides" };

/** Asks the compiler. `names` are the caller's names of the fields. */
function ask(question, bytes = "", names = OPTIONS) {
  if (!exports) throw new StridecError("FAILED", "", "the compiler is not loaded; expected `await init()` before the first call");
  const encoder = new TextEncoder();
  const line = encoder.encode(`${JSON.stringify(question)}\n`);
  const rest = typeof bytes === "string" ? encoder.encode(bytes) : bytesOf("module", bytes);
  let answer;
  try {
    const at = exports.input(line.length + rest.length);
    const room = new Uint8Array(exports.memory.buffer, at, line.length + rest.length);
    room.set(line);
    room.set(rest, line.length);
    const length = exports.show();
    answer = JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.output(), length)));
  } catch (error) {
    // A panic ends the instance, so another takes its place.
    exports = new WebAssembly.Instance(module).exports;
    throw new StridecError("FAILED", "", `a defect of stridec: ${error.message}`);
  }
  if (answer.error) {
    const { code, field, message, place } = answer.error;
    throw new StridecError(code, names[field] ?? field, message, place);
  }
  return answer;
}

const isBytes = (given) => given instanceof ArrayBuffer || ArrayBuffer.isView(given);

function bytesOf(field, given) {
  if (given instanceof ArrayBuffer) return new Uint8Array(given);
  if (ArrayBuffer.isView(given)) return new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
  throw invalid(field, "a typed array or an ArrayBuffer", given);
}

function integers(field, given, least = 0) {
  if (!Array.isArray(given) && !ArrayBuffer.isView(given)) throw invalid(field, "an array of integers", given);
  return Array.from(given, (number, at) => {
    if (!Number.isSafeInteger(number) || number < least) throw invalid(`${field}[${at}]`, least === 0 ? "an integer of at least 0" : "an integer", number);
    return number;
  });
}

function integer(field, given) {
  return integers(field, [given]).map(String)[0];
}

/** Returns the notation of a layout. */
function notation(field, layout) {
  if (typeof layout === "string") return layout;
  if (!layout || typeof layout !== "object") throw invalid(field, "a notation or an object with type and dimensions", layout);
  if (typeof layout.type !== "string" || !/^\w+$/.test(layout.type)) throw invalid(`${field}.type`, "an element type such as \"f32\"", layout.type);
  const dimensions = integers(`${field}.dimensions`, layout.dimensions);
  const start = `${layout.type}[${dimensions}]`;
  const known = layout.strides ? ["type", "dimensions", "strides", "offset"] : ["type", "dimensions", "minorToMajor", "tiles", "elementSizeInBits"];
  for (const key of Object.keys(layout)) {
    if (!known.includes(key) && layout[key] !== undefined) throw new StridecError("INVALID", `${field}.${key}`, `${field}.${key}: no such field here; expected ${known.join(", ")}`);
  }
  if (layout.strides) {
    const strides = integers(`${field}.strides`, layout.strides, -Infinity);
    return `${start} strided<[${strides}]${layout.offset === undefined ? "" : `, offset: ${integer(`${field}.offset`, layout.offset)}`}>`;
  }
  const order = layout.minorToMajor ? integers(`${field}.minorToMajor`, layout.minorToMajor) : [...dimensions.keys()].reverse();
  const tiles = (layout.tiles ?? []).map((tile, at) => `(${integers(`${field}.tiles[${at}]`, tile)})`).join("");
  const bits = layout.elementSizeInBits ? `E(${integer(`${field}.elementSizeInBits`, layout.elementSizeInBits)})` : "";
  return `${start}{${order}${tiles || bits ? ":" : ""}${tiles ? `T${tiles}` : ""}${bits}}`;
}

/** Returns the parts of a question that all kinds of compilation have. */
function compilation(options = {}) {
  if (!options || typeof options !== "object") throw invalid("options", "an object", options);
  const { target, gaps } = options;
  const question = {};
  if (typeof target === "string") {
    question.target = target;
  } else if (target !== undefined) {
    if (!target || typeof target !== "object") throw invalid("options.target", "a preset's name or the limits of a device", target);
    for (const name of LIMITS) {
      if (target[name] === undefined) continue;
      question[name] = Number(integer(`options.target.${name}`, target[name]));
    }
    if (!Object.keys(question).length) throw invalid("options.target", `one of the limits ${LIMITS.join(", ")}`, target);
  }
  if (gaps !== undefined && gaps !== "keep" && gaps !== "fill") throw invalid("options.gaps", "\"fill\" or \"keep\"", gaps);
  if (gaps === "keep") question.gaps = gaps;
  return question;
}

/** Compiles a relayout or a slice. */
function operation(question, options, names) {
  const table = options?.table;
  if (table !== undefined && (!table || typeof table !== "object")) throw invalid("options.table", "an object with entries", table);
  if (table === undefined) return ask({ ...question, ...compilation(options) }, "", names).kernel;
  const dimension = table.dimension === undefined ? -1 : Number(integer("options.table.dimension", table.dimension));
  return ask({ ...question, ...compilation(options), table: dimension }, bytesOf("options.table.entries", table.entries), names).kernel;
}

/** Compiles a copy from one layout to another. Two element types convert the values. */
export function relayout(from, to, options) {
  return operation({ kind: "relayout", from: notation("from", from), to: notation("to", to) }, options);
}

/** Compiles a copy of a window of the source. */
export function slice(from, window, options) {
  if (!window || typeof window !== "object") throw invalid("window", "an object with offsets and sizes", window);
  const sizes = integers("window.sizes", window.sizes);
  const question = {
    kind: "slice",
    from: notation("from", from),
    to: options?.to === undefined ? "" : notation("options.to", options.to),
    offsets: integers("window.offsets", window.offsets).join(),
    sizes: sizes.join(),
    strides: (window.strides ? integers("window.strides", window.strides, -Infinity) : sizes.map(() => 1)).join(),
  };
  return operation(question, options, SLICE);
}

/** Compiles a module that moves data: HLO text, StableHLO text or a serialized HLO module. */
export function program(module, options) {
  return ask({ kind: "program", ...compilation(options) }, module).program;
}

/** Describes a layout, like `stridec describe --format json`. */
export function describe(layout) {
  return ask({ kind: "describe", from: notation("layout", layout) }, "", { from: "layout" });
}

/** Returns the offset of an element in memory, in elements. */
export function offset(layout, index) {
  return ask({ kind: "offset", from: notation("layout", layout), index: integers("index", index).join() }, "", { from: "layout" }).offset;
}

/** Writes a layout in another notation. */
export function convert(layout, as) {
  return ask({ kind: "convert", from: notation("layout", layout), to: as }, "", { from: "layout" }).text;
}

/** Measures the buffers of a module, of XLA's out-of-memory report, or of a shape. */
export function memory(given) {
  return ask({ kind: "memory" }, given);
}
