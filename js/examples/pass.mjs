// Transposes inside a pass of an application that has kernels of its own. The first kernel writes a
// matrix in rows. The second one sums columns, and reads neighbours if the matrix is transposed.
// The caller has called `init`.
import { relayout } from "stridec";
import { KernelRunner } from "stridec/gpu";

const WRITE = `
@group(0) @binding(0) var<storage, read_write> matrix: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&matrix)) { matrix[id.x] = f32((id.x * 7u) % 31u); }
}`;
const SUM = `
override length: u32;
@group(0) @binding(0) var<storage, read> transposed: array<f32>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&sums)) { return; }
  var sum = 0.0;
  for (var at = 0u; at < length; at++) { sum += transposed[id.x * length + at]; }
  sums[id.x] = sum;
}`;

/** Returns the sums of the columns of a matrix of `rows` by `columns`. */
export async function columnSums(device, rows, columns) {
  // What the application has.
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
  const matrix = device.createBuffer({ size: 4 * rows * columns, usage });
  const sums = device.createBuffer({ size: 4 * columns, usage });
  const answer = device.createBuffer({
    size: sums.size,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  const pipeline = (code, constants) => {
    const module = device.createShaderModule({ code });
    return device.createComputePipeline({ layout: "auto", compute: { module, constants } });
  };
  const dispatch = (pass, pipeline, buffers, invocations) => {
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const layout = pipeline.getBindGroupLayout(0);
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    pass.dispatchWorkgroups(Math.ceil(invocations / 64));
  };
  const [write, sum] = [pipeline(WRITE), pipeline(SUM, { length: rows })];

  // What stridec adds: a kernel, and a buffer for the transposed matrix.
  const runner = new KernelRunner(device);
  const layout = `f32[${rows},${columns}]`;
  const options = { target: device.limits };
  const kernel = await runner.prepare(relayout(layout, `${layout}{0,1}`, options));
  const transposed = device.createBuffer({ size: kernel.bindings[1].sizeInBytes, usage });

  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  dispatch(pass, write, [matrix], rows * columns);
  runner.encode(pass, kernel, matrix, transposed);
  dispatch(pass, sum, [transposed, sums], columns);
  pass.end();
  encoder.copyBufferToBuffer(sums, 0, answer, 0, answer.size);
  device.queue.submit([encoder.finish()]);
  await answer.mapAsync(GPUMapMode.READ);
  return new Float32Array(answer.getMappedRange().slice(0));
}
