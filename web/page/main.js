"use strict";
// Puts the page together: the address holds the state, the fields change it, and the compiler
// answers it. A state that no address holds is kept in the entry of the history.

{
  const place = (id) => document.getElementById(id);
  const answerRoot = place("answer");
  if (!location.hash) history.replaceState(history.state, "", firstHash());
  let state;
  /** The compiler, once it is loaded. Until then there are no answers. */
  let compiler = null;
  /** Promises the compiler with other languages after the first choice of one. */
  let languages = null;
  /** The bytes of a module that is no text. No address holds them. */
  let dropped = null;
  let end = () => {};
  let waiting;
  /** The number of the answer that is shown. */
  let answered = 0;
  let targets = [];
  /** The bytes that this browser's device binds, or nothing as long as that is not known. */
  let bound;
  /** The address that was last read or written. */
  let address;
  /** The part of the page that a link asks for, until it is drawn. */
  let wanted = null;
  /** The state that was last shown again after a restart of the compiler. */
  let again;
  const follower = new Follower();

  /** Reads the state from the address, or from the history if no address holds it. */
  function readAddress() {
    address = location.hash;
    const kept = history.state?.kept;
    state = kept ? { ...kept.state } : stateOf(location.hash);
    dropped = kept?.dropped ?? null;
  }

  /** The reason why no link holds the state, or nothing. */
  function whyNoLink() {
    if (dropped !== null) return "A link holds no file";
    if (state.kind === "image" && image.isOwn) return "A link holds no picture";
    if (hashOf(state).length > LONGEST_LINK) return "This is too long for a link";
    return null;
  }

  /** Writes the state into the address: as a new entry if `push`, over the last one otherwise. */
  function writeAddress(push = false) {
    clearTimeout(waiting);
    // A newer address may be waiting to be read.
    if (location.hash !== address) return;
    const why = whyNoLink();
    linkButton.disabled = why !== null;
    linkButton.textContent = why ?? "Copy the link";
    const hash = why && state.kind !== "image" ? hashWithout(state) : hashOf(state);
    const kept = why && state.kind !== "image" ? { kept: { state: { ...state }, dropped } } : null;
    if (!kept) keepHash(hash);
    if (!kept && state.step) keepHash(hash, GUIDE_AT);
    if (!kept && hash === location.hash && !history.state) return;
    try {
      history[push ? "pushState" : "replaceState"](kept, "", hash);
    } catch {
      // The browser keeps no state of this size.
      history[push ? "pushState" : "replaceState"](null, "", hash);
    }
    address = location.hash;
  }

  function writeSoon() {
    clearTimeout(waiting);
    waiting = setTimeout(writeAddress, 250);
  }

  function changed(name, text) {
    state[name] = text;
    delete state.at;
    if (name === "module") dropped = null;
    writeSoon();
    answer(name);
  }

  /** Reads a file: a picture, a text unchanged, or a message as the text of its module. */
  async function take(file) {
    if (file.type.startsWith("image/")) {
      if (state.kind !== "image") {
        state = stateOf("#image");
        writeAddress(true);
        render();
      }
      return image.take(file);
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    await loaded;
    if (!("module" in KINDS[state.kind].fields)) state = stateOf("#program");
    const isText = bytes.every((byte) => byte >= 32 ? byte !== 127 : [9, 10, 11, 12, 13].includes(byte));
    const read = isText ? { text: new TextDecoder().decode(bytes) } : compiler.ask({ kind: "text" }, bytes);
    dropped = read.text === undefined ? bytes : null;
    state.module = read.text ?? "";
    delete state.at;
    writeAddress(true);
    render();
  }

  const fields = new Fields(place("question"), changed, take);
  const image = new ImageSection(place("first"), (question, bytes) => compiler.ask(question, bytes), (by) => {
    Object.assign(state, by);
    writeSoon();
    if (compiler) answer();
  });
  const notations = new Notations(place("notations"), (from) => compiler?.ask({ kind: "notations", from }).notations ?? []);
  const linkButton = copyButton("Copy the link", () => {
    // The last keys may be newer than the address.
    writeAddress();
    return linkButton.disabled ? undefined : location.href;
  });

  /** The question of the state. A target that is a number is the size that a device binds. */
  function question(more, of = state) {
    const size = /^\d+$/.test(of.target ?? "") ? Number(of.target) : undefined;
    return { ...of, module: undefined, ...(size ? { target: "", maxStorageBufferBindingSize: size } : {}), ...more };
  }

  function ask(more, of = state, file = dropped) {
    return compiler.ask(question(more, of), file ?? of.module ?? "");
  }

  /** Answers with the kernels of a state in another language, or with an error. */
  async function translate(language, of, file) {
    try {
      if (language === "js") return { text: scriptOf(of, file !== null) };
      languages ??= Compiler.open("languages");
      return (await languages).ask(question({ language }, of), file ?? of.module ?? "");
    } catch (error) {
      // The next choice of a language tries again.
      if (language !== "js") languages = null;
      return { error };
    }
  }

  /** The parts of the layouts in the notations that the lists show. */
  const layoutsOf = () => (state.kind === "layout" ? [["", state.from]] : [["From", state.from], ...(state.to?.includes("[") ? [["To", state.to]] : [])]);

  /** Shows the compiler's answer to the state. `edited` is the field that the reader changes. */
  function answer(edited) {
    if (!compiler) return;
    if (state.kind === "image") {
      notations.show(state.kind);
      document.title = "Planes of a picture · stridec";
      // An error in the fields of another kind is none here.
      answerRoot.classList.remove("stale");
      place("whole-fault").replaceChildren();
      return image.show(state);
    }
    let said = ask({});
    if (edited) {
      const other = edited === "from" ? "to" : "from";
      const text = follower.follow(state, edited, said.fields);
      if (text !== null) {
        state[other] = text;
        fields.show(state);
        said = ask({});
        follower.latest = said.fields;
      }
    } else {
      follower.start(said.fields);
    }
    const inField = fields.showError(said.error);
    fields.showParts(said.fields, said.error, (from) => !compiler.ask({ kind: "notations", from }).error);
    notations.show(state.kind, layoutsOf());
    place("whole-fault").replaceChildren(...(said.error && !inField ? faultOf("", { ...said.error, place: null }) : []));
    // While the text is no layout yet, the previous picture stays, marked as stale.
    answerRoot.classList.toggle("stale", Boolean(said.error));
    if (said.error) return;
    end();
    end = () => {};
    document.title = `${said.title ?? KINDS[state.kind].name} · stridec`;
    if (state.kind === "memory") return showMemory(place("first"), said);
    const [first, below] = ["first", "below"].map(place);
    first.innerHTML = said.body;
    const page = JSON.parse(said.data);
    if (page.results) {
      showProgram(answerRoot, page);
      fitHeadings(first);
    } else {
      const endLayouts = showLayouts(answerRoot, page, state.at?.split(",").map(Number), (index) => {
        // The exercise asks for the same element wherever the reader points.
        if (isExercise(state)) return;
        state.at = index.join(",");
        writeSoon();
      });
      const endMarks = markWindow(first, page);
      end = () => {
        endLayouts();
        endMarks();
      };
    }
    // The part below is drawn after the next frame, so that typing waits only for the visible part.
    const number = ++answered;
    // The fields may hold half a text by then, or when a language is chosen.
    const [shown, file] = [{ ...state }, dropped];
    const run = first.querySelector("#run");
    if (run) run.disabled = true;
    answerRoot.setAttribute("aria-busy", "true");
    requestAnimationFrame(() => setTimeout(() => {
      if (number !== answered) return;
      const open = new Set([...below.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
      below.innerHTML = ask({ part: "below" }, shown, file).below ?? "";
      for (const summary of below.querySelectorAll("summary")) summary.parentElement.open = open.has(summary.textContent);
      if (said.refused) below.prepend(...refusal(said.refused, page));
      fitHeadings(below);
      markStrides(below);
      addTools(below, state.language, (language) => translate(language, shown, file), (language) => {
        state.language = language === "wgsl" ? "" : language;
        writeAddress();
      });
      if (run) run.disabled = false;
      answerRoot.removeAttribute("aria-busy");
      const part = wanted && answerRoot.querySelector(wanted);
      wanted = null;
      part?.scrollIntoView({ block: "center" });
      part?.focus({ preventScroll: true });
    }));
  }

  /** Makes headings in drawings as small as a narrow screen needs, so that none is cut. */
  function fitHeadings(root) {
    for (const frame of root.querySelectorAll(".scroll")) {
      const { left, right } = frame.getBoundingClientRect();
      for (const heading of frame.querySelectorAll("svg text.h")) {
        const { left: start, width } = heading.getBoundingClientRect();
        const room = right - start - 4;
        if (start >= left && room > 60 && width > room) heading.style.fontSize = `${Math.max((13 * room) / width - 0.1, 7)}px`;
      }
    }
  }

  const megabytes = (bytes) => `${Math.floor(bytes / 2 ** 20)} MiB`;

  /** The reason why there is no kernel, with a way out if a device may bind more. */
  function refusal(reason, page) {
    const least = Math.max(page.source.imageBytes, page.destination?.imageBytes ?? 0);
    const size = 2 ** Math.ceil(Math.log2(Math.max(least, 2)));
    const way = make("p", { class: "way-out" });
    const current = Number(question().maxStorageBufferBindingSize ?? 2 ** 27);
    // WebGPU counts these sizes in 32 bits.
    if (least > current && size <= 2 ** 31) {
      way.append("That is the size that every device of WebGPU binds. Most bind more if an application asks for it. ",
        make("a", { href: hashOf({ ...state, target: String(size) }) }, `Compile for a device that binds ${megabytes(size)}`), ". ");
      const said = make("span");
      way.append(said);
      boundHere().then((bytes) => {
        said.textContent = bytes ? `This browser's device binds ${megabytes(bytes)}.` : "This browser offers no device.";
      });
    } else if (least > current) {
      way.append("No device of WebGPU binds arrays of this size; divide the array along its most major dimension, and copy each part with a kernel of its own.");
    }
    return [make("h2", {}, "The kernel"), make("p", { class: "refused" }, `There is none for this target: ${reason}.`), ...(way.firstChild ? [way] : [])];
  }

  /** The bytes that this browser's device binds, or 0. */
  async function boundHere() {
    bound ??= (await navigator.gpu?.requestAdapter().catch(() => null))?.limits.maxStorageBufferBindingSize ?? 0;
    return bound;
  }

  /** Shows the choice of a target if the state is compiled. */
  function showTarget() {
    const root = place("target");
    root.hidden = !["relayout", "slice", "program"].includes(state.kind);
    const chosen = state.target ?? targets[0];
    const select = choice(targets, chosen, (name) => (/^\d+$/.test(name) ? `webgpu that binds ${megabytes(Number(name))}` : name));
    select.addEventListener("change", () => {
      state.target = select.value === targets[0] ? "" : select.value;
      writeAddress();
      answer();
    });
    root.replaceChildren(labelled("Target", select));
  }

  /** Shows the links to the kinds. They change in place, because the reader may be clicking. */
  function showKinds() {
    const links = Object.entries(KINDS).map(([kind, { name, fields: first }]) => {
      // The reader's own text is kept in fields of the same name.
      const kept = Object.keys(first).filter((field) => field in state && (field !== "module" || state.kind === kind));
      const to = { kind, ...first, ...Object.fromEntries(kept.map((field) => [field, state[field]])) };
      if (kind !== state.kind && state.from !== undefined) Object.assign(to, suited(kind, state.from));
      return { name, href: hashOf(to), isCurrent: kind === state.kind && !state.step };
    });
    links.unshift({ name: "Guide", href: guideHash(), isCurrent: Boolean(state.step) });
    const root = place("kinds");
    if (!root.firstChild) root.append(...links.map(({ name }) => make("a", {}, name)));
    links.forEach(({ href, isCurrent }, at) => {
      const link = root.children[at];
      link.setAttribute("href", href);
      if (isCurrent) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
  }

  /** The first texts of a kind that suit the rank and the extents of the layout `from`. */
  function suited(kind, from) {
    if (!compiler || !["relayout", "slice"].includes(kind)) return {};
    const parts = compiler.ask({ kind: "notations", from }).fields?.from;
    const extents = parts?.dimensions ?? JSON.parse(compiler.ask({ kind: "layout", from }).data ?? "{}").source?.sizes;
    if (!extents) return {};
    if (kind === "relayout") {
      // A relayout is of one array: the second layout starts in the reverse order of dimensions.
      const order = extents.map((_, d) => String(d));
      const { type, dimensions, bits } = parts ?? {};
      return { to: parts ? notationOf({ type, dimensions, bits, order, tiles: "", padded: [] }) : `{${order}}` };
    }
    // The slice leaves out the first element of every row.
    const offsets = extents.map((extent, d) => (d === extents.length - 1 && Number(extent) > 1 ? 1 : 0));
    const sizes = extents.map((extent, d) => String(BigInt(extent) - BigInt(offsets[d])));
    return { offsets: String(offsets), sizes: String(sizes), strides: String(extents.map(() => 1)), to: "" };
  }

  function render() {
    // The answer to a question of another kind does not apply here.
    if (fields.kind !== state.kind) {
      answered += 1;
      answerRoot.removeAttribute("aria-busy");
      for (const part of ["first", "below"]) place(part).replaceChildren();
    }
    document.body.dataset.kind = state.kind;
    document.body.toggleAttribute("data-guide", Boolean(state.step));
    document.body.toggleAttribute("data-exercise", isExercise(state));
    showKinds();
    showTarget();
    const hide = (hidden) => ["question", "answer", "notations"].forEach((id) => (place(id).hidden = hidden));
    // The picture would give the exercise away.
    hide(isExercise(state));
    const layoutOf = (from) => JSON.parse(compiler?.ask({ kind: "layout", from }).data ?? "{}").source;
    showGuide(place("guide"), compiler || !isExercise(state) ? state : {}, layoutOf, () => {
      hide(false);
      notations.show(state.kind, layoutsOf());
    }, (from, index) => {
      // The reader may have changed the layout of the step.
      if (!compiler || state.from !== from) return;
      state.at = index.join();
      answer();
      writeAddress();
    });
    fields.show(state);
    if (compiler) answer();
    writeAddress();
    if (isExercise(state) && !place("guide").querySelector("[data-verdict=pass]")) place("notations").hidden = true;
    fitText();
  }

  /** Shows the state again after the compiler's restart, once: a state may panic every time. */
  function answerAgain() {
    const now = JSON.stringify({ ...state, at: undefined });
    if (now === again) {
      place("whole-fault").replaceChildren(...faultOf("", { message: compiler.reason, place: null }));
      return;
    }
    again = now;
    render();
  }

  addEventListener("popstate", () => {
    clearTimeout(waiting);
    readAddress();
    fields.forget();
    render();
  });
  addEventListener("resize", fitText);
  // The picture of an example is at the top of the page.
  place("examples").addEventListener("click", ({ target, ctrlKey, metaKey, shiftKey }) => {
    if (target.closest('a[href^="#"]') && !ctrlKey && !metaKey && !shiftKey) scrollTo(0, 0);
  });
  place("guide").addEventListener("click", ({ target }) => (wanted = target.closest("[data-show]")?.dataset.show ?? wanted));
  // The text may have changed since the links were made, so they are made again before a click.
  place("kinds").addEventListener("pointerdown", showKinds);
  place("kinds").addEventListener("focusin", showKinds);
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) take(file);
  });

  showExamples(place("examples"));
  place("link").append(linkButton);
  const loaded = Compiler.open("stridec").then((opened) => {
    compiler = opened;
    compiler.restarted = answerAgain;
    place("loading").remove();
    targets = compiler.ask({ kind: "targets" }).names;
    // The comparison with a copy uses stridec's own kernel for the copy.
    globalThis.stridecCopy = (size) => {
      const { kernel } = compiler.ask({ kind: "kernel", from: `u32[${size / 4}]`, to: `u32[${size / 4}]`, maxStorageBufferBindingSize: size });
      return kernel && { ...kernel, dispatches: kernel.dispatches.map(({ workgroups }) => workgroups) };
    };
    render();
    document.body.dataset.ready = "";
  });
  loaded.catch((error) => {
    place("loading").textContent = `This browser cannot run the compiler: ${error.message}`;
    place("loading").className = "fault";
  });
  readAddress();
  render();
}
