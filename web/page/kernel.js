"use strict";
// Kernels in other languages, the lines of JavaScript that run them, and buttons that copy them.

const LANGUAGES = { wgsl: "WGSL", spirv: "SPIR-V", msl: "MSL", hlsl: "HLSL", glsl: "GLSL", js: "JavaScript" };

/** Makes a button that copies the result of `text`, a text or nothing, and says what it did. */
function copyButton(label, text) {
  const button = make("button", { type: "button" }, label);
  let clicks = 0;
  button.addEventListener("click", async () => {
    const copied = text();
    if (copied === undefined) return;
    const click = ++clicks;
    const said = await navigator.clipboard.writeText(copied).then(() => "Copied", () => "The browser does not allow it");
    button.textContent = said;
    setTimeout(() => {
      // The text may be of a later click, or say why nothing can be copied now.
      if (click === clicks && button.textContent === said) button.textContent = label;
    }, 1200);
  });
  return button;
}

/**
 * Puts tools above each kernel of `root`. `translate(language)` promises the kernels' texts, or an
 * error. `chosen(language)` is called when the reader chooses a language.
 */
function addTools(root, language, translate, chosen) {
  const kernels = [...root.querySelectorAll("#wgsl, pre.wgsl")].map((wgsl) => {
    const tabs = make("span", { role: "group", class: "tabs", "aria-label": "language of the kernel" });
    for (const [value, name] of Object.entries(LANGUAGES)) {
      const tab = make("button", { type: "button", value }, name);
      tab.addEventListener("click", () => {
        chosen(value);
        showIn(value);
      });
      tabs.append(tab);
    }
    const other = make("pre", { class: "translated", tabindex: "0" });
    const text = () => (other.hidden ? [...wgsl.querySelectorAll(".line")].map((line) => line.textContent).join("\n") : other.textContent);
    // The box is as high in every language.
    const lines = wgsl.querySelectorAll(".line").length;
    for (const box of [wgsl, other]) box.style.height = `calc(${Math.max(lines, 14) * 1.55}em + 1.6rem + 16px)`;
    const length = wgsl.previousElementSibling?.querySelector(".length");
    wgsl.before(make("p", { class: "tools" }, tabs, copyButton("Copy", text)));
    wgsl.after(other);
    return { wgsl, tabs, other, length, own: length?.textContent };
  });
  let shown;
  const showIn = async (name) => {
    shown = name;
    for (const { tabs } of kernels) for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(tab.value === name));
    const answer = name === "wgsl" || !kernels.length ? {} : await translate(name);
    // The reader may have chosen another language while the first translation was loaded.
    if (shown !== name) return;
    // Only the kernel in WGSL has lines that a stride marks.
    for (const sentence of root.querySelectorAll(".pointing")) sentence.hidden = name !== "wgsl";
    kernels.forEach(({ wgsl, other, length, own }, at) => {
      wgsl.hidden = name !== "wgsl";
      other.hidden = !wgsl.hidden;
      other.textContent = answer.error ? answer.error.message : answer.text ?? answer.texts?.[at] ?? "";
      other.setAttribute("aria-label", LANGUAGES[name]);
      const bytes = new TextEncoder().encode(other.textContent).length;
      if (length) length.textContent = wgsl.hidden && !answer.error ? `${grouped(bytes)} bytes of ${LANGUAGES[name]}` : own;
    });
  };
  showIn(Object.hasOwn(LANGUAGES, language) ? language : "wgsl");
  for (const pre of root.querySelectorAll("details > pre")) pre.before(make("p", { class: "tools" }, copyButton("Copy", () => pre.textContent)));
}
