"use strict";
// The memory of buffers, and layouts that take less.

/** The dimensions of a shape in XLA's notation, the most major one first. */
const majorToMinor = (shape) => /{([\d,]*)/.exec(shape)[1].split(",").reverse();

function showMemory(root, { buffers, more, unknown, sums }) {
  const link = (text, state) => make("a", { href: hashOf(state) }, make("code", {}, text));
  const named = buffers.some(({ name }) => name);
  const numbers = ["in memory", "elements", "factor"];
  const texts = ["layout", "the cheapest order", ...(named ? ["buffer"] : [])];
  const row = ({ name, computation, shape, isArray, bytes, unpadded, factor, cheapest }) => {
    const cell = (column, kind, ...content) => make("td", { role: "cell", "data-name": column, class: kind }, ...content);
    const advice = cell("the cheapest order", "text");
    if (cheapest) advice.append(`${cheapest.saved} less as `, link(cheapest.shape, { kind: "relayout", from: shape, to: cheapest.shape }));
    else advice.append("no order of the dimensions takes less");
    return make("tr", { role: "row" }, ...[bytes, unpadded, `${factor}×`].map((text, at) => cell(numbers[at], "", text)),
      cell("layout", "text", isArray ? link(shape, { kind: "layout", from: shape }) : make("code", {}, shape)), advice,
      ...(named ? [cell("buffer", "text", name + (computation && ` (${computation})`))] : []));
  };
  const head = [...numbers.map((text) => make("th", { scope: "col" }, text)), ...texts.map((text) => make("th", { scope: "col", class: "text" }, text))];
  // A narrow screen shows each row as a list. The roles say that it is still a table.
  const table = make("table", { role: "table", class: "stacked" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", { role: "rowgroup" }, ...buffers.map(row)));
  const total = make("table", {}, make("tbody", {}, ...sums.map(([name, bytes]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, bytes)))));
  const notes = [];
  // The most urgent answer comes first, so that a narrow screen shows it too.
  const [worst] = buffers;
  const answer = worst?.cheapest && make("p", { class: "answer" }, `${worst.name || "It"} takes ${worst.bytes} for ${worst.unpadded} of elements, and `,
    make("strong", {}, `${worst.cheapest.saved} less`), " in the order ", link(worst.cheapest.shape, { kind: "relayout", from: worst.shape, to: worst.cheapest.shape }), ". ", copyButton("Copy the layout", () => worst.cheapest.shape),
    ` XLA chooses layouts itself; the array that has this order by default is `, make("code", {}, `jnp.transpose(x, (${majorToMinor(worst.cheapest.shape).join(", ")}))`), ".");
  if (more) notes.push(`${more} more buffers, with less padding, are not listed.`);
  if (unknown) notes.push(`${unknown} shapes have extents or layouts whose bytes are not known.`);
  root.replaceChildren(make("h1", {}, "Buffers, the most padding first"), ...(answer ? [answer] : []),
    make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "buffers" }, table),
    ...notes.map((note) => make("p", {}, note)), make("h2", {}, "In all"), total);
}
