"use strict";
// The compiler: WebAssembly that takes bytes and gives bytes. `MODULE` is its text in base64, compressed with gzip.

class Compiler {
  static async open() {
    const packed = Uint8Array.from(atob(MODULE), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const compiler = new Compiler();
    compiler.module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    await compiler.start();
    return compiler;
  }

  async start() {
    this.exports = (await WebAssembly.instantiate(this.module)).exports;
  }

  /** What the module says to a question, an object; `bytes` are those of a module, or its text. */
  ask(question, bytes = "") {
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
      // A panic ends the module; another takes its place for the next question.
      this.start();
      return { error: { field: "", message: `a defect of stridec: ${error.message}`, place: null } };
    }
  }
}
