import type { Entity, Snapshot, Step } from "./view.js";
import { compareKeys, unseen, View } from "./view.js";

/**
 * Store keeps views over restarts of the program, one for each scope. What a
 * page has changed and the cursor behind it are written together or not at all:
 * a cursor without its page would skip it for ever.
 */
export interface Store {
  /** The view of a scope as it was last written; a new one where there is none. */
  open(scope: string): Promise<Snapshot>;
  /** Writes one step, in one transaction. */
  write(scope: string, step: Step): Promise<void>;
  /** Forgets everything, such as when another account signs in. */
  clear(): Promise<void>;
}

/** A store that ends with the program. */
export class MemoryStore implements Store {
  readonly #scopes = new Map<string, { step: Step; entities: Map<string, Entity> }>();

  open(scope: string): Promise<Snapshot> {
    const held = this.#scopes.get(scope);
    if (!held) return Promise.resolve(unseen);
    return Promise.resolve({ ...held.step.place, entities: [...held.entities.values()].sort(compareKeys) });
  }

  write(scope: string, step: Step): Promise<void> {
    const entities = this.#scopes.get(scope)?.entities ?? new Map<string, Entity>();
    for (const k of step.del) entities.delete(`${k.kind}/${k.id}`);
    for (const e of step.put) entities.set(`${e.kind}/${e.id}`, e);
    this.#scopes.set(scope, { step, entities });
    return Promise.resolve();
  }

  clear(): Promise<void> {
    this.#scopes.clear();
    return Promise.resolve();
  }
}

/** openView is the view of a scope as it is stored. */
export async function openView(store: Store, scope: string): Promise<View> {
  return new View(await store.open(scope));
}
