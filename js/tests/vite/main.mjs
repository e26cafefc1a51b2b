// The package in a page, bundled by vite, with the module where the package has it.
import { init } from "stridec";
import { test } from "../page.mjs";

globalThis.test = () => test(init);
