// @beckon/client: what a person's device needs to work with a Beckon server.

export { View, compareKeys, keyOf, unseen } from "./view.js";
export type { BootstrapPage, ChangesPage, Entity, Key, Place, Point, Snapshot, Step, Tombstone } from "./view.js";
export { MemoryStore, openView } from "./store.js";
export type { Store } from "./store.js";
