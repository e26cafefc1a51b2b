"use strict";
// The state of the page, which its address holds: `#relayout?from=…&to=…`. Every part is text.

/** The fields of each kind, in the order of the page, with their first texts. */
const KINDS = {
  layout: { name: "Layout", fields: { from: "bf16[16,256]{1,0:T(8,128)(2,1)}" } },
  relayout: { name: "Relayout", fields: { from: "f32[8,64,112,112]{3,2,1,0}", to: "f32[8,64,112,112]{1,3,2,0}" } },
  slice: { name: "Slice", fields: { from: "f32[8,12]{1,0}", offsets: "0,1", sizes: "8,11", strides: "-2,3", to: "" } },
  program: {
    name: "Program",
    fields: {
      module: `HloModule turned

ENTRY main {
  x = f32[4,6]{1,0} parameter(0)
  y = f32[2,6]{1,0} parameter(1)
  both = f32[6,6]{1,0} concatenate(x, y), dimensions={0}
  turned = f32[6,6]{1,0} transpose(both), dimensions={1,0}
  ROOT kept = f32[6,4]{1,0} slice(turned), slice={[0:6], [1:5]}
}`,
    },
  },
  memory: {
    name: "Memory",
    fields: {
      module: `Shape: s32[2048,1,128,128,4]{4,3,2,0,1:T(8,128)}
Unpadded size: 512.00M
Extra memory due to padding: 15.50G (32.0x expansion)`,
    },
  },
  image: { name: "Image", fields: { type: "u8", order: "CHW", mean: "0.485,0.456,0.406", deviation: "0.229,0.224,0.225" } },
};
/**
 * Parts of the address for every kind: a step of the guide, an index, a target, a language. A
 * target is the name of a preset, or a number: the bytes that a device binds.
 */
const EXTRAS = ["step", "at", "target", "language"];
/** The length of the longest address that browsers and messengers accept. */
const LONGEST_LINK = 32_000;

/** Reads the state from an address. Fields that it leaves out have their first texts. */
function stateOf(hash) {
  const [, kind, query] = /^#?(\w*)\??(.*)$/s.exec(hash) ?? [];
  const known = Object.hasOwn(KINDS, kind) ? kind : "layout";
  const given = new URLSearchParams(query);
  const state = { kind: known };
  for (const [name, first] of Object.entries(KINDS[known].fields)) state[name] = given.get(name) ?? first;
  for (const name of EXTRAS) if (given.get(name)) state[name] = given.get(name);
  if (state.step && !(known === "layout" && /^\d+$/.test(state.step) && state.step >= 1 && state.step <= GUIDE.length + 1)) delete state.step;
  return state;
}

/** The address of a state that no link can hold, without the texts that the history keeps. */
function hashWithout(state) {
  const short = Object.fromEntries(Object.entries(state).map(([name, text]) => [name, text.length > 1000 || name === "module" ? "" : text]));
  return hashOf(short);
}

/** The names under which the browser keeps the last address, and the last one in the guide. */
const LAST = "stridec";
const GUIDE_AT = "stridec-guide";

/** The address that is kept under `name`, or that of the first step of the guide. */
function keptHash(name) {
  try {
    return localStorage.getItem(name) || hashOf(stateOfStep(0));
  } catch {
    return hashOf(stateOfStep(0));
  }
}

/** The address that the reader left. */
const firstHash = () => keptHash(LAST);

/** The address in the guide that the reader left. */
const guideHash = () => keptHash(GUIDE_AT);

/** Keeps an address for the next visit, if the browser allows it. */
function keepHash(hash, name = LAST) {
  try {
    localStorage.setItem(name, hash);
  } catch {
    // A page without storage starts with the guide.
  }
}

/** The address of a state. */
function hashOf(state) {
  const query = new URLSearchParams();
  for (const name of [...Object.keys(KINDS[state.kind].fields), ...EXTRAS]) {
    if (state[name] !== undefined && !(EXTRAS.includes(name) && state[name] === "")) query.set(name, state[name]);
  }
  // Keeps the characters of notations readable.
  const text = query.toString().replace(/%(5B|5D|7B|7D|2C|3A|28|29|2A)/g, decodeURIComponent);
  return `#${state.kind}?${text}`;
}
