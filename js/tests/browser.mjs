// The package in a page, bundled.
import { init, relayout } from "stridec";
import { run } from "stridec/gpu";

globalThis.test = async () => {
  await init("/stridec.wasm");
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const kernel = relayout("u32[2,3]", "u32[2,3]{0,1}", { target: device.limits });
  const result = await run(device, kernel, Uint32Array.of(1, 2, 3, 4, 5, 6));
  return [...new Uint32Array(result.buffer)];
};
