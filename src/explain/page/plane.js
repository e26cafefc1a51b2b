"use strict";
// Samples of the plane that an explorer shows, as an image whose colours stand for the offsets.

/** The number of colours of a scale. */
const SHADES = 256;

/** The shades of a scale: the CSS colours of each and of the text on it, and its pixel. */
function shadesOf(colours) {
  const last = colours.length - 1;
  return Array.from({ length: SHADES }, (_, shade) => {
    const way = (shade / (SHADES - 1)) * last;
    const [low, high] = [colours[Math.floor(way)], colours[Math.min(Math.floor(way) + 1, last)]];
    const rgb = low.map((value, at) => Math.round(value + (high[at] - value) * (way % 1)));
    const [r, g, b] = rgb.map((value) => (value / 255) ** 2.2);
    return { css: `rgb(${rgb})`, text: 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff", pixel: pixelOf(...rgb, 255) };
  });
}

/** The value of a pixel in an image's array of words, in this machine's byte order. */
function pixelOf(...rgba) {
  return new Uint32Array(Uint8Array.from(rgba).buffer)[0];
}

/** The shade of a place in a range of places. */
function shadeOf([low, high], place) {
  return Math.round((clamp(place - low, 0, high - low) / Math.max(high - low, 1)) * (SHADES - 1));
}

/** True if each dimension adds a part of its own to the place, because no dimensions are folded. */
const isSum = (layout) => layout.steps.every((step) => !("major" in step));

/** At most `most` numbers from 0 to `extent` - 1, the first and the last included. */
function sampled(extent, most) {
  const count = Math.min(extent, most);
  return Array.from({ length: count }, (_, at) => Math.round((at * (extent - 1)) / Math.max(count - 1, 1)));
}

/**
 * The places of samples: the place of the first one in each row, and the steps from there to all of
 * the row. If places are sums, all rows share their steps.
 */
function placesOf(rows, columns, placeAt, sums) {
  const starts = rows.map((row) => placeAt(row, columns[0]));
  const stepsOf = (y) => Float64Array.from(columns, (column) => placeAt(rows[y], column) - starts[y]);
  const shared = sums && stepsOf(0);
  return { starts, steps: starts.map((_, y) => shared || stepsOf(y)) };
}

/** The least and the greatest place of these samples. */
function rangeOf({ starts, steps }) {
  const ends = new Map([...new Set(steps)].map((row) => [row, [Math.min(...row), Math.max(...row)]]));
  const [low, high] = [0, 1].map((end) => starts.map((start, y) => start + ends.get(steps[y])[end]));
  return [Math.min(...low), Math.max(...high)];
}

/**
 * Samples the plane of two dimensions through `index`, whose `extents` include padding. Returns an
 * image, the range of offsets that its colours cover, and true if that range is all of memory. A
 * dimension of -1 is none.
 */
function samplePlane(layout, dims, extents, index, shades) {
  const sums = isSum(layout);
  // Places take far longer to compute if they are not sums.
  const [rows, columns] = extents.map((extent, side) => sampled(extent, (sums ? [192, 512] : [48, 96])[side]));
  const at = [...index];
  const placeAt = (row, column) => {
    if (dims[0] >= 0) at[dims[0]] = row;
    if (dims[1] >= 0) at[dims[1]] = column;
    return placeOf(layout, at);
  };
  const inside = (side, value) => dims[side] < 0 || value < layout.sizes[dims[side]];
  const [high, wide] = [rows, columns].map((values, side) => values.filter((value) => inside(side, value)).length);
  const places = placesOf(rows.slice(0, high), columns.slice(0, wide), placeAt, sums);
  // One of many planes is a small part of memory, so colours over its own places show its order.
  const isWhole = dims.filter((d) => d >= 0).length >= layout.sizes.filter((extent) => extent > 1).length;
  const range = isWhole ? [0, layout.places - 1] : rangeOf(places);
  const pixels = new Uint32Array(rows.length * columns.length);
  const colours = Uint32Array.from(shades, ({ pixel }) => pixel);
  const scale = (SHADES - 1) / Math.max(range[1] - range[0], 1);
  for (let y = 0; y < high; y++) {
    const at = y * columns.length;
    const [start, steps] = [places.starts[y] - range[0], places.steps[y]];
    // Rounds to the nearest shade; the numbers are not negative.
    for (let x = 0; x < wide; x++) pixels[at + x] = colours[((start + steps[x]) * scale + 0.5) | 0];
  }
  return { image: new ImageData(new Uint8ClampedArray(pixels.buffer), columns.length), range, isWhole };
}
