"use strict";
// A picture from a file, and its channels as a network takes them: the kernel of a slice leaves out
// alpha, moves the channels, and looks normalised values up in a table.

/** The longest side of a picture that is shown, in pixels. */
const LONGEST_SIDE = 1024;
const CHANNELS = ["red", "green", "blue"];
/** The orders of the result, as layouts of the array [height, width, channels]. */
const IMAGE_ORDERS = { CHW: ["planes, one after another (CHW)", "1,0,2"], HWC: ["pixels of three values (HWC)", "2,1,0"] };
const IMAGE_TYPES = { u8: "u8, the bytes as they are", f16: "f16, normalised", f32: "f32, normalised" };

/** A picture of the page's own. */
function samplePicture() {
  const canvas = make("canvas", { width: 96, height: 64 });
  const context = canvas.getContext("2d");
  const sky = context.createLinearGradient(0, 0, 96, 64);
  for (const [at, colour] of [[0, "#1d4ed8"], [0.5, "#a7f3d0"], [1, "#facc15"]]) sky.addColorStop(at, colour);
  context.fillStyle = sky;
  context.fillRect(0, 0, 96, 64);
  context.fillStyle = "#dc2626";
  context.beginPath();
  context.arc(64, 26, 16, 0, 2 * Math.PI);
  context.fill();
  return context.getImageData(0, 0, 96, 64);
}

/** The pixels of a picture's file, in a size that a page shows. */
async function pictureOf(file) {
  const bitmap = await createImageBitmap(file);
  try {
    const scale = Math.min(LONGEST_SIDE / Math.max(bitmap.width, bitmap.height), 1);
    const [width, height] = [bitmap.width, bitmap.height].map((side) => Math.max(Math.round(side * scale), 1));
    const canvas = make("canvas", { width, height });
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0, width, height);
    return context.getImageData(0, 0, width, height);
  } finally {
    bitmap.close();
  }
}

/** The three numbers of a text, or null. */
function threeNumbers(text, isRight) {
  const numbers = text.split(",").map((number) => (number.trim() ? Number(number) : NaN));
  return numbers.length === 3 && numbers.every((number) => Number.isFinite(number) && isRight(number)) ? numbers : null;
}

/** The question for the kernel that makes the planes of a picture. */
function imageQuestion({ type, order }, { width, height }) {
  return {
    kind: "kernel", from: `u8[${height},${width},4]`, to: `${type}[${height},${width},3]{${IMAGE_ORDERS[order][1]}}`,
    offsets: "0,0,0", sizes: `${height},${width},3`, strides: "1,1,1",
  };
}

/** The values of each byte of each channel; alpha has a row too, which is not read. */
function imageTable(type, mean, deviation) {
  const bytes = new Uint8Array((4 * 256 * FLOAT_BYTES[type]));
  for (let channel = 0; channel < 3; channel++) {
    for (let byte = 0; byte < 256; byte++) {
      const value = (byte / 255 - mean[channel]) / deviation[channel];
      writeBits(bytes, (channel * 256 + byte) * FLOAT_BYTES[type] * 8, FLOAT_BYTES[type] * 8, bitsOfFloat(type, value, value < 0));
    }
  }
  return bytes;
}
const FLOAT_BYTES = { f16: 2, f32: 4 };

/** The expected result: the same values, from loops over pixels and channels. */
function expectedPlanes(picture, { type, order }, table) {
  const pixels = picture.width * picture.height;
  const bytes = FLOAT_BYTES[type] ?? 1;
  const image = new Uint8Array(3 * pixels * bytes);
  for (let pixel = 0; pixel < pixels; pixel++) {
    for (let channel = 0; channel < 3; channel++) {
      const value = picture.data[4 * pixel + channel];
      const to = (order === "CHW" ? channel * pixels + pixel : 3 * pixel + channel) * bytes;
      if (!table) image[to] = value;
      else for (let byte = 0; byte < bytes; byte++) image[to + byte] = table[(256 * channel + value) * bytes + byte];
    }
  }
  return image;
}

/** The section of pictures. `ask` asks the compiler, and `changed` is told the new state. */
class ImageSection {
  constructor(root, ask, changed) {
    Object.assign(this, { root, ask, changed, run: 0, taken: 0 });
  }

  /** True if the picture is the reader's own, which no link holds. */
  get isOwn() {
    return Boolean(this.file);
  }

  /** Shows the picture of a file, unless a later file is taken before it is read. */
  async take(file) {
    const number = ++this.taken;
    const picture = await pictureOf(file).catch(() => null);
    if (number !== this.taken) return;
    if (!picture) {
      // A check that is running would replace the message.
      this.run += 1;
      if (this.verdict) this.say("fail", `${file.name} is no picture that this browser reads.`);
      return;
    }
    Object.assign(this, { picture, file: file.name });
    this.changed({});
  }

  show(state) {
    this.picture ??= samplePicture();
    const known = { ...state, type: Object.hasOwn(IMAGE_TYPES, state.type) ? state.type : "u8", order: Object.hasOwn(IMAGE_ORDERS, state.order) ? state.order : "CHW" };
    if (!this.root.querySelector("#image-file")) this.build(known);
    for (const name of ["mean", "deviation"]) {
      const { input } = this[name];
      if (input.value !== known[name]) input.value = known[name];
      input.parentElement.hidden = known.type === "u8";
    }
    this.type.value = known.type;
    this.order.value = known.order;
    this.make(known);
  }

  build() {
    const select = (names, name) => {
      const made = choice(Object.keys(names), "", (key) => (Array.isArray(names[key]) ? names[key][0] : names[key]));
      made.querySelector('[value=""]')?.remove();
      made.id = `image-${name}`;
      made.addEventListener("change", () => this.changed({ [name]: made.value }));
      return made;
    };
    this.type = select(IMAGE_TYPES, "type");
    this.order = select(IMAGE_ORDERS, "order");
    for (const name of ["mean", "deviation"]) {
      const input = make("input", { id: `image-${name}`, size: 18, autocomplete: "off" });
      input.addEventListener("input", () => this.changed({ [name]: input.value }));
      this[name] = { input };
    }
    const file = make("input", { type: "file", id: "image-file", accept: "image/*" });
    file.addEventListener("change", () => file.files[0] && this.take(file.files[0]));
    this.pictures = make("div", { class: "planes" });
    this.verdict = make("p", { id: "image-verdict", role: "status" });
    this.kernel = make("div");
    this.root.replaceChildren(make("h1", {}, "The planes of a picture"),
      make("p", { class: "part" }, labelled("Picture", file), labelled("Values", this.type), labelled("Order", this.order),
        labelled("Mean", this.mean.input), labelled("Deviation", this.deviation.input)),
      this.pictures, this.verdict, this.kernel);
  }

  async make(state) {
    const run = ++this.run;
    const { picture } = this;
    const isTable = state.type !== "u8";
    const mean = threeNumbers(state.mean, () => true);
    const deviation = threeNumbers(state.deviation, (number) => number !== 0);
    if (isTable && !(mean && deviation)) {
      this.say("fail", `Expected three numbers with commas between them${mean ? ", none of them 0, as deviations" : ""}.`);
      return;
    }
    const table = isTable ? imageTable(state.type, mean, deviation) : null;
    const question = imageQuestion(state, picture);
    const answer = this.ask(isTable ? { ...question, table: 2 } : question, table ?? "");
    if (answer.error) return this.say("fail", answer.error.message);
    const expected = expectedPlanes(picture, state, table);
    this.draw(state, picture, expected, mean, deviation);
    this.tell(question, answer.kernel, isTable);
    await this.check(run, answer.kernel, [picture.data, ...(table ? [table] : [])], expected);
  }

  say(word, text) {
    this.verdict.dataset.verdict = word;
    this.verdict.textContent = text;
  }

  /** Runs the kernel, and compares each byte with the expected result. */
  async check(run, kernel, inputs, expected) {
    const say = (...said) => run === this.run && this.say(...said);
    let gpu;
    try {
      gpu = await openDevice(kernel.bindings.map(({ sizeInBytes }) => sizeInBytes));
    } catch (error) {
      return say("no-webgpu", `${error.message} So JavaScript has made these pictures, not the kernel.`);
    }
    try {
      const given = await new KernelRunner(gpu.device).run(kernel, ...inputs);
      const wrong = firstDifference(expected, given, expected.length);
      if (wrong >= 0) say("fail", `Byte ${wrong}: expected ${expected[wrong]}, got ${given[wrong]}.`);
      else say("pass", `The kernel below has made all ${expected.length} bytes on ${gpu.name}.`);
    } catch (error) {
      say("fail", error.message);
    } finally {
      gpu.device.destroy();
    }
  }

  /** Draws the picture, and the result as grey levels in the order of memory. */
  draw({ type, order }, picture, image, mean, deviation) {
    const { width, height } = picture;
    const bytes = FLOAT_BYTES[type] ?? 1;
    const grey = (at, channel) => {
      if (type === "u8") return image[at];
      const value = floatOf(type, readBits(image, at * bytes * 8, bytes * 8));
      return 255 * (value * deviation[channel] + mean[channel]);
    };
    const drawn = (name, across, start, channelOf) => {
      const canvas = make("canvas", { width: across, height, role: "img", "aria-label": name });
      const out = new ImageData(across, height);
      for (let at = 0; at < across * height; at++) {
        const value = grey(start + at, channelOf(at));
        out.data.set([value, value, value, 255], 4 * at);
      }
      canvas.getContext("2d").putImageData(out, 0, 0);
      return make("figure", {}, canvas, make("figcaption", {}, name));
    };
    const original = make("canvas", { width, height, role: "img", "aria-label": "the picture" });
    original.getContext("2d").putImageData(picture, 0, 0);
    const figures = order === "CHW"
      ? CHANNELS.map((name, channel) => drawn(`${name}, from offset ${channel * width * height}`, width, channel * width * height, () => channel))
      : [drawn("rows of red, green and blue in turn", 3 * width, 0, (at) => at % 3)];
    this.pictures.classList.toggle("one", order === "HWC");
    this.pictures.replaceChildren(make("figure", {}, original, make("figcaption", {}, this.file ?? "a picture of this page")), ...figures);
  }

  /** Shows the operation and its kernel. */
  tell({ from, to, offsets, sizes, strides }, kernel, isTable) {
    const pre = make("pre", { class: "wgsl", tabindex: "0", "aria-label": "WGSL" });
    for (const line of kernel.wgsl.trimEnd().split("\n")) pre.append(make("span", { class: "line" }, line));
    const link = make("a", { href: hashOf({ kind: "slice", from, offsets, sizes, strides, to: isTable ? to.replace(/^f\d+/, "u8") : to }) }, "See the layouts as a slice");
    const link2 = isTable ? ", without the table" : "";
    this.kernel.replaceChildren(make("h2", {}, "The kernel"),
      make("p", {}, "From ", make("code", {}, from), " without alpha to ", make("code", {}, to), isTable ? ", each byte looked up in the table of its channel. " : ". ", link, `${link2}.`),
      make("p", { class: "tools" }, copyButton("Copy", () => kernel.wgsl)), pre);
  }
}
