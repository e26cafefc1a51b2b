"use strict";
// Links that teach: each is a state.

const EXAMPLES = [
  ["Orders", [
    ["2×3, rows", { kind: "layout", from: "f32[2,3]{1,0}" }],
    ["2×3, columns", { kind: "layout", from: "f32[2,3]{0,1}" }],
    ["rows to columns", { kind: "relayout", from: "f32[2,3]{1,0}", to: "f32[2,3]{0,1}" }],
    ["NCHW to NHWC", { kind: "relayout", from: "u8[1,3,8,8]{3,2,1,0}", to: "u8[1,3,8,8]{1,3,2,0}" }],
  ]],
  ["Strides and padding", [
    ["rows with a pitch", { kind: "layout", from: "f32[3,5] strided<[8,1]>" }],
    ["a broadcast", { kind: "layout", from: "f32[3,5] strided<[0,1]>" }],
    ["padded to 3 by 5", { kind: "layout", from: "f32[2,3]{0,1:PAD(3,5,zero)}" }],
  ]],
  ["Tiles", [
    ["one tile of the TPU", { kind: "layout", from: "f32[16,256]{1,0:T(8,128)}" }],
    ["bfloat16 in pairs of rows", { kind: "layout", from: "bf16[16,256]{1,0:T(8,128)(2,1)}" }],
    ["a partial tile", { kind: "layout", from: "f32[20,200]{1,0:T(8,128)}" }],
    ["three columns, padded 43 times", { kind: "layout", from: "f32[1024,3]{1,0:T(8,128)}" }],
    ["into tiles", { kind: "relayout", from: "bf16[16,256]{1,0}", to: "bf16[16,256]{1,0:T(8,128)(2,1)}" }],
  ]],
  ["XLA's page on tiled layouts", [
    ["3×5 in tiles of 2×2", { kind: "layout", from: "f32[3,5]{1,0:T(2,2)}" }],
    ["4×8 in tiles of tiles", { kind: "layout", from: "f32[4,8]{1,0:T(2,4)(2,1)}" }],
    ["dimensions combined", { kind: "layout", from: "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}" }],
  ]],
  ["Packed", [
    ["4-bit, two in a byte", { kind: "layout", from: "s4[4,6]{1,0:E(4)}" }],
    ["to a byte each", { kind: "relayout", from: "s4[4,6]{1,0:E(4)}", to: "s4[4,6]{1,0}" }],
    ["packed and tiled", { kind: "layout", from: "s4[16,256]{1,0:T(8,128)(8,1)E(4)}" }],
    ["one bit each", { kind: "layout", from: "pred[3,11]{0,1:E(1)}" }],
  ]],
  ["Moves", [
    ["every second row, backwards", { kind: "slice", from: "f32[8,12]{1,0}", offsets: "0,0", sizes: "8,12", strides: "-2,1", to: "" }],
    ["a program", { kind: "program", ...KINDS.program.fields }],
    ["a line of an out-of-memory report", { kind: "memory", ...KINDS.memory.fields }],
  ]],
];

/** Puts the links into `root`. */
function showExamples(root) {
  root.append(make("h2", {}, "Examples"));
  for (const [topic, links] of EXAMPLES) {
    const items = links.map(([text, state]) => make("li", {}, make("a", { href: hashOf(state) }, text)));
    root.append(make("h3", {}, topic), make("ul", {}, ...items));
  }
}
