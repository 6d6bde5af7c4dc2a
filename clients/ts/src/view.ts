// View folds the pages of one scope into what a client holds, and the place from
// which it goes on reading. It is the twin of the Go package sync/replica, whose
// documentation has the table of its states and the reason of every rule; both
// read sync/replica/testdata/programs.json and have to come to the same views.
//
//   view          | applyBootstrap              | applyChanges         | applyPoint | applyReset
//   new, or reset | puts, takes cursor          | dropped              | dropped    | stays
//   bootstrapping | puts; complete: also sweeps | puts, deletes, moves | puts       | starts again
//   following     | dropped                     | puts, deletes, moves | puts       | starts again

import { compareBytes, equalBytes, none } from "./bytes.js";

/** Key names an entity within its scope. */
export interface Key {
  /** The kind, an EntityKind of the wire. */
  readonly kind: number;
  /** Id within the kind. */
  readonly id: string;
}

/** Entity is one thing as it stands. */
export interface Entity extends Key {
  /** Position of the write; 0 means not confirmed since a reset. */
  readonly version: bigint;
  /** The message named by kind, encoded. */
  readonly body: Uint8Array;
}

/** Tombstone says that an entity is gone. */
export interface Tombstone extends Key {
  /** Position of the removal. */
  readonly version: bigint;
}

/** BootstrapPage is one page of the present state of a scope. */
export interface BootstrapPage {
  readonly put: readonly Entity[];
  /** Token of the next page. */
  readonly page: Uint8Array;
  /** Where to follow changes from, taken before the first page. */
  readonly cursor: Uint8Array;
  /** The last page. */
  readonly complete: boolean;
  /** Stamp of the read. */
  readonly asOf: Uint8Array;
  /** The history it was read in. */
  readonly epoch: Uint8Array;
}

/** ChangesPage is one page of what changed after a cursor. */
export interface ChangesPage {
  readonly put: readonly Entity[];
  readonly del: readonly Tombstone[];
  /** The place after this page. */
  readonly next: Uint8Array;
  /** Stamp of the read. */
  readonly asOf: Uint8Array;
  /** The history it was read in. */
  readonly epoch: Uint8Array;
}

/** Point is what was read outside the order of changes. */
export interface Point {
  readonly put: readonly Entity[];
  /** Stamp of the read. */
  readonly asOf: Uint8Array;
  /** The history it was read in. */
  readonly epoch: Uint8Array;
}

/** Place is where a view stands, without what it holds. */
export interface Place {
  /** Empty before the first page of a bootstrap. */
  readonly cursor: Uint8Array;
  /** The highest stamp applied. */
  readonly horizon: Uint8Array;
  readonly epoch: Uint8Array;
  /** A bootstrap runs. */
  readonly bootstrapping: boolean;
  /** Where it goes on; empty for its first page. */
  readonly page: Uint8Array;
  /** What must not come back while it runs, ordered by key. */
  readonly deleted: readonly Tombstone[];
}

/** Snapshot is a whole view as a client stores it. */
export interface Snapshot extends Place {
  /** What is shown, ordered by kind and id. */
  readonly entities: readonly Entity[];
}

/**
 * Step is what one page has changed: the place, and the entities that are other
 * than before. A store writes both in one transaction.
 */
export interface Step {
  readonly place: Place;
  readonly put: readonly Entity[];
  readonly del: readonly Key[];
}

/** unseen is the snapshot of a view that has seen nothing. */
export const unseen: Snapshot = {
  entities: [], cursor: none, horizon: none, epoch: none, bootstrapping: true, page: none, deleted: [],
};

/**
 * View is what a client holds of one scope. It has one reader, which applies
 * pages one after the other. The apply functions report false, and have changed
 * nothing, where the answer is not about the place the view is at.
 */
export class View {
  readonly #entities = new Map<string, Entity>();
  readonly #deleted = new Map<string, Tombstone>();
  #cursor: Uint8Array;
  #horizon: Uint8Array;
  #epoch: Uint8Array;
  #bootstrapping: boolean;
  #page: Uint8Array;
  /** Names of the entities that were touched since take. */
  #touched = new Map<string, Key>();

  /** A view as it was stored, or a new one. */
  constructor(stored: Snapshot = unseen) {
    for (const e of stored.entities) this.#entities.set(nameOf(e), e);
    for (const d of stored.deleted) this.#deleted.set(nameOf(d), d);
    this.#cursor = stored.cursor;
    this.#horizon = stored.horizon;
    this.#epoch = stored.epoch;
    // Without a cursor there is nothing to follow.
    this.#bootstrapping = stored.bootstrapping || stored.cursor.length === 0;
    this.#page = stored.page;
  }

  /** Cursor of the last page applied; empty until a bootstrap has begun. */
  get cursor(): Uint8Array { return this.#cursor; }
  /** The highest stamp applied. */
  get horizon(): Uint8Array { return this.#horizon; }
  /** Whether a bootstrap runs. */
  get bootstrapping(): boolean { return this.#bootstrapping; }
  /** Token of the page of the bootstrap to ask for; empty for the first. */
  get page(): Uint8Array { return this.#page; }
  /** How many entities are held. */
  get size(): number { return this.#entities.size; }

  /** One entity as held. */
  get(key: Key): Entity | undefined { return this.#entities.get(nameOf(key)); }

  /** Everything held, ordered by kind and id. */
  all(): Entity[] { return [...this.#entities.values()].sort(compareKeys); }

  /** Where the view stands. */
  place(): Place {
    return {
      cursor: this.#cursor, horizon: this.#horizon, epoch: this.#epoch,
      bootstrapping: this.#bootstrapping, page: this.#page,
      deleted: [...this.#deleted.values()].sort(compareKeys),
    };
  }

  /** The view in a form to store. */
  snapshot(): Snapshot { return { entities: this.all(), ...this.place() }; }

  /** What has changed since the last take, and where the view stands now. */
  take(): Step {
    const put: Entity[] = [];
    const del: Key[] = [];
    for (const [name, key] of this.#touched) {
      const held = this.#entities.get(name);
      if (held) put.push(held);
      else del.push(key);
    }
    this.#touched = new Map();
    return { place: this.place(), put: put.sort(compareKeys), del: del.sort(compareKeys) };
  }

  /** Applies a page of a bootstrap. asked is the token it was asked for with. */
  applyBootstrap(asked: Uint8Array, p: BootstrapPage): boolean {
    const first = this.#cursor.length === 0;
    if (!this.#bootstrapping || !equalBytes(asked, this.#page)) return false;
    if (!first && !equalBytes(p.epoch, this.#epoch)) return false;
    if (first) this.#cursor = p.cursor;
    this.#see(p.asOf, p.epoch);
    for (const e of p.put) this.#put(e);
    this.#page = p.page;
    if (p.complete) this.#complete();
    return true;
  }

  /**
   * Applies a page of changes and moves the cursor. since and horizon are what
   * it was asked for with.
   */
  applyChanges(since: Uint8Array, horizon: Uint8Array, p: ChangesPage): boolean {
    if (this.#cursor.length === 0 || !equalBytes(since, this.#cursor)) return false;
    // The server found the cursor good for a view that had seen as far as
    // horizon. What has been applied since may be of a future that was lost.
    if (!equalBytes(p.epoch, this.#epoch) && !equalBytes(horizon, this.#horizon)) return false;
    this.#see(p.asOf, p.epoch);
    for (const e of p.put) this.#put(e);
    for (const d of p.del) this.#remove(d);
    this.#cursor = p.next;
    return true;
  }

  /** Applies what was read outside the order of changes. The cursor stays. */
  applyPoint(p: Point): boolean {
    if (this.#cursor.length === 0 || !equalBytes(p.epoch, this.#epoch)) return false;
    if (compareBytes(p.asOf, this.#horizon) < 0) return false;
    this.#see(p.asOf, p.epoch);
    for (const e of p.put) this.#put(e);
    return true;
  }

  /**
   * Starts again from nothing, and goes on showing what is held. refused is the
   * cursor or page token that the server did not accept; what a person typed is
   * not in a view and stays.
   */
  applyReset(refused: Uint8Array): boolean {
    const page = this.#bootstrapping && equalBytes(refused, this.#page);
    if (!page && !equalBytes(refused, this.#cursor)) return false;
    for (const e of [...this.#entities.values()]) this.#set({ ...e, version: 0n });
    this.#deleted.clear();
    this.#cursor = this.#horizon = this.#epoch = this.#page = none;
    this.#bootstrapping = true;
    return true;
  }

  /** What was held before the bootstrap and named by nothing since is gone. */
  #complete(): void {
    for (const e of [...this.#entities.values()]) {
      if (e.version === 0n) this.#drop(e);
    }
    this.#bootstrapping = false;
    this.#page = none;
    this.#deleted.clear();
  }

  #put(e: Entity): void {
    const name = nameOf(e);
    const held = this.#entities.get(name)?.version ?? 0n;
    const deleted = this.#deleted.get(name)?.version ?? 0n;
    if (e.version > held && e.version > deleted) this.#set(e);
  }

  #remove(d: Tombstone): void {
    const name = nameOf(d);
    if (d.version > (this.#entities.get(name)?.version ?? 0n)) this.#drop(d);
    if (this.#bootstrapping && d.version > (this.#deleted.get(name)?.version ?? -1n)) this.#deleted.set(name, d);
  }

  #set(e: Entity): void {
    this.#entities.set(nameOf(e), e);
    this.#touched.set(nameOf(e), keyOf(e));
  }

  #drop(k: Key): void {
    if (this.#entities.delete(nameOf(k))) this.#touched.set(nameOf(k), keyOf(k));
  }

  /** Keeps the highest stamp of the epoch the view is in. */
  #see(asOf: Uint8Array, epoch: Uint8Array): void {
    if (!equalBytes(epoch, this.#epoch)) {
      this.#epoch = epoch;
      this.#horizon = asOf;
    } else if (compareBytes(asOf, this.#horizon) > 0) {
      this.#horizon = asOf;
    }
  }
}

/** keyOf is the key of an entity or tombstone alone. */
export function keyOf(k: Key): Key { return { kind: k.kind, id: k.id }; }

/** compareKeys orders by kind and id. */
export function compareKeys(a: Key, b: Key): number {
  return a.kind - b.kind || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

function nameOf(k: Key): string { return `${k.kind}/${k.id}`; }
