import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // The machine may be busy; nothing here waits for a clock.
    testTimeout: 60_000,
    include: ["test/**/*.test.ts"],
  },
});
