/** The global type of this name if there is one, so that neither lib.dom nor `@webgpu/types` is needed. */
type Global<Name extends string, Else> = typeof globalThis extends { [_ in Name]: { prototype: infer T } } ? T : Else;

/** A name of an element type, such as `f32`, `bf16`, `u8`, `s4` or `f8e4m3fn`. */
export type ElementType = "pred" | "s2" | "s4" | "s8" | "s16" | "s32" | "s64" | "u2" | "u4" | "u8" | "u16" | "u32" | "u64" | "bf16" | "f16" | "f32" | "f64" | "c64" | "c128" | "f8e4m3fn" | "f8e5m2" | "f4e2m1fn" | (string & {});
/** XLA's notation `f32[2,3]{0,1}`, in which braces list the dimensions from the fastest in memory to the slowest, strides `f32[2,3] strided<[5,1]>`, or that of another system: `torch:…`, `numpy:…`, `cute:…`, `memref<…>`. */
export type Notation = string;
export interface XlaLayout {
  type: ElementType;
  dimensions: readonly number[];
  /** The dimensions from the one whose elements are closest in memory; by default the last one first. */
  minorToMajor?: readonly number[];
  tiles?: readonly (readonly number[])[];
  elementSizeInBits?: number;
  strides?: undefined;
}
export interface StridedLayout {
  type: ElementType;
  dimensions: readonly number[];
  /** The distance in elements between neighbours, one for each dimension. */
  strides: readonly number[];
  offset?: number;
}
export type Layout = Notation | XlaLayout | StridedLayout;
/**
 * An order of the dimensions, which are those of the source.
 *
 * Braces list the dimensions by number, from the fastest in memory to the slowest: `{0,1}`, `{1,0,2}`.
 *
 * Letters list them from the slowest to the fastest: `NHWC`, `NWC`, `NDHWC`. The source's dimensions
 * count as N, C, D, H, W in that order, without those that the letters leave out, however they lie in
 * memory: `CHW` of `f32[37,53,4]` takes 37 for C, and so changes nothing. If the source's dimensions
 * mean something else, say so: `CHW over HWC`, or `{1,0,2}`. The letters Z, Y, X are known too.
 */
export type Order = "NCHW" | "NHWC" | (string & {});

export interface Binding {
  readonly group: number;
  readonly binding: number;
  readonly writable: boolean;
  /** The least number of bytes to bind, a multiple of 4: create the buffer with this size. */
  readonly sizeInBytes: number;
  /** In a program, the buffer to bind. */
  readonly source?: { readonly kind: "PARAMETER" | "CONSTANT" | "SCRATCH" | "RESULT"; readonly number: number };
}
export interface Dispatch {
  readonly workgroups: readonly [x: number, y: number, z: number];
}
export interface CopyRegion {
  readonly sourceOffset: number;
  readonly destinationOffset: number;
  readonly size: number;
  readonly source: number;
}
/** Plain data, as `stridec compile --emit json` prints it. `JSON.stringify` and `structuredClone` keep all of it. */
export interface Kernel {
  readonly wgsl: string;
  readonly entryPoint: string;
  readonly workgroupSize: readonly [x: number, y: number, z: number];
  /** The sources, and then the destination. */
  readonly bindings: readonly Binding[];
  readonly dispatches: readonly Dispatch[];
  /** The whole operation as buffer copies, if that is possible. */
  readonly copyRegions: readonly CopyRegion[];
  /** The bytes of the sources together. They may be no multiple of 4: size a buffer by its binding's `sizeInBytes`. */
  readonly sourceBytes: number;
  /** The bytes of the result. They may be no multiple of 4: size a buffer by `bindings.at(-1).sizeInBytes`. */
  readonly destinationBytes: number;
  /** How it moves the elements: `copy` if the bytes stay as they are. */
  readonly strategy: "copy" | "rows" | "transpose" | "gather" | "empty";
  readonly gaps: "GAPS_FILL" | "GAPS_KEEP";
  /** What the kernel is proved to access; missing if it has no dispatches. */
  readonly proof?: Proof;
}
/** The proven bounds of a kernel's accesses, in words of 4 bytes. A last word is missing if nothing is read. */
export interface Proof {
  /** The last word of the destination's binding that is written. */
  readonly lastDestinationWord: number;
  /** The last word of the first source's binding that is read. */
  readonly lastSourceWord?: number;
  /** The number of words of the first source's binding. */
  readonly sourceWords: number;
  readonly destinationWords: number;
  /** The number of invocations that have work. */
  readonly invocations: number;
  /** The maximum number of loop iterations of an invocation. */
  readonly trips: number;
  /** The sources after the first one, in the order of their bindings. */
  readonly furtherSources: readonly { readonly words: number; readonly lastWord?: number }[];
}
export interface Image {
  readonly shape: string;
  /** The size of the array in memory. */
  readonly sizeInBytes: number;
  /** The least size of its buffer, as the kernels bind it: a multiple of 4, or 0 if no kernel reads it. */
  readonly bindingBytes: number;
}
/** Kernels to run in this order, and the buffers that they share. Plain data. */
export interface Program {
  readonly name: string;
  readonly kernels: readonly Kernel[];
  readonly parameters: readonly Image[];
  readonly results: readonly Image[];
  readonly scratch: readonly { readonly bindingBytes: number }[];
  readonly constants: readonly { readonly bytes: readonly number[]; readonly bindingBytes: number }[];
}

/** The limits that matter, with the names of `GPUSupportedLimits`. */
export interface Limits {
  readonly maxStorageBufferBindingSize?: number;
  readonly maxComputeWorkgroupsPerDimension?: number;
  readonly maxComputeInvocationsPerWorkgroup?: number;
  readonly maxStorageBuffersPerShaderStage?: number;
}
export interface ProgramOptions {
  /** A preset, or the limits of a device: `device.limits`. */
  target?: "webgpu" | "webgpu-cpu" | "lavapipe" | "swiftshader" | Limits;
}
export interface CompileOptions extends ProgramOptions {
  /** Places of the destination without an element are filled, or keep what they have. */
  gaps?: "fill" | "keep";
  /** The elements that the values of the source become; the kernel reads them as its second source. */
  table?: { entries: ArrayBufferView | ArrayBuffer; /** The dimension whose indices have tables of their own. */ dimension?: number };
}
export interface Window {
  offsets: readonly number[];
  sizes: readonly number[];
  /** A negative one walks back from the window's end. 1 by default. */
  strides?: readonly number[];
}
/** What `stridec describe --format json` prints. */
export interface Description {
  readonly shape: string;
  readonly element_type: ElementType;
  readonly dimensions: readonly number[];
  readonly minor_to_major: readonly number[] | null;
  readonly element_bits: number;
  readonly axes: readonly { readonly coordinate: string; readonly extent: number; readonly stride: number }[];
  readonly strides: readonly (number | null)[];
  readonly offset: number;
  readonly elements: number;
  readonly physical_dimensions: readonly number[];
  readonly physical_elements: number;
  readonly physical_bytes: number;
  readonly packed: boolean;
  readonly [more: string]: unknown;
}
/** What `stridec memory --format json` prints. */
export interface Memory {
  readonly instructions: readonly { readonly computation: string; readonly name: string; readonly opcode: string; readonly shape: string; readonly elements: number | null; readonly unpadded_bytes: number | null; readonly bytes: number | null; readonly padding_bytes: number | null; readonly expansion: number | null; readonly has_buffer: boolean; readonly cheapest?: { readonly shape: string; readonly bytes: number } }[];
  readonly total_bytes: number;
  readonly total_padding_bytes: number;
  readonly parameters_bytes: number;
  readonly results_bytes: number;
  readonly temporaries_bytes: number;
}

/** Where the module `stridec.wasm` is: an address, a response, the bytes, or a `WebAssembly.Module`. */
export type InitInput = string | { readonly href: string } | ArrayBufferView | ArrayBuffer | Global<"Response", never> | Promise<Global<"Response", never>> | object;
/** Loads the compiler. By default it is `stridec.wasm` beside the script. */
export function init(source?: InitInput): Promise<void>;
/** Loads the compiler from its bytes or a `WebAssembly.Module`. Browsers allow this outside the main thread only. */
export function initSync(bytes: ArrayBufferView | ArrayBuffer | object): void;
/**
 * Compiles a copy from one layout to another. Both list the same dimensions in one order. Two element
 * types convert the values: a float becomes the nearest one, of two the even one. No kernel needs `shader-f16`.
 */
export function relayout(from: Layout, to: Layout | Order, options?: CompileOptions): Kernel;
/** Compiles a copy of a window of the source. */
export function slice(from: Layout, window: Window, options?: CompileOptions & { to?: Layout | Order }): Kernel;
/** Compiles a module that moves data: HLO text, StableHLO text, or a serialized HLO module. */
export function program(module: string | ArrayBufferView | ArrayBuffer, options?: ProgramOptions): Program;
/** Describes a layout in memory, and in the terms of other systems. */
export function describe(layout: Layout): Description;
/** Returns the offset of an element in memory, in elements. An offset above 2^53 is refused as `UNSUPPORTED`. */
export function offset(layout: Layout, index: readonly number[]): number;
/**
 * Writes a layout as another system does: `xla`, `torch`, `numpy`, `cute`, `memref`, … The result is a
 * notation to give back if the name stands before it: `torch:${convert(layout, "torch")}`.
 */
export function convert(layout: Layout, as: string): string;
/** Measures the buffers of a module, of XLA's out-of-memory report, or of a shape. */
export function memory(module: string | ArrayBufferView | ArrayBuffer): Memory;
/**
 * An error in an argument. The code is `UNSUPPORTED` if the argument is valid but not supported, or is beyond a limit: a
 * target's, or 2^53, above which JavaScript rounds the numbers of an answer.
 */
export class StridecError extends Error {
  readonly code: "INVALID" | "UNSUPPORTED" | "FAILED";
  /** The argument that is wrong, with which the message begins: `from`, `to`, `window.offsets`, `options.target`, … Empty if it is no single one. */
  readonly field: string;
  /** The place in its text, in UTF-16 units. */
  readonly place: readonly [start: number, end: number] | null;
}
