"use strict";
// Puts the page together: the address holds the state, the fields change it, and the compiler
// answers it.

{
  const place = (id) => document.getElementById(id);
  const answerRoot = place("answer");
  let state = stateOf(location.hash);
  let compiler;
  /** Promises the compiler with other languages after the first choice of one. */
  let languages = null;
  /** The bytes of a module that is no text. No address holds them. */
  let dropped = null;
  let end = () => {};
  let waiting;
  /** The number of the answer that is shown. */
  let answered = 0;
  let targets = [];
  /** The address that was last read or written. */
  let address = location.hash;

  /** Writes the state into the address: as a new entry if `push`, over the last one otherwise. */
  function writeAddress(push = false) {
    clearTimeout(waiting);
    // A newer address may be waiting to be read.
    if (location.hash !== address) return;
    const hash = hashOf(state);
    const tooLong = hash.length > LONGEST_LINK || dropped !== null;
    place("too-long").hidden = !tooLong;
    if (tooLong || hash === location.hash) return;
    history[push ? "pushState" : "replaceState"](null, "", hash);
    address = location.hash;
  }

  function changed(name, text) {
    state[name] = text;
    delete state.at;
    if (name === "module") dropped = null;
    clearTimeout(waiting);
    waiting = setTimeout(writeAddress, 250);
    answer();
  }

  /** Reads a file: text unchanged, a message as the text of its module if it has one. */
  async function take(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
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

  function question(more) {
    return { ...state, module: undefined, ...more };
  }

  function ask(more) {
    return compiler.ask(question(more), dropped ?? state.module ?? "");
  }

  /** Answers with the kernels of the state in another language, or with an error. */
  async function translate(language) {
    languages ??= Compiler.open("languages");
    try {
      return (await languages).ask(question({ language }), dropped ?? state.module ?? "");
    } catch (error) {
      // The next choice of a language tries again.
      languages = null;
      return { error };
    }
  }

  /** Shows the compiler's answer to the state. */
  function answer() {
    const said = ask({});
    const inField = fields.showError(said.error);
    fields.showParts(said.fields);
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
    } else {
      end = showLayouts(answerRoot, page, state.at?.split(",").map(Number), (index) => {
        state.at = index.join(",");
        clearTimeout(waiting);
        waiting = setTimeout(writeAddress, 250);
      });
    }
    // The part below is drawn after the next frame, so that typing waits only for the visible part.
    const number = ++answered;
    const run = first.querySelector("#run");
    if (run) run.disabled = true;
    answerRoot.setAttribute("aria-busy", "true");
    requestAnimationFrame(() => setTimeout(() => {
      if (number !== answered) return;
      const open = new Set([...below.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
      below.innerHTML = ask({ part: "below" }).below ?? "";
      for (const summary of below.querySelectorAll("summary")) summary.parentElement.open = open.has(summary.textContent);
      if (said.refused) below.append(make("h2", {}, "The kernel"), make("p", { class: "refused" }, `There is none for this target: ${said.refused}.`));
      markStrides(below);
      addTools(below, state.language, translate, (language) => {
        state.language = language === "wgsl" ? "" : language;
        writeAddress();
      });
      if (run) run.disabled = false;
      answerRoot.removeAttribute("aria-busy");
    }));
  }

  /** Shows the choice of a target if the state is compiled. */
  function showTarget() {
    const root = place("target");
    root.hidden = !["relayout", "slice", "program"].includes(state.kind);
    const chosen = state.target ?? targets[0];
    const select = choice(targets, chosen, (name) => name);
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
      return { name, href: hashOf(to), isCurrent: kind === state.kind && !state.step };
    });
    links.unshift({ name: "Guide", href: hashOf(stateOfStep(0)), isCurrent: Boolean(state.step) });
    const root = place("kinds");
    if (!root.firstChild) root.append(...links.map(({ name }) => make("a", {}, name)));
    links.forEach(({ href, isCurrent }, at) => {
      const link = root.children[at];
      link.setAttribute("href", href);
      if (isCurrent) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
  }

  function render() {
    // The answer to a question of another kind does not apply here.
    if (fields.kind !== state.kind) {
      answered += 1;
      answerRoot.removeAttribute("aria-busy");
      for (const part of answerRoot.children) part.replaceChildren();
    }
    showKinds();
    showTarget();
    const hide = (hidden) => ["question", "answer", "link"].forEach((id) => (place(id).hidden = hidden));
    // The picture would give the exercise away.
    hide(isExercise(state));
    showGuide(place("guide"), state, (from) => JSON.parse(compiler.ask({ kind: "layout", from }).data ?? "{}").source, () => hide(false));
    fields.show(state);
    answer();
  }

  addEventListener("hashchange", () => {
    if (location.hash === address) return;
    address = location.hash;
    clearTimeout(waiting);
    dropped = null;
    state = stateOf(location.hash);
    render();
    place("too-long").hidden = true;
  });
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
  place("target").after(copyButton("Copy the link", () => location.href));
  Compiler.open("stridec").then((opened) => {
    compiler = opened;
    targets = compiler.ask({ kind: "targets" }).names;
    render();
    document.body.dataset.ready = "";
  }, (error) => place("whole-fault").replaceChildren(`This browser cannot run the compiler: ${error.message}`));
}
