"use strict";
// The explorer: for each layout a window onto the array, an overview of it, and the memory around the chosen element.

const ROWS = 16;
const VIRIDIS = ["440154", "482878", "3e4989", "31688e", "26828e", "1f9e89", "35b779", "6ece58", "b5de2b", "fde725"]
  .map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));

function colourOf(place, places) {
  const way = (Math.max(0, Math.min(place, places - 1)) / Math.max(places - 1, 1)) * 9;
  const [low, high] = [VIRIDIS[Math.floor(way)], VIRIDIS[Math.min(Math.floor(way) + 1, 9)]];
  const rgb = low.map((value, at) => Math.round(value + (high[at] - value) * (way % 1)));
  const [r, g, b] = rgb.map((value) => (value / 255) ** 2.2);
  return { rgb, css: `rgb(${rgb})`, text: 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#111" : "#fff" };
}

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

/** One layout on the page. `chosen` is told the index that the reader points at. */
class View {
  constructor(layout, root, chosen) {
    Object.assign(this, { layout, root, chosen });
    this.dims = layout.view.map((dimension) => dimension ?? -1);
    this.index = layout.sizes.map(() => 0);
    this.first = [0, 0];
    this.build();
  }

  size(side) {
    return this.dims[side] >= 0 ? this.layout.sizes[this.dims[side]] : 1;
  }

  /** Rows and columns that fit. */
  room() {
    const digits = Math.max(String(this.layout.places - 1).length, 2);
    this.cellWidth = digits * 8 + 12;
    const columns = Math.floor(((this.root.clientWidth || 600) - 70) / this.cellWidth);
    return [Math.min(ROWS, this.size(0)), Math.min(Math.max(columns, 3), this.size(1))];
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
    this.canvas = make("canvas", { class: "overview", role: "img", "aria-label": "the whole plane, coloured by place in memory; click to go there" });
    this.strip = make("div", { class: "strip", role: "grid", tabindex: 0, "aria-label": `the memory of ${layout.notation}` });
    this.facts = make("dl", { class: "facts", id: `${id}-facts` });
    this.sum = make("p", { class: "sum" });
    root.append(controls, this.canvas, this.grid, make("h4", {}, "Memory around it"), this.strip, this.sum, this.facts);
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.strip.addEventListener("keydown", (event) => this.stripKey(event));
    this.grid.addEventListener("pointerover", (event) => this.point(event));
    this.grid.addEventListener("click", (event) => this.point(event));
    for (const kind of ["pointerover", "click"]) this.strip.addEventListener(kind, (event) => this.pointStrip(event, kind));
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      const index = [...this.index];
      [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width].forEach((part, side) => {
        if (this.dims[side] >= 0) index[this.dims[side]] = clamp(Math.floor(part * this.size(side)), 0, this.size(side) - 1);
      });
      this.chosen(this, index);
    });
    this.place(this.index);
  }

  point(event) {
    const cell = event.target.closest("[data-at]");
    if (cell) this.chosen(this, cell.dataset.at.split(",").map(Number), true);
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

  /** Left and right go to the neighbours in memory, past padding. */
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

  /** Shows `index`, or fades where null: this layout has no such element. `still` keeps the memory where it is. */
  place(index, still = false) {
    this.root.classList.toggle("absent", index === null);
    if (index === null) return;
    this.index = index;
    const room = this.room();
    room.forEach((count, side) => {
      const at = this.dims[side] >= 0 ? index[this.dims[side]] : 0;
      const last = this.size(side) - count;
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

  /** Samples the plane: its overview, and the places that its colours run over. */
  survey() {
    const { layout, dims } = this;
    const key = `${dims}:${this.index.filter((_, d) => !dims.includes(d))}`;
    if (key === this.surveyed) return;
    this.surveyed = key;
    const size = [this.size(0), this.size(1)];
    const [height, width] = size.map((extent, side) => Math.min(extent, side ? 512 : 192));
    const at = [...this.index];
    const places = new Float64Array(width * height);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        if (dims[0] >= 0) at[dims[0]] = Math.floor((y * size[0]) / height);
        if (dims[1] >= 0) at[dims[1]] = Math.floor((x * size[1]) / width);
        places[y * width + x] = placeOf(layout, at);
      }
    }
    // A plane of many is a small part of memory: its own places tell its order better than all.
    const whole = dims.filter((d) => d >= 0).length >= layout.sizes.filter((extent) => extent > 1).length;
    this.range = whole ? [0, layout.places - 1] : [places.reduce((a, b) => Math.min(a, b)), places.reduce((a, b) => Math.max(a, b))];
    const image = new ImageData(width, height);
    places.forEach((place, pixel) => image.data.set([...this.colour(place).rgb, 255], pixel * 4));
    this.image = image;
  }

  colour(place) {
    return colourOf(place - this.range[0], this.range[1] - this.range[0] + 1);
  }

  /** The line before `at` along a dimension: 2 at a tile, 1 at a box within, else 0. */
  line(dimension, at) {
    let within = at;
    for (const [level, box] of this.layout.boxes.entries()) {
      within %= box[dimension];
      if (within === 0) return level === 0 ? 2 : 1;
    }
    return 0;
  }

  drawGrid([rows, columns]) {
    const { layout, dims, first, index } = this;
    const body = [];
    const row = (...cells) => body.push(make("div", { role: "row", class: "row" }, ...cells));
    const tick = (side, at) => (dims[side] >= 0 ? String(at) : "");
    const name = (side) => (dims[side] >= 0 ? `d${dims[side]}${side ? "→" : "↓"}` : "");
    row(make("span", { class: "tick" }, `${name(0)} ${name(1)}`),
      ...Array.from({ length: columns }, (_, c) => make("span", { role: "columnheader", class: "tick across" }, tick(1, first[1] + c))));
    for (let r = 0; r < rows; r++) {
      const cells = [make("span", { role: "rowheader", class: "tick" }, tick(0, first[0] + r))];
      for (let c = 0; c < columns; c++) {
        const at = [...index];
        if (dims[0] >= 0) at[dims[0]] = first[0] + r;
        if (dims[1] >= 0) at[dims[1]] = first[1] + c;
        const place = placeOf(layout, at);
        const colour = this.colour(place);
        const cell = make("span", {
          role: "gridcell", class: "cell", "data-at": at.join(","), id: `${this.root.id}-${r}-${c}`,
          style: `background:${colour.css};color:${colour.text}`,
          "aria-label": `index ${show(at)}, offset ${place}`,
        }, String(place));
        if (dims[0] >= 0) cell.classList.add(`top${this.line(dims[0], first[0] + r)}`);
        if (dims[1] >= 0) cell.classList.add(`left${this.line(dims[1], first[1] + c)}`);
        if (at.every((value, d) => value === index[d])) {
          cell.classList.add("here");
          cell.setAttribute("aria-selected", "true");
          this.grid.setAttribute("aria-activedescendant", cell.id);
        }
        cells.push(cell);
      }
      row(...cells);
    }
    this.grid.style.setProperty("--cell", `${this.cellWidth}px`);
    this.grid.replaceChildren(...body);
  }

  /** The whole plane, a pixel for an element or for several, where the grid shows only a part. */
  drawOverview([rows, columns]) {
    const { first, canvas, image } = this;
    const size = [this.size(0), this.size(1)];
    canvas.hidden = rows >= size[0] && columns >= size[1];
    if (canvas.hidden) return;
    const { width, height } = image;
    Object.assign(canvas, { width, height });
    const scale = clamp(Math.min(Math.floor(160 / height), Math.floor((this.root.clientWidth || 600) / width)), 1, 4);
    canvas.style.aspectRatio = `${width} / ${height}`;
    canvas.style.width = `${width * scale}px`;
    const context = canvas.getContext("2d");
    context.putImageData(image, 0, 0);
    context.strokeStyle = "#ff5c00";
    context.lineWidth = Math.max(1, 2 / scale);
    const [sy, sx] = [height / size[0], width / size[1]];
    context.strokeRect(first[1] * sx, first[0] * sy, Math.max(columns * sx, 2), Math.max(rows * sy, 2));
  }

  drawStrip(still) {
    const { layout } = this;
    const here = placeOf(layout, this.index);
    const widest = layout.sizes.reduce((sum, size) => sum + String(size - 1).length + 1, 0);
    const width = Math.max(widest * 8 + 6, 26, String(layout.places).length * 7 + 4);
    const count = clamp(Math.floor((this.root.clientWidth || 600) / width), 4, 24);
    const inside = this.stripFirst !== undefined && here >= this.stripFirst && here < this.stripFirst + count;
    if (!(still && inside)) {
      this.stripFirst = clamp(here - Math.floor(count / 3), 0, Math.max(layout.places - count, 0));
    }
    const cells = [];
    for (let place = this.stripFirst; place < Math.min(this.stripFirst + count, layout.places); place++) {
      const index = indexAt(layout, place);
      const colour = this.colour(place);
      const cell = make("span", {
        role: "gridcell", class: index ? "cell" : "cell padding", "data-place": place,
        "aria-label": index ? `place ${place}, index ${show(index)}` : `place ${place}, padding`,
      }, make("b", {}, index ? index.join(",") || "()" : "·"), make("i", {}, String(place)));
      if (index) cell.firstChild.style = `background:${colour.css};color:${colour.text}`;
      if (layout.bits < 8 && bitOf(layout, place) % 8 === 0) cell.classList.add("byte");
      if (place === here) {
        cell.id = `${this.root.id}-place`;
        cell.classList.add("here");
        this.strip.setAttribute("aria-activedescendant", cell.id);
      }
      cells.push(cell);
    }
    this.strip.style.setProperty("--cell", `${width}px`);
    this.strip.replaceChildren(make("div", { role: "row", class: "row" }, ...cells));
  }

  drawFacts() {
    const { layout, index } = this;
    const place = placeOf(layout, index);
    const values = coordinates(layout, index);
    const terms = layout.axes.filter((axis) => axis.extent > 1).map((axis) => {
      const term = make("span", { class: "term", title: `${axis.name} = ${values[axis.coordinate]}, stride ${axis.stride}` });
      term.append(make("small", {}, axis.name), `${values[axis.coordinate]}·${axis.stride}`);
      return term;
    });
    if (layout.offset) terms.push(make("span", { class: "term" }, make("small", {}, "base"), String(layout.offset)));
    this.sum.replaceChildren(...terms.flatMap((term, at) => (at ? [" + ", term] : [term])), ` = ${place}`);
    const facts = [["index", show(index)], ["offset", `${place} of ${layout.places}`], ["byte", byteOf(layout, place)]];
    let within = [...index];
    layout.boxes.forEach((box, level) => {
      const cut = box.map((extent, d) => d).filter((d) => layout.boxes.some((b) => b[d] > 1));
      const number = cut.map((d) => Math.floor(within[d] / box[d]));
      within = within.map((value, d) => value % box[d]);
      facts.push([level ? "box within" : "tile", `${show(number)}, at ${show(cut.map((d) => within[d]))} in it`]);
    });
    this.facts.replaceChildren(...facts.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
  }
}
