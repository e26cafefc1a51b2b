"use strict";
// The lines of JavaScript that run the kernel that the page shows, with the package `stridec`.

const asString = (text) => JSON.stringify(text);
/** A text of several lines as a template literal. */
const asTemplate = (text) => `\`${text.replace(/[\\`]|\$\{/g, "\\$&")}\``;

/** A list of integers as an array. Throws an error for any other text. */
function asNumbers(text) {
  const numbers = text.split(",").map((number) => number.trim()).filter(Boolean);
  const wrong = numbers.find((number) => !/^[-+]?\d+$/.test(number));
  if (wrong !== undefined) throw new Error(`expected integers with commas between them, got \`${wrong}\``);
  return `[${numbers.map(BigInt).join(", ")}]`;
}

/** The lines for a state. `isBinary` is true if its module is a file that is no text. */
function scriptOf(state, isBinary) {
  const { kind, from, to, target } = state;
  // A number is the size that the device binds, so that the device's own limits are the target.
  const isLarge = /^\d+$/.test(target ?? "");
  const options = isLarge ? ["target: device.limits"] : target ? [`target: ${asString(target)}`] : [];
  const open = isLarge
    ? ["const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;", "const requiredLimits = { maxBufferSize, maxStorageBufferBindingSize };", "const device = await adapter.requestDevice({ requiredLimits });"]
    : ["const device = await adapter.requestDevice();"];
  const withOptions = (...given) => (given.length ? `, { ${given.join(", ")} }` : "");
  const lines = {
    relayout: () => [`const kernel = relayout(${asString(from)}, ${asString(to)}${withOptions(...options)});`],
    slice: () => [
      `const window = { offsets: ${asNumbers(state.offsets)}, sizes: ${asNumbers(state.sizes)}, strides: ${asNumbers(state.strides)} };`,
      `const kernel = slice(${asString(from)}, window${withOptions(...(to.trim() ? [`to: ${asString(to)}`] : []), ...options)});`,
    ],
    program: () => [
      `const module = ${isBinary ? 'await (await fetch("module.pb")).arrayBuffer()' : asTemplate(state.module)};`,
      `const kernels = program(module${withOptions(...options)});`,
    ],
  }[kind]();
  const run = kind === "program" ? [
    "// The arrays of the parameters, as typed arrays of these sizes.",
    "const arrays = kernels.parameters.map(({ sizeInBytes }) => new Uint8Array(sizeInBytes));",
    "const results = await runner.run(kernels, ...arrays);",
    'console.log(results.map((bytes) => bytes.length).join(" "));',
  ] : [
    "// The array in the first layout, as a typed array of this size.",
    "const array = new Uint8Array(kernel.sourceBytes);",
    "const bytes = await runner.run(kernel, array);",
    "console.log(kernel.strategy, bytes.length);",
  ];
  return [
    `import { init, ${kind} } from "stridec";`,
    'import { KernelRunner } from "stridec/gpu";',
    "",
    "await init();",
    "const adapter = await navigator.gpu.requestAdapter();",
    ...open,
    "const runner = new KernelRunner(device);",
    ...lines,
    ...run,
  ].join("\n");
}
