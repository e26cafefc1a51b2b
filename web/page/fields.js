"use strict";
// The fields of a kind. Each has a text, an error under it, and controls if it holds a layout.

const LABELS = { from: "Layout", to: "To", offsets: "Offsets", sizes: "Sizes", strides: "Steps", module: "HLO text" };
const HINTS = { to: "empty: dense rows", module: "HLO or StableHLO text, or a file with a module: drop it anywhere" };
const MEMORY_LABEL = "HLO text, lines of an out-of-memory report, or a layout";
/** The fields with a number for each dimension, and the least value of the numbers. */
const LISTS = { offsets: 0, sizes: 0, strides: "" };

/** The number of characters that are shown of a text on each side of an error. */
const CONTEXT = 40;

/** The fields of the page. `changed(name, text)` is called for edits, `dropped(file)` for files. */
class Fields {
  constructor(root, changed, dropped) {
    Object.assign(this, { root, changed, dropped });
    /** True if the reader wants the controls in the guide, and null before the first choice. */
    this.wantsInGuide = null;
  }

  /** Shows the fields of a state's kind with its texts. Fields that stay keep the cursor. */
  show(state) {
    if (this.kind !== state.kind) this.build(state.kind);
    // In the guide on a small screen, the text and the picture come first. Elsewhere the controls
    // are open until the reader folds them.
    const isGuide = Boolean(state.step);
    if (isGuide || this.isGuide) {
      const isOpen = !isGuide || (this.wantsInGuide ?? hasRoom());
      for (const { controls } of Object.values(this.fields)) if (controls) controls.parentElement.open = isOpen;
    }
    this.isGuide = isGuide;
    for (const [name, { input }] of Object.entries(this.fields)) {
      if (input.value !== state[name]) input.value = state[name];
    }
  }

  build(kind) {
    this.kind = kind;
    if (kind === "image") {
      this.fields = {};
      return this.root.replaceChildren();
    }
    this.fields = {};
    const rows = Object.keys(KINDS[kind].fields).map((name) => {
      const long = name === "module";
      const input = make(long ? "textarea" : "input", {
        id: `field-${name}`, "aria-describedby": `fault-${name}`, spellcheck: "false", autocapitalize: "off", autocomplete: "off",
        ...(long ? { rows: 8, wrap: "off" } : { type: "text" }),
        ...(kind === "slice" || long ? { placeholder: HINTS[name] ?? "" } : {}),
      });
      input.addEventListener("input", () => this.changed(name, input.value));
      const fault = make("div", { id: `fault-${name}`, class: "fault", role: "status" });
      const text = name === "from" && kind !== "layout" ? "From" : kind === "memory" ? MEMORY_LABEL : LABELS[name];
      const row = make("div", { class: `field field-${name}` }, make("label", { for: input.id }, text), input, fault);
      this.fields[name] = { input, fault };
      if (long) {
        const file = make("input", { type: "file", id: "file" });
        file.addEventListener("change", () => file.files[0] && this.dropped(file.files[0]));
        row.append(make("p", { class: "lead" }, make("label", { for: "file" }, "or a file: "), file));
      }
      if (name === "from" || name === "to") {
        const controls = make("div", { class: "layout-controls" });
        const folded = make("details", { open: "" }, make("summary", {}, "Controls"), controls);
        folded.firstChild.addEventListener("click", () => {
          if (this.isGuide) this.wantsInGuide = !folded.open;
        });
        folded.addEventListener("toggle", fitText);
        row.append(folded);
        this.fields[name].controls = controls;
      }
      if (name in LISTS) {
        this.fields[name].list = make("div", { class: "part", role: "group", "aria-label": LABELS[name] });
        row.append(this.fields[name].list);
      }
      return row;
    });
    this.root.replaceChildren(make("div", { class: `fields fields-${kind}` }, ...rows));
  }

  /** Forgets the layouts of the controls, so that none stays beside a text of another state. */
  forget() {
    for (const { controls } of Object.values(this.fields ?? {})) if (controls) controls.parts = null;
  }

  /**
   * Sets the controls to the parts of the layouts, and to the numbers in lists. `error` is that of
   * the whole question, and `isLayout(text)` is true if a text by itself is a layout.
   */
  showParts(parts, error, isLayout) {
    for (const [name, { input, controls, list }] of Object.entries(this.fields)) {
      const write = (text) => {
        input.value = text;
        this.changed(name, text);
      };
      if (controls) {
        controls.parentElement.hidden = input.value.trim() === "";
        // A question has one error, so that a text beside another one's error may be half typed too.
        const isHalf = Boolean(error) && (error.field === name || !parts || (!parts[name] && !isLayout(input.value)));
        showControls(controls, parts?.[name] ?? null, write, isHalf);
      }
      if (list) showList(list, name, input.value, parts?.from?.dimensions.length ?? 0, LISTS[name], write);
    }
  }

  /** Shows an error under its field, or none. Returns true if a field has it. */
  showError(error) {
    let shown = false;
    for (const [name, { input, fault }] of Object.entries(this.fields)) {
      const mine = error?.field === name;
      shown ||= mine;
      input.setAttribute("aria-invalid", String(Boolean(mine)));
      fault.replaceChildren(...(mine ? [...faultOf(input.value, error), ...reportOf(input.value)] : []));
    }
    return shown;
  }
}

/** The starts of the lines of XLA's out-of-memory report. */
const REPORTED = /\s+(?=(?:Size|Operator|Shape|Unpadded size|Extra memory due to padding|XLA label|Allocation type): )/g;

/** A link to the memory report of a text in the field of a layout, if it is lines of a report. */
function reportOf(text) {
  // A field of one line has blanks in place of line ends, so lines are found by their starts.
  const lines = ` ${text}`.replace(REPORTED, "\n").trim();
  if (!/^Shape: /m.test(lines)) return [];
  return [make("p", {}, make("a", { href: hashOf({ kind: "memory", module: lines }) }, "This is from an out-of-memory report: see what takes less ›"))];
}

/** Replaces characters that would move the text after them. */
const visible = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "·");

/** Shows an error as nodes: the line with a caret under the place, and the message. */
function faultOf(text, { message, place }) {
  const said = make("p", {}, message.length > 1200 ? `${message.slice(0, 1200)}…` : message);
  if (!place) return [said];
  const [start, end] = place;
  const from = Math.max(text.lastIndexOf("\n", start - 1) + 1, start - CONTEXT);
  const stop = text.indexOf("\n", start);
  const to = Math.min(stop < 0 ? text.length : stop, Math.max(end, start) + CONTEXT);
  const before = visible(text.slice(from, start));
  const at = visible(text.slice(start, Math.min(end, to, start + CONTEXT)));
  const after = visible(text.slice(start + at.length, to));
  const caret = `${" ".repeat(before.length)}${"^".repeat(Math.max(at.length, 1))}`;
  return [make("pre", { "aria-hidden": "true" }, before, make("mark", {}, at), after, "\n", caret), said];
}
