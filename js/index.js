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

const invalid = (field, expected, given, way = "") => new StridecError("INVALID", field, `${field}: expected ${expected}, got ${show(given)}${way}`);

function show(given) {
  if (typeof given === "bigint") return `${given}n`;
  // Objects of the platform, such as devices and promises, have no JSON that says what they are.
  const name = given?.constructor?.name;
  if (given && typeof given === "object" && name && name !== "Object" && !Array.isArray(given)) return ArrayBuffer.isView(given) ? `${name} of ${given.byteLength} bytes` : name;
  const text = typeof given === "string" || (given && typeof given === "object") ? JSON.stringify(given) : String(given);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** A way out with the name that is meant: one of the same letters, or of the same first three. */
function didYouMean(given, names) {
  const letters = (name) => [...name.toLowerCase()].sort().join("");
  const start = given.toLowerCase().slice(0, 3);
  const meant = names.find((name) => letters(name) === letters(given)) ?? names.find((name) => start.length === 3 && name.toLowerCase().startsWith(start));
  return meant ? `; did you mean ${meant}?` : "";
}

/** Refuses fields of an object that have no meaning here. */
function known(field, object, names) {
  for (const name of Object.keys(object)) {
    if (names.includes(name) || object[name] === undefined) continue;
    throw new StridecError("INVALID", `${field}.${name}`, `${field}.${name}: no such field here; expected ${names.join(", ")}${didYouMean(name, names)}`);
  }
}

/** Loads the compiler. Without an argument, it is the file `stridec.wasm` beside this script. */
export async function init(source = new URL("./stridec.wasm", import.meta.url)) {
  let given = await source;
  if (typeof given === "string" || given instanceof URL) given = await loaded(given);
  // Node loads its client of HTTP, which takes 25 ms, when somebody names `Response`.
  const isLoaded = isBytes(given) || given instanceof WebAssembly.Module;
  try {
    if (!isLoaded && typeof Response === "function" && given instanceof Response) given = await compiled(given);
    if (!(given instanceof WebAssembly.Module)) given = await WebAssembly.compile(bytesOfModule(given));
    use(given, await WebAssembly.instantiate(given));
  } catch (error) {
    throw noModule(error);
  }
}

const MODULE = "stridec.wasm: its address, a Response, its bytes or a WebAssembly.Module";

/** Returns the bytes or the response at an address. */
async function loaded(address) {
  const url = new URL(address, import.meta.url);
  try {
    if (url.protocol !== "file:" || !globalThis.process?.versions?.node) return await fetch(url);
    const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ "node:fs/promises");
    return await readFile(url);
  } catch (error) {
    throw new StridecError("FAILED", "source", `source: expected ${MODULE}, got an address that cannot be read: ${url}: ${error.message}`);
  }
}

function bytesOfModule(given) {
  if (!isBytes(given)) throw invalid("source", MODULE, given);
  return given;
}

/** Returns the error for a module that does not compile, unless it is one already. */
const noModule = (error) => (error instanceof StridecError ? error : new StridecError("FAILED", "source", `source: expected ${MODULE}, got something else: ${error.message}`));

/** Answers questions with this instance of a module from now on. */
function use(given, instance) {
  if (!instance.exports.show) throw new StridecError("INVALID", "source", `source: expected ${MODULE}, got another module`);
  exports = instance.exports;
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
  try {
    const given = bytes instanceof WebAssembly.Module ? bytes : new WebAssembly.Module(bytesOfModule(bytes));
    use(given, new WebAssembly.Instance(given));
  } catch (error) {
    throw noModule(error);
  }
}

/** The caller's names of the fields of all questions that compile. */
const OPTIONS = { target: "options.target", table: "options.table" };
const SLICE = { ...OPTIONS, to: "options.to", offsets: "window.offsets", sizes: "window.sizes", strides: "window.strides" };

/** The compiler's own names at the start of its messages, and the fields of its answers. */
const OWN_NAMES = /^(source|destination|window_offsets|window_sizes|window_strides|table|target|preset)(?=[.:[])(: )?/;

/** The message of an error in a field, which names the field as the caller knows it. */
function about(field, message) {
  if (!field) return message;
  // Limits have the names of `GPUSupportedLimits` here.
  const said = message.replace(/^target\.\w+/, (path) => path.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())).replace(/^table_/, "table.");
  const own = OWN_NAMES.exec(said);
  const rest = own ? said.slice(own[0].length) : said;
  return `${field}${own && !own[2] ? "" : ": "}${rest}`;
}

/** The way out of an error about a question, or nothing. */
function wayOut({ target, maxStorageBufferBindingSize: given }, field, message) {
  const [, names, said] = /expected one of (.*), got "(.*)"$/.exec(message) ?? [];
  const device = field === "options.target" && target && names ? "; or give a device's limits: device.limits" : "";
  if (names) return device + didYouMean(said, names.split(", "));
  const isLimit = given === undefined && /which is what target .* binds/.test(message);
  return isLimit ? "; if the device binds more, give the option { target: device.limits }" : "";
}

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
    const name = names[field] ?? field;
    throw new StridecError(code, name, about(name, message) + wayOut(question, name, message), place);
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
  if (typeof layout === "string") {
    const [, first, second] = (/\bto$/.test(field) && /^\s*(\w+)\s*->\s*(\w+)\s*$/.exec(layout)) || [];
    if (second) throw invalid(field, "a layout or an order", layout, `; did you mean "${second} over ${first}"?`);
    return layout;
  }
  if (!layout || typeof layout !== "object") throw invalid(field, "a notation or an object with type and dimensions", layout);
  if (typeof layout.type !== "string" || !/^\w+$/.test(layout.type)) throw invalid(`${field}.type`, "an element type such as \"f32\"", layout.type, "; a layout is a text such as \"f32[2,3]\", or an object with type and dimensions");
  const dimensions = integers(`${field}.dimensions`, layout.dimensions);
  const start = `${layout.type}[${dimensions}]`;
  known(field, layout, layout.strides ? ["type", "dimensions", "strides", "offset"] : ["type", "dimensions", "minorToMajor", "tiles", "elementSizeInBits"]);
  if (layout.strides) {
    const strides = integers(`${field}.strides`, layout.strides, -Infinity);
    return `${start} strided<[${strides}]${layout.offset === undefined ? "" : `, offset: ${integer(`${field}.offset`, layout.offset)}`}>`;
  }
  const order = layout.minorToMajor ? integers(`${field}.minorToMajor`, layout.minorToMajor) : [...dimensions.keys()].reverse();
  const tiles = (layout.tiles ?? []).map((tile, at) => `(${integers(`${field}.tiles[${at}]`, tile)})`).join("");
  const bits = layout.elementSizeInBits ? `E(${integer(`${field}.elementSizeInBits`, layout.elementSizeInBits)})` : "";
  return `${start}{${order}${tiles || bits ? ":" : ""}${tiles ? `T${tiles}` : ""}${bits}}`;
}

/** The options of a relayout. */
const COMPILE = ["target", "gaps", "table"];

/** Returns the parts of a question that all kinds of compilation have. `names` are the options. */
function compilation(options = {}, names) {
  if (!options || typeof options !== "object") throw invalid("options", "an object", options);
  known("options", options, names);
  const { target, gaps } = options;
  const question = {};
  if (typeof target === "string") {
    question.target = target;
  } else if (target !== undefined) {
    const way = target?.limits ? "; did you mean its limits, such as device.limits?" : "";
    if (!target || typeof target !== "object" || way) throw invalid("options.target", "a preset's name or the limits of a device", target, way);
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

/** Compiles a relayout or a slice, whose options have the names `allowed`. */
function operation(question, options, allowed, names) {
  const asked = { ...question, ...compilation(options, allowed) };
  const table = options?.table;
  if (table === undefined) return ask(asked, "", names).kernel;
  if (!table || typeof table !== "object") throw invalid("options.table", "an object with entries", table);
  known("options.table", table, ["entries", "dimension"]);
  const dimension = table.dimension === undefined ? -1 : Number(integer("options.table.dimension", table.dimension));
  return ask({ ...asked, table: dimension }, bytesOf("options.table.entries", table.entries), names).kernel;
}

/** Compiles a copy from one layout to another. Two element types convert the values. */
export function relayout(from, to, options) {
  return operation({ kind: "relayout", from: notation("from", from), to: notation("to", to) }, options, COMPILE);
}

/** Compiles a copy of a window of the source. */
export function slice(from, window, options) {
  if (!window || typeof window !== "object") throw invalid("window", "an object with offsets and sizes", window);
  known("window", window, ["offsets", "sizes", "strides"]);
  const sizes = integers("window.sizes", window.sizes);
  const question = {
    kind: "slice",
    from: notation("from", from),
    to: options?.to === undefined ? "" : notation("options.to", options.to),
    offsets: integers("window.offsets", window.offsets).join(),
    sizes: sizes.join(),
    strides: (window.strides ? integers("window.strides", window.strides, -Infinity) : sizes.map(() => 1)).join(),
  };
  return operation(question, options, [...COMPILE, "to"], SLICE);
}

/** Compiles a module that moves data: HLO text, StableHLO text or a serialized HLO module. */
export function program(module, options) {
  return ask({ kind: "program", ...compilation(options, ["target"]) }, module).program;
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
