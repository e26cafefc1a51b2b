// The package in a page, bundled by esbuild, which leaves the module to the caller.
import { init } from "stridec";
import { test } from "./page.mjs";

globalThis.test = () => test(() => init("/stridec.wasm"));
