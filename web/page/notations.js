"use strict";
// Two folded lists: what can be typed as a layout, and the shown layouts as others write them.

const TYPED = [
  ["XLA, an order", "f32[2,3]{0,1}"],
  ["XLA, tiles", "bf16[16,256]{1,0:T(8,128)(2,1)}"],
  ["XLA, packed", "s4[4,6]{1,0:E(4)}"],
  ["strides", "f32[2,3] strided<[5,1], offset: 2>"],
  ["JAX", "jax:bf16[16,256] Layout(major_to_minor=(0, 1), tiling=((8, 128), (2, 1)))"],
  ["numpy", "numpy:shape=(2, 3) strides=(40, 4) dtype=float32"],
  ["PyTorch", "torch:f32[2, 3][1, 2]"],
  ["MLIR", "memref<2x3xf32, strided<[5, 1]>>"],
  ["oneDNN", "onednn:f32[2,16,4,4] nChw8c"],
  ["DirectML", 'dml:{"DataType": "FLOAT32", "Sizes": [2, 3], "Strides": [5, 1]}'],
  ["CuTe", "cute:f32 ((2,2),2):((4,1),2)"],
  ["cuDNN", "cudnn:f16[1,32,4,4] CUDNN_TENSOR_NHWC"],
  ["TensorRT", "tensorrt:f16[1,32,4,4] CHW16"],
  ["TVM", "tvm:f32[1,32,4,4] NCHW8c"],
];
/** What the second layout may be, besides a whole one. */
const ORDERS = [["only an order", "{1,3,2,0}"], ["channels last", "NHWC"]];

/** The lists below the fields. `notationsOf(text)` returns a layout in every notation. */
class Notations {
  constructor(root, notationsOf) {
    Object.assign(this, { root, notationsOf });
    const code = (text) => make("code", {}, text);
    const item = ([name, text], link) => make("li", {}, `${name}: `, link ? make("a", { href: hashOf({ kind: "layout", from: text }) }, code(text)) : code(text));
    this.typed = make("details", { id: "typed" }, make("summary", {}, "What you can type"),
      make("ul", {}, ...TYPED.map((entry) => item(entry, true))),
      this.orders = make("p", {}, "To may also be ", ...ORDERS.flatMap(([name, text], at) => [...(at ? [", or "] : []), code(text), ` (${name})`]), "."));
    this.list = make("div");
    this.others = make("details", { id: "others" }, make("summary", {}, "As others write it"), this.list);
    this.others.addEventListener("toggle", () => this.fill());
    root.append(this.typed, this.others);
  }

  /** Shows the lists of a state, whose layouts are the texts `layouts`. */
  show(kind, layouts) {
    this.root.hidden = !("from" in KINDS[kind].fields);
    this.orders.hidden = kind === "layout";
    this.layouts = layouts;
    this.fill();
  }

  /** Fills the open list. */
  fill() {
    if (!this.others.open || this.root.hidden || !this.layouts) return;
    this.list.replaceChildren(...this.layouts.flatMap(([name, text]) => {
      const rows = this.notationsOf(text).map(({ name: kind, typed }) => make("li", {}, make("span", {}, kind), make("code", {}, typed), copyButton("Copy", () => typed)));
      return [...(name ? [make("p", { class: "lead" }, name)] : []), make("ul", {}, ...rows)];
    }));
  }
}
