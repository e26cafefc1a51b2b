// A model of ONNX with one Transpose, written as protobuf.

const bytes = (list) => new Uint8Array(list.flatMap((part) => [...part]));
function varint(value) {
  const list = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...list, rest];
    list.push((rest % 128) + 128);
  }
}
const number = (field, value) => [...varint(field * 8), ...varint(value)];
const message = (field, ...parts) => {
  const content = bytes(parts);
  return [...varint(field * 8 + 2), ...varint(content.length), ...content];
};
const text = (field, value) => message(field, new TextEncoder().encode(value));

/** Returns the `ValueInfoProto` of an array of floats. */
function value(field, name, sizes) {
  const dimensions = message(2, ...sizes.map((size) => message(1, number(1, size))));
  return message(field, text(1, name), message(2, message(1, number(1, 1), dimensions)));
}

/** Returns the bytes of a model that permutes the dimensions of `x` to `y`. */
export function transposeModel(sizes, order) {
  const INTS = 7;
  const perm = message(5, text(1, "perm"), ...order.map((dimension) => number(8, dimension)), number(20, INTS));
  const node = message(1, text(1, "x"), text(2, "y"), text(4, "Transpose"), perm);
  const out = order.map((dimension) => sizes[dimension]);
  const graph = message(7, node, text(2, "graph"), value(11, "x", sizes), value(12, "y", out));
  return bytes([number(1, 8), graph, message(8, number(2, 13))]);
}
