"use strict";
// The page's own parts of the explorer of `view.js`: fewer rows beside the guide on a small screen,
// and marks on the cells that a window leaves out.

{
  const roomOf = View.prototype.room;
  View.prototype.room = function () {
    const [rows, columns] = roomOf.call(this);
    if (!document.body.hasAttribute("data-guide") || hasRoom()) return [rows, columns];
    // The sum and the map under the picture stay in sight. On a narrow screen, arrays of
    // up to 8 rows are shown whole, and 6 rows of longer ones.
    const most = matchMedia("(min-width: 760px)").matches ? 10 : rows > 8 ? 6 : 8;
    return [Math.min(rows, most), columns];
  };
}

/**
 * Marks the cells of the source that the window of `page` leaves out, now and whenever they are
 * drawn again. Returns a function that ends it.
 */
function markWindow(root, page) {
  const grid = root.querySelector("#explore-source .grid");
  if (!grid || !page.window) return () => {};
  const product = (numbers) => numbers.reduce((product, number) => product * number, 1);
  if (product(page.window.map(({ extent }) => extent)) === product(page.source.sizes)) return () => {};
  const mark = () => {
    for (const cell of grid.querySelectorAll("[data-at]")) {
      cell.classList.toggle("left-out", destinationOf(page, cell.dataset.at.split(",").map(Number)) === null);
    }
  };
  mark();
  const observer = new MutationObserver(mark);
  observer.observe(grid, { childList: true });
  const legend = make("p", { class: "legend" }, make("span", {}, make("i", { class: "left-out" }), "left out by the slice"));
  root.querySelector("#explore-source .legend").after(legend);
  return () => observer.disconnect();
}
