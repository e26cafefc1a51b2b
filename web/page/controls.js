"use strict";
// Controls for the parts of a layout. They are made from the layout that the compiler read, and
// each change writes a new text: the text is the state.

const TYPES = ["f32", "bf16", "f16", "f64", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "pred", "s4", "u4", "s2", "u2", "f8e4m3fn", "f8e5m2", "f4e2m1fn", "c64", "c128"];
const TILES = ["", "(8,128)", "(8,128)(2,1)", "(8,128)(4,1)", "(2,128)", "(4,128)", "(1024)", "(2,2)"];
const VALUES = ["", "zero", "one", "lowest", "highest"];

/** Writes the text of a layout's parts. */
function notationOf(parts) {
  const head = `${parts.type}[${parts.dimensions}]`;
  const bits = Number(parts.bits) ? `E(${parts.bits})` : "";
  if (parts.strides) {
    const offset = parts.offset === "0" ? "" : `, offset: ${parts.offset}`;
    return `${head}${bits && `{:${bits}}`} strided<[${parts.strides}]${offset}>`;
  }
  const tiles = parts.tiles && `T${parts.tiles}`;
  const padded = parts.padded.length ? `PAD(${[...parts.padded, ...(parts.value ? [parts.value] : [])]})` : "";
  const fields = tiles + bits + padded;
  return `${head}{${parts.order}${fields && `:${fields}`}}`;
}

/** Makes a labelled control. */
function labelled(text, control) {
  return make("label", {}, make("span", {}, text), control);
}

function choice(values, chosen, say) {
  const select = make("select");
  for (const value of values.includes(chosen) ? values : [chosen, ...values]) select.append(new Option(say(value), value));
  select.value = chosen;
  return select;
}

/**
 * Shows in `root` an input for each number of the list in `text`, the part `name` of a layout or a
 * field. While the text is no list of `rank` integers, the last inputs stay.
 */
function showList(root, name, text, rank, least, write) {
  const numbers = text.split(",").map((number) => number.trim());
  const isList = numbers.length === rank && numbers.every((number) => /^-?\d+$/.test(number));
  // While a number is typed, its input stays: the reader's cursor is in it.
  if (isList && root.children.length === rank && root.contains(document.activeElement)) {
    root.querySelectorAll("input").forEach((input, at) => input === document.activeElement || (input.value = numbers[at]));
    return;
  }
  if (!isList) {
    // A list for another rank would change the rank of the text.
    if (rank && root.children.length !== rank) root.replaceChildren();
    return;
  }
  root.replaceChildren(...numbers.map((value, at) => {
    const input = make("input", { type: "number", min: least, value, "data-control": `${name}-${at}` });
    input.addEventListener("input", () => write([...root.querySelectorAll("input")].map((each) => each.value || "0").join(",")));
    return labelled(`d${at}`, input);
  }));
}

/**
 * Shows the controls for `parts` in `root`. `parts` is null if the text has no parts, or more than
 * the controls show. `write` is called with the text that a control makes. A control in use stays,
 * and so do all controls while the text `isHalf`, that is no layout yet.
 */
function showControls(root, parts, write, isHalf) {
  root.classList.toggle("half", isHalf);
  if (!parts && isHalf && root.parts) return;
  const focused = root.contains(document.activeElement) ? document.activeElement : undefined;
  // While a number is typed, its input stays: the reader's cursor is in it.
  const form = parts && [parts.dimensions.length, parts.padded?.length, parts.strides?.length].join();
  const stays = focused?.type === "number" && form === root.form;
  const text = parts ? JSON.stringify(parts) : String(isHalf);
  const same = text === root.shown;
  Object.assign(root, { parts, form, shown: stays ? undefined : text });
  if (stays || same) return;
  root.replaceChildren();
  if (!parts) {
    root.append(make("p", { class: "lead" }, isHalf ? "The controls follow when the text is a layout." : "The controls do not show all that this text says."));
    return;
  }
  const changed = (by) => write(notationOf({ ...root.parts, ...by }));
  const listen = (control, name, event, take) => {
    control.dataset.control = name;
    control.addEventListener(event, () => take(control.value));
    return control;
  };
  const button = (name, text, label, act, disabled = false) => {
    const made = make("button", { type: "button", "aria-label": label, title: label }, text);
    made.dataset.control = name;
    made.disabled = disabled;
    made.addEventListener("click", act);
    return made;
  };
  const group = (text, ...controls) => root.append(make("div", { role: "group", class: "part", "aria-label": text }, make("span", { title: text }, text.replace(/,.*/, "")), ...controls));
  const numbers = (text, part, least, take = (list) => changed({ [part]: list })) => group(text, ...parts[part].map((value, at) => {
    const input = make("input", { type: "number", min: least, value, "aria-label": `${text} of d${at}` });
    return listen(input, `${part}-${at}`, "input", (given) => take(root.parts[part].map((old, other) => (other === at ? given || "0" : old))));
  }));

  const rank = parts.dimensions.length;
  root.append(make("div", { class: "part" }, labelled("Type", listen(choice(TYPES, parts.type, (type) => type), "type", "change", (type) => changed({ type }))),
    labelled("Bits", listen(choice(["0", "1", "2", "4", "8", "16", "32", "64"], String(parts.bits), (bits) => (bits === "0" ? "the type's" : bits)), "bits", "change", (bits) => changed({ bits })))));
  numbers("Extent", "dimensions", 0, (dimensions) => {
    // A padded extent is never less than the extent.
    const padded = root.parts.padded?.map((value, at) => (Number(value) < Number(dimensions[at]) ? dimensions[at] : value));
    changed({ dimensions, padded });
  });
  const resized = (more) => {
    const now = root.parts;
    const cut = (list, value) => (more ? [...list, value] : list.slice(0, -1));
    const order = more ? [String(rank), ...(now.order ?? [])] : now.order?.filter((d) => d !== String(rank - 1));
    changed({
      dimensions: cut(now.dimensions, "2"), order,
      padded: now.padded?.length ? cut(now.padded, "2") : now.padded,
      strides: now.strides && cut(now.strides, "1"),
    });
  };
  root.lastChild.append(button("more", "+", "one more dimension", () => resized(true), rank >= 8),
    button("fewer", "−", "one dimension fewer", () => resized(false), rank === 0 || (parts.strides && rank === 1)));

  if (parts.strides) {
    numbers("Stride", "strides", "");
    const offset = make("input", { type: "number", min: 0, value: parts.offset });
    root.lastChild.append(labelled("Offset", listen(offset, "offset", "input", (given) => changed({ offset: given || "0" }))));
  } else {
    const major = [...parts.order].reverse();
    group("Order, major to minor", ...major.flatMap((dimension, at) => {
      const moved = (by) => {
        const list = [...major];
        [list[at], list[at + by]] = [list[at + by], list[at]];
        changed({ order: list.reverse() });
      };
      return [make("span", { class: "chip" },
        button(`left-${dimension}`, "‹", `d${dimension} more major`, () => moved(-1), at === 0), `d${dimension}`,
        button(`right-${dimension}`, "›", `d${dimension} more minor`, () => moved(1), at === rank - 1))];
    }));
    const tiles = listen(choice(TILES, parts.tiles, (text) => text || "none"), "tiles", "change", (chosen) => changed({ tiles: chosen }));
    const pads = parts.padded.length > 0;
    const padding = make("input", { type: "checkbox" });
    padding.checked = pads;
    padding.disabled = rank === 0;
    listen(padding, "padding", "change", () => changed({ padded: pads ? [] : root.parts.dimensions, value: "" }));
    root.append(make("div", { class: "part" }, labelled("Tiles", tiles), labelled("Padded", padding)));
    if (pads) {
      numbers("Padded to", "padded", 0);
      root.lastChild.append(labelled("with", listen(choice(VALUES, parts.value, (value) => value || "anything"), "value", "change", (value) => changed({ value }))));
    }
  }
  if (focused) root.querySelector(`[data-control="${focused.dataset.control}"]`)?.focus();
}
