import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");

// The example is run against a real server by e2e/scenario.TestTypeScriptClient.
test("the example of the page is the one that is run", () => {
  expect(read("README.md")).toContain("```js\n" + read("examples/follow.mjs") + "```");
});
