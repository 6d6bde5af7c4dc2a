// The model server of sync/replica's tests in TypeScript: one scope of a store
// as the protocol describes it, as small as it can be. Its stamps are not
// sealed; a client has no business to look into them either way.

import type { BootstrapPage, ChangesPage, Entity, Key, Point, Tombstone } from "../src/view.js";
import { compareKeys, keyOf } from "../src/view.js";
import { none } from "../src/bytes.js";

interface Row extends Key { version: number; body: string | undefined }
interface Position { epoch: number; seq: number; after: string }

const encoder = new TextEncoder();
const decoder = new TextDecoder();
export const text = (s: string): Uint8Array => encoder.encode(s);
export const read = (b: Uint8Array): string => decoder.decode(b);

/** Later epochs do not sort behind earlier ones. */
const epochName = (made: number): string => ((made * 0x9e3779b1) >>> 0).toString(16).padStart(8, "0") + made;

export class Server {
  epochs: number[] = [1];
  bases: { index: number; head: number }[] = [];
  head = 0;
  floor = 0;
  rows = new Map<string, Row>();
  /** made numbers the epochs ever made, bodies the values ever written. */
  made = 1;
  bodies = 0;

  write(k: Key): void {
    this.rows.set(name(k), { ...keyOf(k), version: this.#advance(), body: String(++this.bodies) });
  }

  remove(k: Key): void {
    if (this.rows.get(name(k))?.body === undefined) return;
    this.rows.set(name(k), { ...keyOf(k), version: this.#advance(), body: undefined });
  }

  /** Forgets tombstones, all but those of the last keep changes. */
  purge(keep: number): void {
    for (const [n, r] of this.rows) {
      if (r.body !== undefined || r.version + keep > this.head) continue;
      this.floor = Math.max(this.floor, r.version);
      this.rows.delete(n);
    }
  }

  backup(): Server {
    const b = new Server();
    Object.assign(b, this, { epochs: [...this.epochs], bases: [...this.bases], rows: new Map(this.rows) });
    return b;
  }

  /** Goes back to a backup and begins an epoch. */
  restore(b: Server): void {
    const { made, bodies } = this;
    Object.assign(this, b.backup(), { made: made + 1, bodies });
    this.epochs.push(this.made);
  }

  /** A page of the present state, or undefined where the token is refused. */
  bootstrap(token: Uint8Array, limit: number): BootstrapPage | undefined {
    let from: Position = { epoch: this.#epoch(), seq: this.head, after: "" };
    if (token.length > 0) {
      from = open(token);
      if (from.epoch !== this.#epoch()) return undefined;
    }
    const alive = this.#alive();
    let put: Row[];
    let page = none as Uint8Array;
    if (token.length === 0 && limit % 2 === 1) {
      // The latest come first; the pages behind them are the whole.
      put = alive.sort((a, b) => b.version - a.version).slice(0, limit);
      page = seal({ ...from, after: "" });
    } else {
      const rest = alive.filter((r) => from.after === "" || name(r) > from.after);
      put = rest.slice(0, limit);
      const last = put.at(-1);
      if (last && rest.length > limit) page = seal({ ...from, after: name(last) });
    }
    return { put: put.map(entity), page, cursor: seal({ ...from, after: "" }), complete: page.length === 0, ...this.#stamp() };
  }

  /** What changed since a cursor, or undefined for a reset. */
  pull(cursor: Uint8Array, horizon: Uint8Array, limit: number): (ChangesPage & { more: boolean }) | undefined {
    const from = open(cursor);
    if (!this.#good(from, open(horizon))) return undefined;
    const rows = [...this.rows.values()].filter((r) => r.version > from.seq).sort((a, b) => a.version - b.version);
    const some = rows.slice(0, limit);
    const more = rows.length > limit;
    const next = more ? (some.at(-1)?.version ?? from.seq) : this.head;
    const put = some.filter((r) => r.body !== undefined).map(entity);
    const del: Tombstone[] = some.filter((r) => r.body === undefined).map((r) => ({ ...keyOf(r), version: BigInt(r.version) }));
    return { put, del, more, next: seal({ epoch: this.#epoch(), seq: next, after: "" }), ...this.#stamp() };
  }

  point(k: Key): Point {
    const r = this.rows.get(name(k));
    return { put: r?.body === undefined ? [] : [entity(r)], ...this.#stamp() };
  }

  /** What a fresh read shows. */
  live(): string[] { return this.#alive().map((r) => `${name(r)}=${r.body}`); }

  #epoch(): number { return this.epochs.at(-1) ?? 0; }

  #alive(): Row[] { return [...this.rows.values()].filter((r) => r.body !== undefined).sort(compareKeys); }

  #advance(): number {
    const index = this.epochs.length - 1;
    if ((this.bases.at(-1)?.index ?? 0) < index) this.bases.push({ index, head: this.head });
    return ++this.head;
  }

  #stamp(): { asOf: Uint8Array; epoch: Uint8Array } {
    return { asOf: seal({ epoch: this.#epoch(), seq: this.head, after: "" }), epoch: text(epochName(this.#epoch())) };
  }

  /** The judgement of sync/changelog. */
  #good(cursor: Position, horizon: Position): boolean {
    if (horizon.epoch !== cursor.epoch || horizon.seq < cursor.seq) return false;
    const index = this.epochs.indexOf(cursor.epoch);
    if (index < 0 || this.bases.some((b) => b.index > index && horizon.seq > b.head)) return false;
    return horizon.seq <= this.head && cursor.seq >= this.floor;
  }
}

function entity(r: Row): Entity {
  return { ...keyOf(r), version: BigInt(r.version), body: text(r.body ?? "") };
}

function name(k: Key): string { return `${k.kind}/${k.id}`; }

/** Stamps of one epoch compare bytewise. */
function seal(p: Position): Uint8Array {
  return text(`${epochName(p.epoch)}|${p.epoch}|${String(p.seq).padStart(6, "0")}|${p.after}`);
}

function open(b: Uint8Array): Position {
  const [, epoch, seq, after] = read(b).split("|");
  return { epoch: Number(epoch), seq: Number(seq), after: after ?? "" };
}

/** A small random generator with a seed, so that every run can be had again. */
export function random(seed: number): (n: number) => number {
  let state = (seed * 0x9e3779b1 + 0x6d2b79f5) >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}
