// Cursors, stamps, page tokens and epochs are opaque bytes. Beside giving them
// back a client may do two things with them: ask whether they are equal, and
// which of two stamps of one epoch is higher.

/** Nothing: no cursor yet, or the first page. */
export const none: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** compareBytes orders bytewise, a prefix before what goes on. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** equalBytes reports whether two byte strings are the same. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && compareBytes(a, b) === 0;
}
