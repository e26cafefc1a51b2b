/** The global type of this name if there is one, so that neither lib.dom nor `@webgpu/types` is needed. */
type Global<Name extends string, Else> = typeof globalThis extends { [_ in Name]: { prototype: infer T } } ? T : Else;
export type Device = Global<"GPUDevice", object>;
export type Buffer = Global<"GPUBuffer", object>;
export type Encoder = Global<"GPUCommandEncoder", object> | Global<"GPUComputePassEncoder", object>;
/** A buffer, or a part of one. An offset is a multiple of the device's `minStorageBufferOffsetAlignment`, at most 256. */
export type Resource = Buffer | { buffer: Buffer; offset?: number; size?: number };
type Input = ArrayBufferView | ArrayBuffer;

/** The parts of a `Kernel` that run it. An imported JSON file has this type too. */
export interface KernelData {
  readonly wgsl: string;
  readonly entryPoint: string;
  readonly bindings: readonly {
    readonly binding: number;
    readonly writable: boolean;
    readonly sizeInBytes: number;
    readonly source?: { readonly kind: string; readonly number: number };
  }[];
  readonly dispatches: readonly { readonly workgroups: readonly number[] }[];
  readonly sourceBytes: number;
  readonly destinationBytes: number;
  readonly gaps: string;
}
interface Image {
  readonly sizeInBytes: number;
  readonly bindingBytes: number;
}
/** The parts of a `Program` that run it. */
export interface ProgramData {
  readonly kernels: readonly KernelData[];
  readonly parameters: readonly Image[];
  readonly results: readonly Image[];
  readonly scratch: readonly { readonly bindingBytes: number }[];
  readonly constants: readonly { readonly bytes: readonly number[]; readonly bindingBytes: number }[];
}

/** Runs kernels and programs on one device, and keeps their pipelines. */
export class KernelRunner {
  constructor(device: Device, options?: { /** The number of pipelines that are kept; 256 by default. */ cacheCapacity?: number });
  readonly device: Device;
  /** Compiles the pipelines asynchronously, so that `encode` does not wait. */
  prepare<K extends KernelData | ProgramData>(code: K): Promise<K>;
  /**
   * Records the dispatches in your pass, or in a pass of its own in your encoder. Submits nothing, waits for nothing. The
   * buffers are the sources and the destination, or the parameters and the results of a program. In your pass, it sets the
   * pipeline and bind group 0, so set yours again afterwards.
   */
  encode(encoder: Encoder, code: KernelData | ProgramData, ...buffers: Resource[]): void;
  /** Runs a kernel on the bytes of typed arrays, and returns the bytes of the result. If gaps are kept, the last input is what the destination has. */
  run(kernel: KernelData, ...inputs: Input[]): Promise<Uint8Array>;
  run(program: ProgramData, ...inputs: Input[]): Promise<Uint8Array[]>;
}
/** Runs a kernel or a program once. */
export function run(device: Device, kernel: KernelData, ...inputs: Input[]): Promise<Uint8Array>;
export function run(device: Device, program: ProgramData, ...inputs: Input[]): Promise<Uint8Array[]>;
