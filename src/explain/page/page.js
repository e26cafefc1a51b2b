"use strict";
// Puts a picture's page together: the explorer, the strides that mark lines of the kernel, and the
// button that runs it.

/**
 * Makes the content `root` of a picture interactive, as `page` describes it, and returns a function
 * that ends it. The index `start` of the source is shown first. `told` is called with each index of
 * the source that the reader points at.
 */
function showLayouts(root, page, start, told = () => {}) {
  const live = root.querySelector("#live");
  const views = {};
  let shown = false;

  /** Shows in every view the element at `index` of one layout, which the reader points at. */
  function choose(view, index, still = false) {
    view.place(index, still);
    const total = page.window ? "" : ` of ${grouped(view.layout.places)} places`;
    let text = `Index ${show(index)} is at offset ${placeOf(view.layout, index)}${total}, byte ${byteOf(view.layout, placeOf(view.layout, index))}`;
    if (page.window) {
      const [other, at] = view === views.source
        ? [views.destination, destinationOf(page, index)]
        : [views.source, originOf(page, index)];
      other?.place(at);
      const verb = view === views.source ? "goes to" : "comes from";
      text += at === null
        ? "; the window leaves it out"
        : `; it ${verb} ${show(at)}, offset ${placeOf(other.layout, at)}, byte ${byteOf(other.layout, placeOf(other.layout, at))}`;
    }
    live.textContent = `${text}.`;
    if (shown) told(views.source.index);
  }

  for (const name of ["source", "destination"]) {
    const place = root.querySelector(`#explore-${name}`);
    if (place && page[name] && page[name].elements > 0) views[name] = new View(page[name], page.colours, place, choose);
  }
  if (views.source) {
    // The first element that an operation moves, or index 0 of a layout.
    const origin = page.window && views.destination && originOf(page, views.destination.index);
    const holds = start?.length === page.source.sizes.length && start.every((value, d) => Number.isInteger(value) && value >= 0 && value < page.source.sizes[d]);
    choose(views.source, holds ? start : origin ?? views.source.index);
    shown = true;
    for (const view of Object.values(views)) view.watch();
  }

  offerRun(root, (say) => runKernel(page, [...root.querySelectorAll("#wgsl .line")].map((line) => line.textContent).join("\n"), say));
  return () => Object.values(views).forEach((view) => view.end());
}

/** Marks the lines of the kernel that use a stride while the reader points at the stride. */
function markStrides(root) {
  const lines = root.querySelectorAll("#wgsl .line");
  for (const stride of root.querySelectorAll(".stride[data-lines]")) {
    const mark = (on) => {
      for (const line of stride.dataset.lines.split(",").filter(Boolean)) lines[line].classList.toggle("marked", on);
    };
    for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
      stride.addEventListener(event, () => mark(on));
    }
  }
}
