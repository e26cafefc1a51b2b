// What the pages do with the package.
import { relayout } from "stridec";
import { run } from "stridec/gpu";

/** Transposes a small matrix on the device, after `load`. */
export async function test(load) {
  await load();
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const kernel = relayout("u32[2,3]", "u32[2,3]{0,1}", { target: device.limits });
  const result = await run(device, kernel, Uint32Array.of(1, 2, 3, 4, 5, 6));
  return [...new Uint32Array(result.buffer)];
}
