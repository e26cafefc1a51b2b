"use strict";
// The two layouts of a relayout are of one array, so that a change of the extents in one field
// changes the other field too.

/** A layout in XLA's notation or with strides. Other notations are not written by the page. */
const OWN_NOTATION = /^\s*\w+\[[^[\]]*\]\s*(\{[^{}]*\})?\s*(strided<[^<>]*>)?\s*$/;

/** The least element size of a type, in bits. */
const leastBits = (type) => (type === "pred" ? 1 : Number(/\d+/.exec(type)?.[0] ?? 0));

/**
 * The parts of a layout with other extents and another type, or null if its strides do not apply to
 * them. Tiles and padding of another rank are dropped.
 */
function resized(parts, dimensions, type) {
  const bits = Number(parts.bits) >= leastBits(type) ? parts.bits : 0;
  if (dimensions.join() === parts.dimensions.join()) return { ...parts, type, bits };
  if (parts.strides) return null;
  const isSameRank = dimensions.length === parts.dimensions.length;
  return {
    type, dimensions, bits,
    order: isSameRank ? parts.order : dimensions.map((_, d) => String(dimensions.length - 1 - d)),
    tiles: isSameRank ? parts.tiles : "",
    padded: isSameRank ? parts.padded.map((value, d) => (BigInt(value) < BigInt(dimensions[d]) ? dimensions[d] : value)) : [],
    value: isSameRank ? parts.value : "",
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
    if (state.kind !== "relayout" || !changed || !this.pair || !OWN_NOTATION.test(state[other])) return null;
    const old = this.pair[other];
    const type = name === "from" && this.pair.from.type === this.pair.to.type ? changed.type : old.type;
    const isSame = parts[other]?.dimensions.join() === changed.dimensions.join() && parts[other].type === type;
    const followed = isSame ? null : resized(old, changed.dimensions, type);
    return followed && notationOf(followed);
  }
}
