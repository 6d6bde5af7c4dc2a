import "fake-indexeddb/auto";
import { afterEach, expect, test, vi } from "vitest";
import { IndexedDBStore } from "../src/idb.js";
import type { Store } from "../src/store.js";
import { MemoryStore, openView } from "../src/store.js";
import { View } from "../src/view.js";
import { random, read, Server } from "./model.js";

let made = 0;
const stores: [string, () => Promise<Store>][] = [
  ["memory", () => Promise.resolve(new MemoryStore())],
  ["IndexedDB", () => IndexedDBStore.connect(`stores-${++made}`)],
];

afterEach(() => void vi.restoreAllMocks());

const shown = (v: View): string[] => v.all().map((e) => `${e.kind}/${e.id}=${read(e.body)}`);

/** Reads a page and gives whether anything is left; limit 2 makes many pages. */
function advance(server: Server, view: View): boolean {
  if (view.bootstrapping) {
    const page = server.bootstrap(view.page, 2);
    if (page) view.applyBootstrap(view.page, page);
    else view.applyReset(view.page);
    return true;
  }
  const page = server.pull(view.cursor, view.horizon, 2);
  if (page) view.applyChanges(view.cursor, view.horizon, page);
  else view.applyReset(view.cursor);
  return !page || page.more;
}

function change(server: Server, draw: (n: number) => number): void {
  const key = { kind: 7 + draw(2), id: "abcd".charAt(draw(4)) };
  if (draw(3) === 0) server.remove(key);
  else server.write(key);
}

test.each(stores)("%s: a view that is opened goes on right behind the page that was stored", async (_, make) => {
  for (let seed = 0; seed < 10; seed++) {
    const draw = random(seed);
    const server = new Server();
    const store = await make();
    let view = new View();
    let backup = server.backup();
    for (let n = 0; n < 30; n++) {
      for (let i = draw(4); i > 0; i--) change(server, draw);
      if (draw(10) === 0) backup = server.backup();
      if (draw(15) === 0) server.restore(backup);
      advance(server, view);
      await store.write("thread", view.take());
      const opened = await openView(store, "thread");
      expect(opened.snapshot(), `seed ${seed}`).toEqual(view.snapshot());
      if (draw(2) === 0) view = opened;
    }
    while (advance(server, view)) { /* until nothing is left */ }
    expect(shown(view), `seed ${seed}`).toEqual(server.live());
  }
});

test.each(stores)("%s: scopes are apart, and clear forgets all", async (_, make) => {
  const store = await make();
  const server = new Server();
  server.write({ kind: 7, id: "a" });
  const view = new View();
  advance(server, view);
  const step = view.take();
  await store.write("a", step);
  await store.write("a,7", { ...step, put: [] });
  expect((await store.open("a")).entities).toHaveLength(1);
  expect((await store.open("a,7")).entities).toHaveLength(0);
  await store.clear();
  expect((await store.open("a")).cursor).toHaveLength(0);
});

/** kill fails the nth request of a transaction from now on, as a browser that ends would. */
function kill(nth: number): { reached: () => boolean } {
  let n = 0;
  let reached = false;
  const counted = <Args extends unknown[], R>(real: (...args: Args) => R) => function (this: IDBObjectStore, ...args: Args): R {
    if (n++ === nth) {
      reached = true;
      this.transaction.abort();
      throw new DOMException("killed", "AbortError");
    }
    return real.apply(this, args);
  };
  const { put, delete: remove } = IDBObjectStore.prototype;
  vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(counted(put));
  vi.spyOn(IDBObjectStore.prototype, "delete").mockImplementation(counted(remove));
  return { reached: () => reached };
}

// SY4: wherever a client dies, it finds all of a page or nothing of it.
test("IndexedDB: a kill at any point of a write leaves the page before, whole", async () => {
  for (let point = 0, reached = true; reached; point++) {
    const server = new Server();
    const store = await IndexedDBStore.connect(`kill-${point}`);
    for (const id of "abcd") server.write({ kind: 7, id });
    const view = new View();
    while (advance(server, view)) { /* level */ }
    await store.write("s", view.take());
    const before = view.snapshot();
    server.write({ kind: 7, id: "a" });
    server.remove({ kind: 7, id: "b" });
    advance(server, view);

    const killed = kill(point);
    const wrote = await store.write("s", view.take()).then(() => true, () => false);
    reached = killed.reached();
    vi.restoreAllMocks();
    expect(wrote).toBe(!reached);

    const opened = await openView(store, "s");
    expect(opened.snapshot(), `killed at ${point}`).toEqual(reached ? before : view.snapshot());
    while (advance(server, opened)) { /* level again */ }
    expect(shown(opened)).toEqual(server.live());
    if (!reached) expect(point).toBe(3); // two entities and the place
  }
});
