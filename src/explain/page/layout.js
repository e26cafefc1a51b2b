"use strict";
// A layout's arithmetic: index to place and back, and from one layout to the other. The page's data
// describes a layout by its `sizes`, `steps` (a split of a coordinate, a fold of two, or a unit),
// `axes` (a stride for one coordinate each) and `offset`. The arithmetic is written here a second
// time, in another language, because a reader may point at any of millions of indices, and because
// the check of a kernel must not rest on the code that made the kernel.

/** The values of all coordinates at `index`: the dimensions, then the results of each step. */
function coordinates(layout, index) {
  const values = [...index];
  for (const step of layout.steps) {
    if ("split" in step) {
      const value = values[step.split];
      values.push(Math.floor(value / step.by), value % step.by);
    } else if ("major" in step) {
      values.push(values[step.major] * layout.extents[step.minor] + values[step.minor]);
    } else {
      values.push(0);
    }
  }
  return values;
}

/** For each level of boxes, coarse to fine: the box of `index`, and the place in it. */
function boxesOf(layout, index) {
  const values = coordinates(layout, index);
  let within = layout.boxed.map((coordinate) => values[coordinate]);
  return layout.boxes.map((box) => {
    const extents = layout.boxed.map((coordinate) => box[coordinate]);
    const number = extents.map((extent, d) => Math.floor(within[d] / extent));
    within = extents.map((extent, d) => within[d] % extent);
    return { number, within };
  });
}

/** The place of `index`, in elements. */
function placeOf(layout, index) {
  const values = coordinates(layout, index);
  return layout.axes.reduce((sum, axis) => sum + axis.stride * values[axis.coordinate], layout.offset);
}

/** The index of the element at `place`, or null if the place is padding. */
function indexAt(layout, place) {
  const digits = new Array(layout.extents.length).fill(0);
  const axes = layout.steps.length ? layout.axes : [...layout.axes].sort((a, b) => a.coordinate - b.coordinate);
  const reach = (axis) => axis.stride * Math.max(layout.extents[axis.coordinate] - 1, 0);
  let tries = 0;
  // Tries the digits of each axis that leave a distance within the reach of the later axes.
  const search = (depth, distance) => {
    if (depth === axes.length) return distance === 0;
    const { coordinate, stride } = axes[depth];
    const later = axes.slice(depth + 1).map(reach);
    const low = later.reduce((sum, r) => sum + Math.min(r, 0), 0);
    const high = later.reduce((sum, r) => sum + Math.max(r, 0), 0);
    let [first, last] = [0, layout.extents[coordinate] - 1];
    if (stride === 0) last = Math.min(last, 0);
    else {
      const ends = [(distance - high) / stride, (distance - low) / stride].sort((a, b) => a - b);
      [first, last] = [Math.max(first, Math.ceil(ends[0])), Math.min(last, Math.floor(ends[1]))];
    }
    for (let digit = first; digit <= last && ++tries < 1e5; digit++) {
      digits[coordinate] = digit;
      if (search(depth + 1, distance - digit * stride)) return true;
    }
    return false;
  };
  return search(0, place - layout.offset) ? undo(layout, digits) : null;
}

/** Undoes the steps, last to first; a remainder past the end of a partial tile is padding. */
function undo(layout, values) {
  let next = values.length;
  for (const step of [...layout.steps].reverse()) {
    if ("split" in step) {
      next -= 2;
      values[step.split] = values[next] * step.by + values[next + 1];
      if (values[step.split] >= layout.extents[step.split]) return null;
    } else if ("major" in step) {
      next -= 1;
      values[step.major] = Math.floor(values[next] / layout.extents[step.minor]);
      values[step.minor] = values[next] % layout.extents[step.minor];
    } else {
      next -= 1;
    }
  }
  return values.slice(0, layout.sizes.length);
}

/** Bits from the start of the image to an element. */
function bitOf(layout, place) {
  return layout.prefixBytes * 8 + place * layout.bits;
}

/** The source index that the destination's `index` is copied from. */
function originOf(page, index) {
  return page.window.map((along, d) => along.srcStart + along.srcStep * index[d]);
}

/** The destination index that is copied from the source's `index`, or null if there is none. */
function destinationOf(page, index) {
  const found = page.window.map((along, d) => {
    const past = index[d] - along.srcStart;
    const step = past / along.srcStep;
    return past % along.srcStep === 0 && step >= 0 && step < along.extent ? step : null;
  });
  return found.includes(null) ? null : found;
}

/** Calls `visit` with every index, in row-major order; the array is reused. */
function eachIndex(sizes, visit) {
  if (sizes.includes(0)) return;
  const index = sizes.map(() => 0);
  for (;;) {
    visit(index);
    let along = sizes.length - 1;
    while (along >= 0 && ++index[along] === sizes[along]) index[along--] = 0;
    if (along < 0) return;
  }
}
