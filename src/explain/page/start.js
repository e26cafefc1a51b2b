"use strict";
// Makes a page interactive whose content and data are in the document.

{
  const main = document.querySelector("main");
  const page = JSON.parse(document.getElementById("data").textContent);
  if (page.results) showProgram(main, page);
  else if (page.flows) showReshard(main, page);
  else {
    showLayouts(main, page);
    markStrides(main);
  }
  if (location.hash === "#run") main.querySelector("#run")?.click();
}
