"use strict";
// Ten steps from strides to tiles of tiles, and an exercise. Each step shows a layout, which the
// reader may change, and has a question. If the answer is the place of an element, its index and
// its offset follow the answer. The lead has at most five lines on a telephone, so that the picture
// stays on the first screen, and defines the words of the step; the text is folded there. A part of
// the text may be a link that shows a layout.

const GUIDE = [
  {
    title: "Memory is one row of places",
    lead: "A layout gives each element a place, whose number is its offset. A stride is the number of places that a step along a dimension adds. {1,0} means that rows follow each other.",
    text: [
      "An array of 2 rows and 3 columns has six elements, and memory has six places, numbered from 0. The element (1,2) is that of row 1 and column 2; rows and columns are counted from 0 too.",
      "f32[2,3] is such an array of 32-bit floats, as XLA writes it, the compiler of JAX and TensorFlow. Here rows follow each other, an order that XLA writes as {1,0}. One step along a row, dimension d1, adds 1 to the offset, and one step down, d0, adds 3. These two numbers are the strides: the offset of (1,2) is 1·3 + 2·1. Point at cells to see the sum.",
    ],
    layout: "f32[2,3]{1,0}",
    ask: ["Where is the element (1,2)?", "1·3 + 2·1 = 5, the last place.", [1, 2], 5],
  },
  {
    title: "The order of the dimensions",
    lead: "Braces list the dimensions, the fastest in memory first: here d0, so that columns lie together.",
    text: [
      "Neighbours along the fastest dimension are neighbours in memory. In {0,1} this is d0: the elements of a column follow each other, and then comes the next column. The fastest dimension is also called the minor one, and the slowest the major one: XLA's messages call this list minor_to_major.",
      "Change the order with the controls, which the line Controls opens and closes. They list the major dimension first. See how the strides change. The array stays the same; only its memory differs.",
    ],
    layout: "f32[2,3]{0,1}",
    ask: ["Where is the element (0,2) now?", "A step along d1 adds 2, as a column has two elements: 0·1 + 2·2 = 4. In the order {1,0} it was at 2.", [0, 2], 4],
  },
  {
    title: "More dimensions",
    lead: "The extent of a dimension is the number of its indices. The stride of a dimension is the product of the extents of all faster ones.",
    text: [
      "The extents of f32[2,3,4] are 2, 3 and 4. In {2,1,0} the last dimension is the fastest: the strides are 3·4 = 12, 4 and 1.",
      "With four dimensions the orders have names. If d0 counts images (N), d1 channels (C), d2 rows (H) and d3 columns (W), {3,2,1,0} is NCHW and {1,3,2,0} is NHWC: the letters list the slowest dimension first, and the braces the fastest.",
    ],
    layout: "f32[2,3,4]{2,1,0}",
    ask: ["What are the strides of f32[2,3,4] in the order {0,2,1}?", "d0 is the fastest, then d2, then d1: 1 for d0, 2 for d2, 2·4 = 8 for d1."],
  },
  {
    title: "Strides of your own",
    lead: "Strides need not be products of extents: here rows of 3 elements begin 5 places apart.",
    text: [
      "If rows of 3 elements begin 5 places apart, the places between are padding, which holds no element. NumPy, PyTorch and DirectML, the library of Windows for machine learning, describe memory so.",
      "A stride of 0 shows one element many times; a negative one goes backwards. XLA's notation has neither. This page, whose compiler is called stridec, writes them as strided<[…]>.",
    ],
    layout: "f32[2,3] strided<[5,1]>",
    ask: ["How many places does f32[4,3] strided<[5,1]> reach over?", "The last element, (3,2), is at 3·5 + 2 = 17, so there are 18 places; 12 of them hold elements."],
  },
  {
    title: "Padded dimensions",
    lead: "A dimension may take a larger extent in memory; the cells past the array are padding.",
    text: [
      "This step may be skipped. TensorFlow 1.x padded arrays in another way: each dimension takes a larger extent in memory, and the cells past the array hold a padding value. The strides are products of the padded extents.",
      "PAD has a number for each dimension, d0 first, and then the value of the padding: PAD(3,5,zero) makes the extent of d0 3 and that of d1 5, whatever the order is. So 2 rows and 3 columns are padded to 3 by 5, and a column takes 3 places.",
    ],
    layout: "f32[2,3]{0,1:PAD(3,5,zero)}",
    ask: ["Where is the element (1,2)?", "1·1 + 2·3 = 7; of 15 places, 9 are padding.", [1, 2], 7],
  },
  {
    title: "A tile",
    lead: "T(2,2) cuts the array into tiles of 2 by 2, whose elements lie together. The digits of an index say in which tile it is, and where in it; each has a stride.",
    text: [
      "Tiles follow each other in the order of the layout, and so do the elements within a tile: here along rows first. So an index becomes four numbers: which tile down, which tile across, and the row and the column within the tile. They are called digits, like the hours and the minutes of a time of day. A division gives the tile, and its remainder the row or the column: d0/2, d1/2, d0%2, d1%2. The offset is the sum of the digits, each times its stride. The last digit has a stride of 1, and every other stride is the next one times the number of values of its digit.",
      "The last number of a tile cuts the fastest dimension, and the number before it the next one: in {0,1}, T(8,128) cuts d0 into pieces of 128 and d1 into pieces of 8. Slower dimensions are not cut.",
    ],
    layout: "f32[4,6]{1,0:T(2,2)}",
    ask: ["Where is the element (2,3)?", "It lies in tile (1,1), at row 0 and column 1 of it. A row of tiles has 3 tiles of 4 places: 1·12 + 1·4 + 0·2 + 1 = 17.", [2, 3], 17],
  },
  {
    title: "A partial tile",
    lead: "A tile that is not full takes the memory of a whole one.",
    text: [
      "Here 3 rows and 5 columns do not fill the last tiles of 2 by 2. The places of a tile past the array are padding. This is the example of XLA's page on tiled layouts.",
      "15 elements take 24 places here.",
    ],
    layout: "f32[3,5]{1,0:T(2,2)}",
    ask: ["Where is the element (2,3)?", "It lies in tile (1,1), at row 0 and column 1 of it. A row still has 3 tiles, of which the last is half full: 1·12 + 1·4 + 0·2 + 1 = 17.", [2, 3], 17],
  },
  {
    title: "The tile of the TPU, and what it costs",
    lead: "The TPU, a processor for neural networks, takes arrays in tiles of 8 by 128. So a small fastest dimension costs much memory.",
    text: [
      "A processor computes in registers, its smallest and fastest memory. One of the TPU, which is Google's, holds 8 rows of 128 numbers of 32 bits, and so XLA lays arrays out in tiles of 8 by 128 there. An array of 20 by 200 takes 3 by 2 tiles.",
      ["If the fastest dimension is small, most of each tile is padding: a table of 3 columns takes as much memory as one of 128. See ", { layout: "f32[1024,3]{1,0:T(8,128)}" }, ", and then the same table with its dimensions exchanged: ", { layout: "f32[1024,3]{0,1:T(8,128)}" }, "."],
    ],
    layout: "f32[20,200]{1,0:T(8,128)}",
    ask: ["How many places does f32[1024,3]{1,0:T(8,128)} take, and how many in the order {0,1}?", "1024·128 = 131\u00a0072, as 3 columns take 128. In {0,1} d1 is the slowest dimension, which is cut into pieces of 8: its 3 columns take 8, and 8·1024 = 8192, a sixteenth."],
  },
  {
    title: "Tiles of tiles",
    lead: "A second tile cuts each tile again: T(2,4)(2,1) interleaves pairs of rows.",
    text: [
      "The second tile follows the same rule. T(2,4)(2,1) cuts each tile of 2 by 4 into boxes of 2 by 1: a column of two elements. So pairs of rows are interleaved: (0,0), (1,0), (0,1), (1,1) and so on. The two numbers of the second tile cut the row and the column within the first tile again, so there are six digits. A digit that can only be 0 adds nothing and is left out: a tile of two rows has one pair of rows, so the number of the pair is always 0.",
      "Formats such as bfloat16 need this: two numbers of 16 bits, one above the other, share a word of 32 bits.",
    ],
    layout: "bf16[4,8]{1,0:T(2,4)(2,1)}",
    ask: ["Where is the element (1,5)?", "It lies in the tile (0,1), which begins at 8, at row 1 and column 1 of it. The pair of column 1 begins 2 places further, and row 1 is the second of the pair: 8 + 2 + 1 = 11.", [1, 5], 11],
  },
  {
    title: "All of it",
    lead: "Tiles of 8 by 128 places, and in them pairs of rows that share words of 32 bits. A click on the map below the picture moves the picture there.",
    text: [
      "This is how a TPU holds an array of bfloat16: tiles of 8 by 128, and in them pairs of rows, of which the two elements of a column share a word. Divisions and remainders take each index apart, and the offset is a sum of products of these digits and their strides.",
      "Moving an array from rows to this layout is a relayout. The program that a GPU runs for it is called a kernel. After the exercise that comes next, links show this kernel and run it on your GPU.",
    ],
    layout: "bf16[16,256]{1,0:T(8,128)(2,1)}",
    ask: ["Where is the element (3,130)?", "It lies in the tile (0,1), which begins at 1024, at row 3 and column 2 of it. Rows 2 and 3 are the second pair of rows, and begin 256 places further, after 2·128 elements. A column of a pair has 2 places, so that column 2 begins at 4, and row 3 is the second of its pair: 1024 + 256 + 4 + 1 = 1285.", [3, 130], 1285],
  },
];

/** The exercise after the last step; its tilings are in `exercise.js`. */
const EXERCISE = {
  title: "A new tiling",
  lead: "Work the offset out. The picture comes with the answer.",
  text: ["First find the tile that the element lies in, and its row and column there; then the box within the tile if there is one; and then the sum."],
};

/** The state of a step; the first step is 0. The exercise is the one that the reader last saw. */
const stateOfStep = (at) => (at < GUIDE.length ? { kind: "layout", from: GUIDE[at].layout, step: String(at + 1) } : latestExercise ??= stateOfExercise());

/** The relayout that the end of the guide shows. */
const RELAYOUT = { kind: "relayout", from: "bf16[16,256]{1,0}", to: "bf16[16,256]{1,0:T(8,128)(2,1)}" };

/** True if a screen has room for texts beside the picture. */
const hasRoom = () => matchMedia("(min-width: 1100px) and (min-height: 700px)").matches;

/** True if the reader wants the text of the steps, and null before the first choice. */
let wantsText = null;

/** The least height of a step's text that scrolls, in pixels: five lines. */
const LEAST_TEXT = 112;

/**
 * Limits the height of a step's text on a small screen. Beside the picture, the text ends at the
 * bottom of the screen. Above the picture, it leaves room for the picture with its sum and map.
 */
function fitText() {
  const box = document.querySelector("#guide .box");
  if (!box) return;
  // Without a limit nothing scrolls, and the reader's place would be lost.
  const { scrollTop } = box;
  box.style.maxHeight = "none";
  if (!hasRoom() && box.checkVisibility()) {
    const bottom = (...parts) => Math.max(...parts.map((part) => (part ? part.getBoundingClientRect().bottom + scrollY : 0)));
    const find = (selector) => document.querySelector(selector);
    const isBeside = matchMedia("(min-width: 760px)").matches;
    const live = find("#live")?.offsetHeight ?? 0;
    const end = isBeside ? bottom(find("#question"), find("#notations")) : bottom(...["sum", "overview", "caption:not(.rest)"].map((name) => find(`#first .${name}`))) + live;
    box.style.maxHeight = `${Math.max(box.offsetHeight - Math.max(end + 8 - innerHeight, 0), LEAST_TEXT)}px`;
  }
  box.scrollTop = scrollTop;
  fadeText(box);
}

/** Fades the end of a text that goes on below its box. */
const fadeText = (box) => box.classList.toggle("goes-on", box.scrollHeight - box.scrollTop - box.clientHeight > 4);

/**
 * Shows the step that a state names, if any. `layoutOf` and `reveal` are for the exercise, and
 * `choose` shows the element of an answer in the picture of its layout.
 */
function showGuide(root, state, layoutOf, reveal, choose) {
  const at = Number(state.step) - 1;
  const entries = [...GUIDE, EXERCISE];
  const entry = entries[at];
  root.hidden = !entry;
  // Another layout changes nothing in the guide, so an answer that is open stays open.
  const shown = entry?.ask ? state.step : "";
  if (shown && root.dataset.shown === shown) return;
  root.dataset.shown = shown;
  // Keyboard focus continues from here.
  const wasIn = root.contains(document.activeElement);
  if (!entry) return root.replaceChildren();
  const link = (to, text) => make("a", { href: hashOf(stateOfStep(to)) }, text);
  const steps = entries.map(({ title }, to) => {
    const item = make("li", {}, link(to, title));
    if (to === at) item.firstChild.setAttribute("aria-current", "step");
    return item;
  });
  const heading = make("h2", { tabindex: "-1" }, `${at + 1} of ${entries.length}: ${entry.title}`);
  const asked = make("div", { class: "question" });
  if (entry.ask) {
    const [question, answer, index] = entry.ask;
    const details = make("details", {}, make("summary", {}, question), make("p", {}, answer));
    if (index) details.addEventListener("toggle", () => details.open && choose(entry.layout, index));
    asked.append(details);
  } else {
    showExercise(asked, state, layoutOf, reveal);
  }
  const part = (given) => (given.layout ? make("a", { href: hashOf({ ...stateOfStep(at), from: given.layout }) }, make("code", {}, given.layout)) : given);
  // On a small screen the text scrolls in a box, so that the picture stays in sight. If it is above
  // the picture, as on a telephone, it opens only when the reader wants it.
  const text = make("details", { class: "text" }, make("summary", {}, "More"),
    make("div", { class: "box", tabindex: "0", role: "group", "aria-label": "more about this step" }, ...entry.text.map((text) => make("p", {}, ...[text].flat().map(part)))));
  text.open = wantsText ?? matchMedia("(min-width: 760px)").matches;
  text.firstChild.addEventListener("click", () => (wantsText = !text.open));
  text.addEventListener("toggle", fitText);
  text.lastChild.addEventListener("scroll", ({ target }) => fadeText(target));
  root.replaceChildren(heading,
    make("div", { class: "ways" }, make("p", { class: "steps" }, ...(at > 0 ? [link(at - 1, "‹ Back")] : []),
      at + 1 < entries.length ? link(at + 1, "Next ›") : make("a", { href: hashOf(RELAYOUT) }, "A relayout ›")),
      make("details", { class: "all" }, make("summary", {}, "All steps"), make("ol", {}, ...steps))),
    make("p", { class: "lead" }, entry.lead), text, asked,
  );
  if (wasIn) (root.querySelector("#predicted") ?? heading).focus();
}
