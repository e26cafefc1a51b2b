"use strict";
// The compiler: WebAssembly modules that take bytes and return bytes.

/** Fetches a module's bytes from the server. */
async function fetchModule(name) {
  const response = await fetch(`${name}.wasm`);
  if (!response.ok) throw new Error(`${name}.wasm: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

/** Loads a module's bytes from a script that sets `MODULE` to their base64, as gzip. */
async function unpackModule(name) {
  const script = make("script", { src: `${name}.wasm.js` });
  await new Promise((loaded, failed) => {
    script.addEventListener("load", loaded);
    script.addEventListener("error", () => failed(new Error(`${name}.wasm.js is not beside the page`)));
    document.head.append(script);
  });
  const packed = Uint8Array.from(atob(globalThis.MODULE), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

class Compiler {
  /** Loads a module: `stridec`, which answers all questions but translations, or `languages`. */
  static async open(name) {
    const compiler = new Compiler();
    // A page that was opened from a file may load scripts, and nothing else.
    compiler.module = await WebAssembly.compile(await (location.protocol === "file:" ? unpackModule : fetchModule)(name));
    await compiler.start();
    return compiler;
  }

  async start() {
    this.exports = (await WebAssembly.instantiate(this.module)).exports;
  }

  /**
   * Replaces an instance that a panic, the `error`, has ended. Questions until then have no answer;
   * `restarted` is called if there were any, or if no new instance starts. `reason` says what
   * happened.
   */
  async restart(error) {
    this.exports = null;
    this.missed = false;
    this.reason = `the compiler starts again after a defect of stridec: ${error.message}`;
    try {
      await this.start();
      this.reason = `a defect of stridec: ${error.message}`;
    } catch (failure) {
      this.reason = `the compiler does not start again: ${failure.message}; load the page again`;
    }
    if (this.missed || !this.exports) this.restarted?.();
  }

  /** Answers a question, an object, about the bytes or the text of an HLO module. */
  ask(question, bytes = "") {
    if (!this.exports) {
      this.missed = true;
      return { error: { field: "", message: this.reason, place: null } };
    }
    const line = new TextEncoder().encode(`${JSON.stringify(question)}\n`);
    const rest = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
    try {
      const { memory, input, show, output } = this.exports;
      const at = input(line.length + rest.length);
      const room = new Uint8Array(memory.buffer, at, line.length + rest.length);
      room.set(line);
      room.set(rest, line.length);
      const length = show();
      return JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, output(), length)));
    } catch (error) {
      this.restart(error);
      return { error: { field: "", message: `a defect of stridec: ${error.message}`, place: null } };
    }
  }
}
