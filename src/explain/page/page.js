"use strict";
// Puts the page together: the explorer, the strides that mark lines of the kernel, and the button that runs it.

const page = JSON.parse(document.getElementById("data").textContent);
const live = document.getElementById("live");
const views = {};

/** The reader points at `index` of one layout: every view shows where that element is. */
function choose(view, index, still = false) {
  view.place(index, still);
  let text = `Index ${show(index)} is at offset ${placeOf(view.layout, index)}, byte ${byteOf(view.layout, placeOf(view.layout, index))}`;
  if (page.window) {
    const [other, at] = view === views.source
      ? [views.destination, destinationOf(page, index)]
      : [views.source, originOf(page, index)];
    other.place(at);
    const verb = view === views.source ? "goes to" : "comes from";
    text += at === null
      ? "; the window leaves it out"
      : `; it ${verb} ${show(at)}, offset ${placeOf(other.layout, at)}, byte ${byteOf(other.layout, placeOf(other.layout, at))}`;
  }
  live.textContent = `${text}.`;
}

for (const name of ["source", "destination"]) {
  const root = document.getElementById(`explore-${name}`);
  if (root && page[name] && page[name].elements > 0) views[name] = new View(page[name], page.colours, root, choose);
}
if (views.source) {
  // A first element that moves, in an operation; index 0 else.
  const origin = page.window && views.destination && originOf(page, views.destination.index);
  const start = origin ?? views.source.index;
  choose(views.source, start);
  let width = 0;
  new ResizeObserver(() => {
    if (width !== document.body.clientWidth) {
      width = document.body.clientWidth;
      for (const view of Object.values(views)) view.place(view.index);
    }
  }).observe(document.body);
}

// Lines of the kernel that use a stride.
const lines = document.querySelectorAll("#wgsl .line");
for (const stride of document.querySelectorAll(".stride[data-lines]")) {
  const mark = (on) => {
    for (const line of stride.dataset.lines.split(",").filter(Boolean)) lines[line].classList.toggle("marked", on);
  };
  for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
    stride.addEventListener(event, () => mark(on));
  }
}

// The button.
const button = document.getElementById("run");
if (button) {
  const verdict = document.getElementById("verdict");
  const say = (word, text) => {
    verdict.dataset.verdict = word;
    verdict.textContent = text;
  };
  const run = async () => {
    button.disabled = true;
    const wgsl = [...lines].map((line) => line.textContent).join("\n");
    await runKernel(page, wgsl, say);
    button.disabled = false;
  };
  button.addEventListener("click", run);
  if (!navigator.gpu) say("no-webgpu", "This browser has no WebGPU, or the page was not opened from a file or over https. Everything else works without it.");
  if (location.hash === "#run") run();
}
