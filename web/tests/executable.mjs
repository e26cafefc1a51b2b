// Reads Cargo's messages from standard input and prints the path of the test program.
import { readFileSync } from "node:fs";

const messages = readFileSync(0, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const [path] = messages.flatMap(({ executable }) => executable ?? []);
console.log(path);
