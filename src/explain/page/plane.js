"use strict";
// The plane that an explorer shows: samples of it, as an image whose colours say the offsets.

/** Entries of a scale of colours. */
const SHADES = 256;

/** The shades of a scale: for each itself and the text on it as CSS, and a pixel. */
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

/** The number that an image holds for a pixel, in the order of this machine's bytes. */
function pixelOf(...rgba) {
  return new Uint32Array(Uint8Array.from(rgba).buffer)[0];
}

/** The shade of a place in a range of places. */
function shadeOf([low, high], place) {
  return Math.round((clamp(place - low, 0, high - low) / Math.max(high - low, 1)) * (SHADES - 1));
}

/** Whether each dimension adds its own part to the place: no dimensions are folded into one. */
const isSum = (layout) => layout.steps.every((step) => !("major" in step));

/** Numbers from 0 up to `extent`, at most `most`; the first and the last are among them. */
function sampled(extent, most) {
  const count = Math.min(extent, most);
  return Array.from({ length: count }, (_, at) => Math.round((at * (extent - 1)) / Math.max(count - 1, 1)));
}

/** The places of samples: that of the first in each row, and the steps from it to each, which all rows of a sum share. */
function placesOf(rows, columns, placeAt, sums) {
  const starts = rows.map((row) => placeAt(row, columns[0]));
  const stepsOf = (y) => Float64Array.from(columns, (column) => placeAt(rows[y], column) - starts[y]);
  const shared = sums && stepsOf(0);
  return { starts, steps: starts.map((_, y) => shared || stepsOf(y)) };
}

/** The least and the greatest of such places. */
function rangeOf({ starts, steps }) {
  const ends = new Map([...new Set(steps)].map((row) => [row, [Math.min(...row), Math.max(...row)]]));
  const [low, high] = [0, 1].map((end) => starts.map((start, y) => start + ends.get(steps[y])[end]));
  return [Math.min(...low), Math.max(...high)];
}

/**
 * Samples the plane of two dimensions through `index`, whose `extents` count its padding: an image, the range of offsets
 * that its colours run over, and whether that is all of memory. A dimension of -1 is none.
 */
function samplePlane(layout, dims, extents, index, shades) {
  const sums = isSum(layout);
  // A place that is no sum takes far longer.
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
  // A plane of many is a small part of memory: its own places tell its order better than all.
  const isWhole = dims.filter((d) => d >= 0).length >= layout.sizes.filter((extent) => extent > 1).length;
  const range = isWhole ? [0, layout.places - 1] : rangeOf(places);
  const pixels = new Uint32Array(rows.length * columns.length).fill(pixelOf(128, 128, 128, 80));
  const colours = Uint32Array.from(shades, ({ pixel }) => pixel);
  const scale = (SHADES - 1) / Math.max(range[1] - range[0], 1);
  for (let y = 0; y < high; y++) {
    const at = y * columns.length;
    const [start, steps] = [places.starts[y] - range[0], places.steps[y]];
    // The nearest shade: the numbers are not negative.
    for (let x = 0; x < wide; x++) pixels[at + x] = colours[((start + steps[x]) * scale + 0.5) | 0];
  }
  return { image: new ImageData(new Uint8ClampedArray(pixels.buffer), columns.length), range, isWhole };
}
