"use strict";
// The two layouts of a relayout are of one array, so that a change of the extents in one field
// changes the other field too.

/** The dimensions from the fastest to the slowest, by strides. */
const orderOf = (strides) => strides.map((_, d) => String(d)).sort((a, b) => Math.abs(strides[a]) - Math.abs(strides[b]) || b - a);

/** The parts of a layout with other extents and another type. What does not suit them is dropped. */
function resized(parts, dimensions, type) {
  const isSame = dimensions.length === parts.dimensions.length;
  const order = parts.strides ? orderOf(parts.strides) : parts.order;
  return {
    type, dimensions,
    bits: type === parts.type ? parts.bits : 0,
    order: isSame ? order : dimensions.map((_, d) => String(dimensions.length - 1 - d)),
    tiles: isSame && !parts.strides ? parts.tiles : "",
    padded: isSame && parts.padded?.length ? parts.padded.map((value, d) => (BigInt(value) < BigInt(dimensions[d]) ? dimensions[d] : value)) : [],
    value: (isSame && parts.value) || "",
  };
}

const haveSameExtents = ({ from, to } = {}) => Boolean(from && to && from.dimensions.join() === to.dimensions.join());

/** Follows the fields of a relayout. */
class Follower {
  /** Starts from the parts of both fields of a state that is shown. */
  start(parts) {
    this.edited = null;
    this.latest = parts;
  }

  /**
   * Returns the new text of the other field after a change of the field `name`, or null if it
   * stays. `parts` are the parts of both fields now. The type follows only from the first to the
   * second layout, because a second type of its own is a conversion.
   */
  follow(state, name, parts) {
    // While extents are typed, the rank may pass through others. So all changes of one field start
    // from the layouts as they were before the first of them.
    if (name !== this.edited || !this.pair) this.pair = haveSameExtents(this.latest) ? this.latest : null;
    Object.assign(this, { edited: name, latest: parts });
    const other = name === "from" ? "to" : "from";
    const changed = parts?.[name];
    // An order such as `NHWC` has no extents of its own.
    if (state.kind !== "relayout" || !changed || !this.pair || !state[other].includes("[")) return null;
    const old = this.pair[other];
    const type = name === "from" && this.pair.from.type === this.pair.to.type ? changed.type : old.type;
    const isSame = parts[other]?.dimensions.join() === changed.dimensions.join() && parts[other].type === type;
    return isSame ? null : notationOf(resized(old, changed.dimensions, type));
  }
}
