"use strict";
// The page of a program: the way of the element that the reader points at, and the button that runs
// the kernels. The compiler has computed the results on the host, from the same inputs. The page's
// data has a sum for each block of them, and the kernels' results must have the same sums.

/** Shows the way of an element of a result in its table. */
function showWay(page, section, result, at) {
  const way = result.ways[at];
  if (!way) return;
  section.dataset.at = at;
  const cell = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
  section.querySelector(".way caption").textContent = `The way of (${at}), from the result back`;
  section.querySelector(".way tbody").replaceChildren(...way.steps.map(([instruction, index]) => {
    const { name, expression } = page.instructions[instruction];
    const row = document.createElement("tr");
    row.append(cell("th", name), cell("td", index), cell("td", expression));
    return row;
  }));
  section.querySelector(".end").textContent = `It is ${way.end}.`;
  for (const ground of section.querySelectorAll("[data-index]")) ground.classList.toggle("here", ground.dataset.index === at);
}

/** A checksum of the words of each block of an image. */
function sums(image, bytes, block) {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  new Uint8Array(words.buffer).set(image.subarray(0, bytes));
  const found = [];
  for (let start = 0; start < words.length; start += block) {
    let sum = 0x811c9dc5;
    for (const word of words.subarray(start, start + block)) sum = Math.imul(sum ^ word, 0x01000193);
    found.push(sum >>> 0);
  }
  return found;
}

/** Runs, checks and times the kernels; calls `say` with a word for the outcome, and a text. */
async function runProgram({ buffers, kernels, block }, texts, say) {
  const results = buffers.flatMap((buffer, number) => (buffer.sums ? [number] : []));
  const given = buffers.map(({ size, bytes, seed, hex }) => ({
    size,
    content: seed !== undefined ? sampleImage(bytes, seed)
      : hex !== undefined ? Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16)) : undefined,
  }));
  let gpu;
  try {
    gpu = await openDevice(buffers.map(({ size }) => size));
  } catch (error) {
    return say("no-webgpu", `${error.message} Everything else on this page works without it.`);
  }
  try {
    say("running", "Running…");
    gpu.device.pushErrorScope("validation");
    const described = kernels.map((kernel, number) => ({ ...kernel, wgsl: texts[number] }));
    const { written, time } = await prepare(gpu, given, described, results);
    const refused = await gpu.device.popErrorScope();
    if (refused) throw new Error(refused.message);
    for (const [at, number] of results.entries()) {
      const { bytes, sums: expected, result } = buffers[number];
      const found = sums(written[at], bytes, block);
      const wrong = expected.findIndex((sum, place) => sum !== found[place]);
      if (wrong >= 0) return say("fail", `Result ${result}: bytes ${wrong * block * 4} to ${Math.min((wrong + 1) * block * 4, bytes) - 1} are not as expected.`);
    }
    const total = results.reduce((sum, number) => sum + buffers[number].bytes, 0);
    // A kernel reads a byte for each byte that it writes.
    const moved = kernels.reduce((sum, kernel) => sum + 2 * buffers[kernel.buffers.at(-1)].bytes, 0);
    say("pass", `All ${total} bytes are as expected. ${moved ? await timed(gpu, time, moved) : "There are none to move."}`);
  } catch (error) {
    say("fail", error.message);
  } finally {
    gpu.device.destroy();
  }
}

/** Makes the content `root` of a program interactive, as `page` describes it. */
function showProgram(root, page) {
  page.results.forEach((result, number) => {
    const section = root.querySelector(`#result-${number}`);
    // The title of each cell begins with its index; the text over the cell ignores the pointer.
    for (const ground of section.querySelectorAll("svg rect")) {
      const index = ground.querySelector("title")?.textContent.match(/^\(([\d,]*)\): /);
      if (index) ground.dataset.index = index[1];
    }
    for (const mark of section.querySelectorAll("svg rect.f")) mark.remove();
    const drawing = section.querySelector(".scroll");
    for (const event of ["pointerover", "click"]) {
      drawing.addEventListener(event, ({ target }) => {
        if (target.dataset.index !== undefined) showWay(page, section, result, target.dataset.index);
      });
    }
    drawing.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const here = [...section.querySelectorAll("[data-index]")].find(({ dataset }) => dataset.index === section.dataset.at);
      if (!move || !here) return;
      event.preventDefault();
      // The nearest cell in that direction.
      const place = (ground) => { const box = ground.getBoundingClientRect(); return [box.top, box.left]; };
      const [top, left] = place(here);
      let best;
      for (const ground of section.querySelectorAll("[data-index]")) {
        const [down, across] = place(ground).map((value, side) => value - [top, left][side]);
        const along = down * move[0] + across * move[1];
        const aside = Math.abs(down * move[1]) + Math.abs(across * move[0]);
        if (along > 1 && aside < 2 && (!best || along < best.along)) best = { along, ground };
      }
      if (best) showWay(page, section, result, best.ground.dataset.index);
    });
    if (result.element !== null) showWay(page, section, result, result.element);
  });
  offerRun(root, (say) => {
    const texts = [...root.querySelectorAll("pre.wgsl")].map((kernel) => [...kernel.querySelectorAll(".line")].map((line) => line.textContent).join("\n"));
    return runProgram(page.run, texts, say);
  });
}
