// @beckon/client: what a person's device needs to work with a Beckon server.

export { View, compareKeys, keyOf, unseen } from "./view.js";
export type { BootstrapPage, ChangesPage, Entity, Key, Place, Point, Snapshot, Step, Tombstone } from "./view.js";
export { MemoryStore, openView } from "./store.js";
export type { Store } from "./store.js";
export { BeckonError } from "./error.js";
export { newKey, publicKey, refreshTuple, signRefresh } from "./proof.js";
export type { Refresh } from "./proof.js";
export { MemoryIdentity, withTokens } from "./identity.js";
export type { Identity, IdentityStore } from "./identity.js";
export { anonymous, authorized, deadline, webTransport } from "./transport.js";
export { Follower } from "./follow.js";
export type { FollowOptions } from "./follow.js";
export { claim, parseClaimLink } from "./claim.js";
export type { Device } from "./claim.js";
