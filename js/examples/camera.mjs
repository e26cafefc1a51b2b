// Feeds camera frames to a network: pixels of u8 RGBA become three planes of f16, normalised for
// each channel. The kernel reads a table with the result for each byte of each channel, and its
// window leaves out alpha. The caller has called `init`.
import { relayout, slice } from "stridec";
import { KernelRunner } from "stridec/gpu";

/** Returns a buffer with the planes, and a function that fills it from the bytes of a frame. */
export async function framePlanes(device, { width, height, mean, deviation }) {
  const runner = new KernelRunner(device);

  // The table is made once. Its fourth row, for alpha, stays zero and is not read.
  const values = new Float32Array(4 * 256);
  for (let channel = 0; channel < 3; channel += 1) {
    for (let byte = 0; byte < 256; byte += 1) {
      values[channel * 256 + byte] = (byte / 255 - mean[channel]) / deviation[channel];
    }
  }
  const entries = await runner.run(relayout("f32[4,256]", "f16[4,256]"), values);

  const window = { offsets: [0, 0, 0], sizes: [height, width, 3] };
  const to = { type: "f16", dimensions: [height, width, 3], minorToMajor: [1, 0, 2] };
  const options = { to, table: { entries, dimension: 2 }, target: device.limits };
  const kernel = await runner.prepare(slice(`u8[${height},${width},4]`, window, options));

  const [pixels, table, planes] = kernel.bindings.map(({ sizeInBytes }) => {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    return device.createBuffer({ size: sizeInBytes, usage });
  });
  device.queue.writeBuffer(table, 0, entries);

  const feed = (frame) => {
    device.queue.writeBuffer(pixels, 0, frame);
    const encoder = device.createCommandEncoder();
    runner.encode(encoder, kernel, pixels, table, planes);
    // Here the network is recorded, which reads the planes.
    device.queue.submit([encoder.finish()]);
  };
  return { planes, feed };
}

/** In a page, feeds each frame that a video element shows. */
export function feedVideo(video, feed) {
  const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const next = () => {
    context.drawImage(video, 0, 0);
    feed(context.getImageData(0, 0, canvas.width, canvas.height).data);
    video.requestVideoFrameCallback(next);
  };
  video.requestVideoFrameCallback(next);
}
