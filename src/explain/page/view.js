"use strict";
// The explorer, which shows for each layout a window onto the array, an overview of it, and the
// memory around the chosen element.

const ROWS = 16;
/** The least height and width of an overview, in pixels. */
const LEAST_OVERVIEW = 28;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const clamp = (value, low, high) => Math.max(low, Math.min(value, high));
const byteOf = (layout, place) => {
  const bit = bitOf(layout, place);
  return layout.bits >= 8 ? `${bit / 8}` : `${Math.floor(bit / 8)}, bit ${bit % 8}`;
};
const show = (index) => `(${index.join(",")})`;
/** A number whose digits are grouped by three if there are more than four, with no-break spaces. */
const grouped = (number) => (number < 10000 ? String(number) : String(number).replace(/\B(?=(\d{3})+$)/g, "\u00a0"));
const times = (value, stride) => `${value}·${stride < 0 ? `(${stride})` : stride}`;

/** One layout on the page. `chosen` is called with the index that the reader points at. */
class View {
  /** The last width of a view, in pixels. The next view has it until its own is known. */
  static width = 600;
  /** The shades of the scale, which all pictures share. */
  static shades;

  constructor(layout, colours, root, chosen) {
    Object.assign(this, { layout, colours, root, chosen, shades: View.shades ??= shadesOf(colours), width: View.width });
    this.dims = layout.view.map((dimension) => dimension ?? -1);
    this.index = layout.sizes.map(() => 0);
    this.first = [0, 0];
    this.build();
  }

  /** The number of cells down or across, padding included. */
  extent(side) {
    return this.dims[side] >= 0 ? this.layout.padded[this.dims[side]] : 1;
  }

  isElement(index) {
    return index.every((value, d) => value < this.layout.sizes[d]);
  }

  /** The numbers of rows and columns that fit. */
  room() {
    const digits = Math.max(String(this.layout.places - 1).length, 2);
    this.cellWidth = digits * 8 + 12;
    const columns = Math.floor((this.width - 70) / this.cellWidth);
    return [Math.min(ROWS, this.extent(0)), Math.min(Math.max(columns, 3), this.extent(1))];
  }

  build() {
    const { layout, root } = this;
    const controls = make("div", { class: "controls" });
    if (layout.sizes.length > 2) {
      for (const [side, name] of ["down", "across"].entries()) {
        const select = make("select", { "aria-label": `dimension ${name}` });
        layout.sizes.forEach((size, d) => select.append(new Option(`d${d} (${size}) ${name}`, d)));
        select.value = this.dims[side];
        select.addEventListener("change", () => {
          const dimension = Number(select.value);
          if (this.dims[1 - side] === dimension) this.dims[1 - side] = this.dims[side];
          this.dims[side] = dimension;
          [...controls.querySelectorAll("select")].forEach((other, at) => (other.value = this.dims[at]));
          this.place(this.index);
        });
        controls.append(select);
      }
      this.others = layout.sizes.map((size, d) => {
        const input = make("input", { type: "number", min: 0, max: size - 1, value: 0, "aria-label": `index along d${d}` });
        input.addEventListener("input", () => {
          const index = [...this.index];
          index[d] = clamp(Math.floor(Number(input.value) || 0), 0, size - 1);
          this.chosen(this, index);
        });
        const label = make("label", {}, `d${d} = `, input);
        controls.append(label);
        return { label, input };
      });
    }
    const id = root.id;
    this.grid = make("div", { class: "grid", role: "grid", tabindex: 0, "aria-label": `the array of ${layout.notation}` });
    this.canvas = make("canvas", { role: "img", "aria-label": "the whole plane, coloured by offset; click to go there" });
    this.marker = make("div", { class: "marker" });
    this.overview = make("div", { class: "overview" }, this.canvas, this.marker);
    this.caption = make("p", { class: "caption" });
    this.legend = make("p", { class: "legend" });
    this.scale = make("b", { style: `background:linear-gradient(90deg,${this.colours.map((rgb) => `rgb(${rgb})`)})` });
    this.strip = make("div", { class: "strip", role: "grid", tabindex: 0, "aria-label": `the memory of ${layout.notation}` });
    this.rest = make("p", { class: "caption rest" });
    this.facts = make("dl", { class: "facts", id: `${id}-facts` });
    this.sum = make("p", { class: "sum" });
    // It has the view's width, and no height that drawing could change.
    this.ruler = make("div");
    // The grid comes first, so that it is on the first screen, and the sum with it.
    root.append(this.ruler, controls, this.grid, this.sum, this.legend, this.overview, this.caption,
      make("h3", {}, "Memory around the chosen element"), this.strip, this.rest, this.facts);
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.strip.addEventListener("keydown", (event) => this.stripKey(event));
    this.grid.addEventListener("pointerover", (event) => this.point(event));
    this.grid.addEventListener("click", (event) => this.point(event));
    for (const kind of ["pointerover", "click"]) this.strip.addEventListener(kind, (event) => this.pointStrip(event, kind));
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      const index = [...this.index];
      [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width].forEach((part, side) => {
        if (this.dims[side] >= 0) index[this.dims[side]] = clamp(Math.floor(part * this.extent(side)), 0, this.layout.sizes[this.dims[side]] - 1);
      });
      this.chosen(this, index);
    });
  }

  /**
   * Draws again when the width changes. An observer reports the width without a layout of the page
   * of its own.
   */
  watch() {
    this.observer = new ResizeObserver(([{ contentRect }]) => {
      const width = Math.floor(contentRect.width);
      if (!width || width === this.width) return;
      View.width = this.width = width;
      // A part that was chosen for another width may be mostly padding in this one.
      this.first = [0, 0];
      this.place(this.index);
    });
    this.observer.observe(this.ruler);
  }

  end() {
    this.observer.disconnect();
  }

  point(event) {
    const cell = event.target.closest("[data-at]");
    if (cell && !cell.classList.contains("here")) this.chosen(this, cell.dataset.at.split(",").map(Number), true);
  }

  pointStrip(event, kind) {
    const cell = event.target.closest("[data-place]");
    const index = cell && indexAt(this.layout, Number(cell.dataset.place));
    // Hovering must not scroll the memory under the pointer.
    if (index) this.chosen(this, index, kind === "pointerover");
  }

  key(event) {
    const [rows, columns] = this.room();
    const moves = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      PageUp: [-rows, 0], PageDown: [rows, 0], Home: [0, -Infinity], End: [0, Infinity],
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const index = [...this.index];
    if (event.ctrlKey && event.key === "Home") move[0] = -Infinity;
    if (event.ctrlKey && event.key === "End") move[0] = Infinity;
    move.forEach((by, side) => {
      const d = this.dims[side];
      if (d >= 0) index[d] = clamp(index[d] + by, 0, this.layout.sizes[d] - 1);
    });
    this.chosen(this, index);
  }

  /** Moves left and right to the neighbours in memory, past padding. */
  stripKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    let place = placeOf(this.layout, this.index) + step;
    for (let tries = 0; tries < 4096 && place >= 0 && place < this.layout.places; tries++, place += step) {
      const index = indexAt(this.layout, place);
      if (index) return this.chosen(this, index);
    }
  }

  /**
   * Shows `index`, or fades if it is null, because this layout has no such element. `still` keeps
   * the memory from scrolling.
   */
  place(index, still = false) {
    this.root.classList.toggle("absent", index === null);
    if (index === null && this.drawn) return;
    this.index = index ?? this.index;
    index = this.index;
    const room = this.room();
    room.forEach((count, side) => {
      const at = this.dims[side] >= 0 ? index[this.dims[side]] : 0;
      const last = this.extent(side) - count;
      if (at < this.first[side]) this.first[side] = at;
      if (at >= this.first[side] + count) this.first[side] = at - count + 1;
      this.first[side] = clamp(this.first[side], 0, last);
    });
    this.others?.forEach(({ label, input }, d) => {
      label.hidden = this.dims.includes(d);
      if (document.activeElement !== input) input.value = index[d];
    });
    this.survey();
    this.drawGrid(room);
    this.drawOverview(room);
    this.drawStrip(still);
    this.drawFacts();
  }

  /** Samples the plane of the index if it differs from the last one. */
  survey() {
    const { layout, dims } = this;
    const key = `${dims}:${this.index.filter((_, d) => !dims.includes(d))}`;
    if (key === this.surveyed) return;
    this.surveyed = key;
    this.plane = samplePlane(layout, dims, [this.extent(0), this.extent(1)], this.index, this.shades);
    const { range: [low, high], isWhole } = this.plane;
    const entry = (...parts) => make("span", {}, ...parts);
    this.legend.replaceChildren(entry(`offset ${low}`, this.scale, `offset ${high}`),
      ...(layout.unused > 0 ? [entry(make("i", { class: "padding" }), "padding")] : []),
      ...(isWhole ? [] : [entry(make("i"), "an element of another plane")]));
  }

  /** The colours of a place and of the text on it, as CSS. */
  style(place) {
    const { css, text } = this.shades[shadeOf(this.plane.range, place)];
    return `background:${css};color:${text}`;
  }

  /** True if `index` lies in the plane that is drawn. */
  isDrawn(index) {
    return index.every((value, d) => this.dims.includes(d) || value === this.index[d]);
  }

  /** The line before a cell along a dimension: 2 before a tile, 1 before a box within it, or 0. */
  line(dimension, index) {
    if (index[dimension] === 0) return this.layout.boxes.length ? 2 : 0;
    const before = [...index];
    before[dimension] -= 1;
    const [here, there] = [index, before].map((at) => boxesOf(this.layout, at));
    const level = here.findIndex(({ number }, level) => number.some((value, d) => value !== there[level].number[d]));
    return level < 0 ? 0 : level === 0 ? 2 : 1;
  }

  /** A class for the line before a cell along a side, as a function of its index. */
  lines(side, name) {
    const dimension = this.dims[side];
    if (dimension < 0) return () => "";
    const known = new Map();
    // If dimensions are folded, each row may have lines of its own.
    const keyOf = isSum(this.layout) ? (index) => index[dimension] : (index) => index.join();
    return (index) => {
      const key = keyOf(index);
      if (!known.has(key)) known.set(key, ` ${name}${this.line(dimension, index)}`);
      return known.get(key);
    };
  }

  drawGrid([rows, columns]) {
    const { layout, dims, first, index } = this;
    const key = [dims, first, rows, columns, index.filter((_, d) => !dims.includes(d))].join(";");
    if (key !== this.drawn) {
      this.drawn = key;
      this.grid.style.setProperty("--cell", `${this.cellWidth}px`);
      // Cells are made as one text of numbers, which is far faster than one element at a time.
      this.grid.innerHTML = this.cells(rows, columns);
    }
    const [row, column] = first.map((start, side) => (dims[side] >= 0 ? index[dims[side]] - start : 0));
    const here = this.grid.children[row + 1].children[column + 1];
    const before = this.grid.querySelector(".here");
    before?.classList.remove("here");
    before?.removeAttribute("aria-selected");
    here.classList.add("here");
    here.setAttribute("aria-selected", "true");
    this.grid.setAttribute("aria-activedescendant", here.id);
  }

  /** The markup of these numbers of rows and columns of cells. */
  cells(rows, columns) {
    const { layout, dims, first } = this;
    const tick = (side, at) => (dims[side] >= 0 ? at : "");
    const name = (side) => (dims[side] >= 0 ? `d${dims[side]}${side ? "→" : "↓"}` : "");
    const [top, left] = [this.lines(0, "top"), this.lines(1, "left")];
    // The last tiles end at the last cells, padding included.
    const ends = (side, at, name) => (layout.boxes.length && dims[side] >= 0 && at === this.extent(side) - 1 ? ` ${name}2` : "");
    const at = [...this.index];
    let markup = `<div role="row" class="row"><span class="tick">${name(0)} ${name(1)}</span>`;
    for (let c = 0; c < columns; c++) markup += `<span role="columnheader" class="tick across">${tick(1, first[1] + c)}</span>`;
    for (let r = 0; r < rows; r++) {
      markup += `</div><div role="row" class="row"><span role="rowheader" class="tick">${tick(0, first[0] + r)}</span>`;
      if (dims[0] >= 0) at[dims[0]] = first[0] + r;
      for (let c = 0; c < columns; c++) {
        if (dims[1] >= 0) at[dims[1]] = first[1] + c;
        const place = placeOf(layout, at);
        const start = `<span role="gridcell" id="${this.root.id}-${r}-${c}" class="cell${top(at)}${left(at)}${ends(0, first[0] + r, "bottom")}${ends(1, first[1] + c, "right")}`;
        markup += this.isElement(at)
          ? `${start}" style="${this.style(place)}" aria-label="index ${show(at)}, offset ${place}" data-at="${at}">${place}</span>`
          : `${start} padding" title="padding at offset ${place}" aria-label="padding at offset ${place}">·</span>`;
      }
    }
    return `${markup}</div>`;
  }

  /** Draws the whole plane, one pixel for one or more elements, if the grid shows only a part. */
  drawOverview([rows, columns]) {
    const { first, canvas, overview, marker, plane: { image } } = this;
    const [high, wide] = [this.extent(0), this.extent(1)];
    this.caption.hidden = overview.hidden = rows >= high && columns >= wide;
    if (overview.hidden) return;
    this.caption.textContent = `The whole ${this.plane.isWhole ? "array" : "plane"}; click to move the window above`;
    const { width, height } = image;
    if (this.pictured !== image) Object.assign(canvas, { width, height });
    const scale = clamp(Math.min(Math.floor(160 / height), Math.floor(this.width / width)), 1, 4);
    overview.style.width = `${Math.max(width * scale, LEAST_OVERVIEW)}px`;
    overview.style.height = `${Math.max(height * scale, LEAST_OVERVIEW)}px`;
    if (this.pictured !== image) canvas.getContext("2d", { willReadFrequently: true }).putImageData(image, 0, 0);
    this.pictured = image;
    const part = (count, of) => `${(100 * count) / of}%`;
    Object.assign(marker.style, {
      top: part(first[0], high), left: part(first[1], wide), height: part(rows, high), width: part(columns, wide),
    });
  }

  drawStrip(still) {
    const { layout } = this;
    const here = placeOf(layout, this.index);
    const widest = layout.sizes.reduce((sum, size) => sum + String(size - 1).length + 1, 0);
    const width = Math.max(widest * 8 + 6, 26, String(layout.places).length * 7 + 4);
    const byte = Math.max(8 / layout.bits, 1);
    let count = clamp(Math.floor((this.width - 6) / width), 4, 24);
    if (count > byte) count -= count % byte;
    const inside = this.stripFirst !== undefined && here >= this.stripFirst && here < this.stripFirst + count;
    if (!(still && inside)) {
      this.stripFirst = clamp(here - Math.floor(count / 3), 0, Math.max(layout.places - count, 0));
      // If bytes hold several elements, the first place shown begins a byte.
      if (count >= byte) this.stripFirst -= this.stripFirst % byte;
      if (here >= this.stripFirst + count) this.stripFirst += byte;
    }
    let markup = `<div role="row" class="row">`;
    const end = Math.min(this.stripFirst + count, layout.places);
    const [before, after] = [this.stripFirst, layout.places - end].map((places) => `${grouped(places)} more ${places === 1 ? "place" : "places"}`);
    this.rest.textContent = [this.stripFirst > 0 ? `… ${before} before` : "", end < layout.places ? `${after} after …` : ""].filter(Boolean).join(", ");
    for (let place = this.stripFirst; place < end; place++) {
      const index = indexAt(layout, place);
      const classes = ["cell", ...(index ? [] : ["padding"]), ...(layout.bits < 8 && bitOf(layout, place) % 8 === 0 ? ["byte"] : []), ...(place === here ? ["here"] : [])];
      const style = index && this.isDrawn(index) ? ` style="${this.style(place)}"` : "";
      markup += `<span role="gridcell" id="${this.root.id}-place-${place}" class="${classes.join(" ")}" data-place="${place}"`
        + ` title="place ${place}, ${index ? `index ${show(index)}` : "padding"}"><b${style}>${index ? index.join(",") || "()" : "·"}</b> <i>${place}</i></span>`;
    }
    this.strip.style.setProperty("--cell", `${width}px`);
    this.strip.innerHTML = `${markup}</div>`;
    this.strip.setAttribute("aria-activedescendant", `${this.root.id}-place-${here}`);
  }

  drawFacts() {
    const { layout, index } = this;
    const place = placeOf(layout, index);
    const values = coordinates(layout, index);
    const terms = layout.axes.filter((axis) => axis.extent > 1).map((axis) => {
      const term = make("span", { class: "term", title: `${axis.name} = ${values[axis.coordinate]}, stride ${axis.stride}` });
      // Every value has the room of the longest, so that nothing moves while the reader points.
      term.style.minWidth = `calc(${times(axis.extent - 1, axis.stride).length}ch + .7rem)`;
      term.append(make("small", {}, axis.name), times(values[axis.coordinate], axis.stride));
      return term;
    });
    const total = make("span", {}, `= ${place}`);
    total.style.minWidth = `${String(layout.places).length + 2}ch`;
    if (layout.offset) terms.push(make("span", { class: "term" }, make("small", {}, "base"), String(layout.offset)));
    this.sum.replaceChildren(...terms.flatMap((term, at) => (at ? [" + ", term] : [term])), total);
    const facts = [["index", show(index)], ["offset", `${place} of ${grouped(layout.places)}`], ["byte", byteOf(layout, place)]];
    const cut = layout.boxed.map((coordinate) => layout.boxes.some((box) => box[coordinate] > 1));
    boxesOf(layout, index).forEach(({ number, within }, level) => {
      const [at, inside] = [number, within].map((values) => show(values.filter((_, d) => cut[d])));
      facts.push([level ? "box within" : "tile", `${at}, at ${inside} in it`]);
    });
    this.facts.replaceChildren(...facts.map(([term, text]) => make("div", {}, make("dt", {}, term), make("dd", {}, text))));
  }
}
