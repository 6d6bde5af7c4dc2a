import { expect, test } from "vitest";
import { compareBytes, equalBytes } from "../src/bytes.js";

const bytes = (...of: number[]) => Uint8Array.from(of);

// A stamp with a high byte is above one with a low byte, as in Go.
test("stamps compare bytewise, unsigned, a prefix first", () => {
  const ordered = [bytes(), bytes(0), bytes(0, 255), bytes(1), bytes(127, 1), bytes(128), bytes(255)];
  for (const [i, a] of ordered.entries()) {
    for (const [j, b] of ordered.entries()) {
      expect(Math.sign(compareBytes(a, b))).toBe(Math.sign(i - j));
      expect(equalBytes(a, b)).toBe(i === j);
    }
  }
});
