// A store on IndexedDB, for browsers. It has an entry of its own, so that
// programs elsewhere do not load it.

import type { DBSchema, IDBPDatabase } from "idb";
import { openDB } from "idb";
import type { Store } from "./store.js";
import type { Entity, Place, Snapshot, Step } from "./view.js";
import { compareKeys, unseen } from "./view.js";

interface Schema extends DBSchema {
  places: { key: string; value: Place };
  entities: { key: [string, number, string]; value: Entity };
}

const shape = 1;

/** IndexedDBStore keeps views in one database of the browser. */
export class IndexedDBStore implements Store {
  readonly #db: IDBPDatabase<Schema>;

  private constructor(db: IDBPDatabase<Schema>) { this.#db = db; }

  /**
   * Opens the database of that name, or makes it. Use a name for each account:
   * what one person read is not the next one's.
   */
  static async connect(name: string): Promise<IndexedDBStore> {
    const db = await openDB<Schema>(name, shape, {
      upgrade(db) {
        db.createObjectStore("places");
        db.createObjectStore("entities");
      },
      // Another tab has a newer program: do not stand in its way.
      blocking(_current, _wanted, event) { (event.target as IDBDatabase).close(); },
    });
    return new IndexedDBStore(db);
  }

  async open(scope: string): Promise<Snapshot> {
    const tx = this.#db.transaction(["places", "entities"]);
    const [place, entities] = await Promise.all([
      tx.objectStore("places").get(scope),
      tx.objectStore("entities").getAll(of(scope)),
      tx.done,
    ]);
    if (!place) return unseen;
    return { ...place, entities: entities.sort(compareKeys) };
  }

  async write(scope: string, step: Step): Promise<void> {
    // Durable before the answer: the next page is asked for from here.
    const tx = this.#db.transaction(["places", "entities"], "readwrite", { durability: "strict" });
    const entities = tx.objectStore("entities");
    const writes: Promise<unknown>[] = [];
    try {
      for (const k of step.del) writes.push(entities.delete([scope, k.kind, k.id]));
      for (const e of step.put) writes.push(entities.put(e, [scope, e.kind, e.id]));
      writes.push(tx.objectStore("places").put(step.place, scope));
      await Promise.all([...writes, tx.done]);
    } catch (cause) {
      // One write that fails must not leave the others.
      try { tx.abort(); } catch { /* it has ended by itself */ }
      await Promise.allSettled([...writes, tx.done]);
      throw cause;
    }
  }

  async clear(): Promise<void> {
    const tx = this.#db.transaction(["places", "entities"], "readwrite");
    await Promise.all([tx.objectStore("places").clear(), tx.objectStore("entities").clear(), tx.done]);
  }

  /** Gives the database back. */
  close(): void { this.#db.close(); }
}

/** Everything of one scope; an array is behind every string. */
function of(scope: string): IDBKeyRange { return IDBKeyRange.bound([scope], [scope, []]); }
