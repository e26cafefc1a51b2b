"use strict";
// The page of a reshard, with the messages of the device that the reader chooses.

/** Makes the content `root` of a reshard interactive, as `page` describes it. */
function showReshard(root, page) {
  const live = root.querySelector("#live");
  const several = page.word === "Devices";
  const bars = page.devices.map(({ name }) => name);
  const select = document.createElement("select");
  select.append(...["all", ...bars].map((text, number) => new Option(text, number - 1)));
  const label = Object.assign(document.createElement("label"), { textContent: `${page.word} ` });
  label.append(select);
  root.querySelector("#choose").append(label);
  const marks = [...root.querySelectorAll("svg [data-device], svg [data-from]")];

  /** At most eight partners, and the number of the others. */
  function partners(pairs, side) {
    const first = pairs.slice(0, 8).map((pair) => `${bars[pair[side]]} (${pair[2]})`).join(", ");
    return pairs.length > 8 ? `${first} and ${pairs.length - 8} more` : first;
  }

  function choose(device) {
    select.value = device;
    for (const { dataset, style } of marks) {
      const here = dataset.device === undefined ? [dataset.from, dataset.to] : [dataset.device];
      style.opacity = device < 0 || here.includes(String(device)) ? "" : ".12";
    }
    if (device < 0) {
      live.textContent = "";
      return;
    }
    const { name, sent, received, kept } = page.devices[device];
    const to = page.flows.filter(([from]) => from === device);
    const from = page.flows.filter((pair) => pair[1] === device);
    const [sends, receives, keeps] = several ? ["send", "receive", "keep"] : ["sends", "receives", "keeps"];
    live.textContent = `${page.word} ${name} ${to.length ? `${sends} ${sent}, to ${partners(to, 1)}` : `${sends} nothing`}; `
      + `${from.length ? `${receives} ${received}, from ${partners(from, 0)}` : `${receives} nothing`}; ${keeps} ${kept}.`;
  }

  select.addEventListener("change", () => choose(Number(select.value)));
  for (const svg of root.querySelectorAll("svg")) {
    for (const event of ["pointerover", "click"]) {
      svg.addEventListener(event, ({ target }) => {
        const device = target.dataset.device ?? target.dataset.from;
        if (device !== undefined) choose(Number(device));
      });
    }
    svg.addEventListener("pointerleave", () => choose(-1));
  }
  choose(-1);
}
