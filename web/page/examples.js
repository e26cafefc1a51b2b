"use strict";
// Links that teach: each is a state. A topic may be a page elsewhere, whose figures the links show.

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
    ["figure 1: 3×5 in tiles of 2×2", { kind: "layout", from: "f32[3,5]{1,0:T(2,2)}", at: "2,3" }],
    ["figure 2: 4×8 in tiles of tiles", { kind: "layout", from: "f32[4,8]{1,0:T(2,4)(2,1)}" }],
    ["dimensions combined", { kind: "layout", from: "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}" }],
    ["the TPU's tile", { kind: "layout", from: "f32[16,256]{1,0:T(8,128)}" }],
    ["small tiles, of two rows", { kind: "layout", from: "f32[2,256]{1,0:T(2,128)}" }],
    ["small tiles, of four rows", { kind: "layout", from: "f32[4,256]{1,0:T(4,128)}" }],
    ["16 bits, pairs of rows", { kind: "layout", from: "bf16[32,256]{1,0:T(8,128)(2,1)}" }],
    ["figure 3: 16 bits, pairs of tiles", { kind: "layout", from: "bf16[32,256]{1,0:T(8,128)(2,1,1,1)}", at: "8,0" }],
    ["figure 4: the same, smaller", { kind: "layout", from: "bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", at: "6,5" }],
    ["8 bits, four rows to a word", { kind: "layout", from: "s8[32,256]{1,0:T(8,128)(4,1)}" }],
    ["one bit", { kind: "layout", from: "pred[32,256]{1,0:T(32,128)(32,1)E(1)}" }],
  ], "https://openxla.org/xla/tiled_layout"],
  ["CuTe's page on layouts", [
    "(2,4):(1,2)", "(2,4):(12,1)", "(2,(2,2)):(1,(2,4))", "(2,(2,2)):(4,(2,1))",
    "((2,4)):((1,2))", "((2,4)):((12,1))", "((2,(2,2))):((1,(2,4)))", "((2,(2,2))):((4,(2,1)))",
    "8:1", "8:2", "((4,2)):((2,1))", "((4,2)):((1,4))", "(4,2):(1,4)", "(4,2):(2,1)", "((2,2),2):((4,1),2)",
  ].map((layout) => [layout, { kind: "layout", from: `cute:${layout}` }]), "https://docs.nvidia.com/cutlass/media/docs/cpp/cute/01_layout.html"],
  ["Packed", [
    ["4-bit, two in a byte", { kind: "layout", from: "s4[4,6]{1,0:E(4)}" }],
    ["to a byte each", { kind: "relayout", from: "s4[4,6]{1,0:E(4)}", to: "s4[4,6]{1,0}" }],
    ["packed and tiled", { kind: "layout", from: "s4[16,256]{1,0:T(8,128)(8,1)E(4)}" }],
    ["one bit each", { kind: "layout", from: "pred[3,11]{0,1:E(1)}" }],
  ]],
  ["Conversions", [
    ["f32 to bf16, in tiles", { kind: "relayout", from: "f32[16,256]{1,0}", to: "bf16[16,256]{1,0:T(8,128)(2,1)}" }],
    ["u8 to f16, planes of channels", { kind: "relayout", from: "u8[8,8,3]{2,1,0}", to: "f16[8,8,3]{1,0,2}" }],
    ["a picture's normalised planes", { kind: "image", ...KINDS.image.fields, type: "f16" }],
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
  for (const [topic, links, page] of EXAMPLES) {
    const items = links.map(([text, state]) => make("li", {}, make("a", { href: hashOf(state) }, text)));
    root.append(make("h3", {}, page ? make("a", { href: page, rel: "noreferrer" }, topic) : topic), make("ul", {}, ...items));
  }
}
