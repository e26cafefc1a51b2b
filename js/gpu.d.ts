import type { Kernel, Program } from "./index.js";
/** The global type of this name if there is one, so that neither lib.dom nor `@webgpu/types` is needed. */
type Global<Name extends string, Else> = typeof globalThis extends { [_ in Name]: { prototype: infer T } } ? T : Else;
export type Device = Global<"GPUDevice", object>;
export type Buffer = Global<"GPUBuffer", object>;
export type Encoder = Global<"GPUCommandEncoder", object> | Global<"GPUComputePassEncoder", object>;
export type Resource = Buffer | { buffer: Buffer; offset?: number; size?: number };
type Input = ArrayBufferView | ArrayBuffer;

/** Runs kernels and programs on one device, and keeps their pipelines. */
export class KernelRunner {
  constructor(device: Device, options?: { /** The number of pipelines that are kept; 256 by default. */ cacheCapacity?: number });
  readonly device: Device;
  /** Compiles the pipelines asynchronously, so that `encode` does not wait. */
  prepare<K extends Kernel | Program>(code: K): Promise<K>;
  /** Records the dispatches in your pass, or in a pass of its own in your encoder. Submits nothing, waits for nothing. The buffers are the sources and the destination, or the parameters and the results of a program. */
  encode(encoder: Encoder, code: Kernel | Program, ...buffers: Resource[]): void;
  /** Runs a kernel on the bytes of typed arrays, and returns the bytes of the result. If gaps are kept, the last input is what the destination has. */
  run(kernel: Kernel, ...inputs: Input[]): Promise<Uint8Array>;
  run(program: Program, ...inputs: Input[]): Promise<Uint8Array[]>;
}
/** Runs a kernel or a program once. */
export function run(device: Device, kernel: Kernel, ...inputs: Input[]): Promise<Uint8Array>;
export function run(device: Device, program: Program, ...inputs: Input[]): Promise<Uint8Array[]>;
