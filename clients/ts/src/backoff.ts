/** Milliseconds, as PROTOCOL.md section 8 has them. */
export const times = {
  hello: 5_000,
  probeAfter: 600_000,
  pollWait: 25_000,
  firstBackoff: 500,
  longestBackoff: 60_000,
  /** Bounds what a Goaway may ask for. */
  goawayMax: 600_000,
  /** A scope is bootstrapped by a reset at most this often. */
  resetEvery: 60_000,
} as const;

/** A random time up to a bound that doubles with each try; random gives 0 to 1. */
export function backoff(tries: number, random: () => number): number {
  return random() * Math.min(times.firstBackoff * 2 ** Math.min(tries, 10), times.longestBackoff);
}

/** Resolves after a time, or at once when the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
