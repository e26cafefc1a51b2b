"use strict";
// The end of the guide: the reader computes the offset of an element in a tiling that is new.

/** Layouts of two tiles or partial ones, none of which the guide has. */
const EXERCISES = [
  "bf16[10,12]{1,0:T(4,8)(2,1)}", "f32[7,10]{1,0:T(4,4)}", "u8[12,20]{1,0:T(8,8)(4,1)}",
  "f32[3,6,9]{2,1,0:T(4,6)}", "s8[10,14]{1,0:T(4,8)(2,2)}", "f32[9,6]{0,1:T(4,4)}",
];

/**
 * The state of the exercise that the guide's links lead to: the one that the reader last saw, or one
 * drawn for the links.
 */
let latestExercise;

/** The exercises that the reader has solved since the page was loaded, with their elements. */
const solved = new Set();

/** The key of an exercise among those. */
const keyOf = (from, at) => `${from} ${at}`;

/** The state of the exercise after the layout `last`, or of the first; its element is random. */
function stateOfExercise(last) {
  const from = EXERCISES[(EXERCISES.indexOf(last) + 1) % EXERCISES.length];
  const sizes = /\[(.*)\]/.exec(from)[1].split(",").map(Number);
  // The element is in the second half of each dimension, so that few are in the first tile.
  const element = () => sizes.map((size) => size - 1 - Math.floor(Math.random() * Math.floor(size / 2)));
  let at = element();
  for (let tries = 0; tries < 20 && solved.has(keyOf(from, at)); tries++) at = element();
  return { kind: "layout", from, at: at.join(), step: String(GUIDE.length + 1) };
}

const isExercise = (state) => state.step === String(GUIDE.length + 1);

/** Derives the offset of an element: a sentence for each level of tiles, and the rows of a sum. */
function derivation(layout, index) {
  const cut = layout.boxed.map((coordinate) => layout.boxes.some((box) => box[coordinate] > 1));
  const tiled = (values) => values.filter((_, d) => cut[d]);
  const values = coordinates(layout, index);
  let at = tiled(layout.boxed.map((coordinate) => values[coordinate]));
  const sentences = boxesOf(layout, index).map((found, level) => {
    const extents = tiled(layout.boxed.map((coordinate) => layout.boxes[level][coordinate]));
    const taken = tiled(layout.boxed.map((coordinate) => layout.extents[coordinate])).map((size, d) => Math.ceil(size / extents[d]));
    // Each index of the dimensions that no tile cuts has tiles of its own.
    const planes = layout.boxed.filter((_, d) => !cut[d]).reduce((product, coordinate) => product * layout.extents[coordinate], 1);
    const whole = planes > 1 ? `Each of the ${planes} ${taken.length > 1 ? "planes" : "rows"}` : "The array";
    const count = level ? "" : ` ${whole} takes ${taken.join(" by ")} of them, of ${extents.reduce((product, extent) => product * extent)} places each.`;
    const [number, within] = [found.number, found.within].map(tiled);
    const divisions = extents.map((extent, d) => `${at[d]} = ${number[d]}·${extent} + ${within[d]}`).join(" and ");
    at = within;
    const what = level ? ["Boxes", "box"] : ["Tiles", "tile"];
    return `${what[0]} of ${extents.join(" by ")}: ${divisions}.${count} So the element is in ${what[1]} ${show(number)}, at ${show(within)} in it.`;
  });
  const rows = layout.axes.filter((axis) => axis.extent > 1)
    .map(({ name, coordinate, extent, stride }) => [name, values[coordinate], extent, stride, values[coordinate] * stride]);
  return { sentences, rows, offset: placeOf(layout, index) };
}

/** Frequent mistakes: the layout whose offset results from each, and a text about the mistake. */
function mistakes(from) {
  const tiles = from.match(/\([\d,]+\)/g) ?? [];
  const plain = from.replace(/:T.*}/, "}");
  const extents = (tiles[0] ?? "").match(/\d+/g)?.map(Number) ?? [];
  const order = /{([\d,]*)/.exec(from)?.[1].split(",").map(Number) ?? [];
  const whole = from.replace(/\[(.*)\]/, (_, sizes) => `[${sizes.split(",").map((size, d) => {
    const extent = extents[extents.length - 1 - order.indexOf(d)] ?? 1;
    return Math.max(size - (size % extent), extent);
  })}]`);
  return [
    [plain, "That is its offset without tiles."],
    ...(tiles.length > 1 ? [[from.replace(/:T.*}/, `:T${tiles[0]}}`), `That is its offset with the tile ${tiles[0]} alone. The next one cuts each tile again.`]] : []),
    [whole, "That leaves out the last tiles along a dimension, which are not full. They take the memory of whole ones."],
  ];
}

/** The number in an answer, or null if the text is not digits alone. */
const answerOf = (text) => (/^\s*\d+\s*$/.test(text) ? Number(text) : null);

/** The verdict on an answer, with the reason. */
function verdictOn(given, offset, from, index, layoutOf) {
  if (given === null) return "Expected a number from 0 up, in digits alone: the places before the element.";
  if (given === offset) return `${given} is right.`;
  const found = mistakes(from).find(([other]) => {
    const layout = other !== from && layoutOf(other);
    return layout && placeOf(layout, index) === given;
  });
  return `${given} is not its offset. ${found?.[1] ?? "Check each division, and how many places a tile and a row of tiles take."}`;
}

/**
 * Puts the exercise of a state into `root`. `layoutOf(notation)` returns a layout, or nothing, and
 * `reveal` shows the picture of the state. If the address names no element of the layout, a link to
 * the first exercise is shown.
 */
function showExercise(root, { from, at }, layoutOf, reveal) {
  const layout = layoutOf(from);
  const given = at?.split(",").map(Number);
  const holds = layout && given?.length === layout.sizes.length && given.every((value, d) => Number.isInteger(value) && value >= 0 && value < layout.sizes[d]);
  if (!holds) {
    root.append(make("p", {}, make("a", { href: hashOf(stateOfExercise()) }, "Begin ›")));
    return;
  }
  latestExercise = { kind: "layout", from, at, step: String(GUIDE.length + 1) };
  const { sentences, rows, offset } = derivation(layout, given);
  const input = make("input", { id: "predicted", inputmode: "numeric", autocomplete: "off", "aria-describedby": "verdict-on" });
  const verdict = make("p", { id: "verdict-on", role: "status" });
  const row = (cell, values) => make("tr", {}, ...values.map((value) => make(cell, cell === "th" ? { scope: "col" } : {}, String(value))));
  const why = make("details", { id: "why", hidden: "" }, make("summary", {}, "Why, step by step"),
    make("ol", {}, ...sentences.map((sentence) => make("li", {}, sentence)),
      make("li", {}, "These quotients and remainders are the digits of the index. The last digit has a stride of 1. Every other stride is the next one times the number of values of its digit; a tile that is not full counts whole."),
      make("li", {}, `Each digit adds its product with its stride: ${rows.map((values) => values[4]).join(" + ")} = ${offset}.`)),
    make("table", {}, make("caption", { hidden: "" }, "Digits, major to minor"), row("th", ["digit", "here", "values", "stride", "adds"]), ...rows.map((values) => row("td", values))));
  const to = (text, selector) => make("a", { href: hashOf(RELAYOUT), "data-show": selector }, text);
  const end = make("p", { id: "end", hidden: "" }, "This is the end of the guide. ", to("Run a relayout into the TPU's tiles of step 10 ›", "#run"), " or ", to("read its kernel ›", "#wgsl"));
  const form = make("form", {}, make("label", { for: "predicted" }, `Offset of the element ${show(given)} `), input, make("button", {}, "Check"));
  const key = keyOf(from, at);
  const check = () => {
    const answer = answerOf(input.value);
    const isRight = answer === offset;
    if (isRight) solved.add(key);
    verdict.textContent = verdictOn(answer, offset, from, given, layoutOf);
    verdict.dataset.verdict = isRight ? "pass" : "fail";
    // A slip of the keys is no answer, and reveals nothing.
    if (answer === null) return;
    why.hidden = false;
    // On a narrow screen, the picture comes first.
    why.open = isRight && hasRoom();
    if (!isRight) return;
    end.hidden = false;
    reveal();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    check();
  });
  why.addEventListener("toggle", () => why.open && reveal());
  root.append(make("p", {}, "The array is ", make("code", {}, from), ". Where is its element ", make("strong", {}, show(given)), "?"), form, verdict, why, end,
    make("p", {}, make("a", { href: hashOf(stateOfExercise(from)) }, "Another exercise ›")));
  // The reader comes back to an exercise with its answer.
  if (solved.has(key)) {
    input.value = String(offset);
    check();
  }
}
