// A sample of the types, compiled under each set-up of TypeScript.
import { StridecError, convert, describe, init, initSync, memory, offset, program, relayout, slice, type Kernel, type Layout } from "stridec";
import imported from "./kernel.json" with { type: "json" };
import importedProgram from "./program.json" with { type: "json" };
import { KernelRunner, run, type Device, type Encoder, type Resource } from "stridec/gpu";

export async function sample(device: Device, encoder: Encoder, source: Resource, result: Resource, bytes: Uint8Array): Promise<Uint8Array> {
  await init();
  await init("stridec.wasm");
  await init(bytes);
  initSync(bytes);
  const tiled: Layout = { type: "bf16", dimensions: [16, 256], tiles: [[8, 128], [2, 1]] };
  const strided: Layout = { type: "f32", dimensions: [2, 3], strides: [5, 1] };
  const kernel: Kernel = relayout("f32[8,64,112,112]", "NHWC", { target: { maxStorageBufferBindingSize: 1 } });
  const cut = slice(strided, { offsets: [0, 0], sizes: [1, 2] }, { to: "f32[1,2]", gaps: "keep" });
  const bindings: number = kernel.bindings[0]!.sizeInBytes + offset(tiled, [0, 0]) + describe(tiled).physical_bytes + memory("f32[2]").total_bytes;
  const proved: number | undefined = kernel.proof?.lastSourceWord ?? kernel.proof?.furtherSources[0]?.lastWord;
  const sizes: number[] = program("ENTRY").parameters.map(({ sizeInBytes, bindingBytes }) => sizeInBytes + bindingBytes + (proved ?? 0));
  const runner = new KernelRunner(device, { cacheCapacity: bindings + sizes.length });
  await runner.prepare(cut);
  runner.encode(encoder, kernel, source, result);
  // Kernels from files have looser types.
  for (const one of [imported, await runner.prepare(imported), kernel]) runner.encode(encoder, one, source, result);
  runner.encode(encoder, await runner.prepare(importedProgram), source, result);
  const answers: Uint8Array[] = await runner.run(importedProgram, bytes);
  const answer: Uint8Array = await run(device, imported, answers[0] ?? bytes);
  describe(`torch:${convert(tiled, "torch")}`).physical_bytes + answer.length;
  // @ts-expect-error: a list of kernels is no program
  await runner.prepare([kernel]);
  try {
    convert(tiled, "torch");
  } catch (error) {
    if (error instanceof StridecError && error.code === "INVALID" && error.place) return bytes.subarray(error.place[0]);
  }
  const results: Uint8Array[] = await run(device, program("ENTRY"), bytes);
  // @ts-expect-error: a layout has dimensions
  relayout({ type: "f32" }, "f32[2]");
  return results[0] ?? (await run(device, kernel, bytes));
}
