"use strict";
// Kernels in other languages, and buttons that copy them.

const LANGUAGES = { wgsl: "WGSL", spirv: "SPIR-V", msl: "MSL", hlsl: "HLSL", glsl: "GLSL" };

/** Makes a button that copies the result of `text`. */
function copyButton(label, text) {
  const button = make("button", { type: "button" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = label), 1200);
  });
  return button;
}

/**
 * Puts tools above each kernel of `root`. `translate(language)` promises the kernels' texts, or an
 * error. `chosen(language)` is called when the reader chooses a language.
 */
function addTools(root, language, translate, chosen) {
  const kernels = [...root.querySelectorAll("#wgsl, pre.wgsl")].map((wgsl) => {
    const select = make("select", { "aria-label": "language of the kernel" });
    for (const [value, name] of Object.entries(LANGUAGES)) select.append(new Option(name, value));
    const other = make("pre", { class: "translated", tabindex: "0" });
    const text = () => (other.hidden ? [...wgsl.querySelectorAll(".line")].map((line) => line.textContent).join("\n") : other.textContent);
    wgsl.before(make("p", { class: "tools" }, select, copyButton("Copy", text)));
    wgsl.after(other);
    select.addEventListener("change", () => {
      chosen(select.value);
      showIn(select.value);
    });
    return { wgsl, select, other };
  });
  const showIn = async (name) => {
    for (const { select } of kernels) select.value = name;
    const answer = name === "wgsl" || !kernels.length ? {} : await translate(name);
    kernels.forEach(({ wgsl, select, other }, at) => {
      // The reader may have chosen another language while the first translation was loaded.
      if (select.value !== name) return;
      wgsl.hidden = name !== "wgsl";
      other.hidden = !wgsl.hidden;
      other.textContent = answer.error ? answer.error.message : answer.texts?.[at] ?? "";
      other.setAttribute("aria-label", LANGUAGES[name]);
    });
  };
  showIn(Object.hasOwn(LANGUAGES, language) ? language : "wgsl");
  for (const pre of root.querySelectorAll("details > pre")) pre.before(make("p", { class: "tools" }, copyButton("Copy", () => pre.textContent)));
}
